//! Chooses the Arrow type of each leaf. The Parquet schema decides, with the few exceptions below. The embedded
//! `ARROW:schema` counts only for types that Parquet cannot express. Does not depend on values.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DECIMAL64_MAX_PRECISION, DataType, FieldRef, Fields, TimeUnit};
use parquet::basic::{ConvertedType, LogicalType, Type as PhysicalType};
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reading {
    Plain,
    /// As keys into the dictionaries of the file.
    Dictionary,
}

/// The fields that the reader uses, made from the fields of the Parquet schema and of the embedded Arrow schema.
#[must_use]
pub fn adapt(
    plain: &Fields,
    embedded: Option<&Fields>,
    schema: &SchemaDescriptor,
    reading: Reading,
    int96_units: &HashMap<usize, TimeUnit>,
) -> Fields {
    let mut walk = Adapter { schema, next_leaf: 0, reading, int96_units };
    walk.fields(plain, embedded)
}

/// Visits fields in the order of their leaves.
struct Adapter<'a> {
    schema: &'a SchemaDescriptor,
    next_leaf: usize,
    reading: Reading,
    int96_units: &'a HashMap<usize, TimeUnit>,
}

impl Adapter<'_> {
    fn fields(&mut self, plain: &Fields, embedded: Option<&Fields>) -> Fields {
        let embedded = embedded.filter(|fields| fields.len() == plain.len());
        let adapted = plain.iter().enumerate().map(|(index, field)| {
            let hint =
                embedded.and_then(|fields| fields.get(index)).filter(|hint| hint.name() == field.name());
            self.field(field, hint)
        });
        adapted.collect()
    }

    fn field(&mut self, plain: &FieldRef, embedded: Option<&FieldRef>) -> FieldRef {
        let hint = embedded.map(|field| field.data_type());
        let adapted = match plain.data_type() {
            DataType::Struct(children) => {
                let hint = match hint {
                    Some(DataType::Struct(fields)) => Some(fields),
                    _ => None,
                };
                DataType::Struct(self.fields(children, hint))
            }
            DataType::List(item) => DataType::List(self.field(item, hint.and_then(item_of))),
            DataType::Map(entries, sorted) => {
                let hint = match hint {
                    Some(DataType::Map(entries, _)) => Some(entries),
                    _ => None,
                };
                DataType::Map(self.field(entries, hint), *sorted)
            }
            leaf => {
                let index = self.next_leaf;
                self.next_leaf += 1;
                self.leaf(index, leaf, hint)
            }
        };
        Arc::new(plain.as_ref().clone().with_data_type(adapted))
    }

    fn leaf(&self, index: usize, plain: &DataType, hint: Option<&DataType>) -> DataType {
        let descriptor = self.schema.column(index);
        let physical = descriptor.physical_type();
        match (plain, hint) {
            // Parquet has no seconds and no dates in milliseconds, so such writers store a plain integer.
            (DataType::Int64, Some(DataType::Timestamp(TimeUnit::Second, zone))) => {
                DataType::Timestamp(TimeUnit::Second, zone.clone())
            }
            (DataType::Int64, Some(DataType::Date64)) => DataType::Date64,
            (DataType::Int32, Some(DataType::Time32(TimeUnit::Second))) => DataType::Time32(TimeUnit::Second),
            _ if physical == PhysicalType::INT96 => {
                let unit = self.int96_units.get(&index).copied().unwrap_or(TimeUnit::Nanosecond);
                DataType::Timestamp(unit, None)
            }
            // Values of these physical types have 64 bits, whatever the logical type is.
            (DataType::Decimal128(precision, scale), _)
                if matches!(physical, PhysicalType::INT32 | PhysicalType::INT64)
                    && *precision <= DECIMAL64_MAX_PRECISION =>
            {
                DataType::Decimal64(*precision, *scale)
            }
            _ if is_text(plain, &descriptor) => match self.reading {
                Reading::Dictionary => {
                    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
                }
                Reading::Plain => DataType::Utf8,
            },
            _ => plain.clone(),
        }
    }
}

/// Whether a leaf is text, or an ENUM, which the Arrow reader would return as bytes.
fn is_text(plain: &DataType, leaf: &ColumnDescriptor) -> bool {
    let is_enum =
        leaf.logical_type_ref() == Some(&LogicalType::Enum) || leaf.converted_type() == ConvertedType::ENUM;
    matches!(plain, DataType::Utf8) || (matches!(plain, DataType::Binary) && is_enum)
}

fn item_of(hint: &DataType) -> Option<&FieldRef> {
    match hint {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::ListView(item)
        | DataType::LargeListView(item) => Some(item),
        _ => None,
    }
}
