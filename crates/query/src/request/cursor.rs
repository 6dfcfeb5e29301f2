//! Keyset cursors: the position of a row in the order of a query, as Base64 of a JSON object with exactly the keys
//! `lastSortValue` and `lastId`. `lastId` also binds the dataset version and the query.

use base64::Engine;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use mercato_format::Fingerprint;

use crate::request::filter::Scalar;
use crate::request::json::Json;
use crate::request::validation_error::{Reason, ValidationError};

/// Length limit of a cursor.
pub const CURSOR_BYTES_MAX: usize = 4096;
/// Length limit of a text inside a cursor. Longer texts are located by the row number alone.
pub const SORT_VALUE_BYTES_MAX: usize = 2048;

const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const STANDARD_LENIENT: GeneralPurpose = GeneralPurpose::new(&base64::alphabet::STANDARD, LENIENT);
const URL_SAFE_LENIENT: GeneralPurpose = GeneralPurpose::new(&base64::alphabet::URL_SAFE, LENIENT);

/// The version and query of a cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Binding {
    /// Fingerprint of the store file.
    pub fingerprint: Fingerprint,
    /// Hash of filters, order and dataset.
    pub query: u64,
}

/// The position of the last returned row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    /// Its value in the sort column; null without one.
    pub value: Scalar,
    pub row: u32,
    binding: Option<Binding>,
}

impl Cursor {
    /// A cursor made by this service.
    #[must_use]
    pub fn new(value: Scalar, row: u32, binding: Binding) -> Cursor {
        Cursor { value, row, binding: Some(binding) }
    }

    /// The version and query of the cursor; `None` for a cursor with a bare row number.
    #[must_use]
    pub fn binding(&self) -> Option<Binding> {
        self.binding
    }

    /// Encodes the cursor.
    #[must_use]
    pub fn encode(&self) -> String {
        let value = match &self.value {
            Scalar::Null => "null".to_owned(),
            Scalar::Bool(value) => value.to_string(),
            Scalar::Number(text) => text.clone(),
            Scalar::Text(text) => serde_json::to_string(text).unwrap_or_default(),
        };
        let id = match self.binding {
            Some(Binding { fingerprint, query }) => format!("{}.{fingerprint}.{query:016x}", self.row),
            None => self.row.to_string(),
        };
        STANDARD.encode(format!("{{\"lastSortValue\":{value},\"lastId\":\"{id}\"}}"))
    }

    /// Decodes a cursor.
    ///
    /// # Errors
    /// An error with reason `CURSOR_INVALID`.
    pub fn decode(text: &str) -> Result<Cursor, ValidationError> {
        if text.len() > CURSOR_BYTES_MAX {
            return Err(invalid(format!("expected at most {CURSOR_BYTES_MAX} bytes, found {}", text.len())));
        }
        let engine = if text.contains(['-', '_']) { URL_SAFE_LENIENT } else { STANDARD_LENIENT };
        let bytes = engine.decode(text).map_err(|_| invalid("it is no Base64"))?;
        let json = Json::parse(&bytes).map_err(|_| invalid("it holds no JSON"))?;
        let members = json.members(3).ok_or_else(|| invalid("it holds no JSON object"))?;
        let find = |name: &str| members.iter().find(|(found, _)| found == name).map(|(_, value)| *value);
        let (Some(value), Some(id), 2) = (find("lastSortValue"), find("lastId"), members.len()) else {
            return Err(invalid("expected exactly the keys `lastSortValue` and `lastId`"));
        };
        let value = match value {
            Json::Null => Scalar::Null,
            Json::Bool(value) => Scalar::Bool(value),
            Json::Number(text) => Scalar::Number(text.into()),
            other => Scalar::Text(other.text().ok_or_else(|| invalid("`lastSortValue` is no literal"))?),
        };
        let id = match id {
            Json::Number(text) => text.to_owned(),
            other => other.text().ok_or_else(|| invalid("`lastId` is no string"))?,
        };
        let (row, binding) = parse_id(&id).ok_or_else(|| invalid("`lastId` is none of this service"))?;
        Ok(Cursor { value, row, binding })
    }
}

fn parse_id(id: &str) -> Option<(u32, Option<Binding>)> {
    let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?;
    let mut parts = id.split('.');
    let row = number(parts.next()?)?;
    let Some(fingerprint) = parts.next() else { return Some((row, None)) };
    let query = parts.next().filter(|_| parts.clone().next().is_none())?;
    let hexadecimal =
        |text: &str, len: usize| text.len() == len && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !hexadecimal(fingerprint, 32) || !hexadecimal(query, 16) {
        return None;
    }
    let query = u64::from_str_radix(query, 16).ok()?;
    Some((row, Some(Binding { fingerprint: fingerprint.parse().ok()?, query })))
}

/// An error with reason `CURSOR_INVALID`.
pub(crate) fn invalid(what: impl Into<String>) -> ValidationError {
    let message = format!("it cannot be used: {}", what.into());
    ValidationError::new(
        Reason::CursorInvalid,
        "/cursor",
        message,
        "send a `nextCursor` unchanged, or begin again without one",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binding() -> Binding {
        Binding { fingerprint: Fingerprint([7; 16]), query: 0xABCD }
    }

    #[test]
    fn decodes_both_alphabets_with_and_without_padding() {
        for value in
            [Scalar::Null, Scalar::Number("901.00".into()), Scalar::Text("\"?~é".into()), Scalar::Bool(true)]
        {
            let cursor = Cursor::new(value, 4_000_000_000, binding());
            let text = cursor.encode();
            assert_eq!(Cursor::decode(&text).unwrap(), cursor);
            assert_eq!(Cursor::decode(&text.replace('+', "-").replace('/', "_")).unwrap(), cursor);
            assert_eq!(Cursor::decode(text.trim_end_matches('=')).unwrap(), cursor);
        }
    }

    #[test]
    fn encodes_documented_keys_only() {
        let bytes = STANDARD.decode(Cursor::new(Scalar::Null, 5, binding()).encode()).unwrap();
        let value: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        let keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!((keys.len(), value["lastId"].is_string()), (2, true));
    }

    #[test]
    fn accepts_bare_row_number() {
        for id in ["12", "\"12\""] {
            let text = STANDARD.encode(format!("{{\"lastId\":{id},\"lastSortValue\":3}}"));
            let cursor = Cursor::decode(&text).unwrap();
            assert_eq!((cursor.row, cursor.binding()), (12, None));
        }
    }

    #[test]
    fn rejects_invalid_cursors() {
        let encoded = |json: &str| STANDARD.encode(json);
        for text in [
            String::new(),
            "not base64!".into(),
            encoded("5"),
            encoded("{\"lastId\":1}"),
            encoded("{\"lastSortValue\":1,\"lastId\":1,\"more\":1}"),
            encoded("{\"lastSortValue\":1,\"lastSortValue\":1}"),
            encoded("{\"lastSortValue\":[],\"lastId\":1}"),
            encoded("{\"lastSortValue\":1,\"lastId\":-1}"),
            encoded("{\"lastSortValue\":1,\"lastId\":\"99999999999\"}"),
            encoded("{\"lastSortValue\":1,\"lastId\":\"1.zz.00\"}"),
            encoded("{\"lastSortValue\":1,\"lastId\":\"+1\"}"),
            "A".repeat(CURSOR_BYTES_MAX + 1),
        ] {
            assert_eq!(Cursor::decode(&text).unwrap_err().reason, Reason::CursorInvalid, "{text}");
        }
    }
}
