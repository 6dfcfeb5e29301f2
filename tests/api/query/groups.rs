//! Groups and aggregates over HTTP: answers, price, walks, refusals, and what they must not tell.

use serde_json::{Value, json};

use crate::harness::{Answer, Ask, MANIFEST, Site, city_columns};

fn site_with(rows: i64, offer: &str) -> Site {
    let site = Site::with_cities();
    site.publish("cities", &format!("{MANIFEST}{offer}"), "1.1.0", &city_columns(rows));
    site
}

fn stream(site: &Site, key: &str, accept: &str, body: &str) -> Answer {
    let ask = Ask::post("/api/v1/datasets/cities/query/stream", body);
    site.send(&ask.header("X-Api-Key", key).header("Accept", accept))
}

fn estimate(site: &Site, key: &str, body: &str) -> Answer {
    site.send(&Ask::post("/api/v1/datasets/cities/query/estimate", body).header("X-Api-Key", key))
}

fn results(answer: &Answer) -> Vec<Value> {
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["data"]["results"].as_array().unwrap().clone()
}

/// Status, code and details of a refusal.
fn refused(answer: &Answer) -> (u16, String, Value) {
    let error = answer.json()["error"].clone();
    (answer.status, error["code"].as_str().unwrap_or_default().to_owned(), error["details"].clone())
}

const BY_NAME: &str =
    r#"{"groupBy": ["name"], "aggregates": {"n": {"op": "count"}, "area": {"op": "sum", "column": "area"}}}"#;

#[test]
fn answers_groups_in_every_format_for_a_credit_each() {
    let site = site_with(13, "");
    let key = site.paying_key(1_000);
    let answer = site.query("cities", &key, BY_NAME);
    let row = r#"{"name":"Genova","n":2,"area":1801.84}"#;
    assert!(
        answer.text().contains(&format!(r#"{{"results":[{row},{{"name":"Milano","n":2,"#)),
        "{}",
        answer.text()
    );
    let json = answer.json();
    assert_eq!((&json["data"]["rowsReturned"], &json["data"]["totalRows"]), (&json!(6), &json!(6)));
    assert_eq!(json["meta"]["credits"], json!({"charged": 6, "remaining": 994}));
    for (accept, start) in [
        ("text/csv", "name,n,area\r\nGenova,2,1801.84\r\n"),
        ("application/x-ndjson", "{\"name\":\"Genova\",\"n\":2,\"area\":1801.84}\n"),
    ] {
        let body = Ask::post("/api/v1/datasets/cities/query", BY_NAME);
        let page = site.send(&body.header("X-Api-Key", &key).header("Accept", accept));
        assert!(page.text().starts_with(start), "{}", page.text());
        assert_eq!(page.header("X-Total-Rows"), Some("6"));
        assert_eq!(stream(&site, &key, accept, BY_NAME).text(), page.text());
    }
    for accept in [
        "application/vnd.apache.arrow.stream",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ] {
        let body = Ask::post("/api/v1/datasets/cities/query", BY_NAME);
        let page = site.send(&body.header("X-Api-Key", &key).header("Accept", accept));
        assert_eq!((page.status, page.header("X-Rows-Returned")), (200, Some("6")), "{accept}");
    }
    let target = "/api/v1/datasets/cities/query?groupBy=name&aggregates=%7B%22n%22%3A%7B%22op%22%3A%22count%22%7D%7D\
                  &having=%7B%22n_min%22%3A3%7D";
    assert_eq!(
        results(&site.send(&Ask::get(target).header("X-Api-Key", &key))),
        [json!({"name": "Roma", "n": 3})]
    );
}

#[test]
fn groups_by_periods_and_widths() {
    let site = site_with(50, "");
    let key = site.paying_key(1_000);
    let body = r#"{"groupBy": [{"column": "founded", "by": "month", "as": "month"}], "aggregates": {"n": {"op": "count"}}}"#;
    let months = ["1970-01-01", "1970-02-01"]
        .map(|month| json!({"month": month, "n": if month == "1970-01-01" { 30 } else { 19 }}));
    assert_eq!(
        results(&site.query("cities", &key, body)),
        [&months[..], &[json!({"month": null, "n": 1})]].concat()
    );
    let body = r#"{"groupBy": [{"column": "seen", "by": "hour"}], "aggregates": {"last": {"op": "max", "column": "seen"}}}"#;
    let hour = json!({"seen": "2023-11-14T22:00:00.000Z", "last": "2023-11-14T22:14:09.123Z"});
    assert_eq!(results(&site.query("cities", &key, body)), [hour]);
    let body = r#"{"groupBy": [{"column": "id", "width": 20}], "aggregates": {"mean": {"op": "avg", "column": "area"}}}"#;
    let text = site.query("cities", &key, body).text();
    assert!(text.contains(r#"[{"id":0,"mean":900.91000000},{"id":20,"mean":900.71500000},"#), "{text}");
}

#[test]
fn answers_one_group_without_group_by() {
    let site = site_with(6, "");
    let key = site.paying_key(1_000);
    let aggregates = r#""aggregates": {"n": {"op": "count"}, "heights": {"op": "count", "column": "height"},
        "names": {"op": "countDistinct", "column": "name"}, "height": {"op": "sum", "column": "height"},
        "middle": {"op": "median", "column": "id"}, "high": {"op": "quantile", "q": 0.9, "column": "id"}}"#;
    let all = json!({"n": 6, "heights": 5, "names": 6, "height": null, "middle": 3, "high": 6});
    assert_eq!(results(&site.query("cities", &key, &format!("{{{aggregates}}}"))), [all]);
    let none = json!({"n": 0, "heights": 0, "names": 0, "height": null, "middle": null, "high": null});
    let body = format!(r#"{{"filters": {{"id_min": 100}}, {aggregates}}}"#);
    assert_eq!(results(&site.query("cities", &key, &body)), [none]);
    let body = r#"{"filters": {"id_min": 100}, "groupBy": ["name"]}"#;
    let answer = site.query("cities", &key, body);
    assert_eq!((results(&answer).len(), answer.header("X-Credits-Charged")), (0, Some("0")));
}

#[test]
fn walks_over_every_group_once_by_cursor() {
    let site = site_with(40, "");
    let key = site.paying_key(10_000);
    for (sort, direction) in
        [("", "asc"), ("", "desc"), ("n", "desc"), ("height", "asc"), ("founded", "desc")]
    {
        let mut body = json!({"groupBy": ["height", "founded"], "aggregates": {"n": {"op": "count"}},
            "sortDirection": direction, "limit": 1_000, "having": {"$not": {"height": 7.5}}});
        if !sort.is_empty() {
            body["sortBy"] = sort.into();
        }
        let whole = results(&site.query("cities", &key, &body.to_string()));
        // A negation matches neither null nor NaN.
        assert_eq!(whole.len(), 37);
        body["limit"] = 7.into();
        let mut walked = Vec::new();
        loop {
            let answer = site.query("cities", &key, &body.to_string());
            walked.extend(results(&answer));
            match &answer.json()["data"]["nextCursor"] {
                Value::Null => break,
                cursor => body["cursor"] = cursor.clone(),
            }
        }
        assert_eq!(walked, whole, "{sort} {direction}");
        body["having"] = json!({"n_min": 1});
        let (status, _, details) = refused(&site.query("cities", &key, &body.to_string()));
        assert_eq!((status, details["reason"].as_str()), (400, Some("CURSOR_QUERY_MISMATCH")));
    }
}

#[test]
fn resumes_stream_of_groups() {
    let site = site_with(40, "");
    let key = site.paying_key(10_000);
    let body = r#"{"groupBy": ["id"], "limit": 15, "sortBy": "id", "sortDirection": "desc"}"#;
    let text = stream(&site, &key, "text/event-stream", body).text();
    let ids: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("id: ")).collect();
    assert_eq!((ids.len(), text.matches("data: ").count()), (2, 15));
    assert!(text.contains(r#""creditsCharged":15}"#), "{text}");
    let ask = Ask::post("/api/v1/datasets/cities/query/stream", body);
    let rest = site.send(&ask.header("X-Api-Key", &key).header("Last-Event-ID", ids[1])).text();
    assert!(rest.contains("data: {\"id\":25}\n"), "{rest}");
}

#[test]
fn pays_once_under_a_key_and_refuses_who_cannot_pay() {
    let site = site_with(13, "");
    let key = site.paying_key(7);
    let ask = || {
        let ask = Ask::post("/api/v1/datasets/cities/query", BY_NAME).header("X-Api-Key", &key);
        site.send(&ask.header("Idempotency-Key", "groups-1"))
    };
    assert_eq!(
        (ask().header("X-Credits-Charged"), ask().header("Idempotent-Replayed")),
        (Some("6"), Some("true"))
    );
    let (status, code, details) = refused(&site.query("cities", &key, BY_NAME));
    assert_eq!((status, code.as_str(), &details["shortfall"]), (402, "NO_CREDITS", &json!(5)));
    assert_eq!(
        estimate(&site, &key, BY_NAME).json()["data"],
        json!({"rows": 6, "creditsRequired": 6, "creditsAvailable": 1, "affordable": false})
    );
    assert_eq!(results(&site.query("cities", &site.free_key(), BY_NAME)).len(), 6, "a free query");
}

/// The outcome of a condition on groups is for sale.
#[test]
fn estimates_tell_no_aggregate() {
    let site = site_with(13, "");
    let key = site.paying_key(100);
    for least in [1, 1_000_000] {
        let body = format!(
            r#"{{"groupBy": ["name"], "aggregates": {{"n": {{"op": "count"}}}}, "having": {{"n_min": {least}}}}}"#
        );
        let data = estimate(&site, &key, &body).json()["data"].clone();
        assert_eq!((&data["rowsAtLeast"], &data["rows"]), (&json!(0), &json!(6)), "{data}");
    }
}

/// Who cannot pay for all groups that there may be is refused before the condition shows.
#[test]
fn conditions_tell_nothing_to_who_cannot_pay() {
    let site = site_with(13, "");
    let key = site.paying_key(3);
    let outcomes = [2, 1_000_000].map(|least| {
        let body = format!(
            r#"{{"groupBy": ["name"], "aggregates": {{"n": {{"op": "count"}}}}, "having": {{"n_min": {least}}}}}"#
        );
        let told = |answer: Answer| {
            let (status, code, details) = refused(&answer);
            (status, code, details["shortfall"].clone())
        };
        (told(site.query("cities", &key, &body)), told(stream(&site, &key, "text/csv", &body)))
    });
    assert_eq!(outcomes[0], outcomes[1]);
    assert_eq!((outcomes[0].0.0, outcomes[0].1.0), (402, 402));
}

#[test]
fn refuses_questions_that_do_not_fit() {
    let site = site_with(6, "");
    let key = site.paying_key(100);
    for (body, pointer, reason) in [
        (r#"{"groupBy": ["nam"]}"#, "/groupBy/0", "UNKNOWN_COLUMN"),
        (r#"{"groupBy": [{"column": "nam", "by": "month"}]}"#, "/groupBy/0/column", "UNKNOWN_COLUMN"),
        (r#"{"groupBy": [{"column": "name", "by": "month"}]}"#, "/groupBy/0/by", "OPERATOR_NOT_APPLICABLE"),
        (r#"{"groupBy": [{"column": "founded", "by": "hour"}]}"#, "/groupBy/0/by", "OPERATOR_NOT_APPLICABLE"),
        (r#"{"groupBy": [{"column": "founded", "by": "monht"}]}"#, "/groupBy/0/by", "UNKNOWN_VALUE"),
        (r#"{"groupBy": [{"column": "id", "width": 0.5}]}"#, "/groupBy/0/width", "OUT_OF_RANGE"),
        (r#"{"groupBy": [{"column": "id", "size": 5}]}"#, "/groupBy/0/size", "UNKNOWN_FIELD"),
        (r#"{"groupBy": ["id", "id"]}"#, "/groupBy/1", "DUPLICATE_COLUMN"),
        (r#"{"groupBy": "id"}"#, "/groupBy", "WRONG_TYPE"),
        (r#"{"groupBy": ["id"], "columns": ["id"]}"#, "/columns", "FIELD_NOT_APPLICABLE"),
        (r#"{"groupBy": ["id"], "sortBy": "name"}"#, "/sortBy", "UNKNOWN_COLUMN"),
        (r#"{"groupBy": ["id"], "having": {"n_min": 5}}"#, "/having/n_min", "UNKNOWN_COLUMN"),
        (r#"{"groupBy": ["id"], "having": {"id": "x"}}"#, "/having/id", "TYPE_MISMATCH"),
        (r#"{"having": {"id": 5}}"#, "/having", "FIELD_NOT_APPLICABLE"),
        (r#"{"aggregates": {"n": {"op": "cout"}}}"#, "/aggregates/n/op", "UNKNOWN_VALUE"),
        (r#"{"aggregates": {"n": {"op": "sum"}}}"#, "/aggregates/n/column", "WRONG_TYPE"),
        (
            r#"{"aggregates": {"n": {"op": "sum", "column": "name"}}}"#,
            "/aggregates/n/column",
            "OPERATOR_NOT_APPLICABLE",
        ),
        (
            r#"{"aggregates": {"n": {"op": "median", "column": "name"}}}"#,
            "/aggregates/n/column",
            "OPERATOR_NOT_APPLICABLE",
        ),
        (r#"{"aggregates": {"n": {"op": "quantile", "column": "id"}}}"#, "/aggregates/n/q", "WRONG_TYPE"),
        (
            r#"{"aggregates": {"n": {"op": "quantile", "column": "id", "q": 2}}}"#,
            "/aggregates/n/q",
            "OUT_OF_RANGE",
        ),
    ] {
        let (status, _, details) = refused(&site.query("cities", &key, body));
        let found = (status, details["pointer"].as_str(), details["reason"].as_str());
        assert_eq!(found, (400, Some(pointer), Some(reason)), "{body}: {details}");
    }
    let body = r#"{"groupBy": ["nam", {"column": "ide"}], "filters": {"x": 1}, "limit": 0}"#;
    let faults = refused(&site.query("cities", &key, body)).2["errors"].as_array().unwrap().len();
    assert_eq!(faults, 4, "all faults at once");
}

#[test]
fn refuses_groups_that_seller_does_not_offer() {
    let site = site_with(13, "[query]\ngroups = \"off\"\n");
    let key = site.paying_key(100);
    for body in [
        BY_NAME,
        r#"{"groupBy": ["nonsense"]}"#,
        r#"{"aggregates": {"n": {"op": "count"}}, "filters": {"$not": {"id": 1}}}"#,
    ] {
        let answers = [
            site.query("cities", &key, body),
            estimate(&site, &key, body),
            stream(&site, &key, "text/csv", body),
        ];
        for answer in answers {
            let (status, code, details) = refused(&answer);
            assert_eq!(
                (status, code.as_str(), details["reason"].as_str()),
                (403, "FORBIDDEN", Some("GROUPS_OFF"))
            );
        }
    }
    assert_eq!(results(&site.query("cities", &key, "{}")).len(), 13, "rows are offered");
    let schema = site.get("/api/v1/datasets/cities/schema").json();
    assert_eq!(schema["data"]["query"], json!({"groups": "off", "minGroupRows": 0}));
}

/// 13 rows: Roma three times, the others twice.
#[test]
fn leaves_out_small_groups_whatever_is_asked() {
    let site = site_with(13, "[query]\nmin_group_rows = 3\n");
    let key = site.paying_key(100);
    let schema = site.get("/api/v1/datasets/cities/schema").json();
    assert_eq!(schema["data"]["query"], json!({"groups": "on", "minGroupRows": 3}));
    for extra in [
        "",
        r#", "having": {"n_max": 2}"#,
        r#", "having": {"$not": {"n": 3}}"#,
        r#", "filters": {"$not": {"name": "Roma"}}"#,
    ] {
        let body = format!(r#"{{"groupBy": ["name"], "aggregates": {{"n": {{"op": "count"}}}}{extra}}}"#);
        let answer = site.query("cities", &key, &body);
        let small = results(&answer).iter().filter(|row| row["n"].as_i64() < Some(3)).count();
        assert_eq!(small, 0, "{}", answer.text());
        let warning = answer.json()["meta"]["warnings"][0].as_str().unwrap().to_owned();
        assert!(warning.starts_with("5 groups were left out"), "{warning}");
    }
    // How many rows match a condition that few fulfil, and whether any does, looks the same.
    let told = [r#"{"id": 1}"#, r#"{"id_max": 2}"#, r#"{"id_min": 1000}"#].map(|filters| {
        let body = format!(
            r#"{{"filters": {filters}, "aggregates": {{"top": {{"op": "max", "column": "area"}}}}}}"#
        );
        let answer = site.query("cities", &key, &body).json();
        (
            answer["data"].clone(),
            answer["meta"]["warnings"].clone(),
            estimate(&site, &key, &body).json()["data"].clone(),
        )
    });
    assert!(told.iter().all(|found| *found == told[0]), "{told:?}");
    assert_eq!(told[0].0["results"], json!([]));
    let streamed = stream(&site, &key, "text/csv", BY_NAME);
    assert_eq!(
        (streamed.text().as_str(), streamed.header("X-Warnings").is_some()),
        ("name,n,area\r\nRoma,3,2702.82\r\n", true)
    );
}

#[test]
fn refuses_sums_of_too_many_digits() {
    use mercato_format::ColumnKind;
    use mercato_format::writer::{Column, ColumnValues};
    let site = Site::empty(&["--requests-per-minute", "0"]);
    let values = ColumnValues::Wide(vec![Some(i128::MAX / 2), Some(i128::MAX / 2), Some(-5)]);
    let columns = [Column::new("id", ColumnKind::Decimal { precision: 38, scale: 2 }, values)];
    site.publish("cities", MANIFEST, "1.0.0", &columns);
    let key = site.paying_key(100);
    let body = r#"{"aggregates": {"total": {"op": "sum", "column": "id"}}}"#;
    for answer in [site.query("cities", &key, body), stream(&site, &key, "text/csv", body)] {
        let (status, code, details) = refused(&answer);
        assert_eq!(
            (status, code.as_str(), details["reason"].as_str()),
            (422, "UNPROCESSABLE", Some("OVERFLOW"))
        );
        assert_eq!(details["aggregate"], "total");
    }
    let body = r#"{"filters": {"id_max": 0}, "aggregates": {"total": {"op": "sum", "column": "id"}}}"#;
    assert!(site.query("cities", &key, body).text().contains(r#"{"total":-0.05}"#));
}
