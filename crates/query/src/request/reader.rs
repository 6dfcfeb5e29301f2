//! Reads the fields of a request from JSON, and query parameters as JSON texts.

use crate::plan::literal;
use crate::request::cursor::Cursor;
use crate::request::filter_parser::parse_filters;
use crate::request::groups::{read_aggregates, read_keys};
use crate::request::json::Json;
use crate::request::validation_error::{Reason, VALIDATION_ERRORS_MAX, ValidationError, pointer_to};
use crate::request::{COLUMNS_NAMED_MAX, FACETS_MAX, LIMIT_DEFAULT, Purpose, QueryRequest, SortDirection};
use mercato_base::words::{NAME_UNKNOWN, any_of, found_text, grouped, is_number, quoted, whole_number};

/// Limit of members in a body. Every member but the first of each field is an error, and errors have a lower limit.
const MEMBERS_MAX: usize = 2 * VALIDATION_ERRORS_MAX;

const FIELDS: [&str; 12] = [
    "filters",
    "columns",
    "limit",
    "offset",
    "sortBy",
    "sortDirection",
    "cursor",
    "version",
    "count",
    "groupBy",
    "aggregates",
    "having",
];
/// The field of an estimate with its purpose.
const PURPOSE: &str = "for";
/// The field of an estimate with the columns whose values are counted.
const FACETS: &str = "facets";
/// The only field allowed beside the purpose `download`.
const VERSION: &str = "version";

/// Reads the fields of a request and collects all errors.
pub(super) struct Reader {
    limit_max: u64,
    /// Row limit of a stream, for estimates only.
    stream_limit_max: Option<u64>,
    request: QueryRequest,
    pub(super) errors: Vec<ValidationError>,
    /// Errors of `groupBy`, `aggregates` and `having` among them.
    group_errors: usize,
}

impl Reader {
    pub(super) fn new(limit_max: u64) -> Reader {
        let request = QueryRequest { limit: LIMIT_DEFAULT.min(limit_max), ..QueryRequest::default() };
        Reader { limit_max, stream_limit_max: None, request, errors: Vec::new(), group_errors: 0 }
    }

    pub(super) fn for_estimate(page_limit_max: u64, stream_limit_max: u64) -> Reader {
        Reader { stream_limit_max: Some(stream_limit_max), ..Reader::new(page_limit_max) }
    }

    pub(super) fn read_body(mut self, body: &[u8]) -> (QueryRequest, Vec<ValidationError>) {
        if body.iter().all(u8::is_ascii_whitespace) {
            return self.end();
        }
        match Json::parse(body) {
            Ok(json) => {
                if let Some(members) = json.members(MEMBERS_MAX) {
                    self.read_purpose(&members);
                    self.read(members);
                } else {
                    let message = format!("expected a JSON object, found {}", json.type_name());
                    let hint = "send an object such as {\"limit\": 100}";
                    self.errors.push(ValidationError::new(Reason::MalformedJson, "", message, hint));
                }
            }
            Err(error) => self.errors.push(malformed("", &error)),
        }
        self.end()
    }

    /// Reads the purpose first, because it sets the row limit.
    fn read_purpose(&mut self, members: &[(String, Json<'_>)]) {
        let Some(stream_limit_max) = self.stream_limit_max else { return };
        let found = members.iter().find(|(name, _)| name == PURPOSE).map(|(_, value)| *value);
        let Some(value) = found.filter(|value| !matches!(value, Json::Null)) else { return };
        let words = [("page", Purpose::Page), ("stream", Purpose::Stream), ("download", Purpose::Download)];
        match one_of(&pointer_to("", PURPOSE), value, &words) {
            Ok(purpose) => self.request.purpose = purpose,
            Err(error) => self.errors.push(error),
        }
        if self.request.purpose == Purpose::Stream {
            self.limit_max = stream_limit_max;
        }
    }

    pub(super) fn read(&mut self, members: Vec<(String, Json<'_>)>) {
        let mut seen: Vec<String> = Vec::new();
        for (name, value) in members {
            if self.errors.len() >= VALIDATION_ERRORS_MAX {
                break;
            }
            let pointer = pointer_to("", &name);
            if seen.contains(&name) {
                let message = "the field occurs more than once";
                self.errors.push(ValidationError::new(
                    Reason::DuplicateField,
                    &pointer,
                    message,
                    "send it once",
                ));
            } else if name == PURPOSE && self.stream_limit_max.is_some() {
                // Already read.
            } else if !(FIELDS.contains(&name.as_str()) || name == FACETS && self.stream_limit_max.is_some())
            {
                let error =
                    ValidationError::new(Reason::UnknownField, &pointer, NAME_UNKNOWN, "leave it out");
                self.errors.push(error.with_names(&name, FIELDS.into_iter()));
            } else if self.request.purpose == Purpose::Download
                && name != VERSION
                && !matches!(value, Json::Null)
            {
                let message = "a download is the whole version, so nothing narrows it down";
                let hint = "leave the field out, or estimate a stream: {\"for\": \"stream\"}";
                self.errors.push(ValidationError::new(Reason::FieldNotApplicable, &pointer, message, hint));
            } else if !matches!(value, Json::Null)
                && let Err(mut errors) = self.field(&name, &pointer, value)
            {
                self.errors.append(&mut errors);
            }
            seen.push(name);
        }
    }

    pub(super) fn end(mut self) -> (QueryRequest, Vec<ValidationError>) {
        if let Some(fault) = self.check_groups() {
            self.errors.push(fault);
            self.group_errors += 1;
        }
        if let Some(groups) = &mut self.request.groups {
            groups.is_sound = self.group_errors == 0;
        }
        self.request.cursor = self.request.cursor.filter(|_| self.errors.is_empty());
        self.errors.truncate(VALIDATION_ERRORS_MAX);
        (self.request, self.errors)
    }

    /// The fault of a group query whose fields do not go together.
    fn check_groups(&self) -> Option<ValidationError> {
        let groups = self.request.groups.as_ref()?;
        if !self.request.columns.is_empty() {
            let message = "an answer of groups has the columns of `groupBy` and `aggregates`";
            let hint = "leave `columns` out, or `groupBy` and `aggregates`";
            return Some(ValidationError::new(Reason::FieldNotApplicable, "/columns", message, hint));
        }
        if self.group_errors == 0 && groups.keys.is_empty() && groups.aggregates.is_empty() {
            let pointer = if groups.having.is_some() { "/having" } else { "/groupBy" };
            let message = "expected columns to group by or aggregates, found none";
            let hint = "name a column in `groupBy`, or send {\"rows\": {\"op\": \"count\"}} as `aggregates`";
            return Some(ValidationError::new(Reason::FieldNotApplicable, pointer, message, hint));
        }
        groups.repeated_name()
    }

    /// Reads a field of a group query.
    fn group_field(
        &mut self,
        name: &str,
        pointer: &str,
        value: Json<'_>,
    ) -> Result<(), Vec<ValidationError>> {
        let groups = self.request.groups.get_or_insert_default();
        let read = match name {
            "groupBy" => read_keys(pointer, value).map(|keys| groups.keys = keys),
            "aggregates" => read_aggregates(pointer, value).map(|found| groups.aggregates = found),
            _ => {
                let (having, errors) = parse_filters(pointer, value);
                groups.having = having;
                if errors.is_empty() { Ok(()) } else { Err(errors) }
            }
        };
        read.inspect_err(|errors| self.group_errors += errors.len())
    }

    fn field(&mut self, name: &str, pointer: &str, value: Json<'_>) -> Result<(), Vec<ValidationError>> {
        let one = |error: ValidationError| vec![error];
        match name {
            "filters" => {
                let (filters, errors) = parse_filters(pointer, value);
                self.request.filters = filters;
                if !errors.is_empty() {
                    return Err(errors);
                }
            }
            "columns" => {
                let hint =
                    "send a list of column names such as [\"id\", \"price\"]; leave it out for all columns";
                self.request.columns = column_names(pointer, value, COLUMNS_NAMED_MAX, hint)?;
            }
            FACETS => {
                let hint = &format!("send a list of at most {FACETS_MAX} column names such as [\"status\"]");
                self.request.facets = column_names(pointer, value, FACETS_MAX, hint)?;
            }
            "groupBy" | "aggregates" | "having" => self.group_field(name, pointer, value)?,
            "limit" => self.request.limit = integer(pointer, value, 1, self.limit_max).map_err(one)?,
            "offset" => self.request.offset = integer(pointer, value, 0, u64::MAX).map_err(one)?,
            "sortBy" => {
                self.request.sort_by = Some(text(pointer, value, "the name of a column").map_err(one)?)
            }
            "sortDirection" => {
                let words = [("asc", SortDirection::Ascending), ("desc", SortDirection::Descending)];
                self.request.direction = one_of(pointer, value, &words).map_err(one)?;
            }
            "count" => {
                self.request.counts_exactly = one_of(pointer, value, &[("exact", true)]).map_err(one)?
            }
            "version" => {
                let version = text(pointer, value, "a version such as \"1.0.0\"").map_err(one)?;
                self.request.version = Some(version);
            }
            _ => {
                let cursor = text(pointer, value, "the `nextCursor` of an answer").map_err(one)?;
                self.request.cursor = Some(Cursor::decode(&cursor).map_err(one)?);
            }
        }
        Ok(())
    }
}

fn integer(pointer: &str, value: Json<'_>, min: u64, max: u64) -> Result<u64, ValidationError> {
    let refuse = |reason: Reason, found: &str| {
        let message = format!("expected {}, found {found}", whole_number(min, max));
        ValidationError::new(reason, pointer, message, format!("send {}", whole_number(min, max)))
    };
    match value {
        Json::Number(number) => {
            let fits = literal::whole_number(number).filter(|number| (min..=max).contains(number));
            fits.ok_or_else(|| refuse(Reason::OutOfRange, &found_text(number)))
        }
        value => {
            let found = value.text().map(|text| format!("the string {}", quoted(&text)));
            Err(refuse(Reason::WrongType, found.as_deref().unwrap_or(value.type_name())))
        }
    }
}

fn text(pointer: &str, value: Json<'_>, what: &str) -> Result<String, ValidationError> {
    value.text().ok_or_else(|| {
        let message = format!("expected a string, found {}", value.type_name());
        ValidationError::new(Reason::WrongType, pointer, message, format!("send {what} as a string"))
    })
}

/// Parses one of a few words.
fn one_of<T: Copy>(
    pointer: &str,
    value: Json<'_>,
    words: &[(&'static str, T)],
) -> Result<T, ValidationError> {
    let names = || words.iter().map(|(word, _)| *word);
    let typed = text(pointer, value, &any_of(names()))?;
    words.iter().find(|(word, _)| *word == typed).map(|(_, meant)| *meant).ok_or_else(|| {
        let message = format!("expected {}, found {}", any_of(names()), quoted(&typed));
        let error =
            ValidationError::new(Reason::UnknownWord, pointer, message, format!("send {}", any_of(names())));
        error.with_names(&typed, names())
    })
}

fn column_names(
    pointer: &str,
    value: Json<'_>,
    names_max: usize,
    hint: &str,
) -> Result<Vec<String>, Vec<ValidationError>> {
    let Some(items) = value.items() else {
        let message = format!("expected a list, found {}", value.type_name());
        return Err(vec![ValidationError::new(Reason::WrongType, pointer, message, hint)]);
    };
    if items.len() > names_max {
        let (most, found) = (grouped(names_max as u64), grouped(items.len() as u64));
        let message = format!("expected at most {most} names, found {found}");
        return Err(vec![ValidationError::new(Reason::OutOfRange, pointer, message, hint)]);
    }
    let mut names = Vec::with_capacity(items.len());
    let mut errors = Vec::new();
    for (number, item) in items.into_iter().enumerate() {
        if errors.len() >= VALIDATION_ERRORS_MAX {
            break;
        }
        match item.text() {
            Some(name) => names.push(name),
            None => {
                let message = format!("expected a string, found {}", item.type_name());
                errors.push(ValidationError::new(
                    Reason::WrongType,
                    &pointer_to(pointer, &number.to_string()),
                    message,
                    hint,
                ));
            }
        }
    }
    if errors.is_empty() { Ok(names) } else { Err(errors) }
}

/// The parameters as JSON texts.
pub(super) fn json_texts(pairs: &[(String, String)]) -> Vec<(String, String)> {
    let quoted = |value: &str| serde_json::to_string(value).unwrap_or_default();
    let json_text = |name: &str, value: &str| match name {
        "filters" | "aggregates" | "having" => value.to_owned(),
        "columns" | "groupBy" if value.trim_start().starts_with('[') => value.to_owned(),
        "columns" | "groupBy" => {
            let names: Vec<&str> = if value.is_empty() { Vec::new() } else { value.split(',').collect() };
            serde_json::to_string(&names).unwrap_or_default()
        }
        "limit" | "offset" if is_number(value) => value.to_owned(),
        _ => quoted(value),
    };
    pairs.iter().map(|(name, value)| (name.clone(), json_text(name, value))).collect()
}

pub(super) fn malformed(pointer: &str, error: &serde_json::Error) -> ValidationError {
    let message = format!("this is no JSON: {error}");
    ValidationError::new(Reason::MalformedJson, pointer, message, "send valid JSON (RFC 8259) in UTF-8")
}

/// Turns a top-level pointer into a parameter name; keeps pointers into `filters`.
pub(super) fn for_parameter(mut error: ValidationError) -> ValidationError {
    if let Some(name) = error.pointer.strip_prefix('/').filter(|rest| !rest.contains('/')) {
        error.pointer = name.into();
    }
    error
}
