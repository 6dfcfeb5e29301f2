//! The bound of the searches of one request: how much processor time they may take, and whether the client still waits.
//!
//! Time counts on every thread that takes part, and only while it runs: a search is not given up because others are busy.
//! Does not depend on what is searched for.

use std::cell::Cell;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use super::app::App;
use super::context::Incoming;
use crate::limits::api::HALF_CLOSED_WORK_MILLIS;
use mercato_net::{ClientWatch, Presence};
use mercato_query::{Stop, WorkLimit};
use mercato_web::{ApiError, ErrorKind};

/// The reason of a refusal for too much work.
pub const QUERY_TOO_EXPENSIVE: &str = "QUERY_TOO_EXPENSIVE";

/// How often a thread reads its processor time, which is a system call.
const READ_INTERVAL: Duration = Duration::from_millis(1);
/// Processor time of a search for a client that has ended its sending side.
const HALF_CLOSED_WORK: Duration = Duration::from_millis(HALF_CLOSED_WORK_MILLIS);

/// Numbers of limits; a thread knows by them for which one it worked last.
static NUMBERS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static LAST: Cell<Option<Reading>> = const { Cell::new(None) };
}

/// What a thread knew when it last looked at its clocks.
#[derive(Clone, Copy)]
struct Reading {
    /// The limit for which it worked.
    number: u64,
    at: Instant,
    /// Its processor time; nothing before it has worked for `READ_INTERVAL`, so that short searches make no system call.
    processor: Option<Duration>,
}

/// Processor time that all threads of a search have taken.
struct Meter {
    number: u64,
    spent_nanos: AtomicU64,
}

impl Meter {
    fn new() -> Self {
        Self { number: NUMBERS.fetch_add(1, Ordering::Relaxed), spent_nanos: AtomicU64::new(0) }
    }

    /// Adds the time that the calling thread took since it was here last, and gives the time of all threads.
    fn read(&self) -> Duration {
        let last = LAST.get().filter(|last| last.number == self.number);
        let at = Instant::now();
        let added = match last {
            Some(last) if at.saturating_duration_since(last.at) < READ_INTERVAL => Duration::ZERO,
            _ => {
                let processor = last.map(|_| processor_time());
                LAST.set(Some(Reading { number: self.number, at, processor }));
                let before = last.and_then(|last| last.processor);
                processor.zip(before).map_or(Duration::ZERO, |(now, before)| now.saturating_sub(before))
            }
        };
        let nanos = u64::try_from(added.as_nanos()).unwrap_or(u64::MAX);
        let before = match nanos {
            0 => self.spent_nanos.load(Ordering::Relaxed),
            _ => self.spent_nanos.fetch_add(nanos, Ordering::Relaxed),
        };
        Duration::from_nanos(before.saturating_add(nanos))
    }
}

/// The limit of one request.
pub struct ProcessorLimit {
    /// Processor time of one search; nothing where the operator lifted the limit.
    most: Option<Duration>,
    meter: Meter,
    client: ClientWatch,
}

impl ProcessorLimit {
    /// The limit of a request.
    pub fn of(app: &App, request: &Incoming) -> Self {
        Self { most: app.work_limit, meter: Meter::new(), client: request.watch() }
    }

    /// Begins another search, which may take as much as the one before.
    pub fn renew(&self) {
        self.meter.spent_nanos.store(0, Ordering::Relaxed);
    }

    /// The refusal of a request whose search was stopped. It asks for no retry, which would end the same way.
    pub fn refusal(&self, stop: Stop) -> ApiError {
        match stop {
            Stop::TooExpensive => self.too_expensive(
                "the query; nothing was charged",
                "narrow it by a condition on a column that selects few rows, or stream the rows: a stream is bounded only \
                 between its rows",
            ),
            Stop::ClientLeft => {
                let message = "the client ended its sending side while rows were searched for";
                ApiError::new(ErrorKind::Unavailable, message)
                    .with_reason("CLIENT_LEFT", "keep the connection open in both directions until the answer has come")
            }
        }
    }

    /// What the client of a stream is told whose search for the next rows was stopped.
    pub fn refusal_of_stream(&self) -> ApiError {
        let hint = "narrow the query by a condition on a column that selects few rows";
        self.too_expensive("the search for the next rows", hint)
    }

    fn too_expensive(&self, what: &str, hint: &str) -> ApiError {
        let seconds = self.most.unwrap_or_default().as_secs_f64();
        let message = format!("more than {seconds} s of processor time would be needed for {what}");
        ApiError::new(ErrorKind::Unavailable, message)
            .with_reason(QUERY_TOO_EXPENSIVE, hint)
            .with_fact("limitSeconds", seconds)
    }
}

impl WorkLimit for ProcessorLimit {
    fn check(&self) -> Result<(), Stop> {
        let (presence, spent) = (self.client.presence(), self.meter.read());
        match presence {
            Presence::Gone => Err(Stop::ClientLeft),
            Presence::HalfClosed if spent > HALF_CLOSED_WORK => Err(Stop::ClientLeft),
            _ if self.most.is_some_and(|most| spent > most) => Err(Stop::TooExpensive),
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for ProcessorLimit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ProcessorLimit").field("most", &self.most).finish_non_exhaustive()
    }
}

/// Processor time of the calling thread since it began.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// Works for so long, asking all the time.
    fn work(meter: &Meter, time: Duration) {
        let begun = processor_time();
        while processor_time() - begun < time {
            meter.read();
        }
    }

    #[test]
    fn adds_processor_time_of_all_threads() {
        let (meter, other) = (Meter::new(), Meter::new());
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| work(&meter, Duration::from_millis(40)));
            }
            work(&meter, Duration::from_millis(40));
        });
        let spent = meter.read();
        // Up to two readings of a thread go by before its time counts.
        assert!((Duration::from_millis(90)..Duration::from_millis(200)).contains(&spent), "{spent:?}");
        assert_eq!(other.read(), Duration::ZERO);
    }

    #[test]
    fn counts_no_time_in_which_thread_waits() {
        let meter = Meter::new();
        for _ in 0..10 {
            meter.read();
            thread::sleep(Duration::from_millis(10));
        }
        assert!(meter.read() < Duration::from_millis(20), "{:?}", meter.read());
    }
}
