//! Metrics of responses, and sources of other parts.
//!
//! Labels are routes and statuses; never keys, accounts or datasets.

pub(super) mod exposition;
mod history;
pub(super) mod process;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use exposition::{Exposition, Kind};
use history::History;
pub use history::{HistorySample, Totals};
use mercato_base::histogram::{Histogram, MICROS};
use mercato_base::sample::Sample;
use process::ProcessStatus;

type Source = Box<dyn Fn() -> Vec<Sample> + Send + Sync>;

/// Counters since the start.
pub struct Metrics {
    started: Instant,
    routes: RwLock<BTreeMap<&'static str, Arc<RouteCounters>>>,
    rows: AtomicU64,
    credits: AtomicU64,
    body_bytes: AtomicU64,
    panics: AtomicU64,
    sources: Mutex<Vec<Source>>,
    history: History,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            started: Instant::now(),
            routes: RwLock::default(),
            rows: AtomicU64::new(0),
            credits: AtomicU64::new(0),
            body_bytes: AtomicU64::new(0),
            panics: AtomicU64::new(0),
            sources: Mutex::default(),
            history: History::default(),
        }
    }
}

struct RouteCounters {
    durations: Histogram<{ MICROS.len() }>,
    statuses: Mutex<BTreeMap<u16, u64>>,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Metrics").finish_non_exhaustive()
    }
}

/// The facts of one response.
#[derive(Debug, Clone, Copy, Default)]
pub struct Observation {
    /// Pattern of the route; empty when no route was found.
    pub route: &'static str,
    /// Status of the response.
    pub status: u16,
    /// From reception to the last byte.
    pub duration: Duration,
    /// Rows in the response.
    pub rows: u64,
    /// Credits charged for it.
    pub credits: u64,
    /// Bytes of its body.
    pub body_bytes: usize,
}

impl Metrics {
    /// Counts a response.
    pub fn observe(&self, observation: &Observation) {
        self.rows.fetch_add(observation.rows, Ordering::Relaxed);
        self.credits.fetch_add(observation.credits, Ordering::Relaxed);
        self.body_bytes.fetch_add(u64::try_from(observation.body_bytes).unwrap_or(0), Ordering::Relaxed);
        let route = self.route(observation.route);
        route.durations.count(u64::try_from(observation.duration.as_micros()).unwrap_or(u64::MAX));
        let mut statuses = route.statuses.lock().unwrap_or_else(PoisonError::into_inner);
        let count = statuses.entry(observation.status).or_default();
        *count = count.saturating_add(1);
    }

    fn route(&self, pattern: &'static str) -> Arc<RouteCounters> {
        if let Some(route) = self.routes.read().unwrap_or_else(PoisonError::into_inner).get(pattern) {
            return Arc::clone(route);
        }
        let mut routes = self.routes.write().unwrap_or_else(PoisonError::into_inner);
        let fresh =
            || Arc::new(RouteCounters { durations: Histogram::new(&MICROS), statuses: Mutex::default() });
        Arc::clone(routes.entry(pattern).or_insert_with(fresh))
    }

    /// Counts a handler that panicked.
    pub fn count_panic(&self) {
        self.panics.fetch_add(1, Ordering::Relaxed);
    }

    /// Seconds since these counters began.
    pub fn uptime_seconds(&self) -> u64 {
        self.started.elapsed().as_secs()
    }

    /// The sums since the start.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals {
            rows: self.rows.load(Ordering::Relaxed),
            credits: self.credits.load(Ordering::Relaxed),
            panics: self.panics.load(Ordering::Relaxed),
            ..Totals::default()
        };
        for counters in self.routes.read().unwrap_or_else(PoisonError::into_inner).values() {
            for (status, count) in counters.statuses.lock().unwrap_or_else(PoisonError::into_inner).iter() {
                totals.requests = totals.requests.saturating_add(*count);
                match status {
                    400..=499 => totals.refused = totals.refused.saturating_add(*count),
                    500.. => totals.failed = totals.failed.saturating_add(*count),
                    _ => {}
                }
            }
        }
        totals
    }

    /// Takes a sample for the history of the last hour, if one is due. To be called about once a second.
    pub fn keep_history(&self) {
        self.sample_at(self.started.elapsed());
    }

    /// Takes a sample as of so much time since the start, if one is due.
    pub fn sample_at(&self, elapsed: Duration) {
        if self.history.is_due(elapsed) {
            let memory_bytes = ProcessStatus::read().bytes("RssAnon").unwrap_or(0);
            self.history.push(HistorySample { elapsed, totals: self.totals(), memory_bytes });
        }
    }

    /// The samples of the last hour, oldest first.
    pub fn history(&self) -> Vec<HistorySample> {
        self.history.samples()
    }

    /// Adds a source of samples.
    pub fn add_source(&self, source: impl Fn() -> Vec<Sample> + Send + Sync + 'static) {
        self.sources.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(source));
    }

    /// Writes all metrics of this module and of the sources.
    pub fn write_to(&self, out: &mut Exposition) {
        let routes = self.routes.read().unwrap_or_else(PoisonError::into_inner);
        let name_of = |route: &&'static str| if route.is_empty() { "none" } else { *route };
        out.family("mercato_requests_total", "Answers by route and status.", Kind::Counter);
        for (route, counters) in routes.iter() {
            for (status, count) in counters.statuses.lock().unwrap_or_else(PoisonError::into_inner).iter() {
                let labels = format!("route=\"{}\",status=\"{status}\"", name_of(route));
                out.value("mercato_requests_total", &labels, *count);
            }
        }
        let name = "mercato_request_duration_seconds";
        let help = "From a whole request to the last byte of its answer, with the wait for a worker.";
        out.family(name, help, Kind::Histogram);
        for (route, counters) in routes.iter() {
            out.seconds(name, &format!("route=\"{}\"", name_of(route)), &counters.durations.read());
        }
        for (name, help, counter) in [
            ("mercato_rows_total", "Rows returned.", &self.rows),
            ("mercato_credits_charged_total", "Credits charged by answers.", &self.credits),
            ("mercato_body_bytes_total", "Bytes of answer bodies, without streams.", &self.body_bytes),
            ("mercato_panics_total", "Handlers that panicked.", &self.panics),
        ] {
            out.single(name, help, Kind::Counter, counter.load(Ordering::Relaxed));
        }
        let sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        out.samples(sources.iter().flat_map(|source| source()).collect());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds_up_statuses_over_routes() {
        let metrics = Metrics::default();
        for (route, status) in [("/a", 200), ("/a", 404), ("", 431), ("/b", 500), ("/b", 503), ("/b", 303)] {
            metrics.observe(&Observation { route, status, rows: 2, credits: 1, ..Observation::default() });
        }
        metrics.count_panic();
        let expected = Totals { requests: 6, refused: 2, failed: 2, rows: 12, credits: 6, panics: 1 };
        assert_eq!(metrics.totals(), expected);
        for seconds in [0, 5, 10] {
            metrics.sample_at(Duration::from_secs(seconds));
        }
        let history = metrics.history();
        assert_eq!((history.len(), history[1].totals), (2, expected));
    }

    #[test]
    fn counts_responses_by_route_and_status() {
        let metrics = Metrics::default();
        let duration = Duration::from_micros(300);
        for status in [200, 200, 404] {
            let route = "/d/{slug}";
            metrics.observe(&Observation { route, status, duration, rows: 2, ..Observation::default() });
        }
        for pool in ["page", "stream"] {
            let sample = move || Sample::gauge("mercato_workers", "Workers.", 3).labelled("pool", pool);
            metrics.add_source(move || vec![sample()]);
        }
        let mut out = Exposition::default();
        metrics.write_to(&mut out);
        let text = out.into_text();
        for line in [
            "mercato_requests_total{route=\"/d/{slug}\",status=\"200\"} 2",
            "mercato_requests_total{route=\"/d/{slug}\",status=\"404\"} 1",
            "mercato_request_duration_seconds_bucket{route=\"/d/{slug}\",le=\"0.00025\"} 0",
            "mercato_request_duration_seconds_bucket{route=\"/d/{slug}\",le=\"0.0005\"} 3",
            "mercato_request_duration_seconds_bucket{route=\"/d/{slug}\",le=\"+Inf\"} 3",
            "mercato_request_duration_seconds_sum{route=\"/d/{slug}\"} 0.0009",
            "mercato_request_duration_seconds_count{route=\"/d/{slug}\"} 3",
            "mercato_rows_total 6",
            "mercato_workers{pool=\"page\"} 3",
            "mercato_workers{pool=\"stream\"} 3",
        ] {
            assert!(text.lines().any(|present| present == line), "{line}\n{text}");
        }
        // The text form wants each family in one piece, with one head.
        assert_eq!(text.matches("# TYPE mercato_workers gauge\n").count(), 1);
    }
}
