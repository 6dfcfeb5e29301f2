//! Revisions of the protocol, and which one a request is of: decided once, from its header and its `_meta`.
//!
//! Holds the rules of headers. Does not depend on methods.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::message::{Call, text};
use super::rpc::Failure;
use crate::api::context::Incoming;
use mercato_base::words::quoted;

/// The header with the revision of a request.
pub(super) const VERSION_HEADER: &str = "MCP-Protocol-Version";

/// A revision of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Revision {
    /// The last one with a handshake; its clients send the header after that.
    V2025_11_25,
    /// Stateless: every request names its revision and its client.
    V2026_07_28,
}

impl Revision {
    /// Newest first.
    pub(super) const ALL: [Revision; 2] = [Self::V2026_07_28, Self::V2025_11_25];

    /// The date that names it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// The revision of that name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|revision| revision.name() == name)
    }

    /// Whether there is no handshake.
    pub(super) fn is_stateless(self) -> bool {
        self >= Self::V2026_07_28
    }

    /// The revision of a handshake. A client that does not speak it ends the handshake.
    pub(super) const fn agreed() -> Self {
        Self::V2025_11_25
    }
}

/// The revision of a request.
pub(super) fn of(request: &Incoming, call: &Call<'_>) -> Result<Revision, Failure> {
    let header = request.list(VERSION_HEADER);
    match (header.as_deref(), call.claimed_version()) {
        (None, None) => Ok(Revision::agreed()),
        (None, Some(_)) => Err(Failure::header_mismatch(format!("the header {VERSION_HEADER} is missing"))),
        (Some(named), claimed) => {
            if claimed.as_deref().is_some_and(|claimed| claimed != named) {
                return Err(Failure::header_mismatch(differs(VERSION_HEADER, named, claimed.as_deref())));
            }
            let revision = Revision::named(named).ok_or_else(|| Failure::unsupported_version(named))?;
            if revision.is_stateless() {
                check_stateless(request, call)?;
            }
            Ok(revision)
        }
    }
}

/// Checks `_meta` of a stateless request, and that the headers `Mcp-Method` and `Mcp-Name` agree with its body.
fn check_stateless(request: &Incoming, call: &Call<'_>) -> Result<(), Failure> {
    if let Some(lacking) = call.lacks() {
        return Err(Failure::malformed(lacking));
    }
    let header = request.list("Mcp-Method");
    if header.as_deref() != Some(&call.method) {
        return Err(Failure::header_mismatch(differs(
            "Mcp-Method",
            header.as_deref().unwrap_or("nothing"),
            Some(&call.method),
        )));
    }
    let Some(name) = text(call.params.name).filter(|_| call.method == "tools/call") else { return Ok(()) };
    let header = request.list("Mcp-Name");
    if header.as_deref().and_then(decoded).as_deref() == Some(&name) {
        return Ok(());
    }
    Err(Failure::header_mismatch(differs("Mcp-Name", header.as_deref().unwrap_or("nothing"), Some(&name))))
}

/// The text of a header that may be wrapped as `=?base64?…?=`; nothing for one that is wrapped and cannot be read.
fn decoded(value: &str) -> Option<String> {
    match value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
        Some(wrapped) => String::from_utf8(STANDARD.decode(wrapped).ok()?).ok(),
        None => Some(value.to_owned()),
    }
}

fn differs(header: &str, found: &str, expected: Option<&str>) -> String {
    format!("the header {header} says {}, the body {}", quoted(found), quoted(expected.unwrap_or("nothing")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_wrapped_header_values() {
        for (value, expected) in [
            ("query_rows", Some("query_rows")),
            ("=?base64?cXVlcnlfcm93cw==?=", Some("query_rows")),
            ("=?base64?cXVlcnlfcm93cw==", Some("=?base64?cXVlcnlfcm93cw==")),
            ("=?base64?!?=", None),
            ("=?base64?/w==?=", None),
        ] {
            assert_eq!(decoded(value).as_deref(), expected, "{value}");
        }
    }
}
