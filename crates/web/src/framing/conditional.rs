//! Conditional requests: entity tags and dates that the client holds or expects.
//!
//! Implements RFC 9110, section 13. Does not depend on the source of a tag.

use std::borrow::Cow;
use std::time::{Duration, UNIX_EPOCH};

use xxhash_rust::xxh3::xxh3_128;

use super::coding::Coding;
use crate::errors::{ApiError, ErrorKind};
use crate::incoming::Incoming;
use mercato_base::clock::Moment;

/// Entity tags examined in one conditional header.
const ENTITY_TAG_COUNT_MAX: usize = 64;

/// The validators of a response: a strong tag and the time of the last change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Validators {
    /// The tag with its quotes.
    pub entity_tag: String,
    /// When the content last changed.
    pub last_modified: Moment,
}

impl Validators {
    /// Validators of some content.
    pub fn of(content: &[u8], last_modified: Moment) -> Self {
        Self { entity_tag: format!("\"{:032x}\"", xxh3_128(content)), last_modified }
    }

    /// Those of the same content in a coding: other bytes, so another tag.
    #[must_use]
    pub fn encoded(mut self, coding: Option<Coding>) -> Self {
        if let (Some(coding), Some(quoted)) = (coding, self.entity_tag.strip_suffix('"')) {
            self.entity_tag = format!("{quoted}-{}\"", coding.name());
        }
        self
    }

    /// The time as a header prints it.
    pub fn last_modified_text(&self) -> String {
        let seconds = u64::try_from(self.last_modified.unix_seconds()).unwrap_or(0);
        httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(seconds))
    }

    /// The result of the conditions of a request, in the order of RFC 9110, section 13.2.2.
    pub fn judge(&self, conditions: &Conditions) -> Verdict {
        if !self.is_expected_by(conditions) {
            Verdict::Failed
        } else if self.is_held_by(conditions) {
            Verdict::Held
        } else {
            Verdict::Send
        }
    }

    /// The coding of the expected tag. A client that got its tag from `HEAD` has that of the plain form and may still
    /// accept codings.
    pub fn expected_coding(&self, wanted: Option<Coding>, conditions: &Conditions) -> Option<Coding> {
        wanted.filter(|coding| self.clone().encoded(Some(*coding)).is_expected_by(conditions))
    }

    /// `If-Match` decides alone where it is given, by strong comparison.
    fn is_expected_by(&self, conditions: &Conditions) -> bool {
        match &conditions.if_match {
            Some(list) => is_listed(list, |tag| tag == self.entity_tag),
            None => {
                conditions.if_unmodified_since.is_none_or(|since| self.last_modified.unix_seconds() <= since)
            }
        }
    }

    /// `If-None-Match` decides alone where it is given, by weak comparison.
    fn is_held_by(&self, conditions: &Conditions) -> bool {
        match &conditions.if_none_match {
            Some(list) => is_listed(list, |tag| tag.strip_prefix("W/").unwrap_or(tag) == self.entity_tag),
            None => {
                conditions.if_modified_since.is_some_and(|since| self.last_modified.unix_seconds() <= since)
            }
        }
    }
}

/// The conditional headers of a request. An invalid date counts as absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Conditions {
    if_match: Option<String>,
    if_unmodified_since: Option<i64>,
    if_none_match: Option<String>,
    if_modified_since: Option<i64>,
}

impl Conditions {
    /// Reads the four headers.
    pub fn of<C>(request: &Incoming<C>) -> Self {
        let date = |name| request.header(name).and_then(unix_seconds);
        Self {
            if_match: request.list("If-Match").map(Cow::into_owned),
            if_unmodified_since: date("If-Unmodified-Since"),
            if_none_match: request.list("If-None-Match").map(Cow::into_owned),
            if_modified_since: date("If-Modified-Since"),
        }
    }
}

/// The result of conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Send the response.
    Send,
    /// The client holds it: 304.
    Held,
    /// The content differs from the expected one: 412.
    Failed,
}

/// The 412 of unexpected content, with the validators of the current content.
pub fn not_expected(validators: &Validators) -> ApiError {
    ApiError::new(
        ErrorKind::PreconditionFailed,
        "there is another content now than If-Match or If-Unmodified-Since names",
    )
    .with_reason("PRECONDITION_FAILED", "ask anew without the condition, or with the ETag of this answer")
    .with_header("ETag", validators.entity_tag.clone())
    .with_header("Last-Modified", validators.last_modified_text())
}

/// Refuses `If-Match` where responses have no tag. `*` matches any response.
pub fn refuse_tags<C>(request: &Incoming<C>) -> Result<(), ApiError> {
    match request.list("If-Match") {
        Some(list) if list.trim() != "*" => {
            let message = "If-Match names a tag, and this answer has none";
            Err(ApiError::new(ErrorKind::PreconditionFailed, message).with_reason(
                "PRECONDITION_FAILED",
                "leave If-Match out; X-Dataset-Version names the version that is read",
            ))
        }
        _ => Ok(()),
    }
}

fn is_listed(list: &str, is_meant: impl Fn(&str) -> bool) -> bool {
    list.trim() == "*" || list.split(',').take(ENTITY_TAG_COUNT_MAX).map(str::trim).any(is_meant)
}

fn unix_seconds(date: &str) -> Option<i64> {
    let since = httpdate::parse_http_date(date.trim()).ok()?.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_secs()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn validators() -> Validators {
        Validators {
            entity_tag: "\"abc\"".to_owned(),
            last_modified: Moment::from_unix_millis(1_700_000_000_900),
        }
    }

    const SAME: &str = "Tue, 14 Nov 2023 22:13:20 GMT";
    const BEFORE: &str = "Tue, 14 Nov 2023 22:13:19 GMT";

    fn conditions(headers: &[(&str, &str)]) -> Conditions {
        let value = |name: &str| headers.iter().find(|(given, _)| *given == name).map(|(_, value)| *value);
        Conditions {
            if_match: value("If-Match").map(str::to_owned),
            if_unmodified_since: value("If-Unmodified-Since").and_then(unix_seconds),
            if_none_match: value("If-None-Match").map(str::to_owned),
            if_modified_since: value("If-Modified-Since").and_then(unix_seconds),
        }
    }

    #[track_caller]
    fn check(headers: &[(&str, &str)], expected: Verdict) {
        assert_eq!(validators().judge(&conditions(headers)), expected, "{headers:?}");
    }

    #[test]
    fn recognises_held_tag_or_date() {
        let (tag, since) = ("If-None-Match", "If-Modified-Since");
        check(&[], Verdict::Send);
        for held in ["\"abc\"", "W/\"abc\"", "\"x\", \"abc\"", "*"] {
            check(&[(tag, held)], Verdict::Held);
        }
        check(&[(tag, "\"x\"")], Verdict::Send);
        check(&[(tag, "\"x\""), (since, SAME)], Verdict::Send);
        check(&[(since, SAME)], Verdict::Held);
        check(&[(since, BEFORE)], Verdict::Send);
        check(&[(since, "yesterday")], Verdict::Send);
    }

    #[test]
    fn fails_precondition_of_other_tag_or_date() {
        let (tag, since) = ("If-Match", "If-Unmodified-Since");
        for expected in ["\"abc\"", "\"x\", \"abc\"", "*"] {
            check(&[(tag, expected)], Verdict::Send);
        }
        for other in ["\"x\"", "W/\"abc\"", "abc", ""] {
            check(&[(tag, other)], Verdict::Failed);
        }
        check(&[(since, SAME)], Verdict::Send);
        check(&[(since, BEFORE)], Verdict::Failed);
        check(&[(since, "yesterday")], Verdict::Send);
        // The tag decides alone where it is given.
        check(&[(tag, "\"abc\""), (since, BEFORE)], Verdict::Send);
        check(&[(tag, "\"x\""), (since, SAME)], Verdict::Failed);
    }

    #[test]
    fn checks_preconditions_before_held_content() {
        check(&[("If-Match", "\"x\""), ("If-None-Match", "\"abc\"")], Verdict::Failed);
        check(&[("If-Match", "\"abc\""), ("If-None-Match", "\"abc\"")], Verdict::Held);
        check(&[("If-Unmodified-Since", BEFORE), ("If-Modified-Since", SAME)], Verdict::Failed);
    }

    #[test]
    fn chooses_coding_by_expected_tag() {
        let coding =
            |tag| validators().expected_coding(Some(Coding::Gzip), &conditions(&[("If-Match", tag)]));
        assert_eq!(coding("\"abc-gzip\""), Some(Coding::Gzip));
        assert_eq!(coding("*"), Some(Coding::Gzip));
        assert_eq!(coding("\"abc\""), None);
        assert_eq!(coding("\"abc-zstd\""), None);
        assert_eq!(validators().expected_coding(Some(Coding::Zstd), &conditions(&[])), Some(Coding::Zstd));
    }

    #[test]
    fn gives_each_coding_its_own_tag() {
        assert_eq!(validators().encoded(None), validators());
        assert_eq!(validators().encoded(Some(Coding::Gzip)).entity_tag, "\"abc-gzip\"");
        assert_eq!(validators().encoded(Some(Coding::Zstd)).entity_tag, "\"abc-zstd\"");
    }

    #[test]
    fn gives_different_content_different_tags() {
        let epoch = Moment::from_unix_millis(0);
        let one = Validators::of(b"one", epoch);
        assert_eq!(one, Validators::of(b"one", epoch));
        assert_ne!(one.entity_tag, Validators::of(b"two", epoch).entity_tag);
    }
}
