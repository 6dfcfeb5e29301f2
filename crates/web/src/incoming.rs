//! An HTTP request for handlers: id, decoded target, headers and a bounded body.
//!
//! Its head and body lie in the slot that the event loop has filled.

use std::borrow::Cow;
use std::net::IpAddr;

use serde::de::DeserializeOwned;

use crate::errors::{ApiError, ErrorKind, ValidationErrorBody};
use crate::framing::negotiation::choose;
use crate::method::Method;
use crate::parameters::Parameters;
use crate::request_id::RequestId;
use crate::router;
use crate::target::{Target, TargetError};
use mercato_base::clock::Moment;
use mercato_net::limits::BODY_BYTES_MAX;
use mercato_net::{ClientWatch, ResponseSocket};

/// One request, with what the server knows of it besides HTTP.
pub struct Incoming<C> {
    method: Method,
    target: Result<Target, TargetError>,
    request_id: RequestId,
    received_at: Moment,
    pattern: &'static str,
    socket: ResponseSocket,
    /// What the server knows of the request besides HTTP.
    pub context: C,
}

impl<C> Incoming<C> {
    /// Takes a request over at `received_at`.
    pub(crate) fn new(
        socket: ResponseSocket,
        received_at: Moment,
        target: Result<Target, TargetError>,
        context: C,
    ) -> Self {
        Self {
            method: Method::named(socket.head().method()),
            target,
            request_id: RequestId::next(),
            received_at,
            pattern: "",
            socket,
            context,
        }
    }

    /// Why the target cannot be read.
    pub fn target_error(&self) -> Option<TargetError> {
        self.target.as_ref().err().copied()
    }

    pub fn method(&self) -> Method {
        self.method
    }

    /// Whether the target could be read, so that path and query are known.
    pub fn has_target(&self) -> bool {
        self.target.is_ok()
    }

    /// Decoded path segments.
    pub fn segments(&self) -> &[String] {
        self.target.as_ref().map_or(&[][..], |target| &target.segments)
    }

    /// The value of a `{…}` in the route's pattern, by its place, as it stands in the path.
    pub fn path_parameter(&self, place: usize) -> &str {
        router::parameters(self.pattern, self.segments()).nth(place).unwrap_or_default()
    }

    /// Sets the pattern of the route, which names the parameters of the path.
    pub fn set_pattern(&mut self, pattern: &'static str) {
        self.pattern = pattern;
    }

    /// Decoded query pairs.
    pub fn pairs(&self) -> &[(String, String)] {
        self.target.as_ref().map_or(&[][..], |target| &target.pairs)
    }

    /// A strict reader of the query parameters.
    pub fn query(&self) -> Parameters<'_> {
        Parameters::new(self.pairs())
    }

    /// The first header of that name.
    pub fn header(&self, name: &'static str) -> Option<&str> {
        self.headers(name).next()
    }

    /// All headers of that name, in their order.
    pub fn headers(&self, name: &'static str) -> impl DoubleEndedIterator<Item = &str> {
        let headers = self.socket.head().headers().filter(move |(found, _)| found.eq_ignore_ascii_case(name));
        headers.map(|(_, value)| value)
    }

    /// The first of these headers that is given more than once.
    pub fn repeated_header(&self, single: &[&'static str]) -> Option<&'static str> {
        single.iter().copied().find(|name| self.headers(name).nth(1).is_some())
    }

    /// Whether the target is `*`.
    pub fn is_for_the_whole_server(&self) -> bool {
        self.socket.head().target() == "*"
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

    /// Watches the client until its response is out.
    pub fn watch(&self) -> ClientWatch {
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

    /// Address of the client, or of the proxy before it.
    pub fn peer(&self) -> IpAddr {
        self.socket.facts().peer
    }

    /// What is needed to respond.
    pub(crate) fn into_exchange(self) -> Exchange<C> {
        Exchange {
            method: self.method,
            request_id: self.request_id,
            socket: self.socket,
            context: self.context,
        }
    }
}

/// A request that a handler has seen, and that has no response yet.
pub(crate) struct Exchange<C> {
    pub(crate) method: Method,
    pub(crate) request_id: RequestId,
    /// The client's socket, for the response.
    pub(crate) socket: ResponseSocket,
    pub(crate) context: C,
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

pub(crate) fn unsupported(reason: &str, message: impl Into<String>, hint: &str) -> ApiError {
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
