//! Private connections of one class of work: taken for one request, given back, replaced when they broke.
//!
//! There are as many as workers behind them, so a request that has one is worked on at once. Those that find none wait in
//! line, for a bounded time. Knows no request.

use std::collections::VecDeque;
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle, Thread};
use std::time::{Duration, Instant};

use super::private::PrivateDoor;
use crate::limits::edge::REOPEN_PAUSE;

/// What may wait, and for how long.
#[derive(Debug, Clone, Copy)]
pub(super) struct QueueLimits {
    pub(super) wait: Duration,
    pub(super) length: usize,
    /// The longest silence of a worker.
    pub(super) answer_wait: Duration,
}

/// Connections of one class.
pub(super) struct Pool {
    door: Arc<PrivateDoor>,
    state: Mutex<State>,
    work: Condvar,
    size: usize,
    queue: QueueLimits,
}

struct State {
    free: Vec<UnixStream>,
    waiting: VecDeque<Arc<Waiter>>,
    missing: usize,
    closed: bool,
}

/// A thread that can stand in line.
pub(super) struct Waiter {
    slot: Mutex<Option<UnixStream>>,
    thread: Thread,
}

impl Waiter {
    /// A place for the calling thread.
    pub(super) fn here() -> Arc<Self> {
        Arc::new(Self { slot: Mutex::new(None), thread: thread::current() })
    }

    fn take(&self) -> Option<UnixStream> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Nothing became free in time, too many wait, or the end has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NoneFree;

impl Pool {
    /// Opens all connections, one after the other, and starts the thread that replaces broken ones.
    pub(super) fn open(
        name: &str,
        door: Arc<PrivateDoor>,
        size: usize,
        queue: QueueLimits,
    ) -> io::Result<(Arc<Self>, JoinHandle<()>)> {
        let free = (0..size).map(|_| door.connect(queue.answer_wait)).collect::<io::Result<Vec<_>>>()?;
        let state = State { free, waiting: VecDeque::new(), missing: 0, closed: false };
        let pool = Arc::new(Self { door, state: Mutex::new(state), work: Condvar::new(), size, queue });
        let kept = Arc::clone(&pool);
        let keeper = thread::Builder::new().name(format!("keep-{name}")).spawn(move || kept.keep())?;
        Ok((pool, keeper))
    }

    /// Takes a connection; waits in line when none is free. The time of waiting is given where there was one.
    pub(super) fn take(
        self: &Arc<Self>,
        waiter: &Arc<Waiter>,
    ) -> Result<(Lease, Option<Duration>), NoneFree> {
        let mut state = self.lock();
        if let Some(stream) = state.free.pop() {
            return Ok((self.lease(stream), None));
        }
        if state.closed || state.waiting.len() >= self.queue.length {
            return Err(NoneFree);
        }
        state.waiting.push_back(Arc::clone(waiter));
        drop(state);
        let since = Instant::now();
        loop {
            let waited = since.elapsed();
            if let Some(stream) = waiter.take() {
                return Ok((self.lease(stream), Some(waited)));
            }
            let Some(left) = self.queue.wait.checked_sub(waited).filter(|left| !left.is_zero()) else {
                break;
            };
            thread::park_timeout(left);
        }
        self.lock().waiting.retain(|other| !Arc::ptr_eq(other, waiter));
        // Between the last look and leaving the line, a connection may have come.
        waiter.take().map(|stream| (self.lease(stream), Some(since.elapsed()))).ok_or(NoneFree)
    }

    /// How many connections there are, how many are free, and how many requests wait.
    pub(super) fn standing(&self) -> (usize, usize, usize) {
        let state = self.lock();
        (self.size, state.free.len(), state.waiting.len())
    }

    /// Closes every connection that is free; those that are taken close when they come back.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.free.clear();
        drop(state);
        self.work.notify_all();
    }

    fn lease(self: &Arc<Self>, stream: UnixStream) -> Lease {
        Lease { pool: Arc::clone(self), stream: Some(stream) }
    }

    fn give(&self, stream: UnixStream) {
        let mut state = self.lock();
        if state.closed {
            return;
        }
        let Some(next) = state.waiting.pop_front() else {
            state.free.push(stream);
            return;
        };
        *next.slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(stream);
        drop(state);
        next.thread.unpark();
    }

    fn lose(&self) {
        let mut state = self.lock();
        state.missing = state.missing.saturating_add(1);
        drop(state);
        self.work.notify_one();
    }

    /// Replaces what was lost until the end.
    fn keep(&self) {
        let mut state = self.lock();
        loop {
            if state.closed {
                return;
            }
            if state.missing == 0 {
                state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            drop(state);
            match self.door.connect(self.queue.answer_wait) {
                Ok(stream) => {
                    self.lock().missing -= 1;
                    self.give(stream);
                }
                Err(error) => {
                    tracing::warn!(%error, "a private connection cannot be replaced yet");
                    thread::sleep(REOPEN_PAUSE);
                }
            }
            state = self.lock();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection that is taken. Dropped without [`Lease::done`] it is closed and replaced.
pub(super) struct Lease {
    pool: Arc<Pool>,
    stream: Option<UnixStream>,
}

impl Lease {
    /// The connection.
    pub(super) fn stream(&self) -> Option<&UnixStream> {
        self.stream.as_ref()
    }

    /// Gives the connection back: everything that was asked was answered, and nothing else is in it.
    pub(super) fn done(mut self) {
        if let Some(stream) = self.stream.take() {
            self.pool.give(stream);
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if self.stream.take().is_some() {
            self.pool.lose();
        }
    }
}
