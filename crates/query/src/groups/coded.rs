//! A column as codes: unsigned integers that ascend as its values, or buckets of values, do. NaN comes after all values and
//! null after NaN, as in every order. Groups are formed of codes, and extremes, quantiles and distinct values found in them.

use mercato_format::order::{float_key, float_of, number_of};
use mercato_format::statistics::Stored;
use mercato_format::text::json_string_text;
use mercato_format::{ColumnData, ColumnKind, Dictionary, FormatError, Table};

use crate::groups::block::Block;
use crate::groups::bucket::Bucket;

/// An unsigned integer that holds the codes of a column.
pub(super) trait Code: Copy {
    fn of_u32(code: u32) -> Self;
    fn of_u128(code: u128) -> Self;
    /// This code and that of the next column, which has codes below `domain`, as one.
    fn with(self, domain: Self, next: Self) -> Self;
}

impl Code for u32 {
    #[inline]
    fn of_u32(code: u32) -> u32 {
        code
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "read only where all codes of a column are narrow")]
    fn of_u128(code: u128) -> u32 {
        code as u32
    }

    #[inline]
    fn with(self, domain: u32, next: u32) -> u32 {
        self.wrapping_mul(domain).wrapping_add(next)
    }
}

impl Code for u128 {
    #[inline]
    fn of_u32(code: u32) -> u128 {
        code.into()
    }

    #[inline]
    fn of_u128(code: u128) -> u128 {
        code
    }

    #[inline]
    fn with(self, domain: u128, next: u128) -> u128 {
        self.wrapping_mul(domain).wrapping_add(next)
    }
}

/// A value of a column.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    Null,
    /// An integer, a scaled decimal, days, time units, or 0 and 1 for a boolean.
    Integer(i128),
    Float(f64),
    Text(String),
}

/// A column, coded.
#[derive(Debug)]
pub(super) struct Coded<'t> {
    table: &'t Table,
    column: usize,
    data: ColumnData<'t>,
    is_float: bool,
    form: Form,
    /// Codes of values other than NaN. This is the code of NaN, and the next one that of null.
    values: u128,
}

#[derive(Debug)]
enum Form {
    /// Codes of a dictionary, or ranks of texts. Null has the last one, which is moved up by so many.
    Stored { null_step: u32 },
    /// Codes of a dictionary, through their buckets: the code of each entry, and the start of each bucket.
    Mapped { codes: Vec<u32>, starts: Vec<Cell> },
    /// Integers, or the numbers of their buckets, above the smallest one.
    Integers { smallest: i128, bucket: Option<Bucket> },
    /// Order keys of doubles, or of the starts of their buckets, above the smallest one.
    Floats { smallest: u64, bucket: Option<Bucket> },
}

/// Buffers of reading.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub(super) codes: Vec<u32>,
    pub(super) numbers: Vec<i64>,
    pub(super) wide: Vec<i128>,
}

impl<'t> Coded<'t> {
    /// A column, or its values by buckets. The caller has checked that the bucket fits the kind, and that texts have ranks.
    ///
    /// # Errors
    /// When the file is damaged.
    pub(super) fn new(
        table: &'t Table,
        column: usize,
        bucket: Option<Bucket>,
    ) -> Result<Coded<'t>, FormatError> {
        let damaged = || table.damaged(column);
        let data = table.column(column)?;
        let is_float = table.columns().get(column).is_some_and(|meta| meta.kind == ColumnKind::Float);
        let (form, values) = match (&data, bucket) {
            (ColumnData::Dictionary(dictionary), None) => stored(dictionary),
            (ColumnData::Dictionary(dictionary), Some(bucket)) => {
                mapped(dictionary, bucket, is_float).ok_or_else(damaged)?
            }
            (ColumnData::Texts(texts), _) => (Form::Stored { null_step: 1 }, texts.valid_ranks().into()),
            (ColumnData::Numbers(_), _) if is_float => floats(&data, bucket).ok_or_else(damaged)?,
            (ColumnData::Numbers(numbers), _) => {
                integers(&data, numbers.width, bucket).ok_or_else(damaged)?
            }
        };
        Ok(Coded { table, column, data, is_float, form, values })
    }

    /// Codes of values, NaN and null.
    pub(super) fn domain(&self) -> u128 {
        self.values.saturating_add(2)
    }

    pub(super) fn null_code(&self) -> u128 {
        self.values.saturating_add(1)
    }

    pub(super) fn nan_code(&self) -> u128 {
        self.values
    }

    pub(super) fn damaged(&self) -> FormatError {
        self.table.damaged(self.column)
    }

    /// The dictionary of the column, if it has one.
    pub(super) fn dictionary(&self) -> Option<&Dictionary<'t>> {
        if let ColumnData::Dictionary(dictionary) = &self.data { Some(dictionary) } else { None }
    }

    pub(super) fn column(&self) -> usize {
        self.column
    }

    pub(super) fn data(&self) -> &ColumnData<'t> {
        &self.data
    }

    /// The code of a dictionary's entry, or of null behind the last entry.
    #[inline]
    pub(super) fn code_of_entry(&self, entry: u32) -> Option<u32> {
        match &self.form {
            Form::Mapped { codes, .. } => codes.get(entry as usize).copied(),
            Form::Stored { null_step } => {
                let is_null = entry == self.dictionary()?.entries;
                Some(entry.saturating_add(if is_null { *null_step } else { 0 }))
            }
            _ => None,
        }
    }

    /// The code of a value as statistics hold it: a number, or a reference to a text.
    pub(super) fn code_of_stored(&self, stored: Stored) -> Option<u128> {
        let double = || u64::try_from(stored).ok().map(f64::from_bits);
        match (&self.form, &self.data) {
            (Form::Integers { smallest, .. }, _) => Some(stored.wrapping_sub(*smallest).cast_unsigned()),
            (Form::Floats { smallest, .. }, _) => float_key(double()?).checked_sub(*smallest).map(u128::from),
            (_, ColumnData::Texts(texts)) => texts.ranks?.get(usize::try_from(stored).ok()?).map(u128::from),
            (_, ColumnData::Dictionary(dictionary)) => {
                let entries: u32 = self.values.try_into().ok()?;
                let is_below = |entry: u32| match self.is_float {
                    true => Some(float_key(dictionary.float(entry)?) < float_key(double()?)),
                    // Texts refer to their entry.
                    false => Some(dictionary.integer(entry).unwrap_or(entry.into()) < stored),
                };
                let (mut low, mut high) = (0, entries);
                while low < high {
                    let middle = low.midpoint(high);
                    if is_below(middle)? { low = middle + 1 } else { high = middle }
                }
                (low < entries).then_some(low.into())
            }
            (_, ColumnData::Numbers(_)) => None,
        }
    }

    /// Replaces `out` by the codes of rows.
    ///
    /// # Errors
    /// When the file is damaged.
    pub(super) fn read<C: Code>(
        &self,
        block: &Block<'_>,
        scratch: &mut Scratch,
        out: &mut Vec<C>,
    ) -> Result<(), FormatError> {
        out.clear();
        self.codes(block, scratch, out).ok_or_else(|| self.damaged())
    }

    fn codes<C: Code>(&self, block: &Block<'_>, scratch: &mut Scratch, out: &mut Vec<C>) -> Option<()> {
        match (&self.form, &self.data) {
            (Form::Stored { null_step }, data) => {
                let (stored, null) = match data {
                    ColumnData::Dictionary(dictionary) => (dictionary.codes, dictionary.entries),
                    ColumnData::Texts(texts) => (texts.ranks?, texts.valid_ranks()),
                    ColumnData::Numbers(_) => return None,
                };
                block.codes(&stored, &mut scratch.codes)?;
                let code = |code: u32| C::of_u32(code + if code == null { *null_step } else { 0 });
                out.extend(scratch.codes.iter().map(|stored| code(*stored)));
            }
            (Form::Mapped { codes, .. }, ColumnData::Dictionary(dictionary)) => {
                block.codes(&dictionary.codes, &mut scratch.codes)?;
                for code in &scratch.codes {
                    out.push(C::of_u32(*codes.get(*code as usize)?));
                }
            }
            (Form::Floats { smallest, bucket }, ColumnData::Numbers(column)) => {
                block.numbers(&column.values, &mut scratch.numbers)?;
                let nan = self.nan_code();
                out.extend(scratch.numbers.iter().map(|bits| {
                    let value = f64::from_bits(bits.cast_unsigned());
                    let start = bucket.map_or(value, |bucket| bucket.float_start(value));
                    let code = u128::from(float_key(start).wrapping_sub(*smallest));
                    C::of_u128(if value.is_nan() { nan } else { code })
                }));
            }
            (Form::Integers { smallest, bucket }, ColumnData::Numbers(column)) if column.width == 16 => {
                block.wide_numbers(&column.values, &mut scratch.wide)?;
                out.extend(scratch.wide.iter().map(|value| {
                    let number = bucket.map_or(*value, |bucket| bucket.number(*value));
                    C::of_u128(number.wrapping_sub(*smallest).cast_unsigned())
                }));
            }
            (Form::Integers { smallest, bucket }, ColumnData::Numbers(column)) => {
                block.numbers(&column.values, &mut scratch.numbers)?;
                let smallest = i64::try_from(*smallest).ok()?;
                let code = |number: i64| C::of_u128(number.wrapping_sub(smallest).cast_unsigned().into());
                match bucket {
                    None => out.extend(scratch.numbers.iter().map(|value| code(*value))),
                    Some(bucket) => {
                        out.extend(scratch.numbers.iter().map(|value| code(bucket.narrow_number(*value))));
                    }
                }
            }
            _ => return None,
        }
        self.mark_nulls(block, out);
        Some(())
    }

    /// What stands behind a null of a column of numbers is arbitrary.
    fn mark_nulls<C: Code>(&self, block: &Block<'_>, out: &mut [C]) {
        let ColumnData::Numbers(column) = &self.data else { return };
        if column.validity().is_none() {
            return;
        }
        let null = C::of_u128(self.null_code());
        for (row, slot) in block.rows().zip(out) {
            if !column.is_valid(row) {
                *slot = null;
            }
        }
    }

    /// The value of a code; of a bucket its start.
    ///
    /// # Errors
    /// When the file is damaged.
    pub(super) fn cell(&self, code: u128) -> Result<Cell, FormatError> {
        if code >= self.null_code() {
            return Ok(Cell::Null);
        }
        if code == self.nan_code() {
            return Ok(Cell::Float(f64::NAN));
        }
        self.value(code).ok_or_else(|| self.damaged())
    }

    fn value(&self, code: u128) -> Option<Cell> {
        match &self.form {
            Form::Mapped { starts, .. } => starts.get(usize::try_from(code).ok()?).cloned(),
            Form::Integers { smallest, bucket } => {
                let number = smallest.wrapping_add(code.cast_signed());
                Some(Cell::Integer(bucket.map_or(number, |bucket| bucket.start(number))))
            }
            Form::Floats { smallest, .. } => {
                let key = smallest.checked_add(u64::try_from(code).ok()?)?;
                Some(Cell::Float(float_of(key)))
            }
            Form::Stored { .. } => {
                let code = u32::try_from(code).ok()?;
                match &self.data {
                    ColumnData::Dictionary(dictionary) => entry(dictionary, code, self.is_float),
                    ColumnData::Texts(texts) => {
                        let json = texts.json(texts.order().row_at(code)?)?;
                        text_cell(&json)
                    }
                    ColumnData::Numbers(_) => None,
                }
            }
        }
    }
}

fn text_cell(json: &[u8]) -> Option<Cell> {
    let text = json_string_text(json)?;
    Some(Cell::Text(String::from_utf8_lossy(&text).into_owned()))
}

fn entry(dictionary: &Dictionary<'_>, code: u32, is_float: bool) -> Option<Cell> {
    if is_float {
        // Both zeros are one value.
        return dictionary.float(code).map(|value| Cell::Float(value + 0.0));
    }
    match dictionary.integer(code) {
        Some(value) => Some(Cell::Integer(value)),
        None => text_cell(dictionary.json.get(code)?),
    }
}

/// Entries that are not NaN, which is the last one.
fn entries_before_nan(dictionary: &Dictionary<'_>) -> u32 {
    let last = dictionary.entries.checked_sub(1).filter(|last| dictionary.value_is_nan(*last));
    last.unwrap_or(dictionary.entries)
}

fn stored(dictionary: &Dictionary<'_>) -> (Form, u128) {
    let values = entries_before_nan(dictionary);
    // With NaN, its code and that of null are where they should be.
    (Form::Stored { null_step: u32::from(values == dictionary.entries) }, values.into())
}

fn mapped(dictionary: &Dictionary<'_>, bucket: Bucket, is_float: bool) -> Option<(Form, u128)> {
    let values = entries_before_nan(dictionary);
    let (mut codes, mut starts): (Vec<u32>, Vec<Cell>) = (Vec::new(), Vec::new());
    for code in 0..values {
        let start = if is_float {
            Cell::Float(bucket.float_start(dictionary.float(code)?) + 0.0)
        } else {
            Cell::Integer(bucket.start(bucket.number(dictionary.integer(code)?)))
        };
        if starts.last() != Some(&start) {
            starts.push(start);
        }
        codes.push(u32::try_from(starts.len()).ok()?.saturating_sub(1));
    }
    let buckets = u32::try_from(starts.len()).ok()?;
    codes.extend((values..dictionary.entries).map(|_| buckets));
    codes.push(buckets + 1);
    Some((Form::Mapped { codes, starts }, buckets.into()))
}

fn integers(data: &ColumnData<'_>, width: u8, bucket: Option<Bucket>) -> Option<(Form, u128)> {
    let Some((smallest, largest)) = data.zones().extremes() else {
        return Some((Form::Integers { smallest: 0, bucket }, 0));
    };
    let number = |key: u128| {
        let value = number_of(key, width)?;
        Some(bucket.map_or(value, |bucket| bucket.number(value)))
    };
    let (smallest, largest) = (number(smallest)?, number(largest)?);
    let span = largest.wrapping_sub(smallest).cast_unsigned();
    Some((Form::Integers { smallest, bucket }, span.saturating_add(1)))
}

fn floats(data: &ColumnData<'_>, bucket: Option<Bucket>) -> Option<(Form, u128)> {
    let Some((smallest, largest)) = data.zones().extremes() else {
        return Some((Form::Floats { smallest: 0, bucket }, 0));
    };
    let start = |key: u128| {
        let key = u64::try_from(key).ok()?;
        Some(bucket.map_or(key, |bucket| float_key(bucket.float_start(float_of(key)))))
    };
    let (smallest, largest) = (start(smallest)?, start(largest)?);
    Some((Form::Floats { smallest, bucket }, u128::from(largest.checked_sub(smallest)?) + 1))
}
