//! The table of error codes with their statuses, and the error that every handler returns. Statuses without a code stand
//! where they are decided: successes, `/healthz` and `/readyz`, and JSON-RPC at `/mcp`.
//!
//! Handlers choose an error, and this module gives its form on the wire.

mod details;

use serde_json::{Map, Value};

use details::reported_count;
pub use details::{Details, FAULT_COUNT_MAX, ValidationErrorBody};

/// The kind of an error, with its status and code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// A parameter, a slug or a body field is wrong.
    BadRequest,
    /// The API key is missing or not valid.
    Unauthorized,
    /// The account cannot pay for the request.
    NoCredits,
    /// The caller is known but may not do this.
    Forbidden,
    /// No such path, or no such published dataset.
    NotFound,
    /// The path exists, the method does not.
    MethodNotAllowed,
    /// No offered media type satisfies `Accept`.
    NotAcceptable,
    /// The request did not come in time.
    RequestTimeout,
    /// The request contradicts the present state.
    Conflict,
    /// The content differs from the one that the client expects.
    PreconditionFailed,
    /// A body without a length.
    LengthRequired,
    /// A body above its limit.
    PayloadTooLarge,
    /// A request line above its limit.
    TargetTooLong,
    /// The body is of a media type that is not read.
    UnsupportedMediaType,
    /// No asked range lies inside the file.
    RangeNotSatisfiable,
    /// An expectation that is not met here.
    ExpectationFailed,
    /// Well formed, but contradicts an earlier request.
    Unprocessable,
    /// A request limit is exceeded.
    RateLimited,
    /// The head of the request is too large.
    HeadersTooLarge,
    /// A fault of the server.
    Internal,
    /// A feature that the server does not have.
    NotImplemented,
    /// The server or this dataset is temporarily out of service.
    Unavailable,
    /// A version of HTTP that is not spoken here.
    VersionUnsupported,
}

impl ErrorKind {
    /// Status and code: no other place in the program pairs the two.
    pub const fn wire(self) -> (u16, &'static str) {
        match self {
            Self::BadRequest => (400, "BAD_REQUEST"),
            Self::Unauthorized => (401, "UNAUTHORIZED"),
            Self::NoCredits => (402, "NO_CREDITS"),
            Self::Forbidden => (403, "FORBIDDEN"),
            Self::NotFound => (404, "NOT_FOUND"),
            Self::MethodNotAllowed => (405, "METHOD_NOT_ALLOWED"),
            Self::NotAcceptable => (406, "NOT_ACCEPTABLE"),
            Self::RequestTimeout => (408, "REQUEST_TIMEOUT"),
            Self::Conflict => (409, "CONFLICT"),
            Self::LengthRequired => (411, "PAYLOAD_TOO_LARGE"),
            Self::PreconditionFailed => (412, "PRECONDITION_FAILED"),
            Self::PayloadTooLarge => (413, "PAYLOAD_TOO_LARGE"),
            Self::TargetTooLong => (414, "URI_TOO_LONG"),
            Self::UnsupportedMediaType => (415, "UNSUPPORTED_MEDIA_TYPE"),
            Self::RangeNotSatisfiable => (416, "RANGE_NOT_SATISFIABLE"),
            Self::ExpectationFailed => (417, "EXPECTATION_FAILED"),
            Self::Unprocessable => (422, "UNPROCESSABLE"),
            Self::RateLimited => (429, "RATE_LIMITED"),
            Self::HeadersTooLarge => (431, "HEADERS_TOO_LARGE"),
            Self::Internal => (500, "INTERNAL_ERROR"),
            Self::NotImplemented => (501, "NOT_IMPLEMENTED"),
            Self::Unavailable => (503, "UNAVAILABLE"),
            Self::VersionUnsupported => (505, "HTTP_VERSION_NOT_SUPPORTED"),
        }
    }

    /// The status alone.
    pub const fn status(self) -> u16 {
        self.wire().0
    }
}

/// The reason phrase that follows a status on the status line.
pub const fn reason_phrase(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        206 => "Partial Content",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        408 => "Request Timeout",
        409 => "Conflict",
        411 => "Length Required",
        412 => "Precondition Failed",
        413 => "Content Too Large",
        414 => "URI Too Long",
        415 => "Unsupported Media Type",
        416 => "Range Not Satisfiable",
        417 => "Expectation Failed",
        422 => "Unprocessable Content",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        _ => "Internal Server Error",
    }
}

/// A refusal on its way to the client.
#[derive(Debug)]
pub struct ApiError {
    kind: ErrorKind,
    message: String,
    details: Option<Box<Details>>,
    headers: Vec<(&'static str, String)>,
    /// The cause, for the log only.
    cause: Option<String>,
}

impl ApiError {
    /// An error with a message and nothing else.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), details: None, headers: Vec::new(), cause: None }
    }

    /// A 400 with the first errors of the request, so that a refusal stays small.
    pub fn bad_request(mut faults: Vec<ValidationErrorBody>) -> Self {
        faults.truncate(reported_count(&faults));
        let first = faults.first().cloned().unwrap_or_default();
        let message = match faults.len() {
            0 | 1 => first.message,
            count => format!("{} (and {} more, see details.errors)", first.message, count.saturating_sub(1)),
        };
        let details = Details {
            reason: first.reason,
            pointer: Some(first.pointer),
            hint: first.hint,
            allowed: first.allowed,
            suggestion: first.suggestion,
            facts: Map::new(),
            errors: faults,
        };
        Self { details: Some(Box::new(details)), ..Self::new(ErrorKind::BadRequest, message) }
    }

    /// A 500: the cause goes to the log, the client gets the request id.
    pub fn internal(cause: impl Into<String>) -> Self {
        let message = "the server failed to answer; quote meta.requestId to support";
        Self { cause: Some(cause.into()), ..Self::new(ErrorKind::Internal, message) }
    }

    /// A 503 with `Retry-After`.
    pub fn unavailable(message: impl Into<String>, retry_after_seconds: u32) -> Self {
        Self::new(ErrorKind::Unavailable, message).with_header("Retry-After", retry_after_seconds.to_string())
    }

    /// Names parameters where a body would have top-level fields: `/limit` becomes `limit`.
    #[must_use]
    pub fn naming_parameters(mut self) -> Self {
        if let Some(details) = &mut self.details {
            let own = details.pointer.iter_mut();
            for pointer in own.chain(details.errors.iter_mut().map(|fault| &mut fault.pointer)) {
                if let Some(name) = pointer.strip_prefix('/').filter(|rest| !rest.contains('/')) {
                    *pointer = name.to_owned();
                }
            }
        }
        self
    }

    /// Moves an error to another pointer.
    #[must_use]
    pub fn pointing(mut self, from: &str, to: &str) -> Self {
        let renamed = |message: &str| {
            let rest = message.strip_prefix(from.trim_start_matches('/'));
            rest.map_or_else(|| message.to_owned(), |rest| format!("{to}{rest}"))
        };
        if let Some(details) = &mut self.details
            && details.pointer.as_deref() == Some(from)
        {
            details.pointer = Some(to.to_owned());
            self.message = renamed(&self.message);
        }
        let faults = self.details.iter_mut().flat_map(|details| &mut details.errors);
        for fault in faults.filter(|fault| fault.pointer == from) {
            to.clone_into(&mut fault.pointer);
            fault.message = renamed(&fault.message);
        }
        self
    }

    /// Adds `details` with a reason and a hint, keeping facts that were added before.
    #[must_use]
    pub fn with_reason(mut self, reason: &str, hint: impl Into<String>) -> Self {
        let details = self.details.get_or_insert_default();
        reason.clone_into(&mut details.reason);
        details.hint = hint.into();
        self
    }

    /// Adds one more field to `details`.
    #[must_use]
    pub fn with_fact(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.details.get_or_insert_default().facts.insert(name.to_owned(), value.into());
        self
    }

    /// Lists the accepted values.
    #[must_use]
    pub fn with_allowed(mut self, allowed: Vec<String>) -> Self {
        self.details.get_or_insert_default().allowed = allowed;
        self
    }

    /// Adds a suggestion.
    #[must_use]
    pub fn with_suggestion(mut self, suggestion: Option<&str>) -> Self {
        self.details.get_or_insert_default().suggestion = suggestion.map(ToOwned::to_owned);
        self
    }

    /// Adds a header to the response.
    #[must_use]
    pub fn with_header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Adds the cause, for the log.
    #[must_use]
    pub fn with_cause(mut self, cause: impl Into<String>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    /// The kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The sentence for the client.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The structured part for the client.
    pub fn details(&self) -> Option<&Details> {
        self.details.as_deref()
    }

    /// Headers that belong to the refusal.
    pub fn headers(&self) -> &[(&'static str, String)] {
        &self.headers
    }

    /// The sentence for the log.
    pub fn cause(&self) -> Option<&str> {
        self.cause.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_first_error_and_lists_all() {
        let faults = vec![
            ValidationErrorBody::parameter("OUT_OF_RANGE", "limit", "limit is 0", "use 1 to 100"),
            ValidationErrorBody::parameter("UNKNOWN_PARAMETER", "lmit", "no parameter `lmit`", "drop it"),
        ];
        let error = ApiError::bad_request(faults);
        let details = serde_json::to_value(error.details().unwrap()).unwrap();
        assert_eq!(error.kind().wire(), (400, "BAD_REQUEST"));
        assert_eq!(details["reason"], "OUT_OF_RANGE");
        assert_eq!(details["pointer"], "limit");
        assert_eq!(details["errors"].as_array().unwrap().len(), 2);
        assert!(details.get("allowed").is_none());
    }

    #[test]
    fn hides_cause_of_internal_error() {
        let error = ApiError::internal("/data/secret.mcol is broken");
        assert!(!error.message().contains("secret"));
        assert_eq!(error.cause(), Some("/data/secret.mcol is broken"));
    }
}
