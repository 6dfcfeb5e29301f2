//! The arguments of a call: strict like the API's parameters, with all faults at once.
//!
//! Checks shapes. Does not depend on tools.

use serde::Deserializer as _;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use mercato_base::words::{NAME_UNKNOWN, any_of, counted, found_text, placed, quoted, whole_number};
use mercato_catalog::Language;
use mercato_web::{ApiError, ValidationErrorBody, nearest};

/// Arguments of one call.
const ARGUMENTS_MAX: usize = 32;

/// The members of the argument object that are not read yet.
pub struct Arguments {
    members: Vec<(String, Box<RawValue>)>,
    known: Vec<&'static str>,
    faults: Vec<ValidationErrorBody>,
}

impl Arguments {
    /// Reads the object; nothing at all is an empty one. Anything else is no call, and the text says why.
    pub fn read(raw: Option<&RawValue>) -> Result<Self, String> {
        let members = match raw.map(RawValue::get) {
            None | Some("null") => Vec::new(),
            Some(text) => serde_json::Deserializer::from_str(text)
                .deserialize_map(Members)
                .map_err(|_| format!("`arguments` is {} where an object is expected", kind_of(text)))?,
        };
        if members.len() > ARGUMENTS_MAX {
            return Err(format!("`arguments` has more than {}", counted(ARGUMENTS_MAX as u64, "member")));
        }
        let mut arguments = Self { members: Vec::new(), known: Vec::new(), faults: Vec::new() };
        for (name, value) in members {
            if arguments.members.iter().any(|(present, _)| *present == name) {
                arguments.refuse(
                    "DUPLICATE_FIELD",
                    &name,
                    "the argument occurs more than once",
                    "send it once",
                );
            } else {
                arguments.members.push((name, value));
            }
        }
        Ok(arguments)
    }

    pub(super) fn text(&mut self, name: &'static str) -> Option<String> {
        let raw = self.take(name)?;
        let text = serde_json::from_str(raw.get()).ok();
        if text.is_none() {
            let message = format!("expected a string, found {}", kind_of(raw.get()));
            self.refuse("WRONG_TYPE", name, &message, "send a string");
        }
        text
    }

    /// Whether a member is there that is not read yet; `null` counts as absent.
    pub(super) fn has(&self, name: &str) -> bool {
        self.members.iter().any(|(present, value)| present == name && value.get() != "null")
    }

    /// The argument `slug`, without which no tool but the search can do anything. Its absence is a fault.
    pub(super) fn slug(&mut self) -> String {
        if !self.has("slug") {
            let message = "the argument is required";
            self.refuse("MISSING", "slug", message, "send the slug of a dataset; search_datasets finds them");
        }
        self.text("slug").unwrap_or_default()
    }

    /// A list of at most `most` strings.
    pub(super) fn texts(&mut self, name: &'static str, most: usize) -> Vec<String> {
        let Some(raw) = self.take(name) else { return Vec::new() };
        let hint = format!("send a list of at most {}", counted(most as u64, "string"));
        match serde_json::from_str::<Vec<String>>(raw.get()) {
            Ok(texts) if texts.len() <= most => return texts,
            Ok(texts) => {
                let message = format!("found {}", counted(texts.len() as u64, "string"));
                self.refuse("OUT_OF_RANGE", name, &message, &hint);
            }
            Err(_) => {
                let message = format!("expected a list of strings, found {}", kind_of(raw.get()));
                self.refuse("WRONG_TYPE", name, &message, &hint);
            }
        }
        Vec::new()
    }

    /// A whole number inside `minimum..=maximum`; outside is refused, never clamped.
    pub(super) fn integer(&mut self, name: &'static str, minimum: u64, maximum: u64, default: u64) -> u64 {
        let Some(raw) = self.take(name) else { return default };
        if let Some(value) =
            mercato_query::whole_number(raw.get()).filter(|value| (minimum..=maximum).contains(value))
        {
            return value;
        }
        let range = whole_number(minimum, maximum);
        let is_number = raw.get().starts_with(|first: char| first == '-' || first.is_ascii_digit());
        let found = match serde_json::from_str::<String>(raw.get()) {
            Ok(text) => format!("the string {}", quoted(&text)),
            Err(_) if is_number => found_text(raw.get()),
            Err(_) => kind_of(raw.get()).to_owned(),
        };
        let reason = if is_number { "OUT_OF_RANGE" } else { "WRONG_TYPE" };
        self.refuse(reason, name, &format!("expected {range}, found {found}"), &format!("send {range}"));
        default
    }

    /// The argument `lang`.
    pub(super) fn language(&mut self) -> Option<Language> {
        let text = self.text("lang")?;
        let choices = [("en", Language::English), ("it", Language::Italian)];
        let chosen = choices.iter().find(|(word, _)| *word == text).map(|(_, language)| *language);
        if chosen.is_none() {
            let words = any_of(choices.iter().map(|(word, _)| *word));
            let message = format!("expected {words}, found {}", quoted(&text));
            self.refuse("UNKNOWN_VALUE", "lang", &message, &format!("send {words}"));
        }
        chosen
    }

    /// These members as the body of a query, in the order of their names, so that equal calls have equal bodies. Without
    /// a `limit`, that of the default.
    pub(super) fn body(&mut self, names: &[&'static str], limit_default: u64) -> String {
        let taken = names.iter().filter_map(|name| Some((*name, self.take(name)?)));
        let mut members: Vec<(&str, String)> =
            taken.map(|(name, value)| (name, value.get().to_owned())).collect();
        if names.contains(&"limit") && !members.iter().any(|(name, _)| *name == "limit") {
            members.push(("limit", limit_default.to_string()));
        }
        members.sort_unstable_by_key(|(name, _)| *name);
        let members: Vec<String> =
            members.into_iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
        format!("{{{}}}", members.join(","))
    }

    /// Notes a fault.
    pub(super) fn refuse(&mut self, reason: &str, name: &str, message: &str, hint: &str) {
        let pointer = format!("/{name}");
        self.faults.push(ValidationErrorBody::parameter(reason, &pointer, placed(name, message), hint));
    }

    /// Ends the reading: members that no tool knows and every fault so far become one refusal.
    pub(super) fn finish(mut self) -> Result<(), ApiError> {
        for (name, _) in std::mem::take(&mut self.members) {
            let shown: String = name.chars().take(64).collect();
            let mut fault = ValidationErrorBody::parameter(
                "UNKNOWN_FIELD",
                &format!("/{shown}"),
                placed(&shown, NAME_UNKNOWN),
                "leave it out",
            );
            fault.suggest(nearest(&shown, self.known.iter().copied()));
            fault.allowed = self.known.iter().map(|name| (*name).to_owned()).collect();
            self.faults.push(fault);
        }
        if self.faults.is_empty() { Ok(()) } else { Err(ApiError::bad_request(self.faults)) }
    }

    /// The value of a member; `null` counts as absent.
    fn take(&mut self, name: &'static str) -> Option<Box<RawValue>> {
        self.known.push(name);
        let place = self.members.iter().position(|(present, _)| present == name)?;
        let (_, value) = self.members.swap_remove(place);
        (value.get() != "null").then_some(value)
    }
}

/// The JSON type of a value as written, for messages.
pub fn kind_of(written: &str) -> &'static str {
    match written.as_bytes().first() {
        Some(b'"') => "a string",
        Some(b'{') => "an object",
        Some(b'[') => "a list",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        _ => "a number",
    }
}

/// The members of an object, in order and with repeated names; one more than may be.
struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Vec<(String, Box<RawValue>)>;

    fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while members.len() <= ARGUMENTS_MAX {
            let Some(member) = map.next_entry()? else { return Ok(members) };
            members.push(member);
        }
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<Arguments, String> {
        Arguments::read(Some(serde_json::from_str(json).unwrap()))
    }

    #[test]
    fn reads_members_or_reports_all_faults() {
        let mut arguments = read(r#"{"slug":"x","limit":7,"tags":["a"],"lang":"it","offset":null}"#).unwrap();
        assert_eq!((arguments.slug(), arguments.integer("limit", 1, 9, 5)), ("x".to_owned(), 7));
        assert_eq!(
            (arguments.texts("tags", 2), arguments.integer("offset", 0, 9, 3)),
            (vec!["a".to_owned()], 3)
        );
        assert_eq!(arguments.language(), Some(Language::Italian));
        assert!(arguments.finish().is_ok());

        let mut arguments =
            read(r#"{"limit":"7","lang":"de","tags":[1],"lmit":1,"limit":8,"query":{}}"#).unwrap();
        arguments.slug();
        arguments.integer("limit", 1, 9, 5);
        arguments.language();
        arguments.texts("tags", 2);
        arguments.text("query");
        let error = arguments.finish().unwrap_err();
        let faults = error.details().unwrap().faults();
        let found: Vec<_> =
            faults.iter().map(|fault| (fault.reason.as_str(), fault.pointer.as_str())).collect();
        assert_eq!(
            found,
            [
                ("DUPLICATE_FIELD", "/limit"),
                ("MISSING", "/slug"),
                ("WRONG_TYPE", "/limit"),
                ("UNKNOWN_VALUE", "/lang"),
                ("WRONG_TYPE", "/tags"),
                ("WRONG_TYPE", "/query"),
                ("UNKNOWN_FIELD", "/lmit"),
            ]
        );
        assert_eq!(faults[6].suggestion.as_deref(), Some("limit"));
    }

    /// JSON Schema calls them integers.
    #[test]
    fn takes_whole_numbers_in_every_form() {
        for number in ["7", "7.0", "70e-1", "0.7e1"] {
            let mut arguments = read(&format!(r#"{{"limit":{number}}}"#)).unwrap();
            assert_eq!(arguments.integer("limit", 1, 9, 5), 7, "{number}");
            assert!(arguments.finish().is_ok());
        }
    }

    #[test]
    fn refuses_numbers_outside_of_range() {
        for number in ["0", "10", "-1", "1.5", "1e1", "1e-1", "99999999999999999999", "true", "[]"] {
            let mut arguments = read(&format!(r#"{{"limit":{number}}}"#)).unwrap();
            arguments.integer("limit", 1, 9, 5);
            assert!(arguments.finish().is_err(), "{number}");
        }
    }

    #[test]
    fn writes_equal_bodies_for_equal_calls() {
        let body = |json: &str| read(json).unwrap().body(&["limit", "filters", "cursor"], 50);
        assert_eq!(body("{}"), r#"{"limit":50}"#);
        let expected = r#"{"filters":{"a":1.50},"limit":2}"#;
        assert_eq!(body(r#"{"limit":2,"filters":{"a":1.50},"cursor":null}"#), expected);
        assert_eq!(body(r#"{"filters":{"a":1.50},"limit":2}"#), expected);
    }

    #[test]
    fn refuses_anything_but_small_objects() {
        for json in ["[]", "7", "\"x\""] {
            assert!(read(json).is_err(), "{json}");
        }
        let many: Vec<String> = (0..=ARGUMENTS_MAX).map(|number| format!("\"a{number}\":1")).collect();
        assert!(read(&format!("{{{}}}", many.join(","))).is_err());
        assert!(Arguments::read(None).is_ok() && read("null").is_ok());
    }
}
