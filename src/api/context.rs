//! What the server knows of a request besides HTTP: the caller, the limits that it counts against, and facts for the log.

use std::net::IpAddr;

use super::app::App;
use super::presented_key::presented_key;
use crate::access::{Admission, Caller, LimitStatus, Permit};
use mercato_web::{ApiError, OwnHeaders, push_field};

/// One request.
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
#[derive(Default)]
pub struct RequestContext {
    pub(super) caller: Option<Caller>,
    pub(super) admission: Option<Admission>,
    /// The request counts as running until this is dropped.
    pub(super) held: Option<Permit>,
    /// For the request log.
    pub log: LogFields,
}

impl RequestContext {
    /// The caller. Only routes that require a key may ask; for others the key is absent or was not valid.
    pub fn caller(&self) -> Result<&Caller, ApiError> {
        self.caller
            .as_ref()
            .ok_or_else(|| ApiError::internal("a route without a key guard asked for its caller"))
    }
}

/// Address of the client: of the connection, or what a trusted proxy says.
pub fn client_address(app: &App, request: &Incoming) -> IpAddr {
    app.trusted_proxies.client_address(request.peer(), request.headers("X-Forwarded-For"))
}

/// The API key that a request presents, valid or not.
pub(super) fn presented_key_of(request: &Incoming) -> Option<&str> {
    presented_key(request.headers("X-Api-Key"), request.headers("Authorization"))
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
