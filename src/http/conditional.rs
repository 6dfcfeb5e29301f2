//! Entity tags and dates: does the client already hold what we would send?
//!
//! Knows RFC 9110, section 13; knows nothing of where a tag comes from.

use std::time::{Duration, UNIX_EPOCH};

use xxhash_rust::xxh3::xxh3_128;

use super::coding::Coding;
use crate::clock::Moment;
use crate::limits::http::ENTITY_TAG_COUNT_MAX;

/// What a client could hold: a strong tag and the time of the last change.
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

    /// Whether a 304 answers the request. `If-None-Match` decides alone where it is given.
    pub fn satisfied_by(&self, if_none_match: Option<&str>, if_modified_since: Option<&str>) -> bool {
        if let Some(list) = if_none_match {
            return self.matches_any(list);
        }
        if_modified_since
            .and_then(|text| httpdate::parse_http_date(text.trim()).ok())
            .and_then(|since| since.duration_since(UNIX_EPOCH).ok())
            .and_then(|since| i64::try_from(since.as_secs()).ok())
            .is_some_and(|since| self.last_modified.unix_seconds() <= since)
    }

    /// Weak comparison, as `If-None-Match` asks for.
    fn matches_any(&self, list: &str) -> bool {
        list.trim() == "*"
            || list
                .split(',')
                .take(ENTITY_TAG_COUNT_MAX)
                .map(str::trim)
                .any(|tag| tag.strip_prefix("W/").unwrap_or(tag) == self.entity_tag)
    }
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

    #[track_caller]
    fn check(if_none_match: Option<&str>, if_modified_since: Option<&str>, expected: bool) {
        assert_eq!(validators().satisfied_by(if_none_match, if_modified_since), expected);
    }

    #[test]
    fn a_tag_or_a_date_that_still_holds_is_answered_with_304() {
        let same = "Tue, 14 Nov 2023 22:13:20 GMT";
        let before = "Tue, 14 Nov 2023 22:13:19 GMT";
        check(None, None, false);
        check(Some("\"abc\""), None, true);
        check(Some("W/\"abc\""), None, true);
        check(Some("\"x\", \"abc\""), None, true);
        check(Some("*"), None, true);
        check(Some("\"x\""), None, false);
        check(Some("\"x\""), Some(same), false);
        check(None, Some(same), true);
        check(None, Some(before), false);
        check(None, Some("yesterday"), false);
    }

    #[test]
    fn each_coding_has_a_tag_of_its_own() {
        assert_eq!(validators().encoded(None), validators());
        assert_eq!(validators().encoded(Some(Coding::Gzip)).entity_tag, "\"abc-gzip\"");
        assert_eq!(validators().encoded(Some(Coding::Zstd)).entity_tag, "\"abc-zstd\"");
    }

    #[test]
    fn other_content_has_another_tag() {
        let epoch = Moment::from_unix_millis(0);
        let one = Validators::of(b"one", epoch);
        assert_eq!(one, Validators::of(b"one", epoch));
        assert_ne!(one.entity_tag, Validators::of(b"two", epoch).entity_tag);
    }
}
