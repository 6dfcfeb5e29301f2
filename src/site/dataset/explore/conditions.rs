//! Conditions of a view: read from an address, written as filters of the API.
//!
//! Selects the tests by the type of a column; the query engine parses the literals.

use crate::catalog::{ColumnKind, ColumnMeta, Language, Table};
use crate::site::dataset::DatasetWords;
use crate::site::snippets::Json;
use crate::site::url::Url;
use crate::words::is_number;

/// Conditions of one view.
pub(super) const CONDITIONS_MAX: usize = 12;
/// Bytes of the value of a condition.
const VALUE_BYTES_MAX: usize = 500;
/// Digits that a double keeps. A number with more is sent as text, which the API reads exactly.
const EXACT_DIGITS_MAX: usize = 15;

/// How a value of a column is tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Test {
    Equal,
    NotEqual,
    AtLeast,
    AtMost,
    Above,
    Below,
    Contains,
    BeginsWith,
    EndsWith,
    True,
    False,
    Missing,
    Present,
}

const OF_TEXT: [Test; 5] = [Test::Equal, Test::NotEqual, Test::Contains, Test::BeginsWith, Test::EndsWith];
const OF_NUMBERS: [Test; 6] =
    [Test::AtLeast, Test::AtMost, Test::Equal, Test::NotEqual, Test::Above, Test::Below];
const OF_FLAGS: [Test; 2] = [Test::True, Test::False];
const OF_NULLS: [Test; 2] = [Test::Missing, Test::Present];

impl Test {
    /// The tests that suit a column; the first one is offered first.
    pub(super) fn of(meta: &ColumnMeta) -> Vec<Test> {
        let own: &[Test] = match meta.kind {
            ColumnKind::Text => &OF_TEXT,
            ColumnKind::Boolean => &OF_FLAGS,
            _ => &OF_NUMBERS,
        };
        let nulls: &[Test] = if meta.nullable { &OF_NULLS } else { &[] };
        own.iter().chain(nulls).copied().collect()
    }

    /// The word in addresses: that of the API, where it has one.
    pub(super) const fn code(self) -> &'static str {
        match self {
            Test::Equal => "eq",
            Test::NotEqual => "ne",
            Test::AtLeast => "gte",
            Test::AtMost => "lte",
            Test::Above => "gt",
            Test::Below => "lt",
            Test::Contains => "contains",
            Test::BeginsWith => "startsWith",
            Test::EndsWith => "endsWith",
            Test::True => "true",
            Test::False => "false",
            Test::Missing => "null",
            Test::Present => "notNull",
        }
    }

    /// The name of the test in a language.
    pub(super) const fn label(self, words: &DatasetWords) -> &'static str {
        match self {
            Test::Equal => words.test_equal,
            Test::NotEqual => words.test_not_equal,
            Test::AtLeast => words.test_at_least,
            Test::AtMost => words.test_at_most,
            Test::Above => words.test_above,
            Test::Below => words.test_below,
            Test::Contains => words.test_contains,
            Test::BeginsWith => words.test_begins_with,
            Test::EndsWith => words.test_ends_with,
            Test::True => words.word_true,
            Test::False => words.word_false,
            Test::Missing => words.test_missing,
            Test::Present => words.test_present,
        }
    }

    /// Whether it compares with a value.
    pub(super) const fn takes_value(self) -> bool {
        !matches!(self, Test::True | Test::False | Test::Missing | Test::Present)
    }

    /// Whether it looks into texts.
    pub(super) const fn is_pattern(self) -> bool {
        matches!(self, Test::Contains | Test::BeginsWith | Test::EndsWith)
    }
}

/// One condition, as the address has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Condition {
    pub(super) column: usize,
    pub(super) test: Test,
    pub(super) value: String,
}

impl Condition {
    /// The conditions of an address: columns, tests and values in the same order. A column that the table has not is left
    /// out; the column named by `add` begins a condition.
    pub(super) fn read(here: &Url, table: &Table) -> Vec<Condition> {
        let (tests, values) = (here.values("test"), here.values("value"));
        let named = here.values("filter").zip(tests).zip(values).take(CONDITIONS_MAX);
        let found = named.filter_map(|((name, test), value)| {
            let (column, meta) = column_named(table, name)?;
            let suiting = Test::of(meta);
            let test = suiting.iter().find(|suiting| suiting.code() == test).or(suiting.first())?;
            let end = value.floor_char_boundary(VALUE_BYTES_MAX);
            let value = value.get(..end).filter(|_| test.takes_value()).unwrap_or_default();
            Some(Condition { column, test: *test, value: value.to_owned() })
        });
        let added = here.values("add").next().and_then(|name| column_named(table, name));
        let added = added.and_then(|(column, meta)| {
            Some(Condition { column, test: *Test::of(meta).first()?, value: String::new() })
        });
        found.chain(added).take(CONDITIONS_MAX).collect()
    }

    /// The address with these conditions in the place of its own.
    pub(super) fn write(here: &Url, conditions: &[Condition], table: &Table) -> Url {
        let bare =
            ["filter", "test", "value", "add"].iter().fold(here.clone(), |url, name| url.without(name));
        conditions.iter().fold(bare, |url, condition| {
            let name = table.columns().get(condition.column).map_or("", |meta| meta.name.as_str());
            url.and("filter", name).and("test", condition.test.code()).and("value", &condition.value)
        })
    }

    /// Whether it says enough to be applied.
    pub(super) fn is_complete(&self) -> bool {
        !self.test.takes_value() || !self.value.is_empty()
    }

    /// The condition as JSON of the API. A literal that does not fit its column stays a text, so that the API refuses it.
    pub(super) fn literal(&self, meta: &ColumnMeta, language: Language) -> Json {
        match self.test {
            Test::True => Json::Flag(true),
            Test::False => Json::Flag(false),
            Test::Missing => Json::Object(vec![("isNull".to_owned(), Json::Flag(true))]),
            Test::Present => Json::Object(vec![("isNull".to_owned(), Json::Flag(false))]),
            Test::Equal => value_of(&self.value, meta.kind, language),
            other => {
                let value = value_of(&self.value, meta.kind, language);
                Json::Object(vec![(other.code().to_owned(), value)])
            }
        }
    }
}

fn column_named<'t>(table: &'t Table, name: &str) -> Option<(usize, &'t ColumnMeta)> {
    let column = table.column_index(name)?;
    Some((column, table.columns().get(column)?))
}

fn value_of(typed: &str, kind: ColumnKind, language: Language) -> Json {
    match kind {
        ColumnKind::Text | ColumnKind::Boolean => Json::Text(typed.to_owned()),
        ColumnKind::Date | ColumnKind::Timestamp { .. } => Json::Text(typed.trim().to_owned()),
        ColumnKind::Integer | ColumnKind::Decimal { .. } | ColumnKind::Float => {
            let number = plain_number(typed.trim(), language);
            let digits = number.bytes().filter(u8::is_ascii_digit).count();
            let keeps = digits <= EXACT_DIGITS_MAX || kind == ColumnKind::Float;
            if is_number(&number) && keeps { Json::Number(number) } else { Json::Text(number) }
        }
    }
}

/// A number as JSON writes it: without a plus sign and needless zeros; an Italian comma is a point.
fn plain_number(typed: &str, language: Language) -> String {
    let has_comma = language == Language::Italian && !typed.contains('.');
    let text = if has_comma { typed.replacen(',', ".", 1) } else { typed.to_owned() };
    let text = text.replacen('\u{2212}', "-", 1);
    let (sign, digits) = text.strip_prefix('-').map_or(("", text.as_str()), |rest| ("-", rest));
    let digits = digits.strip_prefix('+').filter(|_| sign.is_empty()).unwrap_or(digits);
    let trimmed = digits.trim_start_matches('0');
    let digits = match trimmed.bytes().next() {
        Some(b'0'..=b'9') => trimmed.to_owned(),
        _ if trimmed.len() < digits.len() || trimmed.starts_with('.') => format!("0{trimmed}"),
        _ => trimmed.to_owned(),
    };
    format!("{sign}{digits}")
}

/// The filters of the API for these conditions. One that stands alone for its column is written under the column's name;
/// where a column has several, each is a member of `$and`.
pub(super) fn filters(conditions: &[(String, Json)]) -> Json {
    let repeats = conditions
        .iter()
        .enumerate()
        .any(|(place, (name, _))| conditions.iter().take(place).any(|(earlier, _)| earlier == name));
    let member = |(name, test): &(String, Json)| (escaped(name), test.clone());
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
    fn converts_typed_number_to_json() {
        for (typed, language, expected) in [
            ("5", Language::English, "5"),
            ("+05.50", Language::English, "5.50"),
            (".5", Language::English, "0.5"),
            ("000", Language::English, "0"),
            ("-0,5", Language::Italian, "-0.5"),
            ("\u{2212}1.5", Language::Italian, "-1.5"),
            ("1,5", Language::English, "1,5"),
            ("abc", Language::English, "abc"),
            ("0x5", Language::English, "0x5"),
        ] {
            assert_eq!(plain_number(typed, language), expected, "{typed}");
        }
        let decimal = ColumnKind::Decimal { precision: 38, scale: 2 };
        let english = Language::English;
        assert_eq!(value_of("1.50", decimal, english), Json::Number("1.50".to_owned()));
        let long = "12345678901234567.25";
        assert_eq!(value_of(long, decimal, english), Json::Text(long.to_owned()));
        assert_eq!(value_of("1,5", ColumnKind::Float, english), Json::Text("1,5".to_owned()));
    }

    #[test]
    fn keeps_all_conditions_of_column() {
        let number = |text: &str| Json::Number(text.to_owned());
        let above = Json::Object(vec![("gte".to_owned(), number("1"))]);
        let below = Json::Object(vec![("lt".to_owned(), number("9"))]);
        let (a, b) = ("a".to_owned(), "$b".to_owned());
        let single = filters(&[(a.clone(), above.clone()), (b, number("2"))]);
        assert_eq!(single.line(), r#"{"a": {"gte": 1}, "$$b": 2}"#);
        let several = filters(&[(a.clone(), above), (a, below)]);
        assert_eq!(several.line(), r#"{"$and": [{"a": {"gte": 1}}, {"a": {"lt": 9}}]}"#);
    }
}
