//! The class of a request, from its target alone.
//!
//! Long requests have workers of their own, requests without a key do not delay customers, and health is answered
//! while all other workers are busy.

use std::borrow::Cow;

use mercato_web::Target;

/// Kinds of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// A page that needs a key: found, printed and sent in one piece.
    Page,
    /// Public and unknown paths.
    Public,
    /// The call of an agent: a page with a key, public without one.
    Agent,
    /// A stream or a download: sent while the client reads.
    Long,
    /// Health and readiness.
    Vital,
}

/// The kind of work of a request. A target that cannot be read is public: the refusal is for everybody.
pub fn work_of(target: &str) -> Work {
    match &*path_of(target) {
        "/healthz" | "/readyz" | "/metrics" => Work::Vital,
        path if path.ends_with("/query/stream") || path.ends_with("/download") => Work::Long,
        path if path.ends_with("/query") || path.ends_with("/query/estimate") => Work::Page,
        "/api/v1/account" | "/api/v1/account/usage" => Work::Page,
        "/mcp" => Work::Agent,
        _ => Work::Public,
    }
}

/// Whether nobody without a valid key is answered there. The pages for people have their own sign-in.
pub fn needs_key(target: &str) -> bool {
    path_of(target).starts_with("/api/v1/") && matches!(work_of(target), Work::Page | Work::Long)
}

fn path_of(target: &str) -> Cow<'_, str> {
    let path = target.split(['?', '#']).next().unwrap_or_default();
    let is_plain = path.starts_with('/') && !path.contains('%');
    if is_plain { Cow::Borrowed(path) } else { decoded(target) }
}

fn decoded(target: &str) -> Cow<'static, str> {
    let segments = Target::parse(target).map(|target| target.segments).unwrap_or_default();
    Cow::Owned(segments.iter().fold(String::new(), |path, segment| path + "/" + segment))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::route::Guard;
    use crate::api::routes::{PUBLIC, UNDESCRIBED};

    #[test]
    fn knows_routes_that_need_key() {
        for route in PUBLIC.iter().chain(UNDESCRIBED).copied().flatten() {
            assert_eq!(needs_key(route.pattern), route.guard == Guard::Key, "{}", route.pattern);
        }
        for (target, expected) in [
            ("/api/v1/datasets/x/%71uery?a=b", true),
            ("http://h/api/v1/datasets/x/query/stream", true),
            ("/datasets/x/explore/download", false),
            ("/datasets/x/explore/query", false),
            ("*", false),
        ] {
            assert_eq!(needs_key(target), expected, "{target}");
        }
    }

    #[test]
    fn classifies_targets_however_encoded() {
        for (target, expected) in [
            ("/api/v1/datasets/x/query", Work::Page),
            ("/api/v1/datasets/x/query/stream?summary=1", Work::Long),
            ("/api/v1/datasets/x/query/%73tream", Work::Long),
            ("http://h/api/v1/datasets/x/download?format=csv", Work::Long),
            ("/api/v1/datasets/x/query/estimate", Work::Page),
            ("/api/v1/datasets/x/%71uery", Work::Page),
            ("/api/v1/account?x=1", Work::Page),
            ("/api/v1/datasets/x?q=/download", Work::Public),
            ("/api/v1/datasets/x/sample", Work::Public),
            ("/mcp", Work::Agent),
            ("/m%63p?x=1", Work::Agent),
            ("/mcp/x", Work::Public),
            ("/healthz", Work::Vital),
            ("/%72eadyz", Work::Vital),
            ("*", Work::Public),
            ("/%zz/download", Work::Public),
        ] {
            assert_eq!(work_of(target), expected, "{target}");
        }
    }
}
