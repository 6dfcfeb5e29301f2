//! The kind of a listener: the public API with its limits and open CORS, or the operator's side.
//!
//! Does not depend on routes.

use mercato_people::RateLimits;
use mercato_web::{Common, host_of, is_loopback, push_field};

/// Headers that scripts of other origins may read.
const EXPOSED_HEADERS: &str = "X-Request-Id, RateLimit, RateLimit-Policy, Retry-After, ETag, Last-Modified, Link, \
    Content-Disposition, Content-Range, Accept-Ranges, Repr-Digest, X-Rows-Returned, X-Next-Cursor, \
    X-Pagination-Mode, X-Total-Rows, X-Total-Rows-At-Least, X-Dataset-Version, X-Credits-Charged, X-Credits-Remaining, X-Credits-Reserved, \
    X-Credits-Warning, X-Warnings, Idempotent-Replayed";

/// The kind of a listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListenerKind {
    /// The public API. `policy` is the value of `RateLimit-Policy`.
    Public {
        /// Value of `RateLimit-Policy`; empty when every limit is lifted.
        policy: String,
    },
    /// The admin listener.
    Operator {
        /// Whom a request may ask for.
        hosts: AdminHosts,
    },
}

/// The values of `Host` that the admin listener takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AdminHosts {
    /// Any: no page of a browser reaches a socket file by itself.
    Any,
    /// Names and addresses of this machine, and these names.
    Own(Vec<String>),
}

impl AdminHosts {
    /// Whether the listener may be asked by that `Host`.
    pub(super) fn admit(&self, host: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Own(names) => {
                is_loopback(host) || names.iter().any(|name| name.eq_ignore_ascii_case(host_of(host)))
            }
        }
    }
}

impl ListenerKind {
    /// The public listener_kind under these limits.
    pub fn public(limits: &RateLimits) -> Self {
        let mut parts = Vec::new();
        if limits.per_minute > 0 {
            parts.push(format!("\"minute\";q={};w=60", limits.per_minute));
        }
        if limits.per_day > 0 {
            parts.push(format!("\"day\";q={};w=86400", limits.per_day));
        }
        Self::Public { policy: parts.join(", ") }
    }

    /// What all responses of the listener have in common: the public one is open to scripts of other origins.
    pub(super) fn common(&self) -> Common {
        let Self::Public { policy } = self else { return Common::default() };
        let mut headers = b"Access-Control-Allow-Origin: *\r\n".to_vec();
        push_field(&mut headers, "Access-Control-Expose-Headers", EXPOSED_HEADERS);
        if !policy.is_empty() {
            push_field(&mut headers, "RateLimit-Policy", policy);
        }
        Common { headers, encodes: true }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(per_minute: u32, per_day: u32, expected: &str) {
        let listener_kind = ListenerKind::public(&RateLimits { per_minute, per_day });
        assert_eq!(listener_kind, ListenerKind::Public { policy: expected.to_owned() });
    }

    #[test]
    fn admits_this_machine_and_named_hosts() {
        let own = AdminHosts::Own(vec!["admin.example.org".to_owned()]);
        for host in
            ["127.0.0.1:8081", "localhost", "[::1]:8081", "Admin.Example.org", "admin.example.org:443"]
        {
            assert!(own.admit(host), "{host}");
        }
        for host in ["", "evil.test", "evil.test:8081", "x.admin.example.org", "192.168.1.7:8081"] {
            assert!(!own.admit(host) && AdminHosts::Any.admit(host), "{host}");
        }
    }

    #[test]
    fn lists_active_limits_in_policy() {
        check(120, 5000, "\"minute\";q=120;w=60, \"day\";q=5000;w=86400");
        check(0, 5000, "\"day\";q=5000;w=86400");
        check(0, 0, "");
    }
}
