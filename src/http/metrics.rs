//! Counters in the text form of Prometheus.
//!
//! Knows routes and statuses as labels; never a key, an account or a dataset.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Upper bounds of the duration buckets, in microseconds.
const BUCKET_BOUNDS_MICROS: [u64; 10] =
    [100, 250, 500, 1_000, 2_500, 10_000, 50_000, 250_000, 1_000_000, 10_000_000];

/// Counters since the start.
#[derive(Debug, Default)]
pub struct Metrics {
    requests: Mutex<BTreeMap<(&'static str, u16), u64>>,
    buckets: [AtomicU64; BUCKET_BOUNDS_MICROS.len()],
    duration_micros: AtomicU64,
    duration_count: AtomicU64,
    rows: AtomicU64,
    credits: AtomicU64,
    body_bytes: AtomicU64,
    shed: AtomicU64,
    panics: AtomicU64,
}

/// What one answer adds.
#[derive(Debug, Clone, Copy, Default)]
pub struct Observation {
    /// Pattern of the route; empty when no route was found.
    pub route: &'static str,
    /// Status of the answer.
    pub status: u16,
    /// From reception to the last byte.
    pub duration: Duration,
    /// Rows in the answer.
    pub rows: u64,
    /// Credits charged for it.
    pub credits: u64,
    /// Bytes of its body.
    pub body_bytes: usize,
}

impl Metrics {
    /// Counts an answer.
    pub fn observe(&self, observation: &Observation) {
        let micros = u64::try_from(observation.duration.as_micros()).unwrap_or(u64::MAX);
        let bucket = BUCKET_BOUNDS_MICROS.iter().zip(&self.buckets).find(|(bound, _)| micros <= **bound);
        if let Some((_, counter)) = bucket {
            counter.fetch_add(1, Ordering::Relaxed);
        }
        self.duration_micros.fetch_add(micros, Ordering::Relaxed);
        self.duration_count.fetch_add(1, Ordering::Relaxed);
        self.rows.fetch_add(observation.rows, Ordering::Relaxed);
        self.credits.fetch_add(observation.credits, Ordering::Relaxed);
        self.body_bytes.fetch_add(u64::try_from(observation.body_bytes).unwrap_or(0), Ordering::Relaxed);
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let count = requests.entry((observation.route, observation.status)).or_default();
        *count = count.saturating_add(1);
    }

    /// Counts a request that was refused because every place was taken.
    pub fn count_shed(&self) {
        self.shed.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a handler that panicked.
    pub fn count_panic(&self) {
        self.panics.fetch_add(1, Ordering::Relaxed);
    }

    /// All counters, followed by gauges that the caller knows.
    pub fn render(&self, gauges: &[(&str, &str, u64)]) -> String {
        let mut text = String::with_capacity(4096);
        // Writing into a String cannot fail, so the results of write! carry nothing.
        text.push_str("# HELP mercato_requests_total Answers by route and status.\n# TYPE mercato_requests_total counter\n");
        for ((route, status), count) in self.requests.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let route = if route.is_empty() { "none" } else { route };
            let _infallible =
                writeln!(text, "mercato_requests_total{{route=\"{route}\",status=\"{status}\"}} {count}");
        }
        self.render_durations(&mut text);
        for (name, help, counter) in [
            ("mercato_rows_total", "Rows returned.", &self.rows),
            ("mercato_credits_charged_total", "Credits charged by answers.", &self.credits),
            ("mercato_body_bytes_total", "Bytes of answer bodies, without streams.", &self.body_bytes),
            ("mercato_requests_shed_total", "Requests refused because all places were taken.", &self.shed),
            ("mercato_panics_total", "Handlers that panicked.", &self.panics),
        ] {
            let value = counter.load(Ordering::Relaxed);
            let _infallible = writeln!(text, "# HELP {name} {help}\n# TYPE {name} counter\n{name} {value}");
        }
        for (name, help, value) in gauges {
            let _infallible = writeln!(text, "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}");
        }
        text
    }

    fn render_durations(&self, text: &mut String) {
        let name = "mercato_request_duration_seconds";
        let _infallible =
            writeln!(text, "# HELP {name} From reception to the last byte.\n# TYPE {name} histogram");
        let mut cumulative = 0_u64;
        for (bound, counter) in BUCKET_BOUNDS_MICROS.iter().zip(&self.buckets) {
            cumulative = cumulative.saturating_add(counter.load(Ordering::Relaxed));
            let seconds = Duration::from_micros(*bound).as_secs_f64();
            let _infallible = writeln!(text, "{name}_bucket{{le=\"{seconds}\"}} {cumulative}");
        }
        let count = self.duration_count.load(Ordering::Relaxed);
        let sum = Duration::from_micros(self.duration_micros.load(Ordering::Relaxed)).as_secs_f64();
        let _infallible =
            writeln!(text, "{name}_bucket{{le=\"+Inf\"}} {count}\n{name}_sum {sum}\n{name}_count {count}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_counted_by_route_and_status() {
        let metrics = Metrics::default();
        let duration = Duration::from_micros(300);
        for status in [200, 200, 404] {
            metrics.observe(&Observation {
                route: "/d/{slug}",
                status,
                duration,
                rows: 2,
                ..Observation::default()
            });
        }
        let text = metrics.render(&[("mercato_datasets_quarantined", "Damaged datasets.", 1)]);
        for line in [
            "mercato_requests_total{route=\"/d/{slug}\",status=\"200\"} 2",
            "mercato_requests_total{route=\"/d/{slug}\",status=\"404\"} 1",
            "mercato_request_duration_seconds_bucket{le=\"0.00025\"} 0",
            "mercato_request_duration_seconds_bucket{le=\"0.0005\"} 3",
            "mercato_request_duration_seconds_count 3",
            "mercato_rows_total 6",
            "mercato_datasets_quarantined 1",
        ] {
            assert!(text.lines().any(|present| present == line), "{line}\n{text}");
        }
    }
}
