//! The 128-byte record of a column, with references to its names. FORMAT.md chapter "Column records" is normative.

use crate::error::{FormatError, Place, corrupt};
use crate::float_width::FloatWidth;
use crate::layout::{put, u32_at, u64_at};
use crate::limits::NAME_BYTES_MAX;
use crate::schema::{ColumnKind, TimeUnit};
use crate::section::SectionKind;

/// Bytes of a column record.
pub const COLUMN_RECORD_SIZE: usize = 128;

const NAME_OFFSET: usize = 0;
const SOURCE_TYPE_OFFSET: usize = NAME_OFFSET + 8;
const KIND_OFFSET: usize = SOURCE_TYPE_OFFSET + 8;
const UNIT_OFFSET: usize = KIND_OFFSET + 1;
const PRECISION_OFFSET: usize = UNIT_OFFSET + 1;
const SCALE_OFFSET: usize = PRECISION_OFFSET + 1;
const STORAGE_OFFSET: usize = SCALE_OFFSET + 1;
const ORDER_OFFSET: usize = STORAGE_OFFSET + 1;
const FLAGS_OFFSET: usize = ORDER_OFFSET + 1;
const NUMBER_WIDTH_OFFSET: usize = FLAGS_OFFSET + 1;
const NULL_COUNT_OFFSET: usize = NUMBER_WIDTH_OFFSET + 1;
const NAN_COUNT_OFFSET: usize = NULL_COUNT_OFFSET + 8;
const DISTINCT_OFFSET: usize = NAN_COUNT_OFFSET + 8;
const ENTRIES_OFFSET: usize = DISTINCT_OFFSET + 8;
const RESERVED_OFFSET: usize = ENTRIES_OFFSET + 4;

const _: () = assert!(RESERVED_OFFSET <= COLUMN_RECORD_SIZE);

const FLAG_NULLABLE: u8 = 1;
const FLAG_CSV_PLAIN: u8 = 2;
const DISTINCT_UNKNOWN: u64 = u64::MAX;

/// The storage of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Storage {
    /// A sorted dictionary, and a code for each row.
    Dictionary = 1,
    /// Numbers packed by zone.
    Numbers = 2,
    /// Concatenated texts.
    Texts = 3,
}

/// The sort index of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum SortIndex {
    /// No sort index.
    None = 0,
    /// The rows are sorted in file order.
    FileOrder = 1,
    /// A permutation of the rows.
    Permutation = 2,
    /// A list of rows for each code of the dictionary.
    Postings = 3,
}

impl SortIndex {
    /// The name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            SortIndex::None => "none",
            SortIndex::FileOrder => "file order",
            SortIndex::Permutation => "permutation",
            SortIndex::Postings => "posting lists",
        }
    }
}

/// The metadata of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnMeta {
    /// Name, byte for byte as in the source.
    pub name: String,
    /// The type in the source, for people.
    pub source_type: String,
    /// The kind of the values.
    pub kind: ColumnKind,
    /// Whether the source allows nulls.
    pub nullable: bool,
    /// The storage of the values.
    pub storage: Storage,
    pub sort_index: SortIndex,
    /// Bytes of a number before packing: 8, or 16 for wide integers; 0 for texts.
    pub number_width: u8,
    /// Whether no text needs quotes in CSV.
    pub csv_plain: bool,
    /// Rows without a value.
    pub null_count: u64,
    /// Rows with NaN.
    pub nan_count: u64,
    /// Number of distinct values, if known. All NaNs count as one.
    pub distinct: Option<u64>,
    /// Entries of the dictionary, 0 without one.
    pub entries: u32,
}

impl ColumnMeta {
    /// The width of the column's floats in the source.
    #[must_use]
    pub fn float_width(&self) -> FloatWidth {
        FloatWidth::of_source(&self.source_type)
    }

    /// Whether the column has 16-bit or 32-bit floats.
    #[must_use]
    pub fn is_narrow_float(&self) -> bool {
        self.kind == ColumnKind::Float && self.float_width() != FloatWidth::Double
    }

    /// Encodes the record, and appends its names to `strings`.
    pub(crate) fn encode(&self, strings: &mut Vec<u8>) -> [u8; COLUMN_RECORD_SIZE] {
        let mut out = [0u8; COLUMN_RECORD_SIZE];
        let mut text = |text: &str| {
            let at = u32::try_from(strings.len()).unwrap_or(u32::MAX);
            strings.extend_from_slice(text.as_bytes());
            let mut reference = [0u8; 8];
            put(&mut reference, 0, &at.to_le_bytes());
            put(&mut reference, 4, &u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes());
            reference
        };
        put(&mut out, NAME_OFFSET, &text(&self.name));
        put(&mut out, SOURCE_TYPE_OFFSET, &text(&self.source_type));
        let (kind, unit, precision, scale) = kind_codes(self.kind);
        let flags = (u8::from(self.nullable) * FLAG_NULLABLE) | (u8::from(self.csv_plain) * FLAG_CSV_PLAIN);
        let bytes = [
            kind,
            unit,
            precision,
            scale,
            self.storage as u8,
            self.sort_index as u8,
            flags,
            self.number_width,
        ];
        put(&mut out, KIND_OFFSET, &bytes);
        put(&mut out, NULL_COUNT_OFFSET, &self.null_count.to_le_bytes());
        put(&mut out, NAN_COUNT_OFFSET, &self.nan_count.to_le_bytes());
        put(&mut out, DISTINCT_OFFSET, &self.distinct.unwrap_or(DISTINCT_UNKNOWN).to_le_bytes());
        put(&mut out, ENTRIES_OFFSET, &self.entries.to_le_bytes());
        out
    }

    /// Reads and checks the record of column `column` of a table of `rows` rows.
    pub(crate) fn decode(
        bytes: &[u8],
        strings: &[u8],
        column: u32,
        rows: u64,
    ) -> Result<ColumnMeta, FormatError> {
        let place = Place::Column(SectionKind::Columns, column);
        let byte = |offset: usize| bytes.get(offset).copied().unwrap_or(0);
        let refuse = |what, found: u64| corrupt(place, what, 0, found);
        let codes = (byte(KIND_OFFSET), byte(UNIT_OFFSET), byte(PRECISION_OFFSET), byte(SCALE_OFFSET));
        let kind = kind_of(codes).ok_or_else(|| refuse("column kind", codes.0.into()))?;
        let storage =
            storage_of(byte(STORAGE_OFFSET)).ok_or_else(|| refuse("storage", byte(STORAGE_OFFSET).into()))?;
        let sort_index = sort_index_of(byte(ORDER_OFFSET))
            .ok_or_else(|| refuse("sort index", byte(ORDER_OFFSET).into()))?;
        let distinct = u64_at(bytes, DISTINCT_OFFSET);
        let meta = ColumnMeta {
            name: text_at(bytes, NAME_OFFSET, strings).ok_or_else(|| refuse("name", 0))?,
            source_type: text_at(bytes, SOURCE_TYPE_OFFSET, strings)
                .ok_or_else(|| refuse("source type", 0))?,
            kind,
            nullable: byte(FLAGS_OFFSET) & FLAG_NULLABLE != 0,
            storage,
            sort_index,
            number_width: byte(NUMBER_WIDTH_OFFSET),
            csv_plain: byte(FLAGS_OFFSET) & FLAG_CSV_PLAIN != 0,
            null_count: u64_at(bytes, NULL_COUNT_OFFSET),
            nan_count: u64_at(bytes, NAN_COUNT_OFFSET),
            distinct: (distinct != DISTINCT_UNKNOWN).then_some(distinct),
            entries: u32_at(bytes, ENTRIES_OFFSET),
        };
        let reserved = bytes.get(RESERVED_OFFSET..).unwrap_or_default();
        if byte(FLAGS_OFFSET) > (FLAG_NULLABLE | FLAG_CSV_PLAIN) || reserved.iter().any(|byte| *byte != 0) {
            return Err(refuse("reserved bits of its record", 1));
        }
        meta.check(place, rows)?;
        Ok(meta)
    }

    fn check(&self, place: Place, rows: u64) -> Result<(), FormatError> {
        let text = self.kind == ColumnKind::Text;
        let width_fits = match (self.storage, self.kind) {
            (Storage::Texts, _) => text && self.number_width == 0,
            (Storage::Numbers, ColumnKind::Text) => false,
            (Storage::Dictionary, ColumnKind::Text) => self.number_width == 0,
            (_, ColumnKind::Integer | ColumnKind::Decimal { .. }) => matches!(self.number_width, 8 | 16),
            _ => self.number_width == 8,
        };
        if !width_fits {
            return Err(corrupt(
                place,
                "number width for this kind and storage",
                8,
                self.number_width.into(),
            ));
        }
        if self.sort_index == SortIndex::Postings && self.storage != Storage::Dictionary {
            return Err(corrupt(place, "posting lists of a column without a dictionary", 0, 1));
        }
        if self.null_count > 0 && !self.nullable {
            return Err(corrupt(place, "nulls of a column without nulls", 0, self.null_count));
        }
        if self.csv_plain && self.kind != ColumnKind::Text {
            return Err(corrupt(place, "CSV flag of a column that holds no text", 0, 1));
        }
        if self.null_count > rows || self.nan_count > rows - self.null_count {
            return Err(corrupt(place, "null and NaN counts above the row count", rows, self.null_count));
        }
        if u64::from(self.entries) > rows {
            return Err(corrupt(place, "dictionary entries above the row count", rows, self.entries.into()));
        }
        Ok(())
    }
}

fn text_at(record: &[u8], offset: usize, strings: &[u8]) -> Option<String> {
    let (at, len) = (u32_at(record, offset) as usize, u32_at(record, offset + 4) as usize);
    let bytes = strings.get(at..at.checked_add(len)?)?;
    (len <= NAME_BYTES_MAX).then(|| String::from_utf8(bytes.to_vec()).ok())?
}

fn kind_codes(kind: ColumnKind) -> (u8, u8, u8, u8) {
    match kind {
        ColumnKind::Text => (1, 0, 0, 0),
        ColumnKind::Integer => (2, 0, 0, 0),
        ColumnKind::Decimal { precision, scale } => (3, 0, precision, scale),
        ColumnKind::Float => (4, 0, 0, 0),
        ColumnKind::Boolean => (5, 0, 0, 0),
        ColumnKind::Date => (6, 0, 0, 0),
        ColumnKind::Timestamp { unit: TimeUnit::Second } => (7, 0, 0, 0),
        ColumnKind::Timestamp { unit: TimeUnit::Millisecond } => (7, 3, 0, 0),
        ColumnKind::Timestamp { unit: TimeUnit::Microsecond } => (7, 6, 0, 0),
        ColumnKind::Timestamp { unit: TimeUnit::Nanosecond } => (7, 9, 0, 0),
    }
}

fn kind_of(codes: (u8, u8, u8, u8)) -> Option<ColumnKind> {
    Some(match codes {
        (1, 0, 0, 0) => ColumnKind::Text,
        (2, 0, 0, 0) => ColumnKind::Integer,
        (3, 0, precision @ 1..=76, scale @ 0..=76) => ColumnKind::Decimal { precision, scale },
        (4, 0, 0, 0) => ColumnKind::Float,
        (5, 0, 0, 0) => ColumnKind::Boolean,
        (6, 0, 0, 0) => ColumnKind::Date,
        (7, 0, 0, 0) => ColumnKind::Timestamp { unit: TimeUnit::Second },
        (7, 3, 0, 0) => ColumnKind::Timestamp { unit: TimeUnit::Millisecond },
        (7, 6, 0, 0) => ColumnKind::Timestamp { unit: TimeUnit::Microsecond },
        (7, 9, 0, 0) => ColumnKind::Timestamp { unit: TimeUnit::Nanosecond },
        _ => return None,
    })
}

fn storage_of(code: u8) -> Option<Storage> {
    [Storage::Dictionary, Storage::Numbers, Storage::Texts].into_iter().find(|storage| *storage as u8 == code)
}

fn sort_index_of(code: u8) -> Option<SortIndex> {
    [SortIndex::None, SortIndex::FileOrder, SortIndex::Permutation, SortIndex::Postings]
        .into_iter()
        .find(|index| *index as u8 == code)
}
