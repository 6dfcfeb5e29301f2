//! An HTTP response before it becomes bytes: status, headers, and a body that is enveloped, raw or streamed.
//!
//! `wire` adds the headers that every response has.

use std::borrow::Cow;

use serde::Serialize;

use crate::errors::ApiError;
use crate::framing::buffer::ResponseBuffer;
use crate::framing::coding::{self, Coding};
use crate::framing::conditional::{Conditions, Validators, Verdict, not_expected};
use crate::framing::stream_body::StreamBody;
use crate::incoming::Incoming;
use mercato_base::clock::Moment;

/// Shortest body that is encoded: encoding a shorter one would save no packet.
const ENCODED_BODY_BYTES_MIN: usize = 1400;

/// Something that must be durable before a response is sent.
pub trait Durable: Send {
    /// Whether there is nothing to wait for.
    fn is_done(&self) -> bool;
    /// Waits until it is durable. On an error the response must not be sent, and this one is.
    fn wait(self: Box<Self>) -> Result<(), ApiError>;
    /// Runs `next` when it is durable, or with an error; on any thread.
    fn then(self: Box<Self>, next: Box<dyn FnOnce(Result<(), ApiError>) + Send>);
}

pub(crate) enum Body {
    /// JSON up to and including `data` or `error`; the tail with `meta` is added when the response is sent.
    Envelope(ResponseBuffer),
    /// Bytes of another media type.
    Raw(ResponseBuffer),
    /// No body at all: 204 and 304.
    Absent,
    /// Written piece by piece after the head; `length` is the number of its bytes, where that is known.
    Stream { body: Box<dyn StreamBody>, length: Option<u64> },
    /// No body, but its length, where that is known: the response to `HEAD` of a stream.
    Described(Option<u64>),
}

/// The fields of `meta` beyond the three of every response.
#[derive(Debug, Clone, Default)]
pub struct MetaExtras {
    /// A further member, as JSON: `"name":value`.
    pub member: Option<String>,
    /// Warnings for people who read the response.
    pub warnings: Vec<String>,
}

pub struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, Cow<'static, str>)>,
    pub(crate) body: Body,
    pub(crate) meta: MetaExtras,
    pub(crate) coding: Option<Coding>,
    pub(crate) cause: Option<String>,
    /// What must be durable before the response is sent.
    pub(crate) durable: Option<Box<dyn Durable>>,
}

impl Response {
    /// A successful envelope around `data`. Responses are private except after [`Response::public`].
    pub fn data(data: &impl Serialize) -> Result<Self, ApiError> {
        let mut buffer = Self::begin_envelope(1024);
        serde_json::to_writer(buffer.sink(), data).map_err(|error| ApiError::internal(error.to_string()))?;
        Ok(Self::enveloped(buffer))
    }

    /// A buffer that already holds the beginning of a successful envelope: `data` is to be appended.
    pub fn begin_envelope(body_capacity: usize) -> ResponseBuffer {
        let mut buffer = ResponseBuffer::with_capacity(body_capacity.saturating_add(512));
        buffer.sink().extend_from_slice(br#"{"success":true,"data":"#);
        buffer
    }

    /// A response from a buffer of [`Response::begin_envelope`] to which `data` was appended.
    pub fn enveloped(buffer: ResponseBuffer) -> Self {
        Self::of(200, Body::Envelope(buffer)).with_header("Content-Type", "application/json; charset=utf-8")
    }

    /// A response of another media type.
    pub fn raw(content_type: &'static str, buffer: ResponseBuffer) -> Self {
        Self::of(200, Body::Raw(buffer)).with_header("Content-Type", content_type)
    }

    /// A response of another media type, from bytes that are there already.
    pub fn bytes(content_type: &'static str, body: &[u8]) -> Self {
        Self::raw(content_type, ResponseBuffer::from_body(body))
    }

    /// A refusal of another media type: the status, the headers and the cause of `error` around this body.
    pub fn refusal(error: &ApiError, content_type: &'static str, body: &[u8]) -> Self {
        let response = Self::bytes(content_type, body).with_status(error.kind().status());
        let mut response = error
            .headers()
            .iter()
            .fold(response, |response, (name, value)| response.with_header(name, value.clone()));
        response.cause = error.cause().map(ToOwned::to_owned);
        response
    }

    /// A response without a body.
    pub fn empty(status: u16) -> Self {
        Self::of(status, Body::Absent)
    }

    /// Leads a browser on to another page after a form: it opens the page at `location`, which is percent-encoded.
    pub fn see_other(location: String) -> Self {
        Self::bytes("text/plain; charset=utf-8", b"").with_status(303).with_header("Location", location)
    }

    /// A streamed response.
    pub fn stream(content_type: &'static str, body: Box<dyn StreamBody>) -> Self {
        Self::of(200, Body::Stream { body, length: None }).with_header("Content-Type", content_type)
    }

    /// The head of a streamed response.
    pub fn described(content_type: &'static str, length: Option<u64>) -> Self {
        Self::of(200, Body::Described(length)).with_header("Content-Type", content_type)
    }

    /// Sets the length of a stream in bytes.
    #[must_use]
    pub fn with_length(mut self, bytes: u64) -> Self {
        if let Body::Stream { length, .. } = &mut self.body {
            *length = Some(bytes);
        }
        self
    }

    /// Encodes the body on its way out.
    #[must_use]
    pub fn with_coding(mut self, coding: Option<Coding>) -> Self {
        self.coding = coding;
        self
    }

    /// Encodes the body in the client's preferred coding if that pays. A body with a tag stays as it is, because a
    /// tag belongs to one coding.
    #[must_use]
    pub fn encoded_for<C>(self, request: &Incoming<C>) -> Self {
        let worth_it = match &self.body {
            Body::Envelope(buffer) | Body::Raw(buffer) => buffer.body().len() >= ENCODED_BODY_BYTES_MIN,
            Body::Absent | Body::Described(_) | Body::Stream { .. } => false,
        };
        if !worth_it || self.coding.is_some() || self.has_header("ETag") {
            return self;
        }
        let wanted = coding::wanted(&request.accept_encoding()).coding;
        self.with_coding(wanted)
    }

    /// Sends nothing before that is durable.
    #[must_use]
    pub fn when(mut self, durable: impl Durable + 'static) -> Self {
        self.durable = Some(Box::new(durable));
        self
    }

    /// Adds the cause of a refusal, for the log.
    #[must_use]
    pub fn with_cause(mut self, cause: Option<String>) -> Self {
        self.cause = cause;
        self
    }

    /// The envelope of a refusal.
    pub fn error(error: &ApiError) -> Self {
        #[derive(Serialize)]
        struct ErrorBody<'a> {
            code: &'static str,
            message: &'a str,
            details: Option<&'a crate::errors::Details>,
        }
        let (status, code) = error.kind().wire();
        let body = ErrorBody { code, message: error.message(), details: error.details() };
        let mut buffer = ResponseBuffer::with_capacity(1024);
        buffer.sink().extend_from_slice(br#"{"success":false,"data":null,"error":"#);
        if serde_json::to_writer(buffer.sink(), &body).is_err() {
            buffer.sink().extend_from_slice(b"null");
        }
        let mut response = Self { status, ..Self::enveloped(buffer) };
        for (name, value) in error.headers() {
            response = response.with_header(name, value.clone());
        }
        response.cause = error.cause().map(ToOwned::to_owned);
        response
    }

    fn of(status: u16, body: Body) -> Self {
        Self {
            status,
            headers: Vec::with_capacity(8),
            body,
            meta: MetaExtras::default(),
            coding: None,
            cause: None,
            durable: None,
        }
    }

    /// The same response with another status.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// Adds a header.
    #[must_use]
    pub fn with_header(mut self, name: &'static str, value: impl Into<Cow<'static, str>>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Adds a member to `meta`, as JSON: `"name":value`.
    #[must_use]
    pub fn with_meta(mut self, member: String) -> Self {
        self.meta.member = Some(member);
        self
    }

    /// Adds a sentence to `meta.warnings`; to the header `X-Warnings` where the body has no `meta`.
    #[must_use]
    pub fn with_warning(mut self, warning: impl Into<String>) -> Self {
        let warning = warning.into();
        if matches!(self.body, Body::Envelope(_)) {
            self.meta.warnings.push(warning);
            return self;
        }
        self.with_header("X-Warnings", quoted_string(&warning))
    }

    /// Lets caches keep the answer: adds validators over the body so far. Becomes a 304 where the client holds it, and a
    /// 412 where the client expects another one.
    #[must_use]
    pub fn public<C>(
        self,
        request: &Incoming<C>,
        last_modified: Moment,
        cache_control: &'static str,
    ) -> Self {
        let mut encoded = self.encoded_for(request);
        let (Body::Envelope(buffer) | Body::Raw(buffer)) = &encoded.body else { return encoded };
        let conditions = Conditions::of(request);
        let plain = Validators::of(buffer.body(), last_modified);
        encoded.coding = plain.expected_coding(encoded.coding, &conditions);
        let validators = plain.encoded(encoded.coding);
        let response = match validators.judge(&conditions) {
            Verdict::Failed => return Self::error(&not_expected(&validators)),
            Verdict::Held => Self::empty(304),
            Verdict::Send => encoded,
        };
        response
            .with_header("ETag", validators.entity_tag.clone())
            .with_header("Last-Modified", validators.last_modified_text())
            .with_header("Cache-Control", cache_control)
    }

    /// Whether the body is encoded on its way out.
    pub fn is_encoded(&self) -> bool {
        self.coding.is_some()
    }

    /// Bytes that the response takes in memory, its head included.
    pub(crate) fn memory(&self) -> usize {
        match &self.body {
            Body::Envelope(buffer) | Body::Raw(buffer) => buffer.memory(),
            Body::Absent | Body::Described(_) | Body::Stream { .. } => 0,
        }
    }

    /// The status as it stands.
    pub fn status(&self) -> u16 {
        self.status
    }

    pub(crate) fn has_header(&self, name: &str) -> bool {
        self.headers.iter().any(|(present, _)| present.eq_ignore_ascii_case(name))
    }
}

/// A text as a string of a structured field (RFC 9651): several lines of one header make a list.
fn quoted_string(text: &str) -> String {
    let letters = text.chars().flat_map(|letter| {
        let escape = matches!(letter, '"' | '\\').then_some('\\');
        let letter = if letter.is_ascii_graphic() || letter == ' ' { letter } else { '?' };
        escape.into_iter().chain([letter])
    });
    format!("\"{}\"", letters.collect::<String>())
}
