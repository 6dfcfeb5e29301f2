//! Templates with placeholders, as a work file has them. Binding replaces every placeholder that is constant during a
//! run. Does not depend on HTTP.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::loadgen::random::Random;
use mercato_web::percent_encode;

/// Most placeholders of a template.
pub const PLACEHOLDER_COUNT_MAX: usize = 64;
/// Most choices of one `{pick:…}`.
pub const CHOICE_COUNT_MAX: usize = 1_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    /// `{name}`: bound before the run.
    Name(String),
    /// `{random:LOW..HIGH}`, both included.
    Random(i64, i64),
    /// `{pick:A|B}`.
    Pick(Vec<String>),
    /// `{value:LIST}`: a value of a list from the server.
    Value(String),
    /// `{sequence}`: a number, unique in the run.
    Sequence,
}

/// The part of a request, which decides how values are encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestPart {
    Body,
    /// The target of a request: values are percent-encoded.
    Target,
    /// The value of a header: values are plain.
    Header,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    json: String,
    plain: String,
}

/// A template after binding. Only placeholders that differ between requests remain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundTemplate(Vec<BoundPart>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum BoundPart {
    Text(String),
    Random(i64, i64),
    Choice(Arc<[String]>),
    Sequence,
}

#[derive(Debug, Default, Clone)]
pub struct Bindings {
    /// Parameters, written unencoded.
    pub parameters: BTreeMap<String, String>,
    /// Single values, written as their part asks.
    pub values: BTreeMap<String, Value>,
    /// Lists of values. Each request uses one value.
    pub lists: BTreeMap<String, Vec<Value>>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    #[error("`{{{found}}}`, where {expected} was expected")]
    Placeholder { found: String, expected: String },
    #[error("more than {PLACEHOLDER_COUNT_MAX} placeholders")]
    TooMany,
    /// A character that would break the request.
    #[error("the character {0:?}, which cannot stand in the target or a header of a request")]
    Character(char),
}

impl Value {
    /// A value from its JSON text. Strings lose their quotes outside JSON.
    #[must_use]
    pub fn of_json(json: &str) -> Value {
        let plain = serde_json::from_str::<String>(json).unwrap_or_else(|_| json.to_owned());
        Value { json: json.to_owned(), plain }
    }

    /// No value: `null` in JSON, an empty text elsewhere.
    #[must_use]
    pub fn none() -> Value {
        Value { json: "null".into(), plain: String::new() }
    }

    fn at(&self, part: RequestPart) -> String {
        match part {
            RequestPart::Body => self.json.clone(),
            RequestPart::Target => {
                let mut encoded = String::new();
                percent_encode(&self.plain, &mut encoded);
                encoded
            }
            RequestPart::Header => self.plain.clone(),
        }
    }
}

impl Template {
    /// Parses a template. A brace without a lower-case letter behind it is literal.
    pub fn parse(text: &str) -> Result<Template, TemplateError> {
        let (mut parts, mut plain, mut rest) = (Vec::new(), String::new(), text);
        while let Some((before, after)) = rest.split_once('{') {
            plain.push_str(before);
            if !after.starts_with(|c: char| c.is_ascii_lowercase()) {
                plain.push('{');
                rest = after;
                continue;
            }
            let unclosed = || wrong(after.chars().take(20).collect(), "a closing brace".to_owned());
            let (inside, behind) = after.split_once('}').ok_or_else(unclosed)?;
            if !plain.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut plain)));
            }
            parts.push(placeholder(inside)?);
            rest = behind;
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            parts.push(Part::Text(plain));
        }
        let count = parts.iter().filter(|part| !matches!(part, Part::Text(_))).count();
        if count > PLACEHOLDER_COUNT_MAX { Err(TemplateError::TooMany) } else { Ok(Template(parts)) }
    }

    /// Whether the template contains `{name}`.
    #[must_use]
    pub fn names(&self, name: &str) -> bool {
        self.0.iter().any(|part| matches!(part, Part::Name(found) if found == name))
    }

    pub fn lists(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|part| match part {
            Part::Value(list) => Some(list.as_str()),
            _ => None,
        })
    }

    /// Replaces the placeholders that are bound before the run.
    pub fn bind(&self, bindings: &Bindings, part: RequestPart) -> Result<BoundTemplate, TemplateError> {
        let mut bound = BoundTemplate(Vec::new());
        for segment in &self.0 {
            let piece = match segment {
                Part::Text(text) => BoundPart::Text(text.clone()),
                Part::Name(name) => BoundPart::Text(bindings.text(name, part)?),
                Part::Random(low, high) => BoundPart::Random(*low, *high),
                Part::Pick(choices) => BoundPart::Choice(choices.clone().into()),
                Part::Value(list) => BoundPart::Choice(bindings.list(list, part)?.into()),
                Part::Sequence => BoundPart::Sequence,
            };
            bound.append(BoundTemplate(vec![piece]));
        }
        let broken = bound.texts().flat_map(str::chars).find(|&character| breaks(character, part));
        broken.map_or(Ok(bound), |character| Err(TemplateError::Character(character)))
    }
}

impl Bindings {
    fn text(&self, name: &str, part: RequestPart) -> Result<String, TemplateError> {
        let parameter = self.parameters.get(name).cloned();
        parameter.or_else(|| self.values.get(name).map(|value| value.at(part))).ok_or_else(|| {
            let names: Vec<&str> =
                self.parameters.keys().chain(self.values.keys()).map(String::as_str).collect();
            wrong(
                name.to_owned(),
                format!(
                    "one of {}, sequence, random:LOW..HIGH, pick:A|B, value:LIST (depth and cursor only in works)",
                    names.join(", ")
                ),
            )
        })
    }

    fn list(&self, name: &str, part: RequestPart) -> Result<Vec<String>, TemplateError> {
        let list = self.lists.get(name).filter(|list| !list.is_empty());
        let list = list.ok_or_else(|| wrong(format!("value:{name}"), "a list of [values]".to_owned()))?;
        Ok(list.iter().map(|value| value.at(part)).collect())
    }
}

impl BoundTemplate {
    #[must_use]
    pub fn of(text: &str) -> BoundTemplate {
        BoundTemplate(vec![BoundPart::Text(text.to_owned())])
    }

    pub fn append(&mut self, other: BoundTemplate) {
        for piece in other.0 {
            match (self.0.last_mut(), piece) {
                (Some(BoundPart::Text(before)), BoundPart::Text(text)) => before.push_str(&text),
                (_, piece) => self.0.push(piece),
            }
        }
    }

    /// Whether every request has the same text.
    #[must_use]
    pub fn is_fixed(&self) -> bool {
        self.0.iter().all(|piece| matches!(piece, BoundPart::Text(_)))
    }

    /// Appends the text of one request.
    pub fn render(&self, random: &mut Random, sequence: u64, out: &mut Vec<u8>) {
        let mut digits = itoa::Buffer::new();
        for piece in &self.0 {
            let text = match piece {
                BoundPart::Text(text) => text.as_str(),
                BoundPart::Random(low, high) => digits.format(random.between(*low, *high)),
                BoundPart::Choice(choices) => {
                    let chosen = random.below(choices.len() as u64);
                    choices.get(usize::try_from(chosen).unwrap_or_default()).map_or("", String::as_str)
                }
                BoundPart::Sequence => digits.format(sequence),
            };
            out.extend_from_slice(text.as_bytes());
        }
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        self.0
            .iter()
            .flat_map(|piece| match piece {
                BoundPart::Text(text) => std::slice::from_ref(text).iter(),
                BoundPart::Choice(choices) => choices.iter(),
                _ => [].iter(),
            })
            .map(String::as_str)
    }
}

fn placeholder(inside: &str) -> Result<Part, TemplateError> {
    let Some((kind, argument)) = inside.split_once(':') else {
        let name = inside.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        return match inside {
            "sequence" => Ok(Part::Sequence),
            _ if name => Ok(Part::Name(inside.to_owned())),
            _ => Err(wrong(inside.to_owned(), "a name of a-z, 0-9 and _".to_owned())),
        };
    };
    match kind {
        "random" => {
            let bounds = argument.split_once("..").and_then(|(low, high)| {
                Some((low.parse::<i64>().ok()?, high.parse::<i64>().ok()?)).filter(|(low, high)| low <= high)
            });
            let (low, high) = bounds
                .ok_or_else(|| wrong(inside.to_owned(), "random:LOW..HIGH, two whole numbers".to_owned()))?;
            Ok(Part::Random(low, high))
        }
        "pick" => {
            let choices: Vec<String> = argument.split('|').map(str::to_owned).collect();
            if choices.len() > CHOICE_COUNT_MAX {
                return Err(wrong("pick:…".into(), format!("at most {CHOICE_COUNT_MAX} choices")));
            }
            Ok(Part::Pick(choices))
        }
        "value" => Ok(Part::Value(argument.to_owned())),
        _ => Err(wrong(inside.to_owned(), "random:LOW..HIGH, pick:A|B or value:LIST".to_owned())),
    }
}

fn wrong(found: String, expected: String) -> TemplateError {
    TemplateError::Placeholder { found, expected }
}

fn breaks(character: char, part: RequestPart) -> bool {
    match part {
        RequestPart::Body => false,
        RequestPart::Target => !('!'..='~').contains(&character),
        RequestPart::Header => character.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Bindings {
        let mut bindings = Bindings::default();
        bindings.parameters.insert("rows".into(), "10".into());
        bindings.values.insert("cursor".into(), Value::of_json("\"a+b\""));
        bindings.lists.insert("keys".into(), vec![Value::of_json("7"), Value::of_json("\"é\"")]);
        bindings
    }

    fn rendered(text: &str, part: RequestPart, index: u64) -> String {
        let bound = Template::parse(text).unwrap().bind(&known(), part).unwrap();
        let mut out = Vec::new();
        bound.render(&mut Random::of(1, index), index, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn keeps_json_braces() {
        for text in [r#"{"a":{"b":[{}]}}"#, "{", "}", "", "{ rows}", "{1}"] {
            assert_eq!(rendered(text, RequestPart::Body, 0), text);
        }
    }

    #[test]
    fn encodes_bindings_for_their_position() {
        assert_eq!(
            rendered(r#"{"limit":{rows},"cursor":{cursor}}"#, RequestPart::Body, 0),
            r#"{"limit":10,"cursor":"a+b"}"#
        );
        assert_eq!(rendered("/x?cursor={cursor}", RequestPart::Target, 0), "/x?cursor=a%2Bb");
        assert_eq!(rendered("{cursor}", RequestPart::Header, 0), "a+b");
        assert_eq!(rendered("{sequence}", RequestPart::Body, 77), "77");
    }

    #[test]
    fn random_placeholders_stay_in_range() {
        let (mut numbers, mut picks, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for index in 0..200 {
            numbers.push(rendered("{random:-1..2}", RequestPart::Body, index).parse::<i64>().unwrap());
            picks.push(rendered("{pick:A|B C}", RequestPart::Body, index));
            values.push(rendered("{value:keys}", RequestPart::Target, index));
        }
        for list in [&mut picks, &mut values] {
            list.sort();
            list.dedup();
        }
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers, [-1, 0, 1, 2]);
        assert_eq!(picks, ["A", "B C"]);
        assert_eq!(values, ["%C3%A9", "7"]);
    }

    #[test]
    fn rejects_unknown_placeholders() {
        for wrong in ["{rows", "{random:5..1}", "{random:a..b}", "{dice:6}", "{Rows}x{bad-name}"] {
            assert!(Template::parse(wrong).is_err(), "{wrong}");
        }
        let unknown = Template::parse("{nothing}").unwrap().bind(&known(), RequestPart::Body).unwrap_err();
        assert!(unknown.to_string().contains("nothing") && unknown.to_string().contains("rows"), "{unknown}");
        assert!(Template::parse("{value:none}").unwrap().bind(&known(), RequestPart::Body).is_err());
    }

    #[test]
    fn rejects_request_splitting() {
        for (text, part) in [
            ("a b", RequestPart::Target),
            ("/\r\nX: y", RequestPart::Target),
            ("a\r\nb", RequestPart::Header),
        ] {
            assert!(Template::parse(text).unwrap().bind(&known(), part).is_err(), "{text:?}");
        }
    }
}
