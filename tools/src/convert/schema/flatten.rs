//! Flattens the fields of a Parquet file into the columns of a store file: structs become dotted columns,
//! everything else one column. Knows no value and no byte.

use std::collections::HashSet;

use arrow::datatypes::{DataType, Field, Fields, TimeUnit as ArrowUnit};
use mercato_format::limits::NAME_BYTES_MAX;
use mercato_format::{ColumnKind, ColumnSpec, TimeUnit};
use parquet::basic::{ConvertedType, LogicalType, Type as PhysicalType};
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};

/// What Arrow's type of a leaf does not say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LeafTag {
    /// Nothing more.
    None,
    /// Sixteen bytes are a UUID.
    Uuid,
    /// Twelve bytes are months, days and milliseconds.
    Interval,
    /// A time of day in UTC, which goes round at midnight.
    UtcTime,
}

/// A column of the store file and where its values are in the Parquet file.
#[derive(Clone, Debug)]
pub struct OutputColumn {
    /// Name, kind, nullability and source type.
    pub spec: ColumnSpec,
    /// First Parquet leaf.
    pub first_leaf: usize,
    /// One tag for each leaf, in order.
    pub tags: Vec<LeafTag>,
    /// Its field's place among the fields of the file, or that of the struct above it, then its place in there, and so on.
    pub path: Vec<usize>,
    /// Whether the column is a list or a map, printed as JSON text.
    pub nested: bool,
}

impl OutputColumn {
    /// The Parquet leaves of the column.
    #[must_use]
    pub fn leaves(&self) -> std::ops::Range<usize> {
        self.first_leaf..self.first_leaf + self.tags.len()
    }

    /// Structs above the column; the reader unwraps that many.
    #[must_use]
    pub fn struct_depth(&self) -> usize {
        self.path.len().saturating_sub(1)
    }
}

/// The outcome of flattening.
#[derive(Debug, Default)]
pub struct Flattened {
    /// The columns that stay, in the order of the file.
    pub columns: Vec<OutputColumn>,
    /// The names of `--drop` that named a column or a struct.
    pub dropped: HashSet<String>,
    /// Columns with a type that no kind carries: name and type.
    pub impossible: Vec<(String, String)>,
}

/// Flattens all fields, leaving out those named in `drop` by the name of a column or of a struct above it.
#[must_use]
pub fn flatten(fields: &Fields, schema: &SchemaDescriptor, drop: &HashSet<String>) -> Flattened {
    let mut walk = Flattener { schema, drop, next_leaf: 0, flattened: Flattened::default() };
    walk.fields(fields, &Parents::default());
    walk.flattened
}

/// What a field inherits from the structs above it.
#[derive(Clone, Default)]
struct Parents {
    prefix: String,
    path: Vec<usize>,
    nullable: bool,
    dropped: bool,
}

struct Flattener<'a> {
    schema: &'a SchemaDescriptor,
    drop: &'a HashSet<String>,
    next_leaf: usize,
    flattened: Flattened,
}

impl Flattener<'_> {
    fn fields(&mut self, fields: &Fields, parents: &Parents) {
        for (place, field) in fields.iter().enumerate() {
            self.field(field, place, parents);
        }
    }

    fn field(&mut self, field: &Field, place: usize, parents: &Parents) {
        let name = format!("{}{}", parents.prefix, field.name());
        let named = self.drop.contains(&name);
        if named {
            self.flattened.dropped.insert(name.clone());
        }
        let dropped = named || parents.dropped;
        let nullable = parents.nullable || field.is_nullable();
        let path: Vec<usize> = parents.path.iter().copied().chain([place]).collect();
        match field.data_type() {
            DataType::Struct(children) if !children.is_empty() => {
                self.fields(children, &Parents { prefix: format!("{name}."), path, nullable, dropped });
            }
            data_type => {
                let first_leaf = self.next_leaf;
                let source_type = cut(self.describe(data_type), NAME_BYTES_MAX);
                if dropped {
                    return;
                }
                let tags = (first_leaf..self.next_leaf).map(|leaf| tag(&self.schema.column(leaf))).collect();
                match kind(data_type) {
                    Some(kind) => self.flattened.columns.push(OutputColumn {
                        spec: ColumnSpec { name, kind, nullable, source_type },
                        first_leaf,
                        tags,
                        path,
                        nested: matches!(data_type, DataType::List(_) | DataType::Map(..)),
                    }),
                    None => self.flattened.impossible.push((name, source_type)),
                }
            }
        }
    }

    /// The type as text for people; counts the leaves it passes.
    fn describe(&mut self, data_type: &DataType) -> String {
        match data_type {
            DataType::List(item) => format!("list<{}>", self.describe(item.data_type())),
            DataType::Map(entries, _) => match entries.data_type() {
                DataType::Struct(pair) => {
                    let sides: Vec<_> = pair.iter().map(|side| self.describe(side.data_type())).collect();
                    format!("map<{}>", sides.join(", "))
                }
                other => self.describe(other),
            },
            DataType::Struct(children) => {
                let children: Vec<_> = children
                    .iter()
                    .map(|child| format!("{}: {}", child.name(), self.describe(child.data_type())))
                    .collect();
                format!("struct<{}>", children.join(", "))
            }
            _ => {
                let leaf = self.schema.column(self.next_leaf);
                self.next_leaf += 1;
                leaf_type_text(&leaf)
            }
        }
    }
}

/// The text in at most `bytes_max` bytes; where it was longer it ends with `…`.
#[must_use]
pub fn cut(mut text: String, bytes_max: usize) -> String {
    const MARK: char = '…';
    if text.len() > bytes_max {
        text.truncate(text.floor_char_boundary(bytes_max - MARK.len_utf8()));
        text.push(MARK);
    }
    text
}

/// What a leaf's values become; nothing for a type that no kind carries.
fn kind(data_type: &DataType) -> Option<ColumnKind> {
    Some(match data_type {
        DataType::Boolean => ColumnKind::Boolean,
        DataType::Int8
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::UInt8
        | DataType::UInt16
        | DataType::UInt32
        | DataType::UInt64 => ColumnKind::Integer,
        DataType::Float16 | DataType::Float32 | DataType::Float64 => ColumnKind::Float,
        DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale) => {
            ColumnKind::Decimal { precision: *precision, scale: u8::try_from(*scale).ok()? }
        }
        DataType::Date32 | DataType::Date64 => ColumnKind::Date,
        DataType::Timestamp(unit, _) => ColumnKind::Timestamp { unit: time_unit(*unit) },
        DataType::Null
        | DataType::Utf8
        | DataType::Binary
        | DataType::FixedSizeBinary(_)
        | DataType::Time32(_)
        | DataType::Time64(_)
        | DataType::List(_)
        | DataType::Map(..) => ColumnKind::Text,
        _ => return None,
    })
}

/// Arrow's unit as the store's.
#[must_use]
pub fn time_unit(unit: ArrowUnit) -> TimeUnit {
    match unit {
        ArrowUnit::Second => TimeUnit::Second,
        ArrowUnit::Millisecond => TimeUnit::Millisecond,
        ArrowUnit::Microsecond => TimeUnit::Microsecond,
        ArrowUnit::Nanosecond => TimeUnit::Nanosecond,
    }
}

fn tag(leaf: &ColumnDescriptor) -> LeafTag {
    if leaf.logical_type_ref() == Some(&LogicalType::Uuid) {
        LeafTag::Uuid
    } else if is_interval(leaf) {
        LeafTag::Interval
    } else if is_utc_time(leaf) {
        LeafTag::UtcTime
    } else {
        LeafTag::None
    }
}

/// Whether a leaf is a TIME in UTC; the older annotation means that, too.
fn is_utc_time(leaf: &ColumnDescriptor) -> bool {
    match leaf.logical_type_ref() {
        Some(LogicalType::Time(time)) => time.is_adjusted_to_u_t_c,
        Some(_) => false,
        None => matches!(leaf.converted_type(), ConvertedType::TIME_MILLIS | ConvertedType::TIME_MICROS),
    }
}

/// Whether a leaf is an INTERVAL of twelve bytes.
#[must_use]
pub fn is_interval(leaf: &ColumnDescriptor) -> bool {
    leaf.converted_type() == ConvertedType::INTERVAL
        && leaf.physical_type() == PhysicalType::FIXED_LEN_BYTE_ARRAY
        && leaf.type_length() == 12
}

/// The type of a leaf as text: `INT64 (Decimal(15,2))`.
fn leaf_type_text(leaf: &ColumnDescriptor) -> String {
    let physical = match leaf.physical_type() {
        PhysicalType::FIXED_LEN_BYTE_ARRAY => format!("FIXED_LEN_BYTE_ARRAY({})", leaf.type_length()),
        other => other.to_string(),
    };
    match annotation(leaf) {
        Some(annotation) => format!("{physical} ({annotation})"),
        None => physical,
    }
}

fn annotation(leaf: &ColumnDescriptor) -> Option<String> {
    Some(match (leaf.logical_type_ref(), leaf.converted_type()) {
        (Some(LogicalType::Decimal(decimal)), _) => {
            format!("Decimal({},{})", decimal.precision, decimal.scale)
        }
        (Some(LogicalType::Integer(int)), _) => {
            format!("{}{}", if int.is_signed { "Int" } else { "UInt" }, int.bit_width)
        }
        (Some(LogicalType::Time(time)), _) => format!("Time({:?})", time.unit),
        (Some(LogicalType::Timestamp(stamp)), _) => {
            let zone = if stamp.is_adjusted_to_u_t_c { "UTC" } else { "local" };
            format!("Timestamp({:?},{zone})", stamp.unit)
        }
        (Some(other), _) => format!("{other:?}").chars().take_while(|c| c.is_alphanumeric()).collect(),
        (None, ConvertedType::NONE) => return None,
        (None, ConvertedType::DECIMAL) => format!("Decimal({},{})", leaf.type_precision(), leaf.type_scale()),
        (None, other) => other.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::cut;

    #[test]
    fn a_long_text_is_cut_between_characters_and_says_so() {
        assert_eq!(cut("abcdef".into(), 6), "abcdef");
        assert_eq!(cut("abcdefg".into(), 6), "abc…");
        assert_eq!(cut("abèèè".into(), 6), "ab…");
        assert_eq!(cut("èèèè".into(), 7), "èè…");
    }
}
