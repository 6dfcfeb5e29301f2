//! Metrics of responses, and sources of other parts, in the text form of OpenMetrics.
//!
//! Labels are routes and statuses; never keys, accounts or datasets.

mod history;
pub(super) mod process;

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use history::History;
pub use history::{HistorySample, Totals};
use mercato_base::sample::{DURATION_SECONDS, Sample};
use process::ProcessStatus;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, MetricEncoder, NoLabelSet, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

type Source = Box<dyn Fn() -> Vec<Sample> + Send + Sync>;

/// The media type of the text form.
pub(super) const OPENMETRICS_MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabels {
    route: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AnswerLabels {
    route: &'static str,
    status: u16,
}

/// Counters since the start.
pub struct Metrics {
    started: Instant,
    answers: Family<AnswerLabels, Counter>,
    durations: Family<RouteLabels, Histogram>,
    // All answers and the failed ones once more: a family cannot be summed up again.
    requests: Counter,
    refused: Counter,
    failed: Counter,
    rows: Counter,
    credits: Counter,
    body_bytes: Counter,
    panics: Counter,
    sources: Mutex<Vec<Source>>,
    history: History,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            started: Instant::now(),
            answers: Family::default(),
            durations: Family::new_with_constructor(|| Histogram::new(DURATION_SECONDS)),
            requests: Counter::default(),
            refused: Counter::default(),
            failed: Counter::default(),
            rows: Counter::default(),
            credits: Counter::default(),
            body_bytes: Counter::default(),
            panics: Counter::default(),
            sources: Mutex::default(),
            history: History::default(),
        }
    }
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
        let Observation { route, status, duration, rows, credits, body_bytes } = *observation;
        let route = if route.is_empty() { "none" } else { route };
        self.answers.get_or_create(&AnswerLabels { route, status }).inc();
        self.durations.get_or_create(&RouteLabels { route }).observe(duration.as_secs_f64());
        self.requests.inc();
        match status {
            400..=499 => self.refused.inc(),
            500.. => self.failed.inc(),
            _ => 0,
        };
        self.rows.inc_by(rows);
        self.credits.inc_by(credits);
        self.body_bytes.inc_by(u64::try_from(body_bytes).unwrap_or(0));
    }

    /// Counts a handler that panicked.
    pub fn count_panic(&self) {
        self.panics.inc();
    }

    /// Seconds since these counters began.
    pub fn uptime_seconds(&self) -> u64 {
        self.started.elapsed().as_secs()
    }

    /// The sums since the start.
    pub fn totals(&self) -> Totals {
        Totals {
            requests: self.requests.get(),
            refused: self.refused.get(),
            failed: self.failed.get(),
            rows: self.rows.get(),
            credits: self.credits.get(),
            panics: self.panics.get(),
        }
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

    /// A registry of the metrics of this module, of the sources, and of `more`.
    pub fn registry(&self, more: Vec<Sample>) -> Registry {
        let mut registry = Registry::default();
        registry.register("mercato_requests", "Answers by route and status", self.answers.clone());
        registry.register(
            "mercato_request_duration_seconds",
            "From a whole request to the last byte of its answer, with the wait for a worker",
            self.durations.clone(),
        );
        for (name, help, counter) in [
            ("mercato_rows", "Rows returned", &self.rows),
            ("mercato_credits_charged", "Credits charged by answers", &self.credits),
            ("mercato_body_bytes", "Bytes of answer bodies, without streams", &self.body_bytes),
            ("mercato_panics", "Handlers that panicked", &self.panics),
        ] {
            registry.register(name, help, counter.clone());
        }
        let mut samples = more;
        let sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        samples.extend(sources.iter().flat_map(|source| source()));
        samples.sort_by_key(|sample| sample.name);
        registry.register_collector(Box::new(Samples(samples)));
        registry
    }
}

/// All metrics of a registry as text.
pub(super) fn text_of(registry: &Registry) -> Result<String, fmt::Error> {
    let mut text = String::new();
    text::encode(&mut text, registry)?;
    Ok(text)
}

/// Values of one moment, sorted by name.
#[derive(Debug)]
struct Samples(Vec<Sample>);

impl Collector for Samples {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for family in self.0.chunk_by(|one, next| one.name == next.name) {
            let Some(first) = family.first() else { continue };
            // The form adds `_total` to the values of a counter.
            let name = first.name.strip_suffix("_total").unwrap_or(first.name);
            let kind = if first.is_counter { MetricType::Counter } else { MetricType::Gauge };
            let mut values = encoder.encode_descriptor(name, first.help, None, kind)?;
            for sample in family {
                match sample.label {
                    Some(label) => encode_value(sample, &mut values.encode_family(&[label])?)?,
                    None => encode_value(sample, &mut values)?,
                }
            }
        }
        Ok(())
    }
}

fn encode_value(sample: &Sample, encoder: &mut MetricEncoder<'_>) -> fmt::Result {
    if sample.is_counter {
        encoder.encode_counter::<NoLabelSet, _, u64>(&sample.value, None)
    } else {
        encoder.encode_gauge(&sample.value)
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
        let text =
            text_of(&metrics.registry(vec![Sample::counter("mercato_hits_total", "Hits.", 7)])).unwrap();
        for line in [
            "mercato_requests_total{route=\"/d/{slug}\",status=\"200\"} 2",
            "mercato_requests_total{route=\"/d/{slug}\",status=\"404\"} 1",
            "mercato_request_duration_seconds_bucket{le=\"0.00025\",route=\"/d/{slug}\"} 0",
            "mercato_request_duration_seconds_bucket{le=\"0.0005\",route=\"/d/{slug}\"} 3",
            "mercato_request_duration_seconds_bucket{le=\"+Inf\",route=\"/d/{slug}\"} 3",
            "mercato_request_duration_seconds_count{route=\"/d/{slug}\"} 3",
            "# HELP mercato_rows Rows returned.",
            "# TYPE mercato_rows counter",
            "mercato_rows_total 6",
            "# TYPE mercato_hits counter",
            "mercato_hits_total 7",
            "mercato_workers{pool=\"page\"} 3",
            "mercato_workers{pool=\"stream\"} 3",
        ] {
            assert!(text.lines().any(|present| present == line), "{line}\n{text}");
        }
        // The text form wants each family in one piece, with one head, and a mark at the end.
        assert_eq!(text.matches("# TYPE mercato_workers gauge\n").count(), 1);
        assert!(text.ends_with("\n# EOF\n"), "{text}");
    }
}
