//! Answers that cost nothing, and that they tell no cell.

use serde_json::json;

use crate::harness::{Answer, Ask, MANIFEST, Site, city_columns};

const QUERY: &str = "/api/v1/datasets/cities/query";
const TYPES: [&str; 3] = ["application/json", "text/csv", "application/x-ndjson"];

fn credits(site: &Site) -> u64 {
    site.running().app().ledger.accounts()[0].credits()
}

/// Headers that depend on the moment and on nothing else are left out.
fn lasting_headers(answer: &Answer) -> Vec<(String, String)> {
    let passing = ["date", "x-request-id"];
    let is_lasting = |name: &str| !passing.contains(&name.to_ascii_lowercase().as_str());
    answer.headers.iter().filter(|(name, _)| is_lasting(name)).cloned().collect()
}

#[test]
fn reveals_no_cell_count_or_length_in_head_of_query() {
    let site = Site::with_cities();
    let key = site.paying_key(100);
    let head = |accept: &str, parameters: &str| {
        let ask = Ask::new("HEAD", &format!("{QUERY}?{parameters}"));
        site.send(&ask.header("X-Api-Key", &key).header("Accept", accept))
    };
    for accept in TYPES {
        let many = head(accept, "limit=2&sortBy=name");
        assert_eq!((many.status, many.body.len()), (200, 0), "{accept}");
        assert!(many.header("Content-Type").unwrap().starts_with(accept), "{accept}");
        for name in ["X-Next-Cursor", "X-Rows-Returned", "X-Total-Rows", "Content-Length", "ETag"] {
            assert_eq!(many.header(name), None, "{accept}: {name}");
        }
        assert_eq!(many.header("X-Dataset-Version"), Some("1.0.0"));
        let none = head(accept, "limit=2&sortBy=name&filters=%7B%22id%22%3A99%7D");
        assert_eq!(lasting_headers(&many), lasting_headers(&none), "{accept}");
        assert_eq!(
            (many.header("X-Credits-Charged"), many.header("X-Credits-Remaining")),
            (Some("0"), Some("100"))
        );
    }
    assert_eq!(credits(&site), 100);
}

#[test]
fn searches_no_rows_for_head_of_query() {
    let site = Site::with_cities();
    let key = site.paying_key(100);
    // An offset into filtered rows needs all of them.
    let target = format!("{QUERY}?offset=1&filters=%7B%22id_min%22%3A2%2C%22area_min%22%3A1%7D");
    let ask = |method: &str| site.send(&Ask::new(method, &target).header("X-Api-Key", &key)).status;
    assert_eq!(ask("HEAD"), 200);
    site.wait_for_metrics(&["mercato_selection_misses_total 0"]);
    assert_eq!(ask("GET"), 200);
    site.wait_for_metrics(&["mercato_selection_misses_total 1"]);
}

#[test]
fn refuses_head_of_query_like_query() {
    let site = Site::with_cities();
    let (rich, poor) = (site.paying_key(100), site.paying_key(1));
    assert_eq!(site.query("cities", &poor, r#"{"limit": 1}"#).status, 200);
    let head = |key: &str, parameters: &str, accept: &str| {
        let ask = Ask::new("HEAD", &format!("{QUERY}?{parameters}")).header("X-Api-Key", key);
        site.send(&ask.header("Accept", accept)).status
    };
    assert_eq!(head(&rich, "limit=0", "*/*"), 400);
    assert_eq!(head(&rich, "sortBy=nmae", "*/*"), 400);
    assert_eq!(head(&rich, "limit=1", "image/png"), 406);
    assert_eq!(head(&poor, "limit=1", "*/*"), 402);
    assert_eq!(head("mk_wrong", "limit=1", "*/*"), 401);
}

#[test]
fn replays_version_that_was_paid() {
    let site = Site::with_cities();
    let key = site.paying_key(100);
    let ask = |body: &str| {
        let ask = Ask::post(QUERY, body).header("X-Api-Key", &key).header("Idempotency-Key", "order-1");
        site.send(&ask)
    };
    let body = r#"{"filters": {"id_min": 6}}"#;
    let first = ask(body);
    assert_eq!((first.header("X-Credits-Charged"), credits(&site)), (Some("1"), 99));
    site.publish("cities", MANIFEST, "1.1.0", &city_columns(60));
    let again = ask(body);
    assert_eq!(again.header("Idempotent-Replayed"), Some("true"));
    assert_eq!(again.header("X-Dataset-Version"), Some("1.0.0"));
    assert_eq!((&again.json()["data"], credits(&site)), (&first.json()["data"], 99));
    assert_eq!(ask(r#"{"filters": {"id_min": 5}}"#).refusal().2, "IDEMPOTENCY_KEY_REUSED");
    let unkeyed = site.query("cities", &key, body);
    assert_eq!(unkeyed.header("X-Dataset-Version"), Some("1.1.0"));
}

#[test]
fn returns_only_counts_in_estimate() {
    let site = Site::with_cities();
    let key = site.paying_key(100);
    let answer = site
        .send(&Ask::post(&format!("{QUERY}/estimate"), r#"{"sortBy": "name"}"#).header("X-Api-Key", &key));
    let mut names: Vec<String> = answer.json()["data"].as_object().unwrap().keys().cloned().collect();
    names.sort();
    assert_eq!(names, ["affordable", "creditsAvailable", "creditsRequired", "rows"]);
    assert_eq!(answer.json()["meta"]["credits"], json!({"charged": 0, "remaining": 100}));
    for name in ["X-Next-Cursor", "X-Rows-Returned", "X-Total-Rows"] {
        assert_eq!(answer.header(name), None);
    }
}

/// No refusal repeats what stands in the rows that it would have been about.
#[test]
fn repeats_no_cell_in_refusals() {
    let site = Site::with_cities();
    let key = site.paying_key(3);
    let post = |path: &str, body: &str| Ask::post(&format!("/api/v1/datasets/cities{path}"), body);
    let cursor = {
        let page = site.query("cities", &key, r#"{"limit": 1, "sortBy": "name"}"#);
        page.json()["data"]["nextCursor"].as_str().unwrap().to_owned()
    };
    let of_another_order = format!(r#"{{"sortBy": "id", "cursor": "{cursor}"}}"#);
    let bare = |text: &str| {
        use base64::Engine;
        let cursor = base64::engine::general_purpose::STANDARD.encode(text);
        format!(r#"{{"sortBy": "name", "cursor": "{cursor}"}}"#)
    };
    let asks = [
        (402, post("/query", "{}")),
        (402, post("/query/stream", "{}")),
        (402, Ask::get("/api/v1/datasets/cities/download")),
        (416, Ask::get("/api/v1/datasets/cities/download").header("Range", "bytes=9999-")),
        (400, post("/query", r#"{"filters": {"name": 5}, "sortBy": "nam"}"#)),
        (400, post("/query", &of_another_order)),
        (400, post("/query", &bare(r#"{"lastSortValue": 5, "lastId": 2}"#))),
        (400, post("/query", &bare(r#"{"lastSortValue": "x", "lastId": 99}"#))),
    ];
    for (status, ask) in asks {
        let answer = site.send(&ask.clone().header("X-Api-Key", &key));
        assert_eq!(answer.status, status, "{ask:?}: {}", answer.text());
        let told = format!("{:?} {}", lasting_headers(&answer), answer.text());
        for cell in ["Roma", "Milano", "Napoli", "Torino", "Palermo", "Genova", "901.00", "X-Next-Cursor\""] {
            assert!(!told.contains(cell), "{ask:?} tells {cell}: {told}");
        }
    }
    assert_eq!(credits(&site), 2);
}
