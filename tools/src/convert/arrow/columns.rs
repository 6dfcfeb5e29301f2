//! The columns of an Arrow schema that are converted: all but those to leave out. Refuses types that Parquet does not
//! have. Does not depend on values.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, StructArray};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, IntervalUnit, Schema, SchemaRef};
use mercato_format::limits::COLUMNS_MAX;

use crate::convert::plan::ErrorContext;
use crate::failure::Failure;

/// Memory of the writer of a spilled column, bytes. Columns may take half of the memory.
const COLUMN_BYTES: u64 = 16 * 1024;

pub(super) struct Kept {
    columns: Vec<KeptColumn>,
    schema: SchemaRef,
    /// Whether every column and field is kept.
    is_whole: bool,
    /// The names to leave out that a column or struct has.
    pub(super) matched: HashSet<String>,
}

/// A column or a field of a struct.
struct KeptColumn {
    /// Its place among its neighbours.
    place: usize,
    field: FieldRef,
    children: Vec<KeptColumn>,
}

impl Kept {
    /// Leaves out what has a name in `drop`.
    pub(super) fn of(
        schema: &Schema,
        drop: &HashSet<String>,
        memory_limit: u64,
        context: &ErrorContext,
    ) -> Result<Kept, Failure> {
        let mut walk = Walk { drop, context, leaves: 0, left_out: 0, matched: HashSet::new() };
        let columns = walk.fields(schema.fields(), "", false)?;
        let fitting = usize::try_from(memory_limit / 2 / COLUMN_BYTES).unwrap_or(COLUMNS_MAX);
        let most = fitting.min(COLUMNS_MAX);
        if !(1..=most).contains(&walk.leaves) {
            let expected = format!("1 to {most} columns under this --memory-limit");
            let remedy = "drop some with --drop, or raise --memory-limit";
            return Err(context.refusal("schema", expected, walk.leaves.to_string(), remedy));
        }
        let fields: Fields = columns.iter().map(|column| Arc::clone(&column.field)).collect();
        let is_whole = walk.left_out == 0;
        Ok(Kept { columns, schema: Arc::new(Schema::new(fields)), is_whole, matched: walk.matched })
    }

    pub(super) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// The schema as text, one column a line.
    pub(super) fn text(&self) -> String {
        let line = |field: &FieldRef| {
            let null = if field.is_nullable() { "" } else { " not null" };
            format!("{}: {}{null}", field.name(), field.data_type())
        };
        self.schema.fields().iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// The places of the kept columns; `None` when all are kept.
    pub(super) fn wanted(&self) -> Option<Vec<usize>> {
        (!self.is_whole).then(|| self.columns.iter().map(|column| column.place).collect())
    }

    /// A batch of the wanted columns without the fields that are left out.
    pub(super) fn of_batch(&self, batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        if self.is_whole {
            return RecordBatch::try_new(self.schema(), batch.columns().to_vec());
        }
        let arrays = self.columns.iter().zip(batch.columns()).map(|(column, array)| column.of_array(array));
        RecordBatch::try_new(self.schema(), arrays.collect::<Result<_, _>>()?)
    }
}

impl KeptColumn {
    fn of_array(&self, array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
        let (DataType::Struct(fields), Some(parent)) = (self.field.data_type(), array.as_struct_opt()) else {
            return Ok(Arc::clone(array));
        };
        let children = self.children.iter().map(|child| {
            let missing = || ArrowError::SchemaError(format!("{} is missing", child.field.name()));
            child.of_array(parent.columns().get(child.place).ok_or_else(missing)?)
        });
        let children = children.collect::<Result<_, _>>()?;
        Ok(Arc::new(StructArray::try_new(fields.clone(), children, parent.nulls().cloned())?))
    }
}

struct Walk<'a> {
    drop: &'a HashSet<String>,
    context: &'a ErrorContext,
    leaves: usize,
    left_out: usize,
    matched: HashSet<String>,
}

impl Walk<'_> {
    fn fields(&mut self, fields: &Fields, above: &str, is_dropped: bool) -> Result<Vec<KeptColumn>, Failure> {
        let mut kept = Vec::with_capacity(fields.len());
        for (place, field) in fields.iter().enumerate() {
            match self.field(place, field, above, is_dropped)? {
                Some(column) => kept.push(column),
                None => self.left_out += 1,
            }
        }
        Ok(kept)
    }

    fn field(
        &mut self,
        place: usize,
        field: &FieldRef,
        above: &str,
        is_dropped: bool,
    ) -> Result<Option<KeptColumn>, Failure> {
        let name = format!("{above}{}", field.name());
        let is_named = self.drop.contains(&name);
        let is_dropped = is_dropped || is_named;
        if is_named {
            self.matched.insert(name.clone());
        }
        if let DataType::Struct(fields) = field.data_type()
            && !fields.is_empty()
        {
            let children = self.fields(fields, &format!("{name}."), is_dropped)?;
            if children.is_empty() {
                return Ok(None);
            }
            let fields = children.iter().map(|child| Arc::clone(&child.field)).collect();
            let field = Arc::new(field.as_ref().clone().with_data_type(DataType::Struct(fields)));
            return Ok(Some(KeptColumn { place, field, children }));
        }
        if is_dropped {
            return Ok(None);
        }
        if let Some(found) = strange_type(field.data_type()) {
            let (section, expected) = (format!("column `{name}`"), "a type that can be carried".to_owned());
            let remedy = format!("cast it in the source, or leave the column out with --drop {name}");
            return Err(self.context.refusal(&section, expected, found, &remedy));
        }
        self.leaves += 1;
        Ok(Some(KeptColumn { place, field: Arc::clone(field), children: Vec::new() }))
    }
}

/// A type, of the column or inside it, that Parquet does not have.
fn strange_type(data_type: &DataType) -> Option<String> {
    let inside = |field: &Field| strange_type(field.data_type());
    match data_type {
        DataType::Union(..)
        | DataType::RunEndEncoded(..)
        | DataType::ListView(_)
        | DataType::LargeListView(_)
        | DataType::Interval(IntervalUnit::MonthDayNano) => Some(data_type.to_string()),
        DataType::Struct(fields) if fields.is_empty() => Some("a struct without fields".to_owned()),
        DataType::Struct(fields) => fields.iter().find_map(|field| inside(field)),
        DataType::List(item) | DataType::LargeList(item) | DataType::Map(item, _) => inside(item),
        DataType::FixedSizeList(_, length) | DataType::FixedSizeBinary(length) if *length <= 0 => {
            Some(format!("{data_type}, which is always empty"))
        }
        DataType::FixedSizeList(item, _) => inside(item),
        DataType::Dictionary(_, value)
            if value.is_nested() || matches!(**value, DataType::Dictionary(..)) =>
        {
            Some(data_type.to_string())
        }
        DataType::Dictionary(_, value) => strange_type(value),
        DataType::Decimal32(_, scale)
        | DataType::Decimal64(_, scale)
        | DataType::Decimal128(_, scale)
        | DataType::Decimal256(_, scale)
            if *scale < 0 =>
        {
            Some(format!("{data_type}, with a negative scale"))
        }
        _ => None,
    }
}
