//! When the next request is due, and when a run is over.
//!
//! Knows moments as nanoseconds since the run began; knows no clock and no request.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Requests of the warm-up are numbered from here, so that no number is given twice.
const WARM_UP_SEQUENCE: u64 = 1 << 40;
/// Requests that can be due: more than a day has at the highest rate.
const DUE_COUNT_MAX: u64 = 1 << 40;
const NANOS: f64 = 1e9;

/// What a run is asked for. Nanoseconds count from its beginning.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Requests a second of an open loop; without it the loop is closed.
    pub rate: Option<f64>,
    /// When requests begin to count.
    pub warm_until: u64,
    /// When the last request may begin.
    pub until: Option<u64>,
    /// How many requests count at most.
    pub requests: Option<u64>,
    /// Threads that share the run.
    pub threads: u64,
}

/// What the threads of a run share.
#[derive(Debug, Default)]
pub struct Shared {
    /// Requests of the warm-up that were begun.
    warm: AtomicU64,
    /// Requests that count and were begun.
    begun: AtomicU64,
    /// Requests that count and have ended, well or not.
    pub ended: AtomicU64,
    /// Set from outside: begin nothing more.
    pub stop: Arc<AtomicBool>,
}

impl Shared {
    /// Nothing begun; `stop` ends the run.
    #[must_use]
    pub fn new(stop: Arc<AtomicBool>) -> Shared {
        Shared { stop, ..Shared::default() }
    }
}

/// Leave to send one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket {
    /// Number among the requests that count, or among those of the warm-up.
    pub index: u64,
    /// A number that no other request of the run has.
    pub sequence: u64,
    /// Whether it counts.
    pub measured: bool,
    /// When it should begin.
    pub intended: u64,
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Send this.
    Now(Ticket),
    /// Wait until then.
    At(u64),
    /// Send nothing more.
    Over,
}

/// Hands out the tickets of one thread.
#[derive(Debug)]
pub struct Tickets {
    plan: Plan,
    shared: Arc<Shared>,
    thread: u64,
    /// Open loop: how many tickets of the warm-up, and of what counts, this thread has given.
    warm_given: u64,
    given: u64,
    over: bool,
}

impl Tickets {
    /// The tickets of thread `thread` of `plan.threads`.
    #[must_use]
    pub fn new(plan: Plan, shared: Arc<Shared>, thread: u64) -> Tickets {
        Tickets { plan, shared, thread, warm_given: 0, given: 0, over: false }
    }

    /// What is due at `now`.
    pub fn next(&mut self, now: u64) -> Next {
        if self.over || self.shared.stop.load(Ordering::Relaxed) {
            return Next::Over;
        }
        let next = match self.plan.rate {
            None => self.next_closed(now),
            Some(rate) => self.next_open(now, rate),
        };
        self.over = next == Next::Over;
        next
    }

    /// How many requests of an open loop were due before `now` and the end of the run, and were not begun.
    #[must_use]
    pub fn unsent(&self, now: u64) -> u64 {
        let Some(rate) = self.plan.rate else { return 0 };
        let end = self.plan.until.unwrap_or(now).min(now);
        let due = |given| {
            let index = self.index(given);
            self.plan.requests.is_none_or(|most| index < most) && self.intended(index, rate) < end
        };
        // Tickets are due in their order, so the first that is not due is found by halving.
        let (mut low, mut high) = (self.given, self.given.saturating_add(DUE_COUNT_MAX));
        while low < high {
            let middle = low.midpoint(high);
            if due(middle) { low = middle + 1 } else { high = middle }
        }
        low - self.given
    }

    fn next_closed(&self, now: u64) -> Next {
        let measured = now >= self.plan.warm_until;
        if !measured {
            let index = self.shared.warm.fetch_add(1, Ordering::Relaxed);
            let sequence = WARM_UP_SEQUENCE + index;
            return Next::Now(Ticket { index, sequence, measured, intended: now });
        }
        if self.plan.until.is_some_and(|until| now >= until) {
            return Next::Over;
        }
        let index = self.shared.begun.fetch_add(1, Ordering::Relaxed);
        if self.plan.requests.is_some_and(|most| index >= most) {
            return Next::Over;
        }
        Next::Now(Ticket { index, sequence: index, measured, intended: now })
    }

    /// The schedule is fixed before the run: a slow answer shifts no later request.
    fn next_open(&mut self, now: u64, rate: f64) -> Next {
        let warm_index = self.index(self.warm_given);
        let warm_intended = nanos_of_seconds(warm_index as f64 / rate);
        // What the warm-up could not send in its time is left out, or it would delay what counts.
        if now < self.plan.warm_until && warm_intended < self.plan.warm_until {
            if warm_intended > now {
                return Next::At(warm_intended);
            }
            self.warm_given += 1;
            let sequence = WARM_UP_SEQUENCE + warm_index;
            return Next::Now(Ticket {
                index: warm_index,
                sequence,
                measured: false,
                intended: warm_intended,
            });
        }
        let index = self.index(self.given);
        let intended = self.intended(index, rate);
        let over = self.plan.requests.is_some_and(|most| index >= most)
            || self.plan.until.is_some_and(|until| intended >= until || now >= until);
        if over {
            return Next::Over;
        }
        if intended > now {
            return Next::At(intended);
        }
        self.given += 1;
        Next::Now(Ticket { index, sequence: index, measured: true, intended })
    }

    /// The threads take turns, so that together they keep one schedule.
    fn index(&self, given: u64) -> u64 {
        given.saturating_mul(self.plan.threads).saturating_add(self.thread)
    }

    fn intended(&self, index: u64, rate: f64) -> u64 {
        self.plan.warm_until.saturating_add(nanos_of_seconds(index as f64 / rate))
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, and time is positive"
)]
fn nanos_of_seconds(seconds: f64) -> u64 {
    (seconds * NANOS) as u64
}

/// Nanoseconds of a time; those of 584 years at most.
pub(in crate::loadgen) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(rate: Option<f64>, until: Option<u64>, requests: Option<u64>, threads: u64) -> Plan {
        Plan { rate, warm_until: 1_000, until, requests, threads }
    }

    /// All that a thread is given when it asks at these moments.
    fn given(tickets: &mut Tickets, moments: impl IntoIterator<Item = u64>) -> Vec<(bool, u64, u64)> {
        let mut given = Vec::new();
        for now in moments {
            while let Next::Now(ticket) = tickets.next(now) {
                given.push((ticket.measured, ticket.index, ticket.intended));
                if tickets.plan.rate.is_none() {
                    break;
                }
            }
        }
        given
    }

    #[test]
    fn a_closed_loop_sends_at_once_until_it_is_over() {
        let mut tickets = Tickets::new(plan(None, Some(3_000), None, 1), Arc::default(), 0);
        let found = given(&mut tickets, [0, 500, 1_000, 2_999, 3_000, 0]);
        assert_eq!(found, [(false, 0, 0), (false, 1, 500), (true, 0, 1_000), (true, 1, 2_999)]);
    }

    #[test]
    fn the_requests_that_count_are_shared_between_threads() {
        let shared = Arc::new(Shared::default());
        let mut threads = [0, 1].map(|t| Tickets::new(plan(None, None, Some(5), 2), Arc::clone(&shared), t));
        let mut indices = Vec::new();
        for round in 0..10 {
            indices.extend(given(&mut threads[round % 2], [1_000]).iter().map(|ticket| ticket.1));
        }
        assert_eq!(indices, [0, 1, 2, 3, 4]);
    }

    #[test]
    fn an_open_loop_keeps_its_schedule_whatever_the_delay() {
        // One request every 200 ns, asked for late: all that is due comes at once, with the moments it was due at.
        let mut tickets = Tickets::new(plan(Some(5e6), Some(2_000), None, 1), Arc::default(), 0);
        assert_eq!(
            tickets.next(0),
            Next::Now(Ticket { index: 0, sequence: 1 << 40, measured: false, intended: 0 })
        );
        assert_eq!(tickets.next(100), Next::At(200));
        let late = given(&mut tickets, [1_650]);
        assert_eq!(late, [(true, 0, 1_000), (true, 1, 1_200), (true, 2, 1_400), (true, 3, 1_600)]);
        assert_eq!(tickets.unsent(2_500), 1);
        assert_eq!(tickets.next(2_500), Next::Over);
    }

    #[test]
    fn threads_take_turns_in_one_schedule() {
        let shared = Arc::new(Shared::default());
        let mut indices = Vec::new();
        for thread in 0..3 {
            let mut tickets = Tickets::new(plan(Some(1e9), None, Some(8), 3), Arc::clone(&shared), thread);
            indices.extend(given(&mut tickets, [1_000, 5_000]).iter().map(|ticket| ticket.1));
            assert_eq!(tickets.unsent(9_000), 0);
        }
        indices.sort_unstable();
        assert_eq!(indices, [0, 1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn nothing_begins_after_a_stop() {
        let shared = Arc::new(Shared::default());
        let mut tickets = Tickets::new(plan(None, None, None, 1), Arc::clone(&shared), 0);
        shared.stop.store(true, Ordering::Relaxed);
        assert_eq!(tickets.next(0), Next::Over);
    }
}
