//! Logical types, and what is known of a column before its values. Knows no byte of the file.

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
    /// The name in answers: `string`, `integer`, `number`, `boolean` or `datetime`.
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

/// What the values of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ColumnKind {
    /// UTF-8 text.
    Text,
    /// An integer that fits 128 bits.
    Integer,
    /// A scaled integer that fits 128 bits, printed with exactly `scale` digits after the point.
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
    Timestamp {
        /// The unit.
        unit: TimeUnit,
    },
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

    /// A word for messages and reports.
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

/// What is known of a column before its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnSpec {
    /// Name, kept byte for byte.
    pub name: String,
    /// What the values are.
    pub kind: ColumnKind,
    /// Whether a null may occur.
    pub nullable: bool,
    /// The type in the source, as text, for people: `INT64 (Decimal(15,2))`.
    pub source_type: String,
}
