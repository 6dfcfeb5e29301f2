//! Byte ranges of a representation.
//!
//! Implements RFC 9110, section 14. Does not depend on the source of the bytes.

use std::ops::Range;

use super::conditional::Validators;

/// The requested part of a representation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    Whole,
    /// All of it, requested as a range that begins at the first byte and has no end (`bytes=0-`).
    FromTheFirst,
    /// These bytes; never empty.
    Part(Range<u64>),
    /// Bytes beyond its end, or a malformed range.
    NotSatisfiable,
}

/// Parses a `Range` header. Other units and lists of several ranges are ignored. Empty parts, parts behind the end
/// and malformed ranges are not satisfiable.
pub fn asked(range: Option<&str>, length: u64) -> Asked {
    let Some((unit, set)) = range.and_then(|text| text.split_once('=')) else { return Asked::Whole };
    if !unit.trim().eq_ignore_ascii_case("bytes") || set.contains(',') {
        return Asked::Whole;
    }
    let Some((first, last)) = set.trim().split_once('-') else { return Asked::NotSatisfiable };
    let part = match (number(first), number(last)) {
        (Some(first), None) if last.is_empty() => first..length,
        (None, Some(count)) if first.is_empty() => length.saturating_sub(count)..length,
        (Some(first), Some(last)) if first <= last => first..length.min(last.saturating_add(1)),
        _ => return Asked::NotSatisfiable,
    };
    if part.is_empty() {
        Asked::NotSatisfiable
    } else if part.start == 0 && last.is_empty() {
        Asked::FromTheFirst
    } else {
        Asked::Part(part)
    }
}

/// Whether a range may be served: `If-Range` is absent or names the current content.
pub fn still_holds(if_range: Option<&str>, validators: &Validators) -> bool {
    if_range.is_none_or(|condition| {
        let condition = condition.trim();
        condition == validators.entity_tag || condition == validators.last_modified_text()
    })
}

/// Digits only; a number beyond 64 bits is behind every end.
fn number(text: &str) -> Option<u64> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mercato_base::clock::Moment;

    #[track_caller]
    fn check(range: &str, expected: &Asked) {
        assert_eq!(&asked(Some(range), 100), expected, "{range}");
    }

    #[test]
    fn clamps_ranges_and_resolves_suffixes() {
        assert_eq!(asked(None, 100), Asked::Whole);
        check("bytes=0-", &Asked::FromTheFirst);
        check("bytes=0-99", &Asked::Part(0..100));
        check("bytes=0-0", &Asked::Part(0..1));
        check("BYTES=10-19", &Asked::Part(10..20));
        check("bytes=10-", &Asked::Part(10..100));
        check("bytes=90-1000", &Asked::Part(90..100));
        check("bytes=99-99999999999999999999999", &Asked::Part(99..100));
        check("bytes=-1", &Asked::Part(99..100));
        check("bytes=-1000", &Asked::Part(0..100));
    }

    #[test]
    fn rejects_unsatisfiable_ranges() {
        for range in ["bytes=100-", "bytes=100-200", "bytes=-0", "bytes=99999999999999999999-"] {
            check(range, &Asked::NotSatisfiable);
        }
        for range in ["bytes=", "bytes=-", "bytes=a-b", "bytes=5-2", "bytes=+1-2", "bytes=1 - 2", "bytes=--1"]
        {
            check(range, &Asked::NotSatisfiable);
        }
        assert_eq!(asked(Some("bytes=0-"), 0), Asked::NotSatisfiable);
    }

    #[test]
    fn ignores_other_units_and_multiple_ranges() {
        for range in ["rows=0-9", "bytes", "bytes=0-1,5-6", "nonsense"] {
            check(range, &Asked::Whole);
        }
    }

    #[test]
    fn requires_exact_validator_for_range() {
        let last_modified = Moment::from_unix_millis(1_700_000_000_900);
        let validators = Validators { entity_tag: "\"abc\"".to_owned(), last_modified };
        assert!(still_holds(None, &validators));
        assert!(still_holds(Some("\"abc\""), &validators));
        assert!(still_holds(Some("Tue, 14 Nov 2023 22:13:20 GMT"), &validators));
        assert!(!still_holds(Some("W/\"abc\""), &validators), "ranges need strong validators");
        assert!(!still_holds(Some("\"abd\""), &validators));
        assert!(!still_holds(Some("Tue, 14 Nov 2023 22:13:21 GMT"), &validators));
    }
}
