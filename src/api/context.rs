//! What the server knows of a request besides HTTP: the caller, the limits that it counts against, and facts for the log.

use std::net::IpAddr;

use mercato_people::{Admission, Caller, KeyRefusal, LimitStatus, Permit};
use mercato_web::{ApiError, Match, OwnHeaders, push_field};

pub type Incoming = mercato_web::Incoming<RequestContext>;

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

/// What the server knows of a request.
pub struct RequestContext {
    /// Where the path leads: the number of a row in the table of the listener.
    pub(super) found: Match<usize>,
    /// The holder of the presented key, which may have ended since it was looked up.
    pub(super) identity: Result<Caller, KeyRefusal>,
    /// Address of the client: of the connection, or what a trusted proxy says.
    pub address: IpAddr,
    pub(super) caller: Option<Caller>,
    pub(super) admission: Option<Admission>,
    /// The request counts as running until this is dropped.
    pub(super) held: Option<Permit>,
    /// For the request log.
    pub log: LogFields,
}

impl RequestContext {
    /// A request that has arrived.
    pub(super) fn new(found: Match<usize>, identity: Result<Caller, KeyRefusal>, address: IpAddr) -> Self {
        let log = LogFields::default();
        Self { found, identity, address, caller: None, admission: None, held: None, log }
    }

    /// Why the presented key is none.
    pub fn key_refusal(&self) -> KeyRefusal {
        self.identity.as_ref().err().copied().unwrap_or(KeyRefusal::Missing)
    }

    /// The caller. Only routes that require a key may ask; for others the key is absent or was not valid.
    pub fn caller(&self) -> Result<&Caller, ApiError> {
        self.caller
            .as_ref()
            .ok_or_else(|| ApiError::internal("a route without a key guard asked for its caller"))
    }
}

impl OwnHeaders for RequestContext {
    fn push_to(&self, head: &mut Vec<u8>) {
        let Some(admission) = &self.admission else { return };
        let mut limits = String::new();
        for (name, standing) in [("minute", &admission.minute), ("day", &admission.day)] {
            let Some(LimitStatus { remaining, reset_seconds, .. }) = standing else { continue };
            let before = if limits.is_empty() { "" } else { ", " };
            limits.push_str(&format!("{before}\"{name}\";r={remaining};t={reset_seconds}"));
        }
        if !limits.is_empty() {
            push_field(head, "RateLimit", &limits);
        }
    }
}
