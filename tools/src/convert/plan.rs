//! The plan of a conversion: decides from the footer how each leaf is converted, and refuses unsupported files before
//! any value is read. Does not depend on values.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_schema::{Fields, Schema, TimeUnit};
use mercato_format::limits::{NAME_BYTES_MAX, ROWS_MAX, SOURCE_SCHEMA_BYTES_MAX};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::arrow::parquet_to_arrow_schema;
use parquet::basic::{Compression, Type as PhysicalType};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataOptions};
use parquet::schema::types::SchemaDescriptor;

use crate::convert::footer::{self, decode};
use crate::convert::int96;
use crate::convert::isolation::channel;
use crate::convert::schema::annotations::{empty_groups, without_annotations};
use crate::convert::schema::arrow_types::{Reading, adapt};
use crate::convert::schema::column_names::with_groups_above;
use crate::convert::schema::flatten::{self, Flattened, OutputColumn};
use crate::convert::schema::projection::schema_of;
use crate::convert::schema::variant::first_listed_variant;
use crate::convert::source::Source;
use crate::failure::Failure;
use crate::panic_guard::catch_panic;

/// Columns after flattening.
const COLUMNS_MAX: usize = 16_384;

pub struct Plan {
    pub source: Source,
    /// Rows of all row groups.
    pub row_count: u64,
    pub source_schema: String,
    /// The columns of the store file, in order.
    pub columns: Vec<OutputColumn>,
    /// Warnings for the operator, one sentence each.
    pub warnings: Vec<String>,
    /// The names to drop that the file has.
    pub matched_drops: HashSet<String>,
    plain: ArrowReaderMetadata,
    dictionary: ArrowReaderMetadata,
}

impl Plan {
    /// The footer: row groups and their column chunks.
    #[must_use]
    pub fn metadata(&self) -> &Arc<ParquetMetaData> {
        self.plain.metadata()
    }

    /// The metadata for the Arrow reader: texts as plain values or as dictionary keys.
    #[must_use]
    pub fn reading(&self, dictionary: bool) -> &ArrowReaderMetadata {
        if dictionary { &self.dictionary } else { &self.plain }
    }
}

/// Plans the conversion of a file without the columns and structs in `dropped`, which it need not have. INT96 timestamps get `timestamp_unit`, or
/// else the finest unit that fits each column. `check` may refuse the plan before any value is read.
///
/// # Errors
/// When the file is invalid or unsupported; the error names the footer, the row group or the column.
pub fn plan(
    source: Source,
    dropped: &HashSet<String>,
    timestamp_unit: Option<mercato_format::TimeUnit>,
    check: impl FnOnce(&Plan) -> Result<(), Failure>,
) -> Result<Plan, Failure> {
    let context = ErrorContext::of(&source);
    let footer = footer::read(&source, &context)?;
    let metadata = context.decode("Parquet footer", || decode(&footer, None))?;
    let row_count = row_count(&metadata, &context)?;
    let original = metadata.file_metadata().schema_descr_ptr();
    refuse_listed_variants(&original, dropped, &context)?;
    let source_schema = context.decode("Parquet schema", || {
        let mut text = Vec::new();
        parquet::schema::printer::print_schema(&mut text, original.root_schema());
        Ok(flatten::cut(String::from_utf8_lossy(&text).trim_end().to_owned(), SOURCE_SCHEMA_BYTES_MAX))
    })?;
    let empty = empty_groups(original.root_schema());
    check_empty_groups(&empty, dropped, &context)?;
    let metadata = Arc::new(bare_metadata(metadata, &footer, &original, dropped, &context)?);
    let schema = metadata.file_metadata().schema_descr_ptr();
    let fields = arrow_fields(&metadata, &schema, &context)?;
    let flattened = |reading: &ArrowReaderMetadata| {
        let mut flattened = flatten::flatten(reading.schema().fields(), &original, dropped);
        flattened.dropped.extend(empty.iter().filter(|name| dropped.contains(*name)).cloned());
        flattened
    };
    // Choosing INT96 units reads all their values, so every other check runs first.
    let outline = read_with(&metadata, &fields, Reading::Plain, &HashMap::new(), &context)?;
    let flat = flattened(&outline);
    let matched_drops = flat.dropped.clone();
    let columns = check_columns(flat, &context)?;
    check_codecs(&metadata, &columns, &context)?;
    let (warnings, dictionary) = (Vec::new(), outline.clone());
    let plan = Plan {
        source,
        row_count,
        source_schema,
        columns,
        warnings,
        matched_drops,
        plain: outline,
        dictionary,
    };
    check(&plan)?;
    let int96 = int96::units(&plan.source, &metadata, &fields, dropped, timestamp_unit, &context)?;
    let with = |reading| read_with(&metadata, &fields, reading, &int96.by_leaf, &context);
    let (plain, dictionary) = (with(Reading::Plain)?, with(Reading::Dictionary)?);
    let columns = check_columns(flattened(&plain), &context)?;
    Ok(Plan { columns, warnings: int96.warnings, plain, dictionary, ..plan })
}

/// Refuses VARIANT inside lists and maps, because its binary parts are of no use to readers.
fn refuse_listed_variants(
    schema: &SchemaDescriptor,
    drop: &HashSet<String>,
    context: &ErrorContext,
) -> Result<(), Failure> {
    let Some(name) = first_listed_variant(schema.root_schema(), drop) else { return Ok(()) };
    let remedy = format!(
        "turn it into JSON text in the source (in Spark: to_json({name})), or leave the column out with --drop {name}"
    );
    let (section, expected) = (format!("column `{name}`"), "a type that can be carried".to_owned());
    Err(context.refusal(&section, expected, "VARIANT in a list or map".to_owned(), &remedy))
}

fn row_count(metadata: &ParquetMetaData, context: &ErrorContext) -> Result<u64, Failure> {
    let groups = metadata.row_groups().iter().map(|group| u64::try_from(group.num_rows()).ok());
    let rows = groups.sum::<Option<u64>>();
    rows.filter(|rows| *rows <= ROWS_MAX).ok_or_else(|| {
        let found = rows.map_or_else(|| "a negative number".to_owned(), |rows| rows.to_string());
        let remedy = "split the file into several datasets";
        context.refusal("Parquet footer", format!("at most {ROWS_MAX} rows"), found, remedy)
    })
}

/// The Arrow fields of a file, without and with the embedded Arrow schema.
pub(super) struct FieldViews {
    /// From the Parquet schema only.
    pub(super) plain: Fields,
    /// With the embedded Arrow schema, if there is one that fits.
    pub(super) embedded: Option<Fields>,
}

fn arrow_fields(
    metadata: &ParquetMetaData,
    schema: &SchemaDescriptor,
    context: &ErrorContext,
) -> Result<FieldViews, Failure> {
    let plain = context.decode("Parquet schema", || parquet_to_arrow_schema(schema, None))?.fields;
    let embedded =
        catch_panic(|| parquet_to_arrow_schema(schema, metadata.file_metadata().key_value_metadata()));
    Ok(FieldViews { plain, embedded: embedded.ok().and_then(Result::ok).map(|schema| schema.fields) })
}

/// The reader metadata for one way of reading texts.
fn read_with(
    metadata: &Arc<ParquetMetaData>,
    fields: &FieldViews,
    reading: Reading,
    int96: &HashMap<usize, TimeUnit>,
    context: &ErrorContext,
) -> Result<ArrowReaderMetadata, Failure> {
    let schema = metadata.file_metadata().schema_descr();
    let adapted = adapt(&fields.plain, fields.embedded.as_ref(), schema, reading, int96);
    let options = ArrowReaderOptions::new().with_schema(Arc::new(Schema::new(adapted)));
    context.decode("Parquet schema", || ArrowReaderMetadata::try_new(Arc::clone(metadata), options))
}

/// The footer without the annotations that Arrow cannot read: intervals, which Arrow would truncate to days and
/// milliseconds, and everything below a dropped name, so that an unsupported type can be dropped.
fn bare_metadata(
    metadata: ParquetMetaData,
    footer: &[u8],
    original: &Arc<SchemaDescriptor>,
    drop: &HashSet<String>,
    context: &ErrorContext,
) -> Result<ParquetMetaData, Failure> {
    let intervals = original.columns().iter().any(|leaf| flatten::is_interval(leaf));
    if !intervals && drop.is_empty() {
        check_roots(original, context)?;
        return Ok(metadata);
    }
    let bare = context.decode("Parquet schema", || without_annotations(original.root_schema(), drop))?;
    let bare = Arc::new(SchemaDescriptor::new(bare));
    check_roots(&bare, context)?;
    context.decode("Parquet schema", || {
        let mut options = ParquetMetaDataOptions::new();
        options.set_schema(bare);
        decode(footer, Some(&options))
    })
}

/// Refuses groups without fields, which the operator has to drop explicitly.
fn check_empty_groups(
    empty: &[String],
    drop: &HashSet<String>,
    context: &ErrorContext,
) -> Result<(), Failure> {
    let is_dropped = |name: &str| with_groups_above(name).any(|name| drop.contains(name));
    let Some(name) = empty.iter().find(|name| !is_dropped(name)) else { return Ok(()) };
    let remedy = format!("leave it out with --drop {name}");
    Err(context.refusal(
        &format!("column `{name}`"),
        "a group with fields".into(),
        "one without".into(),
        &remedy,
    ))
}

/// Finds the column whose type the Arrow reader refuses, because the reader's message may not name it.
fn check_roots(schema: &SchemaDescriptor, context: &ErrorContext) -> Result<(), Failure> {
    if let Ok(Ok(_)) = catch_panic(|| parquet_to_arrow_schema(schema, None)) {
        return Ok(());
    }
    let message = schema.root_schema();
    for root in message.get_fields() {
        let read = || parquet_to_arrow_schema(&schema_of(message, Arc::clone(root))?, None);
        let reason = match catch_panic(read) {
            Ok(Ok(_)) => continue,
            Ok(Err(error)) => error.to_string(),
            Err(panic) => panic,
        };
        let section = format!("column `{}`", root.name());
        let remedy = format!("leave the column out with --drop {}", root.name());
        return Err(context.refusal(&section, "a type that can be carried".into(), reason, &remedy));
    }
    Ok(())
}

fn check_columns(flattened: Flattened, context: &ErrorContext) -> Result<Vec<OutputColumn>, Failure> {
    let Flattened { columns, dropped: _, impossible } = flattened;
    if let Some((name, source_type)) = impossible.into_iter().next() {
        let remedy = format!("leave the column out with --drop {name}");
        return Err(context.refusal(
            &format!("column `{name}`"),
            "a type that can be carried".into(),
            source_type,
            &remedy,
        ));
    }
    if columns.is_empty() || columns.len() > COLUMNS_MAX {
        let expected = format!("1 to {COLUMNS_MAX} columns");
        return Err(context.refusal(
            "Parquet schema",
            expected,
            format!("{}", columns.len()),
            "drop some with --drop",
        ));
    }
    if let Some(long) = columns.iter().find(|column| column.spec.name.len() > NAME_BYTES_MAX) {
        let (name, length) = (flatten::cut(long.spec.name.clone(), 64), long.spec.name.len());
        let expected = format!("a name of at most {NAME_BYTES_MAX} bytes");
        let remedy = "rename it in the source, or leave it out with --drop and its whole name";
        return Err(context.refusal(
            &format!("column `{name}`"),
            expected,
            format!("{length} bytes"),
            remedy,
        ));
    }
    let mut seen = HashMap::with_capacity(columns.len());
    for column in &columns {
        if let Some(first) = seen.insert(column.spec.name.as_str(), &column.spec.source_type) {
            let (section, name) = (format!("column `{}`", column.spec.name), &column.spec.name);
            let found = format!("two, of types {first} and {}", column.spec.source_type);
            let remedy = format!("rename one in the source, or leave both out with --drop {name}");
            return Err(context.refusal(&section, "one column of this name".into(), found, &remedy));
        }
    }
    Ok(columns)
}

/// Refuses LZO by name: the library's words for it are those of damage.
fn check_codecs(
    metadata: &ParquetMetaData,
    columns: &[OutputColumn],
    context: &ErrorContext,
) -> Result<(), Failure> {
    for (number, group) in metadata.row_groups().iter().enumerate() {
        let is_lzo = |leaf: usize| {
            group.columns().get(leaf).is_some_and(|chunk| chunk.compression() == Compression::LZO)
        };
        let Some(column) = columns.iter().find(|column| column.leaves().any(is_lzo)) else { continue };
        let name = &column.spec.name;
        let section = format!("column `{name}`, row group {number}");
        let expected = "Snappy, gzip, Brotli, LZ4, Zstandard or no compression".to_owned();
        let remedy = format!(
            "write the file again with one of these (in Spark: option(\"compression\", \"zstd\")), or leave the column out with --drop {name}"
        );
        return Err(context.refusal(&section, expected, "LZO, which is not supported".to_owned(), &remedy));
    }
    Ok(())
}

/// Whether the leaf has INT96 values.
pub(super) fn is_int96(schema: &SchemaDescriptor, leaf: usize) -> bool {
    schema.column(leaf).physical_type() == PhysicalType::INT96
}

pub(super) const DAMAGED: &str = "the file is damaged: get it again from its source";

/// Adds the name of the file to errors.
#[derive(Clone, Debug)]
pub(super) struct ErrorContext {
    pub(super) file: String,
    source: Source,
}

impl ErrorContext {
    pub(super) fn of(source: &Source) -> ErrorContext {
        ErrorContext { file: source.path().display().to_string(), source: source.clone() }
    }

    pub(super) fn check_interrupted(&self) -> Result<(), Failure> {
        if self.source.is_cancelled() {
            return Err(Failure::Cancelled { file: self.file.clone() });
        }
        Ok(())
    }

    pub(super) fn refusal(&self, section: &str, expected: String, found: String, remedy: &str) -> Failure {
        Failure::refused(self.file.clone(), section, expected, found, remedy)
    }

    /// Runs a decoder of the Parquet library. Its error or panic becomes a `Failure`.
    pub(super) fn decode<T>(
        &self,
        section: &str,
        work: impl FnOnce() -> Result<T, ParquetError>,
    ) -> Result<T, Failure> {
        let reason = match channel::reading(&self.file, section, || catch_panic(work)) {
            Ok(Ok(value)) => return Ok(value),
            // After an interruption, errors of the decoder do not matter.
            _ if self.source.is_cancelled() => return Err(Failure::Cancelled { file: self.file.clone() }),
            Ok(Err(error)) => unwrapped(&error.to_string()),
            Err(panic) => format!("bytes that the decoder gave up on ({panic})"),
        };
        Err(self.refusal(section, "valid Parquet".into(), reason, DAMAGED))
    }
}

/// The library's words without the names of the errors around them.
fn unwrapped(error: &str) -> String {
    let mut error = error;
    while let Some(inside) =
        ["External: ", "Parquet argument error: "].iter().find_map(|name| error.strip_prefix(name))
    {
        error = inside;
    }
    error.to_owned()
}
