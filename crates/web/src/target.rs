//! The request target: path segments and query pairs, split first and percent-decoded afterwards.
//!
//! Does not depend on routes or names of parameters.

use std::borrow::Cow;

/// Largest request target (path and query).
const TARGET_SIZE_BYTES_MAX: usize = 64 * 1024;
/// Most query parameters of one request.
const PARAMETER_COUNT_MAX: usize = 64;

/// Most segments of a path; no route has more.
const PATH_SEGMENT_COUNT_MAX: usize = 16;

/// Why a target cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// Longer than the limit.
    #[error("the request target is longer than {TARGET_SIZE_BYTES_MAX} bytes")]
    TooLong,
    /// Neither `/path` nor `http://host/path`.
    #[error("the request target is neither a path nor an absolute http URL")]
    NotAPath,
    /// A control byte or a byte outside ASCII.
    #[error("the request target holds a byte that must be percent-encoded")]
    RawByte,
    /// `%` without two hexadecimal digits, or bytes that are not UTF-8.
    #[error("the request target holds a percent-encoding that is not valid UTF-8")]
    Encoding,
    /// More segments or parameters than any route has.
    #[error("the request target has too many segments or parameters")]
    TooManyParts,
}

/// A target, split and decoded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Target {
    /// Decoded path segments; `/` alone has none.
    pub segments: Vec<String>,
    /// Decoded query pairs in the order of the target.
    pub pairs: Vec<(String, String)>,
}

impl Target {
    /// Splits and decodes a target in origin form or absolute form.
    pub fn parse(raw: &str) -> Result<Self, TargetError> {
        if raw.len() > TARGET_SIZE_BYTES_MAX {
            return Err(TargetError::TooLong);
        }
        if !raw.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(TargetError::RawByte);
        }
        let origin = strip_authority(raw)?;
        let origin = origin.split_once('#').map_or(origin, |(before, _)| before);
        let (path, query) = origin.split_once('?').unwrap_or((origin, ""));
        let path = path.strip_prefix('/').ok_or(TargetError::NotAPath)?;
        let segments = if path.is_empty() { Vec::new() } else { split_path(path)? };
        Ok(Self { segments, pairs: split_query(query)? })
    }
}

impl Target {
    /// Names and values of a form, which a browser writes like a query.
    pub fn parse_pairs(form: &str) -> Result<Vec<(String, String)>, TargetError> {
        if !form.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(TargetError::RawByte);
        }
        split_query(form)
    }
}

fn strip_authority(raw: &str) -> Result<&str, TargetError> {
    if raw.starts_with('/') {
        return Ok(raw);
    }
    let (scheme, rest) = raw.split_once("://").ok_or(TargetError::NotAPath)?;
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return Err(TargetError::NotAPath);
    }
    match rest.find(['/', '?']) {
        Some(at) if rest.get(at..).is_some_and(|tail| tail.starts_with('/')) => {
            Ok(rest.get(at..).unwrap_or("/"))
        }
        Some(_) => Err(TargetError::NotAPath),
        None => Ok("/"),
    }
}

fn split_path(path: &str) -> Result<Vec<String>, TargetError> {
    let mut segments = Vec::with_capacity(8);
    for segment in path.split('/') {
        if segments.len() == PATH_SEGMENT_COUNT_MAX {
            return Err(TargetError::TooManyParts);
        }
        segments.push(decode(segment, false)?.into_owned());
    }
    Ok(segments)
}

fn split_query(query: &str) -> Result<Vec<(String, String)>, TargetError> {
    let mut pairs = Vec::new();
    for part in query.split('&').filter(|part| !part.is_empty()) {
        if pairs.len() == PARAMETER_COUNT_MAX {
            return Err(TargetError::TooManyParts);
        }
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        pairs.push((decode(name, true)?.into_owned(), decode(value, true)?.into_owned()));
    }
    Ok(pairs)
}

/// Percent-decodes one part; `plus_is_space` for the query, where forms write a space so.
fn decode(part: &str, plus_is_space: bool) -> Result<Cow<'_, str>, TargetError> {
    if !part.bytes().any(|byte| byte == b'%' || (plus_is_space && byte == b'+')) {
        return Ok(Cow::Borrowed(part));
    }
    let mut decoded = Vec::with_capacity(part.len());
    let mut bytes = part.bytes();
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => {
                let high = bytes.next().and_then(hex_digit).ok_or(TargetError::Encoding)?;
                let low = bytes.next().and_then(hex_digit).ok_or(TargetError::Encoding)?;
                high << 4 | low
            }
            b'+' if plus_is_space => b' ',
            other => other,
        });
    }
    String::from_utf8(decoded).map(Cow::Owned).map_err(|_| TargetError::Encoding)
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(raw: &str, segments: &[&str], pairs: &[(&str, &str)]) {
        let target = Target::parse(raw).unwrap();
        assert_eq!(target.segments, segments, "{raw}");
        let expected: Vec<_> =
            pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        assert_eq!(target.pairs, expected, "{raw}");
    }

    #[test]
    fn splits_target_before_decoding() {
        check("/", &[], &[]);
        check("/a/b", &["a", "b"], &[]);
        check("/a/", &["a", ""], &[]);
        check("/a%2Fb/c?x=1%262&y=a+b&z", &["a/b", "c"], &[("x", "1&2"), ("y", "a b"), ("z", "")]);
        check("/a+b?q=caf%C3%A9&&", &["a+b"], &[("q", "café")]);
        check("http://example.org/a?b=c#d", &["a"], &[("b", "c")]);
        check("HTTPS://example.org", &[], &[]);
    }

    #[test]
    fn tells_why_target_is_invalid() {
        for (raw, expected) in [
            ("*", TargetError::NotAPath),
            ("ftp://x/y", TargetError::NotAPath),
            ("http://host?x", TargetError::NotAPath),
            ("/a%zz", TargetError::Encoding),
            ("/a%2", TargetError::Encoding),
            ("/%ff", TargetError::Encoding),
            ("/a\u{1}b", TargetError::RawByte),
            ("/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q", TargetError::TooManyParts),
        ] {
            assert_eq!(Target::parse(raw), Err(expected), "{raw}");
        }
        assert_eq!(
            Target::parse(&format!("/{}", "a".repeat(TARGET_SIZE_BYTES_MAX))),
            Err(TargetError::TooLong)
        );
    }
}
