//! The command `verify FILE.mcol`. The store format checks the invariants.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use mercato_catalog::ParquetFile;
use mercato_format::error::Place;
use mercato_format::section::SectionKind;
use mercato_format::{FormatError, Table};
use mercato_query::render::{Format, count_lengths, stored_lengths};
use serde::Serialize;

use super::{print_json, print_text};
use crate::failure::Failure;
use crate::progress;

/// Check every checksum and every invariant of a store file.
///
/// Of a published version, the Parquet file beside it is compared with its checksums, too.
///
/// The exit code is 0 only if all of them hold. Otherwise, standard error names the first violation.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  mercato-tools verify sales.mcol && echo sound")]
pub struct VerifyArguments {
    /// The store file.
    #[arg(value_name = "FILE.mcol")]
    pub file: PathBuf,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Verified {
    file: String,
    rows: u32,
    columns: u64,
    sections: u64,
    bytes: u64,
    fingerprint: String,
    /// Bytes of the Parquet file beside it, if it was published with one.
    #[serde(skip_serializing_if = "Option::is_none")]
    parquet_bytes: Option<u64>,
    seconds: f64,
}

pub fn run(arguments: &VerifyArguments, json: bool) -> Result<(), Failure> {
    let begun = Instant::now();
    let table = Table::open(&arguments.file).map_err(Failure::store(&arguments.file))?;
    let bar = progress::bar("verify", table.columns().len() as u64, "columns");
    let report = table.verify(&|_| bar.inc(1)).map_err(Failure::store(&arguments.file))?;
    bar.finish_and_clear();
    check_lengths(&table).map_err(Failure::store(&arguments.file))?;
    let parquet_bytes = check_parquet(&arguments.file, &table)?;
    let verified = Verified {
        file: arguments.file.display().to_string(),
        rows: table.row_count(),
        columns: report.columns,
        sections: report.sections,
        bytes: report.bytes,
        fingerprint: table.fingerprint().to_string(),
        parquet_bytes,
        seconds: begun.elapsed().as_secs_f64(),
    };
    if json {
        return print_json(&verified);
    }
    let parquet = verified.parquet_bytes.map(|bytes| format!("; Parquet file sound, {bytes} bytes"));
    print_text(&format!(
        "{}: sound; {} rows, {} columns, {} sections, {} bytes checked in {:.2} s; fingerprint {}{}",
        verified.file,
        verified.rows,
        verified.columns,
        verified.sections,
        verified.bytes,
        verified.seconds,
        verified.fingerprint,
        parquet.unwrap_or_default()
    ))
}

/// Compares the Parquet file of a published version with its checksums. Returns its size.
fn check_parquet(store: &Path, table: &Table) -> Result<Option<u64>, Failure> {
    let Some(parquet) = ParquetFile::beside(store, table.fingerprint())? else { return Ok(None) };
    let parquet = Arc::new(parquet);
    let bar = progress::bar("verify: parquet", parquet.bytes(), "bytes");
    let outcome = parquet.check::<Infallible>(&mut |bytes| {
        bar.inc(bytes);
        Ok(())
    });
    bar.finish_and_clear();
    let Ok(sound) = outcome;
    sound.map_err(Failure::io(parquet.path(), "read as published"))?;
    Ok(Some(parquet.bytes()))
}

/// Compares the stored lengths of the export formats with those of this program's renderer.
fn check_lengths(table: &Table) -> Result<(), FormatError> {
    for format in [Format::Csv, Format::Json, Format::Ndjson] {
        let Some(kept) = stored_lengths(table, format) else { continue };
        let counted = count_lengths(table, format)?;
        let (found, expected) = (kept.total_bytes(), counted.total_bytes());
        if kept.chunk_rows() == counted.chunk_rows() && kept != counted {
            let place = Place::File(SectionKind::RenderedLengths);
            return Err(FormatError::Corrupt {
                place,
                what: "lengths of the rendered table",
                expected,
                found,
            });
        }
    }
    Ok(())
}
