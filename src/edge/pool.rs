//! Private connections of one class of work: taken for one request, given back, replaced when they broke.
//!
//! There are as many as workers behind them, so a request that has one is worked on at once. Those that find none wait in
//! line, where addresses share by time, for a bounded time. Knows no request.

use std::io;
use std::net::{IpAddr, Shutdown};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::private::PrivateDoor;
use crate::fairness::{Advance, Line, Standing, Waiter};
use crate::limits::edge::{REOPEN_PAUSE, RESERVED_SHARE};

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
    /// The last ones that are free are for addresses that have none.
    reserve: usize,
    queue: QueueLimits,
    /// Connections that were opened, those that replaced others included.
    opened: AtomicU64,
}

struct State {
    free: Vec<Arc<UnixStream>>,
    waiting: Line<Arc<Place>>,
    /// Connections that the start left to the keeper, or that broke.
    missing: usize,
    closed: bool,
}

/// A place in line.
pub(super) type Place = Waiter<(Arc<UnixStream>, Advance)>;

/// Nothing became free in time, too many wait, or the end has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NoneFree;

impl Pool {
    /// Opens the first connection, so that a way in that leads nowhere is found here, and starts the thread that opens
    /// the others and replaces broken ones.
    pub(super) fn open(
        name: &str,
        door: Arc<PrivateDoor>,
        size: usize,
        queue: QueueLimits,
    ) -> io::Result<(Arc<Self>, JoinHandle<()>)> {
        let free = vec![Arc::new(door.connect(queue.answer_wait)?)];
        let missing = size.saturating_sub(free.len());
        let state = State { free, waiting: Line::new(queue.length), missing, closed: false };
        let pool = Arc::new(Self {
            door,
            state: Mutex::new(state),
            work: Condvar::new(),
            size,
            reserve: size / RESERVED_SHARE,
            queue,
            opened: AtomicU64::new(1),
        });
        let kept = Arc::clone(&pool);
        let keeper = thread::Builder::new().name(format!("keep-{name}")).spawn(move || kept.keep())?;
        Ok((pool, keeper))
    }

    /// Takes a connection for a client at this address; waits in line when none is free, at the place of the calling
    /// thread. The time of waiting is given where there was one.
    pub(super) fn take(
        self: &Arc<Self>,
        address: IpAddr,
        place: &Arc<Place>,
    ) -> Result<(Lease, Option<Duration>), NoneFree> {
        let mut state = self.lock();
        if (state.free.len() > self.reserve || has_none(state.waiting.standing(address)))
            && let Some(stream) = state.free.pop()
        {
            let advance = state.waiting.begin(address);
            return Ok((self.lease(address, (stream, advance)), None));
        }
        if state.closed || !state.waiting.enter(address, Arc::clone(place)) {
            return Err(NoneFree);
        }
        drop(state);
        let since = Instant::now();
        loop {
            let waited = since.elapsed();
            if let Some(given) = place.take() {
                return Ok((self.lease(address, given), Some(waited)));
            }
            let Some(left) = self.queue.wait.checked_sub(waited).filter(|left| !left.is_zero()) else {
                break;
            };
            place.sleep(left);
        }
        self.lock().waiting.leave(address, |other| Arc::ptr_eq(other, place));
        // Between the last look and leaving the line, a connection may have come.
        place.take().map(|given| (self.lease(address, given), Some(since.elapsed()))).ok_or(NoneFree)
    }

    /// How many connections there are, how many are free, and how many requests wait.
    pub(super) fn standing(&self) -> (usize, usize, usize) {
        let state = self.lock();
        (self.size, state.free.len(), state.waiting.len())
    }

    /// How many connections were replaced since the start.
    pub(super) fn replaced(&self) -> u64 {
        let size = u64::try_from(self.size).unwrap_or(u64::MAX);
        self.opened.load(Ordering::Relaxed).saturating_sub(size)
    }

    /// Closes every connection that is free; those that are taken close when they come back.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.free.clear();
        drop(state);
        self.work.notify_all();
    }

    fn lease(self: &Arc<Self>, address: IpAddr, (stream, advance): (Arc<UnixStream>, Advance)) -> Lease {
        Lease { pool: Arc::clone(self), stream: Some(stream), address, advance, since: Instant::now() }
    }

    fn give(&self, mut state: MutexGuard<'_, State>, stream: Arc<UnixStream>) {
        if state.closed {
            return;
        }
        let next = if state.free.len() >= self.reserve {
            state.waiting.take_next()
        } else {
            state.waiting.take_next_where(|standing, _| has_none(standing))
        };
        let Some((next, advance)) = next else {
            state.free.push(stream);
            return;
        };
        drop(state);
        next.give((stream, advance));
    }

    fn lose(&self, mut state: MutexGuard<'_, State>) {
        state.missing = state.missing.saturating_add(1);
        drop(state);
        self.work.notify_one();
    }

    /// Opens what is not open yet, and replaces what was lost, until the end.
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
                    self.opened.fetch_add(1, Ordering::Relaxed);
                    let mut state = self.lock();
                    state.missing = state.missing.saturating_sub(1);
                    self.give(state, Arc::new(stream));
                }
                Err(error) => {
                    tracing::warn!(%error, "a private connection cannot be opened yet");
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

fn has_none(standing: Standing) -> bool {
    standing.in_service == 0
}

/// A connection that is taken. Dropped without [`Lease::done`] it is closed and replaced.
pub(super) struct Lease {
    pool: Arc<Pool>,
    stream: Option<Arc<UnixStream>>,
    address: IpAddr,
    advance: Advance,
    since: Instant,
}

impl Lease {
    /// The connection.
    pub(super) fn stream(&self) -> Option<&UnixStream> {
        self.stream.as_deref()
    }

    /// The connection, to look at it while the lease may end.
    pub(super) fn watched(&self) -> Option<Arc<UnixStream>> {
        self.stream.clone()
    }

    /// Gives the connection back: everything that was asked was answered, and nothing else is in it.
    pub(super) fn done(mut self) {
        if let Some(stream) = self.stream.take() {
            let state = self.end();
            self.pool.give(state, stream);
        }
    }

    /// What the address took is known.
    fn end(&self) -> MutexGuard<'_, State> {
        let mut state = self.pool.lock();
        state.waiting.end(self.address, self.advance, self.since.elapsed());
        state
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(stream) = self.stream.take() {
            // Others may look at it for a moment longer; it may be gone already.
            drop(stream.shutdown(Shutdown::Both));
            self.pool.lose(self.end());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::Ipv4Addr;

    use super::*;

    const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    /// A listener whose workers answer every proof and then echo.
    fn open(size: usize, wait: Duration, length: usize) -> (Arc<Pool>, JoinHandle<()>) {
        let mut random = [0; 8];
        getrandom::fill(&mut random).unwrap();
        let (listener, door) = PrivateDoor::open(u64::from_le_bytes(random)).unwrap();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                thread::spawn(move || {
                    let mut piece = [0; 512];
                    while let Ok(length) = stream.read(&mut piece)
                        && length > 0
                    {
                        stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
                    }
                });
            }
        });
        let queue = QueueLimits { wait, length, answer_wait: Duration::from_secs(5) };
        Pool::open("test", Arc::new(door), size, queue).unwrap()
    }

    #[test]
    fn a_connection_goes_to_who_waited_longest() {
        let (pool, keeper) = open(1, Duration::from_secs(30), 10);
        let (first, waited) = pool.take(CLIENT, &here()).unwrap();
        assert_eq!(waited, None);
        let (tell, told) = std::sync::mpsc::channel();
        let waiting: Vec<_> = (0..3)
            .map(|number| {
                while pool.standing().2 < number {
                    thread::yield_now();
                }
                let (pool, tell) = (Arc::clone(&pool), tell.clone());
                thread::spawn(move || {
                    let (lease, waited) = pool.take(CLIENT, &here()).unwrap();
                    assert!(waited.is_some());
                    tell.send(number).unwrap();
                    lease.done();
                })
            })
            .collect();
        while pool.standing().2 < 3 {
            thread::yield_now();
        }
        first.done();
        waiting.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(told.try_iter().collect::<Vec<_>>(), [0, 1, 2]);
        pool.close();
        keeper.join().unwrap();
    }

    #[test]
    fn who_waits_too_long_or_finds_the_line_full_is_told() {
        let (pool, _keeper) = open(1, Duration::from_millis(20), 1);
        let (_taken, _) = pool.take(CLIENT, &here()).unwrap();
        assert!(pool.take(CLIENT, &here()).is_err());
        assert_eq!(pool.standing().2, 0, "who gave up is out of the line");
        let (none, _keeper) = open(1, Duration::from_secs(30), 0);
        let (_taken, _) = none.take(CLIENT, &here()).unwrap();
        assert!(none.take(CLIENT, &here()).is_err());
    }

    fn here() -> Arc<Place> {
        Arc::new(Place::here())
    }

    fn wait_until_all_are_free(pool: &Pool) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while pool.standing().1 < pool.size {
            assert!(Instant::now() < deadline, "connections are missing");
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn the_first_is_open_at_once_and_the_others_follow() {
        let (pool, keeper) = open(20, Duration::from_secs(30), 10);
        // One request is worked on while the others are still being opened; nobody is turned away for that.
        let leases: Vec<_> = (0..18).map(|_| pool.take(CLIENT, &here()).unwrap().0).collect();
        leases.into_iter().for_each(Lease::done);
        wait_until_all_are_free(&pool);
        assert_eq!(pool.replaced(), 0);
        pool.close();
        keeper.join().unwrap();
    }

    #[test]
    fn the_last_ones_are_for_addresses_that_have_none() {
        let (pool, keeper) = open(16, Duration::from_millis(20), 10);
        wait_until_all_are_free(&pool);
        let mut leases: Vec<_> = (0..14).map(|_| pool.take(CLIENT, &here()).unwrap().0).collect();
        assert!(pool.take(CLIENT, &here()).is_err(), "two are left, and this address has many");
        let other = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
        let (own, waited) = pool.take(other, &here()).unwrap();
        assert_eq!(waited, None);
        assert!(pool.take(other, &here()).is_err(), "now it has one too");
        leases.pop().unwrap().done();
        assert!(pool.take(CLIENT, &here()).is_err(), "one came back, and still only two are free");
        own.done();
        assert!(pool.take(CLIENT, &here()).is_ok(), "the third that is free is for everybody");
        drop(leases);
        pool.close();
        keeper.join().unwrap();
    }

    #[test]
    fn a_connection_that_broke_is_replaced() {
        let (pool, keeper) = open(2, Duration::from_secs(30), 10);
        for _ in 0..5 {
            let (lease, _) = pool.take(CLIENT, &here()).unwrap();
            drop(lease);
        }
        wait_until_all_are_free(&pool);
        assert_eq!(pool.replaced(), 5);
        pool.close();
        keeper.join().unwrap();
        assert!(pool.take(CLIENT, &here()).is_err());
    }
}
