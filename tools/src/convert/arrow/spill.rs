//! Spills record batches as Parquet, in slices that are bounded once they are unfolded. Does not depend on Arrow IPC.

use std::fs::File;
use std::io;
use std::path::PathBuf;

use arrow_array::RecordBatch;
use mercato_format::limits::ROWS_MAX;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};

use crate::convert::arrow::ArrowSettings;
use crate::convert::arrow::columns::Kept;
use crate::convert::arrow::{decimals, unfolded};
use crate::convert::limits::{BATCH_BYTES_MAX, BATCH_SHARE, DECODED_RATIO_FREE_BYTES, DECODED_RATIO_MAX};
use crate::convert::plan::ErrorContext;
use crate::failure::Failure;
use crate::panic_guard::catch_panic;

/// Rows that are written at once.
const SLICE_ROWS_MAX: usize = 65_536;
/// A slice, and the encoded pages that wait for their file, may take one part in this many of the memory.
const SLICE_SHARE: u64 = 32;
/// The largest slice under any memory limit, bytes.
const SLICE_BYTES_MAX: u64 = 32 * 1024 * 1024;
/// Bytes of a page of a spilled column.
const PAGE_BYTES: usize = 256 * 1024;

/// A Parquet file that is being written.
pub(super) struct Spill<'a> {
    writer: ArrowWriter<File>,
    file: File,
    directory: PathBuf,
    memory_limit: u64,
    context: &'a ErrorContext,
    rows: u64,
    bytes: u64,
}

impl<'a> Spill<'a> {
    /// A file without a name and without rows.
    pub(super) fn create(
        kept: &Kept,
        settings: &ArrowSettings<'_>,
        context: &'a ErrorContext,
    ) -> Result<Spill<'a>, Failure> {
        let directory = settings.directory.to_path_buf();
        let failed = Failure::io(&directory, "spill rows to");
        let file = tempfile::tempfile_in(&directory).and_then(|file| Ok((file.try_clone()?, file)));
        let (copy, file) = file.map_err(failed)?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::LZ4_RAW)
            .set_dictionary_enabled(false)
            .set_statistics_enabled(EnabledStatistics::None)
            .set_data_page_size_limit(PAGE_BYTES)
            .build();
        let writer = catch_panic(|| ArrowWriter::try_new(copy, kept.schema(), Some(properties)));
        let reason = match writer {
            Ok(Ok(writer)) => {
                let memory_limit = settings.memory_limit;
                return Ok(Spill { writer, file, directory, memory_limit, context, rows: 0, bytes: 0 });
            }
            Ok(Err(error)) => error.to_string(),
            Err(panic) => panic,
        };
        let remedy = "cast the column in the source, or leave it out with --drop";
        Err(context.refusal("schema", "types that can be carried".to_owned(), reason, remedy))
    }

    /// Writes the rows of a batch. `taken` bytes of the input were read so far.
    pub(super) fn write(&mut self, batch: &RecordBatch, taken: u64) -> Result<(), Failure> {
        decimals::check(batch, self.rows, self.context)?;
        let mut first = 0;
        while first < batch.num_rows() {
            self.context.check_interrupted()?;
            let rows = self.fitting(batch, first, taken)?;
            self.write_slice(&batch.slice(first, rows))?;
            first += rows;
        }
        Ok(())
    }

    /// The rows of the next slice: halved until they are within its bytes.
    fn fitting(&mut self, batch: &RecordBatch, first: usize, taken: u64) -> Result<usize, Failure> {
        let most = (self.memory_limit / SLICE_SHARE).min(SLICE_BYTES_MAX);
        let mut rows = (batch.num_rows() - first).min(SLICE_ROWS_MAX);
        let mut bytes = unfolded::bytes_of(batch, &(first..first + rows));
        while bytes > most && rows > 1 {
            rows /= 2;
            bytes = unfolded::bytes_of(batch, &(first..first + rows));
        }
        let row_max = (self.memory_limit / BATCH_SHARE).min(BATCH_BYTES_MAX);
        if bytes > row_max {
            let expected = format!("a row of at most {row_max} bytes under this --memory-limit");
            let remedy = "raise --memory-limit, or leave its long columns out with --drop";
            return Err(self.context.refusal(
                &format!("row {}", self.rows),
                expected,
                bytes.to_string(),
                remedy,
            ));
        }
        self.rows += rows as u64;
        self.bytes = self.bytes.saturating_add(bytes);
        let bound = DECODED_RATIO_FREE_BYTES.max(taken.saturating_mul(DECODED_RATIO_MAX));
        if self.bytes > bound {
            let expected = format!("at most {bound} bytes of values out of {taken}");
            let remedy =
                "the file expands like a decompression bomb; if it is genuine, split it or drop columns";
            return Err(self.context.refusal("values", expected, "more".to_owned(), remedy));
        }
        if self.rows > ROWS_MAX {
            let expected = format!("at most {ROWS_MAX} rows");
            return Err(self.context.refusal("rows", expected, "more".to_owned(), "split the file"));
        }
        Ok(rows)
    }

    fn write_slice(&mut self, slice: &RecordBatch) -> Result<(), Failure> {
        let memory = self.memory_limit;
        let writer = &mut self.writer;
        let written = catch_panic(|| -> Result<(), ParquetError> {
            writer.write(slice)?;
            let waiting = writer.in_progress_size() as u64;
            if waiting >= memory / SLICE_SHARE || writer.memory_size() as u64 >= memory / BATCH_SHARE {
                writer.flush()?;
            }
            Ok(())
        });
        let reason = match written {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(ParquetError::External(error))) => {
                return Err(Failure::io(&self.directory, "spill rows to")(io::Error::other(error)));
            }
            Ok(Err(error)) => error.to_string(),
            Err(panic) => panic,
        };
        let section = format!("rows up to {}", self.rows);
        let remedy = "correct the values in the source, or leave their column out with --drop";
        Err(self.context.refusal(&section, "values that can be carried".to_owned(), reason, remedy))
    }

    pub(super) fn finish(self) -> Result<File, Failure> {
        let failed = |error| Failure::io(&self.directory, "spill rows to")(io::Error::other(error));
        self.writer.close().map_err(failed)?;
        Ok(self.file)
    }
}
