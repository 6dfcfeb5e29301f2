//! Keys, credits and limits as a client meets them.

use mercato_ledger::AccountHandle;

use crate::harness::{Ask, MANIFEST, Site, city_columns, now};

/// Two free queries a month, of four rows each.
fn site_with_free_plan() -> Site {
    let site = Site::empty(&["--free-queries-per-month", "2", "--free-rows-per-query", "4"]);
    site.publish("cities", MANIFEST, "1.0.0", &city_columns(6));
    site
}

#[test]
fn requires_valid_key() {
    let site = Site::with_cities();
    let target = "/api/v1/datasets/cities/query";
    let without = site.send(&Ask::post(target, "{}"));
    assert_eq!(without.refusal(), (401, "UNAUTHORIZED".into(), "API_KEY_MISSING".into()));
    assert!(without.header("WWW-Authenticate").is_some());
    for wrong in ["", "mk_short", "Bearer x", &"k".repeat(200)] {
        assert_eq!(site.query("cities", wrong, "{}").refusal().0, 401, "{wrong}");
    }
    let mut guessed = site.paying_key(1);
    guessed.replace_range(10..11, if guessed.as_bytes()[10] == b'a' { "b" } else { "a" });
    assert_eq!(site.query("cities", &guessed, "{}").refusal().2, "API_KEY_MISTYPED");
}

#[test]
fn reports_mistyped_key_without_revealing_known_ones() {
    let site = Site::with_cities();
    let mistyped = |mut key: String| {
        let last = key.pop().unwrap();
        key.push(if last == 'a' { 'b' } else { 'a' });
        let answer = site.query("cities", &key, "{}");
        let mut json = answer.json();
        json["meta"] = serde_json::Value::Null;
        (answer.refusal().2, json)
    };
    let known = mistyped(site.paying_key(1));
    let unknown = mistyped(mercato_ledger::PlainKey::from_random([7; 32]).reveal().to_owned());
    assert_eq!(known.0, "API_KEY_MISTYPED");
    assert_eq!(known, unknown, "nothing tells whether there is such a key");
    let stranger = mercato_ledger::PlainKey::from_random([7; 32]).reveal().to_owned();
    assert_eq!(site.query("cities", &stranger, "{}").refusal().2, "API_KEY_UNKNOWN");
    assert_eq!(site.query("cities", &stranger[..40], "{}").refusal().2, "API_KEY_MALFORMED");
}

#[test]
fn rejects_duplicate_headers() {
    let site = Site::with_cities();
    let (one, other) = (site.paying_key(10), site.paying_key(10));
    let query = || Ask::post("/api/v1/datasets/cities/query", r#"{"limit": 1}"#);
    let download = || Ask::get("/api/v1/datasets/cities/download").header("X-Api-Key", &one);
    let stream = || Ask::post("/api/v1/datasets/cities/query/stream", "{}").header("X-Api-Key", &one);
    let twice = |ask: Ask, name: &str, values: [&str; 2]| {
        (name.to_owned(), ask.header(name, values[0]).header(name, values[1]))
    };
    let date = "Tue, 14 Nov 2023 22:13:20 GMT";
    let keyed = query().header("X-Api-Key", &one);
    let asks = [
        twice(query(), "X-Api-Key", [&one, &other]),
        twice(query(), "X-Api-Key", [&one, &one]),
        twice(query(), "x-api-key", ["mk_wrong", &one]),
        twice(Ask::get("/api/v1/datasets"), "X-Api-Key", [&one, &other]),
        twice(keyed.clone(), "Idempotency-Key", ["a", "b"]),
        twice(keyed, "Content-Type", ["application/json", "application/json"]),
        twice(stream(), "Last-Event-ID", ["a", "b"]),
        twice(download(), "Range", ["bytes=0-1", "bytes=2-3"]),
        twice(download().header("Range", "bytes=0-1"), "If-Range", ["\"a\"", "\"b\""]),
        twice(download(), "If-Unmodified-Since", [date, date]),
    ];
    for (name, ask) in asks {
        let refused = site.send(&ask);
        assert_eq!(refused.refusal(), (400, "BAD_REQUEST".into(), "DUPLICATE_HEADER".into()), "{ask:?}");
        let pointer = refused.json()["error"]["details"]["pointer"].as_str().unwrap().to_owned();
        assert!(pointer.eq_ignore_ascii_case(&name), "{pointer} for {name}");
    }
    let spent: Vec<u64> = site.running().app().ledger.accounts().iter().map(AccountHandle::credits).collect();
    assert_eq!(spent, [10, 10]);
    let verify = Ask::post("/admin/v1/commands", r#"{"command": "verify"}"#);
    let token = format!("Bearer {}", site.admin_token());
    let (_, verify) = twice(verify, "Authorization", [&token, "Bearer x"]);
    let refused = crate::harness::exchange(site.admin_address(), &verify);
    assert_eq!(refused.refusal().2, "DUPLICATE_HEADER");
}

#[test]
fn ignores_wrong_key_on_public_path() {
    let site = Site::with_cities();
    assert_eq!(site.send(&Ask::get("/api/v1/datasets").header("X-Api-Key", "mk_wrong")).status, 200);
}

#[test]
fn rejects_revoked_key_at_once() {
    let site = Site::with_cities();
    let key = site.paying_key(10);
    assert_eq!(site.query("cities", &key, r#"{"limit": 1}"#).status, 200);
    let ledger = &site.running().app().ledger;
    let account = ledger.accounts().remove(0).id();
    let id = ledger.keys(account)[0].id;
    ledger.revoke_key(id, now()).unwrap();
    assert_eq!(site.query("cities", &key, "{}").refusal().2, "API_KEY_REVOKED");
}

#[test]
fn charges_credit_per_row() {
    let site = Site::with_cities();
    let key = site.paying_key(10);
    let credits = |body: &str| site.query("cities", &key, body).json()["meta"]["credits"].clone();
    assert_eq!(credits(r#"{"limit": 4}"#), serde_json::json!({"charged": 4, "remaining": 6}));
    assert_eq!(credits(r#"{"filters": {"id": 99}}"#), serde_json::json!({"charged": 0, "remaining": 6}));
}

#[test]
fn charges_query_fully_or_not_at_all() {
    let site = Site::with_cities();
    let key = site.paying_key(5);
    let answer = site.query("cities", &key, "{}");
    assert_eq!(answer.refusal(), (402, "NO_CREDITS".into(), "INSUFFICIENT_CREDITS".into()));
    assert_eq!(
        (answer.header("X-Credits-Charged"), answer.header("X-Credits-Remaining")),
        (Some("0"), Some("5"))
    );
    let json = answer.json();
    let details = &json["error"]["details"];
    assert_eq!(
        (&details["required"], &details["available"], &details["shortfall"]),
        (&6.into(), &5.into(), &1.into())
    );
    let spent = site.query("cities", &key, r#"{"limit": 5}"#);
    assert_eq!(spent.header("X-Credits-Remaining"), Some("0"));
    assert_eq!(site.query("cities", &key, r#"{"limit": 1}"#).refusal().0, 402);
}

#[test]
fn grants_hundred_free_queries_per_month() {
    let site = Site::with_cities();
    let key = site.free_key();
    for number in 0..100 {
        let answer = site.query("cities", &key, r#"{"limit": 1}"#);
        assert_eq!((answer.status, answer.header("X-Credits-Charged")), (200, Some("0")), "{number}");
    }
    let answer = site.query("cities", &key, r#"{"limit": 1}"#);
    assert_eq!(answer.refusal(), (402, "NO_CREDITS".into(), "FREE_PLAN_EXHAUSTED".into()));
    assert!(answer.json()["error"]["details"]["resetAt"].is_string());
}

#[test]
fn refuses_large_limit_of_account_without_credits() {
    let site = site_with_free_plan();
    let key = site.free_key();
    let left = || {
        let account =
            site.send(&Ask::get("/api/v1/account").header("X-Api-Key", &key)).json()["data"].clone();
        (account["plan"].clone(), account["freeQueriesRemaining"].clone())
    };
    assert_eq!(left(), ("free".into(), 2.into()));
    let answer = site.query("cities", &key, r#"{"limit": 5, "filters": {"id": 1}}"#);
    assert_eq!(answer.refusal(), (402, "NO_CREDITS".into(), "FREE_PLAN_ROWS".into()));
    let details = &answer.json()["error"]["details"];
    assert_eq!((&details["required"], &details["allowed"]), (&5.into(), &4.into()));
    assert!(details["hint"].as_str().unwrap().contains("`limit` to 4 or less"), "{details}");
    let default = site.query("cities", &key, "{}");
    assert_eq!(default.refusal().2, "FREE_PLAN_ROWS", "without `limit` 100 rows are asked for");
    assert_eq!(left().1, 2, "a refusal uses no free query");
    assert_eq!(site.query("cities", &key, r#"{"limit": 4}"#).status, 200);
    assert_eq!(left().1, 1);
}

#[test]
fn keeps_free_queries_after_purchase_and_uses_them_first() {
    let site = site_with_free_plan();
    let key = site.free_key();
    let ledger = &site.running().app().ledger;
    let account = ledger.accounts().remove(0);
    ledger.buy(account.id(), 100, None, "", "", now()).unwrap();
    let charged = |body: &str| {
        let answer = site.query("cities", &key, body);
        assert_eq!(answer.status, 200);
        answer.header("X-Credits-Charged").unwrap().to_owned()
    };
    assert_eq!(charged(r#"{"limit": 5}"#), "5", "more rows than a free query has take credits");
    let estimate = |body: &str| {
        let ask = Ask::post("/api/v1/datasets/cities/query/estimate", body).header("X-Api-Key", &key);
        site.send(&ask).json()["data"]["creditsRequired"].clone()
    };
    assert_eq!((estimate(r#"{"limit": 4}"#), estimate(r#"{"limit": 5}"#)), (0.into(), 5.into()));
    assert_eq!(charged(r#"{"limit": 4}"#), "0");
    let account = site.send(&Ask::get("/api/v1/account").header("X-Api-Key", &key)).json()["data"].clone();
    assert_eq!((&account["plan"], &account["freeQueriesRemaining"]), (&"prepaid".into(), &1.into()));
    assert!(account["freeQueriesResetAt"].is_string());
    let stream = Ask::post("/api/v1/datasets/cities/query/stream", r#"{"limit": 3}"#);
    let streamed = site.send(&stream.header("X-Api-Key", &key));
    assert_eq!((streamed.status, streamed.header("X-Credits-Reserved")), (200, Some("0")));
    assert_eq!(charged(r#"{"limit": 4}"#), "4", "the free queries of the month are used");
}

#[test]
fn charges_same_idempotency_key_once() {
    let site = Site::with_cities();
    let key = site.paying_key(20);
    let ask = |body: &str| {
        let ask = Ask::post("/api/v1/datasets/cities/query", body);
        site.send(&ask.header("X-Api-Key", &key).header("Idempotency-Key", "order-1"))
    };
    let first = ask(r#"{"limit": 3}"#);
    assert_eq!((first.status, first.header("X-Credits-Remaining")), (200, Some("17")));
    let again = ask(r#"{"limit": 3}"#);
    assert_eq!((again.status, again.header("X-Credits-Remaining")), (200, Some("17")));
    assert_eq!(again.header("Idempotent-Replayed"), Some("true"));
    assert_eq!(again.json()["data"], first.json()["data"]);
    let other = ask(r#"{"limit": 4}"#);
    assert_eq!(other.refusal(), (422, "UNPROCESSABLE".into(), "IDEMPOTENCY_KEY_REUSED".into()));
    let bad = Ask::post("/api/v1/datasets/cities/query", "{}").header("X-Api-Key", &key);
    assert_eq!(
        site.send(&bad.header("Idempotency-Key", &"x".repeat(256))).refusal().2,
        "IDEMPOTENCY_KEY_INVALID"
    );
}

#[test]
fn charges_nothing_for_invalid_query() {
    let site = Site::with_cities();
    let key = site.paying_key(10);
    assert_eq!(site.query("cities", &key, r#"{"limit": 0}"#).status, 400);
    assert_eq!(site.query("nowhere", &key, "{}").status, 404);
    assert_eq!(site.query("cities", &key, r#"{"limit": 1}"#).header("X-Credits-Remaining"), Some("9"));
}

#[test]
fn limits_request_rate_and_tells_retry_time() {
    let site = Site::empty(&["--requests-per-minute", "5", "--requests-per-day", "100"]);
    for number in 0..5 {
        let answer = site.get("/api/v1/datasets");
        assert_eq!(answer.status, 200);
        assert!(answer.header("RateLimit").unwrap().starts_with(&format!("\"minute\";r={}", 4 - number)));
    }
    let refused = site.get("/api/v1/datasets");
    assert_eq!(refused.refusal(), (429, "RATE_LIMITED".into(), "MINUTE_RATE_EXCEEDED".into()));
    let seconds: u64 = refused.header("Retry-After").unwrap().parse().unwrap();
    assert!((1..=60).contains(&seconds));
    let json = refused.json();
    let details = &json["error"]["details"];
    assert_eq!((&details["limit"], &details["scope"]), (&5.into(), &"address".into()));
    assert!(details["resetAt"].is_string());
    assert_eq!(site.get("/healthz").status, 200);
    let key = site.paying_key(7);
    for target in ["/api/v1/datasets", "/api/v1/account"].into_iter().cycle().take(5) {
        assert_eq!(site.send(&Ask::get(target).header("X-Api-Key", &key)).status, 200);
    }
    let download = Ask::get("/api/v1/datasets/cities/download").header("X-Api-Key", &key);
    let refused = site.send(&download);
    assert_eq!((refused.status, refused.header("X-Credits-Charged")), (429, Some("0")));
    assert_eq!(refused.header("X-Credits-Remaining"), Some("7"));
}
