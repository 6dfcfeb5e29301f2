//! Settles at a start the charges that former processes of this machine refused without knowing whether the database applied them.
//!
//! ```text
//! its batch was not applied   a void batch takes its place
//! its batch was applied       the charge is taken back, once, unless a repetition under its key got the rows for it
//! ```
//!
//! Does not depend on files.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};

use super::Core;
use super::charging::APPLIED;
use super::jobs::{Job, Reply, Work};
use super::tables::unsigned;
use super::transaction::{BatchId, Link};
use super::unsettled::{Journal, SentCharge};
use crate::error::OpenError;
use crate::operations::charges::ANSWER_FAILED;
use crate::request::Receipt;
use mercato_base::clock::Moment;
use mercato_database::{Connection, Trouble};

/// What no other books have: the moment at which their tables were made, in microseconds.
const IDENTITY: &str =
    "SELECT (extract(epoch FROM applied_at) * 1000000)::bigint FROM schema_version WHERE version = 1";

/// The numbers of the entries of a batch of plain charges, by place.
type Numbers = HashMap<i32, u64>;

/// What tells these books from others.
pub fn identity(connection: &mut Connection) -> Result<i64, Trouble> {
    Ok(connection.first(IDENTITY, &[])?.map_or(0, |row| row.get(0)))
}

impl Core {
    /// Has charges taken back that former processes left in doubt, as far as they were applied.
    pub fn settle_left(&self, now: Moment) -> Result<(), OpenError> {
        let Some(journal) = &self.batches.journal else { return Ok(()) };
        let left = journal.take_over();
        let left = left.map_err(|error| OpenError::Start(format!("charges left in doubt: {error}")))?;
        if left.is_empty() {
            return Ok(());
        }
        let (all, mut desk) = (left.len(), self.desk.lock());
        let owed = owed(journal, &mut desk, left, now)?;
        tracing::warn!(charges = all, applied = owed.len(), "charges of a former process that were in doubt");
        self.owed.lock().extend(owed);
        Ok(())
    }
}

/// The refunds of what was applied. The other charges are settled.
fn owed(journal: &Journal, link: &mut Link, left: Vec<SentCharge>, now: Moment) -> Result<Vec<Job>, Trouble> {
    let mut batches: BTreeMap<BatchId, Option<Numbers>> = BTreeMap::new();
    let mut owed = Vec::new();
    for SentCharge { id, is_plain, mut undo } in left {
        if let Entry::Vacant(unknown) = batches.entry(id.batch) {
            let read = |connection: &mut Connection| numbers(connection, id.batch);
            unknown.insert(link.read_if_applied(id.batch, read)?);
        }
        let applied = batches.get(&id.batch).and_then(Option::as_ref);
        let number = applied.map(|numbers| numbers.get(&id.place).copied());
        match number {
            Some(Some(number)) if is_plain => undo.sequence = if undo.credits > 0 { number } else { 0 },
            Some(_) if !is_plain => {}
            // Not applied, or left undone.
            _ => {
                journal.settle(&id);
                continue;
            }
        }
        let receipt = Receipt {
            charged: undo.credits,
            remaining: 0,
            replayed: false,
            paid_before: 0,
            caps: Vec::new(),
            undo,
        };
        let work = Work::Refund { receipt, at: now, note: ANSWER_FAILED, doubt: Some(id) };
        owed.push(Job::new(work, Reply::Nobody));
    }
    Ok(owed)
}

fn numbers(connection: &mut Connection, batch: BatchId) -> Result<Numbers, Trouble> {
    let Some(row) = connection.first(APPLIED, &[&batch.server, &batch.number])? else {
        return Ok(Numbers::new());
    };
    let places: Vec<i32> = row.get::<_, Option<Vec<i32>>>(0).unwrap_or_default();
    let numbers: Vec<i64> = row.get::<_, Option<Vec<i64>>>(1).unwrap_or_default();
    Ok(places.into_iter().zip(numbers.into_iter().map(unsigned)).collect())
}
