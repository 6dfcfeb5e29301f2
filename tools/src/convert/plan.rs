//! Reads the footer of a Parquet file and decides what becomes of each leaf, before any value is read. Refuses
//! here whatever the footer alone condemns. Knows no value.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::datatypes::{Fields, Schema, TimeUnit};
use mercato_format::limits::{NAME_BYTES_MAX, SOURCE_SCHEMA_BYTES_MAX};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::arrow::parquet_to_arrow_schema;
use parquet::basic::Type as PhysicalType;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataOptions, ParquetMetaDataReader};
use parquet::schema::types::SchemaDescriptor;

use super::bare::{empty_groups, without_annotations};
use super::branch::schema_of;
use super::columns::{self, Flattened, OutputColumn};
use super::hints::{Reading, adapt};
use super::limits::COLUMNS_MAX;
use super::outline::with_groups_above;
use super::source::Source;
use super::variant::first_variant;
use super::{counts, footer, placement, range96};
use crate::failure::Failure;
use crate::guard::guarded;

/// What becomes of a Parquet file.
pub struct Plan {
    /// The file.
    pub source: Source,
    /// Rows of all row groups.
    pub row_count: u64,
    /// The message type as text.
    pub source_schema: String,
    /// The columns of the store file, in order.
    pub columns: Vec<OutputColumn>,
    /// What the operator should know of the outcome, a sentence each.
    pub warnings: Vec<String>,
    plain: ArrowReaderMetadata,
    dictionary: ArrowReaderMetadata,
}

impl Plan {
    /// Footer facts: row groups and their column chunks.
    #[must_use]
    pub fn metadata(&self) -> &Arc<ParquetMetaData> {
        self.plain.metadata()
    }

    /// What the Arrow reader needs to read texts plainly or as dictionary keys.
    #[must_use]
    pub fn reading(&self, dictionary: bool) -> &ArrowReaderMetadata {
        if dictionary { &self.dictionary } else { &self.plain }
    }
}

/// Plans the conversion of a file without the columns and structs named in `drop`, with INT96 in `timestamp_unit`, else in
/// the finest unit for each column. `check` may refuse the plan before any value is read.
///
/// # Errors
/// A refusal that names the footer, the row group or the column at fault.
pub fn plan(
    source: Source,
    drop: &[String],
    timestamp_unit: Option<mercato_format::TimeUnit>,
    check: impl FnOnce(&Plan) -> Result<(), Failure>,
) -> Result<Plan, Failure> {
    let footer = footer::read(&source)?;
    let refuse = Refusal::of(&source);
    let dropped: HashSet<String> = drop.iter().cloned().collect();
    let facts = refuse.decode("Parquet footer", || decode(&footer, None))?;
    let row_count = counts::check(&facts, source.byte_length(), &refuse)?;
    let original = facts.file_metadata().schema_descr_ptr();
    refuse_variants(&original, &dropped, &refuse)?;
    let source_schema = refuse.decode("Parquet schema", || {
        let mut text = Vec::new();
        parquet::schema::printer::print_schema(&mut text, original.root_schema());
        Ok(columns::cut(String::from_utf8_lossy(&text).trim_end().to_owned(), SOURCE_SCHEMA_BYTES_MAX))
    })?;
    let empty = empty_groups(original.root_schema());
    check_empty_groups(&empty, &dropped, &refuse)?;
    let facts = Arc::new(bare_metadata(facts, &footer, &original, &dropped, &refuse)?);
    let schema = facts.file_metadata().schema_descr_ptr();
    let fields = arrow_fields(&facts, &schema, &refuse)?;
    let flattened = |reading: &ArrowReaderMetadata| {
        let mut flattened = columns::flatten(reading.schema().fields(), &original, &dropped);
        flattened.dropped.extend(empty.iter().cloned());
        flattened
    };
    // The units of INT96 take a pass over the values; whatever can be refused is refused before.
    let outline = read_with(&facts, &fields, Reading::Plain, &HashMap::new(), &refuse)?;
    let columns = check_columns(flattened(&outline), drop, &refuse)?;
    let dictionary = outline.clone();
    let plan =
        Plan { source, row_count, source_schema, columns, warnings: Vec::new(), plain: outline, dictionary };
    check(&plan)?;
    let int96 = range96::units(&plan.source, &facts, &fields, &dropped, timestamp_unit, &refuse)?;
    let with = |reading| read_with(&facts, &fields, reading, &int96.by_leaf, &refuse);
    let (plain, dictionary) = (with(Reading::Plain)?, with(Reading::Dictionary)?);
    let columns = check_columns(flattened(&plain), drop, &refuse)?;
    Ok(Plan { columns, warnings: int96.warnings, plain, dictionary, ..plan })
}

/// Refuses a column of VARIANT values, whose two binary parts tell nobody anything.
fn refuse_variants(
    schema: &SchemaDescriptor,
    drop: &HashSet<String>,
    refuse: &Refusal,
) -> Result<(), Failure> {
    let Some(name) = first_variant(schema.root_schema(), drop) else { return Ok(()) };
    let remedy = format!(
        "turn it into JSON text in the source (in Spark: to_json({name})), or leave the column out with --drop {name}"
    );
    let (section, expected) = (format!("column `{name}`"), "a type that can be carried".to_owned());
    Err(refuse.because(&section, expected, "VARIANT".to_owned(), &remedy))
}

fn decode(
    footer: &[u8],
    options: Option<&ParquetMetaDataOptions>,
) -> parquet::errors::Result<ParquetMetaData> {
    placement::with_true_starts(ParquetMetaDataReader::decode_metadata_with_options(footer, options)?)
}

/// The two views of the fields: by Parquet alone, and with the Arrow schema that the writer embedded.
pub(super) struct FieldViews {
    /// By Parquet alone.
    pub(super) plain: Fields,
    /// With the embedded Arrow schema, when there is one that fits.
    pub(super) embedded: Option<Fields>,
}

fn arrow_fields(
    facts: &ParquetMetaData,
    schema: &SchemaDescriptor,
    refuse: &Refusal,
) -> Result<FieldViews, Failure> {
    let plain = refuse.decode("Parquet schema", || parquet_to_arrow_schema(schema, None))?.fields;
    let embedded = guarded(|| parquet_to_arrow_schema(schema, facts.file_metadata().key_value_metadata()));
    Ok(FieldViews { plain, embedded: embedded.ok().and_then(Result::ok).map(|schema| schema.fields) })
}

/// Reader metadata for one way of reading.
fn read_with(
    facts: &Arc<ParquetMetaData>,
    fields: &FieldViews,
    reading: Reading,
    int96: &HashMap<usize, TimeUnit>,
    refuse: &Refusal,
) -> Result<ArrowReaderMetadata, Failure> {
    let schema = facts.file_metadata().schema_descr();
    let adapted = adapt(&fields.plain, fields.embedded.as_ref(), schema, reading, int96);
    let options = ArrowReaderOptions::new().with_schema(Arc::new(Schema::new(adapted)));
    refuse.decode("Parquet schema", || ArrowReaderMetadata::try_new(Arc::clone(facts), options))
}

/// Footer facts with the annotations removed that Arrow cannot read: intervals, which it would cut to days and
/// milliseconds, and whatever lies under a dropped name, so that a type that nothing reads can be dropped.
fn bare_metadata(
    facts: ParquetMetaData,
    footer: &[u8],
    original: &Arc<SchemaDescriptor>,
    drop: &HashSet<String>,
    refuse: &Refusal,
) -> Result<ParquetMetaData, Failure> {
    let intervals = original.columns().iter().any(|leaf| columns::is_interval(leaf));
    if !intervals && drop.is_empty() {
        check_roots(original, refuse)?;
        return Ok(facts);
    }
    let bare = refuse.decode("Parquet schema", || without_annotations(original.root_schema(), drop))?;
    let bare = Arc::new(SchemaDescriptor::new(bare));
    check_roots(&bare, refuse)?;
    refuse.decode("Parquet schema", || {
        let mut options = ParquetMetaDataOptions::new();
        options.set_schema(bare);
        decode(footer, Some(&options))
    })
}

/// Groups without fields carry nothing; whether that is meant is not for the converter to say.
fn check_empty_groups(empty: &[String], drop: &HashSet<String>, refuse: &Refusal) -> Result<(), Failure> {
    let is_dropped = |name: &str| with_groups_above(name).any(|name| drop.contains(name));
    let Some(name) = empty.iter().find(|name| !is_dropped(name)) else { return Ok(()) };
    let remedy = format!("leave it out with --drop {name}");
    Err(refuse.because(
        &format!("column `{name}`"),
        "a group with fields".into(),
        "one without".into(),
        &remedy,
    ))
}

/// Finds the column whose type the Arrow reader refuses, since its own message may not name it.
fn check_roots(schema: &SchemaDescriptor, refuse: &Refusal) -> Result<(), Failure> {
    if let Ok(Ok(_)) = guarded(|| parquet_to_arrow_schema(schema, None)) {
        return Ok(());
    }
    let message = schema.root_schema();
    for root in message.get_fields() {
        let read = || parquet_to_arrow_schema(&schema_of(message, Arc::clone(root))?, None);
        let fault = match guarded(read) {
            Ok(Ok(_)) => continue,
            Ok(Err(error)) => error.to_string(),
            Err(panic) => panic,
        };
        let section = format!("column `{}`", root.name());
        let remedy = format!("leave the column out with --drop {}", root.name());
        return Err(refuse.because(&section, "a type that can be carried".into(), fault, &remedy));
    }
    Ok(())
}

fn check_columns(
    flattened: Flattened,
    drop: &[String],
    refuse: &Refusal,
) -> Result<Vec<OutputColumn>, Failure> {
    let Flattened { columns, dropped, impossible } = flattened;
    if let Some(unknown) = drop.iter().find(|name| !dropped.contains(*name)) {
        let names: Vec<_> = columns.iter().take(20).map(|column| column.spec.name.as_str()).collect();
        return Err(Failure::Usage(format!(
            "--drop {unknown}: {} has no such column; it has {}",
            refuse.file,
            names.join(", ")
        )));
    }
    if let Some((name, source_type)) = impossible.into_iter().next() {
        let remedy = format!("leave the column out with --drop {name}");
        return Err(refuse.because(
            &format!("column `{name}`"),
            "a type that can be carried".into(),
            source_type,
            &remedy,
        ));
    }
    if columns.is_empty() || columns.len() > COLUMNS_MAX {
        let expected = format!("1 to {COLUMNS_MAX} columns");
        return Err(refuse.because(
            "Parquet schema",
            expected,
            format!("{}", columns.len()),
            "drop some with --drop",
        ));
    }
    if let Some(long) = columns.iter().find(|column| column.spec.name.len() > NAME_BYTES_MAX) {
        let (name, length) = (columns::cut(long.spec.name.clone(), 64), long.spec.name.len());
        let expected = format!("a name of at most {NAME_BYTES_MAX} bytes");
        let remedy = "rename it in the source, or leave it out with --drop and its whole name";
        return Err(refuse.because(&format!("column `{name}`"), expected, format!("{length} bytes"), remedy));
    }
    let mut seen = HashMap::with_capacity(columns.len());
    for column in &columns {
        if let Some(first) = seen.insert(column.spec.name.as_str(), &column.spec.source_type) {
            let (section, name) = (format!("column `{}`", column.spec.name), &column.spec.name);
            let found = format!("two, of types {first} and {}", column.spec.source_type);
            let remedy = format!("rename one in the source, or leave both out with --drop {name}");
            return Err(refuse.because(&section, "one column of this name".into(), found, &remedy));
        }
    }
    Ok(columns)
}

/// Whether INT96 values are among the leaves.
pub(super) fn is_int96(schema: &SchemaDescriptor, leaf: usize) -> bool {
    schema.column(leaf).physical_type() == PhysicalType::INT96
}

pub(super) const DAMAGED: &str = "the file is damaged: get it again from its source";

/// Makes refusals that name the file.
#[derive(Clone, Debug)]
pub(super) struct Refusal {
    pub(super) file: String,
    source: Source,
}

impl Refusal {
    pub(super) fn of(source: &Source) -> Refusal {
        Refusal { file: source.path().display().to_string(), source: source.clone() }
    }

    /// An error once an end is requested.
    pub(super) fn go_on(&self) -> Result<(), Failure> {
        if self.source.is_cancelled() {
            return Err(Failure::Cancelled { file: self.file.clone() });
        }
        Ok(())
    }

    pub(super) fn because(&self, section: &str, expected: String, found: String, remedy: &str) -> Failure {
        Failure::Refused {
            file: self.file.clone(),
            section: section.to_owned(),
            expected,
            found,
            remedy: remedy.to_owned(),
        }
    }

    /// Runs a decoder of the Parquet library; what it says, or panics with, becomes a refusal.
    pub(super) fn decode<T>(
        &self,
        section: &str,
        work: impl FnOnce() -> Result<T, ParquetError>,
    ) -> Result<T, Failure> {
        let fault = match guarded(work) {
            Ok(Ok(value)) => return Ok(value),
            // What a decoder says of reads that a signal ended is of no interest.
            _ if self.source.is_cancelled() => return Err(Failure::Cancelled { file: self.file.clone() }),
            Ok(Err(error)) => error.to_string(),
            Err(panic) => format!("bytes that the decoder gave up on ({panic})"),
        };
        Err(self.because(section, "valid Parquet".into(), fault, DAMAGED))
    }
}
