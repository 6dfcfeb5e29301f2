//! Encodes texts as JSON strings (RFC 8259 section 7) and CSV fields (RFC 4180). Does not depend on columns.

use std::borrow::Cow;

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Whether a byte must be escaped inside a JSON string.
#[inline]
fn needs_escape(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// Whether a test holds for any byte. Tests all bytes, so that the loop is vectorised.
#[inline]
pub(crate) fn any_byte(text: &[u8], test: impl Fn(u8) -> bool) -> bool {
    text.iter().fold(false, |found, byte| found | test(*byte))
}

/// Appends the JSON string of `text` with quotes. Escapes only the characters that RFC 8259 requires.
pub fn push_json_string(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    if !any_byte(text, needs_escape) {
        out.extend_from_slice(text);
        out.push(b'"');
        return;
    }
    let mut rest = text;
    while let Some(at) = rest.iter().position(|byte| needs_escape(*byte)) {
        let (clean, tail) = rest.split_at(at);
        out.extend_from_slice(clean);
        if let Some((byte, tail)) = tail.split_first() {
            push_escape(out, *byte);
            rest = tail;
        }
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

fn push_escape(out: &mut Vec<u8>, byte: u8) {
    let short = match byte {
        b'"' => b'"',
        b'\\' => b'\\',
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0C => b'f',
        _ => {
            let digit = |nibble: u8| HEX.get(usize::from(nibble)).copied().unwrap_or(b'0');
            out.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte & 15)]);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

/// Decodes a JSON string of [`push_json_string`]; `None` for `null` and for other texts.
#[must_use]
pub fn json_string_text(json: &[u8]) -> Option<Cow<'_, [u8]>> {
    let inner = json.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    if memchr::memchr(b'\\', inner).is_none() {
        return Some(Cow::Borrowed(inner));
    }
    let mut out = Vec::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        out.extend_from_slice(rest.get(..at)?);
        let (byte, used) = unescape(rest.get(at + 1..)?)?;
        out.push(byte);
        rest = rest.get(at + 1 + used..)?;
    }
    out.extend_from_slice(rest);
    Some(Cow::Owned(out))
}

fn unescape(after_backslash: &[u8]) -> Option<(u8, usize)> {
    let byte = match after_backslash.first()? {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 0x08,
        b'f' => 0x0C,
        b'u' => {
            let digits = std::str::from_utf8(after_backslash.get(1..5)?).ok()?;
            return Some((u8::from_str_radix(digits, 16).ok()?, 5));
        }
        other @ (b'"' | b'\\') => *other,
        _ => return None,
    };
    Some((byte, 1))
}

/// Whether a CSV field needs quotes: it is empty (an unquoted empty field is NULL), or contains a comma, a quote or a
/// line break.
#[must_use]
pub fn csv_needs_quotes(text: &[u8]) -> bool {
    text.is_empty() || any_byte(text, |byte| byte == b',' || byte == b'"' || byte == b'\r' || byte == b'\n')
}

/// Appends a text as a CSV field.
pub fn push_csv_field(out: &mut Vec<u8>, text: &[u8]) {
    if !csv_needs_quotes(text) {
        out.extend_from_slice(text);
        return;
    }
    out.push(b'"');
    for (number, part) in text.split(|byte| *byte == b'"').enumerate() {
        if number > 0 {
            out.extend_from_slice(b"\"\"");
        }
        out.extend_from_slice(part);
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn escapes_only_required_characters() {
        let mut out = Vec::new();
        push_json_string(&mut out, "a\"b\\c\n\u{1}\u{7f}é/".as_bytes());
        assert_eq!(String::from_utf8(out).unwrap(), "\"a\\\"b\\\\c\\n\\u0001\u{7f}é/\"");
    }

    #[test]
    fn quotes_csv_fields_only_if_needed() {
        let check = |text: &str, expected: &str| {
            let mut out = Vec::new();
            push_csv_field(&mut out, text.as_bytes());
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        };
        check("plain", "plain");
        check("", "\"\"");
        check("a,b", "\"a,b\"");
        check("say \"hi\"", "\"say \"\"hi\"\"\"");
        check("two\r\nlines", "\"two\r\nlines\"");
    }

    proptest! {
        #[test]
        fn unescaping_inverts_escaping(text in any::<String>()) {
            let mut json = Vec::new();
            push_json_string(&mut json, text.as_bytes());
            let text_again = json_string_text(&json).unwrap();
            prop_assert_eq!(text_again.as_ref(), text.as_bytes());
        }
    }
}
