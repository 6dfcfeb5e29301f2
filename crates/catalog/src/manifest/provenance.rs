//! Provenance: the optional manifest fields on publisher, citation, coverage and update frequency.
//!
//! Does not depend on store files.

use std::ops::Range;

use jiff::civil::Date;
use serde::Deserialize;
use toml::Spanned;

use crate::manifest::LIST_LENGTH_MAX;

/// Longest name of a publisher or a place.
pub const NAME_LENGTH_CHARS_MAX: usize = 300;
/// Longest citation.
pub const CITATION_LENGTH_CHARS_MAX: usize = 2_000;
/// Longest address or e-mail address.
pub const ADDRESS_LENGTH_CHARS_MAX: usize = 2_000;

/// The provenance of a dataset.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Provenance {
    pub publisher: Option<Publisher>,
    /// The contact: an e-mail or web address.
    pub contact: Option<String>,
    /// The landing page at the publisher.
    pub homepage: Option<String>,
    pub citation: Option<String>,
    pub coverage: Option<Coverage>,
    pub update_frequency: Option<UpdateFrequency>,
}

/// The publisher of a dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Publisher {
    pub name: String,
    pub url: Option<String>,
}

/// The coverage of a dataset, with at least one of the three fields.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Coverage {
    /// The first day, month or year.
    pub from: Option<String>,
    /// The last day, month or year; absent for a continuing dataset.
    pub to: Option<String>,
    /// Place names.
    pub places: Vec<String>,
}

/// The update frequency of a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UpdateFrequency {
    /// The word in manifests and responses.
    pub word: &'static str,
    /// The code of the EU Publications Office, which DCAT uses.
    pub code: &'static str,
}

pub const UPDATE_FREQUENCIES: [UpdateFrequency; 11] = [
    UpdateFrequency { word: "continuous", code: "CONT" },
    UpdateFrequency { word: "hourly", code: "HOURLY" },
    UpdateFrequency { word: "daily", code: "DAILY" },
    UpdateFrequency { word: "weekly", code: "WEEKLY" },
    UpdateFrequency { word: "fortnightly", code: "BIWEEKLY" },
    UpdateFrequency { word: "monthly", code: "MONTHLY" },
    UpdateFrequency { word: "quarterly", code: "QUARTERLY" },
    UpdateFrequency { word: "half-yearly", code: "ANNUAL_2" },
    UpdateFrequency { word: "yearly", code: "ANNUAL" },
    UpdateFrequency { word: "irregular", code: "IRREG" },
    UpdateFrequency { word: "never", code: "NEVER" },
];

pub type SpannedError = (Range<usize>, String);

/// `[publisher]` as typed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TypedPublisher {
    name: Spanned<String>,
    url: Option<Spanned<String>>,
}

/// `[coverage]` as typed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TypedCoverage {
    from: Option<Spanned<toml::Value>>,
    to: Option<Spanned<toml::Value>>,
    #[serde(default)]
    places: Vec<Spanned<String>>,
}

impl TypedPublisher {
    pub fn check(self) -> Result<Publisher, SpannedError> {
        let name = check_text("publisher.name", &self.name, NAME_LENGTH_CHARS_MAX)?;
        let url = self.url.map(|url| check_address("publisher.url", url)).transpose()?;
        Ok(Publisher { name, url })
    }
}

impl TypedCoverage {
    /// `span` is the position of the table.
    pub fn check(self, span: Range<usize>) -> Result<Coverage, SpannedError> {
        let to_span = self.to.as_ref().map(Spanned::span);
        let from = self.from.as_ref().map(|from| check_date("coverage.from", from)).transpose()?;
        let to = self.to.as_ref().map(|to| check_date("coverage.to", to)).transpose()?;
        if let (Some(from), Some(to), Some(span)) = (&from, &to, to_span)
            && !is_in_order(from, to)
        {
            return Err((span, format!("coverage.to: expected a date not before `{from}`, found `{to}`")));
        }
        if let Some(extra) = self.places.get(LIST_LENGTH_MAX) {
            let found = self.places.len();
            let message =
                format!("coverage.places: expected at most {LIST_LENGTH_MAX} places, found {found}");
            return Err((extra.span(), message));
        }
        let place = |place: &Spanned<String>| check_text("coverage.places", place, NAME_LENGTH_CHARS_MAX);
        let places: Vec<String> = self.places.iter().map(place).collect::<Result<_, _>>()?;
        if from.is_none() && to.is_none() && places.is_empty() {
            return Err((span, "coverage: expected `from`, `to` or `places`, found none of them".to_owned()));
        }
        Ok(Coverage { from, to, places })
    }
}

/// A text within a length limit, without white space at its ends.
pub fn check_text(field: &str, text: &Spanned<String>, length_max: usize) -> Result<String, SpannedError> {
    let trimmed = text.get_ref().trim();
    let found = trimmed.chars().count();
    if (1..=length_max).contains(&found) && !trimmed.chars().any(char::is_control) {
        return Ok(trimmed.to_owned());
    }
    let expected = format!("expected one line of 1 to {length_max} characters");
    Err((text.span(), format!("{field}: {expected}, found {}", shown(trimmed))))
}

/// An http or https address.
pub fn check_address(field: &str, url: Spanned<String>) -> Result<String, SpannedError> {
    let text = url.get_ref().as_str();
    if is_address(text) {
        return Ok(url.into_inner());
    }
    let expected = "expected an address that begins with https:// or http://";
    Err((url.span(), format!("{field}: {expected}, found {}", shown(text))))
}

/// An e-mail address or a web address.
pub fn check_contact(contact: Spanned<String>) -> Result<String, SpannedError> {
    let text = contact.get_ref().as_str();
    if is_address(text) || is_email(text) {
        return Ok(contact.into_inner());
    }
    let expected = "expected an e-mail address, or an address that begins with https:// or http://";
    Err((contact.span(), format!("contact: {expected}, found {}", shown(text))))
}

pub fn check_frequency(word: &Spanned<String>) -> Result<UpdateFrequency, SpannedError> {
    let known = UPDATE_FREQUENCIES.into_iter().find(|known| known.word == word.get_ref());
    known.ok_or_else(|| {
        let words = UPDATE_FREQUENCIES.map(|known| known.word).join(", ");
        (word.span(), format!("update_frequency: expected one of {words}; found {}", shown(word.get_ref())))
    })
}

/// A day, month or year, as a TOML date or a text.
fn check_date(field: &str, date: &Spanned<toml::Value>) -> Result<String, SpannedError> {
    let text = match date.get_ref() {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let is_number = matches!(date.get_ref(), toml::Value::Integer(_));
    if !is_number && first_day(&text).is_some() {
        return Ok(text);
    }
    let expected = "expected a date such as 2024-01-31, \"2024-01\" or \"2024\"";
    let found = if is_number { format!("the number {text}") } else { shown(&text) };
    Err((date.span(), format!("{field}: {expected}, found {found}")))
}

/// The first day of a day, a month or a year.
fn first_day(text: &str) -> Option<Date> {
    let digits = |text: &str, length: usize| {
        (text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit())).then_some(())
    };
    let mut parts = text.split('-');
    digits(parts.next()?, 4)?;
    for part in parts.by_ref().take(2) {
        digits(part, 2)?;
    }
    let whole = match text.len() {
        4 => format!("{text}-01-01"),
        7 => format!("{text}-01"),
        10 => text.to_owned(),
        _ => return None,
    };
    whole.parse().ok().filter(|date: &Date| date.year() > 0)
}

/// Whether `to` is not before `from`, compared over their common length.
fn is_in_order(from: &str, to: &str) -> bool {
    let length = from.len().min(to.len());
    from.get(..length) <= to.get(..length)
}

fn is_address(text: &str) -> bool {
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let host = host.and_then(|rest| rest.split(['/', '?', '#']).next()).unwrap_or_default();
    !host.is_empty() && is_plain(text)
}

fn is_email(text: &str) -> bool {
    let sides = text.split_once('@').filter(|(name, host)| !name.is_empty() && !host.contains('@'));
    sides.is_some_and(|(_, host)| host.split('.').all(|label| !label.is_empty())) && is_plain(text)
}

/// Whether a text is safe in an address: no space, control character or quote.
fn is_plain(text: &str) -> bool {
    let plain = |letter: char| !letter.is_whitespace() && !letter.is_control() && !"<>\"\\".contains(letter);
    text.chars().count() <= ADDRESS_LENGTH_CHARS_MAX && text.chars().all(plain)
}

/// The found text, shortened for a message.
fn shown(text: &str) -> String {
    let beginning: String = text.chars().take(60).filter(|letter| !letter.is_control()).collect();
    match text.chars().count() {
        0 => "nothing".to_owned(),
        count if count > 60 => format!("`{beginning}…` of {count} characters"),
        _ => format!("`{beginning}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_day_month_or_year() {
        for date in ["2024-02-29", "2024-12", "0001", "9999-12-31"] {
            assert!(first_day(date).is_some(), "{date}");
        }
        for other in
            ["2023-02-29", "2024-13", "24", "2024-1", "2024-01-01T00:00:00Z", "", "0000", "2024-01-", "x"]
        {
            assert!(first_day(other).is_none(), "{other}");
        }
        assert!(is_in_order("2024-05", "2024") && is_in_order("2024", "2024-05-01"));
        assert!(!is_in_order("2024-05", "2024-04-30"));
    }

    #[test]
    fn accepts_http_addresses_only() {
        for good in ["https://a.test", "http://a.test/x?y=1#z", "https://città.test/"] {
            assert!(is_address(good), "{good}");
        }
        for bad in
            ["javascript:x", "https://", "https:///x", "https://a b", "https://a\"x", "//a.test", "a.test"]
        {
            assert!(!is_address(bad), "{bad}");
        }
        assert!(is_email("data@town.test"));
        for bad in ["@a.test", "a@", "a@b@c", "a b@c.test", "a", "a@.test"] {
            assert!(!is_email(bad), "{bad}");
        }
    }
}
