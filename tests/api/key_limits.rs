//! Limits of keys over HTTP: refusals, warnings, and the account's view of them.

use mercato_ledger::{
    CapPeriod, Change, ChargeRequest, KEY_RANDOM_BYTES, KeyId, KeyLimits, LimitsChange, Pending,
};
use serde_json::{Value, json};

use crate::harness::{Answer, Ask, MANIFEST, Site, city_columns, now};

const QUERY: &str = "/api/v1/datasets/cities/query";
const DOWNLOAD: &str = "/api/v1/datasets/cities/download";

/// A prepaid account with a key of these limits.
struct Customer {
    key: String,
    id: KeyId,
}

fn customer(site: &Site, credits: u64, limits: KeyLimits) -> Customer {
    let ledger = &site.running().app().ledger;
    let account = ledger.create_account("tester", now()).unwrap();
    ledger.buy(account, credits, None, "test", "test", now()).unwrap();
    site.use_up_free_queries(account);
    further_key(site, account, limits)
}

fn further_key(site: &Site, account: mercato_ledger::AccountId, limits: KeyLimits) -> Customer {
    let mut random = [0; KEY_RANDOM_BYTES];
    getrandom::fill(&mut random).unwrap();
    let ledger = &site.running().app().ledger;
    let created = ledger.create_limited_key(account, "etl", random, limits, now()).unwrap();
    Customer { key: created.plain.reveal().to_owned(), id: created.view.id }
}

fn per_day(credits: u64) -> KeyLimits {
    KeyLimits { credits_per_day: Some(credits), ..KeyLimits::default() }
}

fn only(slug: &str) -> KeyLimits {
    KeyLimits { datasets: [slug.to_owned()].into(), ..KeyLimits::default() }
}

fn stream(key: &str, limit: u64) -> Ask {
    Ask::post(&format!("{QUERY}/stream"), &format!(r#"{{"limit": {limit}}}"#)).header("X-Api-Key", key)
}

fn details(answer: &Answer) -> Value {
    answer.json()["error"]["details"].clone()
}

fn account(site: &Site, key: &str, target: &str) -> Value {
    let answer = site.send(&Ask::get(&format!("/api/v1/account{target}")).header("X-Api-Key", key));
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["data"].clone()
}

#[test]
fn restricts_key_to_its_datasets() {
    let site = Site::with_cities();
    site.publish("towns", &MANIFEST.replace("\"cities\"", "\"towns\""), "1.0.0", &city_columns(3));
    let Customer { key, .. } = customer(&site, 5_000, only("towns"));
    let with_key = |ask: Ask| ask.header("X-Api-Key", &key);
    for ask in [
        Ask::get(QUERY),
        Ask::post(QUERY, "{}"),
        Ask::post(&format!("{QUERY}/stream"), "{}"),
        Ask::post(&format!("{QUERY}/estimate"), "{}"),
        Ask::get(DOWNLOAD),
        Ask::get(DOWNLOAD).header("Range", "bytes=0-9"),
    ] {
        let refused = site.send(&with_key(ask.clone()));
        assert_eq!(refused.refusal(), (402, "NO_CREDITS".into(), "KEY_CAP_REACHED".into()), "{ask:?}");
        let details = details(&refused);
        assert_eq!((&details["cap"], &details["allowed"]), (&json!("datasets"), &json!(["towns"])));
        assert_eq!(
            (refused.header("X-Credits-Charged"), refused.header("X-Credits-Remaining")),
            (Some("0"), Some("5000"))
        );
    }
    for head in [QUERY, DOWNLOAD] {
        assert_eq!(site.send(&with_key(Ask::new("HEAD", head))).status, 402, "{head}");
    }
    assert_eq!(site.query("towns", &key, r#"{"limit": 1}"#).status, 200);
    assert_eq!(site.query("nowhere", &key, "{}").status, 404, "what does not exist is no matter of limits");
    for open in ["", "/schema", "/sample", "/stats"] {
        let public = Ask::get(&format!("/api/v1/datasets/cities{open}"));
        assert_eq!(site.send(&with_key(public)).status, 200, "{open}");
    }
    assert_eq!(account(&site, &key, "")["credits"], 4_999);
}

#[test]
fn rejects_expired_key() {
    let site = Site::with_cities();
    let ledger = &site.running().app().ledger;
    let soon = KeyLimits { expires_at: Some(now().plus_seconds(3_600)), ..KeyLimits::default() };
    let Customer { key, id } = customer(&site, 10, soon);
    assert_eq!(site.query("cities", &key, r#"{"limit": 1}"#).status, 200);
    let at_once = now().plus_millis(1);
    let change = LimitsChange { expires_at: Change::Set(at_once), ..LimitsChange::default() };
    // Told of an earlier moment, the books take an end that is over by now.
    ledger.limit_key(id, &change, at_once.plus_seconds(-60)).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(5));
    let refused = site.query("cities", &key, "{}");
    assert_eq!(refused.refusal(), (401, "UNAUTHORIZED".into(), "API_KEY_EXPIRED".into()));
    let message = refused.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("made for a time") && message.contains("replaced"), "{message}");
}

#[test]
fn rejects_charge_above_daily_or_monthly_cap() {
    let site = Site::with_cities();
    let month = KeyLimits { credits_per_month: Some(5), ..KeyLimits::default() };
    for (limits, period) in [(per_day(5), CapPeriod::Day), (month, CapPeriod::Month)] {
        let Customer { key, .. } = customer(&site, 5_000, limits);
        let before = period.end(now()).rfc3339();
        assert_eq!(site.query("cities", &key, r#"{"limit": 4}"#).status, 200);
        let estimate = Ask::post(&format!("{QUERY}/estimate"), r#"{"limit": 2}"#).header("X-Api-Key", &key);
        assert_eq!(site.send(&estimate).json()["data"]["affordable"], false, "{period:?}");
        let page = Ask::post(QUERY, r#"{"limit": 2}"#).header("X-Api-Key", &key);
        let file = Ask::get(DOWNLOAD).header("X-Api-Key", &key);
        let hint = details(&site.send(&file))["hint"].as_str().unwrap().to_owned();
        assert!(!hint.contains("limit"), "a download has none: {hint}");
        let part = file.clone().header("Range", "bytes=0-9");
        for (ask, required) in [(page, 2), (stream(&key, 2), 2), (file, 6), (part, 6)] {
            let refused = site.send(&ask);
            assert_eq!(refused.refusal(), (402, "NO_CREDITS".into(), "KEY_CAP_REACHED".into()), "{ask:?}");
            let told = details(&refused);
            let facts = ["required", "cap", "spent", "period"].map(|name| told[name].clone());
            assert_eq!(facts, [json!(required), json!(5), json!(4), json!(period.as_str())]);
            let resets_at = told["resetsAt"].as_str().unwrap().to_owned();
            assert!([before.clone(), period.end(now()).rfc3339()].contains(&resets_at), "{resets_at}");
            assert_eq!(refused.header("X-Credits-Remaining"), Some("4996"));
        }
        assert_eq!(site.query("cities", &key, r#"{"filters": {"id": 99}}"#).status, 200, "it costs nothing");
        assert_eq!(site.query("cities", &key, r#"{"limit": 1}"#).status, 200, "what the cap leaves");
        assert_eq!(site.query("cities", &key, "{}").refusal().2, "KEY_CAP_REACHED");
    }
}

/// The warning, which a script of another origin may read.
fn warning(answer: &Answer) -> Option<&str> {
    assert!([200, 206].contains(&answer.status), "{}", answer.text());
    let mut exposed = answer.headers.iter().filter(|(name, _)| name == "Access-Control-Expose-Headers");
    let is_exposed = exposed.any(|(_, names)| names.contains("X-Credits-Warning"));
    let warning = answer.header("X-Credits-Warning");
    assert!(warning.is_none() || is_exposed);
    warning
}

fn midnight() -> String {
    format!("{}T00:00:00Z", now().day().plus_days(1))
}

#[test]
fn warns_near_cap_of_key() {
    let site = Site::with_cities();
    let ends = midnight();
    let day_cap = |spent: u64, cap: u64| {
        let told = |ends: &str| format!("day-cap; spent={spent}; cap={cap}; resetsAt={ends}");
        [told(&ends), told(&midnight())]
    };
    let Customer { key, .. } = customer(&site, 5_000, per_day(5));
    assert_eq!(warning(&site.query("cities", &key, r#"{"limit": 3}"#)), None, "60 percent");
    let near = site.query("cities", &key, r#"{"limit": 1}"#);
    assert!(day_cap(4, 5).contains(&warning(&near).unwrap().to_owned()), "{near:?}");
    let csv = Ask::get(&format!("{QUERY}?limit=1")).header("X-Api-Key", &key).header("Accept", "text/csv");
    assert!(day_cap(5, 5).contains(&warning(&site.send(&csv)).unwrap().to_owned()));
    let Customer { key, .. } = customer(&site, 5_000, per_day(20));
    assert_eq!(warning(&site.send(&stream(&key, 6))), None);
    assert_eq!(warning(&site.send(&Ask::get(DOWNLOAD).header("X-Api-Key", &key))), None, "12 of 20");
    let answer = site.send(&stream(&key, 6));
    let told = warning(&answer).unwrap();
    assert!(day_cap(18, 20).contains(&told.to_owned()), "what the stream can cost is counted: {told}");
    let part = Ask::get(DOWNLOAD).header("X-Api-Key", &key).header("Range", "bytes=0-9");
    assert!(warning(&site.send(&part)).unwrap().starts_with("day-cap; spent=18; cap=20; "));
    let both = KeyLimits { credits_per_month: Some(3), ..per_day(4) };
    let Customer { key, .. } = customer(&site, 500, both);
    let answer = site.query("cities", &key, r#"{"limit": 3}"#);
    let told = warning(&answer).unwrap();
    assert_eq!(told.split(", ").count(), 2, "75 percent of the day, all of the month: {told}");
    assert!(told.starts_with("month-cap; spent=3; cap=3; resetsAt="), "{told}");
    assert!(told.ends_with("T00:00:00Z, low-balance; remaining=497"), "{told}");
}

#[test]
fn warns_of_low_balance_on_prepaid_account_only() {
    let site = Site::with_cities();
    let key = site.paying_key(1_002);
    let page = |key: &str, limit: u64| site.query("cities", key, &format!(r#"{{"limit": {limit}}}"#));
    assert_eq!(warning(&page(&key, 2)), None, "a thousand are left");
    assert_eq!(warning(&page(&key, 1)), Some("low-balance; remaining=999"));
    assert_eq!(warning(&site.send(&stream(&key, 2))), Some("low-balance; remaining=997"));
    let file = Ask::get(DOWNLOAD).header("X-Api-Key", &key);
    assert_eq!(warning(&site.send(&file)), Some("low-balance; remaining=991"));
    assert_eq!(warning(&page(&site.free_key(), 1)), None);
    let refused = page(&site.paying_key(1), 2);
    assert_eq!((refused.status, refused.header("X-Credits-Warning")), (402, None));
}

#[test]
fn warns_at_configured_low_balance() {
    for (few, expected) in [("0", None), ("5", Some("low-balance; remaining=4")), ("4", None)] {
        let site = Site::empty(&["--low-balance-credits", few]);
        site.publish("cities", MANIFEST, "1.0.0", &city_columns(6));
        let answer = site.query("cities", &site.paying_key(6), r#"{"limit": 2}"#);
        assert_eq!(warning(&answer), expected, "{few}");
        let all = site.query("cities", &site.paying_key(2), r#"{"limit": 2}"#);
        assert_eq!(warning(&all).is_some(), few != "0", "nothing is left");
    }
}

#[test]
fn reports_limits_and_spending_of_keys() {
    let site = Site::with_cities();
    let limits = KeyLimits { credits_per_month: Some(50), ..per_day(20) };
    let limited = KeyLimits { datasets: ["cities".to_owned()].into(), ..limits };
    let Customer { key, id } = customer(&site, 5_000, limited);
    let ledger = &site.running().app().ledger;
    let owner = ledger.key_view(id).unwrap().account;
    let plain = further_key(&site, owner, KeyLimits::default());
    assert_eq!(site.query("cities", &key, r#"{"limit": 4}"#).status, 200);
    let held = ledger.reserve(&ChargeRequest {
        account: ledger.account(owner).unwrap(),
        key: Some(id),
        rows: 9,
        free_queries: 0,
        dataset: "cities".to_owned(),
        request_id: "test".to_owned(),
        claim: None,
        view: None,
        at: now(),
    });
    let keys = account(&site, &plain.key, "")["keys"].clone();
    let capped = &keys[0];
    assert_eq!((&capped["id"], &capped["label"]), (&json!(id.to_string()), &json!("etl")));
    let expected = json!({"creditsPerDay": 20, "creditsPerMonth": 50, "datasets": ["cities"]});
    assert_eq!(capped["limits"], expected);
    assert_eq!(capped["spent"], json!({"day": 13, "month": 13}), "what a stream holds is counted");
    let expected = json!({"creditsPerDay": null, "creditsPerMonth": null, "datasets": []});
    assert_eq!((&keys[1]["limits"], &keys[1]["spent"]), (&expected, &Value::Null));
    held.unwrap().settle(0, now()).and_then(Pending::durable).unwrap();
    assert_eq!(account(&site, &plain.key, "")["keys"][0]["spent"]["day"], 4);
}

#[test]
fn reports_usage_in_total_by_key_or_of_one_key() {
    let site = Site::empty(&["--requests-per-minute", "0", "--free-queries-per-month", "0"]);
    site.publish("cities", MANIFEST, "1.0.0", &city_columns(6));
    let one = customer(&site, 5_000, KeyLimits::default());
    let owner = site.running().app().ledger.key_view(one.id).unwrap().account;
    let other = further_key(&site, owner, KeyLimits::default());
    let foreign = customer(&site, 5_000, KeyLimits::default());
    for (key, limit) in [(&one, 1), (&one, 2), (&other, 4), (&foreign, 5)] {
        assert_eq!(site.query("cities", &key.key, &format!(r#"{{"limit": {limit}}}"#)).status, 200);
    }
    let usage = |parameters: &str| {
        let mut usage = account(&site, &one.key, &format!("/usage{parameters}"));
        let lines = usage["usage"].as_array_mut().unwrap();
        lines.iter_mut().for_each(|line| drop(line.as_object_mut().unwrap().remove("day")));
        (usage["usage"].clone(), usage["totals"]["credits"].clone())
    };
    let line = |key: Option<&Customer>, requests: u64, rows: u64| {
        let mut line = json!({"dataset": "cities", "requests": requests, "rows": rows, "credits": rows});
        if let Some(key) = key {
            line["key"] = key.id.to_string().into();
        }
        line
    };
    let sum = (json!([line(None, 3, 7)]), json!(7));
    assert_eq!(usage(""), sum);
    assert_eq!(usage("?by=dataset"), sum);
    assert_eq!(usage("?by=key"), (json!([line(Some(&one), 2, 3), line(Some(&other), 1, 4)]), json!(7)));
    let of_one = format!("?key={}", other.id);
    assert_eq!(usage(&of_one), (json!([line(None, 1, 4)]), json!(4)));
    assert_eq!(usage(&format!("{of_one}&by=key&days=1")), (json!([line(Some(&other), 1, 4)]), json!(4)));
    let refused = |parameters: &str| {
        let ask = Ask::get(&format!("/api/v1/account/usage{parameters}")).header("X-Api-Key", &one.key);
        let refused = site.send(&ask);
        assert_eq!(refused.status, 400, "{parameters}");
        let message = refused.json()["error"]["message"].as_str().unwrap().to_owned();
        (details(&refused)["pointer"].as_str().unwrap().to_owned(), message)
    };
    let expected = "key: expected the id of a key, like key_5, found `laptop`".to_owned();
    assert_eq!(refused("?key=laptop"), ("key".to_owned(), expected));
    for unknown in [foreign.id.to_string(), "key_77".to_owned()] {
        let ask = Ask::get(&format!("/api/v1/account/usage?key={unknown}")).header("X-Api-Key", &one.key);
        let refused = site.send(&ask);
        assert_eq!((refused.status, details(&refused)["reason"].as_str()), (404, Some("KEY_UNKNOWN")));
    }
    assert_eq!(refused("?by=colour").0, "by");
}
