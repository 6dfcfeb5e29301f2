//! The part of a schema that leads to one column: its field, the groups above it, and nothing beside them. Whoever reads
//! a column pays for that column, however many others the file has. Knows no value.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Fields};
use parquet::errors::{ParquetError, Result};
use parquet::schema::types::{SchemaDescriptor, Type, TypePtr};

/// A schema of one column, twice.
#[derive(Debug)]
pub struct Projection {
    /// As Parquet has it; its leaves are those of the column, counted from 0.
    pub schema: SchemaDescriptor,
    /// As Arrow has it.
    pub fields: Fields,
}

impl Projection {
    /// The branch to the field at `path`: its place in the root, or that of the group above it, then its place in there,
    /// and so on.
    ///
    /// # Errors
    /// When there is no such field.
    pub fn of_path(path: &[usize], root: &Type, fields: &Fields) -> Result<Projection> {
        let (child, field) = step(path, root, fields)?;
        Ok(Projection { schema: schema_of(root, child)?, fields: Fields::from(vec![field]) })
    }
}

/// A schema whose root has this one child.
///
/// # Errors
/// When the Parquet library refuses it.
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
    // Levels follow from the repetition, and the fields of a group without annotation from its children alone.
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

    /// Schema elements of a type.
    fn size(of: &Type) -> usize {
        1 + if of.is_group() { of.get_fields().iter().map(|field| size(field)).sum() } else { 0 }
    }

    /// The branches to all columns of a message: their names, and the schema elements of all branches together.
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
    fn a_branch_has_the_leaves_of_its_column_with_the_same_levels() {
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
    fn all_branches_together_grow_with_the_columns_and_not_with_their_square() {
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
    fn a_path_to_no_field_is_an_error() {
        let root = parse_message_type("message m { required group a { required int32 b; } }").unwrap();
        let fields =
            parquet_to_arrow_schema(&SchemaDescriptor::new(Arc::new(root.clone())), None).unwrap().fields;
        for path in [&[][..], &[1], &[0, 1], &[0, 0, 0]] {
            assert!(Projection::of_path(path, &root, &fields).is_err(), "{path:?}");
        }
    }
}
