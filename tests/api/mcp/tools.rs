//! Results of the tools, against their listed schemas and beside the API.

use serde_json::{Value, json};

use super::{answered, call, fault, post, site, stateless, structured};
use crate::harness::{MANIFEST, Site, city_columns};
use crate::openapi::schema_faults;

/// The schema of a tool's input or output.
pub(super) fn schema(site: &Site, tool: &str, which: &str) -> Value {
    let listed = answered(&site.send(&stateless("tools/list", json!({}))));
    let tools = listed["result"]["tools"].as_array().unwrap().clone();
    tools.into_iter().find(|listed| listed["name"] == tool).unwrap()[which].clone()
}

/// Checks a structured result against the schema of its tool.
#[track_caller]
pub(super) fn check_output(site: &Site, tool: &str, structured: &Value) {
    let schema: &'static Value = Box::leak(Box::new(schema(site, tool, "outputSchema")));
    let faults = schema_faults(schema, structured);
    assert!(faults.is_empty(), "{tool}: {faults:#?}\n{structured}");
}

#[test]
fn searches_and_lists_datasets_without_key() {
    let site = site();
    let found = structured(&site, "", "search_datasets", json!({ "query": "towns" }));
    assert_eq!((&found["total"], &found["results"][0]["slug"]), (&json!(2), &json!("towns")));
    assert!(!found["results"][0]["matchedOn"].as_array().unwrap().is_empty());
    let all = structured(&site, "", "search_datasets", json!({ "limit": 1 }));
    assert_eq!((&all["total"], &all["nextOffset"]), (&json!(2), &json!(1)));
    let rest = structured(&site, "", "search_datasets", json!({ "offset": 1, "lang": "it" }));
    assert_eq!((rest["results"].as_array().unwrap().len(), &rest["nextOffset"]), (1, &Value::Null));
    assert_ne!(all["results"][0]["slug"], rest["results"][0]["slug"]);
    let tagged = structured(&site, "", "search_datasets", json!({ "tags": ["geo", "towns"] }));
    assert_eq!(tagged["total"], 2);
    let none = structured(&site, "", "search_datasets", json!({ "tags": ["geo", "none"], "query": "towns" }));
    assert_eq!((&none["total"], &none["results"]), (&json!(0), &json!([])));
    let beyond = structured(&site, "", "search_datasets", json!({ "query": "towns", "offset": 1_000_000 }));
    assert_eq!((&beyond["results"], &beyond["nextOffset"]), (&json!([]), &Value::Null));
}

#[test]
fn describes_dataset_like_api() {
    let site = site();
    let described = structured(&site, "", "describe_dataset", json!({ "slug": "towns", "lang": "it" }));
    let header = site.get("/api/v1/datasets/towns?lang=it").json()["data"].clone();
    let schema = site.get("/api/v1/datasets/towns/schema").json()["data"].clone();
    for (own, of_api) in [
        ("title", "title"),
        ("license", "license"),
        ("tags", "tags"),
        ("version", "currentVersion"),
        ("rowCount", "rowCount"),
        ("columnCount", "columnCount"),
        ("updatedAt", "updatedAt"),
        ("priceOfAllRows", "priceForDownload"),
    ] {
        assert_eq!(described[own], header[of_api], "{own}");
    }
    assert_eq!(described["columns"], schema["columns"]);
    assert_eq!((&described["versions"], &described["nextColumnOffset"]), (&json!(["1.0.0"]), &Value::Null));
    let rest = structured(&site, "", "describe_dataset", json!({ "slug": "towns", "columnOffset": 5 }));
    assert_eq!(rest["columns"].as_array().unwrap()[..], schema["columns"].as_array().unwrap()[5..]);
    let none = structured(&site, "", "describe_dataset", json!({ "slug": "towns", "columnOffset": 99 }));
    assert_eq!(none["columns"], json!([]));
}

#[test]
fn tells_columns_of_wide_dataset_in_pages() {
    use mercato_format::ColumnKind;
    use mercato_format::writer::{Column, ColumnValues};
    let site = Site::with_cities();
    let column = |number: usize| {
        Column::new(&format!("c{number:03}"), ColumnKind::Integer, ColumnValues::Integers(vec![Some(1)]))
    };
    let columns: Vec<Column> = (0..250).map(column).collect();
    site.publish("wide", &MANIFEST.replace("\"cities\"", "\"wide\""), "1.0.0", &columns);
    let (mut names, mut offset) = (Vec::new(), json!(0));
    while !offset.is_null() {
        let page =
            structured(&site, "", "describe_dataset", json!({ "slug": "wide", "columnOffset": offset }));
        let told = page["columns"].as_array().unwrap();
        assert!(told.len() <= 100 && page["columnCount"] == 250);
        names.extend(told.iter().map(|column| column["name"].as_str().unwrap().to_owned()));
        offset = page["nextColumnOffset"].clone();
    }
    assert!(names.len() == 250 && names.is_sorted());
}

#[test]
fn samples_rows_of_free_sample_only() {
    let site = site();
    let free = site.get("/api/v1/datasets/towns/sample").json()["data"]["results"].clone();
    let free = free.as_array().unwrap();
    for limit in [1, 3, 5, 7, 64, 99, 100] {
        let sample = structured(&site, "", "sample_rows", json!({ "slug": "towns", "limit": limit }));
        let rows = sample["rows"].as_array().unwrap();
        assert_eq!((rows.len(), &sample["totalRows"]), (limit, &json!(3_000)));
        assert!(rows.iter().all(|row| free.contains(row)), "other numbers of rows show no other rows");
    }
    let default = structured(&site, "", "sample_rows", json!({ "slug": "towns" }));
    assert_eq!(default["rowsReturned"], 5);
    let named = structured(
        &site,
        "",
        "sample_rows",
        json!({ "slug": "cities", "columns": ["name", "id"], "limit": 1 }),
    );
    assert_eq!(named["rows"], json!([{ "name": "Roma", "id": 1 }]));
    let whole = structured(&site, "", "sample_rows", json!({ "slug": "cities", "limit": 100 }));
    assert_eq!(whole["rowsReturned"], 6);
    assert!(whole["warnings"][0].as_str().unwrap().contains("1 value is NaN"), "{whole}");
}

#[test]
fn queries_rows_like_api_with_exact_values() {
    let site = site();
    let key = site.paying_key(1_000);
    let arguments = json!({ "filters": { "id": { "gt": 100 } }, "sortBy": "area", "columns": ["id", "area"], "limit": 7 });
    let of_api = site.query("towns", &key, &arguments.to_string());
    let mut named = arguments.clone();
    named["slug"] = json!("towns");
    let ask = stateless("tools/call", json!({ "name": "query_rows", "arguments": named }))
        .header("X-Api-Key", &key);
    let answer = site.send(&ask);
    let rows = |text: &str, name: &str| {
        let at = text.find(name).unwrap() + name.len();
        text[at..].split_once(']').unwrap().0.to_owned()
    };
    // As bytes: a decimal keeps its scale.
    assert_eq!(rows(&answer.text(), "\"rows\":"), rows(&of_api.text(), "\"results\":"));
    assert!(answer.text().contains("\"area\":871.01"), "{}", answer.text());
    let (own, of_api) =
        (answered(&answer)["result"]["structuredContent"].clone(), of_api.json()["data"].clone());
    assert_eq!((&own["nextCursor"], &own["totalRows"]), (&of_api["nextCursor"], &of_api["totalRows"]));
}

#[test]
fn walks_all_rows_by_cursor_once() {
    let site = site();
    let key = site.paying_key(10_000);
    let (mut ids, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let arguments =
            json!({ "slug": "towns", "sortBy": "name", "limit": 700, "columns": ["id"], "cursor": cursor });
        let page = structured(&site, &key, "query_rows", arguments);
        ids.extend(page["rows"].as_array().unwrap().iter().map(|row| row["id"].as_u64().unwrap()));
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    ids.sort_unstable();
    assert!(ids.iter().copied().eq(1..=3_000));
}

#[test]
fn cuts_large_answer_to_its_bound_and_goes_on() {
    use mercato_format::ColumnKind;
    use mercato_format::writer::{Column, ColumnValues};
    let site = Site::with_cities();
    let texts = (0..40).map(|number| Some(format!("{number:02}").repeat(50_000))).collect();
    let columns = [
        Column::new("id", ColumnKind::Integer, ColumnValues::Integers((0..40).map(Some).collect())),
        Column::new("text", ColumnKind::Text, ColumnValues::Texts(texts)),
    ];
    site.publish("long", &MANIFEST.replace("\"cities\"", "\"long\""), "1.0.0", &columns);
    let key = site.paying_key(1_000);
    let (mut ids, mut cursor, mut charged) = (Vec::new(), Value::Null, 0);
    while ids.len() < 40 {
        let page =
            structured(&site, &key, "query_rows", json!({ "slug": "long", "limit": 40, "cursor": cursor }));
        assert!(page.to_string().len() < (1 << 20) + 2_000);
        let rows = page["rows"].as_array().unwrap();
        assert!(!rows.is_empty() && page["creditsCharged"] == rows.len());
        charged += rows.len();
        ids.extend(rows.iter().map(|row| row["id"].as_u64().unwrap()));
        cursor = page["nextCursor"].clone();
    }
    assert!(cursor.is_null() && ids.iter().copied().eq(0..40) && charged == 40);
    let first = call(&site, &key, "query_rows", json!({ "slug": "long", "limit": 40 }));
    assert!(first["content"][0]["text"].as_str().unwrap().contains("Cut to"), "{}", first["content"]);
    let sample = structured(&site, "", "sample_rows", json!({ "slug": "long", "limit": 40 }));
    assert!(sample["rowsReturned"].as_u64().unwrap() < 40);
}

#[test]
fn reads_older_version_where_named() {
    let site = site();
    site.publish("cities", MANIFEST, "2.0.0", &city_columns(4));
    let key = site.paying_key(100);
    for (version, rows) in [(json!("1.0.0"), 6), (json!("2.0.0"), 4), (Value::Null, 4)] {
        let arguments = json!({ "slug": "cities", "version": version });
        let described = structured(&site, "", "describe_dataset", arguments.clone());
        assert_eq!(
            (&described["rowCount"], &described["versions"]),
            (&json!(rows), &json!(["2.0.0", "1.0.0"]))
        );
        assert_eq!(structured(&site, "", "sample_rows", arguments.clone())["totalRows"], rows);
        assert_eq!(structured(&site, "", "estimate_cost", arguments.clone())["matchingRows"], rows);
        assert_eq!(structured(&site, &key, "query_rows", arguments)["rowsReturned"], rows);
    }
}

#[test]
fn tells_of_unknown_dataset_with_tool_as_remedy() {
    let site = site();
    for tool in ["describe_dataset", "sample_rows", "estimate_cost"] {
        let text = fault(&site, "", tool, json!({ "slug": "nothing-like-it" }));
        assert!(
            text.contains("no dataset `nothing-like-it` is published") && text.contains("search_datasets"),
            "{text}"
        );
        assert!(!text.contains("GET "), "the remedy is a tool, not a path: {text}");
    }
}

#[test]
fn accepts_inputs_that_schemas_allow() {
    let site = site();
    let key = site.paying_key(1_000);
    for (tool, arguments) in [
        (
            "search_datasets",
            json!({ "query": "towns", "tags": ["geo"], "limit": 50, "offset": 0, "lang": "en" }),
        ),
        (
            "describe_dataset",
            json!({ "slug": "cities", "version": "1.0.0", "columnOffset": 0, "lang": "it" }),
        ),
        ("sample_rows", json!({ "slug": "cities", "columns": ["id"], "limit": 100, "version": "1.0.0" })),
        (
            "estimate_cost",
            json!({ "slug": "cities", "filters": {}, "columns": [], "sortBy": "id", "sortDirection": "desc",
                "limit": 10_000, "offset": 1, "version": "1.0.0" }),
        ),
        (
            "query_rows",
            json!({ "slug": "cities", "filters": {}, "columns": ["id"], "sortBy": "id", "sortDirection": "desc",
                "limit": 10_000, "offset": 1, "version": "1.0.0", "maxCredits": 5, "idempotencyKey": "k" }),
        ),
    ] {
        let described = schema(&site, tool, "inputSchema");
        for name in arguments.as_object().unwrap().keys() {
            assert!(described["properties"].get(name).is_some(), "{tool} {name}");
        }
        structured(&site, &key, tool, arguments);
    }
    let nothing =
        post(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_datasets"}}"#);
    assert_eq!(answered(&site.send(&nothing))["result"]["isError"], false);
}
