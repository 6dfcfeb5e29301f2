//! The statistics of columns.

use mercato_catalog::publish::publish;
use mercato_format::writer::{Column, ColumnValues, write_table};
use mercato_format::{ColumnKind, TimeUnit};
use serde_json::{Value, json};

use crate::harness::{Ask, MANIFEST, Site, city_columns, publish_files, wait_until};

const ROWS: i64 = 250;

fn site() -> Site {
    let site = Site::with_cities();
    site.publish("cities", MANIFEST, "1.1.0", &city_columns(ROWS));
    site
}

fn statistics(site: &Site) -> (Value, String) {
    let answer = site.get("/api/v1/datasets/cities/stats");
    assert_eq!(answer.status, 200, "{}", answer.text());
    (answer.json()["data"].clone(), answer.text())
}

fn column<'a>(data: &'a Value, name: &str) -> &'a Value {
    data["columns"].as_array().unwrap().iter().find(|column| column["name"] == name).unwrap()
}

/// All rows as the API gives them.
fn rows(site: &Site) -> Vec<Value> {
    let key = site.paying_key(100_000);
    let answer = site.query("cities", &key, "{\"limit\":10000}");
    answer.json()["data"]["results"].as_array().unwrap().clone()
}

/// The values of a column that are neither null nor NaN, in order.
fn sorted(rows: &[Value], name: &str) -> Vec<f64> {
    let mut values: Vec<f64> = rows.iter().filter_map(|row| row[name].as_f64()).collect();
    values.sort_by(f64::total_cmp);
    values
}

#[test]
fn computes_statistics_of_rows() {
    let site = site();
    let (data, _) = statistics(&site);
    assert_eq!((&data["version"], &data["rowCount"]), (&json!("1.1.0"), &json!(ROWS)));
    assert_eq!(data["complete"], true);
    let rows = rows(&site);
    assert_eq!(rows.len(), ROWS as usize);
    for name in ["id", "area", "height"] {
        let (found, values) = (column(&data, name), sorted(&rows, name));
        let number = |value: &Value| value.as_f64().unwrap();
        assert_eq!((number(&found["min"]), number(&found["max"])), (values[0], values[values.len() - 1]));
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        assert!((number(&found["mean"]) - mean).abs() < 1e-9 * mean.abs(), "{name}: {found}");
        for (place, percent) in [("p5", 5), ("p25", 25), ("p50", 50), ("p75", 75), ("p95", 95)] {
            let rank = (values.len() * percent).div_ceil(100) - 1;
            assert_eq!(number(&found["quantiles"][place]), values[rank], "{name} {place}");
        }
        let bins = found["histogram"]["bins"].as_array().unwrap();
        assert!(bins.len() <= 20 && found["histogram"]["of"] == "values");
        for (place, bin) in bins.iter().enumerate() {
            let last = place + 1 == bins.len();
            let inside =
                |value: &&f64| **value >= number(&bin["from"]) && (last || **value < number(&bin["to"]));
            assert_eq!(
                values.iter().filter(inside).count() as u64,
                bin["count"].as_u64().unwrap(),
                "{name} {bin}"
            );
        }
    }
}

#[test]
fn ends_histogram_at_largest_value() {
    // 250 days in 20 bins of 13 are 260, so equal steps pass the last day.
    let (data, _) = statistics(&site());
    for name in ["id", "area", "height", "founded", "seen"] {
        let found = column(&data, name);
        let bins = found["histogram"]["bins"].as_array().unwrap();
        assert_eq!((&bins[0]["from"], &bins[bins.len() - 1]["to"]), (&found["min"], &found["max"]), "{name}");
    }
    let name = column(&data, "name");
    let bins = name["histogram"]["bins"].as_array().unwrap();
    assert_eq!(bins[bins.len() - 1]["to"], name["lengths"]["max"]);
}

#[test]
fn counts_nulls_and_nans_apart() {
    let (data, _) = statistics(&site());
    let height = column(&data, "height");
    assert_eq!(
        (&height["count"], &height["nulls"], &height["nans"], &height["infinities"]),
        (&json!(ROWS - 1), &json!(1), &json!(1), &json!(0))
    );
    let founded = column(&data, "founded");
    assert_eq!(
        (&founded["nulls"], &founded["nans"], &founded["distinct"]),
        (&json!(1), &json!(0), &json!(ROWS - 1))
    );
}

#[test]
fn encodes_values_like_rows() {
    let (data, text) = statistics(&site());
    assert!(text.contains(r#""name":"area","type":"number""#) && text.contains(r#""max":901.00"#), "{text}");
    let seen = column(&data, "seen");
    assert_eq!((&seen["type"], &seen["min"]), (&json!("datetime"), &json!("2023-11-14T22:13:20.123Z")));
    assert_eq!(seen["max"], "2023-11-14T22:17:29.123Z");
    assert_eq!(seen["mean"], "2023-11-14T22:15:24.623Z");
    assert_eq!(column(&data, "founded")["quantiles"]["p5"], "1970-01-14");
    let capital = column(&data, "capital");
    assert_eq!(
        (&capital["min"], &capital["max"], &capital["mean"]),
        (&json!(false), &json!(true), &Value::Null)
    );
    assert_eq!(capital["topValues"], json!([{"value": false, "count": ROWS - 1}]));
}

#[test]
fn describes_texts_by_extremes_lengths_and_top_values() {
    let (data, _) = statistics(&site());
    let name = column(&data, "name");
    assert_eq!(
        (&name["min"], &name["max"], &name["distinct"]),
        (&json!("Genova"), &json!("Torino"), &json!(6))
    );
    assert_eq!((&name["lengths"]["min"], &name["lengths"]["max"]), (&json!(4), &json!(7)));
    assert_eq!(name["histogram"]["of"], "lengths");
    assert_eq!((&name["mean"], &name["quantiles"]), (&Value::Null, &Value::Null));
    let top = name["topValues"].as_array().unwrap();
    // 250 rows of six names: the first four occur once more than the others. Equal counts stand by value.
    let found: Vec<_> =
        top.iter().map(|top| (top["value"].as_str().unwrap(), top["count"].as_u64().unwrap())).collect();
    let wanted =
        [("Milano", 42), ("Napoli", 42), ("Roma", 42), ("Torino", 42), ("Genova", 41), ("Palermo", 41)];
    assert_eq!(found, wanted);
}

#[test]
fn shortens_long_texts_and_excludes_infinities() {
    let site = Site::empty(&[]);
    let long = "é".repeat(5_000);
    let columns = [
        Column::new("t", ColumnKind::Text, ColumnValues::Texts(vec![Some(long.clone()), Some(long), None])),
        Column::new(
            "x",
            ColumnKind::Float,
            ColumnValues::Floats(vec![Some(f64::INFINITY), Some(1.5), Some(f64::NAN)]),
        ),
        Column::new(
            "none",
            ColumnKind::Timestamp { unit: TimeUnit::Second },
            ColumnValues::Integers(vec![None; 3]),
        ),
    ];
    publish_files(&site.data(), MANIFEST, "1.0.0", &columns, &[]);
    wait_until("it is served", || site.serves("cities", "1.0.0"));
    let (data, _) = statistics(&site);
    let text = column(&data, "t");
    assert_eq!(text["max"].as_str().unwrap(), format!("{}…", "é".repeat(256)));
    assert_eq!((&text["lengths"]["max"], &text["topValues"][0]["count"]), (&json!(5_000), &json!(2)));
    let x = column(&data, "x");
    assert_eq!((&x["max"], &x["infinities"], &x["nans"]), (&json!(1.5), &json!(1), &json!(1)));
    let none = column(&data, "none");
    assert_eq!((&none["count"], &none["min"], &none["histogram"]), (&json!(0), &Value::Null, &Value::Null));
}

#[test]
fn reports_known_facts_without_statistics() {
    let site = Site::empty(&[]);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("dataset.toml"), MANIFEST).unwrap();
    let version = semver::Version::new(1, 0, 0);
    let write = |path: &std::path::Path| write_table(path, &city_columns(ROWS)).map(drop);
    publish(&site.data(), folder.path(), &version, write).unwrap();
    wait_until("it is served", || site.serves("cities", "1.0.0"));
    let (data, _) = statistics(&site);
    assert_eq!(data["complete"], false);
    let id = column(&data, "id");
    assert_eq!((&id["complete"], &id["min"], &id["max"]), (&json!(false), &json!(1), &json!(ROWS)));
    assert_eq!((&id["distinct"], &id["mean"], &id["topValues"]), (&json!(ROWS), &Value::Null, &Value::Null));
    let name = column(&data, "name");
    assert_eq!(
        (&name["min"], &name["max"], &name["lengths"]),
        (&json!("Genova"), &json!("Torino"), &Value::Null)
    );
    assert_eq!(column(&data, "height")["max"], 249.5);
}

#[test]
fn rejects_parameters_and_answers_head() {
    let site = Site::with_cities();
    let refused = site.get("/api/v1/datasets/cities/stats?columns=id");
    assert_eq!(refused.status, 400);
    let (get, head) = (
        site.get("/api/v1/datasets/cities/stats"),
        site.send(&Ask::new("HEAD", "/api/v1/datasets/cities/stats")),
    );
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert_eq!(head.header("ETag"), get.header("ETag"));
    assert_eq!(site.get("/api/v1/datasets/nothing/stats").status, 404);
}
