//! Strict query parameters: unknown names and invalid values are errors, and all errors are reported at once.
//!
//! Handlers name the parameters of their paths.

use crate::errors::{ApiError, ValidationErrorBody};
use mercato_base::words::{NAME_UNKNOWN, any_of, found_text, placed, quoted, whole_number};

/// Reads named parameters from the pairs of a target and collects errors.
#[derive(Debug)]
pub struct Parameters<'a> {
    pairs: &'a [(String, String)],
    known: Vec<&'static str>,
    elsewhere: Vec<(&'static str, String)>,
    faults: Vec<ValidationErrorBody>,
}

impl<'a> Parameters<'a> {
    /// Begins to read `pairs`.
    pub fn new(pairs: &'a [(String, String)]) -> Self {
        Self { pairs, known: Vec::new(), elsewhere: Vec::new(), faults: Vec::new() }
    }

    /// The texts of a parameter that may be given several times.
    pub fn texts(&mut self, name: &'static str) -> impl Iterator<Item = &'a str> + Clone + use<'a> {
        self.known.push(name);
        self.pairs.iter().filter(move |(pair_name, _)| pair_name == name).map(|(_, value)| value.as_str())
    }

    /// The text of a parameter, when it is given.
    pub fn text(&mut self, name: &'static str) -> Option<&'a str> {
        let mut values = self.texts(name);
        let first = values.next();
        if values.next().is_some() {
            let message = "the parameter is given more than once";
            self.refuse("DUPLICATE_PARAMETER", name, message, "give it once");
        }
        first
    }

    /// A whole number inside `minimum..=maximum`; outside is refused, never clamped.
    pub fn integer(&mut self, name: &'static str, minimum: u64, maximum: u64, default: u64) -> u64 {
        let Some(text) = self.text(name) else { return default };
        let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let fits = text.parse().ok().filter(|value| is_plain && (minimum..=maximum).contains(value));
        fits.unwrap_or_else(|| {
            let reason = if is_plain { "OUT_OF_RANGE" } else { "NOT_AN_INTEGER" };
            let range = whole_number(minimum, maximum);
            let message = format!("expected {range}, found {}", found_text(text));
            self.refuse(reason, name, message, format!("send {range}"));
            default
        })
    }

    /// One of a few words.
    pub fn choice<T: Copy>(&mut self, name: &'static str, choices: &[(&str, T)]) -> Option<T> {
        let text = self.text(name)?;
        let chosen = choices.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
        if chosen.is_none() {
            let words: Vec<String> = choices.iter().map(|(word, _)| (*word).to_owned()).collect();
            let listed = any_of(words.iter().map(String::as_str));
            let message = format!("expected {listed}, found {}", quoted(text));
            let mut fault = ValidationErrorBody::parameter(
                "UNKNOWN_VALUE",
                name,
                placed(name, &message),
                format!("send {listed}"),
            );
            fault.suggest(nearest(text, words.iter().map(String::as_str)));
            fault.allowed = words;
            self.faults.push(fault);
        }
        chosen
    }

    /// Adds a remedy for a parameter that only another path takes.
    pub fn elsewhere(&mut self, name: &'static str, hint: String) {
        self.elsewhere.push((name, hint));
    }

    /// Notes a fault that the caller found; the message gets the name in front.
    pub fn refuse(&mut self, reason: &str, name: &str, message: impl AsRef<str>, hint: impl Into<String>) {
        self.faults.push(ValidationErrorBody::parameter(reason, name, placed(name, message.as_ref()), hint));
    }

    /// Ends the reading: unknown names and every fault so far become one 400.
    pub fn finish(mut self) -> Result<(), ApiError> {
        for (name, _) in self.pairs {
            if !self.known.contains(&name.as_str()) {
                let mut fault = unknown_parameter(name, &self.known);
                if let Some((_, hint)) = self.elsewhere.iter().find(|(taken, _)| taken == name) {
                    fault.hint.clone_from(hint);
                    fault.suggestion = None;
                }
                self.faults.push(fault);
            }
        }
        if self.faults.is_empty() { Ok(()) } else { Err(ApiError::bad_request(self.faults)) }
    }
}

fn unknown_parameter(name: &str, known: &[&'static str]) -> ValidationErrorBody {
    let shown: String = name.chars().take(64).collect();
    let hint = if known.is_empty() {
        "this path takes no parameters".to_owned()
    } else {
        format!("known: {}", known.join(", "))
    };
    let mut fault =
        ValidationErrorBody::parameter("UNKNOWN_PARAMETER", &shown, placed(&shown, NAME_UNKNOWN), hint);
    fault.suggest(nearest(&shown, known.iter().copied()));
    fault.allowed = known.iter().map(|known_name| (*known_name).to_owned()).collect();
    fault
}

/// The nearest of `names`, if one is near enough to be a typing error.
pub fn nearest<'n>(typed: &str, names: impl Iterator<Item = &'n str>) -> Option<String> {
    names
        .map(|name| (strsim::damerau_levenshtein(typed, name), name))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, name)| *distance <= name.chars().count().div_ceil(3))
        .map(|(_, name)| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
        list.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
    }

    type Read = (u64, Option<u8>);
    type Faults<'a> = &'a [(&'a str, &'a str)];

    #[track_caller]
    fn check(list: &[(&str, &str)], expected: Result<Read, Faults<'_>>) {
        let pairs = pairs(list);
        let mut parameters = Parameters::new(&pairs);
        let limit = parameters.integer("limit", 1, 100, 20);
        let lang = parameters.choice("lang", &[("en", 1), ("it", 2)]);
        match (parameters.finish(), expected) {
            (Ok(()), Ok(wanted)) => assert_eq!((limit, lang), wanted),
            (Err(error), Err(wanted)) => {
                let details = serde_json::to_value(error.details().unwrap()).unwrap();
                let found: Vec<_> = details["errors"].as_array().unwrap().iter().collect();
                assert_eq!(found.len(), wanted.len(), "{list:?}");
                for (fault, (reason, pointer)) in found.iter().zip(wanted) {
                    assert_eq!(
                        (&fault["reason"], &fault["pointer"]),
                        (&(*reason).into(), &(*pointer).into())
                    );
                }
            }
            (found, wanted) => panic!("{list:?}: {found:?}, expected {wanted:?}"),
        }
    }

    #[test]
    fn reads_parameters_or_reports_all_errors() {
        check(&[], Ok((20, None)));
        check(&[("limit", "100"), ("lang", "it")], Ok((100, Some(2))));
        check(&[("limit", "0")], Err(&[("OUT_OF_RANGE", "limit")]));
        check(&[("limit", "101")], Err(&[("OUT_OF_RANGE", "limit")]));
        check(&[("limit", "99999999999999999999")], Err(&[("OUT_OF_RANGE", "limit")]));
        check(&[("limit", "+5")], Err(&[("NOT_AN_INTEGER", "limit")]));
        check(&[("limit", "")], Err(&[("NOT_AN_INTEGER", "limit")]));
        check(&[("limit", "5"), ("limit", "6")], Err(&[("DUPLICATE_PARAMETER", "limit")]));
        check(
            &[("lmit", "5"), ("lang", "de")],
            Err(&[("UNKNOWN_VALUE", "lang"), ("UNKNOWN_PARAMETER", "lmit")]),
        );
    }

    #[test]
    fn suggests_near_names_only() {
        assert_eq!(nearest("lmit", ["limit", "offset"].into_iter()), Some("limit".to_owned()));
        assert_eq!(nearest("zzzzz", ["limit", "offset"].into_iter()), None);
    }
}
