//! Properties that all responses share.

mod accept;
mod compression;
mod conditional;
pub mod departures;
mod free_answers;
mod links;
mod wording;

use crate::harness::{Ask, Site};

#[test]
fn wraps_success_in_data_and_meta() {
    let site = Site::with_cities();
    let answer = site.get("/api/v1/datasets");
    let json = answer.json();
    let object = json.as_object().unwrap();
    assert_eq!(object.keys().collect::<Vec<_>>(), ["data", "meta", "success"]);
    assert_eq!(json["success"], true);
    let meta = &json["meta"];
    assert_eq!(uuid::Uuid::parse_str(meta["requestId"].as_str().unwrap()).unwrap().get_version_num(), 4);
    assert!(meta["durationMs"].is_u64());
    let timestamp = meta["timestamp"].as_str().unwrap();
    assert!(
        timestamp.parse::<jiff::Timestamp>().is_ok() && timestamp.ends_with('Z') && timestamp.len() == 24
    );
}

#[test]
fn stamps_time_of_response_in_meta() {
    let site = Site::empty(&["--requests-per-minute", "0", "--requests-per-day", "0"]);
    site.publish("cities", crate::harness::MANIFEST, "1.0.0", &crate::harness::city_columns(20_000));
    let key = site.paying_key(1_000_000);
    let ask = || {
        let asked_at = crate::harness::now().unix_millis();
        let json = site.query("cities", &key, r#"{"limit": 10000}"#).json();
        let answered_at = crate::harness::now().unix_millis();
        let timestamp: jiff::Timestamp = json["meta"]["timestamp"].as_str().unwrap().parse().unwrap();
        let duration = json["meta"]["durationMs"].as_i64().unwrap();
        assert!(timestamp.as_millisecond() + 1 >= asked_at + duration, "{}", json["meta"]);
        assert!(timestamp.as_millisecond() <= answered_at, "{}", json["meta"]);
        duration
    };
    // There are fewer workers than clients, so the last ones wait for the others.
    let longest = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..64).map(|_| scope.spawn(ask)).collect();
        clients.into_iter().map(|client| client.join().unwrap()).max().unwrap()
    });
    assert!(longest >= 4, "too short to tell: {longest} ms");
}

#[test]
fn wraps_refusal_with_null_data() {
    let site = Site::with_cities();
    let json = site.get("/api/v1/datasets/nowhere").json();
    assert_eq!(json["success"], false);
    assert!(json["data"].is_null());
    assert_eq!(json["error"]["code"], "NOT_FOUND");
    assert!(json["error"]["message"].as_str().unwrap().contains("nowhere"));
    assert!(json["error"].as_object().unwrap().contains_key("details"));
    assert!(json["meta"]["requestId"].is_string());
}

#[test]
fn sends_common_headers_with_every_response() {
    let site = Site::empty(&[]);
    for (target, status) in
        [("/api/v1/datasets", 200), ("/nowhere", 404), ("/healthz", 200), ("/api/v1/datasets/A", 400)]
    {
        let answer = site.get(target);
        assert_eq!(answer.status, status, "{target}");
        assert_eq!(answer.header("X-Request-Id").unwrap(), answer.json()["meta"]["requestId"]);
        assert_eq!(
            answer.header("RateLimit-Policy"),
            Some("\"minute\";q=120;w=60, \"day\";q=5000;w=86400"),
            "{target}"
        );
        let limit = answer.header("RateLimit").unwrap();
        assert!(limit.starts_with("\"minute\";r=") && limit.contains(", \"day\";r="), "{limit}");
        assert_eq!(answer.header("Access-Control-Allow-Origin"), Some("*"));
        assert!(answer.header("Access-Control-Expose-Headers").unwrap().contains("X-Next-Cursor"));
        assert_eq!(answer.header("X-Content-Type-Options"), Some("nosniff"));
        assert_eq!(answer.header("Content-Type"), Some("application/json; charset=utf-8"));
        assert_eq!(answer.header("Server"), Some("mercato"));
        assert!(httpdate::parse_http_date(answer.header("Date").unwrap()).is_ok());
        assert_eq!(answer.header("Content-Length"), Some(answer.body.len().to_string().as_str()));
    }
}

#[test]
fn assigns_different_request_ids() {
    let site = Site::empty(&[]);
    let id = |answer: crate::harness::Answer| answer.header("X-Request-Id").unwrap().to_owned();
    assert_ne!(id(site.get("/healthz")), id(site.get("/healthz")));
    // The books name requests by it, so a client does not choose it.
    let foreign = "6f0c1c7e-3a52-4c55-9a1c-0d6f3f1f2b11";
    let asked = site.send(&Ask::get("/healthz").header("X-Request-Id", foreign));
    assert_eq!(asked.header("X-Request-Id").unwrap(), asked.json()["meta"]["requestId"]);
    assert_ne!(id(asked), foreign);
}

#[test]
fn answers_404_to_unknown_paths() {
    let site = Site::with_cities();
    for target in [
        "/nowhere",
        "/api",
        "/api/v1",
        "/api/v1/datasets/",
        "/api/v1/datasets/cities/nothing",
        "/api/v2/datasets",
    ] {
        assert_eq!(site.get(target).refusal().1, "NOT_FOUND", "{target}");
    }
}

#[test]
fn lists_allowed_methods_on_405() {
    let site = Site::with_cities();
    let answer = site.send(&Ask::new("DELETE", "/api/v1/datasets/cities"));
    assert_eq!(answer.refusal(), (405, "METHOD_NOT_ALLOWED".into(), "METHOD_NOT_ALLOWED".into()));
    assert_eq!(answer.header("Allow"), Some("GET, HEAD, OPTIONS"));
    let answer = site.send(&Ask::new("PUT", "/api/v1/datasets/cities/query").body(b"{}"));
    assert_eq!((answer.status, answer.header("Allow")), (405, Some("GET, HEAD, POST, OPTIONS")));
    let answer = site.send(&Ask::new("BREW", "/api/v1/datasets"));
    assert_eq!(answer.status, 405);
}

#[test]
fn answers_head_like_get_without_body() {
    let site = Site::with_cities();
    for target in ["/api/v1/datasets", "/api/v1/datasets/cities/sample", "/healthz", "/nowhere"] {
        let get = site.get(target);
        let head = site.send(&Ask::new("HEAD", target));
        assert_eq!(head.status, get.status);
        assert!(head.body.is_empty());
        let length = |answer: &crate::harness::Answer| {
            answer.header("Content-Length").unwrap().parse::<i64>().unwrap()
        };
        // The duration in meta may take one digit more.
        assert!((length(&head) - length(&get)).abs() <= 3, "{target}");
        assert_eq!(head.header("ETag"), get.header("ETag"));
    }
}

#[test]
fn permits_cross_origin_requests() {
    let site = Site::with_cities();
    let preflight = site.send(
        &Ask::new("OPTIONS", "/api/v1/datasets/cities/query")
            .header("Origin", "https://example.org")
            .header("Access-Control-Request-Method", "POST")
            .header("Access-Control-Request-Headers", "x-api-key,content-type"),
    );
    assert_eq!((preflight.status, preflight.body.len()), (204, 0));
    assert_eq!(preflight.header("Access-Control-Allow-Origin"), Some("*"));
    assert!(preflight.header("Access-Control-Allow-Methods").unwrap().contains("POST"));
    let headers = preflight.header("Access-Control-Allow-Headers").unwrap();
    assert!(headers.contains("X-Api-Key") && headers.contains("Content-Type"));
    assert_eq!(site.send(&Ask::new("OPTIONS", "/nowhere")).status, 404);
}

#[test]
fn splits_target_before_decoding() {
    let site = Site::with_cities();
    assert_eq!(site.get("/api/v1/datasets/%63ities").status, 200);
    assert_eq!(site.get("http://elsewhere.test/api/v1/datasets/cities").status, 200);
    assert_eq!(site.get("/api/v1/datasets/cities%2Fschema").refusal().2, "SLUG_INVALID");
    assert_eq!(site.get("/api/v1/datasets/%zz").refusal().2, "TARGET_INVALID");
    assert_eq!(site.get("/api/v1/datasets?tag=%FF").refusal().2, "TARGET_INVALID");
}

#[test]
fn omits_key_from_responses() {
    let site = Site::with_cities();
    let key = site.paying_key(10);
    let answer = site.query("cities", &key, r#"{"limit": 2, "colour": 1}"#);
    assert_eq!(answer.status, 400);
    assert!(!answer.text().contains(&key));
    let wrong = format!("{key}x");
    assert!(!site.query("cities", &wrong, "{}").text().contains(&wrong));
}
