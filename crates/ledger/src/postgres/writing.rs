//! Writes what operations of a state have changed: one statement for each table, whatever the number of operations.
//!
//! A record that was read as absent is inserted as new, so that two transactions which both saw it absent do not both go
//! through. Does not depend on operations.

use std::collections::HashMap;

use super::rows::Rows;
use super::tables::{beside, damaged, decoded, id, millis, signed, small};
use crate::changes::Changes;
use crate::checkout::Checkout;
use crate::entry::Entry;
use crate::id::AccountId;
use crate::key_record::KeyRecord;
use crate::key_space;
use crate::reservation_record::ReservationRecord;
use crate::state::Account;
use crate::usage::Usage;
use mercato_base::clock::Moment;
use mercato_database::{Connection, Trouble};

const ENTRIES: &str = "INSERT INTO entry (number, account, key, kind, amount, balance, at, rows, cents, related, request_id, \
    dataset, note) SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::bigint[], \
    $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::text[], $12::text[], $13::text[])";
const ACCOUNTS: &str = "INSERT INTO account AS a (id, name, created_at, closed_at, balance, reserved, has_bought, free_month, \
    free_used, last_entry, entries, version) SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], \
    $5::bigint[], $6::bigint[], $7::boolean[], $8::integer[], $9::integer[], $10::bigint[], $11::bigint[], $12::bigint[]) \
    ON CONFLICT (id) DO UPDATE SET closed_at = excluded.closed_at, balance = excluded.balance, reserved = excluded.reserved, \
    has_bought = excluded.has_bought, free_month = excluded.free_month, free_used = excluded.free_used, \
    last_entry = excluded.last_entry, entries = a.entries + excluded.entries, version = excluded.version";
const USAGE: &str = "INSERT INTO usage (account, day, key, dataset, requests, rows, credits) SELECT * FROM \
    unnest($1::bigint[], $2::integer[], $3::bigint[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[]) \
    ON CONFLICT (account, day, key, dataset) DO UPDATE \
    SET requests = excluded.requests, rows = excluded.rows, credits = excluded.credits";
const RESERVATIONS: &str = "INSERT INTO reservation (id, account, server, key, credits, delivered, claim, file, record) \
    SELECT id, account, $1, key, credits, delivered, claim, file, record FROM unnest($2::bigint[], $3::bigint[], \
    $4::bigint[], $5::bigint[], $6::bigint[], $7::bytea[], $8::bytea[], $9::bytea[]) \
    AS new (id, account, key, credits, delivered, claim, file, record) \
    ON CONFLICT (id) DO UPDATE SET file = excluded.file, record = excluded.record";
const SETTLED: &str = "DELETE FROM reservation WHERE id = ANY ($1)";
pub const NEW_RECORDS: &str = "INSERT INTO record (key, account, email, until, value) SELECT * FROM \
    unnest($1::bytea[], $2::bigint[], $3::text[], $4::bigint[], $5::bytea[])";
const RECORDS: &str = "INSERT INTO record (key, account, email, until, value) SELECT * FROM \
    unnest($1::bytea[], $2::bigint[], $3::text[], $4::bigint[], $5::bytea[]) ON CONFLICT (key) DO UPDATE \
    SET account = excluded.account, email = excluded.email, until = excluded.until, value = excluded.value";
const REMOVED: &str = "DELETE FROM record WHERE key = ANY ($1)";
const KEY: &str = "INSERT INTO api_key (id, account, hash, prefix, label, created_at, last_used_at, expires_at, revoked_at, \
    credits_per_day, credits_per_month, limited_until, datasets) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) ON CONFLICT (id) DO UPDATE SET label = excluded.label, \
    expires_at = excluded.expires_at, revoked_at = excluded.revoked_at, credits_per_day = excluded.credits_per_day, \
    credits_per_month = excluded.credits_per_month, limited_until = excluded.limited_until, datasets = excluded.datasets";
const CHECKOUT: &str = "INSERT INTO checkout (number, random, account, provider, credits, net, vat_basis_points, vat, gross, \
    currency, created_at, payment, entry, paid_at, refunded, disputed, taken, forgone, cancelled_at) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19) ON CONFLICT (number) DO UPDATE \
    SET payment = excluded.payment, entry = excluded.entry, paid_at = excluded.paid_at, refunded = excluded.refunded, \
    disputed = excluded.disputed, taken = excluded.taken, forgone = excluded.forgone, cancelled_at = excluded.cancelled_at";
const GENERATION: &str = "UPDATE books SET generation = generation + 1 RETURNING generation";
const CHANGED: &str = "INSERT INTO changed (generation, key) SELECT $1, unnest($2::bytea[])";

/// Kinds of records that every server keeps in memory.
const FOLLOWED: [&[u8]; 4] = [key_space::API_KEY, key_space::LOGIN, key_space::SESSION, key_space::RELATION];

/// What operations have changed.
#[derive(Default)]
pub struct Work {
    pub entries: Vec<Entry>,
    pub changes: Changes,
}

/// Writes everything. `tells` says whether other servers hear of the accounts at once.
pub fn write(
    rows: &Rows,
    server: i64,
    work: &Work,
    accounts: &[&Account],
    tells: bool,
) -> Result<(), Trouble> {
    let connection = &mut *rows.connection().lock();
    write_accounts(connection, accounts, &work.entries)?;
    write_entries(connection, &work.entries)?;
    write_changes(connection, rows, server, &work.changes)?;
    let of_accounts = accounts.iter().filter(|_| tells).map(|account| key_space::account(account.record.id));
    let followed = work.changes.from(&[]).map(|(key, _)| key);
    let followed = followed.filter(|key| FOLLOWED.contains(&key_space::kind(key))).map(<[u8]>::to_vec);
    announce(connection, &of_accounts.chain(followed).collect::<Vec<_>>())
}

/// Tells other servers to read these records again.
pub fn announce(connection: &mut Connection, keys: &[Vec<u8>]) -> Result<(), Trouble> {
    if keys.is_empty() {
        return Ok(());
    }
    let row = connection.first(GENERATION, &[])?;
    let generation: i64 = row.map_or(0, |row| row.get(0));
    connection.execute(CHANGED, &[&generation, &keys]).map(drop)
}

pub fn write_entries(connection: &mut Connection, entries: &[Entry]) -> Result<(), Trouble> {
    if entries.is_empty() {
        return Ok(());
    }
    let column = |of: fn(&Entry) -> i64| entries.iter().map(of).collect::<Vec<i64>>();
    let text = |of: fn(&Entry) -> &str| entries.iter().map(of).collect::<Vec<&str>>();
    let keys: Vec<Option<i64>> =
        entries.iter().map(|entry| entry.key.map(|key| signed(key.number()))).collect();
    connection
        .execute(
            ENTRIES,
            &[
                &column(|entry| signed(entry.sequence)),
                &column(|entry| id(entry.account)),
                &keys,
                &text(|entry| entry.kind.as_str()),
                &column(|entry| entry.amount),
                &column(|entry| signed(entry.balance)),
                &column(|entry| entry.at.unix_millis()),
                &column(|entry| signed(entry.rows)),
                &column(|entry| signed(entry.cents)),
                &column(|entry| signed(entry.related)),
                &text(|entry| &entry.request_id),
                &text(|entry| &entry.dataset),
                &text(|entry| &entry.note),
            ],
        )
        .map(drop)
}

fn write_accounts(
    connection: &mut Connection,
    accounts: &[&Account],
    entries: &[Entry],
) -> Result<(), Trouble> {
    let mut lines: HashMap<AccountId, i64> = HashMap::new();
    for entry in entries {
        *lines.entry(entry.account).or_default() += 1;
    }
    let of_account = |account: &&Account| lines.get(&account.record.id).copied().unwrap_or(0);
    put_accounts(connection, accounts, &accounts.iter().map(of_account).collect::<Vec<_>>())
}

/// Writes accounts, and how many entries each of them has more.
pub fn put_accounts(
    connection: &mut Connection,
    accounts: &[&Account],
    added: &[i64],
) -> Result<(), Trouble> {
    if accounts.is_empty() {
        return Ok(());
    }
    let column = |of: fn(&Account) -> i64| accounts.iter().map(|account| of(account)).collect::<Vec<i64>>();
    let small_column =
        |of: fn(&Account) -> i32| accounts.iter().map(|account| of(account)).collect::<Vec<i32>>();
    let names: Vec<&str> = accounts.iter().map(|account| account.record.name.as_str()).collect();
    let closed: Vec<Option<i64>> = accounts.iter().map(|account| millis(account.closed_at)).collect();
    let has_bought: Vec<bool> = accounts.iter().map(|account| account.record.balance.has_bought).collect();
    connection
        .execute(
            ACCOUNTS,
            &[
                &column(|account| id(account.record.id)),
                &names,
                &column(|account| account.record.created_at.unix_millis()),
                &closed,
                &column(|account| signed(account.record.balance.credits)),
                &column(|account| signed(account.reserved)),
                &has_bought,
                &small_column(|account| account.record.balance.free_month.number()),
                &small_column(|account| small(account.record.balance.free_used)),
                &column(|account| signed(account.record.last_sequence)),
                &added,
                &column(|account| signed(account.version)),
            ],
        )
        .map(drop)
}

/// The changes of the tables that have columns of their own, and of the other records.
#[derive(Default)]
struct Sorted<'c> {
    usage: Vec<(&'c [u8], &'c [u8])>,
    reservations: Vec<ReservationRecord>,
    settled: Vec<i64>,
    keys: Vec<KeyRecord>,
    checkouts: Vec<Checkout>,
    records: Vec<(&'c [u8], &'c [u8])>,
    removed: Vec<&'c [u8]>,
}

impl<'c> Sorted<'c> {
    fn of(changes: &'c Changes) -> Result<Sorted<'c>, Trouble> {
        let mut sorted = Sorted::default();
        for (key, value) in changes.from(&[]) {
            match (key_space::kind(key), value) {
                // Accounts tell of themselves; the index of checkouts and the order of what expires are columns.
                (key_space::ACCOUNT | key_space::CLOSING | key_space::CHECKOUT_OF | key_space::EXPIRY, _) => {
                }
                (key_space::USAGE, Some(value)) => sorted.usage.push((key, value)),
                (key_space::RESERVATION, Some(value)) => sorted.reservations.push(decoded(value)?),
                (key_space::RESERVATION, None) => {
                    sorted.settled.extend(key_space::number(key).map(signed));
                }
                (key_space::API_KEY, Some(value)) => sorted.keys.push(decoded(value)?),
                (key_space::CHECKOUT, Some(value)) => sorted.checkouts.push(decoded(value)?),
                (_, Some(value)) => sorted.records.push((key, value)),
                (_, None) => sorted.removed.push(key),
            }
        }
        Ok(sorted)
    }
}

fn write_changes(
    connection: &mut Connection,
    rows: &Rows,
    server: i64,
    changes: &Changes,
) -> Result<(), Trouble> {
    let sorted = Sorted::of(changes)?;
    write_usage(connection, &sorted.usage)?;
    write_reservations(connection, server, &sorted.reservations)?;
    if !sorted.settled.is_empty() {
        connection.execute(SETTLED, &[&sorted.settled])?;
    }
    sorted.keys.iter().try_for_each(|key| write_key(connection, key))?;
    sorted.checkouts.iter().try_for_each(|checkout| write_checkout(connection, checkout))?;
    if !sorted.removed.is_empty() {
        connection.execute(REMOVED, &[&sorted.removed])?;
    }
    let is_new = |(key, _): &(&[u8], &[u8])| rows.was_there(key) == Some(false);
    let (new, others): (Vec<_>, Vec<_>) = sorted.records.into_iter().partition(is_new);
    write_records(connection, NEW_RECORDS, &new)?;
    write_records(connection, RECORDS, &others)
}

pub fn write_usage(connection: &mut Connection, lines: &[(&[u8], &[u8])]) -> Result<(), Trouble> {
    if lines.is_empty() {
        return Ok(());
    }
    let (mut accounts, mut days, mut keys, mut datasets) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut requests, mut of_rows, mut credits) = (Vec::new(), Vec::new(), Vec::new());
    for (key, value) in lines {
        let (Some(account), Some((day, of, dataset))) = (key_space::number(key), key_space::split_usage(key))
        else {
            return Err(Trouble::Refused("a usage record without a day".to_owned()));
        };
        let usage: Usage = decoded(value)?;
        accounts.push(signed(account));
        days.push(day.unix_days());
        keys.push(of.map_or(0, |of| signed(of.number())));
        datasets.push(dataset);
        requests.push(signed(usage.requests));
        of_rows.push(signed(usage.rows));
        credits.push(signed(usage.credits));
    }
    connection.execute(USAGE, &[&accounts, &days, &keys, &datasets, &requests, &of_rows, &credits]).map(drop)
}

fn write_reservations(
    connection: &mut Connection,
    server: i64,
    open: &[ReservationRecord],
) -> Result<(), Trouble> {
    use crate::codec::Record;
    if open.is_empty() {
        return Ok(());
    }
    let column = |of: fn(&ReservationRecord) -> i64| open.iter().map(of).collect::<Vec<i64>>();
    let bytes = |of: fn(&ReservationRecord) -> Option<Vec<u8>>| open.iter().map(of).collect::<Vec<_>>();
    let keys: Vec<Option<i64>> =
        open.iter().map(|record| record.key.map(|key| signed(key.number()))).collect();
    let records: Vec<Vec<u8>> = open.iter().map(Record::encode).collect();
    connection
        .execute(
            RESERVATIONS,
            &[
                &server,
                &column(|record| signed(record.id.number())),
                &column(|record| id(record.account)),
                &keys,
                &column(|record| signed(record.credits())),
                &column(|record| signed(record.delivered)),
                &bytes(|record| record.claim.map(|claim| claim.key.to_vec())),
                &bytes(|record| record.file.map(|file| file.hash.to_vec())),
                &records,
            ],
        )
        .map(drop)
}

pub fn write_records(
    connection: &mut Connection,
    text: &'static str,
    records: &[(&[u8], &[u8])],
) -> Result<(), Trouble> {
    if records.is_empty() {
        return Ok(());
    }
    let (mut keys, mut values) = (Vec::new(), Vec::new());
    let (mut accounts, mut emails, mut ends) = (Vec::new(), Vec::new(), Vec::new());
    for (key, value) in records {
        let beside = beside(key, value).map_err(damaged)?;
        keys.push(*key);
        values.push(*value);
        accounts.push(beside.account);
        emails.push(beside.email);
        ends.push(beside.until);
    }
    connection.execute(text, &[&keys, &accounts, &emails, &ends, &values]).map(drop)
}

pub fn write_key(connection: &mut Connection, key: &KeyRecord) -> Result<(), Trouble> {
    let limits = &key.limits;
    let [day, month] = [limits.credits_per_day, limits.credits_per_month].map(|cap| cap.map(signed));
    let hash = key.hash.bytes().as_slice();
    let datasets: Vec<&str> = limits.datasets.iter().map(String::as_str).collect();
    connection
        .execute(
            KEY,
            &[
                &signed(key.id.number()),
                &id(key.account),
                &hash,
                &key.prefix,
                &key.label,
                &key.created_at.unix_millis(),
                &millis(key.last_used_at),
                &millis(key.expires_at),
                &millis(key.revoked_at),
                &day,
                &month,
                &millis(limits.expires_at),
                &datasets,
            ],
        )
        .map(drop)
}

pub fn write_checkout(connection: &mut Connection, checkout: &Checkout) -> Result<(), Trouble> {
    let paid = checkout.paid.as_ref();
    connection
        .execute(
            CHECKOUT,
            &[
                &signed(checkout.id.number),
                &checkout.id.random.as_slice(),
                &id(checkout.account),
                &checkout.provider,
                &signed(checkout.credits),
                &signed(checkout.price.net),
                &small(checkout.price.vat_basis_points),
                &signed(checkout.price.vat),
                &signed(checkout.price.gross),
                &checkout.price.currency,
                &checkout.created_at.unix_millis(),
                &paid.map(|paid| paid.payment.as_str()),
                &paid.map(|paid| signed(paid.sequence)),
                &paid.map(|paid| paid.at.unix_millis()),
                &signed(checkout.refunded),
                &signed(checkout.disputed),
                &signed(checkout.taken),
                &signed(checkout.forgone),
                &checkout.cancelled_at.map(Moment::unix_millis),
            ],
        )
        .map(drop)
}
