//! Questions and reports, by statements of their own.
//!
//! Audits and exports open a connection for themselves, so that nobody waits for them.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use super::Core;
use super::tables::{account, account_columns, entry, entry_columns, id, reservation, signed, unsigned};
use crate::account::AccountRecord;
use crate::audit::{Audit, AuditReport};
use crate::codec::Record;
use crate::entry::{Entry, EntryKind};
use crate::error::BooksError;
use crate::history::{History, HistoryQuery};
use crate::id::{AccountId, KeyId};
use crate::key_space;
use crate::ledger::LedgerStats;
use crate::limits::ENTRIES_PER_PAGE_MAX;
use crate::session_record::SessionRecord;
use crate::token::{TokenHash, TokenRecord};
use mercato_base::clock::Moment;
use mercato_database::{Connection, Trouble};

const ENTRIES: &str =
    concat!("SELECT ", entry_columns!(), " FROM entry WHERE number >= $1 ORDER BY number LIMIT $2");
const ALL_ENTRIES: &str = concat!("SELECT ", entry_columns!(), " FROM entry ORDER BY number");
const HISTORY: &str = concat!(
    "SELECT ",
    entry_columns!(),
    " FROM entry WHERE account = $5 AND number < $1 AND ($2 OR kind = ANY ($3)) ORDER BY number DESC LIMIT $4"
);
const ALL_ACCOUNTS: &str = concat!("SELECT ", account_columns!(), ", entries FROM account");
const ALL_RESERVATIONS: &str = "SELECT record, delivered FROM reservation";
/// How much later a use of a key must be than the one that the database has, in milliseconds. Every server that a key is used
/// at tells of it; only the first one changes the row.
const KEY_USE_GRAIN_MILLIS: i64 = 10_000;
// In the order of their ids, so that no two servers wait for each other.
const KEY_USES: &str = "WITH due AS MATERIALIZED ( \
    SELECT k.id, used.at FROM api_key k JOIN unnest($1::bigint[], $2::bigint[]) AS used (id, at) ON used.id = k.id \
    WHERE k.last_used_at IS NULL OR k.last_used_at <= used.at - $3 ORDER BY k.id FOR UPDATE OF k) \
    UPDATE api_key AS k SET last_used_at = greatest(k.last_used_at, due.at) FROM due WHERE k.id = due.id";
const SESSION: &str = "SELECT value FROM record WHERE key = $1 FOR UPDATE";
const SESSION_SEEN: &str = "UPDATE record SET value = $2, until = $3 WHERE key = $1";

/// Kinds of entries that credit an account, or take such credits back.
const CREDITED: [EntryKind; 4] =
    [EntryKind::Purchase, EntryKind::Grant, EntryKind::TakeBack, EntryKind::GiveBack];

impl Core {
    /// At most `limit` entries from a number on, and where to go on.
    pub fn entries(&self, first: u64, limit: usize) -> Result<(Vec<Entry>, Option<u64>), BooksError> {
        self.queue.settle_down();
        let limit = limit.clamp(1, ENTRIES_PER_PAGE_MAX);
        let entries = self.look(|connection| {
            let count = signed(limit as u64);
            let rows = connection.lock().query(ENTRIES, &[&signed(first), &count])?;
            rows.iter().map(entry).collect::<Result<Vec<_>, _>>()
        })?;
        let is_full = entries.len() >= limit;
        let next = entries.last().filter(|_| is_full).map(|entry| entry.sequence.saturating_add(1));
        Ok((entries, next))
    }

    /// The newest entries. One more is read than is wanted, to tell whether more exist.
    pub fn history(&self, asked: &HistoryQuery) -> Result<History, BooksError> {
        self.queue.settle_down();
        let limit = asked.limit.clamp(1, ENTRIES_PER_PAGE_MAX);
        let before = asked.before.map_or(i64::MAX, signed);
        let kinds: Vec<&str> = CREDITED.iter().map(|kind| kind.as_str()).collect();
        let (all, count) = (!asked.only_credited, signed(limit as u64).saturating_add(1));
        let mut entries = self.look(|connection| {
            let connection = &mut *connection.lock();
            let account = id(asked.account);
            let rows = connection.query(HISTORY, &[&before, &all, &kinds, &count, &account])?;
            rows.iter().map(entry).collect::<Result<Vec<_>, _>>()
        })?;
        let has_more = entries.len() > limit;
        entries.truncate(limit);
        let before = entries.last().filter(|_| has_more).map(|entry| entry.sequence);
        Ok(History { entries, before })
    }

    /// Keeps when keys were last used, to ten seconds.
    pub fn note_key_uses(&self, uses: &[(KeyId, Moment)]) -> Result<(), BooksError> {
        let ids: Vec<i64> = uses.iter().map(|(key, _)| signed(key.number())).collect();
        let moments: Vec<i64> = uses.iter().map(|(_, at)| at.unix_millis()).collect();
        let grain = KEY_USE_GRAIN_MILLIS;
        self.look(|connection| connection.lock().execute(KEY_USES, &[&ids, &moments, &grain]).map(drop))
    }

    /// Keeps when a session was last seen, and tells other servers.
    pub fn note_session_use(&self, token: TokenHash, at: Moment) -> Result<(), BooksError> {
        self.serving()?;
        let mut desk = self.desk.lock();
        let noted = desk.transact(|connection, _| {
            let connection = &mut *connection.lock();
            let key = key_space::session(&token);
            let Some(row) = connection.first(SESSION, &[&key])? else { return Ok(()) };
            let mut record: SessionRecord = super::tables::decoded(row.get(0))?;
            record.last_seen_at = record.last_seen_at.max(at);
            let (value, until) = (record.encode(), record.ends_at().unix_millis());
            connection.execute(SESSION_SEEN, &[&key, &value, &until])?;
            super::writing::announce(connection, &[key])
        });
        noted.map_err(|trouble| self.failed(&trouble))
    }

    /// Adds up every entry and compares the sums with the accounts, as of one moment.
    pub fn verify(&self) -> Result<AuditReport, BooksError> {
        self.queue.settle_down();
        let audited = Connection::open(&self.address).and_then(|mut connection| {
            connection.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
            let report = audit(&mut connection)?;
            connection.run("COMMIT")?;
            Ok(report)
        });
        audited.map_err(|trouble| self.failed(&trouble))
    }
}

/// Audits the books that a connection sees.
pub fn audit(connection: &mut Connection) -> Result<AuditReport, Trouble> {
    let mut audit = Audit::new(1);
    let mut counts: HashMap<AccountId, u64> = HashMap::new();
    connection.each(ALL_ENTRIES, &[], |row| {
        let entry = entry(&row)?;
        *counts.entry(entry.account).or_default() += 1;
        audit.add(&entry);
        Ok(())
    })?;
    let (mut accounts, mut noted): (Vec<AccountRecord>, Vec<(AccountId, u64, u64)>) =
        (Vec::new(), Vec::new());
    connection.each(ALL_ACCOUNTS, &[], |row| {
        let account = account(&row);
        noted.push((account.record.id, unsigned(row.get(11)), account.reserved));
        accounts.push(account.record);
        Ok(())
    })?;
    let mut reservations = Vec::new();
    connection.each(ALL_RESERVATIONS, &[], |row| {
        reservations.push(reservation(&row)?);
        Ok(())
    })?;
    let mut held: HashMap<AccountId, u64> = HashMap::new();
    for open in &reservations {
        *held.entry(open.account).or_default() += open.credits();
    }
    let mut report = audit.finish(accounts.iter(), reservations.iter());
    for (account, entries, reserved) in noted {
        let found = counts.get(&account).copied().unwrap_or(0);
        if found != entries {
            report.differ(format!("{account}: {found} entries are there, it wrote {entries}"));
        }
        let open = held.get(&account).copied().unwrap_or(0);
        if open != reserved {
            report
                .differ(format!("{account}: {reserved} credits are set aside, its reservations hold {open}"));
        }
    }
    Ok(report)
}

impl Core {
    /// Numbers for an operator's dashboard.
    pub fn stats(&self) -> LedgerStats {
        let status = &self.status;
        let (accounts, keys) = self.directory.counts();
        LedgerStats {
            entries: status.entries.load(Ordering::Relaxed),
            operations: status.operations.load(Ordering::Relaxed),
            open_reservations: self.live.len() as u64,
            accounts,
            keys,
            group_sizes: status.group_sizes.clone(),
            sync_seconds: status.sync_seconds.clone(),
            database: Some(self.database_stats()),
        }
    }
}
