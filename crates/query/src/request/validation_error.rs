//! Validation errors of requests, for the client. Does not depend on status codes.

use std::fmt;

use crate::request::filter::CONNECTIVES;
use crate::request::synonyms::suggest;
use mercato_base::words::{QUOTED_BYTES_MAX, shortened};

/// Limit of reported errors in a list, an object or a body; parsing stops there.
pub const VALIDATION_ERRORS_MAX: usize = 100;

/// The reason of a validation error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The body is no JSON, or no object.
    MalformedJson,
    UnknownField,
    /// A field that another field excludes.
    FieldNotApplicable,
    DuplicateField,
    /// A value of the wrong JSON type.
    WrongType,
    /// A number out of range.
    OutOfRange,
    /// An unknown word where one of a few is expected.
    UnknownWord,
    UnknownColumn,
    DuplicateColumn,
    UnknownOperator,
    /// The operator does not suit the column's type.
    OperatorNotApplicable,
    /// The type of the literal does not match the column.
    TypeMismatch,
    /// The filter is nested too deeply.
    FilterTooDeep,
    /// The filter has too many conditions.
    FilterTooLarge,
    /// The column has no sort index, and the sort is too large for memory.
    SortNotIndexed,
    /// The statistics of the column tell no frequent values.
    NoPublicValues,
    CursorInvalid,
    /// The cursor belongs to another query.
    CursorQueryMismatch,
    /// The version of the cursor is no longer served.
    CursorExpired,
    /// The dataset has no such version.
    VersionUnknown,
    /// The version was published and is no longer served.
    VersionGone,
}

impl Reason {
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
            Reason::NoPublicValues => "NO_PUBLIC_VALUES",
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
    pub reason: Reason,
    /// JSON pointer into the body (RFC 6901).
    pub pointer: String,
    /// The expected and the found value.
    pub message: String,
    /// How to correct the request.
    pub hint: String,
    /// The allowed values, if the list is short.
    pub allowed: Vec<String>,
    pub suggestion: Option<String>,
}

/// Limit of listed allowed names.
const ALLOWED_NAMES_MAX: usize = 64;
/// Length limit of a name in a pointer: the longest column name with a suffix such as `_min`.
const STEP_BYTES_MAX: usize = mercato_format::limits::NAME_BYTES_MAX + 4;
/// Limit of names compared for a suggestion.
const NAMES_COMPARED_MAX: usize = 1_000;

impl ValidationError {
    /// A validation error without allowed values and suggestion.
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

    /// Adds the allowed names and the one nearest to `found`.
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

    /// Suggests `$and`, `$or` or `$not` for a synonym of them, if no column is near.
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

    /// The error of a cursor whose version is no longer served.
    #[must_use]
    pub fn cursor_expired() -> ValidationError {
        let message = "the dataset version that it began on is not served any more";
        ValidationError::new(Reason::CursorExpired, "/cursor", message, "begin again without a cursor")
    }
}

/// The name nearest to `found` by Damerau-Levenshtein distance, if near enough.
fn nearest<'a>(found: &str, names: &[&'a str]) -> Option<&'a str> {
    let found = found.get(..found.len().min(QUOTED_BYTES_MAX)).unwrap_or_default().to_lowercase();
    let length = found.chars().count();
    let most = (length / 3).max(1);
    names
        .iter()
        .take(NAMES_COMPARED_MAX)
        // The difference of the lengths is a cheap lower bound of the distance.
        .filter(|name| name.chars().count().abs_diff(length) <= most)
        .map(|name| (strsim::damerau_levenshtein(&found, &name.to_lowercase()), *name))
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Appends a step to a pointer. Truncates a name that no column can have.
#[must_use]
pub fn pointer_to(parent: &str, step: &str) -> String {
    let (step, rest) = shortened(step, STEP_BYTES_MAX);
    format!("{parent}/{}{rest}", step.replace('~', "~0").replace('/', "~1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_near_names_only() {
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
