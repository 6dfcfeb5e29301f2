//! Temporary Parquet files of texts: the rows of text inputs between reading and conversion.
//!
//! Does not depend on types of columns.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_schema::Schema;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use crate::failure::Failure;

/// Bytes of a page of a spilled column.
const PAGE_BYTES: usize = 256 * 1024;

/// A spilled file: some of the rows, in order.
pub struct SpilledFile {
    /// The file, which has no name.
    pub file: File,
    pub columns: Vec<String>,
    pub rows: u64,
    /// The input files of its rows, for messages.
    pub inputs: String,
}

/// The file into which batches are written.
pub(super) struct OpenFile {
    pub(super) writer: ArrowWriter<File>,
    pub(super) file: File,
    pub(super) columns: Vec<usize>,
    pub(super) rows: u64,
}

impl OpenFile {
    /// Creates a file without a name in the folder for spilled files.
    pub(super) fn create(
        directory: &Path,
        schema: Arc<Schema>,
        columns: Vec<usize>,
    ) -> Result<OpenFile, Failure> {
        let failed = |error| spill_failure(directory, error);
        let file = tempfile::tempfile_in(directory).map_err(failed)?;
        let copy = file.try_clone().map_err(failed)?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::LZ4_RAW)
            .set_dictionary_enabled(false)
            .set_statistics_enabled(parquet::file::properties::EnabledStatistics::None)
            .set_data_page_size_limit(PAGE_BYTES)
            .set_write_batch_size(64)
            .build();
        let writer = ArrowWriter::try_new(copy, schema, Some(properties))
            .map_err(|error| failed(std::io::Error::other(error)))?;
        Ok(OpenFile { writer, file, columns, rows: 0 })
    }
}

/// The failure of a write to a spilled file.
pub(super) fn spill_failure(directory: &Path, source: std::io::Error) -> Failure {
    Failure::io(directory, "spill rows of text to")(source)
}
