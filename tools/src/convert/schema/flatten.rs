//! Flattens the fields of a Parquet file into the columns of a store file. Each field of a struct becomes a column with
//! a dotted name; lists and maps become one column. Does not depend on values.

use std::collections::HashSet;

use arrow_schema::{DataType, Field, Fields, TimeUnit as ArrowUnit};
use mercato_format::limits::NAME_BYTES_MAX;
use mercato_format::{ColumnKind, ColumnSpec, TimeUnit};
use parquet::basic::{ConvertedType, LogicalType, Type as PhysicalType};
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};

use crate::convert::dataset::widen::{Shape, TextForm};
use crate::convert::schema::variant::variants;

/// The logical type of a leaf, where Arrow's type does not express it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LeafTag {
    None,
    /// UUID of sixteen bytes.
    Uuid,
    /// INTERVAL of twelve bytes: months, days, milliseconds.
    Interval,
    /// Time of day in UTC, which wraps at midnight.
    UtcTime,
}

/// A column of the store file, and the position of its values in the Parquet file.
#[derive(Clone, Debug)]
pub struct OutputColumn {
    /// Name, kind, nullability and source type.
    pub spec: ColumnSpec,
    pub first_leaf: usize,
    /// One tag for each leaf, in order.
    pub tags: Vec<LeafTag>,
    /// The index of the field at each level, from the root down.
    pub path: Vec<usize>,
    /// Whether the column is a list, a map or a VARIANT, stored as JSON text.
    pub nested: bool,
    pub form: TextForm,
}

impl OutputColumn {
    /// The numbers of the column's Parquet leaves.
    #[must_use]
    pub fn leaves(&self) -> std::ops::Range<usize> {
        self.first_leaf..self.first_leaf + self.tags.len()
    }

    #[must_use]
    pub fn shape(&self) -> Shape {
        Shape { kind: self.spec.kind, form: self.form, source_type: self.spec.source_type.clone() }
    }

    /// The number of structs above the column, which the reader unwraps.
    #[must_use]
    pub fn struct_depth(&self) -> usize {
        self.path.len().saturating_sub(1)
    }
}

#[derive(Debug, Default)]
pub struct Flattened {
    /// The converted columns, in file order.
    pub columns: Vec<OutputColumn>,
    /// The names of `--drop` that match a column or a struct.
    pub dropped: HashSet<String>,
    /// Columns of unsupported types: name and type.
    pub impossible: Vec<(String, String)>,
}

/// Flattens all fields except those whose own name, or the name of a struct above them, is in `drop`.
#[must_use]
pub fn flatten(fields: &Fields, schema: &SchemaDescriptor, drop: &HashSet<String>) -> Flattened {
    let variants = variants(schema.root_schema());
    let mut walk = Flattener { schema, drop, variants, next_leaf: 0, flattened: Flattened::default() };
    walk.fields(fields, &Parents::default());
    walk.flattened
}

/// The properties that a field inherits from the structs above it.
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
    variants: HashSet<String>,
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
            DataType::Struct(children) if !children.is_empty() && !self.variants.contains(&name) => {
                self.fields(children, &Parents { prefix: format!("{name}."), path, nullable, dropped });
            }
            data_type => {
                let first_leaf = self.next_leaf;
                let is_variant = matches!(data_type, DataType::Struct(_)) && self.variants.contains(&name);
                let described = self.describe(data_type);
                let source_type =
                    if is_variant { "VARIANT".to_owned() } else { cut(described, NAME_BYTES_MAX) };
                if dropped {
                    return;
                }
                let tags: Vec<LeafTag> =
                    (first_leaf..self.next_leaf).map(|leaf| tag(&self.schema.column(leaf))).collect();
                let form = text_form(data_type, &tags);
                let kind = if is_variant { Some(ColumnKind::Text) } else { kind(data_type) };
                match kind {
                    Some(kind) => self.flattened.columns.push(OutputColumn {
                        spec: ColumnSpec { name, kind, nullable, source_type },
                        first_leaf,
                        tags,
                        path,
                        nested: matches!(form, TextForm::Json),
                        form,
                    }),
                    None => self.flattened.impossible.push((name, source_type)),
                }
            }
        }
    }

    /// The type as readable text. Counts the leaves on the way.
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

/// Truncates the text to `bytes_max` bytes. A truncated text ends with `…`.
#[must_use]
pub fn cut(mut text: String, bytes_max: usize) -> String {
    const MARK: char = '…';
    if text.len() > bytes_max {
        text.truncate(text.floor_char_boundary(bytes_max - MARK.len_utf8()));
        text.push(MARK);
    }
    text
}

/// The column kind of a leaf; `None` for an unsupported type.
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

/// The form of the texts of a column.
fn text_form(data_type: &DataType, tags: &[LeafTag]) -> TextForm {
    match (data_type, tags.first()) {
        (DataType::Null, _) => TextForm::Null,
        (DataType::Binary | DataType::FixedSizeBinary(_), Some(LeafTag::Uuid)) => TextForm::Uuid,
        (DataType::Binary | DataType::FixedSizeBinary(_), Some(LeafTag::Interval)) => TextForm::Interval,
        (DataType::Binary | DataType::FixedSizeBinary(_), _) => TextForm::Base64,
        (DataType::Time32(_) | DataType::Time64(_), _) => TextForm::Time,
        // A struct that is a column is a VARIANT.
        (DataType::List(_) | DataType::Map(..) | DataType::Struct(_), _) => TextForm::Json,
        _ => TextForm::Plain,
    }
}

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

/// Whether a leaf is a TIME in UTC. The older converted type also means UTC.
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
    fn truncates_long_text_between_characters() {
        assert_eq!(cut("abcdef".into(), 6), "abcdef");
        assert_eq!(cut("abcdefg".into(), 6), "abc…");
        assert_eq!(cut("abèèè".into(), 6), "ab…");
        assert_eq!(cut("èèèè".into(), 7), "èè…");
    }
}
