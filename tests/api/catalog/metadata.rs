//! Schema, sample, methodology and changelog.

use mercato_format::writer::{Column, ColumnValues};
use mercato_format::{ColumnKind, TimeUnit};
use serde_json::{Value, json};

use crate::harness::{Ask, MANIFEST, Site, city_columns, publish_files, wait_until};

fn site_with_texts() -> Site {
    let site = Site::with_cities();
    let changelog = "# Changes\n\n## [1.1.0] - 2026-02-01\n- more rows\n\n## [1.0.0] - 2026-01-01\n- first\n";
    let texts = [("methodology.md", "# How\n\nBy hand.\n"), ("changelog.md", changelog)];
    publish_files(&site.data(), MANIFEST, "1.1.0", &city_columns(250), &texts);
    wait_until("the texts are served", || site.serves("cities", "1.1.0"));
    site
}

#[test]
fn lists_columns_in_order_with_types() {
    let site = Site::with_cities();
    let json = site.get("/api/v1/datasets/cities/schema").json();
    let data = &json["data"];
    assert_eq!(data["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert_eq!(data["type"], "object");
    let columns: Vec<_> = data["columns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|column| (column["name"].as_str().unwrap(), column["type"].as_str().unwrap()))
        .collect();
    assert_eq!(
        columns,
        [
            ("id", "integer"),
            ("name", "string"),
            ("area", "number"),
            ("height", "number"),
            ("capital", "boolean"),
            ("founded", "datetime"),
            ("seen", "datetime")
        ]
    );
    let required: Vec<_> =
        data["required"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    assert_eq!(required, ["id", "name", "area", "height", "capital", "founded", "seen"]);
    assert_eq!(data["properties"]["id"]["type"], serde_json::json!(["integer", "null"]));
    assert_eq!(data["properties"]["founded"]["format"], "date");
    assert_eq!(data["properties"]["seen"]["format"], "date-time");
}

#[test]
fn describes_columns_from_manifest_or_data() {
    let site = Site::with_cities();
    let json = site.get("/api/v1/datasets/cities/schema").json();
    let columns = json["data"]["columns"].as_array().unwrap();
    assert_eq!(
        (&columns[1]["description"], &columns[1]["example"]),
        (&"Name of the city".into(), &"Roma".into())
    );
    assert_eq!((&columns[0]["description"], &columns[0]["example"]), (&Value::Null, &1.into()));
    assert_eq!(columns[0]["nullable"], true);
    let text = site.get("/api/v1/datasets/cities/schema").text();
    assert!(text.contains("\"example\":901.00") && text.contains("\"examples\":[901.00]"), "{text}");
}

#[test]
fn marks_sortable_and_indexed_columns() {
    let site = Site::with_cities();
    let names = |row: i64| Some(format!("a name that no other row has, {row}"));
    let texts = ColumnValues::Texts((0..3_000).map(names).collect());
    let numbers = ColumnValues::Integers((0..3_000).map(Some).collect());
    let columns = [
        Column::new("indexed", ColumnKind::Integer, numbers.clone()),
        Column { sort_index: false, ..Column::new("number", ColumnKind::Integer, numbers) },
        Column { sort_index: false, ..Column::new("text", ColumnKind::Text, texts.clone()) },
        Column::new("indexed_text", ColumnKind::Text, texts),
    ];
    site.publish("plain", "slug = \"plain\"\n", "1.0.0", &columns);
    let json = site.get("/api/v1/datasets/plain/schema").json();
    let key = site.paying_key(100);
    for (column, expected) in json["data"]["columns"].as_array().unwrap().iter().zip([
        ("indexed", true, true),
        ("number", true, false),
        ("text", false, false),
        ("indexed_text", true, true),
    ]) {
        let name = column["name"].as_str().unwrap();
        let found = (name, column["sortable"].as_bool().unwrap(), column["indexed"].as_bool().unwrap());
        assert_eq!(found, expected);
        let sorted = site.query("plain", &key, &format!(r#"{{"sortBy": "{name}", "limit": 1}}"#));
        assert_eq!(sorted.status == 200, expected.1, "{name}: {}", sorted.text());
    }
}

#[test]
fn samples_rows_that_fit_schema() {
    let site = Site::with_cities();
    let schema = site.get("/api/v1/datasets/cities/schema").json();
    let sample = site.get("/api/v1/datasets/cities/sample").json();
    for row in sample["data"]["results"].as_array().unwrap() {
        let row = row.as_object().unwrap();
        for name in schema["data"]["required"].as_array().unwrap() {
            let value = &row[name.as_str().unwrap()];
            let types = &schema["data"]["properties"][name.as_str().unwrap()]["type"];
            let found = match value {
                Value::Null => "null",
                Value::Bool(_) => "boolean",
                Value::Number(number) if number.is_i64() && types[0] == "integer" => "integer",
                Value::Number(_) => "number",
                Value::String(_) => "string",
                _ => panic!("{value}"),
            };
            assert!(
                types.as_array().unwrap().iter().any(|accepted| accepted == found),
                "{name}: {value} is not {types}"
            );
        }
        assert_eq!(row.len(), 7);
    }
}

/// Days and moments whose years have more than four digits, each as often as `repeats` says.
fn far_years(days: i64, repeats: i64) -> Vec<Column> {
    let rows = || 0..days * repeats;
    let day = |row: i64| -100_000_000 + row / repeats * (200_000_000 / days);
    let stamp = ColumnKind::Timestamp { unit: TimeUnit::Second };
    let column = |name, kind, value: &dyn Fn(i64) -> i64| {
        Column::new(name, kind, ColumnValues::Integers(rows().map(|row| Some(value(row))).collect()))
    };
    vec![
        column("day", ColumnKind::Date, &day),
        column("at", stamp, &|row| day(row) * 86_400 + 59),
        column("near", ColumnKind::Date, &|row| row - 719_528),
    ]
}

/// Whether a date or moment has four digits of year, or a sign and at least six.
fn is_written_as_promised(text: &str) -> bool {
    let (sign, rest) = text.split_at(usize::from(text.starts_with(['+', '-'])));
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let year_fits = if sign.is_empty() { digits == 4 } else { digits >= 6 };
    let shape: String = rest[digits..].chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    year_fits && ["-00-00", "-00-00T00:00:00Z"].contains(&shape.as_str())
}

#[test]
fn handles_years_beyond_four_digits() {
    let site = Site::empty(&["--requests-per-minute", "0"]);
    let key = site.paying_key(10_000);
    // Few values that repeat make a dictionary, others do not.
    for (slug, days, repeats) in [("packed", 60, 1), ("dictionary", 20, 3), ("one-row", 1, 1)] {
        let manifest = format!("slug = \"{slug}\"\n[title]\nen = \"Years\"\n");
        site.publish(slug, &manifest, "1.0.0", &far_years(days, repeats));
        let schema = site.get(&format!("/api/v1/datasets/{slug}/schema")).json();
        let properties = &schema["data"]["properties"];
        assert_eq!(
            (&properties["near"]["format"], &properties["near"]["pattern"]),
            (&json!("date"), &Value::Null)
        );
        let sample = site.get(&format!("/api/v1/datasets/{slug}/sample")).json();
        for (name, tail) in [("day", ""), ("at", "T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?Z")] {
            let pattern = format!("^([0-9]{{4}}|[+-][0-9]{{6,}})-[0-9]{{2}}-[0-9]{{2}}{tail}$");
            assert_eq!(
                (&properties[name]["format"], &properties[name]["pattern"]),
                (&Value::Null, &json!(pattern))
            );
            for row in sample["data"]["results"].as_array().unwrap() {
                let text = row[name].as_str().unwrap();
                assert!(is_written_as_promised(text), "{text}");
                let found = site.query(slug, &key, &json!({"filters": {name: text}}).to_string()).json();
                let found = found["data"]["results"].as_array().unwrap();
                assert!(found.len() == usize::try_from(repeats).unwrap(), "{text}");
                assert!(found.iter().all(|row| row[name] == text), "{text}");
            }
            assert_eq!(walked(&site, slug, &key, name), usize::try_from(days * repeats).unwrap());
        }
    }
}

/// Rows of a walk by cursors in the order of a column.
fn walked(site: &Site, slug: &str, key: &str, column: &str) -> usize {
    let (mut rows, mut cursor) = (0, Value::Null);
    loop {
        let body = json!({"sortBy": column, "limit": 7, "columns": [column], "cursor": cursor});
        let page = site.query(slug, key, &body.to_string()).json();
        rows += page["data"]["results"].as_array().unwrap().len();
        cursor = page["data"]["nextCursor"].clone();
        if cursor.is_null() {
            return rows;
        }
    }
}

#[test]
fn samples_at_most_hundred_rows_from_whole_file() {
    let site = site_with_texts();
    let answer = site.get("/api/v1/datasets/cities/sample");
    let json = answer.json();
    let data = &json["data"];
    let ids: Vec<i64> =
        data["results"].as_array().unwrap().iter().map(|row| row["id"].as_i64().unwrap()).collect();
    assert_eq!((ids.len(), ids[0], ids[99]), (100, 1, 248));
    assert!(ids.windows(2).all(|pair| pair[1] - pair[0] == 2 || pair[1] - pair[0] == 3));
    assert_eq!(
        (&data["rowsReturned"], &data["totalRows"], &data["version"]),
        (&100.into(), &250.into(), &"1.1.0".into())
    );
    assert_eq!(data["columns"][0], "id");
    assert_eq!(answer.header("Cache-Control"), Some("public, max-age=300"));
    assert!(answer.header("ETag").is_some());
    assert!(json["meta"].get("credits").is_none());
}

#[test]
fn warns_of_numbers_json_cannot_express() {
    let site = Site::with_cities();
    let json = site.get("/api/v1/datasets/cities/sample").json();
    assert!(json["data"]["results"][1]["height"].is_null());
    assert_eq!(json["meta"]["warnings"].as_array().unwrap().len(), 1);
}

#[test]
fn serves_texts_as_json_or_markdown() {
    let site = site_with_texts();
    let json = site.get("/api/v1/datasets/cities/methodology").json();
    assert_eq!(
        (&json["data"]["markdown"], &json["data"]["version"]),
        (&"# How\n\nBy hand.\n".into(), &"1.1.0".into())
    );
    assert!(json["data"]["updatedAt"].is_string());
    assert!(json["data"].get("entries").is_none());
    let raw = site.send(&Ask::get("/api/v1/datasets/cities/methodology").header("Accept", "text/markdown"));
    assert_eq!(
        (raw.text().as_str(), raw.header("Content-Type")),
        ("# How\n\nBy hand.\n", Some("text/markdown; charset=utf-8"))
    );
    let refused = site.send(&Ask::get("/api/v1/datasets/cities/methodology").header("Accept", "image/png"));
    assert_eq!(refused.refusal().1, "NOT_ACCEPTABLE");
}

#[test]
fn splits_changelog_into_versions() {
    let site = site_with_texts();
    let json = site.get("/api/v1/datasets/cities/changelog").json();
    let entries = json["data"]["entries"].as_array().unwrap();
    assert_eq!(entries.len(), 2);
    assert_eq!((&entries[0]["version"], &entries[0]["date"]), (&"1.1.0".into(), &"2026-02-01".into()));
    assert_eq!(entries[1]["markdown"], "- first");
}

#[test]
fn serves_empty_texts_of_dataset_without_texts() {
    let site = Site::with_cities();
    assert_eq!(site.get("/api/v1/datasets/cities/methodology").json()["data"]["markdown"], "");
    let json = site.get("/api/v1/datasets/cities/changelog").json();
    assert_eq!(json["data"]["entries"], serde_json::json!([]));
}
