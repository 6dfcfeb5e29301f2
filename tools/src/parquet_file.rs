//! Writes the rows of a store file as Parquet: ZSTD, an index of pages, row groups of bounded rows and bytes. A file for
//! publication is read back and compared, value by value, before it counts as written.

use std::fmt::Display;
use std::fs::{self, File, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date64Type, TimestampMillisecondType, TimestampSecondType};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};
use indicatif::ProgressBar;
use mercato_catalog::Slug;
use mercato_format::Table;
use mercato_query::render::{ArrowEncoder, Labels};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ParquetRecordBatchReaderBuilder};
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, RowGroupMetaData};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use semver::Version;

use crate::convert::Conversion;
use crate::failure::Failure;
use crate::interruption::Interruption;
use crate::progress;

/// Rows of a row group at most.
const ROW_GROUP_ROWS_MAX: usize = 1_000_000;
/// Encoded bytes of a row group at most, which the writer keeps until the group is complete.
const ROW_GROUP_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// The part of the memory limit that a row group may take.
const ROW_GROUP_SHARE: u64 = 8;
/// Rows from which a batch takes as many as fit into its bytes.
const BATCH_ROWS: u32 = 65_536;
const MILLIS_PER_SECOND: i64 = 1_000;
/// The mode of published files, which never change.
const PUBLISHED_MODE: u32 = 0o444;

/// A store file to write as Parquet.
#[derive(Debug, Clone, Copy)]
pub struct ParquetJob<'a> {
    pub table: &'a Table,
    /// Where it lies, for messages.
    pub source: &'a Path,
    /// Dataset and version, for the metadata.
    pub labels: Labels<'a>,
    /// Memory limit of the publication, bytes. The writer takes a share of it.
    pub memory_limit: u64,
    /// Ends the work between two batches.
    pub interruption: &'a Interruption,
}

/// A batch as it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Written {
    rows: usize,
    /// Rows that fit into the bytes of a batch here.
    fitting: usize,
}

/// Writes the rows of a new store file as Parquet beside it, where the catalog looks for them. When that fails, the store file
/// is removed, as after every other failure of a publication.
pub fn write_beside(conversion: &Conversion, slug: &Slug, version: &Version) -> Result<(), Failure> {
    let source = conversion.output.as_path();
    let table = Table::open(source).map_err(Failure::store(source))?;
    // Parquet has no file without columns.
    if table.columns().is_empty() {
        return Ok(());
    }
    table.advise_sequential();
    let number = version.to_string();
    let labels = Labels { dataset: slug.as_str(), version: &number };
    let (memory_limit, interruption) = (conversion.memory_limit, &conversion.interruption);
    let job = ParquetJob { table: &table, source, labels, memory_limit, interruption };
    job.write_verified(&source.with_extension("parquet")).inspect_err(|_| drop(fs::remove_file(source)))
}

impl ParquetJob<'_> {
    /// Writes all rows to a new file, syncs it, and reads it back.
    ///
    /// # Errors
    /// When the store file is damaged, a value has no form in Parquet, the file cannot be written, it does not read back the
    /// same, or after an interruption. Then there is no file.
    pub fn write_verified(&self, path: &Path) -> Result<(), Failure> {
        let file = File::create_new(path).map_err(Failure::io(path, "create"))?;
        let written = file.try_clone().map_err(Failure::io(path, "write")).and_then(|copy| {
            let batches = self.write(copy, path)?;
            file.set_permissions(Permissions::from_mode(PUBLISHED_MODE))
                .map_err(Failure::io(path, "set the mode of"))?;
            file.sync_all().map_err(Failure::io(path, "sync"))?;
            self.verify(path, &batches)
        });
        written.inspect_err(|_| drop(fs::remove_file(path)))
    }

    /// Writes all rows as one file to `out`, which messages call `place`.
    pub fn export(&self, out: impl Write + Send, place: &Path) -> Result<(), Failure> {
        self.write(out, place).map(drop)
    }

    fn write(&self, out: impl Write + Send, place: &Path) -> Result<Vec<Written>, Failure> {
        let encoder = self.encoder()?;
        let schema = parquet_schema(encoder.schema());
        let failed = |error: ParquetError| not_written(place, &error);
        let properties = Some(self.properties());
        let mut writer = ArrowWriter::try_new(out, Arc::clone(&schema), properties).map_err(failed)?;
        let bar = self.bar("parquet");
        let batches =
            self.each_batch(&encoder, &schema, &bar, |batch| writer.write(&batch).map_err(failed))?;
        writer.close().map_err(failed)?;
        bar.finish_and_clear();
        Ok(batches)
    }

    fn encoder(&self) -> Result<ArrowEncoder<'_>, Failure> {
        ArrowEncoder::without_dictionaries(self.table, self.labels).map_err(Failure::store(self.source))
    }

    fn bar(&self, label: &str) -> ProgressBar {
        progress::bar(label, u64::from(self.table.row_count()), "rows")
    }

    fn properties(&self) -> WriterProperties {
        let share = (self.memory_limit / ROW_GROUP_SHARE).clamp(1, ROW_GROUP_BYTES_MAX);
        let named = [("dataset", self.labels.dataset), ("version", self.labels.version)];
        let named = named.into_iter().filter(|(_, text)| !text.is_empty());
        let metadata = named.map(|(name, text)| KeyValue::new(name.to_owned(), text.to_owned()));
        WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_statistics_enabled(EnabledStatistics::Page)
            .set_max_row_group_row_count(Some(ROW_GROUP_ROWS_MAX))
            .set_max_row_group_bytes(Some(usize::try_from(share).unwrap_or(usize::MAX)))
            .set_key_value_metadata(Some(metadata.collect()))
            .set_created_by(format!("mercato version {}", env!("CARGO_PKG_VERSION")))
            .build()
    }

    /// Calls `use_batch` with all rows of the table, in order. Returns the sizes of the batches.
    fn each_batch(
        &self,
        encoder: &ArrowEncoder<'_>,
        schema: &SchemaRef,
        bar: &ProgressBar,
        mut use_batch: impl FnMut(RecordBatch) -> Result<(), Failure>,
    ) -> Result<Vec<Written>, Failure> {
        let (mut first, mut rows, mut batches) = (0, Vec::new(), Vec::new());
        while first < self.table.row_count() {
            if self.interruption.is_requested() {
                return Err(Failure::Cancelled { file: self.source.display().to_string() });
            }
            rows.clear();
            rows.extend(first..self.table.row_count().min(first.saturating_add(BATCH_ROWS)));
            let batch = encoder.arrays(&rows).map_err(Failure::store(self.source))?;
            let count = batch.num_rows();
            let fitting = if count < rows.len() { count } else { BATCH_ROWS as usize };
            batches.push(Written { rows: count, fitting });
            first = first.saturating_add(u32::try_from(count).unwrap_or(BATCH_ROWS));
            let arrays = batch.columns().iter().map(in_parquet).collect::<Result<_, _>>();
            let batch = arrays.and_then(|arrays| RecordBatch::try_new(Arc::clone(schema), arrays));
            use_batch(batch.map_err(|error| not_expressed(self.source, &error))?)?;
            bar.inc(count as u64);
        }
        Ok(batches)
    }

    /// Reads the file back and compares every value.
    fn verify(&self, path: &Path, batches: &[Written]) -> Result<(), Failure> {
        let unread = |error: &dyn Display| not_written(path, &format!("it does not read back: {error}"));
        let file = File::open(path).map_err(Failure::io(path, "open"))?;
        let metadata =
            ArrowReaderMetadata::load(&file, Default::default()).map_err(|error| unread(&error))?;
        let groups = metadata.metadata().row_groups().iter().map(RowGroupMetaData::num_rows);
        let sizes = reading_sizes(batches, groups);
        let mut found = sizes.into_iter().enumerate().flat_map(|(group, size)| {
            let reader = file.try_clone().map_err(ParquetError::from).and_then(|file| {
                ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata.clone())
                    .with_row_groups(vec![group])
                    .with_batch_size(size)
                    .build()
            });
            let (reader, fault) = match reader {
                Ok(reader) => (Some(reader), None),
                Err(error) => (None, Some(Err(ArrowError::from(error)))),
            };
            fault.into_iter().chain(reader.into_iter().flatten())
        });
        let encoder = self.encoder()?;
        let schema = parquet_schema(encoder.schema());
        let bar = self.bar("parquet: compare");
        let mut rest: Option<RecordBatch> = None;
        self.each_batch(&encoder, &schema, &bar, |expected| {
            let mut expected = expected;
            while expected.num_rows() > 0 {
                let read = match rest.take().filter(|batch| batch.num_rows() > 0) {
                    Some(batch) => batch,
                    None => match found.next() {
                        Some(batch) => batch.map_err(|error| unread(&error))?,
                        None => return Err(unread(&"rows are missing")),
                    },
                };
                let count = read.num_rows().min(expected.num_rows());
                compare(&read.slice(0, count), &expected.slice(0, count)).map_err(|fault| unread(&fault))?;
                rest = Some(read.slice(count, read.num_rows() - count));
                expected = expected.slice(count, expected.num_rows() - count);
            }
            Ok(())
        })?;
        bar.finish_and_clear();
        let is_over = rest.is_none_or(|batch| batch.num_rows() == 0) && found.next().is_none();
        if is_over { Ok(()) } else { Err(unread(&"it has more rows")) }
    }
}

/// How many rows of each row group to read at once: as few as fitted into a batch anywhere in it, so that reading takes no
/// more memory than writing did.
fn reading_sizes(batches: &[Written], groups: impl Iterator<Item = i64>) -> Vec<usize> {
    let mut batches = batches.iter();
    let (mut left, mut fitting) = (0, BATCH_ROWS as usize);
    let of_group = |rows: i64| {
        let mut missing = usize::try_from(rows).unwrap_or(0);
        let mut smallest = BATCH_ROWS as usize;
        while missing > 0 {
            if left == 0 {
                let Some(batch) = batches.next() else { break };
                (left, fitting) = (batch.rows, batch.fitting);
            }
            smallest = smallest.min(fitting);
            let taken = left.min(missing);
            left -= taken;
            missing -= taken;
        }
        smallest.max(1)
    };
    groups.map(of_group).collect()
}

/// Compares two batches. Floats are the same when their bits are.
fn compare(found: &RecordBatch, expected: &RecordBatch) -> Result<(), String> {
    if found.schema().fields() != expected.schema().fields() {
        return Err(format!("it has other columns: {:?}", found.schema().fields()));
    }
    let columns = found.columns().iter().zip(expected.columns()).zip(expected.schema_ref().fields());
    for ((found, expected), field) in columns {
        if found.to_data() != expected.to_data() {
            return Err(format!("column `{}` has other values", field.name()));
        }
    }
    Ok(())
}

/// The schema without what Parquet has not: seconds become milliseconds, and far dates moments without a zone.
fn parquet_schema(schema: &SchemaRef) -> SchemaRef {
    let fields = schema.fields().iter().map(|field| {
        let millis = |zone| DataType::Timestamp(TimeUnit::Millisecond, zone);
        let other = match field.data_type() {
            DataType::Timestamp(TimeUnit::Second, zone) => millis(zone.clone()),
            DataType::Date64 => millis(None),
            _ => return Arc::clone(field),
        };
        Arc::new(Field::new(field.name(), other, field.is_nullable()))
    });
    Arc::new(Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone()))
}

fn in_parquet(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    match array.data_type() {
        DataType::Timestamp(TimeUnit::Second, zone) => {
            let seconds = array.as_primitive::<TimestampSecondType>();
            let millis = seconds.try_unary::<_, TimestampMillisecondType, ArrowError>(|value| {
                let too_far =
                    || ArrowError::ComputeError(format!("{value} s are more milliseconds than 64 bits hold"));
                value.checked_mul(MILLIS_PER_SECOND).ok_or_else(too_far)
            })?;
            Ok(Arc::new(millis.with_timezone_opt(zone.clone())))
        }
        DataType::Date64 => {
            Ok(Arc::new(array.as_primitive::<Date64Type>().reinterpret_cast::<TimestampMillisecondType>()))
        }
        _ => Ok(Arc::clone(array)),
    }
}

fn not_written(path: &Path, reason: &dyn Display) -> Failure {
    Failure::refused(
        path.display().to_string(),
        "parquet",
        "a complete Parquet file",
        reason.to_string(),
        "see to the disk, or leave the file out with `parquet = false` in dataset.toml",
    )
}

fn not_expressed(source: &Path, error: &ArrowError) -> Failure {
    Failure::refused(
        source.display().to_string(),
        "parquet",
        "values that Parquet can hold",
        error.to_string(),
        "leave the file out with `parquet = false` in dataset.toml",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_large_rows_in_small_batches() {
        let batch = |rows, fitting| Written { rows, fitting };
        let all = BATCH_ROWS as usize;
        let batches = [batch(10, 10), batch(4, 4), batch(10, 10), batch(3, all)];
        let sizes = |groups: &[i64]| reading_sizes(&batches, groups.iter().copied());
        assert_eq!(sizes(&[27]), [4]);
        assert_eq!(sizes(&[10, 4, 10, 3]), [10, 4, 10, all]);
        assert_eq!(sizes(&[11, 16]), [4, 4]);
        assert_eq!(sizes(&[5, 5, 17]), [10, 10, 4]);
        assert_eq!(reading_sizes(&[], [].into_iter()), [0; 0]);
    }

    #[test]
    fn comparison_sees_types_nulls_and_bits() {
        use arrow_array::{Float64Array, Int64Array};
        let batch =
            |name: &str, array: ArrayRef| RecordBatch::try_from_iter_with_nullable([(name, array, true)]);
        let floats = |value: f64| {
            batch("a", Arc::new(Float64Array::from(vec![Some(1.0), None, Some(value)]))).unwrap()
        };
        assert!(compare(&floats(f64::NAN), &floats(f64::NAN)).is_ok());
        assert!(compare(&floats(0.0), &floats(-0.0)).unwrap_err().contains("column `a`"));
        let integers = |name, second| batch(name, Arc::new(Int64Array::from(vec![Some(1), second]))).unwrap();
        assert!(compare(&integers("a", None), &integers("a", None)).is_ok());
        assert!(compare(&integers("a", None), &integers("a", Some(0))).is_err());
        assert!(compare(&integers("a", None), &integers("b", None)).is_err(), "another name");
    }
}
