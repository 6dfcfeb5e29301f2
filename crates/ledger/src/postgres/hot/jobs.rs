//! Jobs for the batchers: hot operations with their arguments, a bounded queue of them, and the places where outcomes appear.
//!
//! Whoever waits for an outcome may stop waiting. Then the outcome comes back to the batcher, which takes it back; a charge that
//! was sent by then is noted first, for a process that dies meanwhile. Does not depend on the database.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::super::transaction::BatchId;
use super::super::unsettled::{ChargeId, Journal, SentCharge};
use crate::error::{ChargeError, Unavailable};
use crate::id::AccountId;
use crate::operation::{Operation, Reads};
use crate::operations::charges::{Charge, Refund, Reserve, ReserveFile, SellPart, Settle};
use crate::pending::Pending;
use crate::request::{ChargeRequest, DownloadRequest, Receipt, Reserved};
use crate::state::State as Books;
use mercato_base::clock::Moment;

/// Operations that may wait for one batcher; one more is refused. Those that end something are always taken.
pub const QUEUE_MAX: usize = 8_192;
/// How long anybody waits for an outcome.
pub const ANSWER_WAIT: Duration = Duration::from_secs(10);

/// An operation on an account.
pub enum Work {
    Charge(ChargeRequest),
    Part(DownloadRequest),
    Reserve(ChargeRequest),
    ReserveFile(DownloadRequest),
    /// A charge that was in doubt is taken back once, however often that is asked.
    Refund {
        receipt: Receipt,
        at: Moment,
        note: &'static str,
        doubt: Option<ChargeId>,
    },
    Settle(Settle),
}

impl Work {
    pub fn account(&self) -> AccountId {
        match self {
            Work::Charge(request) | Work::Reserve(request) => request.account.id(),
            Work::Part(request) | Work::ReserveFile(request) => request.charge.account.id(),
            Work::Refund { receipt, .. } => receipt.undo.account,
            Work::Settle(settle) => settle.account,
        }
    }

    /// The moment that it brings along.
    pub fn at(&self) -> Moment {
        match self {
            Work::Charge(request) | Work::Reserve(request) => request.at,
            Work::Part(request) | Work::ReserveFile(request) => request.charge.at,
            Work::Refund { at, .. } => *at,
            Work::Settle(settle) => settle.outcome.at,
        }
    }

    /// Whether it ends something that was begun before.
    pub const fn ends(&self) -> bool {
        matches!(self, Work::Refund { .. } | Work::Settle(_))
    }

    /// Whether it sets credits aside.
    pub const fn reserves(&self) -> bool {
        matches!(self, Work::Reserve(_) | Work::ReserveFile(_))
    }

    pub fn reads(&self) -> Reads {
        match self {
            Work::Charge(request) => Charge(request).reads(),
            Work::Part(request) => SellPart(request).reads(),
            Work::Reserve(request) => Reserve(request).reads(),
            Work::ReserveFile(request) => ReserveFile(request).reads(),
            Work::Refund { receipt, at, note, .. } => Refund { receipt, at: *at, note }.reads(),
            Work::Settle(settle) => settle.reads(),
        }
    }

    pub fn decide(&self, books: &mut Books) -> Result<Sold, ChargeError> {
        match self {
            Work::Charge(request) => Charge(request).decide(books).map(Sold::Receipt),
            Work::Part(request) => SellPart(request).decide(books).map(Sold::Receipt),
            Work::Reserve(request) => Reserve(request).decide(books).map(Sold::Reserved),
            Work::ReserveFile(request) => ReserveFile(request).decide(books).map(Sold::Reserved),
            Work::Refund { receipt, at, note, .. } => {
                Refund { receipt, at: *at, note }.decide(books).map(|()| Sold::Nothing)
            }
            Work::Settle(settle) => settle.decide(books).map(Sold::Receipt),
        }
    }
}

/// An operation that customers make many times a second. It waits in a queue, so the job has a copy of it.
pub trait Sale: Operation<Refusal = ChargeError, Outcome: Send + 'static> {
    fn job(&self, slot: Arc<Slot<Self::Outcome>>) -> Job;
}

impl Sale for Charge<'_> {
    fn job(&self, slot: Arc<Slot<Receipt>>) -> Job {
        Job::new(Work::Charge(self.0.clone()), Reply::Receipt(slot))
    }
}

impl Sale for SellPart<'_> {
    fn job(&self, slot: Arc<Slot<Receipt>>) -> Job {
        Job::new(Work::Part(self.0.clone()), Reply::Receipt(slot))
    }
}

impl Sale for Reserve<'_> {
    fn job(&self, slot: Arc<Slot<Reserved>>) -> Job {
        Job::new(Work::Reserve(self.0.clone()), Reply::Reserved(slot))
    }
}

impl Sale for ReserveFile<'_> {
    fn job(&self, slot: Arc<Slot<Reserved>>) -> Job {
        Job::new(Work::ReserveFile(self.0.clone()), Reply::Reserved(slot))
    }
}

impl Sale for Refund<'_> {
    fn job(&self, slot: Arc<Slot<()>>) -> Job {
        let Refund { receipt, at, note } = *self;
        Job::new(Work::Refund { receipt: receipt.copy(), at, note, doubt: None }, Reply::Nothing(slot))
    }
}

/// What came of an operation.
pub enum Sold {
    Receipt(Receipt),
    Reserved(Reserved),
    Nothing,
}

/// An operation, and where its outcome is waited for.
pub struct Job {
    pub work: Work,
    pub reply: Reply,
    /// Its number in the queue.
    pub ticket: u64,
}

impl Job {
    pub const fn new(work: Work, reply: Reply) -> Job {
        Job { work, reply, ticket: 0 }
    }
}

/// Where the outcome of a job goes.
pub enum Reply {
    Receipt(Arc<Slot<Receipt>>),
    Reserved(Arc<Slot<Reserved>>),
    Nothing(Arc<Slot<()>>),
    /// Nobody waits.
    Nobody,
}

impl Reply {
    /// Whether somebody has stopped waiting.
    pub fn is_given_up(&self) -> bool {
        match self {
            Reply::Receipt(slot) => slot.is_given_up(),
            Reply::Reserved(slot) => slot.is_given_up(),
            Reply::Nothing(slot) => slot.is_given_up(),
            Reply::Nobody => false,
        }
    }

    /// The charge is about to be sent as this one. Comes back where its client was refused before.
    pub fn sending(&self, journal: &Arc<Journal>, charge: SentCharge) -> Option<SentCharge> {
        let Reply::Receipt(slot) = self else { return None };
        slot.sending(journal, charge)
    }

    /// The batch in which the charge was sent last.
    pub fn batch(&self) -> Option<BatchId> {
        let Reply::Receipt(slot) = self else { return None };
        slot.place.lock().sent.as_ref().map(|sent| sent.charge.id.batch)
    }

    /// The outcome stays unknown, and the client is told so: notes the charge.
    pub fn note(&self) {
        if let Reply::Receipt(slot) = self {
            slot.place.lock().sent.iter().for_each(Sent::note);
        }
    }

    /// The outcome of what was sent is known. Says which charge is noted.
    pub fn known(&self) -> Option<ChargeId> {
        let Reply::Receipt(slot) = self else { return None };
        let place = &mut *slot.place.lock();
        let sent = place.sent.take()?;
        matches!(place.state, State::GivenUp).then_some(sent.charge.id)
    }

    /// Hands an outcome over. It comes back when nobody waits for it any more.
    pub fn answer(&self, outcome: Result<Sold, ChargeError>) -> Option<Sold> {
        match (self, outcome) {
            (Reply::Receipt(slot), Ok(Sold::Receipt(receipt))) => slot.put(Ok(receipt)).map(Sold::Receipt),
            (Reply::Reserved(slot), Ok(Sold::Reserved(reserved))) => {
                slot.put(Ok(reserved)).map(Sold::Reserved)
            }
            (Reply::Nothing(slot), Ok(_)) => {
                slot.put(Ok(()));
                None
            }
            (Reply::Receipt(slot), Err(error)) => slot.put(Err(error)).map(Sold::Receipt),
            (Reply::Reserved(slot), Err(error)) => slot.put(Err(error)).map(Sold::Reserved),
            (Reply::Nothing(slot), Err(error)) => {
                slot.put(Err(error));
                None
            }
            (Reply::Receipt(_) | Reply::Reserved(_) | Reply::Nobody, _) => None,
        }
    }
}

/// Where an outcome appears.
pub struct Slot<T> {
    place: Mutex<Place<T>>,
    changed: Condvar,
}

struct Place<T> {
    state: State<T>,
    /// The charge as it was sent last. It is noted before its client is refused.
    sent: Option<Sent>,
}

struct Sent {
    journal: Arc<Journal>,
    charge: SentCharge,
}

impl Sent {
    fn note(&self) {
        self.journal.note([&self.charge]);
    }
}

impl<T> Place<T> {
    fn give_up(&mut self) {
        self.state = State::GivenUp;
        self.sent.iter().for_each(Sent::note);
    }
}

enum State<T> {
    Waiting,
    Answered(Result<T, ChargeError>),
    GivenUp,
}

impl<T: Send + 'static> Slot<T> {
    pub fn new() -> Arc<Slot<T>> {
        let place = Place { state: State::Waiting, sent: None };
        Arc::new(Slot { place: Mutex::new(place), changed: Condvar::new() })
    }

    fn is_given_up(&self) -> bool {
        matches!(self.place.lock().state, State::GivenUp)
    }

    fn sending(&self, journal: &Arc<Journal>, charge: SentCharge) -> Option<SentCharge> {
        let place = &mut *self.place.lock();
        let is_given_up = matches!(place.state, State::GivenUp);
        let refused = is_given_up.then(|| charge.clone());
        let former = place.sent.replace(Sent { journal: Arc::clone(journal), charge });
        if let Some(former) = former.filter(|_| is_given_up) {
            journal.settle(&former.charge.id);
        }
        refused
    }

    /// Gives an outcome that nobody waits for back.
    fn put(&self, outcome: Result<T, ChargeError>) -> Option<T> {
        let place = &mut *self.place.lock();
        match place.state {
            State::GivenUp => outcome.ok(),
            // A batcher that failed in the middle answers all its jobs.
            State::Answered(_) => None,
            State::Waiting => {
                place.state = State::Answered(outcome);
                self.changed.notify_all();
                None
            }
        }
    }

    /// Waits for the outcome, but not for ever.
    fn wait(&self) -> Result<T, ChargeError> {
        let deadline = Instant::now() + ANSWER_WAIT;
        let mut place = self.place.lock();
        while matches!(place.state, State::Waiting) {
            if self.changed.wait_until(&mut place, deadline).timed_out() {
                break;
            }
        }
        match std::mem::replace(&mut place.state, State::GivenUp) {
            State::Answered(outcome) => outcome,
            State::Waiting | State::GivenUp => {
                place.give_up();
                Err(Unavailable::Stalled.into())
            }
        }
    }

    /// The outcome as the caller of an operation gets it.
    pub fn pending(self: &Arc<Self>) -> Pending<T> {
        let waited = Waited(Arc::clone(self));
        Pending::asked(Box::new(move || waited.0.wait()))
    }
}

/// Someone who waits: who goes away without having waited gives the outcome up.
struct Waited<T>(Arc<Slot<T>>);

impl<T> Drop for Waited<T> {
    fn drop(&mut self) {
        let place = &mut *self.0.place.lock();
        if matches!(place.state, State::Waiting) {
            place.give_up();
        }
    }
}

/// The queues of all batchers. An account has one of them, so jobs of an account are carried out in their order.
pub struct Queues(Vec<Queue>);

impl Queues {
    pub fn new(batchers: usize) -> Queues {
        Queues((0..batchers).map(|_| Queue::default()).collect())
    }

    /// The queue of a batcher.
    pub fn of(&self, batcher: usize) -> Option<&Queue> {
        self.0.get(batcher)
    }

    /// Puts a job into the queue of its account.
    pub fn put(&self, job: Job) -> Result<(), ChargeError> {
        let account = usize::try_from(job.work.account().number()).unwrap_or(0);
        let queue = account.checked_rem(self.0.len()).and_then(|place| self.0.get(place));
        queue.map_or_else(|| Err(Unavailable::Stopped.into()), |queue| queue.put(job))
    }

    /// Waits until all present jobs are answered, but not for ever.
    pub fn settle_down(&self) {
        self.0.iter().for_each(Queue::settle_down);
    }

    /// Takes no further jobs.
    pub fn close(&self) {
        self.0.iter().for_each(Queue::close);
    }
}

/// Jobs that wait for a batcher.
#[derive(Default)]
pub struct Queue {
    jobs: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Default)]
struct Waiting {
    jobs: VecDeque<Job>,
    /// The number of the newest job.
    last: u64,
    /// Jobs that are not answered.
    unanswered: BTreeSet<u64>,
    is_closed: bool,
}

impl Queue {
    /// Puts a job into the queue.
    fn put(&self, mut job: Job) -> Result<(), ChargeError> {
        let mut waiting = self.jobs.lock();
        if waiting.is_closed {
            return Err(Unavailable::Stopped.into());
        }
        if waiting.jobs.len() >= QUEUE_MAX && !job.work.ends() {
            return Err(Unavailable::Busy.into());
        }
        waiting.last = waiting.last.saturating_add(1);
        job.ticket = waiting.last;
        waiting.unanswered.insert(job.ticket);
        waiting.jobs.push_back(job);
        drop(waiting);
        self.changed.notify_all();
        Ok(())
    }

    /// At most `limit` jobs, the oldest; waits for them. Nothing once the queue is closed and empty.
    pub fn take(&self, limit: usize) -> Option<Vec<Job>> {
        let mut waiting = self.jobs.lock();
        while waiting.jobs.is_empty() {
            if waiting.is_closed {
                return None;
            }
            self.changed.wait(&mut waiting);
        }
        let count = waiting.jobs.len().min(limit);
        Some(waiting.jobs.drain(..count).collect())
    }

    /// These jobs are answered.
    pub fn answered(&self, tickets: &[u64]) {
        let mut waiting = self.jobs.lock();
        for ticket in tickets {
            waiting.unanswered.remove(ticket);
        }
        drop(waiting);
        self.changed.notify_all();
    }

    /// Waits until all present jobs are answered, but not for ever.
    fn settle_down(&self) {
        let deadline = Instant::now() + ANSWER_WAIT;
        let mut waiting = self.jobs.lock();
        let newest = waiting.last;
        while waiting.unanswered.first().is_some_and(|oldest| *oldest <= newest) {
            if self.changed.wait_until(&mut waiting, deadline).timed_out() {
                return;
            }
        }
    }

    /// Takes no further jobs.
    fn close(&self) {
        self.jobs.lock().is_closed = true;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_outcome_back_when_nobody_waits() {
        let slot = Slot::<u8>::new();
        let pending = slot.pending();
        assert_eq!(slot.put(Ok(1)), None);
        assert_eq!(pending.durable(), Ok(1));
        let slot = Slot::<u8>::new();
        drop(slot.pending());
        assert!(slot.is_given_up());
        assert_eq!((slot.put(Ok(1)), slot.put(Err(Unavailable::Down.into()))), (Some(1), None));
    }
}
