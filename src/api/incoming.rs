//! An HTTP request for handlers: id, decoded target, headers, a bounded body and the caller.
//!
//! Wraps and hides the request of tiny_http. Does not depend on routes.

use std::borrow::Cow;
use std::net::IpAddr;

use serde::de::DeserializeOwned;

use super::errors::{ApiError, ErrorKind, ValidationErrorBody};
use super::framing::negotiation::choose;
use super::presented_key::presented_key;
use super::request_id::RequestId;
use super::routing::parameters::Parameters;
use super::routing::router;
use super::routing::target::{Target, TargetError};
use crate::access::{Admission, Caller, Permit, TrustedProxies};
use mercato_base::clock::Moment;
use mercato_net::limits::BODY_BYTES_MAX;
use mercato_net::{ClientWatch, ResponseSocket};

/// Headers with a single value. A repeated one is refused.
const SINGLE_HEADERS: [&str; 9] = [
    "X-Api-Key",
    "Authorization",
    "Idempotency-Key",
    "Last-Event-ID",
    "Range",
    "If-Range",
    "If-Modified-Since",
    "If-Unmodified-Since",
    "Content-Type",
];

/// The methods of routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Read.
    Get,
    /// Read without the body.
    Head,
    /// Ask or change.
    Post,
    /// Replace.
    Put,
    /// Change in part.
    Patch,
    /// Remove.
    Delete,
    /// `OPTIONS`.
    Options,
    /// Another method.
    Other,
}

impl Method {
    /// The name on the request line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
            Self::Options => "OPTIONS",
            Self::Other => "OTHER",
        }
    }

    fn of(method: &tiny_http::Method) -> Self {
        match method {
            tiny_http::Method::Get => Self::Get,
            tiny_http::Method::Head => Self::Head,
            tiny_http::Method::Post => Self::Post,
            tiny_http::Method::Put => Self::Put,
            tiny_http::Method::Patch => Self::Patch,
            tiny_http::Method::Delete => Self::Delete,
            tiny_http::Method::Options => Self::Options,
            _ => Self::Other,
        }
    }
}

/// Facts for the request log; handlers fill them in.
#[derive(Debug, Clone, Default)]
pub struct LogFields {
    /// Name of the route, once known.
    pub route: &'static str,
    /// The requested dataset.
    pub dataset: Option<String>,
    /// Rows returned.
    pub rows: Option<u64>,
    /// Credits charged.
    pub credits: Option<u64>,
}

/// One request.
pub struct Incoming {
    raw: tiny_http::Request,
    method: Method,
    target: Option<Target>,
    request_id: RequestId,
    received_at: Moment,
    pattern: &'static str,
    caller: Option<Caller>,
    admission: Option<Admission>,
    held: Option<Permit>,
    socket: ResponseSocket,
    /// For the request log.
    pub log: LogFields,
}

impl Incoming {
    /// Takes a request over at `received_at`.
    pub(super) fn new(raw: tiny_http::Request, socket: ResponseSocket, received_at: Moment) -> Self {
        Self {
            method: Method::of(raw.method()),
            target: None,
            request_id: RequestId::next(),
            received_at,
            pattern: "",
            caller: None,
            admission: None,
            held: None,
            socket,
            log: LogFields::default(),
            raw,
        }
    }

    /// Splits and decodes the target; nothing else of the request needs it before.
    pub(super) fn parse_target(&mut self) -> Result<(), TargetError> {
        self.target = Some(Target::parse(self.raw.url())?);
        Ok(())
    }

    /// The method.
    pub fn method(&self) -> Method {
        self.method
    }

    /// Whether the target could be read, so that path and query are known.
    pub fn has_target(&self) -> bool {
        self.target.is_some()
    }

    /// Decoded path segments.
    pub fn segments(&self) -> &[String] {
        self.target.as_ref().map_or(&[], |target| &target.segments)
    }

    /// The value of a `{…}` in the route's pattern, by its place, as it stands in the path.
    pub fn path_parameter(&self, place: usize) -> &str {
        router::parameters(self.pattern, self.segments()).nth(place).unwrap_or_default()
    }

    /// Sets the pattern of the route, which names the parameters of the path.
    pub(super) fn set_pattern(&mut self, pattern: &'static str) {
        self.pattern = pattern;
    }

    /// Decoded query pairs.
    pub fn pairs(&self) -> &[(String, String)] {
        self.target.as_ref().map_or(&[], |target| &target.pairs)
    }

    /// A strict reader of the query parameters.
    pub fn query(&self) -> Parameters<'_> {
        Parameters::new(self.pairs())
    }

    /// The first header of that name.
    pub fn header(&self, name: &'static str) -> Option<&str> {
        header_of(&self.raw, name)
    }

    /// All headers of that name, in their order.
    pub(super) fn headers(&self, name: &'static str) -> impl DoubleEndedIterator<Item = &str> {
        let headers = self.raw.headers().iter().filter(move |header| header.field.equiv(name));
        headers.map(|header| header.value.as_str())
    }

    /// The header that stands twice and may not.
    pub(super) fn repeated_header(&self) -> Option<&'static str> {
        let is_repeated = |name: &&'static str| {
            let mut found = self.raw.headers().iter().filter(|header| header.field.equiv(name));
            found.nth(1).is_some()
        };
        SINGLE_HEADERS.into_iter().find(is_repeated)
    }

    /// Whether the target is `*`.
    pub(super) fn is_for_the_whole_server(&self) -> bool {
        self.raw.url() == "*"
    }

    /// All `Accept` headers as one list.
    pub fn accept(&self) -> Cow<'_, str> {
        self.list("Accept").unwrap_or_default()
    }

    /// Whether the client likes a page better than JSON, as browsers do.
    pub fn prefers_html(&self) -> bool {
        let forms: [&[&str]; 2] = [&["application/json"], &["text/html", "application/xhtml+xml"]];
        choose(&self.accept(), &forms) == Some(1)
    }

    /// Whether the client likes JSON better than a page. Without a preference, as of `*/*`, it gets the page.
    pub fn prefers_json(&self) -> bool {
        let forms: [&[&str]; 2] = [&["text/html", "application/xhtml+xml"], &["application/json"]];
        choose(&self.accept(), &forms) == Some(1)
    }

    /// All `Accept-Encoding` headers as one list.
    pub fn accept_encoding(&self) -> Cow<'_, str> {
        self.list("Accept-Encoding").unwrap_or_default()
    }

    /// All headers of that name as one list; nothing when there is none.
    pub fn list(&self, name: &'static str) -> Option<Cow<'_, str>> {
        let mut values = self.headers(name);
        let first = Cow::Borrowed(values.next()?);
        Some(values.fold(first, |list, value| list + "," + value))
    }

    /// UUID of this request.
    pub fn request_id(&self) -> &str {
        self.request_id.as_str()
    }

    /// The time of this request, fixed for all its operations.
    pub fn now(&self) -> Moment {
        self.received_at
    }

    /// The API key that the request presents, valid or not.
    pub(super) fn presented_key(&self) -> Option<&str> {
        presented_key(self.headers("X-Api-Key"), self.headers("Authorization"))
    }

    /// The caller. Only routes that require a key may ask; for others the key is absent or was not valid.
    pub fn caller(&self) -> Result<&Caller, ApiError> {
        self.caller
            .as_ref()
            .ok_or_else(|| ApiError::internal("a route without a key guard asked for its caller"))
    }

    pub(super) fn set_caller(&mut self, caller: Option<Caller>) {
        self.caller = caller;
    }

    pub(super) fn set_held(&mut self, held: Permit) {
        self.held = Some(held);
    }

    pub(super) fn set_admission(&mut self, admission: Admission) {
        self.admission = Some(admission);
    }

    /// Watches the client until its response is out.
    pub(super) fn watch(&self) -> ClientWatch {
        self.socket.watch()
    }

    /// The whole body, within `BODY_BYTES_MAX`.
    pub fn read_body(&mut self) -> Result<Vec<u8>, ApiError> {
        let Some(body) = self.socket.take_body() else {
            let message = "the request has neither Content-Length nor Transfer-Encoding";
            return Err(ApiError::new(ErrorKind::LengthRequired, message));
        };
        if body.bytes.len() > BODY_BYTES_MAX { Err(body_too_large()) } else { Ok(body.bytes) }
    }

    /// The body of a JSON request: refuses other media types and codings with 415.
    pub fn read_json_body(&mut self) -> Result<Vec<u8>, ApiError> {
        if let Some(content_type) = self.header("Content-Type").filter(|text| !is_json(text)) {
            let shown: String = content_type.chars().take(64).collect();
            let message = format!("a body of type `{shown}` is not read here");
            return Err(unsupported("MEDIA_TYPE", message, "send `Content-Type: application/json`"));
        }
        if self
            .header("Content-Encoding")
            .is_some_and(|coding| !coding.trim().eq_ignore_ascii_case("identity"))
        {
            return Err(unsupported(
                "CONTENT_ENCODING",
                "compressed bodies are not read",
                "send the body as it is",
            ));
        }
        self.read_body()
    }

    /// The JSON body as a value of `T`, which should deny unknown fields; the fault names line and column.
    pub fn read_json<T: DeserializeOwned>(&mut self) -> Result<T, ApiError> {
        let body = self.read_json_body()?;
        serde_json::from_slice(&body).map_err(|error| {
            validation_error("BODY_INVALID", "", error.to_string(), "see docs/API.md for the fields")
        })
    }

    /// Address of the client: of the connection, or what a trusted proxy says.
    pub fn client_address(&self, proxies: &TrustedProxies) -> IpAddr {
        proxies.client_address(self.socket.facts().peer, self.headers("X-Forwarded-For"))
    }

    /// Ends the exchange with tiny_http and returns the facts needed to respond.
    pub(super) fn into_exchange(self) -> Exchange {
        end_exchange(self.raw);
        Exchange {
            method: self.method,
            request_id: self.request_id,
            admission: self.admission,
            socket: self.socket,
            log: self.log,
            _held: self.held,
        }
    }
}

/// A request that a handler has seen, and that has no response yet. It counts as running until this is dropped.
pub(super) struct Exchange {
    pub(super) method: Method,
    pub(super) request_id: RequestId,
    /// The remaining requests of the caller in the minute and the day.
    pub(super) admission: Option<Admission>,
    /// The client's socket, for the response.
    pub(super) socket: ResponseSocket,
    pub(super) log: LogFields,
    _held: Option<Permit>,
}

/// Ends an exchange with tiny_http without a response: that goes out through the client's own socket.
pub(super) fn end_exchange(raw: tiny_http::Request) {
    drop(raw.into_writer());
}

/// The first header of that name.
pub(super) fn header_of<'r>(raw: &'r tiny_http::Request, name: &'static str) -> Option<&'r str> {
    raw.headers().iter().find(|header| header.field.equiv(name)).map(|header| header.value.as_str())
}

/// A 400 with a single fault.
pub fn validation_error(
    reason: &str,
    pointer: &str,
    message: impl Into<String>,
    hint: impl Into<String>,
) -> ApiError {
    ApiError::bad_request(vec![ValidationErrorBody::parameter(reason, pointer, message, hint)])
}

fn body_too_large() -> ApiError {
    ApiError::new(ErrorKind::PayloadTooLarge, format!("the body is larger than {BODY_BYTES_MAX} bytes"))
        .with_reason("BODY_TOO_LARGE", "split long IN lists over several requests")
        .with_fact("limit", BODY_BYTES_MAX)
}

pub(super) fn unsupported(reason: &str, message: impl Into<String>, hint: &str) -> ApiError {
    ApiError::new(ErrorKind::UnsupportedMediaType, message).with_reason(reason, hint)
}

/// `application/json` or `…+json`, with no charset but UTF-8.
fn is_json(content_type: &str) -> bool {
    let mut parts = content_type.split(';');
    let essence = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
    let named_json =
        essence == "application/json" || (essence.starts_with("application/") && essence.ends_with("+json"));
    named_json
        && parts.all(|parameter| match parameter.split_once('=') {
            Some((name, value)) if name.trim().eq_ignore_ascii_case("charset") => {
                matches!(value.trim().trim_matches('"').to_ascii_lowercase().as_str(), "utf-8" | "utf8")
            }
            _ => true,
        })
}

#[cfg(test)]
mod tests {
    use super::is_json;

    #[test]
    fn recognises_json_by_media_type_and_charset() {
        for accepted in
            ["application/json", "Application/JSON; charset=UTF-8", "application/problem+json; v=1"]
        {
            assert!(is_json(accepted), "{accepted}");
        }
        for refused in
            ["text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin1", ""]
        {
            assert!(!is_json(refused), "{refused}");
        }
    }
}
