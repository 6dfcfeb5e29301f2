//! Answers of a store, which are hostile until checked: bounded bodies, codes of errors, ranges, lengths.
//!
//! Does not depend on how calls are sent.

use std::io::Read;
use std::ops::Range;

use super::error::ObjectError;

/// Bytes of an XML answer that are looked at.
pub(super) const TEXT_BYTES_MAX: u64 = 64 * 1024;
/// Longest code of an error that is repeated.
const CODE_BYTES_MAX: usize = 64;
/// Longest value that is taken out of an answer: an upload id or an entity tag.
const VALUE_BYTES_MAX: usize = 1024;

/// What stores say of keys that are over, with the status 400. An answer to HEAD has no body.
const OLD_KEYS: [&str; 3] = ["ExpiredToken", "InvalidToken", "TokenRefreshRequired"];

/// What stores say where there is no bucket.
const NO_BUCKET: &str = "NoSuchBucket";
/// What stores say that take nothing more, with various statuses.
const FULL: [&str; 3] = ["QuotaExceeded", "XMinioStorageFull", "XMinioAdminBucketQuotaExceeded"];

/// What an answer with a status other than success means.
pub(super) fn fault(object: &str, status: u16, body: &str) -> ObjectError {
    let (object, code) = (object.to_owned(), code_of(body));
    let is_busy = matches!(code, "SlowDown" | "RequestTimeout" | "OperationAborted" | "InternalError");
    let or_none = |code: &str| if code.is_empty() { "no code".to_owned() } else { code.to_owned() };
    match status {
        404 if code == NO_BUCKET => ObjectError::NoBucket { object },
        507 => ObjectError::Full { object, code: or_none(code) },
        _ if FULL.contains(&code) => ObjectError::Full { object, code: code.to_owned() },
        404 if matches!(code, "" | "NoSuchKey" | "NotFound") => ObjectError::Missing { object },
        400 if body.is_empty() || OLD_KEYS.contains(&code) => {
            ObjectError::Denied { object, code: or_none(code) }
        }
        401 | 403 => ObjectError::Denied { object, code: or_none(code) },
        416 => ObjectError::Damaged { object, reason: "it is shorter than expected".to_owned() },
        501 | 505 => ObjectError::Refused { object, status, code: or_none(code) },
        408 | 429 | 500.. => ObjectError::Away { object, reason: format!("{status} ({})", or_none(code)) },
        _ if is_busy => ObjectError::Away { object, reason: format!("{status} ({code})") },
        _ => ObjectError::Refused { object, status, code: or_none(code) },
    }
}

/// The code of an error; empty where there is none.
fn code_of(body: &str) -> &str {
    let is_plain = |code: &&str| {
        code.len() <= CODE_BYTES_MAX
            && code.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
    };
    element(body, "Code").filter(is_plain).unwrap_or_default()
}

/// The text of the first element with this name, as long as it holds neither elements nor references. Some stores leave
/// out the name space, so it is not looked at.
pub(super) fn element<'a>(body: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = body.split_once(&format!("<{name}>"))?;
    let (text, _) = rest.split_once(&format!("</{name}>"))?;
    (text.len() <= VALUE_BYTES_MAX && !text.contains(['<', '&'])).then_some(text)
}

/// An entity tag that can be sent back.
pub(super) fn entity_tag(value: Option<&str>) -> Option<String> {
    let is_good = |tag: &&str| {
        (1..=VALUE_BYTES_MAX).contains(&tag.len()) && tag.bytes().all(|byte| byte.is_ascii_graphic())
    };
    value.filter(is_good).map(ToOwned::to_owned)
}

/// Whether a success answers the range that was asked for: with exactly that range, or with all bytes where the range
/// begins with the first one (how many follow is counted). `whole` is the length of the object where it is known.
pub(super) fn check_range(
    object: &str,
    status: u16,
    content_range: Option<&str>,
    asked: &Range<u64>,
    whole: Option<u64>,
) -> Result<(), ObjectError> {
    let refused =
        |code: &str| Err(ObjectError::Refused { object: object.to_owned(), status, code: code.to_owned() });
    let (range, total) = match (status, content_range.map(parse_content_range)) {
        // Some stores call a part 200 and say its place all the same.
        (206 | 200, Some(Some(place))) => place,
        (206, _) | (200, Some(None)) => return refused("a range without its place"),
        (200, None) if asked.start == 0 => return Ok(()),
        _ => return refused("no range where one was asked for"),
    };
    match (total, whole) {
        (Some(found), Some(expected)) if found != expected => Err(length_differs(object, expected, found)),
        // What lies behind the end is left out.
        (Some(found), None) if found < asked.end => Err(length_differs(object, asked.end, found)),
        _ if range != *asked => refused("another range than the one asked for"),
        _ => Ok(()),
    }
}

/// First byte, byte after the last one, and length of the whole; `*` says that the length is not known.
fn parse_content_range(text: &str) -> Option<(Range<u64>, Option<u64>)> {
    let (range, total) = text.strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let total = if total == "*" { None } else { Some(total.parse().ok()?) };
    Some((first.parse().ok()?..last.parse::<u64>().ok()?.checked_add(1)?, total))
}

/// Exactly the bytes of a range. What the answer says about its length is not asked.
pub(super) fn read_exactly(object: &str, body: impl Read, wanted: u64) -> Result<Vec<u8>, ObjectError> {
    let away = |reason: String| ObjectError::Away { object: object.to_owned(), reason };
    let mut bytes = Vec::new();
    let read = body.take(wanted.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|error| away(format!("it broke off after {} of {wanted} bytes: {error}", bytes.len())))?;
    let found = bytes.len() as u64;
    if found < wanted {
        return Err(away(format!("it ended after {found} of {wanted} bytes")));
    }
    if found > wanted {
        return Err(ObjectError::Damaged {
            object: object.to_owned(),
            reason: format!("more than the {wanted} bytes asked for came"),
        });
    }
    Ok(bytes)
}

/// The start of a text, as far as it comes; what stands behind is not read.
pub(super) fn read_text(body: impl Read) -> String {
    let mut bytes = Vec::new();
    // A text that breaks off may hold its code before that.
    drop(body.take(TEXT_BYTES_MAX).read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The error of an object that is not as long as expected.
pub(super) fn length_differs(object: &str, expected: u64, found: u64) -> ObjectError {
    let reason = format!("expected {expected} bytes, the object has {found}");
    ObjectError::Damaged { object: object.to_owned(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_faults_apart() {
        let with =
            |status, code: &str| fault("o", status, &format!("<?xml?><Error><Code>{code}</Code></Error>"));
        assert!(matches!(with(404, "NoSuchKey"), ObjectError::Missing { .. }));
        assert!(matches!(fault("o", 404, ""), ObjectError::Missing { .. }));
        assert!(matches!(with(404, "NoSuchBucket"), ObjectError::NoBucket { .. }));
        for (status, code) in [(507, ""), (507, "XMinioStorageFull"), (403, "QuotaExceeded")] {
            assert!(matches!(with(status, code), ObjectError::Full { .. }), "{status} {code}");
        }
        assert!(
            matches!(with(403, "SignatureDoesNotMatch"), ObjectError::Denied { code, .. } if code == "SignatureDoesNotMatch")
        );
        for (status, code) in [
            (500, ""),
            (503, "SlowDown"),
            (429, "x"),
            (400, "RequestTimeout"),
            (409, "OperationAborted"),
            (599, ""),
        ] {
            assert!(with(status, code).is_passing(), "{status} {code}");
        }
        for (status, code) in
            [(400, "InvalidPart"), (301, "PermanentRedirect"), (501, "NotImplemented"), (100, ""), (409, "x")]
        {
            assert!(matches!(with(status, code), ObjectError::Refused { .. }), "{status} {code}");
        }
    }

    #[test]
    fn repeats_no_strange_code() {
        let shown = |code: &str| fault("o", 400, &format!("<Code>{code}</Code>")).to_string();
        assert_eq!(shown("Invalid.Part-1"), "o: the object store answers 400 (Invalid.Part-1)");
        for strange in ["a\nb", "a b", "&lt;", "<b>x</b>", "é", &"x".repeat(CODE_BYTES_MAX + 1)] {
            assert_eq!(shown(strange), "o: the object store answers 400 (no code)", "{strange:?}");
        }
    }

    #[test]
    fn takes_exactly_the_range_asked_for() {
        let check = |status, range, whole| check_range("o", status, range, &(4..8), whole).is_ok();
        assert!(check(206, Some("bytes 4-7/20"), Some(20)) && check(206, Some("bytes 4-7/*"), Some(20)));
        assert!(check(206, Some("bytes 4-7/20"), None));
        for wrong in [
            "bytes 4-8/20",
            "bytes 3-7/20",
            "bytes 4-7/21",
            "4-7/20",
            "bytes 4-/20",
            "bytes -4/20",
            "bytes 4-7",
            "",
        ] {
            assert!(!check(206, Some(wrong), Some(20)), "{wrong}");
        }
        assert!(!check(206, Some("bytes 4-18446744073709551615/20"), None));
        assert!(
            !check(206, None, None) && !check(200, None, None) && !check(204, Some("bytes 4-7/20"), None)
        );
        assert!(check_range("o", 200, None, &(0..8), Some(8)).is_ok());
        assert!(check(200, Some("bytes 4-7/20"), Some(20)) && !check(200, Some("bytes 0-7/20"), Some(20)));
        assert!(check_range("o", 200, Some("lines 0-7/8"), &(0..8), Some(8)).is_err());
        let shorter = |whole| check_range("o", 206, Some("bytes 4-6/7"), &(4..8), whole);
        assert!(matches!(shorter(Some(8)), Err(ObjectError::Damaged { .. })));
        assert!(matches!(shorter(None), Err(ObjectError::Damaged { .. })));
    }

    #[test]
    fn finds_elements_with_and_without_name_space() {
        let body = "<?xml?><R xmlns=\"http://s3/\"><UploadId>a_b.c</UploadId></R>";
        assert_eq!(element(body, "UploadId"), Some("a_b.c"));
        assert_eq!(element("<UploadId>a&amp;b</UploadId>", "UploadId"), None);
        assert_eq!(element("<UploadId>a", "UploadId"), None);
        assert_eq!(entity_tag(Some("\"ab\"")).as_deref(), Some("\"ab\""));
        assert_eq!((entity_tag(Some("a b")), entity_tag(Some("")), entity_tag(None)), (None, None, None));
    }
}
