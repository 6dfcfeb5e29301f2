//! What is told of a run, as data. Knows no layout.

use serde::Serialize;

use crate::loadgen::client::target::Target;
use crate::loadgen::requests::prepare::PreparedWork;
use crate::loadgen::results::process::ProcessUse;
use crate::loadgen::results::tally::{FailureKind, FailureSample, Percentiles, Tally};
use crate::loadgen::{Load, Outcome};

/// A whole run.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The server.
    pub url: String,
    /// `closed` or `open`.
    #[serde(rename = "loop")]
    pub kind: &'static str,
    /// Requests a second that were meant, in an open loop.
    pub intended_rate: Option<f64>,
    /// Connections.
    pub connections: usize,
    /// Threads.
    pub threads: usize,
    /// What chance depended on.
    pub seed: u64,
    /// Seconds before requests counted.
    pub warm_up_seconds: f64,
    /// Seconds from then to the end of the last request.
    pub seconds: f64,
    /// How the run ended: `complete`, `signal`, or `unreachable` when connections were given up.
    pub ended: &'static str,
    /// All works together.
    pub total: WorkSummary,
    /// Each work.
    pub works: Vec<WorkSummary>,
    /// Requests of an open loop that were due and never sent, because no connection was free until the end.
    pub unsent: u64,
    /// Connections that were opened.
    pub connections_opened: u64,
    /// What the server used.
    pub server: Option<ServerUse>,
    /// What this program used.
    pub generator: Option<GeneratorUse>,
}

/// A work, or all of them.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkSummary {
    /// Name, with `@DEPTH` where there is one; `total` for all.
    pub name: String,
    /// The work without the depth.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work: Option<String>,
    /// The depth.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<u64>,
    /// Requests that ended.
    pub requests: u64,
    /// Those with a good answer.
    pub good: u64,
    /// Those that failed, by kind.
    pub errors: Errors,
    /// The first failure of each kind.
    pub samples: Vec<FailureSample>,
    /// Good answers a second.
    pub rate_per_second: f64,
    /// Bytes of the bodies of good answers.
    pub bytes: u64,
    /// The same a second.
    pub bytes_per_second: f64,
    /// From the moment at which a request should have begun to its last byte. In a closed loop that is when its
    /// connection was free.
    pub latency_milliseconds: Option<Percentiles>,
    /// From the first byte sent to the last byte received.
    pub service_milliseconds: Option<Percentiles>,
    /// From the first byte sent to the first byte received.
    pub first_byte_milliseconds: Option<Percentiles>,
}

/// Failures by kind.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Errors {
    /// All.
    pub total: u64,
    /// Statuses that are not expected.
    pub status: u64,
    /// No connection.
    pub connect: u64,
    /// No whole answer in time.
    pub timeout: u64,
    /// Ended within the answer.
    pub cut: u64,
    /// More bytes than announced.
    pub length: u64,
    /// No HTTP/1.1.
    pub malformed: u64,
}

/// What the server used.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerUse {
    /// Processor time and memory.
    #[serde(flatten)]
    pub used: ProcessUse,
    /// Processor time for each request that ended, in microseconds.
    pub cpu_micros_per_request: Option<f64>,
}

/// What this program used.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GeneratorUse {
    /// Processor time and memory.
    #[serde(flatten)]
    pub used: ProcessUse,
    /// Processor time for each request that ended, in microseconds.
    pub cpu_micros_per_request: Option<f64>,
    /// Share of the processor time that its threads could have had, 0 to 1. Near 1, this program is what is measured.
    pub busy: f64,
}

impl Report {
    /// The report of a run.
    ///
    /// # Errors
    /// When tallies cannot be added up.
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

    /// One sentence about what failed; nothing when nothing did.
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

    /// The kinds that occurred, with their counts.
    pub fn present(&self) -> impl Iterator<Item = (FailureKind, u64)> {
        let counts = [self.status, self.connect, self.timeout, self.cut, self.length, self.malformed];
        FailureKind::ALL.into_iter().zip(counts).filter(|(_, count)| *count > 0)
    }
}
