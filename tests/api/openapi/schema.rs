//! Checks JSON against schemas of the OpenAPI document. Supports only keywords of the document and rejects others, so that
//! none is passed over in silence.

use regex_lite::Regex;
use serde_json::{Value, json};

use super::{DOCUMENT, resolved};

/// Keywords that say nothing about a value.
const REMARKS: [&str; 4] = ["description", "default", "example", "examples"];

/// Faults of a value against a schema, each with its place.
pub fn faults(schema: &'static Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(schema, value, "", &mut found);
    found
}

fn check(schema: &'static Value, value: &Value, place: &str, found: &mut Vec<String>) {
    let schema = resolved(schema);
    for (keyword, expected) in schema.as_object().unwrap() {
        let fits = match keyword.as_str() {
            "type" => is_of_type(expected, value),
            "enum" => expected.as_array().unwrap().contains(value),
            "anyOf" => expected.as_array().unwrap().iter().any(|form| faults(form, value).is_empty()),
            "minimum" => value.as_f64().is_none_or(|number| number >= expected.as_f64().unwrap()),
            "maximum" => value.as_f64().is_none_or(|number| number <= expected.as_f64().unwrap()),
            "pattern" => {
                let pattern = Regex::new(expected.as_str().unwrap()).unwrap();
                value.as_str().is_none_or(|text| pattern.is_match(text))
            }
            "format" => value.as_str().is_none_or(|text| has_format(expected, text)),
            "items" => check_items(expected, value, place, found),
            "minItems" => {
                value.as_array().is_none_or(|items| items.len() as u64 >= expected.as_u64().unwrap())
            }
            "maxItems" => {
                value.as_array().is_none_or(|items| items.len() as u64 <= expected.as_u64().unwrap())
            }
            "uniqueItems" => value.as_array().is_none_or(|items| is_set(items)),
            "properties" => check_properties(schema, value, place, found),
            "required" => has_all(expected, value),
            // Checked together with the properties.
            "additionalProperties" => true,
            "minProperties" => {
                value.as_object().is_none_or(|members| members.len() as u64 >= expected.as_u64().unwrap())
            }
            "maxProperties" => {
                value.as_object().is_none_or(|members| members.len() as u64 <= expected.as_u64().unwrap())
            }
            other => {
                assert!(REMARKS.contains(&other), "the check does not know the keyword {other}");
                true
            }
        };
        if !fits {
            found.push(format!("{place}: {value} does not fit `{keyword}` {expected}"));
        }
    }
    if schema.get("properties").is_none() && schema.get("additionalProperties").is_some() {
        check_properties(schema, value, place, found);
    }
}

fn is_of_type(expected: &Value, value: &Value) -> bool {
    if let Some(types) = expected.as_array() {
        return types.iter().any(|expected| is_of_type(expected, value));
    }
    match expected.as_str().unwrap() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("the check does not know the type {other}"),
    }
}

fn has_format(expected: &Value, text: &str) -> bool {
    match expected.as_str().unwrap() {
        "date-time" => text.parse::<jiff::Timestamp>().is_ok(),
        "date" => text.parse::<jiff::civil::Date>().is_ok(),
        other => panic!("the check does not know the format {other}"),
    }
}

fn is_set(items: &[Value]) -> bool {
    items.iter().enumerate().all(|(place, item)| !items[..place].contains(item))
}

fn has_all(names: &Value, value: &Value) -> bool {
    let names = names.as_array().unwrap();
    value
        .as_object()
        .is_none_or(|members| names.iter().all(|name| members.contains_key(name.as_str().unwrap())))
}

fn check_items(schema: &'static Value, value: &Value, place: &str, found: &mut Vec<String>) -> bool {
    for (number, item) in value.as_array().into_iter().flatten().enumerate() {
        check(schema, item, &format!("{place}/{number}"), found);
    }
    true
}

fn check_properties(schema: &'static Value, value: &Value, place: &str, found: &mut Vec<String>) -> bool {
    for (name, member) in value.as_object().into_iter().flatten() {
        let place = format!("{place}/{name}");
        match (schema["properties"].get(name), &schema["additionalProperties"]) {
            (Some(property), _) => check(property, member, &place, found),
            (None, Value::Bool(false)) => found.push(format!("{place}: no such field")),
            (None, others) if others.is_object() => check(others, member, &place, found),
            (None, _) => {}
        }
    }
    true
}

/// Every example of the document with its schema.
fn examples(node: &'static Value, found: &mut Vec<(&'static Value, &'static Value)>) {
    if let (Some(schema), Some(example)) = (node.get("schema"), node.get("example")) {
        found.push((schema, example));
    }
    if let (Some(schema), Some(named)) = (node.get("schema"), node.get("examples").and_then(Value::as_object))
    {
        found.extend(named.values().map(|example| (schema, &example["value"])));
    }
    // A schema has a list of examples of its own.
    if let Some(own) = node.get("examples").and_then(Value::as_array) {
        found.extend(own.iter().map(|example| (node, example)));
    }
    let below = node.as_object().into_iter().flatten().filter(|(key, _)| !key.starts_with("example"));
    let items = node.as_array().into_iter().flatten();
    below.map(|(_, child)| child).chain(items).for_each(|child| examples(child, found));
}

#[test]
fn matches_every_example_with_its_schema() {
    let mut found = Vec::new();
    examples(&DOCUMENT, &mut found);
    assert!(found.len() > 50, "{}", found.len());
    for (schema, example) in found {
        let faults = faults(schema, example);
        assert!(faults.is_empty(), "{example}: {faults:#?}");
    }
}

#[test]
fn distinguishes_valid_from_invalid_values() {
    let cases = [
        (json!({ "type": "integer" }), json!(3), json!(3.5)),
        (json!({ "type": ["string", "null"] }), json!(null), json!(1)),
        (json!({ "enum": ["a", "b"] }), json!("b"), json!("c")),
        (json!({ "anyOf": [{ "type": "null" }, { "type": "boolean" }] }), json!(true), json!("true")),
        (json!({ "minimum": 1, "maximum": 10 }), json!(10), json!(11)),
        (json!({ "minimum": 1 }), json!(1), json!(0)),
        (json!({ "pattern": "^[a-z]+$" }), json!("abc"), json!("abc1")),
        (json!({ "format": "date" }), json!("2026-02-28"), json!("2026-02-30")),
        (json!({ "format": "date-time" }), json!("2026-02-28T00:00:00Z"), json!("2026-02-28")),
        (json!({ "items": { "type": "string" } }), json!(["a"]), json!(["a", 1])),
        (json!({ "minItems": 1, "maxItems": 2 }), json!([1, 2]), json!([1, 2, 3])),
        (json!({ "minItems": 1 }), json!([1]), json!([])),
        (json!({ "uniqueItems": true }), json!([1, 2]), json!([1, 1])),
        (
            json!({ "properties": { "a": { "type": "null" } } }),
            json!({ "a": null, "b": 1 }),
            json!({ "a": 1 }),
        ),
        (
            json!({ "properties": { "a": {} }, "additionalProperties": false }),
            json!({ "a": 1 }),
            json!({ "b": 1 }),
        ),
        (json!({ "additionalProperties": { "type": "null" } }), json!({ "a": null }), json!({ "a": 1 })),
        (json!({ "required": ["a"] }), json!({ "a": 1 }), json!({ "b": 1 })),
        (json!({ "minProperties": 1 }), json!({ "a": 1 }), json!({})),
        (json!({ "$ref": "#/components/schemas/Slug" }), json!("tpch-orders"), json!("TPC H")),
    ];
    for (schema, good, bad) in cases {
        let schema: &'static Value = Box::leak(Box::new(schema));
        assert_eq!(faults(schema, &good), [""; 0], "{schema}");
        assert_eq!(faults(schema, &bad).len(), 1, "{schema}");
    }
}
