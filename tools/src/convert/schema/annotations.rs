//! Removes annotations and empty groups from a Parquet schema. A leaf without its annotation is read as its physical
//! type. Does not depend on values.

use std::collections::HashSet;
use std::sync::Arc;

use parquet::basic::ConvertedType;
use parquet::errors::Result;
use parquet::schema::types::{Type, TypePtr};

/// The dotted names of the groups without leaves. Of nested empty groups, the outermost is named.
#[must_use]
pub fn empty_groups(root: &Type) -> Vec<String> {
    let mut names = Vec::new();
    let mut open: Vec<(String, &TypePtr)> =
        root.get_fields().iter().map(|field| (field.name().to_owned(), field)).collect();
    while let Some((name, field)) = open.pop() {
        if !has_leaves(field) {
            names.push(name);
        } else if field.is_group() {
            let inner = field.get_fields().iter();
            open.extend(inner.map(|inner| (format!("{name}.{}", inner.name()), inner)));
        }
    }
    names
}

fn has_leaves(field: &TypePtr) -> bool {
    field.is_primitive() || field.get_fields().iter().any(has_leaves)
}

/// The schema without the annotations of intervals, and without all annotations below the names in `drop`.
pub fn without_annotations(root: &Type, drop: &HashSet<String>) -> Result<TypePtr> {
    let fields = root.get_fields().iter().filter(|field| has_leaves(field)).map(|field| {
        let name = field.name().to_owned();
        rebuild(field, &name, drop, false)
    });
    let root = Type::group_type_builder(root.name()).with_fields(fields.collect::<Result<_>>()?);
    Ok(Arc::new(root.build()?))
}

fn rebuild(old: &TypePtr, name: &str, drop: &HashSet<String>, inside_dropped: bool) -> Result<TypePtr> {
    let bare = inside_dropped || drop.contains(name);
    let info = old.get_basic_info();
    let id = info.has_id().then(|| info.id());
    if let Type::PrimitiveType { physical_type, type_length, .. } = old.as_ref() {
        if !bare && info.converted_type() != ConvertedType::INTERVAL {
            return Ok(Arc::clone(old));
        }
        let leaf = Type::primitive_type_builder(old.name(), *physical_type)
            .with_repetition(info.repetition())
            .with_length(*type_length)
            .with_id(id);
        return Ok(Arc::new(leaf.build()?));
    }
    let fields = old.get_fields().iter().filter(|field| has_leaves(field)).map(|field| {
        let name = format!("{name}.{}", field.name());
        rebuild(field, &name, drop, bare)
    });
    let mut group =
        Type::group_type_builder(old.name()).with_fields(fields.collect::<Result<_>>()?).with_id(id);
    if !bare {
        group = group
            .with_converted_type(info.converted_type())
            .with_logical_type(info.logical_type_ref().cloned());
    }
    if info.has_repetition() {
        group = group.with_repetition(info.repetition());
    }
    Ok(Arc::new(group.build()?))
}
