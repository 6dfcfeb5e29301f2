//! Turns at the processors: few threads compute at one time, the others wait for their turn.
//!
//! Where thirty threads compute on two processors, the kernel gives each a slice of some milliseconds after all the
//! others, so what takes a tenth of a millisecond takes thirty. With turns, at most a few compute, and who comes next is
//! decided by address (see [`Line`]). Work that turns out to be long, or sleeps on the disk, stops counting after
//! [`TURN_TIME`], so that nobody waits longer than that behind it.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::line::{Advance, Line, Standing};
use super::waiter::Waiter;

/// How long a turn keeps its place: far longer than a page takes also where other programs have the processors half of the
/// time, because a crowd would otherwise be let in just when they are most wanted.
const TURN_TIME: Duration = Duration::from_millis(50);

/// What is small, and is asked by an address of which nothing else is served and whose requests usually take no longer
/// than this, does not wait behind what takes long: there are as many places again for it. Whether the address has taken
/// more than others is not asked, because among many who come for the first time everybody else has.
const QUICK: Duration = Duration::from_millis(2);

/// How much a request asks for, as far as it says so itself: of an address that comes for the first time nothing else is
/// known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// It may well be quick.
    Small,
    /// It certainly is not.
    Large,
}

/// So many turns at one time.
#[derive(Debug)]
pub struct Turns {
    at_once: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    running: Vec<Running>,
    line: Line<Waiting>,
    /// The number of the next turn.
    next: u64,
}

#[derive(Debug)]
struct Waiting {
    size: Size,
    waiter: Arc<Waiter<Granted>>,
}

#[derive(Debug)]
struct Running {
    number: u64,
    since: Instant,
}

#[derive(Debug, Clone, Copy)]
struct Granted {
    number: u64,
    advance: Advance,
}

impl Turns {
    /// Turns for as many at once. Nobody who waits is turned away: whoever asks must be one of a bounded number of threads.
    pub fn new(at_once: usize) -> Arc<Self> {
        let line = Line::new(usize::MAX);
        Arc::new(Self { at_once, state: Mutex::new(State { running: Vec::new(), line, next: 0 }) })
    }

    /// How many there are at one time, not counting the places for what is quick.
    pub fn at_once(&self) -> usize {
        self.at_once
    }

    /// Waits for a turn. It lasts until what is returned is dropped.
    pub fn take(self: &Arc<Self>, address: IpAddr, size: Size) -> Turn {
        let mut state = self.lock();
        let is_first = state.line.is_empty() && state.has_room(self.at_once);
        if is_first || (is_quick(state.line.standing(address), size) && state.has_room(self.at_most())) {
            let granted = Granted { advance: state.line.begin(address), number: state.begin() };
            return self.turn(address, granted);
        }
        let waiter = Arc::new(Waiter::here());
        state.line.enter(address, Waiting { size, waiter: Arc::clone(&waiter) });
        loop {
            self.grant(state);
            if let Some(granted) = waiter.take() {
                return self.turn(address, granted);
            }
            // Longer than a turn counts: then those that run may have stopped counting.
            waiter.sleep(TURN_TIME);
            state = self.lock();
        }
    }

    /// How many compute and count, and how many wait.
    #[cfg(test)]
    fn standing(&self) -> (usize, usize) {
        let state = self.lock();
        (state.counting(), state.line.len())
    }

    fn turn(self: &Arc<Self>, address: IpAddr, granted: Granted) -> Turn {
        Turn { turns: Arc::clone(self), address, granted }
    }

    /// Gives turns to those that come next, while there are any.
    fn grant<'a>(&'a self, mut state: MutexGuard<'a, State>) {
        while let Some((next, advance)) = self.next(&mut state) {
            let granted = Granted { advance, number: state.begin() };
            drop(state);
            next.waiter.give(granted);
            state = self.lock();
        }
    }

    fn next(&self, state: &mut State) -> Option<(Waiting, Advance)> {
        if state.has_room(self.at_once) {
            state.line.take_next()
        } else if state.has_room(self.at_most()) {
            state.line.take_next_where(|standing, waiting| is_quick(standing, waiting.size))
        } else {
            None
        }
    }

    fn at_most(&self) -> usize {
        self.at_once.saturating_mul(2)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_quick(standing: Standing, size: Size) -> bool {
    size == Size::Small && standing.in_service == 0 && standing.usual_cost <= QUICK
}

impl State {
    fn counting(&self) -> usize {
        let now = Instant::now();
        self.running.iter().filter(|turn| now.saturating_duration_since(turn.since) < TURN_TIME).count()
    }

    fn has_room(&self, at_once: usize) -> bool {
        self.running.len() < at_once || self.counting() < at_once
    }

    fn begin(&mut self) -> u64 {
        let number = self.next;
        self.next = number.wrapping_add(1);
        self.running.push(Running { number, since: Instant::now() });
        number
    }
}

/// A turn; dropped, it is over.
#[derive(Debug)]
pub struct Turn {
    turns: Arc<Turns>,
    address: IpAddr,
    granted: Granted,
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut state = self.turns.lock();
        if let Some(at) = state.running.iter().position(|turn| turn.number == self.granted.number) {
            let took = state.running.swap_remove(at).since.elapsed();
            state.line.end(self.address, self.granted.advance, took);
        }
        self.turns.grant(state);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    fn address(number: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, number])
    }

    fn wait_until(what: impl Fn() -> bool) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while !what() {
            assert!(Instant::now() < deadline, "it does not come about");
            thread::yield_now();
        }
    }

    #[test]
    fn everybody_has_a_turn_and_places_come_back() {
        let (turns, done) = (Turns::new(2), AtomicUsize::new(0));
        thread::scope(|scope| {
            for number in 0..16 {
                let (turns, done) = (&turns, &done);
                scope.spawn(move || {
                    for _ in 0..500 {
                        let _turn = turns.take(address(number % 3), Size::Small);
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(done.load(Ordering::Relaxed), 8_000);
        assert_eq!(turns.standing(), (0, 0));
    }

    #[test]
    fn a_turn_is_waited_for_while_another_counts_and_no_longer() {
        let turns = Turns::new(1);
        let (began, first) = (Instant::now(), turns.take(address(1), Size::Small));
        let second = turns.take(address(1), Size::Small);
        assert!(began.elapsed() >= TURN_TIME, "the first still counted");
        assert_eq!(turns.standing().1, 0);
        drop((first, second));
        assert_eq!(turns.standing(), (0, 0));
    }

    /// Lets something large of an address that comes for the first time wait behind `held`, and asks for something small:
    /// that is served before it, and leaves a place that is for what is quick.
    fn check_goes_first(turns: &Arc<Turns>, held: Turn, who: IpAddr) {
        thread::scope(|scope| {
            let large = scope.spawn(|| turns.take(address(2), Size::Large));
            wait_until(|| turns.standing().1 == 1);
            let small = turns.take(who, Size::Small);
            assert_eq!(turns.standing(), (2, 1));
            drop(small);
            assert_eq!(turns.standing(), (1, 1), "the free place is for what is quick");
            drop(held);
            drop(large.join().unwrap());
        });
        assert_eq!(turns.standing(), (0, 0));
    }

    #[test]
    fn what_is_large_does_not_take_the_places_of_what_is_quick() {
        let turns = Turns::new(1);
        let held = turns.take(address(1), Size::Large);
        check_goes_first(&turns, held, address(3));
    }

    #[test]
    fn who_asks_little_is_quick_also_among_many_who_come_for_the_first_time() {
        let turns = Turns::new(1);
        let held = turns.take(address(1), Size::Large);
        // From now on it has taken more than any newcomer.
        drop(turns.take(address(3), Size::Small));
        check_goes_first(&turns, held, address(3));
        let of_one_address = |size| is_quick(Standing { in_service: 1, usual_cost: QUICK }, size);
        assert!(!of_one_address(Size::Small), "one address has one such place");
        let slow = QUICK + Duration::from_micros(1);
        assert!(!is_quick(Standing { in_service: 0, usual_cost: slow }, Size::Small));
    }

    #[test]
    fn a_place_that_becomes_free_is_handed_over_at_once() {
        let turns = Turns::new(1);
        thread::scope(|scope| {
            for _ in 0..200 {
                let held = turns.take(address(1), Size::Small);
                let waiting = scope.spawn(|| drop(turns.take(address(2), Size::Small)));
                wait_until(|| turns.standing().1 == 1 || turns.standing().0 == 0);
                drop(held);
                waiting.join().unwrap();
            }
        });
        assert_eq!(turns.standing(), (0, 0));
    }
}
