//! Conditions as filters of the API.

use crate::site::snippets::Json;

/// A condition as a filter.
#[derive(Debug, Clone)]
pub(super) struct Applied {
    pub(super) name: String,
    pub(super) column: usize,
    /// Whether its test looks into texts.
    pub(super) is_pattern: bool,
    pub(super) literal: Json,
}

/// The filters of the API for these conditions. One that stands alone for its column is written under the column's name;
/// where a column has several, each is a member of `$and`.
pub(super) fn filters(conditions: &[Applied]) -> Json {
    let repeats = conditions
        .iter()
        .enumerate()
        .any(|(place, one)| conditions.iter().take(place).any(|earlier| earlier.name == one.name));
    let member = |one: &Applied| (escaped(&one.name), one.literal.clone());
    if repeats {
        let parts = conditions.iter().map(|condition| Json::Object(vec![member(condition)])).collect();
        return Json::Object(vec![("$and".to_owned(), Json::List(parts))]);
    }
    Json::Object(conditions.iter().map(member).collect())
}

/// A column whose name begins with `$` is no connective.
fn escaped(name: &str) -> String {
    if name.starts_with('$') { format!("${name}") } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_all_conditions_of_column() {
        let number = |text: &str| Json::Number(text.to_owned());
        let above = Json::Object(vec![("gte".to_owned(), number("1"))]);
        let below = Json::Object(vec![("lt".to_owned(), number("9"))]);
        let one = |name: &str, literal: &Json| Applied {
            name: name.to_owned(),
            column: 0,
            is_pattern: false,
            literal: literal.clone(),
        };
        let single = filters(&[one("a", &above), one("$b", &number("2"))]);
        assert_eq!(single.line(), r#"{"a": {"gte": 1}, "$$b": 2}"#);
        let several = filters(&[one("a", &above), one("a", &below)]);
        assert_eq!(several.line(), r#"{"$and": [{"a": {"gte": 1}}, {"a": {"lt": 9}}]}"#);
    }
}
