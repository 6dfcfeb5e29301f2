//! Request limits and limits of a key hold for calls as for requests of the API.

use serde_json::json;

use super::{answered, call, fault, legacy, stateless};
use crate::harness::{Ask, MANIFEST, Site, city_columns, now};
use mercato_ledger::{KEY_RANDOM_BYTES, KeyLimits};

#[test]
fn counts_messages_against_request_limits() {
    let site = Site::empty(&["--requests-per-minute", "2", "--requests-per-day", "100"]);
    let ping = legacy("ping", &json!({}));
    let remaining = |ask: &Ask| site.send(ask).header("RateLimit").unwrap().to_owned();
    assert!(remaining(&ping).starts_with("\"minute\";r=1;"));
    assert!(remaining(&ping).starts_with("\"minute\";r=0;"));
    let refused = site.send(&ping);
    assert_eq!((refused.status, refused.refusal().2), (429, "MINUTE_RATE_EXCEEDED".to_owned()));
    assert!(refused.header("Retry-After").is_some());
    assert_eq!(site.send(&ping).status, 429);
    // A key has limits of its own.
    let key = site.free_key();
    assert_eq!(site.send(&ping.header("X-Api-Key", &key)).status, 200);
}

#[test]
fn holds_caps_and_datasets_of_key() {
    let site = Site::with_cities();
    site.publish("towns", &MANIFEST.replace("\"cities\"", "\"towns\""), "1.0.0", &city_columns(30));
    let ledger = &site.running().app().ledger;
    let account = ledger.create_account("capped", now()).unwrap();
    ledger.buy(account, 1_000, None, "test", "test", now()).unwrap();
    site.use_up_free_queries(account);
    let limits = KeyLimits {
        credits_per_day: Some(10),
        datasets: vec!["towns".to_owned()].into(),
        ..KeyLimits::default()
    };
    let key = ledger.create_limited_key(account, "capped", [7; KEY_RANDOM_BYTES], limits, now()).unwrap();
    let key = key.plain.reveal();
    let query = |slug: &str, limit: u64| json!({ "slug": slug, "limit": limit });
    for tool in ["query_rows", "estimate_cost"] {
        assert!(fault(&site, key, tool, query("cities", 1)).contains("Allowed: \"towns\""), "{tool}");
    }
    assert!(fault(&site, key, "query_rows", query("towns", 11)).contains("KEY_CAP_REACHED"));
    let paid = call(&site, key, "query_rows", query("towns", 8));
    let warnings = paid["structuredContent"]["warnings"].as_array().unwrap();
    assert!(warnings.iter().any(|warning| warning.as_str().unwrap().starts_with("day-cap; spent=8; cap=10")));
    assert!(fault(&site, key, "query_rows", query("towns", 3)).contains("KEY_CAP_REACHED"));
}

#[test]
fn bounds_running_calls_of_key_as_page_requests() {
    let site = Site::with_cities();
    let key = site.free_key();
    let app = site.running().app();
    let id = app.access.authenticate(Some(&key), now()).unwrap().key.id();
    let held: Vec<_> =
        std::iter::from_fn(|| app.in_flight.acquire(id, mercato_people::RequestKind::Page).ok())
            .take(10_000)
            .collect();
    let ping = || legacy("ping", &json!({}));
    let refused = site.send(&ping().header("X-Api-Key", &key));
    assert_eq!((refused.status, refused.refusal().2), (429, "TOO_MANY_REQUESTS_IN_FLIGHT".to_owned()));
    assert_eq!(site.send(&ping()).status, 200, "without a key nothing is held");
    drop(held);
    assert_eq!(site.send(&ping().header("X-Api-Key", &key)).status, 200);
}

#[test]
fn asks_key_for_costly_counts_only() {
    let site = Site::empty(&["--requests-per-minute", "0", "--requests-per-day", "0"]);
    site.publish("large", &MANIFEST.replace("\"cities\"", "\"large\""), "1.0.0", &city_columns(120_000));
    let patterns: Vec<_> =
        (0..9).map(|number| json!({ "name": { "contains": format!("x{number}") } })).collect();
    let costly = json!({ "slug": "large", "filters": { "$or": patterns } });
    let text = fault(&site, "", "estimate_cost", costly.clone());
    assert!(text.contains("API_KEY_MISSING") && text.contains("/account/keys"), "{text}");
    let counted = call(&site, &site.free_key(), "estimate_cost", costly);
    assert_eq!(counted["structuredContent"]["matchingRows"], 0);
    let cheap = json!({ "slug": "large", "filters": { "name": { "contains": "om" } } });
    let counted = call(&site, "", "estimate_cost", cheap)["structuredContent"].clone();
    assert_eq!((&counted["matchingRows"], &counted["matchingRowsAtLeast"]), (&json!(null), &json!(10_000)));
    let ask = stateless("tools/call", json!({ "name": "estimate_cost", "arguments": { "slug": "large" } }));
    assert_eq!(answered(&site.send(&ask))["result"]["structuredContent"]["matchingRows"], 120_000);
}
