//! Lazy JSON parsing, one level at a time: keeps the text of numbers and sees repeated names.

use serde::de::{Deserializer as _, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

/// A JSON value, parsed one level at a time.
#[derive(Debug, Clone, Copy)]
pub enum Json<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, as written.
    Number(&'a str),
    /// A string, still escaped.
    String(&'a RawValue),
    Array(&'a RawValue),
    Object(&'a RawValue),
}

/// Collects the first members of an object, in order and with repeated names; only validates the others.
struct FirstMembers {
    most: usize,
}

impl<'de> Visitor<'de> for FirstMembers {
    type Value = Vec<(String, Json<'de>)>;

    fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while members.len() < self.most {
            let Some((name, value)) = map.next_entry()? else { return Ok(members) };
            members.push((name, Json::of(value)));
        }
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(members)
    }
}

impl<'a> Json<'a> {
    /// Parses a whole text.
    ///
    /// # Errors
    /// The first syntax error with line and column.
    pub fn parse(text: &'a [u8]) -> Result<Json<'a>, serde_json::Error> {
        serde_json::from_slice::<&RawValue>(text).map(Json::of)
    }

    fn of(raw: &'a RawValue) -> Json<'a> {
        let text = raw.get();
        match text.as_bytes().first() {
            Some(b'{') => Json::Object(raw),
            Some(b'[') => Json::Array(raw),
            Some(b'"') => Json::String(raw),
            Some(b't') => Json::Bool(true),
            Some(b'f') => Json::Bool(false),
            Some(b'n') => Json::Null,
            _ => Json::Number(text),
        }
    }

    /// The first members of an object, in order; `None` for anything else.
    #[must_use]
    pub fn members(&self, most: usize) -> Option<Vec<(String, Json<'a>)>> {
        let Json::Object(raw) = self else { return None };
        serde_json::Deserializer::from_str(raw.get()).deserialize_map(FirstMembers { most }).ok()
    }

    /// The items of a list; `None` for anything else.
    #[must_use]
    pub fn items(&self) -> Option<Vec<Json<'a>>> {
        let Json::Array(raw) = self else { return None };
        let items: Vec<&RawValue> = serde_json::from_str(raw.get()).ok()?;
        Some(items.into_iter().map(Json::of).collect())
    }

    /// The text of a string; `None` for anything else, and for a string with half a surrogate pair.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        let Json::String(raw) = self else { return None };
        serde_json::from_str(raw.get()).ok()
    }

    /// The type name for messages.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self {
            Json::String(_) if self.text().is_none() => {
                "a string with an unpaired surrogate (\\ud800 to \\udfff make a character only in pairs)"
            }
            Json::Object(_) if self.members(usize::MAX).is_none() => {
                "an object with an unpaired surrogate in a name (\\ud800 to \\udfff make a character only in pairs)"
            }
            Json::Null => "null",
            Json::Bool(_) => "a boolean",
            Json::Number(_) => "a number",
            Json::String(_) => "a string",
            Json::Array(_) => "a list",
            Json::Object(_) => "an object",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn returns_first_members_with_repeated_names() {
        let json = Json::parse(br#"{"a": 1, "a": [2], "b": {"c": 3}}"#).unwrap();
        let names =
            |most: usize| json.members(most).unwrap().into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        assert_eq!(names(0), [] as [&str; 0]);
        assert_eq!(names(2), ["a", "a"]);
        assert_eq!(names(3), ["a", "a", "b"]);
        assert_eq!(names(usize::MAX), names(3));
        assert!(Json::parse(b"[1]").unwrap().members(9).is_none());
    }
}
