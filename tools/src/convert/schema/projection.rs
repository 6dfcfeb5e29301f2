//! The projection of a schema to one column: its field and the groups above it. The cost of reading a column does not
//! grow with the number of other columns. Does not depend on values.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields};
use parquet::errors::{ParquetError, Result};
use parquet::schema::types::{SchemaDescriptor, Type, TypePtr};

/// The schema of one column, for Parquet and for Arrow.
#[derive(Debug)]
pub struct Projection {
    /// The Parquet schema. Its leaves are the leaves of the column, counted from 0.
    pub schema: SchemaDescriptor,
    pub fields: Fields,
}

impl Projection {
    /// Projects to the field at `path`, which has the index of a field at each level, from the root down.
    pub fn of_path(path: &[usize], root: &Type, fields: &Fields) -> Result<Projection> {
        let (child, field) = step(path, root, fields)?;
        Ok(Projection { schema: schema_of(root, child)?, fields: Fields::from(vec![field]) })
    }
}

/// A schema whose root has one child.
pub fn schema_of(root: &Type, child: TypePtr) -> Result<SchemaDescriptor> {
    let root = Type::group_type_builder(root.name()).with_fields(vec![child]).build()?;
    Ok(SchemaDescriptor::new(Arc::new(root)))
}

fn step(path: &[usize], group: &Type, fields: &Fields) -> Result<(TypePtr, FieldRef)> {
    let missing = || ParquetError::General("a column is missing".to_owned());
    let (place, below) = path.split_first().ok_or_else(missing)?;
    let (child, field) = group.get_fields().get(*place).zip(fields.get(*place)).ok_or_else(missing)?;
    if below.is_empty() {
        return Ok((Arc::clone(child), Arc::clone(field)));
    }
    let DataType::Struct(inside) = field.data_type() else { return Err(missing()) };
    let (inner, inner_field) = step(below, child, inside)?;
    // Levels depend on repetition only, and the fields of a group without annotation depend on its children only.
    let child = Type::group_type_builder(child.name())
        .with_repetition(child.get_basic_info().repetition())
        .with_fields(vec![inner])
        .build()?;
    let inside = DataType::Struct(Fields::from(vec![inner_field]));
    Ok((Arc::new(child), Arc::new(Field::new(field.name(), inside, field.is_nullable()))))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::fmt::Write;

    use parquet::arrow::{ProjectionMask, parquet_to_arrow_field_levels, parquet_to_arrow_schema};
    use parquet::schema::parser::parse_message_type;

    use super::*;
    use crate::convert::schema::flatten::flatten;

    /// The number of schema elements of a type.
    fn size(of: &Type) -> usize {
        1 + if of.is_group() { of.get_fields().iter().map(|field| size(field)).sum() } else { 0 }
    }

    /// The projections to all columns of a message: the number of columns, and the schema elements of all projections.
    fn check(message: &str) -> (usize, usize) {
        let all = SchemaDescriptor::new(Arc::new(parse_message_type(message).unwrap()));
        let fields = parquet_to_arrow_schema(&all, None).unwrap().fields;
        let columns = flatten(&fields, &all, &HashSet::new()).columns;
        let elements = columns.iter().map(|column| {
            let branch = Projection::of_path(&column.path, all.root_schema(), &fields).unwrap();
            assert_eq!(branch.schema.num_columns(), column.leaves().len(), "{}", column.spec.name);
            for (leaf, number) in branch.schema.columns().iter().zip(column.leaves()) {
                let same = all.column(number);
                assert_eq!(leaf.path(), same.path());
                assert_eq!(leaf.max_def_level(), same.max_def_level(), "{}", leaf.path());
                assert_eq!(leaf.max_rep_level(), same.max_rep_level(), "{}", leaf.path());
                assert_eq!(leaf.self_type(), same.self_type());
            }
            let hint = Some(&branch.fields);
            parquet_to_arrow_field_levels(&branch.schema, ProjectionMask::all(), hint).unwrap();
            size(branch.schema.root_schema())
        });
        (columns.len(), elements.sum())
    }

    #[test]
    fn projection_keeps_leaves_and_levels() {
        let columns = check(
            "message m {
                required int32 a;
                optional group b {
                    optional binary c (STRING);
                    required group d { optional int64 e; repeated int32 f; }
                    optional group g (LIST) { repeated group list { optional int32 element; } }
                }
                optional group h (MAP) { repeated group key_value { required int32 key; optional double value; } }
                repeated group i { required int32 j; optional group k { optional int32 l; } }
                optional fixed_len_byte_array(2) m;
            }",
        );
        assert_eq!(columns, (8, 30));
    }

    #[test]
    fn projections_of_all_columns_grow_linearly() {
        let of = |count: usize| {
            let mut message = String::from("message m { optional group wide {");
            (0..count / 2).for_each(|n| write!(message, "optional int32 in{n};").unwrap());
            message.push('}');
            (0..count / 2).for_each(|n| write!(message, "optional int32 out{n};").unwrap());
            message.push('}');
            check(&message)
        };
        // The root, the group for one half, and the leaf.
        assert_eq!((of(512), of(16_384)), ((512, 512 / 2 * 5), (16_384, 16_384 / 2 * 5)));
    }

    #[test]
    fn rejects_path_without_field() {
        let root = parse_message_type("message m { required group a { required int32 b; } }").unwrap();
        let fields =
            parquet_to_arrow_schema(&SchemaDescriptor::new(Arc::new(root.clone())), None).unwrap().fields;
        for path in [&[][..], &[1], &[0, 1], &[0, 0, 0]] {
            assert!(Projection::of_path(path, &root, &fields).is_err(), "{path:?}");
        }
    }
}
