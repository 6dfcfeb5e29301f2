//! What is wrong with a request, told to the one who made it. Knows no status code.

use std::fmt;

use crate::query::filter::CONNECTIVES;
use crate::query::synonyms::suggest;
use crate::words::{QUOTED_BYTES_MAX, shortened};

/// Faults of one list or object, or of a whole body, that are reported; reading stops there.
pub const VALIDATION_ERRORS_MAX: usize = 100;

/// Why a field is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The body is no JSON, or no object.
    MalformedJson,
    /// A field that the request does not have.
    UnknownField,
    /// A field that has no meaning beside another.
    FieldNotApplicable,
    /// A field that occurs twice.
    DuplicateField,
    /// A value of another JSON type than the field takes.
    WrongType,
    /// A number outside its range.
    OutOfRange,
    /// One of a few words was expected.
    UnknownWord,
    /// No column has this name.
    UnknownColumn,
    /// A column is asked for twice.
    DuplicateColumn,
    /// No operator has this name.
    UnknownOperator,
    /// The operator does not suit the column's type.
    OperatorNotApplicable,
    /// The literal cannot be compared with the column.
    TypeMismatch,
    /// Conditions are nested too deeply.
    FilterTooDeep,
    /// There are too many conditions.
    FilterTooLarge,
    /// The column has no sort index, and is too wide or the page too deep to be sorted in memory.
    SortNotIndexed,
    /// The cursor is not one that this service made.
    CursorInvalid,
    /// The cursor belongs to another query.
    CursorQueryMismatch,
    /// The version that the cursor began on is gone.
    CursorExpired,
    /// The dataset has no such version.
    VersionUnknown,
    /// The version was published once and cannot be read any more.
    VersionGone,
}

impl Reason {
    /// The word in answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Reason::MalformedJson => "MALFORMED_JSON",
            Reason::UnknownField => "UNKNOWN_FIELD",
            Reason::FieldNotApplicable => "FIELD_NOT_APPLICABLE",
            Reason::DuplicateField => "DUPLICATE_FIELD",
            Reason::WrongType => "WRONG_TYPE",
            Reason::OutOfRange => "OUT_OF_RANGE",
            Reason::UnknownWord => "UNKNOWN_VALUE",
            Reason::UnknownColumn => "UNKNOWN_COLUMN",
            Reason::DuplicateColumn => "DUPLICATE_COLUMN",
            Reason::UnknownOperator => "UNKNOWN_OPERATOR",
            Reason::OperatorNotApplicable => "OPERATOR_NOT_APPLICABLE",
            Reason::TypeMismatch => "TYPE_MISMATCH",
            Reason::FilterTooDeep => "FILTER_TOO_DEEP",
            Reason::FilterTooLarge => "FILTER_TOO_LARGE",
            Reason::SortNotIndexed => "SORT_NOT_INDEXED",
            Reason::CursorInvalid => "CURSOR_INVALID",
            Reason::CursorQueryMismatch => "CURSOR_QUERY_MISMATCH",
            Reason::CursorExpired => "CURSOR_EXPIRED",
            Reason::VersionUnknown => "VERSION_UNKNOWN",
            Reason::VersionGone => "VERSION_GONE",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

/// A validation error of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValidationError {
    /// Why.
    pub reason: Reason,
    /// Where: RFC 6901 into the body.
    pub pointer: String,
    /// What was expected and what was found.
    pub message: String,
    /// What to do.
    pub hint: String,
    /// What would have been taken instead, where that is a short list.
    pub allowed: Vec<String>,
    /// The nearest name.
    pub suggestion: Option<String>,
}

/// Names listed as allowed, at most.
const ALLOWED_NAMES_MAX: usize = 64;
/// Bytes of a name repeated in a pointer, at most: no key of a filter that means a column is longer, be it with `_min`.
const STEP_BYTES_MAX: usize = mercato_format::limits::NAME_BYTES_MAX + 4;
/// Names among which the nearest is looked for, at most.
const NAMES_COMPARED_MAX: usize = 1_000;

impl ValidationError {
    /// An error without list and suggestion.
    #[must_use]
    pub fn new(
        reason: Reason,
        pointer: &str,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> ValidationError {
        ValidationError {
            reason,
            pointer: pointer.into(),
            message: message.into(),
            hint: hint.into(),
            allowed: Vec::new(),
            suggestion: None,
        }
    }

    /// Adds the names that would be taken, and the one nearest to what was found.
    #[must_use]
    pub fn with_names<'a>(mut self, found: &str, names: impl Iterator<Item = &'a str>) -> ValidationError {
        let names: Vec<&str> = names.collect();
        self.suggestion = suggest(found, &names).or_else(|| nearest(found, &names)).map(String::from);
        if let Some(name) = &self.suggestion {
            self.hint = format!("did you mean `{name}`?");
        }
        self.allowed = names.into_iter().take(ALLOWED_NAMES_MAX).map(String::from).collect();
        self
    }

    /// Suggests `$and`, `$or` or `$not` where a name means that elsewhere and no column is near.
    #[must_use]
    pub fn or_connective(mut self, found: &str) -> ValidationError {
        if self.suggestion.is_none()
            && let Some(name) = suggest(found, &CONNECTIVES)
        {
            self.hint = format!("did you mean `{name}`?");
            self.suggestion = Some(name.to_owned());
        }
        self
    }

    /// The cursor's version is not served any more.
    #[must_use]
    pub fn cursor_expired() -> ValidationError {
        let message = "the dataset version that it began on is not served any more";
        ValidationError::new(Reason::CursorExpired, "/cursor", message, "begin again without a cursor")
    }
}

/// The name nearest to `found` by Damerau-Levenshtein distance, if it is near at all.
fn nearest<'a>(found: &str, names: &[&'a str]) -> Option<&'a str> {
    let found = found.get(..found.len().min(QUOTED_BYTES_MAX)).unwrap_or_default().to_lowercase();
    let length = found.chars().count();
    let most = (length / 3).max(1);
    names
        .iter()
        .take(NAMES_COMPARED_MAX)
        // The distance is at least the difference of the lengths, which is found sooner.
        .filter(|name| name.chars().count().abs_diff(length) <= most)
        .map(|name| (strsim::damerau_levenshtein(&found, &name.to_lowercase()), *name))
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// A pointer one step further down. Of a name that no column can have only the beginning is repeated.
#[must_use]
pub fn pointer_to(parent: &str, step: &str) -> String {
    let (step, rest) = shortened(step, STEP_BYTES_MAX);
    format!("{parent}/{}{rest}", step.replace('~', "~0").replace('/', "~1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_suggested_and_a_far_one_is_not() {
        let names = ["l_orderkey", "l_partkey", "price"];
        assert_eq!(nearest("l_orderkeys", &names), Some("l_orderkey"));
        assert_eq!(nearest("PRICE", &names), Some("price"));
        assert_eq!(nearest("colour", &names), None);
    }

    #[test]
    fn pointers_escape_slash_and_tilde() {
        assert_eq!(pointer_to("/filters", "a/b~c"), "/filters/a~1b~0c");
        let longest = "é".repeat(STEP_BYTES_MAX / 2);
        assert_eq!(pointer_to("", &longest), format!("/{longest}"));
        assert_eq!(pointer_to("", &format!("{longest}é")), format!("/{longest}…"));
    }
}
