//! A view by form: its row count, its price, and the commands that query it.

mod choosing;
mod faults;
mod paid_views;
mod run;

use mercato_format::ColumnKind;
use mercato_format::writer::{Column, ColumnValues};
use serde_json::{Value, json};

use crate::harness::{Ask, MANIFEST, Site, city_columns};
use crate::site::{Document, UNLIMITED, open};

const ROWS: i64 = 250;

fn site() -> Site {
    let site = Site::empty(&UNLIMITED);
    site.publish("cities", MANIFEST, "1.0.0", &city_columns(ROWS));
    site
}

fn view(site: &Site, query: &str) -> Document {
    open(site, &format!("/datasets/cities/explore?{query}"))
}

fn condition(column: &str, test: &str, value: &str) -> String {
    format!("filter={column}&test={test}&value={value}")
}

/// The number of rows that the page says.
fn rows_said(page: &Document) -> u64 {
    let said = page.one("p.view-rows strong").line();
    said.trim_start_matches("This view has ").split(' ').next().unwrap().replace(',', "").parse().unwrap()
}

fn snippet(page: &Document, id: &str) -> String {
    page.one(&format!("#{id}-text")).text.clone()
}

/// The JSON in single quotes behind `-d`, as a shell reads it.
fn body_of_curl(command: &str) -> String {
    let (_, rest) = command.split_once("-d '").unwrap();
    let end = rest.replace("'\\''", "\u{1}\u{1}\u{1}\u{1}").find('\'').unwrap();
    rest[..end].replace("'\\''", "'")
}

/// The object literal behind a word, up to the line that closes it.
fn literal(program: &str, begin: &str) -> String {
    let (_, rest) = program.split_once(begin).unwrap();
    let (inside, _) = rest.split_once("\n}").unwrap();
    format!("{inside}\n}}")
}

/// Python's words as JSON has them; none of the texts in these tests holds one.
fn json_of_python(literal: &str) -> Value {
    let text = literal.replace(": True", ": true").replace(": False", ": false");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn counts_rows_like_query() {
    let site = site();
    let key = site.paying_key(1_000_000);
    for query in [
        String::new(),
        condition("id", "gte", "100"),
        condition("id", "lt", "100") + "&" + &condition("id", "gte", "50"),
        condition("name", "eq", "Roma"),
        condition("name", "contains", "o") + "&" + &condition("area", "lte", "900.5"),
        condition("name", "ne", "Roma") + "&sort=area&direction=desc",
        condition("name", "startsWith", "Mil"),
        condition("name", "endsWith", "oma"),
        condition("capital", "true", ""),
        condition("capital", "false", "") + "&columns=1-3",
        condition("height", "null", ""),
        condition("height", "notNull", "") + "&" + &condition("height", "gt", "10.5"),
        condition("founded", "gte", "1970-02-01"),
        condition("seen", "lt", "2023-11-14T22:14:00Z") + "&sort=name",
        condition("id", "eq", "9999"),
    ] {
        let page = view(&site, &query);
        let body = body_of_curl(&snippet(&page, "curl"));
        let mut exact: Value = serde_json::from_str(&body).unwrap();
        exact["count"] = json!("exact");
        let answer = site.query("cities", &key, &exact.to_string());
        assert_eq!(answer.status, 200, "{query}: {}", answer.text());
        let data = answer.json()["data"].clone();
        assert_eq!(rows_said(&page), data["totalRows"].as_u64().unwrap(), "{query}");
        assert_eq!(data["results"].as_array().unwrap().len() as u64, rows_said(&page), "{query}");
        let mut estimate: Value = serde_json::from_str(&body).unwrap();
        estimate["limit"] = json!(10_000);
        let ask = Ask::post("/api/v1/datasets/cities/query/estimate", &estimate.to_string());
        let estimated = site.send(&ask.header("X-Api-Key", &key));
        assert_eq!(estimated.json()["data"]["creditsRequired"].as_u64(), Some(rows_said(&page)), "{query}");
    }
}

#[test]
fn puts_same_query_into_every_command() {
    let site = site();
    let key = site.paying_key(1_000_000);
    let query = condition("name", "contains", "o%27%22%24")
        + "&"
        + &condition("capital", "false", "")
        + "&"
        + &condition("area", "gte", "90000.50")
        + "&sort=area&direction=desc&columns=1-2";
    let page = view(&site, &query);
    let body: Value = serde_json::from_str(&body_of_curl(&snippet(&page, "curl"))).unwrap();
    assert_eq!(
        body,
        json!({"filters": {"name": {"contains": "o'\"$"}, "capital": false, "area": {"gte": 90000.50}},
            "columns": ["id", "name"], "sortBy": "area", "sortDirection": "desc", "limit": 1})
    );
    for id in ["pandas", "polars"] {
        assert_eq!(json_of_python(&literal(&snippet(&page, id), "query = ")), body, "{id}");
    }
    let command = snippet(&page, "csv");
    let streamed: Value = serde_json::from_str(&body_of_curl(&command)).unwrap();
    assert_eq!(streamed, body);
    assert!(command.contains("'http://mercato.test/api/v1/datasets/cities/query/stream'"), "{command}");
    let ask = Ask::post("/api/v1/datasets/cities/query/stream", &streamed.to_string());
    let answer = site.send(&ask.header("X-Api-Key", &key).header("Accept", "text/csv"));
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(answer.header("Content-Type").unwrap().starts_with("text/csv"));
    assert!(snippet(&page, "r").contains("{\"contains\": \"o\\'\\\\\"$\"}"), "{}", snippet(&page, "r"));
    for (id, arguments) in [
        ("python", "columns=[\"id\", \"name\"],\n    sort_by=\"area\",\n    descending=True,\n    limit=1,"),
        ("typescript", "columns: [\"id\", \"name\"],\n  sortBy: \"area\",\n  descending: true,\n  limit: 1,"),
    ] {
        assert!(snippet(&page, id).contains(arguments), "{}", snippet(&page, id));
    }
    for tab in page.select("fieldset.tabset code") {
        assert!(tab.text.starts_with("export MERCATO_KEY="), "{}", tab.text);
    }
    assert_eq!(page.select("fieldset.tabset input[type=radio]").len(), 7);
}

#[test]
fn offers_working_first_commands() {
    let site = site();
    let key = site.paying_key(1_000_000);
    let page = open(&site, "/datasets/cities/use");
    let first = body_of_curl(&snippet(&page, "curl"));
    let answer = site.query("cities", &key, &first);
    assert_eq!((answer.status, &answer.json()["data"]["rowsReturned"]), (200, &json!(100)));
    let python = json_of_python(&literal(&snippet(&page, "python"), "query = "));
    let typescript: Value =
        serde_json::from_str(&literal(&snippet(&page, "typescript"), "const query = ")).unwrap();
    assert_eq!(python, typescript);
    let answer = site.query("cities", &key, &python.to_string());
    assert_eq!(answer.json()["data"]["rowsReturned"], ROWS);
    let command = snippet(&page, "download");
    let url = command.split('\'').nth(1).unwrap().strip_prefix("http://mercato.test").unwrap().to_owned();
    assert_eq!(site.send(&Ask::get(&url).header("X-Api-Key", &key)).status, 200, "{url}");
    assert!(snippet(&page, "duckdb").contains(&format!("read_csv('http://mercato.test{url}')")));
    let outside = Site::empty(&["--public-url", "https://data.example.org/m"]);
    outside.publish("cities", MANIFEST, "1.0.0", &city_columns(3));
    let page = open(&outside, "/datasets/cities/use");
    assert!(snippet(&page, "curl").contains("'https://data.example.org/m/api/v1/datasets/cities/query'"));
}

#[test]
fn refers_costly_view_to_estimate_with_key() {
    const TEXTS: usize = 1_000_001;
    let site = Site::empty(&UNLIMITED);
    let names = (0..TEXTS).map(|row| Some(format!("name {row}"))).collect();
    let columns = [Column::new("name", ColumnKind::Text, ColumnValues::Texts(names))];
    site.publish("many", &crate::site::manifest("many", "Many", ""), "1.0.0", &columns);
    let begins = open(&site, "/datasets/many/explore?filter=name&test=eq&value=name%205");
    assert_eq!(rows_said(&begins), 1, "an index knows it");
    let page = open(&site, "/datasets/many/explore?filter=name&test=contains&value=99999");
    assert!(page.one("p.view-rows").line().starts_with("Counting this view takes too long"));
    let body = body_of_curl(&snippet(&page, "estimate"));
    let ask = Ask::post("/api/v1/datasets/many/query/estimate", &body);
    let estimated = site.send(&ask.header("X-Api-Key", &site.paying_key(100)));
    assert_eq!(estimated.json()["data"]["rows"], 19, "{body}: {}", estimated.text());
}
