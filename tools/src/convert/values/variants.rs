//! Encodes VARIANT values as JSON text, by the rules of nested values. A shredded value stands in typed columns, in its
//! binary form, or, for an object, in both ("Variant Shredding" of the Parquet format). Does not depend on columns or
//! files.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::DataType;
use mercato_format::{FloatWidth, TimeUnit, encode, text};
use parquet_variant::Variant;

use crate::convert::limits::{JSON_DEPTH_MAX, VALUE_BYTES_MAX};
use crate::convert::schema::flatten::LeafTag;
use crate::convert::values::nested::{NestedEncoder, NestedError, push_quoted, span};
use crate::convert::values::texts::{push_base64, push_time, push_uuid};

type Tags<'t> = std::slice::Iter<'t, LeafTag>;

/// Encodes the values of a VARIANT column.
pub struct VariantEncoder<'a> {
    metadata: &'a BinaryArray,
    values: Shredded<'a>,
}

impl<'a> VariantEncoder<'a> {
    /// An encoder for a struct of metadata, value and typed value. It takes the tags of its leaves from `tags`.
    pub fn new(array: &'a ArrayRef, tags: &mut Tags<'_>) -> Result<VariantEncoder<'a>, NestedError> {
        let metadata = array.as_struct_opt().and_then(|group| group.column_by_name("metadata"));
        let metadata = metadata.and_then(|metadata| metadata.as_binary_opt::<i32>());
        let metadata = metadata.ok_or_else(|| unknown("without metadata"))?;
        Ok(VariantEncoder { metadata, values: Shredded::new(array, tags)? })
    }

    /// Appends the JSON text of the value at `row`, which is not null.
    ///
    /// # Errors
    /// When the value is damaged, nested too deeply, or its text exceeds the limit of one value, counted from `start`.
    pub fn push(&self, row: usize, start: usize, out: &mut Vec<u8>) -> Result<(), NestedError> {
        let metadata = if self.metadata.is_valid(row) { self.metadata.value(row) } else { &[] };
        self.values.push(row, metadata, start, out)
    }
}

/// A value or its parts: binary, typed, or both.
struct Shredded<'a> {
    value: Option<&'a BinaryArray>,
    typed: Option<(&'a ArrayRef, Typed<'a>)>,
}

enum Typed<'a> {
    Leaf(NestedEncoder<'a>),
    List(&'a OffsetBuffer<i32>, Box<Shredded<'a>>),
    Object(Vec<(&'a str, &'a ArrayRef, Shredded<'a>)>),
}

impl<'a> Shredded<'a> {
    fn new(group: &'a ArrayRef, tags: &mut Tags<'_>) -> Result<Shredded<'a>, NestedError> {
        let group = group.as_struct_opt().ok_or_else(|| unknown("whose part is no group"))?;
        let (mut value, mut typed) = (None, None);
        for (name, column) in group.column_names().into_iter().zip(group.columns()) {
            match name {
                "typed_value" => typed = Some((column, Typed::new(column, tags)?)),
                "metadata" => {
                    tags.next();
                }
                "value" => {
                    tags.next();
                    value = Some(column.as_binary_opt().ok_or_else(|| unknown("whose value is not binary"))?);
                }
                _ => return Err(unknown("with another field than metadata, value and typed_value")),
            }
        }
        Ok(Shredded { value, typed })
    }

    fn binary(&self, row: usize) -> Option<&'a [u8]> {
        self.value.filter(|values| values.is_valid(row)).map(|values| values.value(row))
    }

    /// Whether there is a value, other than in an object that does not have the field.
    fn is_there(&self, row: usize) -> bool {
        self.binary(row).is_some() || self.typed.as_ref().is_some_and(|(array, _)| array.is_valid(row))
    }

    fn push(&self, row: usize, metadata: &[u8], start: usize, out: &mut Vec<u8>) -> Result<(), NestedError> {
        let typed = self.typed.as_ref().filter(|(array, _)| array.is_valid(row));
        let rest = self.binary(row).map(|value| Variant::try_new(metadata, value)).transpose();
        let rest = rest.map_err(|error| NestedError::Value(format!("a damaged VARIANT ({error})")))?;
        match (typed, rest) {
            (None, None) => out.extend_from_slice(b"null"),
            (None, Some(value)) => push_variant(&value, 0, start, out)?,
            (Some((_, Typed::Object(fields))), rest) => push_object(fields, rest, row, metadata, start, out)?,
            (Some(_), Some(_)) => return Err(NestedError::Value("a VARIANT with two values".to_owned())),
            (Some((_, Typed::Leaf(leaf))), None) => leaf.push(row, start, out)?,
            (Some((_, Typed::List(offsets, items))), None) => {
                out.push(b'[');
                for (number, item) in span(offsets, row)?.enumerate() {
                    if number > 0 {
                        out.push(b',');
                    }
                    items.push(item, metadata, start, out)?;
                }
                out.push(b']');
            }
        }
        if out.len() - start > VALUE_BYTES_MAX { Err(NestedError::TooLong) } else { Ok(()) }
    }
}

impl<'a> Typed<'a> {
    fn new(array: &'a ArrayRef, tags: &mut Tags<'_>) -> Result<Typed<'a>, NestedError> {
        Ok(match array.data_type() {
            DataType::List(_) => {
                let list = array.as_list::<i32>();
                Typed::List(list.offsets(), Box::new(Shredded::new(list.values(), tags)?))
            }
            DataType::Struct(_) => {
                let group = array.as_struct();
                let fields = group.column_names().into_iter().zip(group.columns());
                let fields = fields.map(|(name, field)| Ok((name, field, Shredded::new(field, tags)?)));
                Typed::Object(fields.collect::<Result<_, NestedError>>()?)
            }
            _ => Typed::Leaf(NestedEncoder::new(array, tags)?),
        })
    }
}

/// An object of its typed fields, and of those that only its binary form has.
fn push_object(
    fields: &[(&str, &ArrayRef, Shredded<'_>)],
    rest: Option<Variant<'_, '_>>,
    row: usize,
    metadata: &[u8],
    start: usize,
    out: &mut Vec<u8>,
) -> Result<(), NestedError> {
    out.push(b'{');
    let mut is_first = true;
    for (name, array, field) in fields {
        if array.is_valid(row) && field.is_there(row) {
            push_name(name, &mut is_first, out);
            field.push(row, metadata, start, out)?;
        }
    }
    match rest {
        None => {}
        Some(Variant::Object(rest)) => {
            for (name, value) in rest.iter() {
                // A reader takes the typed field, also where a writer has left its binary form.
                if !fields.iter().any(|(typed, ..)| *typed == name) {
                    push_name(name, &mut is_first, out);
                    push_variant(&value, 1, start, out)?;
                }
            }
        }
        Some(_) => return Err(NestedError::Value("a VARIANT with two values".to_owned())),
    }
    out.push(b'}');
    Ok(())
}

fn push_name(name: &str, is_first: &mut bool, out: &mut Vec<u8>) {
    if !std::mem::take(is_first) {
        out.push(b',');
    }
    text::push_json_string(out, name.as_bytes());
    out.push(b':');
}

fn push_variant(
    value: &Variant<'_, '_>,
    depth: usize,
    start: usize,
    out: &mut Vec<u8>,
) -> Result<(), NestedError> {
    if depth > JSON_DEPTH_MAX {
        return Err(NestedError::Value(format!("a VARIANT of more than {JSON_DEPTH_MAX} levels")));
    }
    if out.len() - start > VALUE_BYTES_MAX {
        return Err(NestedError::TooLong);
    }
    match value {
        Variant::Object(object) => {
            out.push(b'{');
            let mut is_first = true;
            for (name, value) in object.iter() {
                push_name(name, &mut is_first, out);
                push_variant(&value, depth + 1, start, out)?;
            }
            out.push(b'}');
        }
        Variant::List(list) => {
            out.push(b'[');
            for (number, value) in list.iter().enumerate() {
                if number > 0 {
                    out.push(b',');
                }
                push_variant(&value, depth + 1, start, out)?;
            }
            out.push(b']');
        }
        scalar => push_scalar(scalar, out)?,
    }
    Ok(())
}

fn push_scalar(value: &Variant<'_, '_>, out: &mut Vec<u8>) -> Result<(), NestedError> {
    let is_finite = match value {
        Variant::Float(value) => FloatWidth::Single.push_finite(out, f64::from(*value)),
        Variant::Double(value) => FloatWidth::Double.push_finite(out, *value),
        Variant::Null => false,
        _ => true,
    };
    if !is_finite {
        out.extend_from_slice(b"null");
    }
    match value {
        Variant::BooleanTrue => out.extend_from_slice(b"true"),
        Variant::BooleanFalse => out.extend_from_slice(b"false"),
        Variant::Int8(value) => encode::push_wide(out, (*value).into()),
        Variant::Int16(value) => encode::push_wide(out, (*value).into()),
        Variant::Int32(value) => encode::push_wide(out, (*value).into()),
        Variant::Int64(value) => encode::push_wide(out, (*value).into()),
        Variant::Decimal4(value) => encode::push_decimal(out, value.integer().into(), value.scale()),
        Variant::Decimal8(value) => encode::push_decimal(out, value.integer().into(), value.scale()),
        Variant::Decimal16(value) => encode::push_decimal(out, value.integer(), value.scale()),
        Variant::Date(day) => push_quoted(out, |out| encode::push_date(out, day.to_epoch_days().into())),
        Variant::TimestampMicros(at) => push_moment(out, Some(at.timestamp_micros()), TimeUnit::Microsecond)?,
        Variant::TimestampNtzMicros(at) => {
            push_moment(out, Some(at.and_utc().timestamp_micros()), TimeUnit::Microsecond)?;
        }
        Variant::TimestampNanos(at) => push_moment(out, at.timestamp_nanos_opt(), TimeUnit::Nanosecond)?,
        Variant::TimestampNtzNanos(at) => {
            push_moment(out, at.and_utc().timestamp_nanos_opt(), TimeUnit::Nanosecond)?;
        }
        Variant::Time(time) => {
            let since_midnight = time.signed_duration_since(Default::default());
            let units = since_midnight.num_microseconds().unwrap_or_default();
            let mut is_inside = false;
            push_quoted(out, |out| is_inside = push_time(out, units, TimeUnit::Microsecond));
            if !is_inside {
                return Err(NestedError::Value("a time of day outside the day".to_owned()));
            }
        }
        Variant::Uuid(uuid) => push_quoted(out, |out| push_uuid(out, uuid.as_bytes())),
        Variant::Binary(bytes) => push_quoted(out, |out| push_base64(out, bytes)),
        Variant::String(value) => text::push_json_string(out, value.as_bytes()),
        Variant::ShortString(value) => text::push_json_string(out, value.as_bytes()),
        Variant::Null | Variant::Float(_) | Variant::Double(_) | Variant::Object(_) | Variant::List(_) => {}
    }
    Ok(())
}

fn push_moment(out: &mut Vec<u8>, units: Option<i64>, unit: TimeUnit) -> Result<(), NestedError> {
    let units = units.ok_or_else(|| NestedError::Value("a moment beyond 64 bits".to_owned()))?;
    push_quoted(out, |out| encode::push_timestamp(out, units, unit));
    Ok(())
}

fn unknown(what: &str) -> NestedError {
    NestedError::Type(format!("a VARIANT {what}"))
}
