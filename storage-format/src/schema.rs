//! Logical types, column kinds, and the specification of a column. Does not depend on file layouts.

/// The five types that the API names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LogicalType {
    /// UTF-8 text.
    String,
    /// An exact integer of any size.
    Integer,
    /// A double or an exact decimal.
    Number,
    /// True or false.
    Boolean,
    /// A date or a point in time.
    Datetime,
}

impl LogicalType {
    /// The name in responses: `string`, `integer`, `number`, `boolean` or `datetime`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            LogicalType::String => "string",
            LogicalType::Integer => "integer",
            LogicalType::Number => "number",
            LogicalType::Boolean => "boolean",
            LogicalType::Datetime => "datetime",
        }
    }
}

/// The unit in which a timestamp counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimeUnit {
    /// 1 s.
    Second,
    /// 1 ms.
    Millisecond,
    /// 1 µs.
    Microsecond,
    /// 1 ns.
    Nanosecond,
}

impl TimeUnit {
    /// Units in one second: 1, 1,000, 1,000,000 or 1,000,000,000.
    #[must_use]
    pub fn per_second(self) -> i64 {
        match self {
            TimeUnit::Second => 1,
            TimeUnit::Millisecond => 1_000,
            TimeUnit::Microsecond => 1_000_000,
            TimeUnit::Nanosecond => 1_000_000_000,
        }
    }

    /// Digits after the decimal point of a second: 0, 3, 6 or 9.
    #[must_use]
    pub fn digits(self) -> usize {
        match self {
            TimeUnit::Second => 0,
            TimeUnit::Millisecond => 3,
            TimeUnit::Microsecond => 6,
            TimeUnit::Nanosecond => 9,
        }
    }
}

/// The kind of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ColumnKind {
    /// UTF-8 text.
    Text,
    /// An integer that fits 128 bits.
    Integer,
    /// A scaled integer that fits 128 bits, with exactly `scale` digits after the point.
    Decimal {
        /// Digits in all, 1 to 76, as the source declares; the values themselves fit 128 bits.
        precision: u8,
        /// Digits after the point, 0 to 76.
        scale: u8,
    },
    /// An IEEE 754 double.
    Float,
    /// True or false.
    Boolean,
    /// Days since 1970-01-01 in the proleptic Gregorian calendar.
    Date,
    /// Units since 1970-01-01T00:00:00Z.
    Timestamp { unit: TimeUnit },
}

impl ColumnKind {
    /// The API type of the column.
    #[must_use]
    pub fn logical(self) -> LogicalType {
        match self {
            ColumnKind::Text => LogicalType::String,
            ColumnKind::Integer => LogicalType::Integer,
            ColumnKind::Decimal { .. } | ColumnKind::Float => LogicalType::Number,
            ColumnKind::Boolean => LogicalType::Boolean,
            ColumnKind::Date | ColumnKind::Timestamp { .. } => LogicalType::Datetime,
        }
    }

    /// The name in messages and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ColumnKind::Text => "text",
            ColumnKind::Integer => "integer",
            ColumnKind::Decimal { .. } => "decimal",
            ColumnKind::Float => "float",
            ColumnKind::Boolean => "boolean",
            ColumnKind::Date => "date",
            ColumnKind::Timestamp { .. } => "timestamp",
        }
    }
}

/// The specification of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnSpec {
    /// Name, kept byte for byte.
    pub name: String,
    /// The kind of the values.
    pub kind: ColumnKind,
    /// Whether nulls are allowed.
    pub nullable: bool,
    /// The type in the source, as text, for people: `INT64 (Decimal(15,2))`.
    pub source_type: String,
}
