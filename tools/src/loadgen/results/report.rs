//! The report of a run, as data. Does not depend on text layouts.

use serde::Serialize;

use crate::loadgen::client::target::Target;
use crate::loadgen::requests::prepared_work::PreparedWork;
use crate::loadgen::results::process::ProcessUse;
use crate::loadgen::results::tally::{FailureKind, FailureSample, Percentiles, Tally};
use crate::loadgen::{Load, Outcome};

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    pub url: String,
    /// `closed` or `open`.
    #[serde(rename = "loop")]
    pub kind: &'static str,
    /// Target rate of an open loop, requests a second.
    pub intended_rate: Option<f64>,
    pub connections: usize,
    pub threads: usize,
    /// Seed of the random choices.
    pub seed: u64,
    pub warm_up_seconds: f64,
    /// Seconds from the end of the warm-up to the end of the last request.
    pub seconds: f64,
    /// How the run ended: `complete`, `signal`, or `unreachable` when connections were abandoned.
    pub ended: &'static str,
    pub total: WorkSummary,
    pub works: Vec<WorkSummary>,
    /// Requests of an open loop that were due but never sent, because no connection was free.
    pub unsent: u64,
    pub connections_opened: u64,
    pub server: Option<ServerUse>,
    pub generator: Option<GeneratorUse>,
}

/// The results of one work, or of all works.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkSummary {
    /// Name, with `@DEPTH` for a depth; `total` for all works.
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<u64>,
    /// Completed requests, good or failed.
    pub requests: u64,
    /// Requests with a good response.
    pub good: u64,
    pub errors: Errors,
    pub samples: Vec<FailureSample>,
    /// Good responses a second.
    pub rate_per_second: f64,
    /// Body bytes of good responses.
    pub bytes: u64,
    /// Body bytes a second.
    pub bytes_per_second: f64,
    /// Latency: from the intended start of a request to the last byte of its response. In a closed loop, a request
    /// should start as soon as its connection is free.
    pub latency_milliseconds: Option<Percentiles>,
    /// Service time: from the first byte sent to the last byte received.
    pub service_milliseconds: Option<Percentiles>,
    /// Time to first byte: from the first byte sent to the first byte received.
    pub first_byte_milliseconds: Option<Percentiles>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Errors {
    pub total: u64,
    pub status: u64,
    pub connect: u64,
    /// No complete response within the timeout.
    pub timeout: u64,
    /// Connection ended inside the response.
    pub cut: u64,
    /// More bytes than the response announced.
    pub length: u64,
    /// Responses that are not HTTP/1.1.
    pub malformed: u64,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerUse {
    #[serde(flatten)]
    pub used: ProcessUse,
    /// Processor time a completed request, microseconds.
    pub cpu_micros_per_request: Option<f64>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GeneratorUse {
    #[serde(flatten)]
    pub used: ProcessUse,
    /// Processor time a completed request, microseconds.
    pub cpu_micros_per_request: Option<f64>,
    /// Share of the processor time available to its threads, 0 to 1. Near 1, the load generator is the bottleneck.
    pub busy: f64,
}

impl Report {
    pub fn new(
        load: &Load,
        target: &Target,
        works: &[PreparedWork],
        outcome: &Outcome,
    ) -> Result<Report, Box<dyn std::error::Error + Send + Sync>> {
        let seconds = outcome.elapsed.as_secs_f64();
        let mut all = Tally::new()?;
        outcome.tallies.iter().try_for_each(|tally| all.add(tally))?;
        let lines = works.iter().zip(&outcome.tallies).map(|(work, tally)| WorkSummary {
            work: Some(work.work.clone()),
            depth: work.depth,
            ..WorkSummary::new(work.name.clone(), tally, seconds)
        });
        let total = WorkSummary::new("total".to_owned(), &all, seconds);
        let each = |cpu: f64| (total.requests > 0).then(|| cpu * 1e6 / total.requests as f64);
        let possible = seconds * load.threads as f64;
        Ok(Report {
            url: target.url.clone(),
            kind: if load.rate.is_some() { "open" } else { "closed" },
            intended_rate: load.rate,
            connections: load.connections,
            threads: load.threads,
            seed: load.seed,
            warm_up_seconds: load.warm_up.as_secs_f64(),
            seconds,
            ended: match (outcome.stopped, outcome.gone) {
                (true, _) => "signal",
                (false, 0) => "complete",
                (false, _) => "unreachable",
            },
            works: lines.collect(),
            unsent: outcome.unsent,
            connections_opened: outcome.opened,
            server: outcome
                .server
                .map(|used| ServerUse { used, cpu_micros_per_request: each(used.cpu_seconds) }),
            generator: outcome.own.map(|used| GeneratorUse {
                used,
                cpu_micros_per_request: each(used.cpu_seconds),
                busy: if possible > 0.0 { (used.cpu_seconds / possible).min(1.0) } else { 0.0 },
            }),
            total,
        })
    }

    /// One sentence about the failures; `None` without failures.
    #[must_use]
    pub fn failure_summary(&self) -> Option<String> {
        if self.total.requests == 0 && self.ended != "signal" {
            return Some(
                "no request was sent; the run was too short, or the server cannot be reached".to_owned(),
            );
        }
        let failed = self.total.errors.total;
        let first = self.works.iter().find_map(|line| line.samples.first().map(|sample| (line, sample)))?;
        let (line, sample) = first;
        let status = sample.status.map_or(String::new(), |status| format!(" {status}"));
        let remedy = sample.status.map_or("", crate::loadgen::requests::prepare::remedy_for);
        let remedy = if remedy.is_empty() { String::new() } else { format!("; {remedy}") };
        Some(format!(
            "{failed} of {} requests failed; the first of `{}` by {}{status}: {}{remedy}",
            self.total.requests,
            line.name,
            sample.kind.name(),
            sample.found
        ))
    }
}

impl WorkSummary {
    fn new(name: String, tally: &Tally, seconds: f64) -> WorkSummary {
        let each_second = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
        WorkSummary {
            name,
            work: None,
            depth: None,
            requests: tally.good + tally.failures(),
            good: tally.good,
            errors: Errors::of(tally),
            samples: tally.samples.clone(),
            rate_per_second: each_second(tally.good),
            bytes: tally.bytes,
            bytes_per_second: each_second(tally.bytes),
            latency_milliseconds: Percentiles::of(&tally.latency),
            service_milliseconds: Percentiles::of(&tally.service),
            first_byte_milliseconds: Percentiles::of(&tally.first_byte),
        }
    }
}

impl Errors {
    fn of(tally: &Tally) -> Errors {
        let of = |kind| {
            let mut counts = FailureKind::ALL.iter().zip(tally.failed);
            counts.find(|(one, _)| **one == kind).map_or(0, |(_, count)| count)
        };
        Errors {
            total: tally.failures(),
            status: of(FailureKind::Status),
            connect: of(FailureKind::Connect),
            timeout: of(FailureKind::Timeout),
            cut: of(FailureKind::Cut),
            length: of(FailureKind::Length),
            malformed: of(FailureKind::Malformed),
        }
    }

    /// The kinds of failure that occurred, with counts.
    pub fn present(&self) -> impl Iterator<Item = (FailureKind, u64)> {
        let counts = [self.status, self.connect, self.timeout, self.cut, self.length, self.malformed];
        FailureKind::ALL.into_iter().zip(counts).filter(|(_, count)| *count > 0)
    }
}
