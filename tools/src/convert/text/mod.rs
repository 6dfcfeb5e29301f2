//! Inputs without types of their own: CSV, TSV, JSON and Excel. All rows are read once and spilled as columns of texts; the
//! types are known afterwards, from all rows. Does not depend on other formats.

pub mod advice;
pub mod bytes;
pub mod classify;
pub mod column;
pub mod csv;
pub mod dates;
pub mod encodings;
pub mod excel;
pub mod faults;
pub mod forms;
pub mod head;
pub mod infer;
pub mod moments;
pub mod parse;
pub mod read_csv;
pub mod read_json;
pub mod read_ndjson;
pub mod records;
pub mod rows;
mod spill;
mod workbook;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use indicatif::ProgressBar;
use mercato_catalog::{ColumnType, SourceOptions};
use mercato_format::ColumnKind;

use crate::convert::dataset::widen::{Shape, TextForm};
use crate::convert::inputs::{InputFile, InputFormat};
use crate::convert::limits::{RECORD_BYTES_MAX, RECORD_SHARE};
use crate::convert::schema::flatten::cut;
use crate::failure::Failure;
use crate::interruption::Interruption;
use bytes::ByteSource;
use column::TextColumn;
use forms::ValueForms;
use infer::Spot;
use read_csv::Dialect;
use read_ndjson::Groups;
use rows::{RowSettings, Rows, SpilledFile};

/// Bytes of a name in a message.
const NAME_SHOWN_BYTES: usize = 64;

#[derive(Debug, Clone, Default)]
pub struct TextOptions {
    /// How the files are written.
    pub source: SourceOptions,
    /// Types that the operator typed, by column. Every name must be that of a column.
    pub types: HashMap<String, ColumnType>,
    /// Types that dataset.toml declares, by column.
    pub declared: HashMap<String, ColumnType>,
    /// Whether the operator is told of texts for null that no field has.
    pub checks_null_texts: bool,
    /// Whether only types and examples are wanted, and no rows are kept.
    pub is_preview: bool,
}

/// A column of the text inputs, with its type.
#[derive(Debug, Clone)]
pub struct TextShape {
    pub shape: Shape,
    /// Whether it has nulls.
    pub nullable: bool,
    /// The place of its first value, for messages.
    pub file: String,
}

#[derive(Debug)]
pub struct PreviewColumn {
    pub name: String,
    /// The type, or why it has none.
    pub shape: Result<TextShape, Failure>,
    pub nulls: u64,
    pub examples: Vec<String>,
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
    forms: Arc<ValueForms>,
    rows: Rows,
    groups: Groups,
    bar: ProgressBar,
    /// Whether fields had semicolons between them, as where commas are decimal marks.
    has_semicolons: bool,
    /// Bytes of all inputs read before, compressed and decompressed.
    taken_before: u64,
    given_before: u64,
}

impl TextReader {
    /// A reader that spills into `directory`. `hints` are the types of columns that other files have.
    pub fn new(
        options: &TextOptions,
        drop: &HashSet<String>,
        (directory, memory_limit): (PathBuf, u64),
        interruption: &Interruption,
        hints: HashMap<String, Shape>,
        bar: ProgressBar,
    ) -> Result<TextReader, Failure> {
        let mut types = options.types.clone();
        for (name, declared) in &options.declared {
            types.entry(name.clone()).or_insert(*declared);
        }
        for (name, shape) in &hints {
            if let Some(hint) = hint_of(shape.kind) {
                types.entry(name.clone()).or_insert(hint);
            }
        }
        let forms = Arc::new(ValueForms::new(&options.source)?);
        let settings = RowSettings {
            types,
            drop: drop.clone(),
            directory,
            memory_limit,
            forms: Arc::clone(&forms),
            null_texts: options.source.null_text.clone(),
            is_preview: options.is_preview,
        };
        Ok(TextReader {
            options: options.clone(),
            drop: drop.clone(),
            memory_limit,
            interruption: interruption.clone(),
            hints,
            forms,
            rows: Rows::new(settings),
            groups: Groups::new(),
            bar,
            has_semicolons: false,
            taken_before: 0,
            given_before: 0,
        })
    }

    /// Reads all rows of a file.
    ///
    /// # Errors
    /// A refusal that names file, line and column, or a failure of the system.
    pub fn read(&mut self, file: &InputFile) -> Result<(), Failure> {
        if file.format.has_types() && !self.forms.has_plain_numbers() {
            return Err(Failure::Usage(format!(
                "{}: --decimal and --thousands are for CSV, {} writes numbers in one way; convert the files one by one",
                file.name(),
                file.format.name()
            )));
        }
        let share = usize::try_from(self.memory_limit / RECORD_SHARE).unwrap_or(RECORD_BYTES_MAX);
        let record_bytes_max = share.min(RECORD_BYTES_MAX);
        let source_options = &self.options.source;
        if file.format == InputFormat::Excel {
            let options = excel::SheetOptions {
                sheet: source_options.sheet.as_deref(),
                skip_lines: source_options.skip_lines.unwrap_or(0),
                no_header: source_options.no_header,
                memory_limit: self.memory_limit,
                interruption: &self.interruption,
            };
            self.given_before += excel::read(file, &options, &mut self.rows)?;
            return Ok(());
        }
        let encoding = source_options.encoding;
        let source = ByteSource::open(file, encoding, self.memory_limit, &self.interruption)?;
        let (taken_before, given_before) = (self.taken_before, self.given_before);
        let (mut taken, mut given) = (0, 0);
        let progress = |source: &ByteSource| {
            (taken, given) = (source.taken_bytes(), source.given_bytes());
            self.bar.set_position(taken_before + taken);
        };
        match file.format {
            InputFormat::Ndjson => {
                read_ndjson::read(source, record_bytes_max, &mut self.rows, &mut self.groups, progress)?;
            }
            InputFormat::Json => {
                read_json::read(source, record_bytes_max, &mut self.rows, &mut self.groups, progress)?;
            }
            format => {
                let dialect = Dialect {
                    delimiter: source_options.delimiter,
                    usual_delimiter: if format == InputFormat::Tsv { b'\t' } else { b',' },
                    format: format.name(),
                    record_bytes_max,
                    drop: self.drop.clone(),
                    skip_lines: source_options.skip_lines.unwrap_or(0),
                    no_header: source_options.no_header,
                };
                self.has_semicolons |= read_csv::read(source, &dialect, &mut self.rows, progress)? == b';';
            }
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
    pub fn take_files(&mut self) -> Result<Vec<SpilledFile>, Failure> {
        self.rows.take_files()
    }

    /// The names to leave out that a column or group had.
    #[must_use]
    pub fn matched_drops(&self) -> &HashSet<String> {
        self.rows.matched_drops()
    }

    #[must_use]
    pub fn forms(&self) -> Arc<ValueForms> {
        Arc::clone(&self.forms)
    }

    #[must_use]
    pub fn row_count(&self) -> u64 {
        self.rows.count()
    }

    pub fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.rows.columns().map(|column| column.name.as_str())
    }

    /// The columns with their types, in the order of their first appearance.
    ///
    /// # Errors
    /// When a column mixes types; the error names file, line and column of a value.
    pub fn shapes(&self) -> Result<TextShapes, Failure> {
        let mut shapes = Vec::new();
        for column in self.rows.columns() {
            if let Some(shape) = self.shape_of(column)? {
                shapes.push((column.name.clone(), shape));
            }
        }
        Ok(shapes)
    }

    /// The columns for a preview, those with a fault among them.
    #[must_use]
    pub fn preview(&self) -> Vec<PreviewColumn> {
        let columns = self.rows.columns().filter_map(|column| {
            Some(PreviewColumn {
                name: column.name.clone(),
                shape: self.shape_of(column).transpose()?,
                nulls: column.inference.null_count(),
                examples: column.examples.clone(),
            })
        });
        columns.collect()
    }

    /// Warnings for the operator: columns that fell to text, columns without a name, options without an effect.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = self.rows.warnings().to_vec();
        if self.options.checks_null_texts && self.rows.count() > 0 {
            let unseen = self.rows.unseen_null_texts();
            warnings.extend(
                unseen.map(|text| {
                    format!("--null-text: no field is `{}`", cut(text.clone(), NAME_SHOWN_BYTES))
                }),
            );
        }
        let fallen = self.rows.columns().filter(|column| column.declared.is_none()).filter_map(|column| {
            let is_text = column.inference.resolve() == Ok(ColumnKind::Text);
            let found = column.inference.looks_like_values().filter(|_| is_text)?;
            Some(found.warning(&column.name))
        });
        warnings.extend(fallen);
        warnings
    }

    /// The type of a column; `None` for the name of a group that never has a value itself.
    fn shape_of(&self, column: &TextColumn) -> Result<Option<TextShape>, Failure> {
        if let Some(group) = self.groups.get(&column.name) {
            return match column.inference.first() {
                None => Ok(None),
                Some(spot) => Err(refuse_group(column, spot, group)),
            };
        }
        let doubtful = column.inference.ambiguous_thousands().filter(|_| {
            self.has_semicolons && column.declared.is_none() && self.options.source.decimal.is_none()
        });
        match doubtful.filter(|_| column.inference.resolve().is_ok_and(|kind| kind != ColumnKind::Text)) {
            Some(conflict) => Err(conflict.refuse(&column.name)),
            None => self.shape(column).map(Some),
        }
    }

    fn shape(&self, column: &TextColumn) -> Result<TextShape, Failure> {
        let inference = &column.inference;
        let kind = match column.declared {
            Some(ColumnType::Kind(kind)) => kind,
            Some(ColumnType::Datetime) => ColumnKind::Timestamp { unit: inference.time_unit() },
            None => inference.resolve().map_err(|conflict| conflict.refuse(&column.name))?,
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

fn refuse_group(column: &TextColumn, value: &Spot, group: &Spot) -> Failure {
    let name = cut(column.name.clone(), NAME_SHOWN_BYTES);
    let (first, second, expected, found) = if group.line <= value.line {
        (group, value, "an object", "another value")
    } else {
        (value, group, "a value that is no object", "an object")
    };
    Failure::refused(
        second.file.to_string(),
        second.section(&name),
        format!("{expected}, as on line {} of {}", first.line, first.file),
        found,
        format!("write one of both everywhere, or leave the column out with --drop {name}"),
    )
}
