//! Discovery: OpenAPI, the console, Croissant, site map and robots.

use serde_json::{Value, json};

use crate::harness::{Answer, Ask, MANIFEST, Site, city_columns};

const UNLIMITED: [&str; 4] = ["--requests-per-minute", "0", "--requests-per-day", "0"];

fn site_at(public_url: &str) -> Site {
    let site = Site::empty(&[&UNLIMITED[..], &["--public-url", public_url]].concat());
    site.publish("cities", MANIFEST, "1.0.0", &city_columns(6));
    site
}

#[track_caller]
fn check_held(site: &Site, target: &str) -> Answer {
    let first = site.get(target);
    assert_eq!(first.status, 200, "{target}: {}", first.text());
    let tag = first.header("ETag").unwrap();
    let again = site.send(&Ask::get(target).header("If-None-Match", tag));
    assert_eq!((again.status, again.body.len(), again.header("ETag")), (304, 0, Some(tag)), "{target}");
    let since = first.header("Last-Modified").unwrap();
    assert_eq!(site.send(&Ask::get(target).header("If-Modified-Since", since)).status, 304, "{target}");
    let head = site.send(&Ask::new("HEAD", target));
    assert_eq!((head.status, head.body.len(), head.header("ETag")), (200, 0, Some(tag)), "{target}");
    assert_eq!(head.header("Content-Length"), Some(first.body.len().to_string().as_str()), "{target}");
    assert!(first.header("Cache-Control").unwrap().starts_with("public"), "{target}");
    assert_eq!(site.get(&format!("{target}?colour=1")).status, 400, "{target}");
    first
}

#[test]
fn serves_complete_cacheable_openapi_document() {
    let site = Site::with_cities();
    let answer = check_held(&site, "/api/v1/openapi.json");
    assert_eq!(answer.header("Content-Type"), Some("application/json; charset=utf-8"));
    let document = answer.json();
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(document["components"]["securitySchemes"]["ApiKey"]["name"], "X-Api-Key");
    let query = &document["paths"]["/api/v1/datasets/{slug}/query"]["post"];
    assert_eq!(query["responses"]["200"]["content"].as_object().unwrap().len(), 5);
    for status in ["400", "401", "402", "404", "406", "411", "413", "415", "422", "429", "431", "500", "503"]
    {
        assert!(query["responses"].get(status).is_some(), "{status}");
    }
    assert_eq!(document["servers"], json!([{ "url": "/" }]));
    let elsewhere = site_at("https://data.example.org/market/").get("/api/v1/openapi.json").json();
    assert_eq!(elsewhere["servers"], json!([{ "url": "https://data.example.org/market" }]));
}

#[test]
fn serves_console_without_external_files() {
    let site = Site::with_cities();
    for (page, folder) in [("/docs", "/docs/"), ("/docs/", "/docs/"), ("/docs/index.html", "/docs/")] {
        let answer = check_held(&site, page);
        assert_eq!(answer.header("Content-Type"), Some("text/html; charset=utf-8"));
        let text = answer.text();
        assert_eq!(text.contains("<base href=\"docs/\">"), page == "/docs");
        assert!(text.contains("<a href=\"../\">"), "the way back to the site");
        assert!(!text.contains("http://") && !text.contains("https://"), "{text}");
        let policy = answer.header("Content-Security-Policy").unwrap();
        assert!(policy.contains("default-src 'none'") && policy.contains("connect-src 'self'"), "{policy}");
        for name in named_in(&text) {
            let file = check_held(&site, &format!("{folder}{name}"));
            assert!(!file.body.is_empty(), "{name}");
            let expected = match name.rsplit_once('.').unwrap().1 {
                "css" => "text/css; charset=utf-8",
                "js" => "text/javascript; charset=utf-8",
                _ => "image/png",
            };
            assert_eq!(file.header("Content-Type"), Some(expected), "{name}");
        }
        assert_eq!(named_in(&text).len(), 6);
    }
    assert!(site.get("/docs/initializer.js").text().contains("/api/v1/openapi.json"));
    assert!(site.get("/docs/swagger-ui-bundle.js").text().contains("SwaggerUIBundle"));
    for nothing in ["/docs/nothing.js", "/docs/..%2Findex.html", "/docs/a/b", "/docs//", "/docs/%00"] {
        assert_eq!(site.get(nothing).refusal().1, "NOT_FOUND", "{nothing}");
    }
}

fn named_in(page: &str) -> Vec<String> {
    let after = |mark: &str| {
        page.split(mark).skip(1).map(|rest| rest.split('"').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let mut names: Vec<String> = after("<link rel=\"stylesheet\" href=\"");
    names.extend(after("image/png\" href=\""));
    names.extend(after("<script src=\""));
    names
}

#[test]
fn exempts_console_from_rate_limits() {
    let site = Site::empty(&["--requests-per-minute", "2", "--requests-per-day", "0"]);
    for _ in 0..5 {
        assert_eq!(site.get("/docs").status, 200);
        assert_eq!(site.get("/docs/index.css").status, 200);
    }
    assert_eq!(site.get("/api/v1/openapi.json").status, 200);
    assert_eq!(site.get("/robots.txt").status, 200);
    assert_eq!(site.get("/sitemap.xml").status, 429);
    assert_eq!(site.get("/docs").status, 200);
}

#[test]
fn describes_dataset_in_croissant() {
    let site = Site::with_cities();
    let answer = check_held(&site, "/api/v1/datasets/cities/croissant");
    assert_eq!(answer.header("Content-Type"), Some("application/ld+json"));
    let data = answer.json();
    assert_eq!(
        (&data["@type"], &data["conformsTo"]),
        (&"sc:Dataset".into(), &"http://mlcommons.org/croissant/1.0".into())
    );
    assert_eq!(data["url"], "http://mercato.test/api/v1/datasets/cities");
    assert_eq!((&data["name"], &data["description"]), (&"Cities".into(), &"Some cities".into()));
    assert_eq!(data["license"], "https://creativecommons.org/licenses/by/4.0/");
    assert_eq!((&data["keywords"], &data["inLanguage"]), (&json!(["geo", "towns"]), &json!(["en", "it"])));
    assert_eq!(data["version"], "1.0.0");
    let files = data["distribution"].as_array().unwrap();
    let formats: Vec<_> = files.iter().map(|file| file["encodingFormat"].as_str().unwrap()).collect();
    let arrow = "application/vnd.apache.arrow.stream";
    assert_eq!(formats, ["text/csv", "application/json", "application/x-ndjson", arrow]);
    assert_eq!(files[0]["contentUrl"], "http://mercato.test/api/v1/datasets/cities/download?format=csv");
    let fields = data["recordSet"][0]["field"].as_array().unwrap();
    let types: Vec<_> = fields
        .iter()
        .map(|field| (field["name"].as_str().unwrap(), field["dataType"].as_str().unwrap()))
        .collect();
    assert_eq!(
        types,
        [
            ("id", "sc:Integer"),
            ("name", "sc:Text"),
            ("area", "sc:Float"),
            ("height", "sc:Float"),
            ("capital", "sc:Boolean"),
            ("founded", "sc:Date"),
            ("seen", "sc:DateTime")
        ]
    );
    assert_eq!(fields[1]["description"], "Name of the city");
    let italian = site.get("/api/v1/datasets/cities/croissant?lang=it").json();
    assert_eq!((&italian["name"], &italian["@context"]["@language"]), (&"Città".into(), &"it".into()));
    assert_eq!(site.get("/api/v1/datasets/nowhere/croissant").refusal().1, "NOT_FOUND");
    let header = site.get("/api/v1/datasets/cities").json();
    assert_eq!(header["data"]["croissantUrl"], "/api/v1/datasets/cities/croissant");
}

#[test]
fn lists_datasets_in_sitemap_named_by_robots() {
    let site = site_at("https://data.example.org/m");
    let map = check_map(&site);
    assert!(map.contains("<loc>https://data.example.org/m/api/v1/datasets/cities</loc><lastmod>20"), "{map}");
    assert!(map.contains("<loc>https://data.example.org/m/datasets/cities</loc><lastmod>20"), "{map}");
    assert!(map.contains("<loc>https://data.example.org/m/datasets</loc>"), "{map}");
    let listed = |map: &str| map.matches("/api/v1/datasets/").count();
    assert_eq!(listed(&map), 1);
    site.publish("towns", &MANIFEST.replace("\"cities\"", "\"towns\""), "1.0.0", &city_columns(3));
    assert_eq!(listed(&check_map(&site)), 2);
    assert_eq!(site.get("/sitemap.xml?part=1").status, 200);
    assert_eq!(site.get("/sitemap.xml?part=2").refusal().1, "NOT_FOUND");
    assert_eq!(site.get("/sitemap.xml?part=0").refusal().1, "BAD_REQUEST");
    let robots = check_held(&site, "/robots.txt");
    assert_eq!(robots.header("Content-Type"), Some("text/plain; charset=utf-8"));
    assert!(
        robots.text().contains("\nSitemap: https://data.example.org/m/sitemap.xml\n"),
        "{}",
        robots.text()
    );
    assert!(robots.text().contains("\nDisallow: /m/api/v1/account\n"));
}

#[track_caller]
fn check_map(site: &Site) -> String {
    let answer = check_held(site, "/sitemap.xml");
    assert_eq!(answer.header("Content-Type"), Some("application/xml; charset=utf-8"));
    answer.text()
}

#[test]
fn ignores_forwarded_host() {
    let site = Site::with_cities();
    for target in ["/sitemap.xml", "/robots.txt", "/api/v1/datasets/cities/croissant"] {
        let answer = site.send(&Ask::get(&format!("{target}?x")).header("X-Forwarded-Host", "evil.test"));
        assert!(!answer.text().contains("evil.test"));
        let plain = site.send(&Ask::get(target).header("X-Forwarded-Host", "evil.test"));
        assert!(
            plain.text().contains("http://mercato.test/") && !plain.text().contains("evil.test"),
            "{target}"
        );
    }
}

#[test]
fn rejects_invalid_public_url() {
    let refused = mercato::api::PublicUrl::parse("data.example.org").unwrap_err().to_string();
    assert!(refused.contains("found `data.example.org`") && refused.contains("https://"), "{refused}");
}

#[test]
fn hints_at_documentation_on_unknown_path() {
    let site = Site::with_cities();
    for target in ["/nowhere", "/api", "/api/v1/openapi"] {
        let json: Value = site.get(target).json();
        assert!(json["error"]["details"]["hint"].as_str().unwrap().contains("/docs"), "{target}");
    }
}
