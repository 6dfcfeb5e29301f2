//! JSON-RPC messages out of a body, each as far as it can be read. Ids stay as they were written.
//!
//! Reads the form of messages. Does not depend on methods.

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::rpc::Failure;
use super::tools::kind_of;

/// Brackets inside brackets of a body.
const DEPTH_MAX: usize = 64;
/// Length of the id of a request, as written.
const ID_BYTES_MAX: usize = 256;
/// The member of `_meta` with the revision of a request.
const CLAIMED_VERSION: &str = "io.modelcontextprotocol/protocolVersion";

pub(super) enum Message<'b> {
    /// It wants an answer.
    Request(Call<'b>),
    /// It wants none.
    Notification,
    /// An answer to a request that this server never sends.
    Response,
    /// It is none of these. The id, where it can be read.
    Invalid(Option<&'b str>, Failure),
}

/// A request.
pub(super) struct Call<'b> {
    /// A string or a whole number, as written.
    pub(super) id: &'b str,
    /// The method's name.
    pub(super) method: String,
    /// Its parameters as far as any method knows them.
    pub(super) params: Params<'b>,
    /// The fault of its parameters.
    pub(super) fault: Option<String>,
}

/// Parameters of the methods, as written.
#[derive(Default, Deserialize)]
pub(super) struct Params<'b> {
    #[serde(borrow, rename = "_meta", default)]
    pub(super) meta: Meta<'b>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) name: Option<&'b RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) arguments: Option<&'b RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) cursor: Option<&'b RawValue>,
    #[serde(borrow, rename = "protocolVersion", default, deserialize_with = "present")]
    pub(super) protocol_version: Option<&'b RawValue>,
}

/// The `_meta` of a request: revision, capabilities and client.
#[derive(Default, Deserialize)]
pub(super) struct Meta<'b> {
    #[serde(
        borrow,
        rename = "io.modelcontextprotocol/protocolVersion",
        default,
        deserialize_with = "present"
    )]
    pub(super) version: Option<&'b RawValue>,
    #[serde(
        borrow,
        rename = "io.modelcontextprotocol/clientCapabilities",
        default,
        deserialize_with = "present"
    )]
    pub(super) capabilities: Option<&'b RawValue>,
    #[serde(borrow, rename = "io.modelcontextprotocol/clientInfo", default, deserialize_with = "present")]
    pub(super) client: Option<&'b RawValue>,
}

#[derive(Deserialize)]
struct Members<'b> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'b RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'b RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'b RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'b RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'b RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'b RawValue>,
}

/// Distinguishes `null` from a missing member.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

pub(super) fn read(body: &[u8]) -> Result<Message<'_>, Failure> {
    if is_nested_deeper(body, DEPTH_MAX) {
        return Err(Failure::invalid_request(format!("the body nests deeper than {DEPTH_MAX} levels")));
    }
    let whole: &RawValue = serde_json::from_slice(body).map_err(|error| Failure::no_json(&error))?;
    if whole.get().starts_with('[') {
        return Err(Failure::invalid_request(
            "a body holds one message; batches ended with the revision 2025-06-18",
        ));
    }
    Ok(message(whole))
}

fn message(raw: &RawValue) -> Message<'_> {
    let members: Members<'_> = match object("a message", raw) {
        Ok(members) => members,
        Err(why) => return invalid(None, why),
    };
    let id = members.id.map(RawValue::get).filter(|written| is_id(written));
    if text(members.jsonrpc).as_deref() != Some("2.0") {
        return invalid(id, "`jsonrpc` is not \"2.0\"");
    }
    let Some(method) = members.method else {
        let is_response = members.result.is_some() != members.error.is_some();
        return if is_response { Message::Response } else { invalid(id, "the message has no `method`") };
    };
    let Some(method) = text(Some(method)) else { return invalid(id, "`method` is not a string") };
    let id = match (members.id, id) {
        (None, _) => return Message::Notification,
        (Some(_), Some(id)) => id,
        (Some(_), None) => {
            let why = format!("`id` is neither a string nor a whole number of at most {ID_BYTES_MAX} bytes");
            return invalid(None, why);
        }
    };
    let (params, fault) = match members.params.map(|params| object("`params`", params)) {
        None => (Params::default(), None),
        Some(Ok(params)) => (params, None),
        Some(Err(why)) => (Params::default(), Some(why)),
    };
    Message::Request(Call { id, method, params, fault })
}

/// The members of an object, or in the words of JSON why it cannot be read.
fn object<'b, T: Deserialize<'b>>(what: &str, raw: &'b RawValue) -> Result<T, String> {
    // A list of the same values would be read, too.
    if !raw.get().starts_with('{') {
        return Err(format!("{what} is {} where an object is expected", kind_of(raw.get())));
    }
    serde_json::from_str(raw.get()).map_err(|_| why_unreadable(what, raw))
}

fn why_unreadable(what: &str, raw: &RawValue) -> String {
    let members: Option<serde_json::Map<String, serde_json::Value>> = serde_json::from_str(raw.get()).ok();
    match members.as_ref().and_then(|members| members.get("_meta")).filter(|meta| !meta.is_object()) {
        Some(meta) => {
            format!("`_meta` of {what} is {} where an object is expected", kind_of(&meta.to_string()))
        }
        None => format!("{what} has a member more than once"),
    }
}

fn invalid<'b>(id: Option<&'b str>, why: impl Into<String>) -> Message<'b> {
    Message::Invalid(id, Failure::invalid_request(why))
}

/// Whether a value as written is a string or a whole number.
fn is_id(written: &str) -> bool {
    let digits = written.strip_prefix('-').unwrap_or(written);
    let is_whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    written.len() <= ID_BYTES_MAX && (is_whole || written.starts_with('"'))
}

/// The text of a string.
pub(super) fn text(raw: Option<&RawValue>) -> Option<String> {
    serde_json::from_str(raw?.get()).ok()
}

impl Call<'_> {
    /// The revision that the request itself names, if it names one; the text of anything else but a string is its JSON.
    pub(super) fn claimed_version(&self) -> Option<String> {
        let raw = self.params.meta.version?;
        Some(text(Some(raw)).unwrap_or_else(|| raw.get().to_owned()))
    }

    /// The fault of `_meta`, or the first required field that it lacks.
    pub(super) fn lacks(&self) -> Option<String> {
        if let Some(fault) = &self.fault {
            return Some(fault.clone());
        }
        let meta = &self.params.meta;
        let is_object = |raw: &RawValue| raw.get().starts_with('{');
        if text(meta.version).is_none() {
            return Some(format!("`params._meta` lacks `{CLAIMED_VERSION}`, a string"));
        }
        if !meta.capabilities.is_some_and(is_object) {
            return Some(
                "`params._meta` lacks `io.modelcontextprotocol/clientCapabilities`, an object".to_owned(),
            );
        }
        (!meta.client.is_none_or(is_object))
            .then(|| "`io.modelcontextprotocol/clientInfo` is not an object".to_owned())
    }
}

/// Whether brackets outside of strings nest deeper than `most`.
fn is_nested_deeper(body: &[u8], most: usize) -> bool {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    body.iter().any(|byte| {
        if in_string {
            (in_string, escaped) = (escaped || *byte != b'"', !escaped && *byte == b'\\');
            return false;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => depth = depth.saturating_add(1),
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > most
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(body: &str) -> String {
        match read(body.as_bytes()) {
            Ok(Message::Request(call)) => format!("request {} {}", call.id, call.method),
            Ok(Message::Notification) => "notification".to_owned(),
            Ok(Message::Response) => "response".to_owned(),
            Ok(Message::Invalid(_, failure)) => failure.code().to_string(),
            Err(failure) => failure.code().to_string(),
        }
    }

    #[test]
    fn tells_kinds_of_messages_apart() {
        for (body, expected) in [
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, "request 1 ping"),
            (r#" {"jsonrpc":"2.0","id":"a\"\u00e9","method":"p","params":{}} "#, r#"request "a\"\u00e9" p"#),
            (
                r#"{"jsonrpc":"2.0","id":-99999999999999999999999,"method":"p"}"#,
                "request -99999999999999999999999 p",
            ),
            (r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, "notification"),
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, "response"),
            (r#"{"jsonrpc":"2.0","id":1,"error":null}"#, "response"),
            (r#"{"jsonrpc":"2.0","id":1}"#, "-32600"),
            (r#"{"jsonrpc":"2.0","id":null,"method":"p"}"#, "-32600"),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"p"}"#, "-32600"),
            (r#"{"jsonrpc":"2.0","id":1e3,"method":"p"}"#, "-32600"),
            (r#"{"jsonrpc":"2.0","id":{},"method":"p"}"#, "-32600"),
            (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"p"}"#, "-32600"),
            (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, "-32600"),
            (r#"{"jsonrpc":2.0,"id":1,"method":"p"}"#, "-32600"),
            (r#"{"id":1,"method":"p"}"#, "-32600"),
            ("7", "-32600"),
            ("[]", "-32600"),
            ("[1,{}]", "-32600"),
            ("", "-32700"),
            ("{", "-32700"),
            (r#"{"jsonrpc":"2.0","id":NaN,"method":"p"}"#, "-32700"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"p"} x"#, "-32700"),
        ] {
            assert_eq!(kind(body), expected, "{body}");
        }
        let long = format!(r#"{{"jsonrpc":"2.0","id":"{}","method":"p"}}"#, "x".repeat(ID_BYTES_MAX));
        assert_eq!(kind(&long), "-32600");
        assert!(
            matches!(read(b"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"p\"}"), Err(failure) if failure.code() == -32700)
        );
    }

    #[test]
    fn bounds_nesting_outside_of_strings() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(!is_nested_deeper(nested(8).as_bytes(), 8));
        assert!(is_nested_deeper(nested(9).as_bytes(), 8));
        assert!(!is_nested_deeper(br#""[[[[\"[[[[""#, 1));
        assert!(!is_nested_deeper(&b"[]".repeat(100), 1));
        assert_eq!(kind(&"[".repeat(500_000)), "-32600");
    }

    #[test]
    fn names_what_request_lacks() {
        let lacks = |params: &str| {
            let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"p","params":{params}}}"#);
            let Ok(Message::Request(call)) = read(body.as_bytes()) else { panic!("{body}") };
            call.lacks()
        };
        let version = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#;
        let whole = format!(r#"{{"_meta":{{{version},"io.modelcontextprotocol/clientCapabilities":{{}}}}}}"#);
        assert_eq!(lacks(&whole), None);
        for params in [
            "{}".to_owned(),
            "[]".to_owned(),
            r#"{"_meta":null}"#.to_owned(),
            r#"{"_meta":{},"_meta":{}}"#.to_owned(),
            format!(r#"{{"_meta":{{{version}}}}}"#),
            whole.replace("{}", "[]"),
            whole.replace("\"2026-07-28\"", "20260728"),
            whole.replace("{}", r#"{},"io.modelcontextprotocol/clientInfo":"me""#),
        ] {
            assert!(lacks(&params).is_some(), "{params}");
        }
    }
}
