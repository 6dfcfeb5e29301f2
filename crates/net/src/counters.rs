//! Counters and gauges of a listener.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::refusal::Refusal;
use crate::server::ClassPlan;
use mercato_base::sample::Sample;

/// Counters and gauges since the start.
#[derive(Debug, Default)]
pub struct Counters {
    pub accepted: AtomicU64,
    pub accept_errors: AtomicU64,
    pub open: AtomicU64,
    pub requests: AtomicU64,
    pub bytes_in: AtomicU64,
    pub bytes_out: AtomicU64,
    pub idle_closed: AtomicU64,
    pub slow_readers: AtomicU64,
    pub clients_gone: AtomicU64,
    pub aborted: AtomicU64,
    pub replaced: AtomicU64,
    refusals: [AtomicU64; Refusal::LABELS.len()],
    pub classes: Vec<ClassGauges>,
}

/// How the workers of one class stand.
#[derive(Debug)]
pub struct ClassGauges {
    plan: ClassPlan,
    free: AtomicU64,
    waiting: AtomicU64,
}

impl ClassGauges {
    pub fn set(&self, free: usize, waiting: usize) {
        self.free.store(number(free), Ordering::Relaxed);
        self.waiting.store(number(waiting), Ordering::Relaxed);
    }
}

impl Counters {
    /// Counters at zero, and gauges of classes in which every worker is free.
    pub fn new(classes: &[ClassPlan]) -> Self {
        let gauges = classes.iter().map(|plan| ClassGauges {
            plan: *plan,
            free: AtomicU64::new(number(plan.workers)),
            waiting: AtomicU64::new(0),
        });
        Self { classes: gauges.collect(), ..Self::default() }
    }

    /// Counts a refusal under its name.
    pub fn refuse(&self, refusal: &Refusal) {
        let refused =
            Refusal::LABELS.iter().zip(&self.refusals).find(|(label, _)| **label == refusal.label());
        refused.into_iter().for_each(|(_, counter)| count(counter));
    }

    /// All counters as samples.
    pub fn samples(&self) -> Vec<Sample> {
        let counters = [
            ("mercato_connections_accepted_total", "Connections that were accepted.", &self.accepted),
            ("mercato_accept_errors_total", "Connections that could not be accepted.", &self.accept_errors),
            ("mercato_connections_idle_closed_total", "Connections closed after idling.", &self.idle_closed),
            ("mercato_edge_requests_total", "Requests handed to workers.", &self.requests),
            ("mercato_received_bytes_total", "Bytes received from clients.", &self.bytes_in),
            ("mercato_sent_bytes_total", "Bytes sent to clients.", &self.bytes_out),
            ("mercato_slow_readers_total", SLOW_READERS, &self.slow_readers),
            ("mercato_clients_gone_total", "Answers whose client left.", &self.clients_gone),
            ("mercato_answers_cut_total", "Answers that broke off.", &self.aborted),
            ("mercato_private_replaced_total", "Private connections that were replaced.", &self.replaced),
        ];
        let open = Sample::gauge("mercato_connections_open", "Connections that are open.", read(&self.open));
        let mut samples = vec![open];
        samples.extend(counters.map(|(name, help, value)| Sample::counter(name, help, read(value))));
        for ClassGauges { plan, free, waiting } in &self.classes {
            let gauges = [
                Sample::gauge("mercato_workers", "Workers of a pool.", number(plan.workers)),
                Sample::gauge("mercato_workers_free", "Workers that have nothing to do.", read(free)),
                Sample::gauge("mercato_requests_waiting", "Requests that wait for a worker.", read(waiting)),
            ];
            samples.extend(gauges.map(|gauge| gauge.labelled("pool", plan.name)));
        }
        for (reason, refused) in Refusal::LABELS.iter().zip(&self.refusals) {
            let sample = Sample::counter("mercato_edge_refusals_total", REFUSALS, read(refused));
            samples.push(sample.labelled("reason", reason));
        }
        samples
    }
}

const SLOW_READERS: &str = "Answers given up because the client did not read.";
const REFUSALS: &str = "What was refused before a worker saw it, by reason.";

fn read(value: &AtomicU64) -> u64 {
    value.load(Ordering::Relaxed)
}

/// One more.
pub fn count(counter: &AtomicU64) {
    add(counter, 1);
}

pub fn add(counter: &AtomicU64, more: usize) {
    counter.fetch_add(number(more), Ordering::Relaxed);
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
