//! What the guard counts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::refusal::Refusal;

/// Counters and gauges since the start.
#[derive(Debug, Default)]
pub struct Counters {
    pub(super) accepted: AtomicU64,
    pub(super) accept_errors: AtomicU64,
    pub(super) open: AtomicU64,
    pub(super) requests: AtomicU64,
    pub(super) bytes_in: AtomicU64,
    pub(super) bytes_out: Arc<AtomicU64>,
    pub(super) idle_closed: AtomicU64,
    pub(super) slow_readers: AtomicU64,
    pub(super) clients_gone: AtomicU64,
    pub(super) cut: AtomicU64,
    refusals: [AtomicU64; Refusal::LABELS.len()],
}

/// One value for the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// Name of the metric.
    pub name: &'static str,
    /// What it tells.
    pub help: &'static str,
    /// Whether it only ever grows.
    pub is_counter: bool,
    /// `name="value"`, or empty.
    pub label: String,
    /// The value.
    pub value: u64,
}

impl Counters {
    pub(super) fn refuse(&self, refusal: &Refusal) {
        if let Some(counter) = self.refusals.get(refusal.index()) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How often something was refused under that name.
    pub fn refused(&self, label: &str) -> u64 {
        let counters = Refusal::LABELS.iter().zip(&self.refusals);
        counters.filter(|(name, _)| **name == label).map(|(_, counter)| counter.load(Ordering::Relaxed)).sum()
    }

    /// Connections that are open now.
    pub fn open(&self) -> u64 {
        self.open.load(Ordering::Relaxed)
    }

    /// Everything that was counted.
    pub fn samples(&self) -> Vec<Sample> {
        let one = |name, help, is_counter, counter: &AtomicU64| Sample {
            name,
            help,
            is_counter,
            label: String::new(),
            value: counter.load(Ordering::Relaxed),
        };
        let mut samples = vec![
            one("mercato_connections_open", "Connections that are open.", false, &self.open),
            one(
                "mercato_connections_accepted_total",
                "Connections that were accepted.",
                true,
                &self.accepted,
            ),
            one(
                "mercato_accept_errors_total",
                "Connections that could not be accepted.",
                true,
                &self.accept_errors,
            ),
            one(
                "mercato_connections_idle_closed_total",
                "Connections closed after idling.",
                true,
                &self.idle_closed,
            ),
            one("mercato_edge_requests_total", "Requests handed to workers.", true, &self.requests),
            one("mercato_received_bytes_total", "Bytes received from clients.", true, &self.bytes_in),
            one("mercato_sent_bytes_total", "Bytes sent to clients.", true, &self.bytes_out),
            one(
                "mercato_slow_readers_total",
                "Answers given up because the client did not read.",
                true,
                &self.slow_readers,
            ),
            one("mercato_clients_gone_total", "Answers whose client left.", true, &self.clients_gone),
            one("mercato_answers_cut_total", "Answers that broke off.", true, &self.cut),
        ];
        samples.extend(Refusal::LABELS.iter().zip(&self.refusals).map(|(label, counter)| Sample {
            name: "mercato_edge_refusals_total",
            help: "What the guard refused, by reason.",
            is_counter: true,
            label: format!("reason=\"{label}\""),
            value: counter.load(Ordering::Relaxed),
        }));
        samples
    }
}

/// One more.
pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// So many more.
pub(super) fn add(counter: &AtomicU64, number: usize) {
    counter.fetch_add(u64::try_from(number).unwrap_or(u64::MAX), Ordering::Relaxed);
}
