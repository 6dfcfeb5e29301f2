//! Builds the Arrow columns of a generated table.
//!
//! Does not depend on tables.

use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int16Array, Int32Array, Int64Array,
    RecordBatch, StringArray, StructArray, TimestampMicrosecondArray, TimestampMillisecondArray,
};
use arrow_schema::ArrowError;
use arrow_schema::{Field, Fields, Schema};

/// The columns of one table, in their order.
#[derive(Default)]
pub(super) struct Columns {
    fields: Vec<Field>,
    arrays: Vec<ArrayRef>,
}

impl Columns {
    fn put(&mut self, name: &str, array: ArrayRef) {
        let nullable = array.null_count() > 0;
        self.fields.push(Field::new(name, array.data_type().clone(), nullable));
        self.arrays.push(array);
    }

    /// Integers of 16 bits.
    pub(super) fn small(&mut self, name: &str, values: impl Iterator<Item = Option<i16>>) {
        self.put(name, Arc::new(values.collect::<Int16Array>()));
    }

    /// Integers of 32 bits.
    pub(super) fn number(&mut self, name: &str, values: impl Iterator<Item = Option<i32>>) {
        self.put(name, Arc::new(values.collect::<Int32Array>()));
    }

    /// Integers of 64 bits.
    pub(super) fn long(&mut self, name: &str, values: impl Iterator<Item = Option<i64>>) {
        self.put(name, Arc::new(values.collect::<Int64Array>()));
    }

    /// Measurements. NaN is a failed measurement, null a missing one.
    pub(super) fn measure(&mut self, name: &str, values: impl Iterator<Item = Option<f64>>) {
        self.put(name, Arc::new(values.collect::<Float64Array>()));
    }

    /// Decimal amounts, as scaled integers.
    pub(super) fn amount(
        &mut self,
        name: &str,
        (precision, scale): (u8, i8),
        values: impl Iterator<Item = Option<i64>>,
    ) -> Result<(), ArrowError> {
        let units: Decimal128Array = values.map(|value| value.map(i128::from)).collect();
        self.put(name, Arc::new(units.with_precision_and_scale(precision, scale)?));
        Ok(())
    }

    pub(super) fn flag(&mut self, name: &str, values: impl Iterator<Item = Option<bool>>) {
        self.put(name, Arc::new(values.collect::<BooleanArray>()));
    }

    pub(super) fn text<T: AsRef<str>>(&mut self, name: &str, values: impl Iterator<Item = Option<T>>) {
        self.put(name, Arc::new(values.collect::<StringArray>()));
    }

    /// Days since 1970.
    pub(super) fn day(&mut self, name: &str, values: impl Iterator<Item = Option<i32>>) {
        self.put(name, Arc::new(values.collect::<Date32Array>()));
    }

    /// Timestamps in UTC, milliseconds since 1970.
    pub(super) fn moment(&mut self, name: &str, values: impl Iterator<Item = Option<i64>>) {
        let array: TimestampMillisecondArray = values.collect();
        self.put(name, Arc::new(array.with_timezone("UTC")));
    }

    /// Timestamps in UTC, microseconds since 1970.
    pub(super) fn fine_moment(&mut self, name: &str, values: impl Iterator<Item = Option<i64>>) {
        let array: TimestampMicrosecondArray = values.collect();
        self.put(name, Arc::new(array.with_timezone("UTC")));
    }

    pub(super) fn texts(&mut self, name: &str, values: impl Iterator<Item = Vec<&'static str>>) {
        let mut builder = ListBuilder::new(StringBuilder::new());
        for list in values {
            for text in list {
                builder.values().append_value(text);
            }
            builder.append(true);
        }
        self.put(name, Arc::new(builder.finish()));
    }

    /// Latitude and longitude in one struct.
    pub(super) fn position(&mut self, name: &str, values: &[(f64, f64)]) {
        let axis = |pick: fn(&(f64, f64)) -> f64| -> ArrayRef {
            Arc::new(values.iter().map(|place| Some(pick(place))).collect::<Float64Array>())
        };
        let (latitudes, longitudes) = (axis(|place| place.0), axis(|place| place.1));
        let field = |name: &str, array: &ArrayRef| Field::new(name, array.data_type().clone(), false);
        let fields = Fields::from(vec![field("lat", &latitudes), field("lon", &longitudes)]);
        self.put(name, Arc::new(StructArray::new(fields, vec![latitudes, longitudes], None)));
    }

    pub(super) fn finish(self) -> Result<RecordBatch, ArrowError> {
        RecordBatch::try_new(Arc::new(Schema::new(self.fields)), self.arrays)
    }
}
