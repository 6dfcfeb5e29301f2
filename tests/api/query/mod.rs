//! Pages of rows over HTTP.

mod counts;
mod facets;
mod faults;
mod formats;
mod groups;
mod idempotency;
mod money;
mod stream;
pub mod work;

use serde_json::{Value, json};

use crate::harness::{Ask, MANIFEST, Site, city_columns};

fn ids(json: &Value) -> Vec<i64> {
    json["data"]["results"].as_array().unwrap().iter().map(|row| row["id"].as_i64().unwrap()).collect()
}

#[test]
fn returns_page_fields_of_contract() {
    let site = Site::with_cities();
    let answer = site.query("cities", &site.paying_key(100), r#"{"limit": 2}"#);
    assert_eq!(answer.status, 200);
    let json = answer.json();
    let data = &json["data"];
    let mut names: Vec<_> = data.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, ["nextCursor", "paginationMode", "results", "rowsReturned", "totalRows"]);
    assert_eq!(
        (&data["rowsReturned"], &data["paginationMode"], &data["totalRows"]),
        (&2.into(), &"offset".into(), &6.into())
    );
    assert!(data["nextCursor"].is_string());
    assert_eq!(answer.header("X-Dataset-Version"), Some("1.0.0"));
    assert_eq!(json["meta"]["credits"], json!({"charged": 2, "remaining": 98}));
    assert_eq!(
        (answer.header("X-Credits-Charged"), answer.header("X-Credits-Remaining")),
        (Some("2"), Some("98"))
    );
}

#[test]
fn encodes_every_type_exactly() {
    let site = Site::with_cities();
    let text = site.query("cities", &site.paying_key(100), r#"{"limit": 1}"#).text();
    let row = r#"{"id":1,"name":"Roma","area":901.00,"height":0.5,"capital":true,"founded":"1970-01-01","seen":"2023-11-14T22:13:20.123Z"}"#;
    assert!(text.contains(row), "{text}");
}

#[test]
fn walks_over_every_row_once_by_cursor() {
    let site = Site::with_cities();
    site.publish("cities", MANIFEST, "1.1.0", &city_columns(25));
    let key = site.paying_key(1000);
    for (sort, direction) in [
        (None, "asc"),
        (None, "desc"),
        (Some("name"), "asc"),
        (Some("height"), "desc"),
        (Some("founded"), "asc"),
    ] {
        let mut body = json!({"limit": 4, "sortDirection": direction});
        if let Some(sort) = sort {
            body["sortBy"] = sort.into();
        }
        let mut seen = Vec::new();
        loop {
            let json = site.query("cities", &key, &body.to_string()).json();
            assert_eq!(json["success"], true, "{json}");
            assert_eq!(
                json["data"]["paginationMode"],
                if body.get("cursor").is_some() { "cursor" } else { "offset" }
            );
            seen.extend(ids(&json));
            match &json["data"]["nextCursor"] {
                Value::Null => break,
                cursor => body["cursor"] = cursor.clone(),
            }
            assert!(seen.len() <= 25);
        }
        if sort.is_none() && direction == "desc" {
            assert_eq!(seen[0], 25);
        }
        seen.sort_unstable();
        assert_eq!(seen, (1..=25).collect::<Vec<i64>>(), "{sort:?} {direction}");
    }
}

#[test]
fn omits_next_cursor_after_last_row() {
    let site = Site::with_cities();
    let key = site.paying_key(100);
    assert!(site.query("cities", &key, r#"{"limit": 6}"#).json()["data"]["nextCursor"].is_null());
    assert!(site.query("cities", &key, r#"{"limit": 5}"#).json()["data"]["nextCursor"].is_string());
}

#[test]
fn prefers_cursor_over_offset() {
    let site = Site::with_cities();
    let key = site.paying_key(100);
    let json = site.query("cities", &key, r#"{"limit": 2, "offset": 1}"#).json();
    assert_eq!(ids(&json), [2, 3]);
    let body = format!(r#"{{"limit": 2, "offset": 5, "cursor": {}}}"#, json["data"]["nextCursor"]);
    let next = site.query("cities", &key, &body).json();
    assert_eq!((ids(&next), &next["data"]["paginationMode"]), (vec![4, 5], &"cursor".into()));
}

#[test]
fn applies_filters_columns_and_order() {
    let site = Site::with_cities();
    let key = site.paying_key(100);
    let body = r#"{"filters": {"id_min": 2, "name": {"startsWith": "M"}}, "columns": ["name", "id"]}"#;
    let answer = site.query("cities", &key, body);
    assert!(answer.text().contains(r#""results":[{"name":"Milano","id":2}]"#), "{}", answer.text());
    let json = site.query("cities", &key, r#"{"sortBy": "area", "columns": ["id"], "limit": 2}"#).json();
    assert_eq!(ids(&json), [6, 5]);
}

#[test]
fn answers_get_like_post() {
    let site = Site::with_cities();
    let key = site.paying_key(100);
    let target = "/api/v1/datasets/cities/query?filters=%7B%22id_min%22%3A3%7D&columns=id,name&limit=2&sortBy=id&sortDirection=desc";
    let get = site.send(&Ask::get(target).header("X-Api-Key", &key)).json();
    let body =
        r#"{"filters":{"id_min":3},"columns":["id","name"],"limit":2,"sortBy":"id","sortDirection":"desc"}"#;
    let post = site.query("cities", &key, body).json();
    assert_eq!(get["data"], post["data"]);
    assert_eq!(ids(&get), [6, 5]);
}

#[test]
fn charges_nothing_for_head() {
    let site = Site::with_cities();
    let key = site.paying_key(100);
    let answer =
        site.send(&Ask::new("HEAD", "/api/v1/datasets/cities/query?limit=3").header("X-Api-Key", &key));
    assert_eq!((answer.status, answer.header("X-Credits-Charged"), answer.body.len()), (200, Some("0"), 0));
    assert_eq!(answer.header("X-Credits-Remaining"), Some("100"));
}

#[test]
fn estimates_without_charging() {
    let site = Site::with_cities();
    let key = site.paying_key(4);
    let target = "/api/v1/datasets/cities/query/estimate";
    let estimate =
        |body: &str| site.send(&Ask::post(target, body).header("X-Api-Key", &key)).json()["data"].clone();
    assert_eq!(
        estimate(r#"{"filters": {"id_max": 3}}"#),
        json!({"rows": 3, "creditsRequired": 3, "creditsAvailable": 4, "affordable": true})
    );
    assert_eq!(
        estimate("{}"),
        json!({"rows": 6, "creditsRequired": 6, "creditsAvailable": 4, "affordable": false})
    );
}

/// JSON Schema calls `1.0` an integer.
#[test]
fn takes_whole_numbers_in_every_form() {
    let site = Site::with_cities();
    let key = site.paying_key(100);
    for body in [
        r#"{"limit": 2.0, "offset": 1}"#,
        r#"{"limit": 20e-1, "offset": 1.0}"#,
        r#"{"limit": 0.2e1, "offset": 1e0}"#,
        r#"{"limit": 2, "offset": 0.0, "filters": {"id": {"in": [2.0, 3e0]}}}"#,
    ] {
        assert_eq!(ids(&site.query("cities", &key, body).json()), [2, 3], "{body}");
    }
    let got = site.send(&Ask::get("/api/v1/datasets/cities/query?limit=2.0").header("X-Api-Key", &key));
    assert_eq!(got.json()["data"]["rowsReturned"], 2);
    for body in [r#"{"limit": 1.5}"#, r#"{"limit": 1e-1}"#, r#"{"limit": 1e9}"#, r#"{"limit": "2.0"}"#] {
        assert_eq!(site.query("cities", &key, body).refusal().0, 400, "{body}");
    }
}
