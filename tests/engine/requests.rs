//! Bad requests: each kind has its reason, its pointer and a hint, and the errors of a body come at once.

use mercato_format::writer::{Column, ColumnValues, temporary_table};
use mercato_format::{ColumnKind, Table, TimeUnit};
use mercato_query::{
    Purpose, QueryError, QueryRequest, Reason, VALIDATION_ERRORS_MAX, ValidationError, plan,
};

fn table() -> Table {
    let texts =
        |values: &[&str]| ColumnValues::Texts(values.iter().map(|value| Some((*value).into())).collect());
    let mut hidden = Column::new("hidden", ColumnKind::Text, texts(&["p", "q"]));
    hidden.sort_index = false;
    temporary_table(&[
        Column::new("name", ColumnKind::Text, texts(&["a", "b"])),
        Column::new(
            "price",
            ColumnKind::Decimal { precision: 15, scale: 2 },
            ColumnValues::Integers(vec![Some(100), Some(250)]),
        ),
        Column::new("price_max", ColumnKind::Integer, ColumnValues::Integers(vec![Some(1), Some(2)])),
        Column::new("ratio", ColumnKind::Float, ColumnValues::Floats(vec![Some(0.5), None])),
        Column::new("open", ColumnKind::Boolean, ColumnValues::Booleans(vec![Some(true), Some(false)])),
        Column::new(
            "at",
            ColumnKind::Timestamp { unit: TimeUnit::Second },
            ColumnValues::Integers(vec![Some(0), Some(86_400)]),
        ),
        Column::new("$aud", ColumnKind::Integer, ColumnValues::Integers(vec![Some(1), Some(2)])),
        hidden,
    ])
    .unwrap()
}

fn errors(body: &str) -> Vec<ValidationError> {
    match QueryRequest::from_json(body.as_bytes(), 10_000) {
        Err(errors) => errors,
        Ok(request) => match plan(&request, &table(), "t@1", &mercato_query::Unlimited) {
            Err(QueryError::Invalid(errors)) => errors,
            other => panic!("{body}: {other:?}"),
        },
    }
}

#[test]
fn errors_have_reason_and_pointer() {
    let deep = format!("{{\"filters\":{}{}{}}}", "{\"$not\":".repeat(7), "{\"name\":\"a\"}", "}".repeat(7));
    let cases: &[(&str, Reason, &str)] = &[
        ("[]", Reason::MalformedJson, ""),
        ("{\"limit\":1", Reason::MalformedJson, ""),
        ("{\"limit\":0}", Reason::OutOfRange, "/limit"),
        ("{\"limit\":10001}", Reason::OutOfRange, "/limit"),
        ("{\"limit\":1.5}", Reason::OutOfRange, "/limit"),
        ("{\"limit\":\"5\"}", Reason::WrongType, "/limit"),
        ("{\"offset\":-1}", Reason::OutOfRange, "/offset"),
        ("{\"offset\":18446744073709551616}", Reason::OutOfRange, "/offset"),
        ("{\"limits\":5}", Reason::UnknownField, "/limits"),
        ("{\"limit\":5,\"limit\":6}", Reason::DuplicateField, "/limit"),
        ("{\"sortDirection\":\"up\"}", Reason::UnknownWord, "/sortDirection"),
        ("{\"count\":\"all\"}", Reason::UnknownWord, "/count"),
        ("{\"count\":true}", Reason::WrongType, "/count"),
        ("{\"for\":\"page\"}", Reason::UnknownField, "/for"),
        ("{\"sortBy\":\"nmae\"}", Reason::UnknownColumn, "/sortBy"),
        ("{\"sortBy\":\"hidden\"}", Reason::SortNotIndexed, "/sortBy"),
        ("{\"columns\":\"name\"}", Reason::WrongType, "/columns"),
        ("{\"columns\":[\"name\",5]}", Reason::WrongType, "/columns/1"),
        ("{\"columns\":[\"name\",\"name\"]}", Reason::DuplicateColumn, "/columns/1"),
        ("{\"columns\":[\"nam\"]}", Reason::UnknownColumn, "/columns/0"),
        ("{\"filters\":[]}", Reason::WrongType, "/filters"),
        ("{\"filters\":{\"nme\":1}}", Reason::UnknownColumn, "/filters/nme"),
        ("{\"filters\":{\"price\":{\"gtee\":1}}}", Reason::UnknownOperator, "/filters/price/gtee"),
        ("{\"filters\":{\"$nor\":[]}}", Reason::UnknownOperator, "/filters/$nor"),
        ("{\"filters\":{\"$or\":[]}}", Reason::WrongType, "/filters/$or"),
        ("{\"filters\":{\"name\":5}}", Reason::TypeMismatch, "/filters/name"),
        ("{\"filters\":{\"price\":\"cheap\"}}", Reason::TypeMismatch, "/filters/price"),
        ("{\"filters\":{\"ratio\":\"0.5\"}}", Reason::TypeMismatch, "/filters/ratio"),
        ("{\"filters\":{\"open\":1}}", Reason::TypeMismatch, "/filters/open"),
        ("{\"filters\":{\"at\":\"soon\"}}", Reason::TypeMismatch, "/filters/at"),
        ("{\"filters\":{\"at\":{\"gte\":5}}}", Reason::TypeMismatch, "/filters/at/gte"),
        (
            "{\"filters\":{\"price\":{\"contains\":\"1\"}}}",
            Reason::OperatorNotApplicable,
            "/filters/price/contains",
        ),
        ("{\"filters\":{\"price\":{\"isNull\":1}}}", Reason::TypeMismatch, "/filters/price/isNull"),
        ("{\"filters\":{\"price\":{\"gt\":null}}}", Reason::WrongType, "/filters/price/gt"),
        ("{\"filters\":{\"price\":[]}}", Reason::WrongType, "/filters/price"),
        ("{\"filters\":{\"price\":[1,null]}}", Reason::WrongType, "/filters/price/1"),
        ("{\"filters\":{\"price\":{\"between\":[1]}}}", Reason::WrongType, "/filters/price/between"),
        ("{\"filters\":{\"price\":{}}}", Reason::WrongType, "/filters/price"),
        ("{\"filters\":{\"price\":{\"isNaN\":true}}}", Reason::OperatorNotApplicable, "/filters/price/isNaN"),
        (
            "{\"filters\":{\"name\":{\"isFinite\":false}}}",
            Reason::OperatorNotApplicable,
            "/filters/name/isFinite",
        ),
        ("{\"filters\":{\"ratio\":{\"isNaN\":1}}}", Reason::TypeMismatch, "/filters/ratio/isNaN"),
        ("{\"filters\":{\"ratio\":{\"isFinite\":null}}}", Reason::TypeMismatch, "/filters/ratio/isFinite"),
        (&deep, Reason::FilterTooDeep, "/filters/$not/$not/$not/$not/$not/$not"),
        ("{\"cursor\":\"???\"}", Reason::CursorInvalid, "/cursor"),
        ("{\"cursor\":5}", Reason::WrongType, "/cursor"),
    ];
    check_first_faults(cases);
}

#[test]
fn rejects_repeated_names() {
    check_first_faults(&[
        ("{\"filters\":{\"price\":1,\"price\":2}}", Reason::DuplicateField, "/filters/price"),
        ("{\"filters\":{\"price\":{\"gte\":1,\"gte\":2}}}", Reason::DuplicateField, "/filters/price/gte"),
        (
            "{\"filters\":{\"$or\":[{\"name\":\"a\"},{\"price\":{\"lt\":9,\"lt\":9}}]}}",
            Reason::DuplicateField,
            "/filters/$or/1/price/lt",
        ),
        (
            "{\"filters\":{\"$not\":{\"name\":\"a\",\"name\":\"b\"}}}",
            Reason::DuplicateField,
            "/filters/$not/name",
        ),
        ("{\"filters\":{\"$or\":[{}],\"$or\":[{}]}}", Reason::DuplicateField, "/filters/$or"),
    ]);
}

fn check_first_faults(cases: &[(&str, Reason, &str)]) {
    for (body, reason, pointer) in cases {
        let found = errors(body);
        assert_eq!((found[0].reason, found[0].pointer.as_str()), (*reason, *pointer), "{body}: {found:?}");
        assert!(!found[0].hint.is_empty() && !found[0].message.is_empty(), "{body}");
    }
}

#[test]
fn reports_all_errors_of_body() {
    let found = errors(
        "{\"limit\":0,\"colour\":1,\"sortDirection\":\"x\",\"filters\":{\"a\":{\"b\":1},\"c\":{\"d\":2}}}",
    );
    assert_eq!(found.len(), 5, "{found:?}");
    let found = errors("{\"columns\":[\"x\",\"y\"],\"sortBy\":\"z\",\"filters\":{\"u\":1,\"open\":\"no\"}}");
    assert_eq!(found.len(), 5, "{found:?}");
}

#[test]
fn suggests_nearest_name() {
    assert_eq!(errors("{\"sortBy\":\"prcie\"}")[0].suggestion.as_deref(), Some("price"));
    assert_eq!(errors("{\"filters\":{\"price\":{\"gt3\":1}}}")[0].suggestion.as_deref(), Some("gt"));
    assert_eq!(errors("{\"limt\":1}")[0].suggestion.as_deref(), Some("limit"));
}

#[test]
fn enforces_filter_limits() {
    let list = |count: usize| format!("{{\"filters\":{{\"price\":{:?}}}}}", vec![1; count]);
    let conditions = |count: usize| {
        let parts: Vec<&str> = vec!["{\"price\":1}"; count];
        format!("{{\"filters\":{{\"$or\":[{}],\"name\":\"a\"}}}}", parts.join(","))
    };
    let accepted = |body: &str| {
        plan(
            &QueryRequest::from_json(body.as_bytes(), 10_000).unwrap(),
            &table(),
            "t@1",
            &mercato_query::Unlimited,
        )
        .is_ok()
    };
    assert!(accepted(&list(10_000)));
    assert_eq!(errors(&list(10_001))[0].reason, Reason::WrongType);
    assert!(accepted(&conditions(99)));
    assert_eq!(errors(&conditions(100))[0].reason, Reason::FilterTooLarge);
    let nested = format!("{{\"filters\":{}{}{}}}", "{\"$not\":".repeat(5), "{\"name\":\"a\"}", "}".repeat(5));
    assert!(accepted(&nested));
}

#[test]
fn bounds_size_of_refusal() {
    let filters = |members: &str| format!("{{\"filters\":{{{members}}}}}");
    let many = |member: &dyn Fn(usize) -> String| (0..9_000).map(member).collect::<Vec<_>>().join(",");
    let list = |item: &str| format!("[{}]", [item; 100].join(","));
    let bodies = [
        filters(&many(&|number| format!("\"a{number}\":1"))),
        filters(&many(&|number| format!("\"a{number}\":{{}}"))),
        filters(&many(&|number| format!("\"$a{number}\":1"))),
        filters(&many(&|_| "\"price\":1".to_owned())),
        filters(&format!("\"price\":{{{}}}", many(&|number| format!("\"gt{number}\":1")))),
        filters(&format!("\"price\":{{{}}}", many(&|_| "\"gt\":1".to_owned()))),
        filters(&format!("\"$or\":{}", list(&format!("{{\"$or\":{}}}", list("{\"$a\":1}"))))),
        filters(&format!("\"$or\":{}", list(&format!("{{\"$or\":{}}}", list("{}"))))),
        filters(&format!("\"$not\":{{\"$or\":{}}}", list("5"))),
        filters(&format!("\"$or\":{}", list(&format!("{{\"price\":{}}}", list("\"cheap\""))))),
        filters(&format!("\"$or\":{}", list("{\"a\":1}"))),
        format!("{{{}}}", many(&|number| format!("\"a{number}\":1"))),
        format!("{{\"columns\":[{}]}}", many(&|number| number.to_string())),
        format!("{{\"columns\":[{}]}}", many(&|number| format!("\"pric{number}\""))),
        filters(&format!("\"{}\":1", "a".repeat(500_000))),
        filters(&format!("\"price\":{{\"{}\":1}}", "~".repeat(500_000))),
        format!("{{\"{}\":1}}", "/".repeat(500_000)),
    ];
    for body in bodies {
        let found = errors(&body);
        let start = &body[..60];
        assert!((1..=VALIDATION_ERRORS_MAX).contains(&found.len()), "{} for {start}", found.len());
        let texts = |error: &ValidationError| error.pointer.len() + error.message.len() + error.hint.len();
        let longest = found.iter().map(texts).max().unwrap();
        assert!(longest <= 3_000, "{longest} bytes for {start}");
    }
}

#[test]
fn ignores_and_bounds_empty_objects() {
    let filters = |count: usize| {
        let inner = format!("{{\"$and\":[{}]}}", vec!["{}"; count].join(","));
        format!("{{\"filters\":{{\"$and\":[{}]}}}}", [inner.as_str(); 10].join(","))
    };
    // The filter itself, ten objects in its list, and in each of these as many.
    assert!(QueryRequest::from_json(filters(98).as_bytes(), 100).is_ok());
    assert_eq!(errors(&filters(99))[0].reason, Reason::FilterTooLarge);
}

#[test]
fn column_names_override_bound_suffixes() {
    let table = table();
    let rows = |body: &str| {
        let request = QueryRequest::from_json(body.as_bytes(), 100).unwrap();
        mercato_query::execute(
            &plan(&request, &table, "t@1", &mercato_query::Unlimited).unwrap(),
            &mercato_query::NoSelections,
        )
        .unwrap()
        .rows
    };
    assert_eq!(rows("{\"filters\":{\"price_min\":2}}"), [1]);
    assert_eq!(rows("{\"filters\":{\"price_max\":2}}"), [1], "`price_max` is a column");
    assert_eq!(rows("{\"filters\":{\"$$aud\":2}}"), [1]);
    assert_eq!(rows("{\"filters\":{\"price\":\"2.50\"}}"), [1]);
    assert_eq!(rows("{\"filters\":{\"at\":{\"gte\":\"1970-01-02\"}}}"), [1]);
    assert_eq!(rows("{\"filters\":{\"ratio\":null}}"), [1]);
    assert_eq!(rows("{\"filters\":{\"price\":2.505}}"), [] as [u32; 0]);
    assert_eq!(rows(""), [0, 1]);
    assert_eq!(rows("{\"filters\":null,\"columns\":null,\"cursor\":null,\"limit\":null}"), [0, 1]);
}

#[test]
fn accepts_rendered_datetimes_as_literals() {
    let seconds = vec![Some(-62_135_596_800), Some(253_402_214_400), Some(253_402_300_799)];
    let kind = ColumnKind::Timestamp { unit: TimeUnit::Second };
    let table = temporary_table(&[Column::new("at", kind, ColumnValues::Integers(seconds))]).unwrap();
    let rows = |literal: &str| {
        let body = format!("{{\"filters\":{{\"at\":\"{literal}\"}}}}");
        let request = QueryRequest::from_json(body.as_bytes(), 100).unwrap();
        let plan = plan(&request, &table, "t@1", &mercato_query::Unlimited)
            .unwrap_or_else(|error| panic!("{literal}: {error:?}"));
        mercato_query::execute(&plan, &mercato_query::NoSelections).unwrap().rows
    };
    assert_eq!(rows("0001-01-01T00:00:00Z"), [0]);
    assert_eq!(rows("9999-12-31"), [1]);
    assert_eq!(rows("9999-12-31T23:59:59Z"), [2]);
}

#[test]
fn offset_beyond_unindexed_rows_finds_nothing() {
    let values = ColumnValues::Integers(vec![Some(3), None, Some(1)]);
    let mut column = Column::new("n", ColumnKind::Integer, values);
    column.sort_index = false;
    let table = temporary_table(&[column]).unwrap();
    for (offset, expected) in [(1, [0, 1].as_slice()), (3, &[]), (u64::MAX, &[])] {
        let body = format!("{{\"sortBy\":\"n\",\"offset\":{offset}}}");
        let request = QueryRequest::from_json(body.as_bytes(), 10_000).unwrap();
        let plan = plan(&request, &table, "t@1", &mercato_query::Unlimited).unwrap();
        let page = mercato_query::execute(&plan, &mercato_query::NoSelections).unwrap();
        assert_eq!((page.rows.as_slice(), page.next_cursor), (expected, None), "{offset}");
    }
}

#[test]
fn binds_cursor_to_query_and_file() {
    let table = table();
    let plan_of = |body: &str, identity: &str| {
        let request = QueryRequest::from_json(body.as_bytes(), 100).unwrap();
        plan(&request, &table, identity, &mercato_query::Unlimited).map(|plan| plan.cursor_after(0).unwrap())
    };
    let cursor = plan_of("{\"sortBy\":\"price\"}", "t@1").unwrap();
    let with = |rest: &str| format!("{{{rest}\"cursor\":\"{cursor}\"}}");
    let reason = |body: &str, identity: &str| match plan_of(body, identity) {
        Err(QueryError::Invalid(errors)) => Some(errors[0].reason),
        _ => None,
    };
    assert_eq!(reason(&with("\"sortBy\":\"price\",\"limit\":7,\"columns\":[\"name\"],"), "t@1"), None);
    assert_eq!(
        reason(&with("\"sortBy\":\"price\",\"sortDirection\":\"desc\","), "t@1"),
        Some(Reason::CursorQueryMismatch)
    );
    assert_eq!(reason(&with(""), "t@1"), Some(Reason::CursorQueryMismatch));
    assert_eq!(
        reason(&with("\"sortBy\":\"price\",\"filters\":{\"name\":\"a\"},"), "t@1"),
        Some(Reason::CursorQueryMismatch)
    );
    assert_eq!(reason(&with("\"sortBy\":\"price\","), "other@1"), Some(Reason::CursorQueryMismatch));
    let other =
        temporary_table(&[Column::new("price", ColumnKind::Integer, ColumnValues::Integers(vec![Some(1)]))])
            .unwrap();
    let request = QueryRequest::from_json(with("\"sortBy\":\"price\",").as_bytes(), 100).unwrap();
    assert_eq!(request.cursor_fingerprint(), Some(table.fingerprint()));
    let Err(QueryError::Invalid(errors)) = plan(&request, &other, "t@1", &mercato_query::Unlimited) else {
        panic!()
    };
    assert_eq!(errors[0].reason, Reason::CursorExpired);
}

#[test]
fn takes_same_fields_from_get_parameters() {
    let pairs = |pairs: &[(&str, &str)]| {
        let pairs: Vec<(String, String)> =
            pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        QueryRequest::from_pairs(&pairs, 100)
    };
    let request = pairs(&[
        ("filters", "{\"price\":{\"gte\":2}}"),
        ("columns", "name,price"),
        ("limit", "5"),
        ("sortBy", "price"),
    ])
    .unwrap();
    let table = table();
    let plan = plan(&request, &table, "t@1", &mercato_query::Unlimited).unwrap();
    assert_eq!((plan.columns(), plan.limit()), (&[0usize, 1][..], 5));
    let gap = pairs(&[("columns", "name,,price")]).unwrap();
    let Err(QueryError::Invalid(errors)) =
        mercato_query::plan(&gap, &table, "t@1", &mercato_query::Unlimited)
    else {
        panic!()
    };
    assert_eq!((errors[0].reason, errors[0].pointer.as_str()), (Reason::UnknownColumn, "/columns/1"));
    assert_eq!(pairs(&[("limit", "abc")]).unwrap_err()[0].pointer, "limit");
    assert_eq!(pairs(&[("filters", "{")]).unwrap_err()[0].pointer, "filters");
    let both = pairs(&[("filters", "{"), ("limit", "0")]).unwrap_err();
    assert_eq!(both.iter().map(|error| error.pointer.as_str()).collect::<Vec<_>>(), ["filters", "limit"]);
    assert_eq!(pairs(&[("limit", "101")]).unwrap_err()[0].reason, Reason::OutOfRange);
    let twice = &pairs(&[("limit", "5"), ("limit", "5")]).unwrap_err()[0];
    assert_eq!((twice.reason, twice.pointer.as_str()), (Reason::DuplicateField, "limit"));
}

#[test]
fn limits_estimate_by_its_purpose() {
    let read = |body: &str| {
        let (request, errors) = QueryRequest::read_estimate(body.as_bytes(), 10_000, 1_000_000);
        let errors: Vec<_> = errors.into_iter().map(|error| (error.reason, error.pointer)).collect();
        (request.purpose(), request.limit(), errors)
    };
    let error = |reason, pointer: &str| vec![(reason, pointer.to_owned())];
    assert_eq!(read(""), (Purpose::Page, 100, vec![]));
    assert_eq!(read("{\"for\":null,\"limit\":5}"), (Purpose::Page, 5, vec![]));
    assert_eq!(read("{\"limit\":1000000,\"for\":\"stream\"}"), (Purpose::Stream, 1_000_000, vec![]));
    assert_eq!(read("{\"for\":\"download\",\"limit\":null}"), (Purpose::Download, 100, vec![]));
    let out_of_range = error(Reason::OutOfRange, "/limit");
    assert_eq!(read("{\"limit\":10001}").2, out_of_range);
    assert_eq!(read("{\"limit\":10001,\"for\":\"page\"}").2, out_of_range);
    assert_eq!(read("{\"limit\":1000001,\"for\":\"stream\"}").2, out_of_range);
    assert_eq!(read("{\"for\":\"csv\"}").2, error(Reason::UnknownWord, "/for"));
    assert_eq!(read("{\"for\":5}").2, error(Reason::WrongType, "/for"));
    assert_eq!(read("{\"for\":\"page\",\"for\":\"page\"}").2, error(Reason::DuplicateField, "/for"));
    let narrowed = read("{\"filters\":{\"name\":\"a\"},\"for\":\"download\",\"limit\":5}").2;
    let not_applicable = |pointer: &str| (Reason::FieldNotApplicable, pointer.to_owned());
    assert_eq!(narrowed, [not_applicable("/filters"), not_applicable("/limit")]);
}
