//! What a conversion will want of memory and disk, estimated from the footer, and what the disk has. Knows no
//! value.

use std::path::Path;

use mercato_format::ColumnKind;

use super::columns::OutputColumn;
use super::plan::Plan;
use crate::failure::Failure;

/// Bytes a row that sorting a column of numbers takes beside its values.
const SORT_ROW_BYTES: u64 = 32;
/// Bytes a row of the sort index.
const INDEX_ROW_BYTES: u64 = 4;

/// Bytes of memory with which a column is built without spilling.
#[must_use]
pub fn wanted_bytes(plan: &Plan, column: &OutputColumn) -> u64 {
    let rows = plan.row_count;
    match column.spec.kind {
        ColumnKind::Boolean => rows.saturating_mul(8),
        ColumnKind::Text => {
            let texts = unfolded_bytes(plan, column).saturating_mul(5);
            texts.saturating_add(rows.saturating_mul(SORT_ROW_BYTES + 16))
        }
        _ => rows.saturating_mul(SORT_ROW_BYTES + 16),
    }
}

/// Bytes of store file for a column.
fn output_bytes(plan: &Plan, column: &OutputColumn) -> u64 {
    let rows = plan.row_count;
    match column.spec.kind {
        ColumnKind::Boolean => rows.saturating_mul(1 + INDEX_ROW_BYTES),
        ColumnKind::Text => {
            unfolded_bytes(plan, column).saturating_add(rows.saturating_mul(4 + INDEX_ROW_BYTES))
        }
        _ => rows.saturating_mul(8 + INDEX_ROW_BYTES),
    }
}

/// Bytes of a column's chunks after decompression, before encodings are undone.
fn unfolded_bytes(plan: &Plan, column: &OutputColumn) -> u64 {
    let groups = plan.metadata().row_groups().iter();
    let chunks = groups.flat_map(|group| column.leaves().filter_map(|leaf| group.columns().get(leaf)));
    chunks.map(|chunk| chunk.uncompressed_size().unsigned_abs()).fold(0, u64::saturating_add)
}

/// Refuses when the disk under `directory` cannot hold the output, and what is spilled on the way.
///
/// # Errors
/// A refusal with both numbers, or that the disk cannot be asked.
pub fn check_disk(plan: &Plan, directory: &Path, memory_limit: u64) -> Result<(), Failure> {
    let output = plan.columns.iter().map(|column| output_bytes(plan, column)).fold(0, u64::saturating_add);
    let wanted = plan.columns.iter().map(|column| wanted_bytes(plan, column)).fold(0, u64::saturating_add);
    let spilled = if wanted > memory_limit { output } else { 0 };
    let needed = output.saturating_add(spilled);
    let facts = rustix::fs::statvfs(directory)
        .map_err(|error| Failure::io(directory, "ask for the free space of")(error.into()))?;
    let free = facts.f_bavail.saturating_mul(facts.f_frsize);
    if needed <= free {
        return Ok(());
    }
    Err(Failure::Refused {
        file: directory.display().to_string(),
        section: "free disk space".into(),
        expected: format!("about {needed} bytes for the store file and temporary files"),
        found: format!("{free} bytes"),
        remedy: "free some space, name another --output, or leave columns out with --drop".into(),
    })
}
