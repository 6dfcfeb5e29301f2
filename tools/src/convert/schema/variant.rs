//! Finds columns of Parquet's VARIANT type, shredded or not: those that become JSON text, and those in lists. Does not
//! depend on values.

use std::collections::HashSet;

use parquet::basic::{ConvertedType, LogicalType, Repetition};
use parquet::schema::types::{Type, TypePtr};

/// The dotted names of the VARIANT columns. Those inside lists and maps are none.
#[must_use]
pub fn variants(root: &Type) -> HashSet<String> {
    let mut found = HashSet::new();
    let mut open: Vec<(String, &TypePtr)> =
        root.get_fields().iter().map(|field| (field.name().to_owned(), field)).collect();
    while let Some((name, field)) = open.pop() {
        if is_variant(field) {
            found.insert(name);
        } else if field.is_group() && !is_one_column(field) {
            open.extend(field.get_fields().iter().map(|child| (format!("{name}.{}", child.name()), child)));
        }
    }
    found
}

/// The first list or map with a VARIANT inside that is not below a name in `drop`.
#[must_use]
pub fn first_listed_variant(root: &Type, drop: &HashSet<String>) -> Option<String> {
    root.get_fields().iter().find_map(|field| in_field(field, field.name().to_owned(), drop))
}

fn in_field(field: &Type, name: String, drop: &HashSet<String>) -> Option<String> {
    if drop.contains(&name) || field.is_primitive() || is_variant(field) {
        return None;
    }
    if is_one_column(field) {
        return field.get_fields().iter().any(|child| has_variant(child)).then_some(name);
    }
    field.get_fields().iter().find_map(|child| in_field(child, format!("{name}.{}", child.name()), drop))
}

fn has_variant(field: &Type) -> bool {
    is_variant(field) || (field.is_group() && field.get_fields().iter().any(|child| has_variant(child)))
}

fn is_variant(field: &Type) -> bool {
    let is_repeated = || {
        let info = field.get_basic_info();
        info.has_repetition() && info.repetition() == Repetition::REPEATED
    };
    matches!(field.get_basic_info().logical_type_ref(), Some(LogicalType::Variant(_))) && !is_repeated()
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

    fn parsed(fields: &str) -> Type {
        parse_message_type(&format!("message m {{ {fields} }}")).unwrap()
    }

    fn listed(fields: &str, drop: &[&str]) -> Option<String> {
        first_listed_variant(&parsed(fields), &drop.iter().map(|name| (*name).to_owned()).collect())
    }

    #[test]
    fn finds_variants_outside_and_inside_lists() {
        let plain = "(VARIANT) { required binary metadata; required binary value; }";
        let shredded =
            "(VARIANT) { required binary metadata; optional binary value; optional int64 typed_value; }";
        for variant in [plain, shredded] {
            let outside =
                format!("optional group v {variant} required group a {{ required group b {variant} }}");
            assert_eq!(variants(&parsed(&outside)), ["v".to_owned(), "a.b".to_owned()].into());
            assert_eq!(listed(&outside, &[]), None);
            let list = format!(
                "optional group l (LIST) {{ repeated group list {{ optional group element {variant} }} }}"
            );
            assert!(variants(&parsed(&list)).is_empty());
            assert_eq!((listed(&list, &[]), listed(&list, &["l"])), (Some("l".into()), None));
            assert_eq!(listed(&list, &["l.list"]), Some("l".into()));
        }
        let bare = "required group v { required binary metadata; required binary value; }";
        assert!(variants(&parsed(bare)).is_empty() && listed(bare, &[]).is_none());
    }
}
