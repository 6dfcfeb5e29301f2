//! Parses query requests without a schema, and returns all validation errors at once.

pub(super) mod cursor;
pub(super) mod filter;
mod filter_parser;
pub(super) mod groups;
mod json;
mod reader;
mod synonyms;
pub(super) mod validation_error;

use mercato_format::Fingerprint;

use crate::request::cursor::Cursor;
use crate::request::filter::Expression;
use crate::request::groups::GroupRequest;
use crate::request::json::Json;
use crate::request::reader::{Reader, for_parameter, json_texts, malformed};
use crate::request::validation_error::{ValidationError, pointer_to};

/// Default page size.
pub const LIMIT_DEFAULT: u64 = 100;
/// Limit of columns whose values an estimate counts.
pub const FACETS_MAX: usize = 8;
/// Limit of columns in a request.
pub const COLUMNS_NAMED_MAX: usize = 16_384;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SortDirection {
    /// Smallest first.
    #[default]
    Ascending,
    /// Largest first.
    Descending,
}

/// The purpose of an estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Purpose {
    #[default]
    Page,
    Stream,
    Download,
}

/// A request whose fields have the right shapes.
#[derive(Debug, Clone, Default)]
pub struct QueryRequest {
    pub(crate) filters: Option<Expression>,
    pub(crate) columns: Vec<String>,
    pub(crate) limit: u64,
    pub(crate) offset: u64,
    pub(crate) sort_by: Option<String>,
    pub(crate) direction: SortDirection,
    pub(crate) cursor: Option<Cursor>,
    pub(crate) version: Option<String>,
    pub(crate) counts_exactly: bool,
    /// Groups of the rows instead of the rows.
    pub(crate) groups: Option<GroupRequest>,
    /// Rows that a group must have to be in the answer.
    pub(crate) group_rows_min: u64,
    /// Columns whose public values an estimate counts.
    pub(crate) facets: Vec<String>,
    purpose: Purpose,
}

impl QueryRequest {
    /// The first rows of the file, all columns.
    #[must_use]
    pub fn of_rows(limit: u64) -> QueryRequest {
        QueryRequest { limit, ..QueryRequest::default() }
    }

    /// Reads a JSON body. An empty body is an empty object; a field that is `null` counts as absent.
    ///
    /// # Errors
    /// The errors that need no schema, the first [`VALIDATION_ERRORS_MAX`](crate::VALIDATION_ERRORS_MAX).
    pub fn from_json(body: &[u8], limit_max: u64) -> Result<QueryRequest, Vec<ValidationError>> {
        into_result(QueryRequest::read_json(body, limit_max))
    }

    /// The valid part of a JSON body and its errors, the first
    /// [`VALIDATION_ERRORS_MAX`](crate::VALIDATION_ERRORS_MAX). With errors, the request has
    /// no cursor; planning it finds the errors that need a schema, so that all are reported at once.
    #[must_use]
    pub fn read_json(body: &[u8], limit_max: u64) -> (QueryRequest, Vec<ValidationError>) {
        Reader::new(limit_max).read_body(body)
    }

    /// As [`QueryRequest::read_json`] for an estimate. Its field `for` is `page` or `stream`, each with its own limit,
    /// or `download`, which allows no other field but the version.
    #[must_use]
    pub fn read_estimate(
        body: &[u8],
        page_limit_max: u64,
        stream_limit_max: u64,
    ) -> (QueryRequest, Vec<ValidationError>) {
        Reader::for_estimate(page_limit_max, stream_limit_max).read_body(body)
    }

    /// Parses percent-decoded query parameters: `filters` as JSON text, `columns` as a JSON list or comma-separated
    /// names.
    ///
    /// # Errors
    /// As [`QueryRequest::from_json`]; pointers are parameter names.
    pub fn from_pairs(
        pairs: &[(String, String)],
        limit_max: u64,
    ) -> Result<QueryRequest, Vec<ValidationError>> {
        into_result(QueryRequest::read_pairs(pairs, limit_max))
    }

    /// As [`QueryRequest::read_json`] for query parameters.
    #[must_use]
    pub fn read_pairs(pairs: &[(String, String)], limit_max: u64) -> (QueryRequest, Vec<ValidationError>) {
        let texts = json_texts(pairs);
        let mut reader = Reader::new(limit_max);
        let mut members = Vec::with_capacity(texts.len());
        for (name, text) in &texts {
            match Json::parse(text.as_bytes()) {
                Ok(json) => members.push((name.clone(), json)),
                Err(error) => reader.errors.push(malformed(&pointer_to("", name), &error)),
            }
        }
        reader.read(members);
        let (request, errors) = reader.end();
        (request, errors.into_iter().map(for_parameter).collect())
    }

    /// The filters in a canonical form: requests with the same text match the same rows. Empty without filters.
    #[must_use]
    pub fn filter_text(&self) -> String {
        self.filters.as_ref().map_or_else(String::new, Expression::canonical)
    }

    /// Whether the answer has groups in the place of rows.
    #[must_use]
    pub fn is_grouped(&self) -> bool {
        self.groups.is_some()
    }

    /// The same request without groups of fewer than so many rows.
    #[must_use]
    pub fn with_group_rows_min(self, group_rows_min: u64) -> QueryRequest {
        QueryRequest { group_rows_min, ..self }
    }

    /// The requested number of rows.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// The requested version as written; `None` for the current one.
    #[must_use]
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// The comparisons of the filter, and how many of them look for a text inside others: what counting its matches can
    /// cost.
    #[must_use]
    pub fn comparisons(&self) -> (u64, u64) {
        let mut found = Vec::new();
        if let Some(filters) = &self.filters {
            filters.collect_conditions(&mut found);
        }
        let patterns = found.iter().filter(|condition| condition.operator.is_pattern());
        (found.len() as u64, patterns.count() as u64)
    }

    /// The same request without its cursor.
    #[must_use]
    pub fn without_cursor(self) -> QueryRequest {
        QueryRequest { cursor: None, ..self }
    }

    /// The purpose of an estimate; a page for other requests.
    #[must_use]
    pub fn purpose(&self) -> Purpose {
        self.purpose
    }

    /// Replaces the cursor to resume a stream after its last event.
    ///
    /// # Errors
    /// An error with reason `CURSOR_INVALID`.
    pub fn resume_at(&mut self, cursor: &str) -> Result<(), ValidationError> {
        self.cursor = Some(Cursor::decode(cursor)?);
        Ok(())
    }

    /// The version of the cursor, if it names one.
    #[must_use]
    pub fn cursor_fingerprint(&self) -> Option<Fingerprint> {
        self.cursor.as_ref()?.binding().map(|binding| binding.fingerprint)
    }
}

/// The request if it is valid, else its errors.
fn into_result(
    (request, errors): (QueryRequest, Vec<ValidationError>),
) -> Result<QueryRequest, Vec<ValidationError>> {
    if errors.is_empty() { Ok(request) } else { Err(errors) }
}
