//! Reads the part of the books that operations work on, and locks its accounts.
//!
//! Accounts are locked in the order of their ids, so that no two transactions wait for each other. Whoever changes anything of
//! an account holds its lock. Does not depend on operations.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use postgres::Row;

use super::rows::Rows;
use super::tables::{
    account, account_columns, decoded, id, key, key_columns, reservation, signed, unsigned, usage_line,
};
use crate::checkpoint::Pair;
use crate::id::{AccountId, KeyId, ReservationId};
use crate::key_record::KeyRecord;
use crate::key_space;
use crate::operation::{Reads, UsageKey};
use crate::relation::Relation;
use crate::reservation_record::ReservationRecord;
use crate::state::{Account, Part, SpentOnDay};
use crate::usage::UsageLine;
use mercato_base::clock::{Moment, UtcDay};
use mercato_database::{Connection, Trouble};

const ACCOUNTS: &str = concat!("SELECT ", account_columns!(), " FROM account WHERE id = ANY ($1)");
const ACCOUNTS_LOCKED: &str =
    concat!("SELECT ", account_columns!(), " FROM account WHERE id = ANY ($1) ORDER BY id FOR UPDATE");
const KEYS_OF: &str = concat!("SELECT ", key_columns!(), " FROM api_key WHERE account = ANY ($1)");
const KEYS: &str = concat!("SELECT ", key_columns!(), " FROM api_key WHERE id = ANY ($1)");
const TAKEN: &str = "SELECT 1 FROM api_key WHERE hash = $1";
const RECORDS_OF: &str = "SELECT key, value FROM record WHERE account = ANY ($1)";
const LOGIN_OF: &str = "SELECT key, value FROM record WHERE email = $1";
const RECORDS: &str = "SELECT key, value FROM record WHERE key = ANY ($1)";
const RELATIONS: &str = "SELECT key, value FROM record WHERE key >= 'L' AND key < 'M'";
const RELATIONS_LOCKED: &str = "SELECT generation FROM books FOR UPDATE";
const SETTLING: &str = "SELECT record, delivered FROM reservation WHERE id = ANY ($1)";
const RESERVATIONS: &str = "SELECT record, delivered FROM reservation WHERE account = ANY ($1) \
    AND (claim = ANY ($2) OR file = ANY ($3) OR key = ANY ($4))";
const SPENT: &str = "SELECT key, day, sum(credits)::bigint FROM usage \
    WHERE account = ANY ($1) AND key = ANY ($2) AND day >= $3 GROUP BY key, day";
const USAGE: &str = "SELECT u.day, u.key, u.dataset, u.requests, u.rows, u.credits, u.account \
    FROM unnest($1::bigint[], $2::integer[], $3::bigint[], $4::text[]) AS wanted (account, day, key, dataset) \
    JOIN usage u USING (account, day, key, dataset)";

/// Reads a part of the books; locked, if the rows are.
pub fn load(rows: &Rows, reads: &Reads, locks: bool) -> Result<Part, Trouble> {
    let connection = &mut *rows.connection().lock();
    let ids: Vec<i64> = reads.accounts.iter().map(|account| id(*account)).collect();
    let mut part = Part { accounts: accounts(connection, &ids, locks)?, ..Part::default() };
    if reads.keys {
        part.keys = connection.query(KEYS_OF, &[&ids])?.iter().map(key).collect();
    } else if !reads.capped.is_empty() {
        part.keys = keys(connection, &reads.capped)?;
    }
    part.reservations = reservations(connection, &ids, reads, &part.keys)?;
    load_spending(connection, &ids, reads, &mut part)?;
    if reads.logins {
        let found = connection.query(RECORDS_OF, &[&ids])?;
        take_logins(&mut part, &found)?;
    }
    if let Some(email) = &reads.email {
        let found = connection.query(LOGIN_OF, &[&email.as_str()])?;
        take_logins(&mut part, &found)?;
    }
    if let Some(hash) = reads.hash {
        let taken = connection.first(TAKEN, &[&hash.bytes().as_slice()])?;
        part.taken = taken.map(|_| hash);
    }
    if reads.relations {
        if locks {
            connection.execute(RELATIONS_LOCKED, &[])?;
        }
        (part.relations, part.relations_changed_at) = relations(connection)?;
    }
    Ok(part)
}

pub fn accounts(connection: &mut Connection, ids: &[i64], locks: bool) -> Result<Vec<Account>, Trouble> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let text = if locks { ACCOUNTS_LOCKED } else { ACCOUNTS };
    Ok(connection.query(text, &[&ids])?.iter().map(account).collect())
}

fn keys(connection: &mut Connection, capped: &[(KeyId, Moment)]) -> Result<Vec<KeyRecord>, Trouble> {
    let ids: BTreeSet<i64> = capped.iter().map(|(key, _)| signed(key.number())).collect();
    let ids: Vec<i64> = ids.into_iter().collect();
    Ok(connection.query(KEYS, &[&ids])?.iter().map(key).collect())
}

fn reservations(
    connection: &mut Connection,
    accounts: &[i64],
    reads: &Reads,
    keys: &[KeyRecord],
) -> Result<Vec<ReservationRecord>, Trouble> {
    let mut found: HashMap<ReservationId, ReservationRecord> = HashMap::new();
    if !reads.settling.is_empty() {
        let ids: Vec<i64> = reads.settling.iter().map(|(id, _)| signed(id.number())).collect();
        let rows = connection.query(SETTLING, &[&ids])?;
        take_reservations(&mut found, &rows)?;
    }
    let capped = keys.iter().filter(|key| key.limits.has_caps());
    let capped: Vec<i64> = capped.map(|key| signed(key.id.number())).collect();
    if !(reads.claims.is_empty() && reads.files.is_empty() && capped.is_empty()) {
        let claims: Vec<&[u8]> = reads.claims.iter().map(<[u8; 16]>::as_slice).collect();
        let files: Vec<&[u8]> = reads.files.iter().map(<[u8; 16]>::as_slice).collect();
        let rows = connection.query(RESERVATIONS, &[&accounts, &claims, &files, &capped])?;
        take_reservations(&mut found, &rows)?;
    }
    Ok(found.into_values().collect())
}

fn take_reservations(
    found: &mut HashMap<ReservationId, ReservationRecord>,
    rows: &[Row],
) -> Result<(), Trouble> {
    for row in rows {
        let record = reservation(row)?;
        found.insert(record.id, record);
    }
    Ok(())
}

/// What capped keys have spent in the latest month that is asked for. A question of an earlier month reads it again.
fn load_spending(
    connection: &mut Connection,
    accounts: &[i64],
    reads: &Reads,
    part: &mut Part,
) -> Result<(), Trouble> {
    let mut months = HashMap::new();
    for (key, at) in &reads.capped {
        let month = months.entry(*key).or_insert_with(|| at.month());
        *month = (*month).max(at.month());
    }
    let Some(first) = months.values().min() else { return Ok(()) };
    let keys: Vec<i64> = months.keys().map(|key| signed(key.number())).collect();
    let first = first.start().day().unix_days();
    for row in connection.query(SPENT, &[&accounts, &keys, &first])? {
        let key = KeyId::from_number(unsigned(row.get(0)));
        let day = UtcDay::from_unix_days(row.get(1));
        if months.get(&key).is_some_and(|month| day.start().month() == *month) {
            part.spending.push(SpentOnDay { key, day, credits: unsigned(row.get(2)) });
        }
    }
    part.spent = months;
    Ok(())
}

pub fn take_logins(part: &mut Part, rows: &[Row]) -> Result<(), Trouble> {
    for row in rows {
        let (key, value): (&[u8], &[u8]) = (row.get(0), row.get(1));
        match key_space::kind(key) {
            key_space::LOGIN => part.logins.push(decoded(value)?),
            key_space::SESSION => part.sessions.push(decoded(value)?),
            key_space::ONE_TIME_TOKEN => part.tokens.push(decoded(value)?),
            _ => {}
        }
    }
    Ok(())
}

/// Every relation, and when they last changed.
pub fn relations(connection: &mut Connection) -> Result<(Vec<Relation>, Option<Moment>), Trouble> {
    let rows = connection.query(RELATIONS, &[])?;
    let relations = rows.iter().map(|row| decoded(row.get(1))).collect::<Result<_, _>>()?;
    let key = key_space::relations_changed_at();
    let changed = connection.first("SELECT value FROM record WHERE key = $1", &[&key])?;
    let millis = changed.and_then(|row| <[u8; 8]>::try_from(row.get::<_, Vec<u8>>(0)).ok());
    Ok((relations, millis.map(|millis| Moment::from_unix_millis(i64::from_be_bytes(millis)))))
}

/// Reads records before operations ask for them one by one.
pub fn learn_records(rows: &Rows, keys: BTreeSet<Vec<u8>>) -> Result<(), Trouble> {
    if keys.is_empty() {
        return Ok(());
    }
    let keys: Vec<Vec<u8>> = keys.into_iter().collect();
    let found = rows.connection().lock().query(RECORDS, &[&keys])?;
    let found: Vec<Pair> = found.iter().map(|row| (row.get(0), row.get(1))).collect();
    rows.learn(keys, found);
    Ok(())
}

/// Reads lines of usage before operations ask for them one by one.
pub fn learn_usage(rows: &Rows, lines: &BTreeSet<UsageKey>) -> Result<(), Trouble> {
    if lines.is_empty() {
        return Ok(());
    }
    let (mut accounts, mut days, mut keys, mut datasets) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (account, day, key, dataset) in lines {
        accounts.push(id(*account));
        days.push(day.unix_days());
        keys.push(key.map_or(0, |key| signed(key.number())));
        datasets.push(dataset.as_str());
    }
    let found = rows.connection().lock().query(USAGE, &[&accounts, &days, &keys, &datasets])?;
    let pair = |row: &Row| {
        let line: UsageLine = usage_line(row);
        super::rows::pair_of(AccountId::from_number(unsigned(row.get(6))), &line)
    };
    let names =
        lines.iter().map(|(account, day, key, dataset)| key_space::usage(*account, *day, *key, dataset));
    rows.learn(names, found.iter().map(pair));
    Ok(())
}

/// Rows above which a state stands, as the state takes them.
pub fn below(rows: &Arc<Rows>) -> Arc<dyn crate::state::Below> {
    Arc::<Rows>::clone(rows)
}
