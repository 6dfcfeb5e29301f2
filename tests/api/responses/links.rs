//! Links in answers with and without a public address, and the answer of `/` to clients of the API.

use serde_json::{Value, json};

use crate::harness::{Answer, Ask, MANIFEST, Site, city_columns, publish_files, wait_until};

const BASE: &str = "https://data.example.org/market";

/// Two datasets, one with texts that name no path, behind a public address with a path.
fn site_behind_a_path() -> Site {
    let site = Site::empty(&["--requests-per-minute", "0", "--requests-per-day", "0", "--public-url", BASE]);
    let texts = [("methodology.md", "# How\n"), ("changelog.md", "## [1.0.0] - 2026-01-01\n- first\n")];
    let related = MANIFEST.replace("[title]", "related = [\"towns\"]\n[title]");
    publish_files(&site.data(), &related, "1.0.0", &city_columns(6), &texts);
    site.publish("towns", &MANIFEST.replace("\"cities\"", "\"towns\""), "1.0.0", &city_columns(3));
    wait_until("both are served", || site.get("/api/v1/datasets").json()["data"]["total"] == 2);
    wait_until("both are found", || {
        site.get("/api/v1/datasets/search?q=cities").json()["data"]["total"] == 2
    });
    site
}

/// The addresses of this server that an answer names, in its headers and its body; all begin with the public address. Pages
/// for people have links to themselves, which begin with its path.
#[track_caller]
fn addresses_in(target: &str, answer: &Answer) -> Vec<String> {
    let mut text: String = answer.headers.iter().map(|(_, value)| format!("{value}\n")).collect();
    text.push_str(&answer.text());
    let mut found = Vec::new();
    for path in ["/api/v1", "/docs", "/sitemap.xml", "/robots.txt"] {
        for (at, _) in text.match_indices(path) {
            let before = &text[..at];
            let is_rule = target == "/robots.txt" && before.ends_with(": /market");
            let is_link = answer.header("Content-Type") == Some("text/html; charset=utf-8")
                && (before.ends_with("=\"/market") || before.ends_with("url=/market"));
            let has_base = before.ends_with(BASE) || is_link;
            assert!(is_rule || has_base, "{target}: {}", &text[at.saturating_sub(60)..at + 10]);
            let end =
                text[at..].find(|mark: char| " \"<>,;\n…".contains(mark)).map_or(text.len(), |end| at + end);
            if !is_rule && !is_link {
                found.push(text[at..end].to_owned());
            }
        }
    }
    found
}

#[test]
fn prefixes_every_public_address_with_base_path() {
    let site = site_behind_a_path();
    let of_cities =
        ["", "/schema", "/sample", "/stats", "/methodology", "/changelog", "/related", "/croissant"]
            .map(|part| format!("/api/v1/datasets/cities{part}"));
    let others = [
        "/api/v1/datasets?limit=1&offset=1&tag=geo",
        "/api/v1/datasets?q=x",
        "/api/v1/datasets/search?q=cities",
        "/api/v1/datasets/relations/graph",
        "/api/v1/tags?limit=1",
        "/sitemap.xml",
        "/sitemap.xml?part=7",
        "/robots.txt",
        "/docs/nothing",
        "/nowhere",
        "/",
        "/api/v1/datasets/citis",
        "/api/v1/datasets/Cities",
        "/api/v1/datasets/cities/query",
        "/readyz",
    ];
    let mut found = Vec::new();
    for target in of_cities.iter().map(String::as_str).chain(others) {
        for accept in ["*/*", "text/html", "text/markdown", "text/csv"] {
            let answer = site.send(&Ask::get(target).header("Accept", accept));
            assert!(!answer.text().contains("mercato.test"), "{target}");
            found.extend(addresses_in(target, &answer));
        }
    }
    found.sort_unstable();
    found.dedup();
    assert!(found.len() >= 20, "{found:?}");
    for path in found.iter().filter(|path| !path.contains("q=")) {
        let status = site.get(path).status;
        // Streams are posted to; queries and downloads want a key.
        let expected = if path.ends_with("/stream") { 405 } else { status };
        assert!(status == expected && [200, 401, 405].contains(&status), "{path}: {status}");
    }
    let document = site.get("/api/v1/openapi.json").json();
    assert_eq!(document["servers"], json!([{ "url": BASE }]));
}

#[test]
fn names_working_addresses_of_dataset() {
    let site = Site::with_cities();
    let key = site.paying_key(100);
    let data = site.get("/api/v1/datasets/cities").json()["data"].clone();
    let address = |field: &str| data[field].as_str().unwrap_or_else(|| panic!("{field}: {data}")).to_owned();
    for (field, part) in [("statsUrl", "stats"), ("relatedUrl", "related"), ("croissantUrl", "croissant")] {
        assert_eq!(address(field), format!("/api/v1/datasets/cities/{part}"));
        assert_eq!(site.get(&address(field)).status, 200, "{field}");
    }
    for (field, ask) in [
        ("queryUrl", Ask::post(&address("queryUrl"), r#"{"limit": 1}"#)),
        ("streamUrl", Ask::post(&address("streamUrl"), r#"{"limit": 1}"#)),
        ("downloadUrl", Ask::get(&address("downloadUrl"))),
    ] {
        assert_eq!(site.send(&ask.header("X-Api-Key", &key)).status, 200, "{field}");
    }
}

#[test]
fn prices_download_exactly_in_credits_and_euros() {
    let site = Site::with_cities();
    let data = site.get("/api/v1/datasets/cities").json()["data"].clone();
    assert_eq!(data["priceForDownload"], json!({ "credits": 6, "eur": "0.03", "vatIncluded": false }));
    site.publish("cities", MANIFEST, "1.1.0", &city_columns(7));
    let data = site.get("/api/v1/datasets/cities").json()["data"].clone();
    assert_eq!(data["priceForDownload"]["eur"], "0.035");
    assert_eq!(data["priceForDownload"]["credits"], data["creditsForDownload"]);
}

#[test]
fn hints_at_documentation_for_other_clients_at_root() {
    let site = Site::with_cities();
    for accept in
        ["application/json", "application/json, text/html;q=0.5", "application/json, text/plain, */*"]
    {
        let answer = site.send(&Ask::get("/").header("Accept", accept));
        assert_eq!(answer.refusal(), (404, "NOT_FOUND".into(), "UNKNOWN_PATH".into()), "{accept}");
        assert!(answer.json()["error"]["details"]["hint"].as_str().unwrap().contains("/docs"));
    }
    assert_eq!(site.send(&Ask::get("/?x=1").header("Accept", "application/json")).status, 400);
    assert_eq!(site.send(&Ask::post("/", "{}")).status, 405);
}

#[test]
fn suggests_nearest_published_slug() {
    let site = Site::with_cities();
    let hidden =
        MANIFEST.replace("\"cities\"", "\"cites\"").replace("license =", "published = false\nlicense =");
    publish_files(&site.data(), &hidden, "1.0.0", &city_columns(2), &[]);
    site.publish("towns", &MANIFEST.replace("\"cities\"", "\"towns\""), "1.0.0", &city_columns(3));
    let key = site.paying_key(10);
    let suggested = |answer: &Answer| answer.json()["error"]["details"]["suggestion"].clone();
    for part in [
        "",
        "/schema",
        "/sample",
        "/stats",
        "/methodology",
        "/changelog",
        "/related",
        "/croissant",
        "/download",
        "/query",
    ] {
        let ask = Ask::get(&format!("/api/v1/datasets/citis{part}")).header("X-Api-Key", &key);
        let answer = site.send(&ask);
        assert_eq!((answer.status, suggested(&answer)), (404, "cities".into()), "{part}");
    }
    for part in ["/query", "/query/stream", "/query/estimate"] {
        let ask = Ask::post(&format!("/api/v1/datasets/citis{part}"), "{}").header("X-Api-Key", &key);
        assert_eq!(suggested(&site.send(&ask)), "cities", "{part}");
    }
    let hidden = site.get("/api/v1/datasets/cites");
    assert_eq!(
        (hidden.status, suggested(&hidden)),
        (404, "cities".into()),
        "never one that is not published"
    );
    let shouted = site.get("/api/v1/datasets/CITIES");
    assert_eq!((shouted.refusal().2.as_str(), suggested(&shouted)), ("SLUG_INVALID", "cities".into()));
    assert_eq!(suggested(&site.get("/api/v1/datasets/quarterly-accounts")), Value::Null);
}
