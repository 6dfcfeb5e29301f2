//! Answers of JSON-RPC: results, errors with their codes, and the responses that carry them.
//!
//! Holds codes. Does not depend on methods.

use crate::api::credits::{Charged, with_credits};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::message::Call;
use super::revision::Revision;
use mercato_base::words::quoted;
use mercato_ledger::Durable;
use mercato_web::{ErrorKind, Response};

const JSON: &str = "application/json";

/// An error of the protocol, for a client rather than for a model.
#[derive(Debug)]
pub(super) struct Failure {
    code: i32,
    message: String,
    data: Option<Value>,
    /// The refusal that its status is of; without one the response is a success of HTTP.
    kind: Option<ErrorKind>,
}

impl Failure {
    /// The body is no JSON.
    pub(super) fn no_json(error: &serde_json::Error) -> Self {
        Self::of(-32700, format!("this is no JSON: {error}"), Some(ErrorKind::BadRequest))
    }

    /// The body is JSON and no message.
    pub(super) fn invalid_request(why: impl Into<String>) -> Self {
        Self::of(-32600, why, Some(ErrorKind::BadRequest))
    }

    /// There is no such method. The stateless revision wants a status for that.
    pub(super) fn unknown_method(method: &str, revision: Revision) -> Self {
        let kind = revision.is_stateless().then_some(ErrorKind::NotFound);
        Self::of(-32601, format!("no method {} here", quoted(method)), kind)
    }

    /// The parameters do not fit the method.
    pub(super) fn invalid_params(why: impl Into<String>) -> Self {
        Self::of(-32602, why, None)
    }

    /// The request lacks a field that its revision requires.
    pub(super) fn malformed(why: impl Into<String>) -> Self {
        Self::of(-32602, why, Some(ErrorKind::BadRequest))
    }

    /// The server failed.
    pub(super) fn internal(why: impl Into<String>) -> Self {
        Self::of(-32603, why, None)
    }

    /// A header is missing or says something else than the body.
    pub(super) fn header_mismatch(why: impl Into<String>) -> Self {
        Self::of(-32020, why, Some(ErrorKind::BadRequest))
    }

    /// This server does not speak that revision.
    pub(super) fn unsupported_version(requested: &str) -> Self {
        let supported = Revision::ALL.map(Revision::name);
        let message = format!("the revision {} is not spoken here", quoted(requested));
        let requested: String = requested.chars().take(64).collect();
        let data = json!({ "supported": supported, "requested": requested });
        Self { data: Some(data), ..Self::of(-32022, message, Some(ErrorKind::BadRequest)) }
    }

    fn of(code: i32, message: impl Into<String>, kind: Option<ErrorKind>) -> Self {
        Self { code, message: message.into(), data: None, kind }
    }

    /// The code of JSON-RPC.
    #[cfg(test)]
    pub(super) fn code(&self) -> i32 {
        self.code
    }
}

/// The outcome of a request.
pub(super) struct Reply {
    /// The result as JSON, or the error.
    pub(super) outcome: Result<Vec<u8>, Failure>,
    /// The charge that must be durable before the result is sent.
    pub(super) durable: Option<Durable>,
    /// Credits charged, and credits left.
    pub(super) credits: Option<(u64, u64)>,
    /// The cause of an internal error, for the log.
    pub(super) cause: Option<String>,
}

impl Reply {
    /// A reply that cost nothing.
    pub(super) fn free(outcome: Result<Vec<u8>, Failure>) -> Self {
        Self { outcome, durable: None, credits: None, cause: None }
    }
}

/// The response to a request.
pub(super) fn response(call: &Call<'_>, reply: Reply) -> Response {
    let mut response = match reply.outcome {
        Ok(outcome) => json(200, &result(call.id, &outcome)),
        Err(failure) => refused(Some(call.id), &failure),
    };
    response = response.with_cause(reply.cause);
    if let Some((charged, remaining)) = reply.credits {
        response = with_credits(response, charged, remaining);
    }
    match reply.durable {
        Some(durable) => response.when(Charged(durable)),
        None => response,
    }
}

/// The response to a request that failed, or to a body that is no request.
pub(super) fn refused(id: Option<&str>, error: &Failure) -> Response {
    json(error.kind.map_or(200, ErrorKind::status), &failure(id, error))
}

/// The response to messages that want no answer.
pub(super) fn accepted() -> Response {
    json(202, b"")
}

/// A response with this body.
pub(super) fn json(status: u16, body: &[u8]) -> Response {
    Response::bytes(JSON, body).with_status(status)
}

/// A result as a message.
pub(super) fn result(id: &str, outcome: &[u8]) -> Vec<u8> {
    let head = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"#);
    [head.as_bytes(), outcome, b"}"].concat()
}

/// An error as a message. An id that cannot be read is null.
pub(super) fn failure(id: Option<&str>, failure: &Failure) -> Vec<u8> {
    let mut error = json!({ "code": failure.code, "message": failure.message });
    if let (Some(data), Some(members)) = (&failure.data, error.as_object_mut()) {
        members.insert("data".to_owned(), data.clone());
    }
    let id = id.unwrap_or("null");
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#).into_bytes()
}

/// A JSON text inside another one.
pub(super) fn raw(text: String) -> Option<Box<RawValue>> {
    RawValue::from_string(text).ok()
}
