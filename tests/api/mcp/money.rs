//! Costs of calls: only `query_rows` charges, once, and never above the ceiling.

use serde_json::{Value, json};

use super::{answered, fault, site, stateless, structured};
use crate::harness::{Ask, Site};
use crate::query::work;

#[track_caller]
fn credits(site: &Site, key: &str) -> u64 {
    let account = site.send(&Ask::get("/api/v1/account").header("X-Api-Key", key));
    account.json()["data"]["credits"].as_u64().unwrap()
}

fn query(arguments: Value) -> Value {
    let mut arguments = arguments;
    arguments["slug"] = json!("towns");
    arguments
}

#[test]
fn charges_rows_of_query_and_nothing_else() {
    let site = site();
    let key = site.paying_key(1_000);
    structured(&site, &key, "search_datasets", json!({ "query": "towns" }));
    structured(&site, &key, "describe_dataset", json!({ "slug": "towns" }));
    structured(&site, &key, "sample_rows", json!({ "slug": "towns", "limit": 100 }));
    structured(&site, &key, "estimate_cost", query(json!({ "limit": 900 })));
    assert_eq!(credits(&site, &key), 1_000);
    let page = structured(&site, &key, "query_rows", query(json!({})));
    assert_eq!((&page["rowsReturned"], &page["creditsCharged"]), (&json!(50), &json!(50)));
    assert_eq!((&page["creditsRemaining"], credits(&site, &key)), (&json!(950), 950));
    let ask =
        stateless("tools/call", json!({ "name": "query_rows", "arguments": query(json!({ "limit": 3 })) }));
    let answer = site.send(&ask.header("X-Api-Key", &key));
    assert_eq!(answer.header("X-Credits-Charged"), Some("3"));
    assert_eq!(answer.header("X-Credits-Remaining"), Some("947"));
    let none = structured(&site, &key, "query_rows", query(json!({ "filters": { "id": -1 } })));
    assert_eq!(
        (&none["rows"], &none["creditsCharged"], &none["nextCursor"]),
        (&json!([]), &json!(0), &Value::Null)
    );
}

#[test]
fn takes_key_from_either_header_and_tells_what_is_wrong_with_it() {
    let site = site();
    let key = site.paying_key(1_000);
    let ask = |key: &str| {
        let ask = stateless(
            "tools/call",
            json!({ "name": "query_rows", "arguments": query(json!({ "limit": 1 })) }),
        );
        ask.header("Authorization", key)
    };
    let result = |ask: &Ask| answered(&site.send(ask))["result"].clone();
    for scheme in ["Bearer", "bearer"] {
        assert_eq!(result(&ask(&format!("{scheme} {key}")))["isError"], false, "{scheme}");
    }
    for (presented, reason) in [
        (format!("Basic {key}"), "API_KEY_MISSING"),
        ("Bearer mk_junk".to_owned(), "API_KEY_MALFORMED"),
        (format!("Bearer {}", key.replace(&key[10..12], "zz")), "API_KEY_MISTYPED"),
    ] {
        let refused = result(&ask(&presented));
        let text = refused["content"][0]["text"].as_str().unwrap();
        assert!(refused["isError"] == true && text.contains(reason), "{presented}: {text}");
        assert!(text.contains("Authorization: Bearer") && !text.contains(&key[5..20]), "{text}");
    }
    let text = fault(&site, "", "query_rows", query(json!({})));
    assert!(text.contains("API_KEY_MISSING") && text.contains("/account/keys"), "{text}");
    assert_eq!(credits(&site, &key), 998);
}

#[test]
fn refuses_above_ceiling_and_says_cost() {
    let site = site();
    let key = site.paying_key(5_000);
    for (arguments, cost, ceiling) in [
        (json!({ "limit": 1_001 }), "1,001 credits", "1,000"),
        (json!({ "limit": 3_000 }), "3,000 credits", "1,000"),
        (json!({ "limit": 20, "maxCredits": 19 }), "20 credits", "19"),
        (json!({ "limit": 1, "maxCredits": 0 }), "1 credit ", "0"),
        (json!({ "limit": 10_000, "filters": { "name": "Roma" }, "maxCredits": 10 }), "500 credits", "10"),
    ] {
        let text = fault(&site, &key, "query_rows", query(arguments.clone()));
        assert!(
            text.contains(cost) && text.contains(&format!("above maxCredits {ceiling};")),
            "{arguments}: {text}"
        );
        assert!(text.contains("nothing was charged") && text.contains("MAX_CREDITS"), "{text}");
    }
    assert_eq!(credits(&site, &key), 5_000);
    for (arguments, charged) in [
        (json!({ "limit": 1_000 }), 1_000),
        (json!({ "limit": 1_001, "maxCredits": 1_001 }), 1_001),
        (json!({ "limit": 10_000, "filters": { "id": { "lte": 4 } } }), 4),
        (json!({ "limit": 1, "filters": { "id": -1 }, "maxCredits": 0 }), 0),
    ] {
        let page = structured(&site, &key, "query_rows", query(arguments));
        assert_eq!(page["creditsCharged"], charged);
    }
}

#[test]
fn refuses_what_account_or_key_cannot_pay() {
    let site = site();
    let key = site.paying_key(10);
    let text = fault(&site, &key, "query_rows", query(json!({ "limit": 11 })));
    assert!(text.contains("this costs 11 credits and the account has 10 credits"), "{text}");
    let estimated = structured(&site, &key, "estimate_cost", query(json!({ "limit": 11 })));
    assert_eq!((&estimated["creditsAvailable"], &estimated["affordable"]), (&json!(10), &json!(false)));
    structured(&site, &key, "query_rows", query(json!({ "limit": 10 })));
    assert!(fault(&site, &key, "query_rows", query(json!({ "limit": 1 }))).contains("INSUFFICIENT_CREDITS"));
}

#[test]
fn counts_queries_of_free_plan() {
    let site = site();
    let key = site.free_key();
    let estimated = structured(&site, &key, "estimate_cost", query(json!({ "limit": 100 })));
    assert_eq!((&estimated["creditsRequired"], &estimated["rows"]), (&json!(0), &json!(100)));
    // A free query costs no credit, so no ceiling is above it.
    let page = structured(&site, &key, "query_rows", query(json!({ "limit": 100, "maxCredits": 0 })));
    assert_eq!((&page["creditsCharged"], &page["freeQueriesRemaining"]), (&json!(0), &json!(99)));
    assert_eq!(page["rowsReturned"], 100);
    let refused = fault(&site, &key, "query_rows", query(json!({ "limit": 101 })));
    assert!(refused.contains("FREE_PLAN_ROWS") && refused.contains("100 or less"), "{refused}");
}

#[test]
fn charges_once_under_same_idempotency_key() {
    let site = site();
    let key = site.paying_key(1_000);
    let arguments = query(json!({ "limit": 30, "sortBy": "name", "idempotencyKey": "once" }));
    let first = structured(&site, &key, "query_rows", arguments.clone());
    assert_eq!((&first["creditsCharged"], &first["replayed"]), (&json!(30), &json!(false)));
    let mut lower = arguments.clone();
    lower["maxCredits"] = json!(0);
    for again in [arguments.clone(), lower] {
        let again = structured(&site, &key, "query_rows", again);
        assert_eq!((&again["creditsCharged"], &again["replayed"]), (&json!(0), &json!(true)));
        assert_eq!((&again["rows"], &again["nextCursor"]), (&first["rows"], &first["nextCursor"]));
    }
    let mut other = arguments.clone();
    other["limit"] = json!(31);
    assert!(fault(&site, &key, "query_rows", other).contains("IDEMPOTENCY_KEY_REUSED"));
    assert_eq!(credits(&site, &key), 970);
    let unclaimed = query(json!({ "limit": 30, "sortBy": "name" }));
    structured(&site, &key, "query_rows", unclaimed);
    assert_eq!(credits(&site, &key), 940);
}

#[test]
fn estimates_exactly_what_query_costs() {
    let site = site();
    let key = site.paying_key(100_000);
    for arguments in [
        json!({}),
        json!({ "limit": 7 }),
        json!({ "limit": 900, "filters": { "name": ["Roma", "Bari"] } }),
        json!({ "limit": 100, "offset": 2_950 }),
        json!({ "limit": 9, "filters": { "name": { "contains": "o" }, "id": { "lt": 5 } } }),
    ] {
        let estimated = structured(&site, &key, "estimate_cost", query(arguments.clone()));
        let free = structured(&site, "", "estimate_cost", query(arguments.clone()));
        let bought = structured(&site, &key, "query_rows", query(arguments.clone()));
        assert_eq!(estimated["creditsRequired"], bought["creditsCharged"], "{arguments}");
        assert_eq!(estimated["rows"], bought["rowsReturned"], "{arguments}");
        assert_eq!(
            (&free["creditsRequired"], &free["affordable"]),
            (&estimated["creditsRequired"], &Value::Null)
        );
        let counted = query(arguments.clone());
        let total =
            site.query("towns", &key, &without_slug(counted).to_string()).json()["data"]["totalRows"].clone();
        assert!(total.is_null() || total == estimated["matchingRows"], "{arguments}");
    }
    let all = structured(&site, "", "estimate_cost", query(json!({})));
    assert_eq!((&all["matchingRows"], &all["priceOfAllMatches"]["eur"]), (&json!(3_000), &json!("15.00")));
}

fn without_slug(mut arguments: Value) -> Value {
    arguments.as_object_mut().unwrap().remove("slug");
    arguments
}

#[test]
fn refuses_calls_that_take_too_much_work_for_nothing() {
    let site = work::site(&work::TENTH);
    let key = site.paying_key(1_000);
    let arguments: Value = serde_json::from_str(&work::costly(json!({ "slug": "cities" }))).unwrap();
    for tool in ["query_rows", "estimate_cost"] {
        let fault = fault(&site, &key, tool, arguments.clone());
        assert!(fault.contains("QUERY_TOO_EXPENSIVE") && fault.contains("narrow"), "{fault}");
    }
    assert_eq!(credits(&site, &key), 1_000);
}

/// A refusal at `maxCredits` costs nothing, so it must not tell whether rows stand at an offset.
#[test]
fn refuses_distant_rows_above_ceiling_alike() {
    let site = Site::with_cities();
    let manifest = crate::harness::MANIFEST.replace("\"cities\"", "\"towns\"");
    site.publish("towns", &manifest, "1.0.0", &crate::harness::city_columns(80_000));
    let key = site.paying_key(100);
    for offset in [13_000, 13_333, 13_334, 70_000] {
        let arguments =
            json!({ "filters": { "name": "Roma" }, "limit": 1, "offset": offset, "maxCredits": 0 });
        let text = fault(&site, &key, "query_rows", query(arguments));
        assert!(text.contains("would cost 1 credit"), "{offset}: {text}");
    }
}

#[test]
fn refuses_single_row_above_bound_with_its_size() {
    use mercato_format::ColumnKind;
    use mercato_format::writer::{Column, ColumnValues};
    let site = site();
    let long = vec![Some("x".repeat(1_200_000)), Some("short".to_owned())];
    let columns = [
        Column::new("id", ColumnKind::Integer, ColumnValues::Integers(vec![Some(1), Some(2)])),
        Column::new("text", ColumnKind::Text, ColumnValues::Texts(long)),
    ];
    site.publish("long", "slug = \"long\"\n", "1.0.0", &columns);
    let key = site.paying_key(100);
    for tool in ["sample_rows", "query_rows"] {
        let text = fault(&site, &key, tool, json!({ "slug": "long", "limit": 1 }));
        assert!(text.contains("1,200,018 bytes") && text.contains("ROW_TOO_LONG"), "{tool}: {text}");
    }
    assert_eq!(credits(&site, &key), 100);
    let narrow = structured(&site, &key, "query_rows", json!({ "slug": "long", "columns": ["id"] }));
    assert_eq!((&narrow["rowsReturned"], credits(&site, &key)), (&json!(2), 98));
}
