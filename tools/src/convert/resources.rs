//! Estimates the memory and disk space of a conversion, from the footer and the page headers, and checks the free disk
//! space. Raises the limit of open files. Does not depend on values.

use std::path::Path;

use mercato_format::ColumnKind;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::convert::dataset::{Dataset, JoinedColumn};
use crate::convert::limits::{BATCH_SHARE, COLUMN_BUDGET_BYTES_MIN, ENCODED_BYTES, MEMORY_LIMIT_BYTES_MIN};
use crate::convert::pages::headers::{self, PageMemory};
use crate::convert::plan::{ErrorContext, Plan};
use crate::convert::reader;
use crate::convert::schema::flatten::OutputColumn;
use crate::failure::Failure;

/// Descriptors that a conversion needs beside those of its files.
const DESCRIPTORS_BESIDE: u64 = 256;
/// Bytes a row for sorting a column of numbers, without its values.
const SORT_ROW_BYTES: u64 = 32;
/// Bytes a row of the sort index.
const INDEX_ROW_BYTES: u64 = 4;

/// Memory that builds a column without spilling, bytes.
#[must_use]
pub fn wanted_bytes(dataset: &Dataset, column: &JoinedColumn) -> u64 {
    let rows = dataset.row_count;
    match column.spec.kind {
        ColumnKind::Boolean => rows.saturating_mul(8),
        ColumnKind::Text => {
            let texts = dataset.text_bytes(column).saturating_mul(5);
            texts.saturating_add(rows.saturating_mul(SORT_ROW_BYTES + 16))
        }
        _ => rows.saturating_mul(SORT_ROW_BYTES + 16),
    }
}

/// Memory for all columns that are being read and built, bytes.
#[must_use]
pub fn building_bytes(memory_limit: u64) -> u64 {
    memory_limit / 100 * 85
}

/// Memory for the values of one batch of a column, bytes.
#[must_use]
pub fn batch_bytes(plan: &Plan, column: &OutputColumn, memory_limit: u64) -> u64 {
    reader::most_batch_bytes(plan, column).min(memory_limit / BATCH_SHARE)
}

/// Memory of the reader of each column, bytes.
///
/// # Errors
/// When the pages of a column do not fit the memory limit, with the limit that would suffice; after an interruption.
pub fn reading_bytes(plan: &Plan, memory_limit: u64) -> Result<Vec<u64>, Failure> {
    let context = ErrorContext::of(&plan.source);
    let columns = plan.columns.iter().map(|column| {
        let pages = headers::pages(plan, column);
        context.check_interrupted()?;
        let reading = |limit| pages.bytes.saturating_add(decoded_bytes(plan, column, limit));
        let fits = |limit| reading(limit).saturating_add(COLUMN_BUDGET_BYTES_MIN) <= building_bytes(limit);
        if fits(memory_limit) {
            Ok(reading(memory_limit))
        } else {
            Err(refuse_pages(&context, column, pages, fits))
        }
    });
    columns.collect()
}

/// Bytes of the values of a batch and of their encoded texts.
fn decoded_bytes(plan: &Plan, column: &OutputColumn, memory_limit: u64) -> u64 {
    let values = batch_bytes(plan, column, memory_limit);
    match column.spec.kind {
        ColumnKind::Text if reader::is_encoded_as_text(plan, column) => {
            values.saturating_mul(3).saturating_add(ENCODED_BYTES as u64 * 2)
        }
        _ => values,
    }
}

fn refuse_pages(
    context: &ErrorContext,
    column: &OutputColumn,
    pages: PageMemory,
    fits: impl Fn(u64) -> bool,
) -> Failure {
    const MEBIBYTE: u64 = 1 << 20;
    let (mut low, mut high) = (MEMORY_LIMIT_BYTES_MIN / MEBIBYTE, u64::MAX / MEBIBYTE);
    while low < high {
        let middle = low.midpoint(high);
        if fits(middle * MEBIBYTE) { high = middle } else { low = middle + 1 }
    }
    let name = &column.spec.name;
    let remedy = format!("pass --memory-limit {low}MiB, or leave the column out with --drop {name}");
    let found = format!("{} bytes, of which {} in one page", pages.bytes, pages.largest);
    let expected = "pages that this --memory-limit holds".to_owned();
    context.refusal(&format!("column `{name}`"), expected, found, &remedy)
}

/// Bytes of a column in the store file.
fn output_bytes(dataset: &Dataset, column: &JoinedColumn) -> u64 {
    let rows = dataset.row_count;
    match column.spec.kind {
        ColumnKind::Boolean => rows.saturating_mul(2 + INDEX_ROW_BYTES),
        ColumnKind::Text => {
            dataset.text_bytes(column).saturating_add(rows.saturating_mul(4 + INDEX_ROW_BYTES))
        }
        _ => rows.saturating_mul(16 + INDEX_ROW_BYTES),
    }
}

/// Bytes of a column's chunks after decompression, before decoding.
#[must_use]
pub fn unfolded_bytes(plan: &Plan, column: &OutputColumn) -> u64 {
    let groups = plan.metadata().row_groups().iter();
    let chunks = groups.flat_map(|group| column.leaves().filter_map(|leaf| group.columns().get(leaf)));
    chunks.map(|chunk| chunk.uncompressed_size().unsigned_abs()).fold(0, u64::saturating_add)
}

/// Checks that the disk of `directory` can hold the output and the spilled data.
pub fn check_disk(dataset: &Dataset, directory: &Path, memory_limit: u64) -> Result<(), Failure> {
    let columns = || dataset.columns.iter();
    let output = columns().map(|column| output_bytes(dataset, column)).fold(0, u64::saturating_add);
    let wanted = columns().map(|column| wanted_bytes(dataset, column)).fold(0, u64::saturating_add);
    let spilled = if wanted > memory_limit { output } else { 0 };
    let needed = output.saturating_add(spilled);
    let facts = rustix::fs::statvfs(directory)
        .map_err(|error| Failure::io(directory, "ask for the free space of")(error.into()))?;
    let free = facts.f_bavail.saturating_mul(facts.f_frsize);
    if needed <= free {
        return Ok(());
    }
    Err(Failure::refused(
        directory.display().to_string(),
        "free disk space",
        format!("about {needed} bytes for the store file and temporary files"),
        format!("{free} bytes"),
        "free some space, name another --output, or leave columns out with --drop",
    ))
}

/// Raises the limit of open files, because every file stays open.
pub fn allow_descriptors(files: usize) -> Result<(), Failure> {
    let needed = files as u64 * 2 + DESCRIPTORS_BESIDE;
    let limits = getrlimit(Resource::Nofile);
    if limits.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    if limits.maximum.is_some_and(|maximum| maximum < needed) {
        return Err(Failure::Usage(format!(
            "{files} files: this system allows {} open files; raise the limit with `ulimit -Hn {needed}`, or join files",
            limits.maximum.unwrap_or(0)
        )));
    }
    let wanted = Rlimit { current: Some(needed), maximum: limits.maximum };
    setrlimit(Resource::Nofile, wanted)
        .map_err(|error| Failure::io(Path::new("open files"), "raise the limit of")(error.into()))
}
