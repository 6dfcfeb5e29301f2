//! The schedule of requests, and the end of a run.
//!
//! Times are nanoseconds since the start of the run. Does not depend on clocks or requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Sequence numbers of the warm-up start here, so that every number is unique.
const WARM_UP_SEQUENCE: u64 = 1 << 40;
/// Most requests that can be due: more than a day at the highest rate.
const DUE_COUNT_MAX: u64 = 1 << 40;
const NANOS: f64 = 1e9;

/// The plan of a run. Times are nanoseconds since its start.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Requests a second of an open loop; `None` for a closed loop.
    pub rate: Option<f64>,
    /// End of the warm-up.
    pub warm_until: u64,
    /// Latest start of a request.
    pub until: Option<u64>,
    /// Most counted requests.
    pub requests: Option<u64>,
    /// Threads that share the run.
    pub threads: u64,
}

/// State that the threads of a run share.
#[derive(Debug, Default)]
pub struct Shared {
    /// Started requests of the warm-up.
    warm: AtomicU64,
    /// Started counted requests.
    begun: AtomicU64,
    /// Completed counted requests, good or failed.
    pub ended: AtomicU64,
    /// Set by the caller to stop the run.
    pub stop: Arc<AtomicBool>,
}

impl Shared {
    /// Counters of a new run, which `stop` ends.
    #[must_use]
    pub fn new(stop: Arc<AtomicBool>) -> Shared {
        Shared { stop, ..Shared::default() }
    }
}

/// Permission to send one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket {
    /// Number among the counted requests, or among those of the warm-up.
    pub index: u64,
    /// Sequence number, unique in the run.
    pub sequence: u64,
    pub measured: bool,
    pub intended: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    Now(Ticket),
    /// Wait until this time.
    At(u64),
    Over,
}

#[derive(Debug)]
pub struct Tickets {
    plan: Plan,
    shared: Arc<Shared>,
    thread: u64,
    /// Open loop: tickets that this thread has issued, for the warm-up and for counted requests.
    warm_given: u64,
    given: u64,
    over: bool,
}

impl Tickets {
    #[must_use]
    pub fn new(plan: Plan, shared: Arc<Shared>, thread: u64) -> Tickets {
        Tickets { plan, shared, thread, warm_given: 0, given: 0, over: false }
    }

    /// Returns the action due at `now`.
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

    /// Requests of an open loop that were due before `now` and the end of the run, but not started.
    #[must_use]
    pub fn unsent(&self, now: u64) -> u64 {
        let Some(rate) = self.plan.rate else { return 0 };
        let end = self.plan.until.unwrap_or(now).min(now);
        let due = |given| {
            let index = self.index(given);
            self.plan.requests.is_none_or(|most| index < most) && self.intended(index, rate) < end
        };
        // Tickets are due in order, so a binary search finds the first that is not due.
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

    /// The schedule is fixed before the run: a slow response delays no later request.
    fn next_open(&mut self, now: u64, rate: f64) -> Next {
        let warm_index = self.index(self.warm_given);
        let warm_intended = nanos_of_seconds(warm_index as f64 / rate);
        // Unsent warm-up requests are skipped, because they would delay counted ones.
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

    /// The threads interleave, so that together they keep one schedule.
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

/// Nanoseconds of a duration, at most 584 years.
pub fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(rate: Option<f64>, until: Option<u64>, requests: Option<u64>, threads: u64) -> Plan {
        Plan { rate, warm_until: 1_000, until, requests, threads }
    }

    /// All tickets that a thread receives at these times.
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
    fn closed_loop_sends_until_end() {
        let mut tickets = Tickets::new(plan(None, Some(3_000), None, 1), Arc::default(), 0);
        let found = given(&mut tickets, [0, 500, 1_000, 2_999, 3_000, 0]);
        assert_eq!(found, [(false, 0, 0), (false, 1, 500), (true, 0, 1_000), (true, 1, 2_999)]);
    }

    #[test]
    fn threads_share_measured_requests() {
        let shared = Arc::new(Shared::default());
        let mut threads = [0, 1].map(|t| Tickets::new(plan(None, None, Some(5), 2), Arc::clone(&shared), t));
        let mut indices = Vec::new();
        for round in 0..10 {
            indices.extend(given(&mut threads[round % 2], [1_000]).iter().map(|ticket| ticket.1));
        }
        assert_eq!(indices, [0, 1, 2, 3, 4]);
    }

    #[test]
    fn open_loop_keeps_schedule_after_delay() {
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
    fn threads_interleave_one_schedule() {
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
    fn starts_nothing_after_stop() {
        let shared = Arc::new(Shared::default());
        let mut tickets = Tickets::new(plan(None, None, None, 1), Arc::clone(&shared), 0);
        shared.stop.store(true, Ordering::Relaxed);
        assert_eq!(tickets.next(0), Next::Over);
    }
}
