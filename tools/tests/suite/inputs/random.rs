//! Random tables as CSV and NDJSON: every value comes back, beside a naive printer of the expected rows.

use proptest::prelude::*;
use serde_json::{Map, Value};

use super::converted;

/// A value of a random column.
fn value(kind: u8) -> BoxedStrategy<Option<String>> {
    let text = match kind {
        0 => any::<i64>().prop_map(|n| n.to_string()).boxed(),
        1 => (-1_000_000_i64..1_000_000)
            .prop_map(|n| format!("{}.{:02}", n / 100, n.unsigned_abs() % 100))
            .boxed(),
        2 => any::<bool>().prop_map(|b| b.to_string()).boxed(),
        3 => (1_u32..=28, 1_u32..=12, 0_u32..=9_999)
            .prop_map(|(d, m, y)| format!("{y:04}-{m:02}-{d:02}"))
            .boxed(),
        4 => "[0-9]{1,3}".prop_map(|digits| format!("0{digits}")).boxed(),
        _ => "[a-z,;\"\r\nè \\\\]{1,12}".prop_map(|text| format!("x{text}")).boxed(),
    };
    prop::option::weighted(0.8, text).boxed()
}

/// Rows of columns of the given kinds.
fn tables() -> impl Strategy<Value = (Vec<u8>, Vec<Vec<Option<String>>>)> {
    prop::collection::vec(0_u8..6, 1..5).prop_flat_map(|kinds| {
        let row: Vec<_> = kinds.iter().map(|kind| value(*kind)).collect();
        (Just(kinds), prop::collection::vec(row, 1..30))
    })
}

/// The JSON of a value, as the store prints it.
fn expected(kind: u8, value: Option<&String>) -> String {
    match value {
        None => "null".into(),
        Some(text) if kind <= 2 => text.strip_prefix("-0.").map_or_else(
            || text.clone(),
            |rest| match rest {
                "00" => "0.00".into(),
                rest => format!("-0.{rest}"),
            },
        ),
        Some(text) => serde_json::to_string(text).unwrap(),
    }
}

fn quoted(text: &str) -> String {
    let needs = text.is_empty() || text.contains([',', '"', '\r', '\n']);
    if needs { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

fn check(rows: &[String], kinds: &[u8], table: &[Vec<Option<String>>]) {
    let parsed = |line: &String| serde_json::from_str::<Map<String, Value>>(line).unwrap();
    assert_eq!(rows.len(), table.len());
    for (line, row) in rows.iter().zip(table) {
        let fields = kinds.iter().zip(row).enumerate();
        let wanted: Vec<String> = fields
            .map(|(at, (kind, value))| format!("\"c{at}\":{}", expected(*kind, value.as_ref())))
            .collect();
        assert_eq!(parsed(line), parsed(&format!("{{{}}}", wanted.join(","))), "{line}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn csv_keeps_every_value((kinds, table) in tables(), crlf in any::<bool>()) {
        // A table without any value of a column has a column of nulls in it, and with one column a blank line is a null.
        let end = if crlf { "\r\n" } else { "\n" };
        let header: Vec<String> = (0..kinds.len()).map(|at| format!("c{at}")).collect();
        let mut text = header.join(",") + end;
        for row in &table {
            let fields: Vec<String> = row.iter().map(|value| value.as_deref().map_or(String::new(), quoted)).collect();
            text += &fields.join(",");
            text += end;
        }
        check(&converted("a.csv", &text).unwrap().1, &kinds, &table);
    }

    #[test]
    fn ndjson_keeps_every_value((kinds, table) in tables()) {
        let mut text = String::new();
        for row in &table {
            let members: Vec<String> = kinds.iter().zip(row).enumerate().map(|(at, (kind, value))| {
                let value = match value {
                    None => "null".to_owned(),
                    Some(text) if *kind <= 2 => text.clone(),
                    Some(text) => serde_json::to_string(text).unwrap(),
                };
                format!("\"c{at}\": {value}")
            }).collect();
            text += &format!("{{{}}}\n", members.join(", "));
        }
        check(&converted("a.ndjson", &text).unwrap().1, &kinds, &table);
    }
}
