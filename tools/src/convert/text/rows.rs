//! Collects the rows of text inputs as columns of texts, notes the possible types of each column, and spills batches into
//! temporary Parquet files. Does not depend on CSV or JSON.
//!
//! A batch goes into the present file unless it brings a new column; then a new file begins. So a column that appears
//! late costs one more file and no second pass.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::builder::{ArrayBuilder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use mercato_catalog::ColumnType;
use mercato_format::limits::{COLUMNS_MAX, NAME_BYTES_MAX};

use crate::convert::limits::VALUE_BYTES_MAX;
use crate::convert::schema::column_names::with_groups_above;
use crate::convert::schema::flatten::cut;
use crate::convert::text::classify::Class;
pub use crate::convert::text::column::RowError;
use crate::convert::text::column::TextColumn;
use crate::convert::text::forms::ValueForms;
use crate::convert::text::infer::{Inference, Spot};
use crate::convert::text::read_csv::numbered;
pub use crate::convert::text::spill::SpilledFile;
use crate::convert::text::spill::{OpenFile, spill_failure};
use crate::failure::Failure;

/// Rows of a batch.
const BATCH_ROWS_MAX: usize = 65_536;
/// A batch of texts, and the encoded pages that wait for their file, may take one part in this many of the memory.
const BATCH_SHARE: u64 = 32;
/// The largest batch under any memory limit, bytes.
const BATCH_BYTES_MAX: u64 = 32 * 1024 * 1024;
/// Memory of a column while its texts are collected and spilled, beside the texts themselves. Columns may take half of
/// the memory.
const COLUMN_BYTES: u64 = 16 * 1024;
/// Warnings of one conversion.
const WARNINGS_MAX: usize = 100;
/// Bytes of a name in a message.
const NAME_SHOWN_BYTES: usize = 64;

/// The settings of text inputs that do not depend on a file.
#[derive(Debug, Clone)]
pub struct RowSettings {
    pub types: HashMap<String, ColumnType>,
    pub drop: HashSet<String>,
    pub directory: PathBuf,
    /// Memory limit, bytes.
    pub memory_limit: u64,
    pub forms: Arc<ValueForms>,
    /// Texts that are null, besides the empty one.
    pub null_texts: Vec<String>,
    /// Whether only types and examples are wanted, and no rows are kept.
    pub is_preview: bool,
}

pub struct Rows {
    settings: RowSettings,
    columns: Vec<TextColumn>,
    by_name: HashMap<String, usize>,
    matched_drops: HashSet<String>,
    /// Rows and bytes of the batch in memory.
    batch_rows: usize,
    batch_bytes: u64,
    count: u64,
    open: Option<OpenFile>,
    inputs: Vec<String>,
    spilled: Vec<SpilledFile>,
    /// Which of the texts for null occurred.
    seen_null_texts: Vec<bool>,
    warnings: Vec<String>,
}

impl Rows {
    #[must_use]
    pub fn new(settings: RowSettings) -> Rows {
        Rows {
            seen_null_texts: vec![false; settings.null_texts.len()],
            warnings: Vec::new(),
            settings,
            columns: Vec::new(),
            by_name: HashMap::new(),
            matched_drops: HashSet::new(),
            batch_rows: 0,
            batch_bytes: 0,
            count: 0,
            open: None,
            inputs: Vec::new(),
            spilled: Vec::new(),
        }
    }

    #[must_use]
    pub fn forms(&self) -> &ValueForms {
        &self.settings.forms
    }

    /// Whether a text is one of those for null.
    pub fn is_null_text(&mut self, text: &str) -> bool {
        let found = self.settings.null_texts.iter().position(|null| null == text);
        if let Some(seen) = found.and_then(|number| self.seen_null_texts.get_mut(number)) {
            *seen = true;
        }
        found.is_some()
    }

    /// The texts for null that no field had.
    pub fn unseen_null_texts(&self) -> impl Iterator<Item = &String> {
        self.settings
            .null_texts
            .iter()
            .zip(&self.seen_null_texts)
            .filter(|(_, seen)| !**seen)
            .map(|(text, _)| text)
    }

    /// Gives a column without a name its number, and tells so.
    pub fn name_column(&mut self, file: &str, line: u64, number: usize) -> String {
        let name = numbered(number);
        self.warn(format!(
            "{file}: line {line}, column {number} has no name and is called `{name}`; --drop {name} leaves it out"
        ));
        name
    }

    /// Adds a warning for the operator, one sentence.
    pub fn warn(&mut self, warning: String) {
        if self.warnings.len() < WARNINGS_MAX {
            self.warnings.push(warning);
        }
    }

    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    pub fn begin_input(&mut self, name: &str) {
        self.inputs.push(name.to_owned());
    }

    /// The number of the column of this name, which is made when there is none.
    pub fn column(&mut self, name: &str, format: &'static str) -> Result<usize, RowError> {
        if let Some(number) = self.by_name.get(name) {
            return Ok(*number);
        }
        let fitting = usize::try_from(self.settings.memory_limit / 2 / COLUMN_BYTES).unwrap_or(COLUMNS_MAX);
        let columns_max = fitting.min(COLUMNS_MAX);
        if self.columns.len() == columns_max {
            return Err(RowError::Value {
                expected: format!("at most {columns_max} columns under this --memory-limit"),
                found: "more".into(),
                remedy: format!(
                    "turn names into values (one column for the name, one for the value), or raise --memory-limit; \
                     no file has more than {COLUMNS_MAX} columns"
                ),
            });
        }
        if name.len() > NAME_BYTES_MAX {
            return Err(RowError::Value {
                expected: format!("a name of at most {NAME_BYTES_MAX} bytes"),
                found: format!("{} bytes", name.len()),
                remedy: "shorten it in the source".into(),
            });
        }
        let matched: Vec<&str> =
            with_groups_above(name).filter(|name| self.settings.drop.contains(*name)).collect();
        self.matched_drops.extend(matched.iter().map(|name| (*name).to_owned()));
        let number = self.columns.len();
        self.columns.push(TextColumn {
            name: name.to_owned(),
            declared: self.settings.types.get(name).copied(),
            inference: Inference::default(),
            format,
            examples: Vec::new(),
            is_dropped: !matched.is_empty(),
            values: StringBuilder::with_capacity(0, 0),
        });
        self.by_name.insert(name.to_owned(), number);
        Ok(number)
    }

    /// Adds the value of a column in the present row; `None` is null.
    ///
    /// # Errors
    /// When the row has a value of this column already, or the value is too long or does not fit its declared type.
    pub fn push(
        &mut self,
        column: usize,
        value: Option<(Class, &str)>,
        is_typed: bool,
        at: impl Fn() -> Spot,
    ) -> Result<(), RowError> {
        let row = self.batch_rows;
        let Some(column) = self.columns.get_mut(column).filter(|column| !column.is_dropped) else {
            return Ok(());
        };
        if column.values.len() > row {
            return Err(RowError::Value {
                expected: "one value of a column in a row".into(),
                found: "two".into(),
                remedy: "rename one of them".into(),
            });
        }
        column.pad(row);
        let Some((class, text)) = value else {
            column.inference.note_nulls(1);
            column.values.append_null();
            return Ok(());
        };
        if text.len() > VALUE_BYTES_MAX {
            return Err(RowError::Value {
                expected: format!("a value of at most {VALUE_BYTES_MAX} bytes"),
                found: format!("{} bytes", text.len()),
                remedy: "shorten it, or leave the column out with --drop".into(),
            });
        }
        column.check_declared(&self.settings.forms, class, text)?;
        column.inference.note(class, text, is_typed, at);
        column.values.append_value(text);
        self.batch_bytes += text.len() as u64 + 8;
        Ok(())
    }

    /// Ends a row. Columns without a value in it are null.
    pub fn end_row(&mut self) -> Result<(), Failure> {
        self.batch_rows += 1;
        self.batch_bytes += 8;
        // Columns that are seldom present are padded at the end of a batch, so they count with all rows there.
        let padded = self.batch_rows.saturating_mul(self.columns.len()) as u64 * 5;
        if self.batch_rows == BATCH_ROWS_MAX || self.batch_bytes + padded >= self.batch_bytes_max() {
            self.flush()?;
        }
        Ok(())
    }

    fn batch_bytes_max(&self) -> u64 {
        (self.settings.memory_limit / BATCH_SHARE).min(BATCH_BYTES_MAX)
    }

    /// Writes the batch into the present file, or into a new one if it brings new columns.
    fn flush(&mut self) -> Result<(), Failure> {
        let rows = std::mem::take(&mut self.batch_rows);
        self.batch_bytes = 0;
        self.count += rows as u64;
        if rows == 0 {
            return Ok(());
        }
        if self.settings.is_preview {
            self.columns.iter_mut().for_each(|column| column.keep_examples(rows));
            return Ok(());
        }
        let wanted: Vec<usize> = (0..self.columns.len())
            .filter(|at| self.columns.get(*at).is_some_and(|c| !c.is_dropped))
            .collect();
        if wanted.is_empty() {
            return Ok(());
        }
        if self.open.as_ref().is_some_and(|open| open.columns.len() != wanted.len()) {
            self.close_file()?;
        }
        let mut arrays: Vec<(String, ArrayRef)> = Vec::with_capacity(wanted.len());
        for column in self.columns.iter_mut().filter(|column| !column.is_dropped) {
            column.pad(rows);
            arrays.push((column.name.clone(), Arc::new(column.values.finish())));
        }
        let fields = arrays.iter().map(|(name, _)| Field::new(name, DataType::Utf8, true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let directory = self.settings.directory.clone();
        let failed =
            |error: parquet::errors::ParquetError| spill_failure(&directory, std::io::Error::other(error));
        if self.open.is_none() {
            self.open = Some(OpenFile::create(&directory, Arc::clone(&schema), wanted)?);
        }
        let Some(open) = &mut self.open else { return Ok(()) };
        open.rows += rows as u64;
        let arrays = arrays.into_iter().map(|(_, array)| array).collect();
        let batch = RecordBatch::try_new(schema, arrays)
            .map_err(|error| spill_failure(&directory, std::io::Error::other(error)))?;
        open.writer.write(&batch).map_err(failed)?;
        if open.writer.in_progress_size() as u64 >= self.settings.memory_limit / BATCH_SHARE {
            open.writer.flush().map_err(failed)?;
        }
        Ok(())
    }

    fn close_file(&mut self) -> Result<(), Failure> {
        let Some(open) = self.open.take() else { return Ok(()) };
        let directory = &self.settings.directory;
        open.writer.close().map_err(|error| spill_failure(directory, std::io::Error::other(error)))?;
        let names = open.columns.iter().filter_map(|column| self.columns.get(*column));
        let columns = names.map(|column| column.name.clone()).collect();
        self.spilled.push(SpilledFile {
            file: open.file,
            columns,
            rows: open.rows,
            inputs: self.input_names(),
        });
        Ok(())
    }

    fn input_names(&self) -> String {
        match self.inputs.as_slice() {
            [] => String::new(),
            [only] => only.clone(),
            [first, others @ ..] => format!("{first} and {} more", others.len()),
        }
    }

    /// Ends the present file and returns all files since the last call. Rows that follow go into others.
    pub fn take_files(&mut self) -> Result<Vec<SpilledFile>, Failure> {
        self.flush()?;
        self.close_file()?;
        self.inputs.clear();
        Ok(std::mem::take(&mut self.spilled))
    }

    #[must_use]
    pub fn count(&self) -> u64 {
        self.count + self.batch_rows as u64
    }

    /// The columns, without those that are left out.
    pub fn columns(&self) -> impl Iterator<Item = &TextColumn> + Clone {
        self.columns.iter().filter(|column| !column.is_dropped)
    }

    /// The column of this name, unless it is left out.
    #[must_use]
    pub fn column_named(&self, name: &str) -> Option<&TextColumn> {
        self.columns.get(*self.by_name.get(name)?).filter(|column| !column.is_dropped)
    }

    /// The name of a column, for messages.
    #[must_use]
    pub fn shown_name(&self, column: usize) -> String {
        cut(self.columns.get(column).map(|column| column.name.clone()).unwrap_or_default(), NAME_SHOWN_BYTES)
    }

    /// The names to leave out that a column or a group had.
    #[must_use]
    pub fn matched_drops(&self) -> &HashSet<String> {
        &self.matched_drops
    }
}
