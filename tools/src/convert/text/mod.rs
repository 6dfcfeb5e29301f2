//! Text inputs: CSV, TSV and NDJSON. All rows are read once and spilled as columns of texts; the types are known
//! afterwards, from all rows. Does not depend on other formats.

pub mod bytes;
pub mod classify;
pub mod csv;
pub mod infer;
pub mod moments;
pub mod parse;
pub mod read_csv;
pub mod read_ndjson;
pub mod records;
pub mod rows;
mod spill;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use indicatif::ProgressBar;
use mercato::catalog::ColumnType;
use mercato_format::ColumnKind;

use crate::convert::dataset::widen::{Shape, TextForm};
use crate::convert::inputs::{InputFile, InputFormat};
use crate::convert::limits::{RECORD_BYTES_MAX, RECORD_SHARE};
use crate::convert::schema::flatten::cut;
use crate::failure::Failure;
use crate::interruption::Interruption;
use bytes::ByteSource;
use infer::{Conflict, Spot};
use read_csv::Dialect;
use read_ndjson::Groups;
use rows::{RowSettings, Rows, SpilledFile, TextColumn};

/// Bytes of a name in a message.
const NAME_SHOWN_BYTES: usize = 64;

/// The options of text inputs.
#[derive(Debug, Clone, Default)]
pub struct TextOptions {
    /// Between two fields of CSV. By default a comma, and a tab in TSV.
    pub delimiter: Option<u8>,
    /// Unquoted fields of CSV that are null, besides the empty one.
    pub null_texts: Vec<String>,
    /// Declared types by column.
    pub types: HashMap<String, ColumnType>,
}

/// A column of the text inputs, with its type.
#[derive(Debug, Clone)]
pub struct TextShape {
    /// The type.
    pub shape: Shape,
    /// Whether it has nulls.
    pub nullable: bool,
    /// The place of its first value, for messages.
    pub file: String,
}

/// The columns of text inputs by name, in the order of their first appearance.
pub type TextShapes = Vec<(String, TextShape)>;

/// Reads text inputs, one after the other.
pub struct TextReader {
    options: TextOptions,
    drop: HashSet<String>,
    memory_limit: u64,
    interruption: Interruption,
    hints: HashMap<String, Shape>,
    rows: Rows,
    groups: Groups,
    bar: ProgressBar,
    /// Bytes of all inputs read before, compressed and decompressed.
    taken_before: u64,
    given_before: u64,
}

impl TextReader {
    /// A reader that spills into `directory`. `hints` are the types of columns that other files have.
    #[must_use]
    pub fn new(
        options: &TextOptions,
        drop: &HashSet<String>,
        (directory, memory_limit): (PathBuf, u64),
        interruption: &Interruption,
        hints: HashMap<String, Shape>,
        bar: ProgressBar,
    ) -> TextReader {
        let mut types = options.types.clone();
        for (name, shape) in &hints {
            if let Some(hint) = hint_of(shape.kind) {
                types.entry(name.clone()).or_insert(hint);
            }
        }
        let settings = RowSettings { types, drop: drop.clone(), directory, memory_limit };
        TextReader {
            options: options.clone(),
            drop: drop.clone(),
            memory_limit,
            interruption: interruption.clone(),
            hints,
            rows: Rows::new(settings),
            groups: Groups::new(),
            bar,
            taken_before: 0,
            given_before: 0,
        }
    }

    /// Reads all rows of a file.
    ///
    /// # Errors
    /// A refusal that names file, line and column, or a failure of the system.
    pub fn read(&mut self, file: &InputFile) -> Result<(), Failure> {
        let source = ByteSource::open(file, self.memory_limit, &self.interruption)?;
        let share = usize::try_from(self.memory_limit / RECORD_SHARE).unwrap_or(RECORD_BYTES_MAX);
        let record_bytes_max = share.min(RECORD_BYTES_MAX);
        let (taken_before, given_before) = (self.taken_before, self.given_before);
        let (mut taken, mut given) = (0, 0);
        let progress = |source: &ByteSource| {
            (taken, given) = (source.taken_bytes(), source.given_bytes());
            self.bar.set_position(taken_before + taken);
        };
        if file.format == InputFormat::Ndjson {
            read_ndjson::read(source, record_bytes_max, &mut self.rows, &mut self.groups, progress)?;
        } else {
            let usual = if file.format == InputFormat::Tsv { b'\t' } else { b',' };
            let dialect = Dialect {
                delimiter: self.options.delimiter.unwrap_or(usual),
                null_texts: self.options.null_texts.clone(),
                format: file.format.name(),
                record_bytes_max,
                drop: self.drop.clone(),
            };
            read_csv::read(source, &dialect, &mut self.rows, progress)?;
        }
        (self.taken_before, self.given_before) = (taken_before + taken, given_before + given);
        Ok(())
    }

    /// Bytes of text read so far, decompressed.
    #[must_use]
    pub fn given_bytes(&self) -> u64 {
        self.given_before
    }

    /// The spilled files since the last call. Later rows go into others.
    ///
    /// # Errors
    /// When a batch cannot be spilled.
    pub fn take_files(&mut self) -> Result<Vec<SpilledFile>, Failure> {
        self.rows.take_files()
    }

    /// The names to leave out that a column or group had.
    #[must_use]
    pub fn matched_drops(&self) -> &HashSet<String> {
        self.rows.matched_drops()
    }

    /// The columns with their types, in the order of their first appearance.
    ///
    /// # Errors
    /// When a column mixes types; the error names file, line and column of a value.
    pub fn shapes(&self) -> Result<TextShapes, Failure> {
        let mut shapes = Vec::new();
        for column in self.rows.columns() {
            if let Some(group) = self.groups.get(&column.name) {
                match column.inference.first() {
                    None => continue,
                    Some(spot) => return Err(refuse_group(column, spot, group)),
                }
            }
            shapes.push((column.name.clone(), self.shape(column)?));
        }
        Ok(shapes)
    }

    fn shape(&self, column: &TextColumn) -> Result<TextShape, Failure> {
        let inference = &column.inference;
        let kind = match column.declared {
            Some(ColumnType::Kind(kind)) => kind,
            Some(ColumnType::Datetime) => ColumnKind::Timestamp { unit: inference.time_unit() },
            None => inference.resolve().map_err(|conflict| refuse(column, conflict))?,
        };
        let hint = self.hints.get(&column.name).filter(|hint| hint.kind == kind);
        let form = match (hint, kind) {
            (Some(hint), _) => hint.form,
            (None, ColumnKind::Text) if inference.is_all_null() && column.declared.is_none() => {
                TextForm::Null
            }
            (None, ColumnKind::Text) if inference.has_lists() => TextForm::Json,
            _ => TextForm::Plain,
        };
        let source_type = match (hint, form) {
            (Some(hint), _) => hint.source_type.clone(),
            (None, TextForm::Json) => format!("{} list", column.format),
            (None, _) => format!("{} {}", column.format, kind_name(kind)),
        };
        Ok(TextShape {
            shape: Shape { kind, form, source_type },
            nullable: inference.has_nulls(kind),
            file: inference.first().map_or_else(String::new, |spot| spot.file.to_string()),
        })
    }
}

/// The type that texts must have beside a column of another file. Integers, dates and floats are found in the values
/// first, and widened with the other file afterwards.
fn hint_of(kind: ColumnKind) -> Option<ColumnType> {
    match kind {
        ColumnKind::Integer | ColumnKind::Date => None,
        ColumnKind::Timestamp { .. } => Some(ColumnType::Datetime),
        // The scale counts; the precision of the other file is no bound for these values.
        ColumnKind::Decimal { scale, .. } => {
            Some(ColumnType::Kind(ColumnKind::Decimal { precision: 38, scale }))
        }
        ColumnKind::Text | ColumnKind::Float | ColumnKind::Boolean => Some(ColumnType::Kind(kind)),
    }
}

fn kind_name(kind: ColumnKind) -> String {
    match kind {
        ColumnKind::Decimal { precision, scale } => format!("decimal({precision},{scale})"),
        ColumnKind::Text => "string".into(),
        ColumnKind::Float => "number".into(),
        kind => kind.name().into(),
    }
}

fn refuse(column: &TextColumn, conflict: Conflict) -> Failure {
    let name = cut(column.name.clone(), NAME_SHOWN_BYTES);
    Failure::Refused {
        file: conflict.at.file.to_string(),
        section: section(&conflict.at, &name),
        expected: conflict.expected,
        found: conflict.found,
        remedy: format!(
            "correct the value, pass --null-text if it stands for null, or declare the column: `type = \"string\"` \
             under [columns.{name}] in dataset.toml, or --type {name}=string"
        ),
    }
}

fn section(at: &Spot, name: &str) -> String {
    match at.field {
        Some(field) => format!("line {}, column {field} (`{name}`)", at.line),
        None => format!("line {}, column `{name}`", at.line),
    }
}

fn refuse_group(column: &TextColumn, value: &Spot, group: &Spot) -> Failure {
    let name = cut(column.name.clone(), NAME_SHOWN_BYTES);
    let (first, second, expected, found) = if group.line <= value.line {
        (group, value, "an object", "another value")
    } else {
        (value, group, "a value that is no object", "an object")
    };
    Failure::Refused {
        file: second.file.to_string(),
        section: section(second, &name),
        expected: format!("{expected}, as on line {} of {}", first.line, first.file),
        found: found.into(),
        remedy: format!("write one of both everywhere, or leave the column out with --drop {name}"),
    }
}
