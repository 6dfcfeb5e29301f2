//! What the event loop and the workers count.

use std::sync::atomic::{AtomicU64, Ordering};

use super::refusal::Refusal;
use super::server::ClassPlan;

/// Counters and gauges since the start.
#[derive(Debug, Default)]
pub struct Counters {
    pub(super) accepted: AtomicU64,
    pub(super) accept_errors: AtomicU64,
    pub(super) open: AtomicU64,
    pub(super) requests: AtomicU64,
    pub(super) bytes_in: AtomicU64,
    pub(super) bytes_out: AtomicU64,
    pub(super) idle_closed: AtomicU64,
    pub(super) slow_readers: AtomicU64,
    pub(super) clients_gone: AtomicU64,
    pub(super) cut: AtomicU64,
    replaced: AtomicU64,
    refusals: [AtomicU64; Refusal::LABELS.len()],
    pub(super) classes: Vec<ClassGauges>,
}

/// How the workers of one class stand.
#[derive(Debug)]
pub(super) struct ClassGauges {
    name: &'static str,
    workers: usize,
    free: AtomicU64,
    waiting: AtomicU64,
}

impl ClassGauges {
    pub(super) fn set(&self, free: usize, waiting: usize) {
        self.free.store(u64::try_from(free).unwrap_or(u64::MAX), Ordering::Relaxed);
        self.waiting.store(u64::try_from(waiting).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    fn samples(&self) -> [Sample; 3] {
        let workers = u64::try_from(self.workers).unwrap_or(u64::MAX);
        let (free, waiting) = (self.free.load(Ordering::Relaxed), self.waiting.load(Ordering::Relaxed));
        [
            ("mercato_workers", "Workers of a pool.", workers),
            ("mercato_workers_free", "Workers that have nothing to do.", free),
            ("mercato_requests_waiting", "Requests that wait for a worker.", waiting),
        ]
        .map(|(name, help, value)| Sample {
            name,
            help,
            is_counter: false,
            label: format!("pool=\"{}\"", self.name),
            value,
        })
    }
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
    /// Counters at zero, and gauges of classes in which every worker is free.
    pub(super) fn new(classes: &[ClassPlan]) -> Self {
        let gauges = classes.iter().map(|class| ClassGauges {
            name: class.name,
            workers: class.workers,
            free: AtomicU64::new(u64::try_from(class.workers).unwrap_or(u64::MAX)),
            waiting: AtomicU64::new(0),
        });
        Self { classes: gauges.collect(), ..Self::default() }
    }

    /// A connection was closed.
    pub(super) fn closed(&self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }

    /// Sets how often a private connection was opened anew.
    pub(super) fn set_replaced(&self, number: u64) {
        self.replaced.store(number, Ordering::Relaxed);
    }

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
            one(
                "mercato_private_replaced_total",
                "Private connections that were replaced.",
                true,
                &self.replaced,
            ),
        ];
        samples.extend(self.classes.iter().flat_map(ClassGauges::samples));
        samples.extend(Refusal::LABELS.iter().zip(&self.refusals).map(|(label, counter)| Sample {
            name: "mercato_edge_refusals_total",
            help: "What was refused before a worker saw it, by reason.",
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
