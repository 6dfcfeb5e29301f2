//! The report of a conversion, as text and as JSON. Does not depend on input formats.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mercato_format::{ColumnReport, TableSummary};
use serde::{Deserialize, Serialize};

use crate::convert::Conversion;
use crate::convert::dataset::Dataset;

#[derive(Clone, Copy, Debug)]
pub(super) enum Phase {
    /// Footers, rows of text inputs, limits, free space.
    Plan,
    /// Reading, decoding and collecting columns, over all threads.
    Read,
    /// Encoding, sorting and indexing, over all threads.
    Build,
    Append,
    /// Statistics, and lengths of the table in its export formats.
    Derive,
    Commit,
}

#[derive(Debug)]
pub(super) struct PhaseTimer {
    begun: Instant,
    nanoseconds: [AtomicU64; 6],
}

impl PhaseTimer {
    pub(super) fn start() -> PhaseTimer {
        PhaseTimer { begun: Instant::now(), nanoseconds: Default::default() }
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    pub(super) fn record(&self, phase: Phase, took: Duration) {
        if let Some(counter) = self.nanoseconds.get(phase as usize) {
            counter.fetch_add(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
        }
    }

    fn seconds(&self, phase: Phase) -> f64 {
        let nanoseconds =
            self.nanoseconds.get(phase as usize).map_or(0, |counter| counter.load(Ordering::Relaxed));
        Duration::from_nanos(nanoseconds).as_secs_f64()
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The input: its name, or that of the first file and the number of others.
    pub input: String,
    pub output: String,
    pub rows: u64,
    /// Rows a second, from start to rename.
    pub rows_per_second: u64,
    /// Bytes of all inputs; texts count decompressed.
    pub bytes_in: u64,
    pub bytes_out: u64,
    pub seconds: Seconds,
    /// Content fingerprint, 32 hexadecimal digits.
    pub fingerprint: String,
    /// Warnings for the operator, one sentence each.
    pub warnings: Vec<String>,
    /// Inherited names of `--drop` and `--sort-index` that no file has.
    #[serde(skip)]
    pub absent: Vec<String>,
    pub columns: Vec<ColumnLine>,
}

/// Seconds by phase. Reading and building run in parallel, so their sum may exceed the total.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Seconds {
    pub total: f64,
    /// Footers, rows of text inputs, limits, free space.
    pub plan: f64,
    /// Reading, decoding and collecting columns, over all threads.
    pub read: f64,
    /// Encoding, sorting and indexing, over all threads.
    pub build: f64,
    pub append: f64,
    /// Statistics, and lengths of the table in its export formats.
    pub derive: f64,
    pub commit: f64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ColumnLine {
    pub name: String,
    /// `string`, `integer`, `number`, `boolean` or `datetime`.
    pub r#type: String,
    pub source_type: String,
    pub encoding: String,
    pub reason: String,
    pub sort_index: String,
    /// Distinct values, where known.
    pub distinct: Option<u64>,
    pub nulls: u64,
    pub nans: u64,
    pub data_bytes: u64,
    pub index_bytes: u64,
}

impl Report {
    pub(super) fn new(
        dataset: &Dataset,
        conversion: &Conversion,
        summary: &TableSummary,
        columns: Vec<ColumnReport>,
        timer: &PhaseTimer,
    ) -> Report {
        let total = timer.elapsed().as_secs_f64();
        let lines = dataset.columns.iter().zip(columns).map(|(column, report)| ColumnLine {
            name: report.name,
            r#type: column.spec.kind.logical().name().to_owned(),
            source_type: column.spec.source_type.clone(),
            encoding: report.encoding.to_owned(),
            reason: report.reason,
            sort_index: report.sort_index.to_owned(),
            distinct: report.distinct,
            nulls: report.null_count,
            nans: report.nan_count,
            data_bytes: report.data_bytes,
            index_bytes: report.index_bytes,
        });
        Report {
            input: dataset.name.clone(),
            output: conversion.output.display().to_string(),
            rows: summary.row_count,
            rows_per_second: (summary.row_count as f64 / total.max(1e-9)) as u64,
            bytes_in: dataset.bytes_in,
            bytes_out: summary.file_bytes,
            seconds: Seconds {
                total,
                plan: timer.seconds(Phase::Plan),
                read: timer.seconds(Phase::Read),
                build: timer.seconds(Phase::Build),
                append: timer.seconds(Phase::Append),
                derive: timer.seconds(Phase::Derive),
                commit: timer.seconds(Phase::Commit),
            },
            fingerprint: summary.fingerprint.to_string(),
            warnings: dataset.warnings.clone(),
            absent: dataset.absent.clone(),
            columns: lines.collect(),
        }
    }
}

impl std::fmt::Display for Report {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for column in &self.columns {
            writeln!(
                out,
                "{:32} {:8} {:10} {:>12} bytes, index {:>12}, {}",
                column.name,
                column.r#type,
                column.encoding,
                column.data_bytes,
                column.index_bytes,
                column.reason
            )?;
        }
        write!(
            out,
            "{}: {} rows, {} columns, {} bytes from {} in {:.2} s; fingerprint {}",
            self.output,
            self.rows,
            self.columns.len(),
            self.bytes_out,
            self.bytes_in,
            self.seconds.total,
            self.fingerprint
        )
    }
}
