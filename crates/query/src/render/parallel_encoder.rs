//! The parallel encoder: idle cores encode units of rows ahead of a connection, which receives them in order.
//!
//! The sender encodes a unit itself when no thread has begun it, so no stream waits for another, and a slow client
//! stops the encoding. Two limits bound the memory: units ahead of one connection, and units ahead of all. It passes
//! the bytes of a piece on unread, and does not depend on sockets.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use mercato_base::marks::RowMark;
use mercato_format::FormatError;
use rayon::{Scope, ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

/// Units encoded ahead of one connection, including the one being sent.
const UNITS_AHEAD_EACH: usize = 5;
/// Units encoded ahead of all connections; bounds the memory together with `UNIT_BYTES_MAX`.
const UNITS_AHEAD_MAX: usize = 24;

/// A unit of rows, encoded together.
pub trait Unit: Send + Sync {
    /// Encodes the unit from its row `done` on: at least one row, up to the row at which `out` is longer than
    /// `UNIT_BYTES_MAX`. Returns the progress.
    ///
    /// # Errors
    /// [`FormatError::Corrupt`] when the store file is damaged.
    fn encode(&self, done: usize, out: &mut Vec<u8>) -> Result<Progress, FormatError>;
}

/// The progress of a unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// Rows encoded so far.
    pub rows: usize,
    /// Whether the unit is complete.
    pub complete: bool,
    /// Where rows end in the bytes of this piece. The last mark has all of its rows.
    pub marks: Vec<RowMark>,
}

impl Progress {
    #[must_use]
    pub fn new(rows: usize, complete: bool, marks: Vec<RowMark>) -> Progress {
        Progress { rows, complete, marks }
    }
}

/// The next step of a pipeline.
pub enum Next<U> {
    Unit(U),
    /// No unit yet; ask again.
    Nothing,
    /// No further units.
    End,
}

/// A source of units and the sink of their bytes.
pub trait Pipeline {
    type Unit: Unit;
    /// The error that ends the pipeline early.
    type Error: From<FormatError>;

    /// Finds the next unit within a bounded time.
    fn next(&mut self) -> Result<Next<Self::Unit>, Self::Error>;

    /// Receives encoded bytes in order. A large unit comes in several pieces.
    fn take(&mut self, unit: &Self::Unit, bytes: &[u8], progress: &Progress) -> Result<(), Self::Error>;
}

/// A pool of encoding threads.
pub struct ParallelEncoder {
    threads: ThreadPool,
    free: AtomicUsize,
}

impl ParallelEncoder {
    /// Starts the threads, one for each available core.
    ///
    /// # Errors
    /// When the system gives no threads.
    pub fn new(threads: usize) -> Result<ParallelEncoder, ThreadPoolBuildError> {
        let name = |number| format!("encode-{number}");
        let threads = ThreadPoolBuilder::new().num_threads(threads.max(1)).thread_name(name).build()?;
        Ok(ParallelEncoder { threads, free: AtomicUsize::new(UNITS_AHEAD_MAX) })
    }

    /// Encodes all units of `work` and delivers them in order.
    ///
    /// # Errors
    /// The first error of the pipeline or of a unit. Units encoded ahead are dropped.
    pub fn run<W: Pipeline>(&self, work: &mut W) -> Result<(), W::Error> {
        let abandoned = AtomicBool::new(false);
        let spare = Mutex::new(Vec::new());
        let shared = Shared { encoder: self, abandoned: &abandoned, spare: &spare };
        self.threads.in_place_scope(|scope| {
            let outcome = shared.deliver_all(work, scope);
            abandoned.store(true, Ordering::Release);
            outcome
        })
    }

    fn acquire_slot(&self) -> bool {
        let taken = self.free.fetch_update(Ordering::AcqRel, Ordering::Acquire, |free| free.checked_sub(1));
        taken.is_ok()
    }

    fn release_slot(&self) {
        self.free.fetch_add(1, Ordering::AcqRel);
    }
}

/// State shared by the sender and the encoding threads of one connection.
#[derive(Clone, Copy)]
struct Shared<'s> {
    encoder: &'s ParallelEncoder,
    abandoned: &'s AtomicBool,
    spare: &'s Mutex<Vec<Vec<u8>>>,
}

impl<'s> Shared<'s> {
    fn deliver_all<W: Pipeline>(self, work: &mut W, scope: &Scope<'s>) -> Result<(), W::Error>
    where
        W::Unit: 's,
    {
        let mut ahead: VecDeque<Arc<Job<W::Unit>>> = VecDeque::new();
        let mut ended = false;
        let mut begun = false;
        loop {
            while !ended && ahead.len() < if begun { UNITS_AHEAD_EACH } else { 1 } {
                match work.next()? {
                    Next::Unit(unit) => ahead.push_back(self.begin(unit, begun, scope)),
                    Next::Nothing => break,
                    Next::End => ended = true,
                }
            }
            // Deliver the first unit before encoding others ahead.
            begun = begun || !ahead.is_empty();
            match ahead.pop_front() {
                Some(job) => self.deliver(work, &job)?,
                None if ended => return Ok(()),
                None => {}
            }
        }
    }

    /// Queues the unit for a thread, if a slot is free for its output.
    fn begin<U: Unit + 's>(self, unit: U, ahead: bool, scope: &Scope<'s>) -> Arc<Job<U>> {
        let job = Arc::new(Job { unit, state: Mutex::new(State::Waiting), changed: Condvar::new() });
        if ahead && self.encoder.acquire_slot() {
            let job = Arc::clone(&job);
            scope.spawn(move |_| {
                if !self.abandoned.load(Ordering::Acquire) {
                    job.encode_ahead(self.buffer());
                }
                self.encoder.release_slot();
            });
        }
        job
    }

    fn deliver<W: Pipeline>(self, work: &mut W, job: &Job<W::Unit>) -> Result<(), W::Error> {
        let (mut bytes, mut progress) = match job.take() {
            Some(encoded) => encoded?,
            None => {
                let mut bytes = self.buffer();
                let progress = job.unit.encode(0, &mut bytes)?;
                (bytes, progress)
            }
        };
        loop {
            work.take(&job.unit, &bytes, &progress)?;
            if progress.complete {
                break;
            }
            bytes.clear();
            progress = job.unit.encode(progress.rows, &mut bytes)?;
        }
        bytes.clear();
        lock(self.spare).push(bytes);
        Ok(())
    }

    fn buffer(self) -> Vec<u8> {
        lock(self.spare).pop().unwrap_or_default()
    }
}

/// A unit and its state.
struct Job<U> {
    unit: U,
    state: Mutex<State>,
    changed: Condvar,
}

type Encoded = Result<(Vec<u8>, Progress), FormatError>;

enum State {
    /// Not started.
    Waiting,
    Encoding,
    Done(Encoded),
    /// Taken by the sender.
    Taken,
}

impl<U: Unit> Job<U> {
    fn encode_ahead(&self, mut bytes: Vec<u8>) {
        {
            let mut state = lock(&self.state);
            if !matches!(*state, State::Waiting) {
                return;
            }
            *state = State::Encoding;
        }
        // A panic would leave `Encoding` behind and the sender waiting; the guard resets the state.
        let mut guard = EncodingGuard { job: self, encoded: None };
        guard.encoded = Some(self.unit.encode(0, &mut bytes).map(|progress| (bytes, progress)));
    }

    /// The output encoded ahead, or `None` when the caller has to encode the unit itself.
    fn take(&self) -> Option<Encoded> {
        let mut state = lock(&self.state);
        loop {
            match std::mem::replace(&mut *state, State::Taken) {
                State::Done(encoded) => return Some(encoded),
                State::Encoding => {
                    *state = State::Encoding;
                    state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                State::Waiting | State::Taken => return None,
            }
        }
    }
}

/// Stores the result when encoding ends, also by a panic.
struct EncodingGuard<'j, U> {
    job: &'j Job<U>,
    encoded: Option<Encoded>,
}

impl<U> Drop for EncodingGuard<'_, U> {
    fn drop(&mut self) {
        // After a panic the sender encodes the unit again and meets the panic itself.
        let state = self.encoded.take().map_or(State::Waiting, State::Done);
        *lock(&self.job.state) = state;
        self.job.changed.notify_all();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    /// Encodes its number in pieces of one row.
    struct Number<'c> {
        number: usize,
        rows: usize,
        encoded: &'c AtomicUsize,
    }

    impl Unit for Number<'_> {
        fn encode(&self, done: usize, out: &mut Vec<u8>) -> Result<Progress, FormatError> {
            self.encoded.fetch_add(1, Ordering::Relaxed);
            out.extend_from_slice(format!("{}.{done} ", self.number).as_bytes());
            Ok(Progress::new(done + 1, done + 1 == self.rows, Vec::new()))
        }
    }

    struct Count<'c> {
        next: usize,
        end: usize,
        pauses: bool,
        stop_at: usize,
        encoded: &'c AtomicUsize,
        taken: Vec<String>,
    }

    #[derive(Debug)]
    enum Stop {
        Asked,
        Damaged,
    }

    impl From<FormatError> for Stop {
        fn from(_: FormatError) -> Self {
            Stop::Damaged
        }
    }

    impl<'c> Pipeline for Count<'c> {
        type Unit = Number<'c>;
        type Error = Stop;

        fn next(&mut self) -> Result<Next<Number<'c>>, Stop> {
            self.pauses = !self.pauses;
            if self.next == self.end {
                return Ok(Next::End);
            }
            if self.pauses {
                return Ok(Next::Nothing);
            }
            self.next += 1;
            let (number, encoded) = (self.next, self.encoded);
            Ok(Next::Unit(Number { number, rows: 1 + number % 3, encoded }))
        }

        fn take(&mut self, unit: &Number<'c>, bytes: &[u8], progress: &Progress) -> Result<(), Stop> {
            self.taken.push(String::from_utf8(bytes.to_vec()).unwrap());
            assert_eq!(progress.complete, progress.rows == unit.rows);
            if self.taken.len() == self.stop_at { Err(Stop::Asked) } else { Ok(()) }
        }
    }

    fn run(end: usize, stop_at: usize) -> (Result<(), Stop>, Vec<String>, usize, usize) {
        let encoder = ParallelEncoder::new(3).unwrap();
        let encoded = AtomicUsize::new(0);
        let mut work = Count { next: 0, end, pauses: false, stop_at, encoded: &encoded, taken: Vec::new() };
        let outcome = encoder.run(&mut work);
        let free = encoder.free.load(Ordering::Acquire);
        let taken = work.taken;
        (outcome, taken, encoded.load(Ordering::Relaxed), free)
    }

    #[test]
    fn delivers_units_once_and_in_order() {
        let (outcome, taken, encoded, free) = run(500, usize::MAX);
        outcome.unwrap();
        let expected: Vec<String> = (1..=500)
            .flat_map(|number| (0..1 + number % 3).map(move |row| format!("{number}.{row} ")))
            .collect();
        assert_eq!(taken, expected);
        assert_eq!((encoded, free), (expected.len(), UNITS_AHEAD_MAX));
        assert!(run(0, usize::MAX).1.is_empty());
    }

    #[test]
    fn stops_encoding_when_client_stops() {
        let (outcome, taken, encoded, free) = run(1_000_000, 10);
        assert!(matches!(outcome, Err(Stop::Asked)));
        assert_eq!((taken.len(), free), (10, UNITS_AHEAD_MAX));
        assert!(encoded <= 10 + UNITS_AHEAD_EACH, "{encoded}");
    }
}
