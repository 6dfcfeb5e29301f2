//! Operations that the state decides: many of them in one transaction.
//!
//! ```text
//! lock the accounts │ read what the operations need │ decide one after the other │ write what changed │ commit
//! ```

use std::collections::BTreeSet;
use std::sync::Arc;

use super::super::loading::{below, learn_records, learn_usage, load};
use super::super::rows::{Rows, Shared};
use super::super::tables::{signed, unsigned};
use super::super::transaction::{BatchId, Link};
use super::super::unsettled::{ChargeId, SentCharge};
use super::super::writing;
use super::jobs::{Job, Sold, Work};
use crate::directory::Directory;
use crate::error::{ChargeError, Unavailable};
use crate::key_space;
use crate::operation::Reads;
use crate::reservation_record::ReservationRecord;
use crate::state::{Part, State};
use mercato_database::{Connection, Trouble};

const NUMBERS: &str = "SELECT nextval('entry_number') FROM generate_series(1, $1::bigint)";
/// A charge that was in doubt is marked in the row of its batch by its place, negated, when it is taken back.
const TAKEN_BACK: &str = "UPDATE batch SET places = array_append(places, -$3::integer) WHERE server = $1 AND number = $2 \
    AND NOT is_void AND NOT -$3::integer = ANY (coalesce(places, '{}'))";
const RESERVATION_IDS: &str = "SELECT nextval('reservation_id') FROM generate_series(1, $1::bigint)";

/// What came of the jobs, in their order, and how many entries they wrote.
pub struct Worked {
    pub outcomes: Vec<Result<Sold, ChargeError>>,
    pub entries: u64,
}

/// Carries jobs out, in one transaction. Shows the changes in the directory.
pub fn work(link: &mut Link, jobs: &[Job], directory: &Arc<Directory>) -> Result<Worked, Trouble> {
    let mut damaged = BTreeSet::new();
    let batches = Arc::clone(link.batches());
    let (worked, mut state) = link.transact(|connection, batch| {
        let done = attempt(connection, jobs, directory, batch.server, &mut damaged)?;
        batches.sending(charges(batch, jobs, &done.0.outcomes));
        Ok(done)
    })?;
    state.publish_to(directory);
    Ok(worked)
}

/// The charges of a batch that is about to be committed.
fn charges<'j>(
    batch: BatchId,
    jobs: &'j [Job],
    outcomes: &[Result<Sold, ChargeError>],
) -> impl Iterator<Item = (&'j Job, SentCharge)> {
    jobs.iter().zip(outcomes).zip(1..).filter_map(move |((job, outcome), place)| match (&job.work, outcome) {
        (Work::Charge(_) | Work::Part(_), Ok(Sold::Receipt(receipt))) => {
            let id = ChargeId { batch, place };
            Some((job, SentCharge { id, is_plain: false, undo: receipt.undo.clone() }))
        }
        _ => None,
    })
}

fn attempt(
    connection: &Shared,
    jobs: &[Job],
    directory: &Directory,
    server: i64,
    damaged: &mut BTreeSet<usize>,
) -> Result<(Worked, State), Trouble> {
    let rows = Rows::new(connection, false);
    let reads = reads(jobs, directory);
    let part = load(&rows, &reads, true)?;
    foresee(&rows, reads, &part)?;
    let numbers = numbers(&mut connection.lock(), jobs)?;
    let mut state = State::of_part(below(&rows), part);
    let (mut outcomes, mut work) = (Vec::with_capacity(jobs.len()), writing::Work::default());
    for ((place, job), (sequence, reservation)) in jobs.iter().enumerate().zip(numbers) {
        if damaged.contains(&place) {
            outcomes.push(Err(Unavailable::Down.into()));
            continue;
        }
        if !is_due(&mut connection.lock(), &job.work)? {
            outcomes.push(Ok(Sold::Nothing));
            continue;
        }
        state.number(sequence, reservation);
        let outcome = job.work.decide(&mut state);
        let written = state.take_outcome();
        if let Some(trouble) = rows.take_trouble() {
            return Err(trouble);
        }
        match written {
            Ok(written) => {
                work.entries.extend(written.entries);
                work.changes.absorb(written.changes);
            }
            Err(error) => {
                // The state is spoilt: everything again, without this operation.
                tracing::error!(%error, "an operation on the books is refused");
                damaged.insert(place);
                return Err(Trouble::Conflict(error.to_string()));
            }
        }
        outcomes.push(outcome);
    }
    let entries = work.entries.len() as u64;
    writing::write(&rows, server, &work, &state.changed(), false)?;
    Ok((Worked { outcomes, entries }, state))
}

/// Whether the operation is not a refund that was made before. Marks it as made.
fn is_due(connection: &mut Connection, work: &Work) -> Result<bool, Trouble> {
    let Work::Refund { doubt: Some(ChargeId { batch, place }), .. } = work else { return Ok(true) };
    Ok(connection.execute(TAKEN_BACK, &[&batch.server, &batch.number, place])? > 0)
}

/// What the operations read.
fn reads(jobs: &[Job], directory: &Directory) -> Reads {
    let mut all = Reads::nothing();
    jobs.iter().for_each(|job| all.add(job.work.reads()));
    all.capped.retain(|(key, _)| directory.key(*key).is_none_or(|key| key.limits().has_caps()));
    all
}

/// Reads the records that the operations will ask for.
fn foresee(rows: &Rows, mut reads: Reads, part: &Part) -> Result<(), Trouble> {
    for (id, at) in &reads.settling {
        let Some(record) = part.reservations.iter().find(|record| record.id == *id) else { continue };
        reads.records.extend(remembered_of(record));
        reads.usage.insert((record.account, at.day(), record.key, record.dataset.clone()));
    }
    learn_records(rows, reads.records)?;
    learn_usage(rows, &reads.usage)
}

/// What a reservation remembers when it is settled.
fn remembered_of(record: &ReservationRecord) -> impl Iterator<Item = Vec<u8>> {
    let claim = record.claim.map(|claim| key_space::claim(record.account, &claim.key));
    let file = record.file.map(|file| key_space::grant(record.account, &file.hash));
    let view = record.view.map(|view| key_space::paid_view(record.account, &view));
    claim.into_iter().chain(file).chain(view)
}

/// For each job the number of its first entry and of its reservation. They rise from one transaction on an account to the
/// next, because they are drawn while the account is locked.
fn numbers(connection: &mut Connection, jobs: &[Job]) -> Result<Vec<(u64, u64)>, Trouble> {
    let sequences = drawn(connection, NUMBERS, jobs.len())?;
    let reserving = jobs.iter().filter(|job| job.work.reserves()).count();
    let mut ids = drawn(connection, RESERVATION_IDS, reserving)?.into_iter();
    let id = |job: &Job| if job.work.reserves() { ids.next().unwrap_or(0) } else { 0 };
    Ok(sequences.into_iter().zip(jobs.iter().map(id)).collect())
}

fn drawn(connection: &mut Connection, text: &'static str, count: usize) -> Result<Vec<u64>, Trouble> {
    if count == 0 {
        return Ok(Vec::new());
    }
    let count = signed(count as u64);
    let rows = connection.query(text, &[&count])?;
    let mut numbers: Vec<u64> = rows.iter().map(|row| unsigned(row.get(0))).collect();
    numbers.sort_unstable();
    Ok(numbers)
}
