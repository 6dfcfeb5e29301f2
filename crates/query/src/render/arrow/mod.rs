//! Rows as one Arrow IPC stream, straight from the columns: a schema, one dictionary for each column that has one, record
//! batches, and an end mark. Nothing passes through text, and buffers are not compressed.
//!
//! A record batch of the IPC format names no types and carries the keys of a dictionary column only. So batches are made
//! apart from each other, on any thread, and the dictionaries are sent once, with the schema. Does not depend on status
//! codes or sockets.

mod array;
mod column;
mod message;
mod texts;
mod types;

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema, SchemaRef};
use mercato_format::{FormatError, RowReader, Table};

use crate::render::BatchEncoder;
use crate::render::arrow::column::Column;
use crate::render::arrow::types::DictionaryRoom;
use crate::render::limits::{ARROW_BATCH_BYTES, ARROW_BATCH_ROWS_MAX};

/// The version of the encoding, which tags of downloads contain. Raise it whenever a byte changes.
pub const ARROW_VERSION: u32 = 1;

/// Metadata in the schema of a stream. Empty names are left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Labels<'a> {
    /// The dataset, metadata `dataset`.
    pub dataset: &'a str,
    /// The version of the dataset, metadata `version`.
    pub version: &'a str,
}

/// Encodes rows of some columns of a table as an Arrow IPC stream.
#[derive(Debug)]
pub struct ArrowEncoder<'t> {
    table: &'t Table,
    columns: Vec<Column<'t>>,
    /// The schema that readers see.
    schema: SchemaRef,
    /// The schema of batches: keys in the place of dictionaries.
    keys: SchemaRef,
    /// Bytes of a row without its plain texts.
    row_bytes: usize,
}

impl<'t> ArrowEncoder<'t> {
    /// An encoder for columns of a table, in their order, of at most `rows_max` rows: a dictionary with more entries
    /// than that is not worth sending.
    ///
    /// # Errors
    /// [`FormatError::Corrupt`] for a column that the table does not have.
    pub fn new(
        table: &'t Table,
        columns: &[usize],
        labels: Labels<'_>,
        rows_max: u64,
    ) -> Result<ArrowEncoder<'t>, FormatError> {
        Self::of(table, columns, labels, DictionaryRoom::new(rows_max))
    }

    fn of(
        table: &'t Table,
        columns: &[usize],
        labels: Labels<'_>,
        mut room: DictionaryRoom,
    ) -> Result<ArrowEncoder<'t>, FormatError> {
        let columns: Vec<Column<'t>> =
            columns.iter().map(|column| Column::new(table, *column, &mut room)).collect::<Result<_, _>>()?;
        let named = [("dataset", labels.dataset), ("version", labels.version)];
        let metadata: Vec<_> = named.into_iter().filter(|(_, text)| !text.is_empty()).collect();
        let fields = |of: fn(&Column<'t>) -> arrow_schema::Field| columns.iter().map(of).collect::<Vec<_>>();
        let schema = Schema::new(fields(Column::field))
            .with_metadata(metadata.into_iter().collect::<arrow_schema::Metadata>());
        let keys = Schema::new(fields(Column::key_field));
        let row_bytes = columns.iter().map(Column::row_bytes).sum();
        Ok(ArrowEncoder { table, columns, schema: Arc::new(schema), keys: Arc::new(keys), row_bytes })
    }

    /// An encoder for all columns without dictionaries: for files that compress repeated texts themselves, and for tables
    /// that are one of several pages.
    ///
    /// # Errors
    /// As [`ArrowEncoder::new`].
    pub fn without_dictionaries(
        table: &'t Table,
        labels: Labels<'_>,
    ) -> Result<ArrowEncoder<'t>, FormatError> {
        let columns: Vec<usize> = (0..table.columns().len()).collect();
        Self::of(table, &columns, labels, DictionaryRoom::none())
    }

    /// An encoder for exactly these rows: its dictionaries have only the entries that occur in them. The types are those
    /// of the whole table, so that pages fit together.
    ///
    /// # Errors
    /// As [`ArrowEncoder::new`], and when the store file is damaged.
    pub fn for_rows(
        table: &'t Table,
        columns: &[usize],
        labels: Labels<'_>,
        rows: &[u32],
    ) -> Result<ArrowEncoder<'t>, FormatError> {
        let mut encoder = Self::new(table, columns, labels, u64::MAX)?;
        for column in &mut encoder.columns {
            column.keep_entries_of(rows).ok_or_else(|| table.damaged(column.number()))?;
        }
        Ok(encoder)
    }

    /// Appends rows as a complete stream.
    ///
    /// # Errors
    /// [`FormatError::Corrupt`] or [`FormatError::LostPage`] when the store file is damaged.
    pub fn write(&self, rows: &[u32], out: &mut Vec<u8>) -> Result<(), FormatError> {
        self.begin(out)?;
        let mut rest = rows;
        while !rest.is_empty() {
            let done = self.batch(rest, 0, out)?;
            rest = rest.get(done..).unwrap_or_default();
        }
        self.end(out);
        Ok(())
    }

    /// The schema that readers see.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// As many of `rows` as fit as the arrays of one batch, at least one, if there is one; keys in the place of
    /// dictionaries.
    ///
    /// # Errors
    /// As [`BatchEncoder::begin`].
    pub fn arrays(&self, rows: &[u32]) -> Result<RecordBatch, FormatError> {
        let count = self.fitting(rows)?;
        let batch = self.record_batch(rows.get(..count).unwrap_or_default())?;
        self.table.check_intact()?;
        Ok(batch)
    }

    fn record_batch(&self, rows: &[u32]) -> Result<RecordBatch, FormatError> {
        let columns: Vec<usize> = self.columns.iter().map(Column::number).collect();
        let mut reader = RowReader::new(self.table, &columns)?;
        reader.read(rows)?;
        let arrays = self.columns.iter().enumerate().map(|(place, column)| {
            let array = reader.cells(place).and_then(|cells| column.array(cells));
            array.ok_or_else(|| self.table.damaged(column.number()))
        });
        let arrays = arrays.collect::<Result<_, _>>()?;
        message::batch_of(&self.keys, arrays, rows.len()).map_err(|error| self.failed(&error))
    }

    /// The rows of the next batch: halved until they are within the bytes of a batch. It depends on nothing but the table
    /// and the rows, so the same rows make the same batches.
    fn fitting(&self, rows: &[u32]) -> Result<usize, FormatError> {
        let widest = ARROW_BATCH_BYTES.checked_div(self.row_bytes).unwrap_or(ARROW_BATCH_ROWS_MAX);
        let mut count = rows.len().min(widest.clamp(1, ARROW_BATCH_ROWS_MAX));
        loop {
            let rows = rows.get(..count).unwrap_or_default();
            let mut bytes = self.row_bytes.saturating_mul(count);
            for column in &self.columns {
                let texts = column.text_bytes(rows).ok_or_else(|| self.table.damaged(column.number()))?;
                bytes = bytes.saturating_add(texts);
            }
            if count <= 1 || bytes <= ARROW_BATCH_BYTES {
                return Ok(count);
            }
            count /= 2;
        }
    }

    /// Arrays that do not fit their schema come from values that the file cannot have.
    fn failed(&self, error: &ArrowError) -> FormatError {
        let named = |column: &&Column<'_>| error.to_string().contains(column.name());
        self.table.damaged(self.columns.iter().find(named).map_or(0, Column::number))
    }
}

impl BatchEncoder for ArrowEncoder<'_> {
    fn rows_max(&self) -> usize {
        ARROW_BATCH_ROWS_MAX
    }

    /// Appends the schema and the dictionaries.
    fn begin(&self, out: &mut Vec<u8>) -> Result<(), FormatError> {
        let empty = self
            .columns
            .iter()
            .map(|column| column.dictionary().ok_or_else(|| self.table.damaged(column.number())));
        let empty = empty.collect::<Result<_, _>>()?;
        let batch = message::batch_of(&self.schema, empty, 0).map_err(|error| self.failed(&error))?;
        message::push_begin(&self.schema, &batch, out).map_err(|error| self.failed(&error))?;
        self.table.check_intact()
    }

    fn batch(&self, rows: &[u32], _: u64, out: &mut Vec<u8>) -> Result<usize, FormatError> {
        let count = self.fitting(rows)?;
        let batch = self.record_batch(rows.get(..count).unwrap_or_default())?;
        message::push_batch(&batch, out).map_err(|error| self.failed(&error))?;
        // Check last: rows gathered from lost pages are wrong too.
        self.table.check_intact()?;
        Ok(count)
    }

    fn end(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&message::END);
    }
}

/// Appends rows as a complete stream.
///
/// # Errors
/// [`FormatError::Corrupt`] or [`FormatError::LostPage`] when the store file is damaged.
pub fn render_arrow(
    table: &Table,
    columns: &[usize],
    rows: &[u32],
    labels: Labels<'_>,
    out: &mut Vec<u8>,
) -> Result<(), FormatError> {
    ArrowEncoder::for_rows(table, columns, labels, rows)?.write(rows, out)
}
