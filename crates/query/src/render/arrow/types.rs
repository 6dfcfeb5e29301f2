//! The Arrow type of a column, decided by its record and, for numbers beyond 64 bits and far dates, by its smallest and
//! largest value. It is the same for every page, stream and download of a version.

use arrow_schema::{DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType, TimeUnit as ArrowUnit};
use mercato_format::order::number_of;
use mercato_format::{ColumnData, ColumnKind, ColumnMeta, Dictionary, FloatWidth, TimeUnit};

use crate::render::limits::{
    ARROW_DICTIONARIES_BYTES_MAX, ARROW_DICTIONARY_BYTES_MAX, ARROW_DICTIONARY_ENTRIES_MAX,
};

/// The zone of timestamps that are moments.
const UTC: &str = "UTC";
/// How the source type of a timestamp without zone ends (`INT64 (Timestamp(MICROS,local))`).
const LOCAL: &str = ",local))";
/// The smallest integer with more digits than `Decimal128` has.
const DECIMAL128_END: u128 = 10_u128.pow(DECIMAL128_MAX_PRECISION as u32);

/// The form of a column in Arrow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Keys into a dictionary of texts.
    Keys(KeyWidth),
    /// Texts as they are.
    Text,
    /// True or false.
    Boolean,
    /// Integers of 64 bits.
    Int64,
    /// Integers up to 2⁶⁴ − 1.
    UInt64,
    /// Exact decimals of up to 38 digits, and integers.
    Decimal128(u8, i8),
    /// Exact decimals of up to 76 digits, and integers.
    Decimal256(u8, i8),
    /// Floats of 16 and 32 bits. Few readers know halves, and a single holds each of them.
    Float32,
    /// Doubles.
    Float64,
    /// Days.
    Date32,
    /// Milliseconds of days, for dates beyond 32 bits.
    Date64,
    /// Units since 1970, in UTC or without a zone.
    Timestamp(TimeUnit, bool),
}

/// The width of the keys of a dictionary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyWidth {
    /// Up to 128 entries.
    One,
    /// Up to 32,768 entries.
    Two,
    /// More.
    Four,
}

/// How much the dictionaries of a stream may take.
pub(super) struct DictionaryRoom {
    rows_max: u64,
    bytes: usize,
}

impl DictionaryRoom {
    /// For a stream of at most so many rows.
    pub(super) fn new(rows_max: u64) -> DictionaryRoom {
        DictionaryRoom { rows_max, bytes: ARROW_DICTIONARIES_BYTES_MAX }
    }

    /// For a stream without dictionaries.
    pub(super) fn none() -> DictionaryRoom {
        DictionaryRoom { rows_max: 0, bytes: 0 }
    }

    /// Whether the dictionary is sent. Takes its room.
    fn takes(&mut self, dictionary: &Dictionary<'_>) -> bool {
        let bytes = dictionary.json.bytes().len();
        let fits = self.bytes > 0
            && dictionary.entries <= ARROW_DICTIONARY_ENTRIES_MAX
            && u64::from(dictionary.entries) <= self.rows_max
            && bytes <= ARROW_DICTIONARY_BYTES_MAX.min(self.bytes);
        if fits {
            self.bytes = self.bytes.saturating_sub(bytes);
        }
        fits
    }
}

impl Form {
    /// The form of a column; `None` when the file is damaged.
    pub(super) fn of(meta: &ColumnMeta, data: &ColumnData<'_>, room: &mut DictionaryRoom) -> Option<Form> {
        Some(match meta.kind {
            ColumnKind::Text => match data {
                ColumnData::Dictionary(dictionary) if room.takes(dictionary) => {
                    Form::Keys(KeyWidth::of(dictionary.entries))
                }
                _ => Form::Text,
            },
            ColumnKind::Boolean => Form::Boolean,
            ColumnKind::Float if meta.float_width() == FloatWidth::Double => Form::Float64,
            ColumnKind::Float => Form::Float32,
            ColumnKind::Integer if meta.number_width == 8 => Form::Int64,
            ColumnKind::Integer => wide_integer(extremes(data)?),
            ColumnKind::Decimal { precision, scale } => {
                // A scale above the precision is no decimal of Arrow.
                let (precision, signed) = (precision.max(scale), i8::try_from(scale).ok()?);
                if precision <= DECIMAL128_MAX_PRECISION {
                    Form::Decimal128(precision, signed)
                } else {
                    Form::Decimal256(precision.min(DECIMAL256_MAX_PRECISION), signed)
                }
            }
            ColumnKind::Date => match extremes(data)? {
                Some((smallest, largest)) if i32::try_from(smallest).and(i32::try_from(largest)).is_err() => {
                    Form::Date64
                }
                _ => Form::Date32,
            },
            ColumnKind::Timestamp { unit } => Form::Timestamp(unit, meta.source_type.ends_with(LOCAL)),
        })
    }

    /// The type that readers see.
    pub(super) fn data_type(self) -> DataType {
        match self {
            Form::Keys(_) => DataType::Dictionary(Box::new(self.key_type()), Box::new(DataType::Utf8)),
            Form::Text => DataType::Utf8,
            Form::Boolean => DataType::Boolean,
            Form::Int64 => DataType::Int64,
            Form::UInt64 => DataType::UInt64,
            Form::Decimal128(precision, scale) => DataType::Decimal128(precision, scale),
            Form::Decimal256(precision, scale) => DataType::Decimal256(precision, scale),
            Form::Float32 => DataType::Float32,
            Form::Float64 => DataType::Float64,
            Form::Date32 => DataType::Date32,
            Form::Date64 => DataType::Date64,
            Form::Timestamp(unit, is_local) => {
                DataType::Timestamp(arrow_unit(unit), (!is_local).then(|| UTC.into()))
            }
        }
    }

    /// The type of the values in a batch.
    pub(super) fn key_type(self) -> DataType {
        match self {
            Form::Keys(KeyWidth::One) => DataType::Int8,
            Form::Keys(KeyWidth::Two) => DataType::Int16,
            Form::Keys(KeyWidth::Four) => DataType::Int32,
            other => other.data_type(),
        }
    }

    /// Bytes of a value, with the offset of a text and without its bytes; the bits of validity count as one byte.
    pub(super) fn value_bytes(self) -> usize {
        let value = match self {
            Form::Boolean | Form::Keys(KeyWidth::One) => 1,
            Form::Keys(KeyWidth::Two) => 2,
            Form::Keys(KeyWidth::Four) | Form::Text | Form::Float32 | Form::Date32 => 4,
            Form::Int64 | Form::UInt64 | Form::Float64 | Form::Date64 | Form::Timestamp(..) => 8,
            Form::Decimal128(..) => 16,
            Form::Decimal256(..) => 32,
        };
        value + 1
    }
}

impl KeyWidth {
    fn of(entries: u32) -> KeyWidth {
        match entries {
            0..=0x80 => KeyWidth::One,
            0x81..=0x8000 => KeyWidth::Two,
            _ => KeyWidth::Four,
        }
    }
}

pub(super) const fn arrow_unit(unit: TimeUnit) -> ArrowUnit {
    match unit {
        TimeUnit::Second => ArrowUnit::Second,
        TimeUnit::Millisecond => ArrowUnit::Millisecond,
        TimeUnit::Microsecond => ArrowUnit::Microsecond,
        TimeUnit::Nanosecond => ArrowUnit::Nanosecond,
    }
}

/// The narrowest type that holds integers beyond 64 bits.
fn wide_integer(extremes: Option<(i128, i128)>) -> Form {
    let Some((smallest, largest)) = extremes else { return Form::Int64 };
    if smallest >= 0 && largest <= i128::from(u64::MAX) {
        return Form::UInt64;
    }
    if smallest.unsigned_abs().max(largest.unsigned_abs()) < DECIMAL128_END {
        return Form::Decimal128(DECIMAL128_MAX_PRECISION, 0);
    }
    Form::Decimal256(DECIMAL128_MAX_PRECISION + 1, 0)
}

/// The smallest and the largest value of a column of integers, `Some(None)` without values; `None` when the file is
/// damaged.
#[expect(clippy::option_option, reason = "a damaged file is another thing than a column without values")]
fn extremes(data: &ColumnData<'_>) -> Option<Option<(i128, i128)>> {
    match data {
        ColumnData::Dictionary(column) => match column.entries.checked_sub(1) {
            None => Some(None),
            Some(last) => Some(Some((column.integer(0)?, column.integer(last)?))),
        },
        ColumnData::Numbers(column) => match data.zones().extremes() {
            None => Some(None),
            Some((smallest, largest)) => {
                let value = |key: u128| number_of(key, column.width);
                Some(Some((value(smallest)?, value(largest)?)))
            }
        },
        ColumnData::Texts(_) => None,
    }
}
