//! Facets of estimates: counts of public values under filters, and what they must not tell.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::harness::{Answer, Ask, MANIFEST, Site, city_columns};
use mercato_format::ColumnKind;
use mercato_format::writer::{Column, ColumnValues};

fn estimate(site: &Site, key: &str, slug: &str, body: &Value) -> Answer {
    let path = format!("/api/v1/datasets/{slug}/query/estimate");
    site.send(&Ask::post(&path, &body.to_string()).header("X-Api-Key", key))
}

#[track_caller]
fn facets(site: &Site, key: &str, slug: &str, body: &Value) -> Value {
    let answer = estimate(site, key, slug, body);
    assert_eq!((answer.status, answer.header("X-Credits-Charged")), (200, Some("0")), "{}", answer.text());
    answer.json()["data"]["facets"].clone()
}

/// Columns of every storage, whose values repeat: `key` has all rows apart.
fn mixed(rows: i64) -> Vec<Column> {
    let integers =
        |value: &dyn Fn(i64) -> Option<i64>| ColumnValues::Integers((0..rows).map(value).collect());
    let texts = |value: &dyn Fn(i64) -> Option<String>| ColumnValues::Texts((0..rows).map(value).collect());
    let floats = (0..rows).map(|row| match row % 40 {
        0 => Some(f64::NAN),
        1 => Some(-0.0),
        2 => None,
        rest => Some((rest % 9) as f64 / 2.0 - 1.0),
    });
    vec![
        Column::new("key", ColumnKind::Integer, integers(&Some)),
        Column::new(
            "few",
            ColumnKind::Text,
            texts(&|row| (row % 11 != 3).then(|| format!("\"{}\"", row % 7))),
        ),
        // Seldom repeated: no dictionary.
        Column::new("many", ColumnKind::Text, texts(&|row| Some(format!("text number {}", row - row % 2)))),
        Column::new("code", ColumnKind::Integer, integers(&|row| (row % 5 != 0).then_some(row % 13 - 6))),
        Column::new("wide", ColumnKind::Integer, integers(&|row| Some((row / 2) * 1_000_003))),
        Column::new("double", ColumnKind::Float, ColumnValues::Floats(floats.collect())),
        Column::new(
            "flag",
            ColumnKind::Boolean,
            ColumnValues::Booleans((0..rows).map(|row| Some(row % 3 == 0)).collect()),
        ),
        Column::new("day", ColumnKind::Date, integers(&|row| Some(row % 50))),
        Column::new("money", ColumnKind::Decimal { precision: 9, scale: 2 }, integers(&|row| Some(row % 30))),
    ]
}

const COLUMNS: [&str; 8] = ["few", "many", "code", "wide", "double", "flag", "day", "money"];

/// Counts beside a loop over all rows, as bytes: a decimal keeps its scale.
#[test]
fn counts_public_values_like_a_loop_over_the_table() {
    let site = Site::with_cities();
    site.publish("mixed", &MANIFEST.replace("\"cities\"", "\"mixed\""), "1.0.0", &mixed(3_000));
    let key = site.paying_key(1_000_000);
    let statistics = site.get("/api/v1/datasets/mixed/stats").json()["data"]["columns"].clone();
    for filters in [
        json!({}),
        json!({ "key_max": 1_700 }),
        json!({ "key": { "lt": 40 } }),
        json!({ "code": [1, 2] }),
        json!({ "$not": { "few": { "contains": "3" } }, "flag": false }),
        json!({ "key": -1 }),
    ] {
        let body = json!({ "filters": filters, "limit": 10_000 });
        let rows = site.query("mixed", &key, &body.to_string()).json()["data"]["results"].clone();
        let found = facets(
            &site,
            &key,
            "mixed",
            &json!({ "filters": filters, "facets": COLUMNS, "limit": 1, "offset": 7 }),
        );
        assert_eq!(found.as_object().unwrap().len(), COLUMNS.len(), "{found}");
        for column in COLUMNS {
            let mut counts: BTreeMap<String, u64> = BTreeMap::new();
            rows.as_array()
                .unwrap()
                .iter()
                .for_each(|row| *counts.entry(number(&row[column])).or_default() += 1);
            let of_column =
                statistics.as_array().unwrap().iter().find(|told| told["name"] == column).unwrap();
            let public = of_column["topValues"].as_array().unwrap().iter().map(|told| told["value"].clone());
            let mut expected: Vec<(Value, u64)> = public
                .map(|value| (value.clone(), counts.get(&number(&value)).copied().unwrap_or(0)))
                .collect();
            expected.retain(|(_, count)| *count > 0);
            expected.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
            let expected: Vec<Value> = expected
                .into_iter()
                .map(|(value, count)| json!({ "value": value, "count": count }))
                .collect();
            assert_eq!(found[column], json!(expected), "{column} {filters}");
        }
    }
}

/// Both zeros are one value, and one number has one text.
fn number(value: &Value) -> String {
    value.as_f64().map_or_else(|| value.to_string(), |number| (number + 0.0).to_string())
}

#[test]
fn tells_counts_up_to_ten_thousand_where_rows_are_filtered() {
    let site = Site::with_cities();
    let manifest = MANIFEST.replace("\"cities\"", "\"towns\"");
    site.publish("towns", &manifest, "1.0.0", &city_columns(80_000));
    let key = site.paying_key(100);
    let all = facets(&site, &key, "towns", &json!({ "facets": ["name"] }));
    let (many, fewer) = (
        |name: &str| json!({ "value": name, "count": 13_334 }),
        json!({ "value": "Torino", "count": 13_333 }),
    );
    assert_eq!(
        (&all["name"][0], &all["name"][5]),
        (&many("Milano"), &fewer),
        "without filters as in the statistics: {all}"
    );
    // Roma and Milano have more rows than the others, which the answer does not tell.
    let filters = json!({ "id_min": 2 });
    let capped = facets(&site, &key, "towns", &json!({ "filters": filters, "facets": ["name"] }));
    let expected = all["name"]
        .as_array()
        .unwrap()
        .iter()
        .map(|told| json!({ "value": told["value"], "count": null, "countAtLeast": 10_000 }));
    assert_eq!(capped, json!({ "name": expected.collect::<Vec<_>>() }));
    let filters = json!({ "id_max": 60_000, "$not": { "name": "Roma", "id_max": 6 } });
    let exact = facets(&site, &key, "towns", &json!({ "filters": filters, "facets": ["name"] }));
    assert_eq!(
        exact["name"].as_array().unwrap().iter().filter(|told| told["count"] == 10_000).count(),
        5,
        "{exact}"
    );
    assert_eq!(exact["name"][5], json!({ "value": "Roma", "count": 9_999 }));
}

/// What an estimate tells for a filter, its facets tell too, and no more.
#[test]
fn counts_whatever_seller_says_of_groups() {
    let site = Site::with_cities();
    let offer = format!("{MANIFEST}[query]\ngroups = \"off\"\nmin_group_rows = 5\n");
    site.publish("cities", &offer, "1.1.0", &city_columns(13));
    let key = site.free_key();
    let found = facets(
        &site,
        &key,
        "cities",
        &json!({ "facets": ["name"], "filters": { "name": "Roma" }, "for": "stream" }),
    );
    assert_eq!(found, json!({ "name": [{ "value": "Roma", "count": 3 }] }));
    let body = json!({ "filters": { "name": "Roma" } });
    let estimated = estimate(&site, &key, "cities", &body).json()["data"].clone();
    assert_eq!((&estimated["rows"], estimated.get("facets")), (&json!(3), None));
}

#[test]
fn refuses_columns_without_public_values() {
    let site = Site::with_cities();
    site.publish("cities", MANIFEST, "1.1.0", &city_columns(13));
    let key = site.paying_key(100);
    for (body, pointer, reason) in [
        (json!({ "facets": ["id"] }), "/facets/0", "NO_PUBLIC_VALUES"),
        (json!({ "facets": ["name", "area"], "filters": { "id": 1 } }), "/facets/1", "NO_PUBLIC_VALUES"),
        (json!({ "facets": ["nme"] }), "/facets/0", "UNKNOWN_COLUMN"),
        (json!({ "facets": ["name", "name"] }), "/facets/1", "DUPLICATE_COLUMN"),
        (json!({ "facets": "name" }), "/facets", "WRONG_TYPE"),
        (json!({ "facets": [1] }), "/facets/0", "WRONG_TYPE"),
        (json!({ "facets": vec!["name"; 9] }), "/facets", "OUT_OF_RANGE"),
        (json!({ "facets": ["name"], "for": "download" }), "/facets", "FIELD_NOT_APPLICABLE"),
    ] {
        let answer = estimate(&site, &key, "cities", &body);
        let details = answer.json()["error"]["details"].clone();
        let found = (answer.status, details["pointer"].as_str(), details["reason"].as_str());
        assert_eq!(found, (400, Some(pointer), Some(reason)), "{body}: {details}");
    }
    assert_eq!(site.query("cities", &key, r#"{"facets": ["name"]}"#).refusal().2, "UNKNOWN_FIELD");
}
