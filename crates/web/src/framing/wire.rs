//! Responses as bytes: status line, the headers of every response, the tail of the envelope, one write.
//!
//! Owns the framing and the fixed headers.

use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, UNIX_EPOCH};

use httpdate::HttpDate;
use serde_json::json;

use super::buffer::ResponseBuffer;
use super::coding::{Coding, Encoder, encode_whole};
use super::stream_body::{ChunkSink, Framing, StreamBody, StreamEnd, push_field};
use crate::errors::reason_phrase;
use crate::request_id::RequestId;
use crate::response::{Body, MetaExtras, Response};
use mercato_base::clock::Moment;
use mercato_net::{RequestFacts, ResponseSocket, ResponseWriter};

/// Headers that a server adds to each response to a request.
pub trait OwnHeaders {
    /// Appends whole lines, by [`push_field`].
    fn push_to(&self, head: &mut Vec<u8>);
}

/// What all responses of one listener have in common.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Common {
    /// Whole header lines.
    pub headers: Vec<u8>,
    /// Whether bodies are compressed for clients that accept it.
    pub encodes: bool,
}

/// Facts about a sent response, for the log.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sent {
    /// Bytes of the body, as they went out.
    pub body_bytes: usize,
    /// The report of a stream.
    pub stream: Option<StreamEnd>,
    /// Whether the client went away first.
    pub broken: bool,
}

/// Sends the answer through the client's own socket. `elapsed` and `now` are the duration and the moment that the answer
/// names as its own.
pub(crate) fn send(
    socket: ResponseSocket,
    request_id: &str,
    own: &dyn OwnHeaders,
    mut response: Response,
    common: &Common,
    elapsed: Duration,
    now: Moment,
) -> Sent {
    if let Body::Envelope(buffer) = &mut response.body {
        write_meta(buffer.sink(), request_id, now, elapsed, &response.meta);
    }
    encode_body(&mut response);
    let mut facts = socket.facts();
    let is_unframed = !facts.is_http_1_1 && matches!(response.body, Body::Stream { length: None, .. });
    facts.closes |= is_unframed;
    let mut head = Vec::with_capacity(1024);
    begin_head(&mut head, &response, request_id, now, own, common);
    head.extend_from_slice(connection_line(facts));
    match response.body {
        Body::Absent | Body::Described(None) => {
            head.extend_from_slice(b"\r\n");
            write_whole(socket, head, 0, 0)
        }
        Body::Described(Some(length)) => {
            push_length(&mut head, length);
            write_whole(socket, head, 0, 0)
        }
        Body::Envelope(buffer) | Body::Raw(buffer) => send_buffer(socket, head, buffer),
        Body::Stream { body, length } => {
            let sent = send_stream(socket, head, length, facts, response.coding, body);
            sent.unwrap_or(Sent { broken: true, ..Sent::default() })
        }
    }
}

/// The `Connection` header, where the HTTP version of the client does not imply it.
fn connection_line(facts: RequestFacts) -> &'static [u8] {
    match (facts.closes, facts.is_http_1_1) {
        (true, _) => b"Connection: close\r\n",
        (false, false) => b"Connection: keep-alive\r\n",
        (false, true) => b"",
    }
}

/// Sends a stream. HTTP/1.0 has no chunks: without a length, the end of the connection ends the body.
fn send_stream(
    socket: ResponseSocket,
    mut head: Vec<u8>,
    length: Option<u64>,
    facts: RequestFacts,
    coding: Option<Coding>,
    body: Box<dyn StreamBody>,
) -> io::Result<Sent> {
    let framing = match length {
        Some(length) => Framing::Length(length),
        None if facts.is_http_1_1 => Framing::Chunks,
        None => Framing::UntilClose,
    };
    match length {
        Some(length) => push_length(&mut head, length),
        None if facts.is_http_1_1 => head.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n"),
        None => head.extend_from_slice(b"\r\n"),
    }
    if facts.is_head {
        return Ok(write_whole(socket, head, 0, 0));
    }
    let mut writer = socket.into_writer(facts.closes);
    let sent = write_stream(&mut writer, &head, framing, coding, body)?;
    // Dropping the writer cuts an incomplete response.
    let broken = sent.broken || writer.finish().is_err();
    Ok(Sent { broken, ..sent })
}

/// The last line of a head and its end.
fn push_length(head: &mut Vec<u8>, length: u64) {
    head.extend_from_slice(b"Content-Length: ");
    head.extend_from_slice(itoa::Buffer::new().format(length).as_bytes());
    head.extend_from_slice(b"\r\n\r\n");
}

/// Replaces a body by its encoded form.
fn encode_body(response: &mut Response) {
    let (Some(coding), Body::Envelope(buffer) | Body::Raw(buffer)) = (response.coding, &mut response.body)
    else {
        return;
    };
    let mut encoded = ResponseBuffer::with_capacity(buffer.body().len() / 4);
    match encode_whole(coding, buffer.body(), encoded.sink()) {
        Ok(()) => *buffer = encoded,
        Err(_) => response.coding = None,
    }
}

fn send_buffer(socket: ResponseSocket, mut head: Vec<u8>, buffer: ResponseBuffer) -> Sent {
    let (length, with_body) = (buffer.body().len(), !socket.facts().is_head);
    push_length(&mut head, u64::try_from(length).unwrap_or(u64::MAX));
    let (bytes, start) = buffer.assemble(&head, with_body);
    write_whole(socket, bytes, start, if with_body { length } else { 0 })
}

fn write_whole(socket: ResponseSocket, bytes: Vec<u8>, start: usize, body_bytes: usize) -> Sent {
    let outcome = socket.send_page(bytes, start);
    Sent { body_bytes, stream: None, broken: outcome.is_err() }
}

fn write_stream(
    writer: &mut ResponseWriter,
    head: &[u8],
    framing: Framing,
    coding: Option<Coding>,
    body: Box<dyn StreamBody>,
) -> io::Result<Sent> {
    let written = writer.write_all(head).and_then(|()| writer.flush());
    if writer.taken() > 0 {
        body.begun();
    }
    written?;
    let encoder = coding.map(Encoder::new).transpose()?;
    let mut sink = ChunkSink::new(writer, framing, encoder);
    // A panic must not look like the end, nor leave the connection in the middle of a body.
    let outcome = catch_unwind(AssertUnwindSafe(|| body.write_to(&mut sink)));
    let end = outcome.unwrap_or_default();
    let body_bytes = usize::try_from(sink.bytes()).unwrap_or(usize::MAX);
    let whole = end.complete && sink.finish().is_ok();
    Ok(Sent { body_bytes, stream: Some(end), broken: !whole })
}

/// A response to bytes that never became a request.
pub fn standalone(
    response: Response,
    own: &dyn OwnHeaders,
    now: Moment,
    common: &Common,
    with_body: bool,
) -> Vec<u8> {
    let id = RequestId::next();
    let request_id = id.as_str();
    let mut head = Vec::with_capacity(1024);
    begin_head(&mut head, &response, request_id, now, own, common);
    let body = standalone_envelope(response, request_id, now);
    head.extend_from_slice(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes());
    if with_body {
        head.extend_from_slice(&body);
    }
    head
}

fn begin_head(
    head: &mut Vec<u8>,
    response: &Response,
    request_id: &str,
    now: Moment,
    own: &dyn OwnHeaders,
    common: &Common,
) {
    head.extend_from_slice(b"HTTP/1.1 ");
    head.extend_from_slice(itoa::Buffer::new().format(response.status).as_bytes());
    head.push(b' ');
    head.extend_from_slice(reason_phrase(response.status).as_bytes());
    head.extend_from_slice(b"\r\nServer: mercato\r\nX-Content-Type-Options: nosniff\r\n");
    push_date(head, now);
    push_field(head, "X-Request-Id", request_id);
    head.extend_from_slice(&common.headers);
    own.push_to(head);
    if !response.has_header("Cache-Control") {
        head.extend_from_slice(b"Cache-Control: no-store\r\n");
    }
    if let Some(coding) = response.coding {
        push_field(head, "Content-Encoding", coding.name());
    }
    for (name, value) in response.headers.iter().filter(|(name, _)| *name != "Vary") {
        push_field(head, name, value);
    }
    // An encodable body varies with `Accept-Encoding`, even when sent plain.
    let encodes = common.encodes && !matches!(response.body, Body::Absent);
    let encodes = (encodes || response.has_header("ETag")).then_some("Accept-Encoding");
    let others = response.headers.iter().filter(|(name, _)| *name == "Vary").map(|(_, value)| &**value);
    push_list(head, "Vary", encodes.into_iter().chain(others));
}

/// A header with a list; nothing for an empty list.
fn push_list<'v>(head: &mut Vec<u8>, name: &str, values: impl Iterator<Item = &'v str>) {
    let mut before = [name, ": "];
    let mut any = false;
    for value in values {
        before.iter().for_each(|text| head.extend_from_slice(text.as_bytes()));
        head.extend_from_slice(value.as_bytes());
        (before, any) = (["", ", "], true);
    }
    if any {
        head.extend_from_slice(b"\r\n");
    }
}

fn push_date(head: &mut Vec<u8>, now: Moment) {
    let since_epoch = Duration::from_millis(u64::try_from(now.unix_millis()).unwrap_or(0));
    // Writing to a vector does not fail.
    drop(write!(head, "Date: {}\r\n", HttpDate::from(UNIX_EPOCH + since_epoch)));
}

/// The envelope of an error inside a stream.
pub fn standalone_envelope(response: Response, request_id: &str, now: Moment) -> Vec<u8> {
    let Body::Envelope(mut buffer) = response.body else { return Vec::new() };
    write_meta(buffer.sink(), request_id, now, Duration::ZERO, &response.meta);
    buffer.body().to_vec()
}

fn write_meta(sink: &mut Vec<u8>, request_id: &str, now: Moment, elapsed: Duration, extras: &MetaExtras) {
    sink.extend_from_slice(br#","meta":{"requestId":""#);
    sink.extend_from_slice(request_id.as_bytes());
    sink.extend_from_slice(br#"","timestamp":""#);
    sink.extend_from_slice(now.rfc3339().as_bytes());
    sink.extend_from_slice(br#"","durationMs":"#);
    sink.extend_from_slice(itoa::Buffer::new().format(elapsed.as_millis()).as_bytes());
    if let Some(member) = &extras.member {
        sink.push(b',');
        sink.extend_from_slice(member.as_bytes());
    }
    if !extras.warnings.is_empty() {
        sink.extend_from_slice(br#","warnings":"#);
        sink.extend_from_slice(json!(extras.warnings).to_string().as_bytes());
    }
    sink.extend_from_slice(b"}}");
}
