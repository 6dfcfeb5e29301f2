//! Older versions that the header lists: pages, streams, downloads, schema, sample, statistics, and what is refused.

use serde_json::{Value, json};

use crate::harness::{Answer, Ask, MANIFEST, Site, city_columns, publish_files, wait_until};

/// Version 1.0.0 has six rows, version 1.1.0 has 25.
fn site() -> Site {
    let site = Site::with_cities();
    let changelog = [("changelog.md", "## [1.1.0]\n- more\n## [0.9.0]\n- first\n")];
    publish_files(&site.data(), MANIFEST, "1.1.0", &city_columns(25), &changelog);
    wait_until("the publication is served", || site.serves("cities", "1.1.0"));
    site
}

fn path(rest: &str) -> String {
    format!("/api/v1/datasets/cities/{rest}")
}

fn with_key(site: &Site, key: &str, target: &str) -> Answer {
    site.send(&Ask::get(&path(target)).header("X-Api-Key", key))
}

fn first_fault(answer: &Answer) -> Value {
    let details = &answer.json()["error"]["details"];
    json!([answer.status, details["reason"], details["pointer"], details["allowed"]])
}

#[test]
fn reads_listed_version_by_name_and_current_by_default() {
    let site = site();
    let key = site.paying_key(100_000);
    let listed = site.get("/api/v1/datasets/cities").json();
    let versions: Vec<&str> = listed["data"]["versions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| line["version"].as_str().unwrap())
        .collect();
    assert_eq!(versions, ["1.1.0", "1.0.0"]);
    for (version, rows) in [(Some("1.0.0"), 6), (Some("1.1.0"), 25), (None, 25)] {
        let mut body = json!({"limit": 1});
        let (mut first, mut next) = (String::new(), String::new());
        if let Some(version) = version {
            body["version"] = version.into();
            (first, next) = (format!("?version={version}"), format!("&version={version}"));
        }
        let name = version.unwrap_or("1.1.0");
        for answer in [
            site.query("cities", &key, &body.to_string()),
            with_key(&site, &key, &format!("query?limit=1{next}")),
        ] {
            assert_eq!((answer.status, &answer.json()["data"]["totalRows"]), (200, &json!(rows)), "{name}");
            assert_eq!(answer.header("X-Dataset-Version"), Some(name));
        }
        body["limit"] = 100.into();
        let ask = |end: &str| Ask::post(&path(end), &body.to_string()).header("X-Api-Key", &key);
        let estimate = site.send(&ask("query/estimate")).json();
        assert_eq!(estimate["data"]["rows"], json!(rows));
        let stream = site.send(&ask("query/stream").header("Accept", "application/x-ndjson"));
        assert_eq!(stream.text().lines().count(), rows);
        assert_eq!(stream.header("X-Dataset-Version"), Some(name));
        let sample = site.get(&path(&format!("sample{first}"))).json();
        assert_eq!((&sample["data"]["totalRows"], &sample["data"]["version"]), (&json!(rows), &json!(name)));
        let schema = site.get(&path(&format!("schema{first}"))).json();
        assert_eq!(schema["data"]["version"], name);
        let stats = site.get(&path(&format!("stats{first}"))).json();
        assert_eq!((&stats["data"]["rowCount"], &stats["data"]["version"]), (&json!(rows), &json!(name)));
        let croissant = site.get(&path(&format!("croissant{first}"))).json();
        assert_eq!(croissant["version"], name);
        let link = croissant["distribution"][0]["contentUrl"].as_str().unwrap();
        assert_eq!(link.ends_with("&version=1.0.0"), name == "1.0.0", "{link}");
    }
}

#[test]
fn downloads_older_version_with_its_name_tag_and_price() {
    let site = site();
    let key = site.paying_key(100);
    let current = with_key(&site, &key, "download?format=csv");
    let older = with_key(&site, &key, "download?format=csv&version=1.0.0");
    assert_eq!((current.text().lines().count(), older.text().lines().count()), (26, 7));
    assert_eq!(
        (current.header("X-Credits-Charged"), older.header("X-Credits-Charged")),
        (Some("25"), Some("6"))
    );
    assert_eq!(older.header("Content-Disposition"), Some("attachment; filename=\"cities-1.0.0.csv\""));
    assert_eq!(older.header("X-Dataset-Version"), Some("1.0.0"));
    assert_ne!(older.header("ETag"), current.header("ETag"));
    let tag = older.header("ETag").unwrap();
    let held = site.send(
        &Ask::get(&path("download?format=csv&version=1.0.0"))
            .header("X-Api-Key", &key)
            .header("If-None-Match", tag),
    );
    assert_eq!(held.status, 304);
    let held = site
        .send(&Ask::get(&path("download?format=csv")).header("X-Api-Key", &key).header("If-None-Match", tag));
    assert_eq!(
        (held.status, held.header("X-Credits-Charged")),
        (200, Some("25")),
        "the tag is of another version"
    );
}

/// A payment for one version does not cover another.
#[test]
fn charges_parts_per_version() {
    let site = site();
    let key = site.paying_key(1_000);
    let part = |version: &str| {
        let target = path(&format!("download?format=csv&version={version}"));
        let answer = site.send(&Ask::get(&target).header("X-Api-Key", &key).header("Range", "bytes=3-9"));
        assert_eq!(answer.status, 206);
        answer.header("X-Credits-Charged").unwrap().to_owned()
    };
    assert_eq!(part("1.0.0"), "6");
    assert_eq!(part("1.0.0"), "0");
    assert_eq!(part("1.1.0"), "25");
    assert_eq!(part("1.0.0"), "0");
}

#[test]
fn rejects_unreadable_version_and_lists_readable_ones() {
    let site = site();
    let key = site.paying_key(1_000);
    let allowed = json!(["1.1.0", "1.0.0"]);
    for (version, reason) in
        [("0.9.0", "VERSION_GONE"), ("3.0.0", "VERSION_UNKNOWN"), ("latest", "VERSION_UNKNOWN")]
    {
        let body = json!({"version": version}).to_string();
        for end in ["query", "query/estimate", "query/stream"] {
            let answer = site.send(&Ask::post(&path(end), &body).header("X-Api-Key", &key));
            assert_eq!(first_fault(&answer), json!([400, reason, "/version", allowed]), "{end}");
        }
        for end in ["query", "download", "schema", "sample", "stats", "croissant"] {
            let answer = with_key(&site, &key, &format!("{end}?version={version}"));
            assert_eq!(first_fault(&answer), json!([400, reason, "version", allowed]), "{end}");
        }
    }
    let body = json!({"version": "3.0.0", "limit": 0, "sortBy": "nmae"}).to_string();
    let faults = site.query("cities", &key, &body).json()["error"]["details"]["errors"].clone();
    let mut pointers: Vec<&str> =
        faults.as_array().unwrap().iter().map(|fault| fault["pointer"].as_str().unwrap()).collect();
    pointers.sort_unstable();
    assert_eq!(pointers, ["/limit", "/sortBy", "/version"]);
    let answer = site.query("cities", &key, r#"{"version": 1}"#);
    assert_eq!(first_fault(&answer)[1], "WRONG_TYPE");
    let answer = with_key(&site, &key, "download?version=1.0.0&version=1.1.0");
    assert_eq!(first_fault(&answer)[1], "DUPLICATE_PARAMETER");
    assert_eq!(site.running().app().ledger.accounts()[0].credits(), 1_000, "refusals are free");
}

#[test]
fn binds_cursor_to_its_version() {
    let site = site();
    let key = site.paying_key(1_000);
    let first = site.query("cities", &key, r#"{"version": "1.0.0", "limit": 4}"#).json();
    let cursor = first["data"]["nextCursor"].as_str().unwrap();
    for version in [json!("1.0.0"), Value::Null] {
        let body = json!({"cursor": cursor, "version": version}).to_string();
        let answer = site.query("cities", &key, &body);
        assert_eq!(answer.json()["data"]["rowsReturned"], 2, "{body}");
        assert_eq!(answer.header("X-Dataset-Version"), Some("1.0.0"));
    }
    let body = json!({"cursor": cursor, "version": "1.1.0"}).to_string();
    let answer = site.query("cities", &key, &body);
    assert_eq!(first_fault(&answer), json!([400, "CURSOR_QUERY_MISMATCH", "/cursor", null]));
}
