//! What kind of work a request is, told from its method and target alone.
//!
//! So that work that runs long has workers of its own, and health is answered while all others are busy.

use std::borrow::Cow;

use super::target::Target;

/// Kinds of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// A page: found, printed and sent in one piece.
    Page,
    /// A stream or a download: sent while the client reads.
    Long,
    /// Health and readiness.
    Vital,
}

/// The kind of work of a request. A target that cannot be read is a page: the refusal is one.
pub fn work_of(target: &str) -> Work {
    let path = target.split(['?', '#']).next().unwrap_or_default();
    let is_plain = path.starts_with('/') && !path.contains('%');
    let path = if is_plain { Cow::Borrowed(path) } else { decoded(target) };
    match &*path {
        "/healthz" | "/readyz" | "/metrics" => Work::Vital,
        path if path.ends_with("/query/stream") || path.ends_with("/download") => Work::Long,
        _ => Work::Page,
    }
}

fn decoded(target: &str) -> Cow<'static, str> {
    let segments = Target::parse(target).map(|target| target.segments).unwrap_or_default();
    Cow::Owned(segments.iter().fold(String::new(), |path, segment| path + "/" + segment))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_work_does_not_depend_on_how_the_target_is_written() {
        for (target, expected) in [
            ("/api/v1/datasets/x/query", Work::Page),
            ("/api/v1/datasets/x/query/stream?summary=1", Work::Long),
            ("/api/v1/datasets/x/query/%73tream", Work::Long),
            ("http://h/api/v1/datasets/x/download?format=csv", Work::Long),
            ("/api/v1/datasets/x?q=/download", Work::Page),
            ("/healthz", Work::Vital),
            ("/%72eadyz", Work::Vital),
            ("*", Work::Page),
            ("/%zz/download", Work::Page),
        ] {
            assert_eq!(work_of(target), expected, "{target}");
        }
    }
}
