//! Reports of the local books. Entries are read from the log while it grows.

use std::collections::VecDeque;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::opening::{Opened, Opening, log_folder};
use super::{Core, Open, Shared, lock};
use crate::LedgerStats;
use crate::account::AccountRecord;
use crate::audit::{Audit, AuditReport};
use crate::directory::Directory;
use crate::entry::Entry;
use crate::error::{BooksError, OpenError, Unavailable};
use crate::history::{History, HistoryQuery};
use crate::limits::{ENTRIES_PER_PAGE_MAX, HISTORY_SEGMENTS_MAX};
use crate::log::{LogReader, OpenOptions};
use crate::pending::Durability;
use crate::reservation_record::ReservationRecord;
use crate::state::{LiveStreams, Read, State, read_batch};
use mercato_base::clock::Moment;

/// The balances that the entries of one moment must add up to.
struct Snapshot {
    accounts: Vec<AccountRecord>,
    reservations: Vec<ReservationRecord>,
}

impl Shared {
    /// Something of the open books, and the log of that moment, which is durable.
    pub fn look<T>(&self, look: impl FnOnce(&Open) -> T) -> Result<(T, LogReader), BooksError> {
        let (found, log, waiter) = match &*self.lock()? {
            Core::Up(open) => (look(open), open.log.reader().map_err(unreadable)?, Arc::clone(&open.waiter)),
            Core::Down(_) | Core::Closed => return Err(Unavailable::Down.into()),
        };
        waiter.sync(log.last_sequence())?;
        Ok((found, log))
    }

    /// Numbers for an operator's dashboard.
    pub fn stats(&self) -> LedgerStats {
        let (accounts, keys) = self.directory.counts();
        LedgerStats {
            entries: self.status.entries.load(Ordering::Relaxed),
            operations: self.status.operations.load(Ordering::Relaxed),
            open_reservations: self.status.open_reservations.load(Ordering::Relaxed),
            accounts,
            keys,
            group_sizes: self.status.group_sizes.clone(),
            sync_seconds: self.status.sync_seconds.clone(),
            database: None,
        }
    }

    /// At most `limit` entries from a sequence number on, and where to go on.
    pub fn entries(&self, first: u64, limit: usize) -> Result<(Vec<Entry>, Option<u64>), BooksError> {
        let limit = limit.clamp(1, ENTRIES_PER_PAGE_MAX);
        let mut entries = Vec::new();
        let _segments = self.segments.read();
        for batch in self.look(|_| ())?.1.batches(first) {
            let batch = batch.map_err(unreadable)?;
            read_batch(&self.path, &batch, |record| {
                if let Read::<String>::Entry(entry) = record
                    && entry.sequence >= first
                {
                    entries.push(entry);
                }
            })
            .map_err(unreadable)?;
            if entries.len() >= limit {
                entries.truncate(limit);
                let next = entries.last().map(|entry| entry.sequence.saturating_add(1));
                return Ok((entries, next));
            }
        }
        Ok((entries, None))
    }

    /// The newest entries of an account, segment by segment from the end of the log on.
    pub fn history(&self, query: &HistoryQuery) -> Result<History, BooksError> {
        let _segments = self.segments.read();
        let log = self.look(|_| ())?.1;
        search(&self.path, &log, query).map_err(unreadable)
    }

    /// Adds up every entry that the log holds.
    pub fn verify(&self) -> Result<AuditReport, BooksError> {
        let _segments = self.segments.read();
        let (snapshot, log) = self.look(|open| Snapshot::of(&open.state))?;
        snapshot.audit(&self.path, &log).map_err(unreadable)
    }
}

/// Searches for one entry beyond the limit, which shows whether more exist.
pub fn search(path: &Path, log: &LogReader, query: &HistoryQuery) -> Result<History, OpenError> {
    let mut before = query.before.unwrap_or(u64::MAX);
    let firsts: Vec<u64> =
        log.segments().map(|segment| segment.first).filter(|first| *first < before).collect();
    let mut found = History::default();
    for (place, first) in firsts.iter().copied().enumerate().rev().take(HISTORY_SEGMENTS_MAX) {
        let room = query.limit.saturating_add(1).saturating_sub(found.entries.len());
        let (newest, is_oldest) = search_segment(path, log, query, first..before, room)?;
        found.entries.extend(newest.into_iter().rev());
        if found.entries.len() > query.limit {
            found.entries.truncate(query.limit);
            found.before = found.entries.last().map(|entry| entry.sequence);
            return Ok(found);
        }
        before = first;
        found.before = (place > 0 && !is_oldest).then_some(first);
        if is_oldest {
            break;
        }
    }
    Ok(found)
}

/// The last wanted entries among these records, which begin a segment and end in it; whether older ones can be no account's.
fn search_segment(
    path: &Path,
    log: &LogReader,
    query: &HistoryQuery,
    records: Range<u64>,
    room: usize,
) -> Result<(VecDeque<Entry>, bool), OpenError> {
    let mut newest = VecDeque::new();
    let mut is_oldest = false;
    for batch in log.batches(records.start) {
        let batch = batch?;
        if batch.first >= records.end {
            break;
        }
        read_batch(path, &batch, |record| {
            let Read::<&str>::Entry(entry) = record else { return };
            is_oldest |= query.is_older(entry.at);
            if entry.sequence < records.end && query.matches(&entry) {
                newest.push_back(entry.owned());
                if newest.len() > room {
                    newest.pop_front();
                }
            }
        })?;
    }
    Ok((newest, is_oldest))
}

fn unreadable(error: impl std::fmt::Display) -> BooksError {
    tracing::error!(%error, "the log of the books cannot be read");
    Unavailable::Down.into()
}

impl Snapshot {
    fn of(state: &State) -> Snapshot {
        Snapshot {
            accounts: state.accounts().cloned().collect(),
            reservations: state.reservations().cloned().collect(),
        }
    }

    fn audit(&self, path: &Path, log: &LogReader) -> Result<AuditReport, OpenError> {
        let first = log.first_sequence();
        let mut audit = Audit::new(first);
        for batch in log.batches(first) {
            read_batch(path, &batch?, |record| {
                if let Read::<&str>::Entry(entry) = record {
                    audit.add(&entry);
                }
            })?;
        }
        Ok(audit.finish(self.accounts.iter(), self.reservations.iter()))
    }
}

/// Audits the books of a folder that no server has open, and reports contradictions that opening would refuse.
/// Replays the log into the checkpoint, as every opening does, and settles nothing.
pub fn inspect(path: &Path) -> Result<AuditReport, OpenError> {
    let _lock = lock::lock(path)?;
    let opening = Opening {
        path,
        folder: log_folder(path)?,
        directory: Arc::<Directory>::default(),
        options: OpenOptions::default(),
        live: &LiveStreams::new(),
        now: Moment::from_unix_millis(0),
    };
    audit(path, &opening.open()?)
}

/// Adds up every entry of books that nobody changes.
pub fn audit(path: &Path, opened: &Opened) -> Result<AuditReport, OpenError> {
    Snapshot::of(&opened.state).audit(path, &opened.log.reader()?)
}
