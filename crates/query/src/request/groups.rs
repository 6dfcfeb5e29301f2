//! The fields of a group query: `groupBy`, `aggregates` and `having`. A column is only a name.

use crate::plan::literal::Decimal;
use crate::request::filter::Expression;
use crate::request::json::Json;
use crate::request::validation_error::{Reason, VALIDATION_ERRORS_MAX, ValidationError, pointer_to};
use mercato_base::words::{NAME_UNKNOWN, any_of, found_text, quoted};
use mercato_format::limits::NAME_BYTES_MAX;

/// Limit of columns to group by.
pub const GROUP_COLUMNS_MAX: usize = 16;
/// Limit of aggregates of a request.
pub const AGGREGATES_MAX: usize = 64;
/// Digits of `q` after the point.
const QUANTILE_DIGITS_MAX: u8 = 18;
/// A quantile of 1 in units of its last digit.
const QUANTILE_ONE: i128 = 10_i128.pow(QUANTILE_DIGITS_MAX as u32);

/// A group query: groups of rows, and aggregates of each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupRequest {
    pub(crate) keys: Vec<KeyRequest>,
    pub(crate) aggregates: Vec<AggregateRequest>,
    pub(crate) having: Option<Expression>,
    /// Whether the fields have the right shapes. Otherwise only the columns of the valid part are checked.
    pub(crate) is_sound: bool,
}

/// A column to group by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyRequest {
    /// Where it stands in the request, and where the name of its column does.
    pub(crate) pointer: String,
    pub(crate) column_pointer: String,
    pub(crate) column: String,
    pub(crate) bucket: Option<BucketRequest>,
    /// The name of the result column.
    pub(crate) name: String,
}

/// The part of a value by which rows are grouped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BucketRequest {
    Period(Period),
    /// The width of a bucket, as written.
    Width(String),
}

/// A period of the calendar, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Period {
    Year,
    Quarter,
    Month,
    /// From Monday on.
    Week,
    Day,
    Hour,
}

const PERIODS: [(&str, Period); 6] = [
    ("year", Period::Year),
    ("quarter", Period::Quarter),
    ("month", Period::Month),
    ("week", Period::Week),
    ("day", Period::Day),
    ("hour", Period::Hour),
];

/// What is counted of the rows of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AggregateRequest {
    pub(crate) pointer: String,
    pub(crate) name: String,
    pub(crate) operation: Operation,
    /// The column; only `count` may have none.
    pub(crate) column: Option<String>,
}

/// The operation of an aggregate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Count,
    CountDistinct,
    Sum,
    Average,
    Smallest,
    Largest,
    /// The smallest value that at least this share of the values does not exceed.
    Quantile(Share),
}

/// A share of rows from 0 to 1, exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Share(i128);

impl Share {
    const HALF: Share = Share(QUANTILE_ONE / 2);

    /// The share, if it is a number from 0 to 1 with at most 18 digits.
    fn parse(text: &str) -> Option<Share> {
        let found = text.parse::<Decimal>().ok()?.scaled_floor(QUANTILE_DIGITS_MAX);
        (found.exact && (0..=QUANTILE_ONE).contains(&found.floor)).then_some(Share(found.floor))
    }

    /// The number of the quantile among `count` sorted values, counted from 0.
    pub(crate) fn rank(self, count: u64) -> u64 {
        let product = self.0.saturating_mul(count.into());
        let up = product / QUANTILE_ONE + i128::from(product % QUANTILE_ONE != 0);
        u64::try_from(up).unwrap_or(u64::MAX).saturating_sub(1)
    }
}

const QUANTILE: &str = "quantile";
const OPERATIONS: [(&str, Operation); 8] = [
    ("count", Operation::Count),
    ("countDistinct", Operation::CountDistinct),
    ("sum", Operation::Sum),
    ("avg", Operation::Average),
    ("min", Operation::Smallest),
    ("max", Operation::Largest),
    ("median", Operation::Quantile(Share::HALF)),
    (QUANTILE, Operation::Quantile(Share::HALF)),
];

impl GroupRequest {
    /// A canonical text, equal for requests with the same groups.
    pub(crate) fn canonical(&self) -> String {
        let keys = self.keys.iter().map(|key| (&key.column, &key.bucket, &key.name));
        let aggregates = self.aggregates.iter().map(|found| (&found.name, found.operation, &found.column));
        let (keys, aggregates): (Vec<_>, Vec<_>) = (keys.collect(), aggregates.collect());
        let having = self.having.as_ref().map(Expression::canonical).unwrap_or_default();
        format!("{keys:?}\n{aggregates:?}\n{having}")
    }

    /// Names of the result columns, in their order, and where each stands in the request.
    pub(crate) fn names(&self) -> impl Iterator<Item = (&str, &str)> {
        let keys = self.keys.iter().map(|key| (key.name.as_str(), key.pointer.as_str()));
        keys.chain(self.aggregates.iter().map(|found| (found.name.as_str(), found.pointer.as_str())))
    }

    /// The fault of a name that two result columns have.
    pub(super) fn repeated_name(&self) -> Option<ValidationError> {
        let mut seen = Vec::new();
        for (name, pointer) in self.names() {
            if seen.contains(&name) {
                let message = format!("the name {} is that of another column of the answer", quoted(name));
                let hint = "give each a name of its own: `as` in `groupBy`, the key in `aggregates`";
                return Some(ValidationError::new(Reason::DuplicateColumn, pointer, message, hint));
            }
            seen.push(name);
        }
        None
    }
}

type Read<T> = Result<T, ValidationError>;

/// Reads `groupBy`.
pub(super) fn read_keys(pointer: &str, value: Json<'_>) -> Result<Vec<KeyRequest>, Vec<ValidationError>> {
    let hint = "send a list such as [\"city\", {\"column\": \"day\", \"by\": \"month\"}]";
    let items = value.items().filter(|items| items.len() <= GROUP_COLUMNS_MAX).ok_or_else(|| {
        let found = value.items().map_or(value.type_name().to_owned(), |items| items.len().to_string());
        let message = format!("expected a list of at most {GROUP_COLUMNS_MAX} columns, found {found}");
        vec![ValidationError::new(Reason::WrongType, pointer, message, hint)]
    })?;
    let keys = items.into_iter().enumerate();
    all(keys.map(|(number, item)| read_key(&pointer_to(pointer, &number.to_string()), item)))
}

fn read_key(pointer: &str, value: Json<'_>) -> Read<KeyRequest> {
    if let Some(column) = value.text() {
        let (name, pointer) = (column.clone(), pointer.to_owned());
        return Ok(KeyRequest { column_pointer: pointer.clone(), pointer, column, bucket: None, name });
    }
    let fields = Fields::of(pointer, value, &["column", "by", "width", "as"], "the name of a column")?;
    let column = fields.text("column")?.ok_or_else(|| fields.missing("column", "a column"))?;
    let period = fields.word("by", &PERIODS)?.map(BucketRequest::Period);
    let width = fields.number("width")?.map(BucketRequest::Width);
    if period.is_some() && width.is_some() {
        let message = "expected `by` or `width`, found both";
        let hint = "`by` is for datetimes, `width` for numbers";
        return Err(ValidationError::new(Reason::FieldNotApplicable, pointer, message, hint));
    }
    let name = fields.text("as")?.map(|name| checked_name(&pointer_to(pointer, "as"), name)).transpose()?;
    let name = name.unwrap_or_else(|| column.clone());
    let (pointer, column_pointer) = (pointer.to_owned(), pointer_to(pointer, "column"));
    Ok(KeyRequest { pointer, column_pointer, column, bucket: period.or(width), name })
}

/// Reads `aggregates`.
pub(super) fn read_aggregates(
    pointer: &str,
    value: Json<'_>,
) -> Result<Vec<AggregateRequest>, Vec<ValidationError>> {
    let members = value.members(AGGREGATES_MAX + 1).filter(|members| members.len() <= AGGREGATES_MAX);
    let members = members.ok_or_else(|| {
        let found = if value.members(0).is_some() { "more" } else { value.type_name() };
        let message = format!("expected an object of at most {AGGREGATES_MAX} aggregates, found {found}");
        let hint = "send an object such as {\"total\": {\"op\": \"sum\", \"column\": \"price\"}}";
        vec![ValidationError::new(Reason::WrongType, pointer, message, hint)]
    })?;
    all(members.into_iter().map(|(name, value)| read_aggregate(&pointer_to(pointer, &name), name, value)))
}

fn read_aggregate(pointer: &str, name: String, value: Json<'_>) -> Read<AggregateRequest> {
    let name = checked_name(pointer, name)?;
    let fields = Fields::of(pointer, value, &["op", "column", "q"], "an aggregate")?;
    let word = fields.word("op", &OPERATIONS.map(|(word, _)| (word, word)))?;
    let word = word.ok_or_else(|| fields.missing("op", &any_of(OPERATIONS.iter().map(|(word, _)| *word))))?;
    let operation = OPERATIONS.iter().find(|(known, _)| *known == word).map(|(_, operation)| *operation);
    let mut operation = operation.unwrap_or(Operation::Count);
    let column = fields.text("column")?;
    if column.is_none() && operation != Operation::Count {
        return Err(fields.missing("column", "the name of a column"));
    }
    let share = fields.number("q")?;
    if word == QUANTILE {
        let expected = "a number from 0 to 1 with at most 18 digits";
        let text = share.ok_or_else(|| fields.missing("q", expected))?;
        let message = || format!("expected {expected}, found {}", found_text(&text));
        let refuse = || {
            let pointer = pointer_to(pointer, "q");
            ValidationError::new(Reason::OutOfRange, &pointer, message(), format!("send {expected}"))
        };
        operation = Operation::Quantile(Share::parse(&text).ok_or_else(refuse)?);
    } else if share.is_some() {
        let (pointer, message) = (pointer_to(pointer, "q"), "only `quantile` takes it");
        return Err(ValidationError::new(Reason::FieldNotApplicable, &pointer, message, "leave it out"));
    }
    Ok(AggregateRequest { pointer: pointer.to_owned(), name, operation, column })
}

/// A name that a column of a table may have.
fn checked_name(pointer: &str, name: String) -> Read<String> {
    if (1..=NAME_BYTES_MAX).contains(&name.len()) {
        return Ok(name);
    }
    let message = format!("expected a name of 1 to {NAME_BYTES_MAX} bytes, found {}", name.len());
    Err(ValidationError::new(Reason::OutOfRange, pointer, message, "choose a shorter name that is not empty"))
}

/// All values, or the faults, as many as are reported.
fn all<T>(read: impl Iterator<Item = Read<T>>) -> Result<Vec<T>, Vec<ValidationError>> {
    let (mut found, mut errors) = (Vec::new(), Vec::new());
    for result in read {
        match result {
            Ok(value) => found.push(value),
            Err(error) if errors.len() < VALIDATION_ERRORS_MAX => errors.push(error),
            Err(_) => (),
        }
    }
    if errors.is_empty() { Ok(found) } else { Err(errors) }
}

/// The members of an object whose names are known; a member that is `null` counts as absent.
struct Fields<'p, 'j> {
    pointer: &'p str,
    members: Vec<(String, Json<'j>)>,
}

impl<'p, 'j> Fields<'p, 'j> {
    fn of(pointer: &'p str, value: Json<'j>, names: &[&'static str], what: &str) -> Read<Fields<'p, 'j>> {
        let Some(members) = value.members(names.len() + 1) else {
            let message = format!("expected {what} or an object, found {}", value.type_name());
            let hint = format!("send {what}, or an object with {}", any_of(names.iter().copied()));
            return Err(ValidationError::new(Reason::WrongType, pointer, message, hint));
        };
        for (number, (name, _)) in members.iter().enumerate() {
            let at = pointer_to(pointer, name);
            if !names.contains(&name.as_str()) {
                let error = ValidationError::new(Reason::UnknownField, &at, NAME_UNKNOWN, "leave it out");
                return Err(error.with_names(name, names.iter().copied()));
            }
            if members.iter().take(number).any(|(other, _)| other == name) {
                let message = "the field occurs more than once";
                return Err(ValidationError::new(Reason::DuplicateField, &at, message, "send it once"));
            }
        }
        Ok(Fields { pointer, members })
    }

    fn get(&self, name: &str) -> Option<Json<'j>> {
        let found = self.members.iter().find(|(found, _)| found == name).map(|(_, value)| *value);
        found.filter(|value| !matches!(value, Json::Null))
    }

    fn wrong(&self, name: &str, value: Json<'_>, expected: &str) -> ValidationError {
        let message = format!("expected {expected}, found {}", value.type_name());
        let pointer = pointer_to(self.pointer, name);
        ValidationError::new(Reason::WrongType, &pointer, message, format!("send {expected}"))
    }

    /// The fault of a field that is not there.
    fn missing(&self, name: &str, expected: &str) -> ValidationError {
        let message = format!("expected {expected}, found nothing");
        let pointer = pointer_to(self.pointer, name);
        ValidationError::new(Reason::WrongType, &pointer, message, format!("send {expected} as `{name}`"))
    }

    fn text(&self, name: &str) -> Read<Option<String>> {
        let Some(value) = self.get(name) else { return Ok(None) };
        value.text().map(Some).ok_or_else(|| self.wrong(name, value, "a string"))
    }

    fn number(&self, name: &str) -> Read<Option<String>> {
        match self.get(name) {
            None => Ok(None),
            Some(Json::Number(text)) => Ok(Some(text.to_owned())),
            Some(value) => Err(self.wrong(name, value, "a number")),
        }
    }

    fn word<T: Copy>(&self, name: &str, words: &[(&'static str, T)]) -> Read<Option<T>> {
        let Some(typed) = self.text(name)? else { return Ok(None) };
        let names = || words.iter().map(|(word, _)| *word);
        if let Some((_, meant)) = words.iter().find(|(word, _)| *word == typed) {
            return Ok(Some(*meant));
        }
        let message = format!("expected {}, found {}", any_of(names()), quoted(&typed));
        let (pointer, hint) = (pointer_to(self.pointer, name), format!("send {}", any_of(names())));
        let error = ValidationError::new(Reason::UnknownWord, &pointer, message, hint);
        Err(error.with_names(&typed, names()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantile_ranks_are_exact() {
        let rank = |text: &str, count: u64| Share::parse(text).unwrap().rank(count);
        for (text, count, expected) in [
            ("0", 10, 0),
            ("0.5", 1, 0),
            ("0.5", 2, 0),
            ("0.5", 3, 1),
            ("0.07", 100, 6),
            ("0.95", 100, 94),
            ("0.950000000000000001", 100, 95),
            ("1", 10, 9),
            ("1.0", 4_000_000_000, 3_999_999_999),
        ] {
            assert_eq!(rank(text, count), expected, "{text} of {count}");
        }
        assert_eq!(Share::HALF.rank(5), 2);
        for text in ["-0.1", "1.1", "0.9500000000000000001", "1e-19", "1e400"] {
            assert_eq!(Share::parse(text), None, "{text}");
        }
    }
}
