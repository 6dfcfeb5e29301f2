//! One part of the rows of a conversion: a Parquet file, spilled texts, or a store file. Feeds the values of a column
//! into its builder, widened on the way. Does not depend on other parts.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::NullBuffer;
use mercato_format::{ColumnBuilder, ColumnKind, FormatError};

use crate::convert::dataset::store::StorePart;
use crate::convert::dataset::widen::{Shape, Step, exact_float, multiplied};
use crate::convert::inputs::partitions::{self, Partition};
use crate::convert::limits::BATCH_ROWS;
use crate::convert::plan::Plan;
use crate::convert::reader::{self, Batch};
use crate::convert::schema::flatten::OutputColumn;
use crate::convert::text::forms::ValueForms;
use crate::convert::text::parse::Parsed;
use crate::convert::values::feeder::{FeedError, Feeder};
use crate::convert::values::integers::integers_of;
use crate::failure::Failure;

/// Some of the rows, in order.
pub struct Part {
    pub values: PartValues,
    pub rows: u64,
    /// Columns out of the names of folders.
    pub partitions: Vec<Partition>,
    /// The files, for messages.
    pub name: String,
}

pub enum PartValues {
    Parquet(Box<ParquetPart>),
    Store(Box<StorePart>),
}

/// A Parquet file: an input, or spilled texts.
pub struct ParquetPart {
    pub plan: Plan,
    /// Memory of the reader of each column, bytes.
    pub reading_bytes: Vec<u64>,
    /// How the values are written, if its columns are texts that are parsed.
    pub texts: Option<Arc<ValueForms>>,
}

/// The origin of a column's values in one part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The part does not have the column.
    Missing,
    Column(u32),
    Partition(u32),
}

/// The destination of the values of a column.
pub struct Sink<'a> {
    pub builder: &'a mut ColumnBuilder,
    pub feeder: &'a mut Feeder,
    pub kind: ColumnKind,
    /// Receives the number of rows after each batch, and may end the conversion.
    pub progress: &'a mut dyn FnMut(u64) -> Result<(), Failure>,
    /// Makes a failure of an error at a row of the part.
    pub refuse: &'a dyn Fn(u64, FeedError) -> Failure,
}

impl Part {
    /// Feeds the part's values of a column. `batch_bytes` bounds a decoded batch.
    ///
    /// # Errors
    /// A refusal that names column and row, or a failure of the system.
    pub fn feed(
        &self,
        origin: Origin,
        shape: Option<&Shape>,
        batch_bytes: u64,
        sink: &mut Sink<'_>,
    ) -> Result<(), Failure> {
        let number = |number: u32| number as usize;
        let step = shape.map_or(Step::Keep, |shape| Step::between(shape, sink.kind));
        match (origin, &self.values) {
            (Origin::Missing, _) => self.repeat(sink, None, step),
            (Origin::Partition(partition), _) => {
                let value = self.partitions.get(number(partition)).and_then(|one| one.value.as_deref());
                self.repeat(sink, value, step)
            }
            (Origin::Column(column), PartValues::Parquet(part)) => {
                match part.plan.columns.get(number(column)) {
                    Some(column) => part.feed(column, shape, batch_bytes, sink),
                    None => Ok(()),
                }
            }
            (Origin::Column(column), PartValues::Store(part)) => part.feed(number(column), step, sink),
        }
    }

    /// One value for every row.
    fn repeat(&self, sink: &mut Sink<'_>, value: Option<&str>, step: Step) -> Result<(), Failure> {
        let mut done = 0;
        while done < self.rows {
            let count = (self.rows - done).min(BATCH_ROWS as u64);
            let rows = usize::try_from(count).unwrap_or(BATCH_ROWS);
            let fed = match (value, sink.kind) {
                (Some(value), ColumnKind::Text) => {
                    sink.builder.extend_texts(std::iter::repeat_n(Some(value), rows)).map_err(Into::into)
                }
                (Some(value), _) => match partitions::integer(value) {
                    Some(value) => {
                        let values = std::iter::repeat_n(Some(i128::from(value)), rows);
                        extend_integers(sink.builder, sink.kind, step, values.enumerate())
                    }
                    None => {
                        Err(FeedError::Value { row: 0, found: format!("`{value}` in the name of a folder") })
                    }
                },
                (None, _) => extend_nulls(sink.builder, sink.kind, rows).map_err(Into::into),
            };
            fed.map_err(|error| (sink.refuse)(done, error))?;
            done += count;
            (sink.progress)(count)?;
        }
        Ok(())
    }
}

impl ParquetPart {
    fn feed(
        &self,
        column: &OutputColumn,
        shape: Option<&Shape>,
        batch_bytes: u64,
        sink: &mut Sink<'_>,
    ) -> Result<(), Failure> {
        let own = column.shape();
        let shape = shape.unwrap_or(&own);
        let step = Step::between(shape, sink.kind);
        let texts = self.texts.as_deref().filter(|_| shape.kind != ColumnKind::Text);
        reader::read_column(&self.plan, column, batch_bytes, |batch| {
            let fed = match (step, texts) {
                (Step::Nulls, _) => {
                    extend_nulls(sink.builder, sink.kind, batch.array.len()).map_err(Into::into)
                }
                (step, Some(forms)) => parse_batch(batch, (forms, shape.kind), step, sink),
                (Step::Keep, None) => {
                    sink.feeder.feed(sink.builder, column, &batch.array, batch.nulls.as_ref())
                }
                (step, None) => widen_batch(batch, step, sink),
            };
            fed.map_err(|error| (sink.refuse)(batch.first_row, error))?;
            (sink.progress)(batch.array.len() as u64)
        })
    }
}

fn widen_batch(batch: &Batch, step: Step, sink: &mut Sink<'_>) -> Result<(), FeedError> {
    let values = integers_of(&batch.array, batch.nulls.as_ref())?;
    extend_integers(sink.builder, sink.kind, step, values.into_iter().enumerate())
}

/// Parses texts. Blanks alone are null in a column that is none of texts.
fn parse_batch(
    batch: &Batch,
    (forms, kind): (&ValueForms, ColumnKind),
    step: Step,
    sink: &mut Sink<'_>,
) -> Result<(), FeedError> {
    let texts = TextArray::of(&batch.array)?;
    let mut parsed = Vec::with_capacity(batch.array.len());
    for row in 0..batch.array.len() {
        let text = texts.get(row, batch.nulls.as_ref()).filter(|text| !text.trim_ascii().is_empty());
        let value = match text {
            None => None,
            Some(text) => {
                let refuse = || FeedError::Value { row, found: format!("`{text}`") };
                Some(forms.parse(kind, text).ok_or_else(refuse)?)
            }
        };
        parsed.push(value);
    }
    let integer = |value: &Option<Parsed>| match value {
        Some(Parsed::Integer(value)) => Some(*value),
        _ => None,
    };
    match kind {
        ColumnKind::Float => {
            let floats = parsed.iter().map(|value| match value {
                Some(Parsed::Float(value)) => Some(*value),
                _ => None,
            });
            Ok(sink.builder.extend_floats(floats)?)
        }
        ColumnKind::Boolean => {
            let booleans = parsed.iter().map(|value| match value {
                Some(Parsed::Boolean(value)) => Some(*value),
                _ => None,
            });
            Ok(sink.builder.extend_booleans(booleans)?)
        }
        _ => extend_integers(sink.builder, sink.kind, step, parsed.iter().map(integer).enumerate()),
    }
}

/// Appends integers after a step.
pub fn extend_integers(
    builder: &mut ColumnBuilder,
    kind: ColumnKind,
    step: Step,
    values: impl Iterator<Item = (usize, Option<i128>)>,
) -> Result<(), FeedError> {
    if step == Step::ToFloat || kind == ColumnKind::Float {
        let exact = values.map(|(row, value)| match value {
            None => Ok(None),
            Some(value) => exact_float(value).map(Some).ok_or_else(|| FeedError::Value {
                row,
                found: format!("{value}, which a double does not hold exactly"),
            }),
        });
        let floats = exact.collect::<Result<Vec<_>, _>>()?;
        return Ok(builder.extend_floats(floats.into_iter())?);
    }
    let factor = if let Step::Multiply(factor) = step { factor } else { 1 };
    let widened = values.map(|(row, value)| match value {
        None => Ok(None),
        Some(value) => multiplied(value, factor).map(Some).ok_or_else(|| FeedError::Value {
            row,
            found: format!("{value}, which does not fit after widening"),
        }),
    });
    let widened = widened.collect::<Result<Vec<_>, _>>()?;
    if matches!(kind, ColumnKind::Integer | ColumnKind::Decimal { .. }) {
        return Ok(builder.extend_wide(widened.into_iter())?);
    }
    let too_large = widened.iter().position(|value| value.is_some_and(|value| i64::try_from(value).is_err()));
    if let Some(row) = too_large {
        return Err(FeedError::Value { row, found: "a value beyond 64 bits of the joined unit".into() });
    }
    let narrow = widened.into_iter().map(|value| value.and_then(|value| i64::try_from(value).ok()));
    Ok(builder.extend_integers(narrow)?)
}

pub fn extend_nulls(builder: &mut ColumnBuilder, kind: ColumnKind, rows: usize) -> Result<(), FormatError> {
    match kind {
        ColumnKind::Text => builder.extend_texts(std::iter::repeat_n(None, rows)),
        ColumnKind::Float => builder.extend_floats(std::iter::repeat_n(None, rows)),
        ColumnKind::Boolean => builder.extend_booleans(std::iter::repeat_n(None, rows)),
        _ => builder.extend_integers(std::iter::repeat_n(None, rows)),
    }
}

/// Texts as the Parquet reader returns them.
enum TextArray<'a> {
    Plain(&'a arrow_array::StringArray),
    Keys(&'a arrow_array::DictionaryArray<arrow_array::types::Int32Type>),
}

impl<'a> TextArray<'a> {
    fn of(array: &'a ArrayRef) -> Result<TextArray<'a>, FeedError> {
        let plain = array.as_string_opt::<i32>().map(TextArray::Plain);
        let keys = || array.as_dictionary_opt().map(TextArray::Keys);
        plain.or_else(keys).ok_or_else(|| FeedError::Type(array.data_type().to_string()))
    }

    fn get(&self, row: usize, nulls: Option<&NullBuffer>) -> Option<&'a str> {
        if nulls.is_some_and(|nulls| nulls.is_null(row)) {
            return None;
        }
        match self {
            TextArray::Plain(texts) => Some(texts.value(row)),
            TextArray::Keys(keys) => {
                let entries = keys.values().as_string_opt::<i32>()?;
                keys.key(row).filter(|key| *key < entries.len()).map(|key| entries.value(key))
            }
        }
    }
}
