//! Finds columns of Parquet's VARIANT type, shredded or not. Does not depend on values.

use std::collections::HashSet;

use parquet::basic::{ConvertedType, LogicalType, Repetition};
use parquet::schema::types::Type;

/// The first column that is or contains a VARIANT and is not below a name in `drop`.
#[must_use]
pub fn first_variant(root: &Type, drop: &HashSet<String>) -> Option<String> {
    root.get_fields().iter().find_map(|field| in_field(field, field.name().to_owned(), drop))
}

fn in_field(field: &Type, name: String, drop: &HashSet<String>) -> Option<String> {
    if drop.contains(&name) || field.is_primitive() {
        return None;
    }
    if matches!(field.get_basic_info().logical_type_ref(), Some(LogicalType::Variant(_))) {
        return Some(name);
    }
    if is_one_column(field) {
        let mut inside = field.get_fields().iter();
        return inside.find_map(|child| in_field(child, name.clone(), &HashSet::new()));
    }
    field.get_fields().iter().find_map(|child| in_field(child, format!("{name}.{}", child.name()), drop))
}

/// Whether a group becomes one column: a list, a map or a repeated group.
fn is_one_column(group: &Type) -> bool {
    let info = group.get_basic_info();
    let is_annotated = matches!(info.logical_type_ref(), Some(LogicalType::List | LogicalType::Map))
        || matches!(
            info.converted_type(),
            ConvertedType::LIST | ConvertedType::MAP | ConvertedType::MAP_KEY_VALUE
        );
    is_annotated || (info.has_repetition() && info.repetition() == Repetition::REPEATED)
}

#[cfg(test)]
mod tests {
    use parquet::schema::parser::parse_message_type;

    use super::*;

    fn found(fields: &str, drop: &[&str]) -> Option<String> {
        let root = parse_message_type(&format!("message m {{ {fields} }}")).unwrap();
        first_variant(&root, &drop.iter().map(|name| (*name).to_owned()).collect())
    }

    #[test]
    fn finds_variant_at_any_depth_and_names_column() {
        let variant = "(VARIANT) { required binary metadata; required binary value; }";
        let shredded =
            "(VARIANT) { required binary metadata; optional binary value; optional int64 typed_value; }";
        for variant in [variant, shredded] {
            let plain = format!("required int32 n; optional group v {variant}");
            assert_eq!(found(&plain, &[]), Some("v".into()));
            assert_eq!(found(&plain, &["v"]), None);
            let deep = format!("required group a {{ required group b {variant} }}");
            assert_eq!(found(&deep, &["n"]), Some("a.b".into()));
            assert_eq!((found(&deep, &["a"]), found(&deep, &["a.b"])), (None, None));
            let listed = format!(
                "optional group l (LIST) {{ repeated group list {{ optional group element {variant} }} }}"
            );
            assert_eq!(found(&listed, &[]), Some("l".into()));
            assert_eq!((found(&listed, &["l.list"]), found(&listed, &["l"])), (Some("l".into()), None));
        }
        assert_eq!(found("required group v { required binary metadata; required binary value; }", &[]), None);
    }
}
