//! `aggregate_rows`: beside the API, its price and ceiling, and what its refusals must not tell.

use serde_json::{Value, json};

use super::tools::schema;
use super::{answered, call, fault, legacy, site, stateless, structured};
use crate::harness::{Ask, MANIFEST, Site, city_columns};

/// Arguments of a call for `towns`: six names, 500 rows each.
fn towns(mut arguments: Value) -> Value {
    arguments["slug"] = json!("towns");
    arguments
}

fn by_name() -> Value {
    json!({ "groupBy": ["name"], "aggregates": { "n": { "op": "count" }, "area": { "op": "sum", "column": "area" } } })
}

#[track_caller]
fn credits(site: &Site, key: &str) -> u64 {
    let account = site.send(&Ask::get("/api/v1/account").header("X-Api-Key", key));
    account.json()["data"]["credits"].as_u64().unwrap()
}

#[test]
fn aggregates_like_api_in_both_eras_for_a_credit_a_group() {
    let site = site();
    let key = site.paying_key(1_000);
    let mut asked = by_name();
    asked["filters"] = json!({ "id": { "gt": 100 } });
    asked["having"] = json!({ "n_min": 480 });
    asked["sortBy"] = json!("area");
    asked["sortDirection"] = json!("desc");
    asked["limit"] = json!(4);
    let of_api = site.query("towns", &key, &asked.to_string());
    let params = json!({ "name": "aggregate_rows", "arguments": towns(asked.clone()) });
    for ask in [stateless("tools/call", params.clone()), legacy("tools/call", &params)] {
        let answer = site.send(&ask.header("X-Api-Key", &key));
        assert_eq!(answer.header("X-Credits-Charged"), Some("4"));
        // As bytes: a decimal keeps its scale.
        let rows = |text: &str, name: &str| {
            let at = text.find(name).unwrap() + name.len();
            text[at..].split_once(']').unwrap().0.to_owned()
        };
        assert_eq!(rows(&answer.text(), "\"rows\":"), rows(&of_api.text(), "\"results\":"));
        let text = answered(&answer)["result"]["content"][0]["text"].as_str().unwrap().to_owned();
        assert!(text.starts_with("4 groups of `towns` 1.0.0"), "{text}");
    }
    let own = structured(&site, &key, "aggregate_rows", towns(asked));
    let of_api = of_api.json()["data"].clone();
    assert_eq!((&own["nextCursor"], &own["totalRows"]), (&of_api["nextCursor"], &of_api["totalRows"]));
    assert_eq!((&own["creditsCharged"], credits(&site, &key)), (&json!(4), 984));
    let one = json!({ "aggregates": { "n": { "op": "count" } }, "filters": { "id": -1 } });
    let one = structured(&site, &key, "aggregate_rows", towns(one));
    assert_eq!((&one["rows"], &one["creditsCharged"]), (&json!([{ "n": 0 }]), &json!(1)));
}

#[test]
fn takes_arguments_that_its_schema_lists() {
    let site = site();
    let key = site.paying_key(1_000);
    let described = schema(&site, "aggregate_rows", "inputSchema");
    let arguments = json!({ "slug": "cities", "filters": {}, "groupBy": [{ "column": "id", "width": 2, "as": "pair" }, "name"],
        "aggregates": { "high": { "op": "quantile", "q": 0.9, "column": "id" } }, "having": { "pair_min": 0 },
        "sortBy": "high", "sortDirection": "desc", "limit": 10_000, "version": "1.0.0", "maxCredits": 6,
        "idempotencyKey": "k", "cursor": null });
    let (listed, sent) = (described["properties"].as_object().unwrap(), arguments.as_object().unwrap());
    assert!(listed.keys().eq(sent.keys()), "{listed:?}");
    structured(&site, &key, "aggregate_rows", arguments);
}

#[test]
fn walks_all_groups_by_cursor_once() {
    let site = site();
    let key = site.paying_key(10_000);
    let (mut ids, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let asked = json!({ "groupBy": ["id"], "sortBy": "id", "sortDirection": "desc", "limit": 700, "cursor": cursor });
        let page = structured(&site, &key, "aggregate_rows", towns(asked));
        ids.extend(page["rows"].as_array().unwrap().iter().map(|row| row["id"].as_u64().unwrap()));
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert!(ids.into_iter().eq((1..=3_000).rev()));
    assert_eq!(credits(&site, &key), 7_000);
}

#[test]
fn cuts_large_groups_to_bound_and_goes_on() {
    use mercato_format::ColumnKind;
    use mercato_format::writer::{Column, ColumnValues};
    let site = Site::with_cities();
    let texts = (0..40).map(|number| Some(format!("{number:02}").repeat(50_000))).collect();
    let columns = [Column::new("text", ColumnKind::Text, ColumnValues::Texts(texts))];
    site.publish("long", &MANIFEST.replace("\"cities\"", "\"long\""), "1.0.0", &columns);
    let key = site.paying_key(1_000);
    let (mut starts, mut cursor) = (Vec::new(), Value::Null);
    while starts.len() < 40 {
        let asked = json!({ "slug": "long", "groupBy": ["text"], "limit": 40, "cursor": cursor });
        let page = structured(&site, &key, "aggregate_rows", asked);
        let rows = page["rows"].as_array().unwrap();
        assert!(!rows.is_empty() && page["creditsCharged"] == rows.len());
        starts.extend(rows.iter().map(|row| row["text"].as_str().unwrap()[..2].parse::<u32>().unwrap()));
        cursor = page["nextCursor"].clone();
    }
    assert!(cursor.is_null() && starts.into_iter().eq(0..40));
}

#[test]
fn refuses_above_ceiling_and_says_cost() {
    let site = site();
    let key = site.paying_key(5_000);
    for (more, cost, ceiling) in [
        (json!({ "maxCredits": 5 }), "would cost 6 credits", "5"),
        (json!({ "limit": 2, "maxCredits": 1 }), "would cost 2 credits", "1"),
        (json!({ "filters": { "name": "Roma" }, "maxCredits": 0 }), "would cost 1 credit ", "0"),
        (json!({ "groupBy": ["id"], "limit": 3_000 }), "would cost 3,000 credits", "1,000"),
    ] {
        let mut asked = by_name();
        asked.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let text = fault(&site, &key, "aggregate_rows", towns(asked));
        assert!(
            text.contains(cost) && text.contains(&format!("above maxCredits {ceiling};")),
            "{more}: {text}"
        );
        assert!(text.contains("nothing was charged") && text.contains("MAX_CREDITS"), "{text}");
    }
    assert_eq!(credits(&site, &key), 5_000);
    let mut asked = by_name();
    asked["maxCredits"] = json!(6);
    assert_eq!(structured(&site, &key, "aggregate_rows", towns(asked))["creditsCharged"], 6);
}

/// A refusal at `maxCredits` costs nothing, so it must not tell how many groups fulfil a condition or follow a cursor.
#[test]
fn refuses_conditions_on_aggregates_above_ceiling_alike() {
    let site = site();
    let key = site.paying_key(100);
    let mut asked = by_name();
    asked["limit"] = json!(4);
    asked["sortBy"] = json!("area");
    let cursor = structured(&site, &key, "aggregate_rows", towns(asked.clone()))["nextCursor"].clone();
    asked["maxCredits"] = json!(3);
    let mut behind = asked.clone();
    behind["cursor"] = cursor;
    let conditions = [1, 501, 1_000_000].map(|least| {
        let mut asked = asked.clone();
        asked["having"] = json!({ "n_min": least });
        asked
    });
    for asked in conditions.into_iter().chain([behind]) {
        let text = fault(&site, &key, "aggregate_rows", towns(asked.clone()));
        assert!(text.contains("would cost up to 4 credits"), "{asked}: {text}");
    }
    assert_eq!(credits(&site, &key), 96);
}

#[test]
fn charges_once_under_same_idempotency_key() {
    let site = site();
    let key = site.paying_key(100);
    let mut asked = towns(by_name());
    asked["idempotencyKey"] = json!("once");
    let first = structured(&site, &key, "aggregate_rows", asked.clone());
    asked["maxCredits"] = json!(0);
    let again = structured(&site, &key, "aggregate_rows", asked);
    assert_eq!((&again["creditsCharged"], &again["replayed"]), (&json!(0), &json!(true)));
    assert_eq!((&again["rows"], credits(&site, &key)), (&first["rows"], 94));
}

#[test]
fn tells_model_of_wrong_arguments_and_of_seller() {
    let site = site();
    let key = site.paying_key(100);
    for (arguments, expected) in [
        (json!({}), "groupBy or aggregates is required"),
        (json!({ "groupBy": null, "having": { "n": 1 } }), "groupBy or aggregates is required"),
        (json!({ "groupBy": ["nme"] }), "`name`"),
        (json!({ "groupBy": [], "aggregates": {} }), "name a column in `groupBy`"),
        (json!({ "groupBy": ["name"], "columns": ["name"] }), "UNKNOWN_FIELD"),
        (json!({ "groupBy": ["name"], "sortBy": "id" }), "sortBy"),
        (json!({ "aggregates": { "n": { "op": "cout" } } }), "`count`"),
        (json!({ "groupBy": ["name"], "limit": 10_001 }), "from 1 to 10,000"),
    ] {
        let text = fault(&site, &key, "aggregate_rows", towns(arguments.clone()));
        assert!(text.contains(expected), "{arguments}: {text}");
    }
    assert!(fault(&site, "", "aggregate_rows", towns(by_name())).contains("API_KEY_MISSING"));
    let offer = |offer: &str, version: &str| {
        site.publish("cities", &format!("{MANIFEST}[query]\n{offer}\n"), version, &city_columns(13));
        let mut asked = by_name();
        asked["slug"] = json!("cities");
        asked
    };
    let asked = offer("groups = \"off\"", "1.1.0");
    assert!(fault(&site, &key, "aggregate_rows", asked).contains("GROUPS_OFF"));
    let asked = offer("min_group_rows = 3", "1.2.0");
    let result = call(&site, &key, "aggregate_rows", asked)["structuredContent"].clone();
    assert_eq!(result["rowsReturned"], 1);
    assert!(result["warnings"][0].as_str().unwrap().starts_with("5 groups were left out"), "{result}");
    assert_eq!(credits(&site, &key), 99);
}
