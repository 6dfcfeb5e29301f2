//! Conditions of a view, as the address of a page has them.
//!
//! Selects the tests by the type of a column; the query engine parses the literals. A condition that cannot be applied keeps
//! its place with its fault, because a view without it holds other rows than were asked for.

use crate::site::dataset::DatasetWords;
use crate::site::snippets::Json;
use mercato_base::words::is_number;
use mercato_catalog::{ColumnKind, ColumnMeta, FormatError, Table};
use mercato_query::WorkLimit;

use super::filters::Applied;
use super::view::is_refused;

/// Conditions of one view.
pub(super) const CONDITIONS_MAX: usize = 12;
/// Characters of the value of a condition.
pub(super) const VALUE_CHARS_MAX: usize = 500;
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
    /// The name of its column, also of one that the table has not.
    pub(super) name: String,
    pub(super) column: Option<usize>,
    /// The word of its test, also of one that does not suit the column.
    pub(super) code: String,
    /// Canonical, where it can be read.
    pub(super) value: String,
}

/// Why a condition cannot be applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// The table has no such column.
    Column,
    /// The column takes no such test.
    Test,
    /// The value is still to be chosen.
    Open,
    /// The value is too long.
    Long,
    /// The value is none of the column.
    Value,
    /// There are too many conditions.
    Many,
}

impl Condition {
    /// A condition that is still to be filled in.
    pub(super) fn begun(name: &str, table: &Table) -> Option<Self> {
        let (column, meta) = column_named(table, name)?;
        let test = Test::of(meta).into_iter().next()?;
        let (code, value) = (test.code().to_owned(), String::new());
        Some(Self { name: name.to_owned(), column: Some(column), code, value })
    }

    pub(super) fn meta<'t>(&self, table: &'t Table) -> Option<&'t ColumnMeta> {
        table.columns().get(self.column?)
    }

    /// Its test, where that suits the column.
    pub(super) fn test(&self, table: &Table) -> Option<Test> {
        Test::of(self.meta(table)?).into_iter().find(|test| test.code() == self.code)
    }

    /// Why it cannot be applied, looked at alone.
    ///
    /// # Errors
    /// The damage of the store file.
    pub(super) fn fault(&self, table: &Table, work: &dyn WorkLimit) -> Result<Option<Fault>, FormatError> {
        if self.column.is_none() {
            return Ok(Some(Fault::Column));
        }
        let Some(test) = self.test(table) else { return Ok(Some(Fault::Test)) };
        if !test.takes_value() {
            return Ok(None);
        }
        if self.value.is_empty() {
            return Ok(Some(Fault::Open));
        }
        if self.value.chars().count() > VALUE_CHARS_MAX {
            return Ok(Some(Fault::Long));
        }
        let is_sound = match self.applied(table) {
            Some(applied) => !is_refused(applied, table, work)?,
            None => false,
        };
        Ok((!is_sound).then_some(Fault::Value))
    }

    /// The condition as the API has it, where column and test are known.
    pub(super) fn applied(&self, table: &Table) -> Option<Applied> {
        let (meta, test) = (self.meta(table)?, self.test(table)?);
        let (name, literal) = (self.name.clone(), self.literal(meta, test));
        Some(Applied { name, column: self.column?, is_pattern: test.is_pattern(), literal })
    }

    /// A value that does not fit its column stays a text, so that the API refuses it.
    fn literal(&self, meta: &ColumnMeta, test: Test) -> Json {
        match test {
            Test::True => Json::Flag(true),
            Test::False => Json::Flag(false),
            Test::Missing => Json::Object(vec![("isNull".to_owned(), Json::Flag(true))]),
            Test::Present => Json::Object(vec![("isNull".to_owned(), Json::Flag(false))]),
            Test::Equal => value_of(&self.value, meta.kind),
            other => Json::Object(vec![(other.code().to_owned(), value_of(&self.value, meta.kind))]),
        }
    }
}

/// A column by its name.
pub(super) fn column_named<'t>(table: &'t Table, name: &str) -> Option<(usize, &'t ColumnMeta)> {
    let column = table.column_index(name)?;
    Some((column, table.columns().get(column)?))
}

/// A canonical value as JSON.
fn value_of(value: &str, kind: ColumnKind) -> Json {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    match kind {
        ColumnKind::Float if is_number(value) => Json::Number(value.to_owned()),
        ColumnKind::Integer | ColumnKind::Decimal { .. }
            if is_number(value) && digits <= EXACT_DIGITS_MAX =>
        {
            Json::Number(value.to_owned())
        }
        _ => Json::Text(value.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_digits_of_long_numbers() {
        let decimal = ColumnKind::Decimal { precision: 38, scale: 2 };
        assert_eq!(value_of("1.50", decimal), Json::Number("1.50".to_owned()));
        let long = "12345678901234567.25";
        assert_eq!(value_of(long, decimal), Json::Text(long.to_owned()));
        assert_eq!(value_of(long, ColumnKind::Float), Json::Number(long.to_owned()));
        assert_eq!(value_of("abc", ColumnKind::Float), Json::Text("abc".to_owned()));
    }
}
