//! Operations that the state decides: many of them in one transaction.
//!
//! ```text
//! lock the accounts │ read what the operations need │ decide one after the other │ write what changed │ commit
//! ```

use std::collections::BTreeSet;
use std::sync::Arc;

use super::super::loading::{Wanted, below, learn_records, learn_usage, load};
use super::super::rows::{Rows, Shared};
use super::super::tables::{signed, unsigned};
use super::super::transaction::{BatchId, Link};
use super::super::unsettled::{ChargeId, SentCharge};
use super::super::writing;
use super::jobs::{Job, Sold, Work};
use crate::directory::Directory;
use crate::error::{ChargeError, Unavailable};
use crate::id::{AccountId, KeyId};
use crate::key_space;
use crate::request::{ChargeRequest, Receipt};
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
    let wanted = wanted(jobs, directory);
    let part = load(&rows, &wanted, true)?;
    foresee(&rows, jobs, &part)?;
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
        let outcome = carry_out(&mut state, &job.work);
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

fn carry_out(state: &mut State, work: &Work) -> Result<Sold, ChargeError> {
    match work {
        Work::Charge(request) => state.charge(request).map(Sold::Receipt),
        Work::Part(request) => state.sell_part(request).map(Sold::Receipt),
        Work::Reserve(request) => state.reserve(request).map(Sold::Reserved),
        Work::ReserveFile(request) => state.reserve_download(request).map(Sold::Reserved),
        Work::Refund { receipt, at, note, .. } => state.refund(receipt, *at, note).map(|()| Sold::Nothing),
        Work::Settle { id, outcome, note, .. } => {
            let receipt = state.settle(*id, *outcome, note)?;
            receipt.map(Sold::Receipt).ok_or_else(|| Unavailable::Down.into())
        }
    }
}

/// What the operations need.
fn wanted(jobs: &[Job], directory: &Directory) -> Wanted {
    let mut wanted = Wanted::default();
    let mut cap = |key: Option<KeyId>, at| {
        let capped = key.filter(|key| directory.key(*key).is_none_or(|key| key.limits().has_caps()));
        wanted.capped.extend(capped.map(|key| (key, at)));
    };
    for job in jobs {
        match &job.work {
            Work::Charge(request) | Work::Reserve(request) => cap(request.key, request.at),
            Work::Part(request) | Work::ReserveFile(request) => cap(request.charge.key, request.charge.at),
            Work::Refund { receipt, .. } => cap(receipt.undo.key, receipt.undo.at),
            Work::Settle { key, outcome, .. } => cap(*key, outcome.at),
        }
    }
    for job in jobs {
        wanted.accounts.insert(job.work.account());
        match &job.work {
            Work::Settle { id, .. } => wanted.settling.push(*id),
            Work::Part(request) => wanted.files.push(request.file()),
            _ => {}
        }
        let request = request_of(&job.work);
        wanted.claims.extend(request.and_then(|request| request.claim).map(|claim| claim.key));
    }
    wanted
}

fn request_of(work: &Work) -> Option<&ChargeRequest> {
    match work {
        Work::Charge(request) | Work::Reserve(request) => Some(request),
        Work::Part(request) | Work::ReserveFile(request) => Some(&request.charge),
        Work::Refund { .. } | Work::Settle { .. } => None,
    }
}

/// Reads the records that the operations will ask for.
fn foresee(rows: &Rows, jobs: &[Job], part: &Part) -> Result<(), Trouble> {
    let (mut records, mut lines) = (BTreeSet::new(), BTreeSet::new());
    for job in jobs {
        let account = job.work.account();
        if let Some(request) = request_of(&job.work) {
            let claim = request.claim.map(|claim| key_space::claim(account, &claim.key));
            let view = request.view.as_ref().map(|viewed| key_space::paid_view(account, &viewed.view));
            records.extend(claim.into_iter().chain(view));
        }
        match &job.work {
            Work::Charge(request) => drop(lines.insert(line(account, request, request.key))),
            Work::Part(request) => {
                records.insert(key_space::grant(account, &request.file()));
                lines.insert(line(account, &request.charge, request.charge.key));
            }
            Work::Refund { receipt: Receipt { undo, .. }, .. } => {
                records.extend(undo.remembered.iter().map(|(key, _)| key.clone()));
                lines.insert((account, undo.at.day(), undo.key, undo.dataset.clone()));
            }
            Work::Settle { id, outcome, .. } => {
                let Some(record) = part.reservations.iter().find(|record| record.id == *id) else { continue };
                records.extend(remembered_of(record));
                lines.insert((account, outcome.at.day(), record.key, record.dataset.clone()));
            }
            Work::Reserve(_) | Work::ReserveFile(_) => {}
        }
    }
    learn_records(rows, records)?;
    learn_usage(rows, &lines)
}

fn line(account: AccountId, request: &ChargeRequest, key: Option<KeyId>) -> super::super::loading::LineKey {
    (account, request.at.day(), key, request.dataset.clone())
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
    let is_reserving = |job: &Job| matches!(job.work, Work::Reserve(_) | Work::ReserveFile(_));
    let reserving = jobs.iter().filter(|job| is_reserving(job)).count();
    let mut ids = drawn(connection, RESERVATION_IDS, reserving)?.into_iter();
    let id = |job: &Job| if is_reserving(job) { ids.next().unwrap_or(0) } else { 0 };
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
