//! Doubles that are no numbers, and floats that are narrower than doubles.

use mercato_format::writer::{Column, ColumnValues, write_table_and};
use mercato_format::{ColumnKind, Table, TableWriter};
use mercato_query::render::{Format, render_rows, write_statistics};
use mercato_query::{NoSelections, QueryError, QueryRequest, Reason, count_matches, execute, plan};
use serde_json::{Value, json};

const NAN: f64 = f64::NAN;
const INFINITY: f64 = f64::INFINITY;

/// One column `c`: with few values a dictionary, with many of them packed numbers.
fn table(values: &[Option<f64>], source_type: &str, sort_index: bool) -> Table {
    let mut column = Column::new("c", ColumnKind::Float, ColumnValues::Floats(values.to_vec()));
    column.spec.source_type = source_type.into();
    column.sort_index = sort_index;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("floats.mcol");
    write_table_and(&path, &[column], TableWriter::append_statistics).unwrap();
    Table::open(&path).unwrap()
}

fn request(body: &Value) -> QueryRequest {
    QueryRequest::from_json(body.to_string().as_bytes(), 10_000).unwrap()
}

fn rows(table: &Table, body: &Value) -> Vec<u32> {
    execute(&plan(&request(body), table, "t", &mercato_query::Unlimited).unwrap(), &NoSelections)
        .unwrap()
        .rows
}

/// As packed numbers, as a dictionary, and both without a sort index.
fn storages(values: &[Option<f64>], source_type: &str) -> Vec<Table> {
    let repeated: Vec<Option<f64>> =
        values.iter().cycle().take(values.len() * 3).map(|value| value.map(|value| value + 0.0)).collect();
    let tables =
        [values, &repeated].map(|values| [true, false].map(|index| table(values, source_type, index)));
    tables.into_iter().flatten().collect()
}

#[test]
fn sorts_nan_after_numbers_and_before_null() {
    let values =
        [Some(NAN), Some(1.0), None, Some(-INFINITY), Some(-NAN), Some(INFINITY), Some(-0.0), Some(0.5)];
    for table in storages(&values, "DOUBLE") {
        let copies = table.row_count() / 8;
        let all = |rows: &[u32]| -> Vec<u32> {
            let copies = |row: &u32| (0..copies).map(|copy| row + copy * 8).collect::<Vec<_>>();
            let values = rows.iter().take(5).flat_map(copies);
            let mut nans: Vec<u32> = [0, 4].iter().flat_map(copies).collect();
            nans.sort_unstable();
            values.chain(nans).chain(copies(&2)).collect()
        };
        assert_eq!(rows(&table, &json!({"sortBy": "c", "limit": 99})), all(&[3, 6, 7, 1, 5]));
        assert_eq!(
            rows(&table, &json!({"sortBy": "c", "sortDirection": "desc", "limit": 99})),
            all(&[5, 1, 7, 6, 3])
        );
    }
}

#[test]
fn only_float_tests_match_nan_and_infinities() {
    let values = [Some(NAN), Some(1.0), None, Some(-INFINITY), Some(INFINITY), Some(-0.0)];
    for table in storages(&values, "DOUBLE") {
        for (filter, found) in [
            (json!({"c": {"isNaN": true}}), vec![0]),
            (json!({"c": {"isNaN": false}}), vec![1, 3, 4, 5]),
            (json!({"c": {"isFinite": true}}), vec![1, 5]),
            (json!({"c": {"isFinite": false}}), vec![0, 3, 4]),
            (json!({"$not": {"c": {"isNaN": true}}}), vec![1, 3, 4, 5]),
            (json!({"$not": {"c": {"isFinite": true}}}), vec![0, 3, 4]),
            (json!({"$not": {"c": {"gt": 5}}}), vec![1, 3, 5]),
            (json!({"c": {"ne": 1}}), vec![3, 4, 5]),
            (json!({"c": {"nin": [1, 0]}}), vec![3, 4]),
            (json!({"c": {"isNaN": true, "gt": 0}}), vec![]),
            (json!({"$or": [{"c": {"isNaN": true}}, {"c": {"gte": 1}}]}), vec![0, 1, 4]),
            (json!({"$or": [{"c": {"isNaN": true}}, {"c": null}]}), vec![0, 2]),
            (json!({"c": {"isNull": false}}), vec![0, 1, 3, 4, 5]),
        ] {
            let body = json!({"filters": filter, "limit": 99});
            let found: Vec<u32> = (0..table.row_count()).filter(|row| found.contains(&(row % 6))).collect();
            assert_eq!(rows(&table, &body), found, "{body}");
            let request = request(&body);
            let plan = plan(&request, &table, "t", &mercato_query::Unlimited).unwrap();
            assert_eq!(count_matches(&plan, &NoSelections).unwrap(), found.len() as u64, "{body}");
            if body["filters"]["c"].get("isNaN").is_some()
                && body["filters"]["c"].as_object().unwrap().len() == 1
            {
                assert_eq!(plan.total_rows(), Some(found.len() as u64), "the file knows it: {body}");
            }
        }
    }
}

/// The former order began with NaN: such a cursor would leave out all numbers, or show NaN twice.
#[test]
fn rejects_cursors_of_former_nan_order() {
    use base64::Engine;
    let engine = base64::engine::general_purpose::STANDARD;
    let with_nan = table(&[Some(1.0), Some(NAN), Some(2.0)], "DOUBLE", true);
    let without = table(&[Some(1.0), None, Some(2.0)], "DOUBLE", true);
    let former = |table: &Table, direction: &str| {
        let direction = if direction == "desc" { "Descending" } else { "Ascending" };
        let query = xxhash_rust::xxh3::xxh3_64(format!("t\n\nSome(\"c\")\n{direction}").as_bytes());
        let id = format!("0.{}.{query:016x}", table.fingerprint());
        engine.encode(format!("{{\"lastSortValue\":1.0,\"lastId\":\"{id}\"}}"))
    };
    for (table, direction, expected) in [
        (&with_nan, "desc", None),
        (&with_nan, "asc", Some(vec![2, 1])),
        (&without, "desc", Some(vec![1])),
        (&without, "asc", Some(vec![2, 1])),
    ] {
        let body = json!({"sortBy": "c", "sortDirection": direction, "cursor": former(table, direction)});
        match (plan(&request(&body), table, "t", &mercato_query::Unlimited), expected) {
            (Ok(plan), Some(expected)) => assert_eq!(execute(&plan, &NoSelections).unwrap().rows, expected),
            (Err(QueryError::Invalid(errors)), None) => {
                assert_eq!(errors[0].reason, Reason::CursorQueryMismatch);
            }
            (found, expected) => panic!("{direction}: {found:?}, expected {expected:?}"),
        }
    }
}

#[test]
fn parses_literals_of_narrow_floats() {
    let single = |value: f32| Some(f64::from(value));
    let values = [single(0.1), single(0.2), single(-0.3), None, single(1e-45), single(f32::MAX)];
    for table in storages(&values, "FLOAT") {
        for (filter, found) in [
            (json!({"c": 0.1}), vec![0]),
            (json!({"c": 0.100_000_001_490_116_12}), vec![0]),
            (json!({"c": [0.1, 0.2]}), vec![0, 1]),
            (json!({"c": {"gt": 0.1}}), vec![1, 5]),
            (json!({"c": {"gte": 0.1}}), vec![0, 1, 5]),
            (json!({"c": {"lt": 0.1}}), vec![2, 4]),
            (json!({"c_min": 0.2}), vec![1, 5]),
            (json!({"c_max": -0.3}), vec![2]),
            (json!({"c": {"between": [0.1, 0.2]}}), vec![0, 1]),
            (json!({"c": {"ne": 0.1}}), vec![1, 2, 4, 5]),
            (json!({"c": 1e-45}), vec![4]),
            (json!({"c": 3.402_823_5e38}), vec![5]),
            (json!({"c": {"gt": 1e39}}), vec![]),
            (json!({"c": {"lt": 1e39}}), vec![0, 1, 2, 4, 5]),
        ] {
            let body = json!({"filters": filter, "limit": 99});
            let found: Vec<u32> = (0..table.row_count()).filter(|row| found.contains(&(row % 6))).collect();
            assert_eq!(rows(&table, &body), found, "{body}");
        }
    }
    let half = table(&[Some(0.099_975_585_937_5), Some(65_504.0)], "FIXED_LEN_BYTE_ARRAY(2) (Float16)", true);
    assert_eq!(rows(&half, &json!({"filters": {"c": 0.1}})), [0]);
    assert_eq!(rows(&half, &json!({"filters": {"c": {"gte": 65_500}}})), [1]);
}

#[test]
fn encodes_and_summarises_narrow_floats_at_their_width() {
    let single = |value: f32| Some(f64::from(value));
    let values = [single(0.1), single(16_777_216.0), Some(NAN), None, single(-2.5e-7), Some(INFINITY)];
    for table in storages(&values, "FLOAT") {
        let mut out = Vec::new();
        render_rows(Format::Csv, &table, &[0], &[0, 1, 2, 3, 4, 5], &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "\"c\"\r\n0.1\r\n16777216.0\r\nNaN\r\n\"\"\r\n-2.5e-7\r\nInfinity\r\n"
        );
        let mut out = Vec::new();
        render_rows(Format::Ndjson, &table, &[0], &[0, 2, 3], &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "{\"c\":0.1}\n{\"c\":null}\n{\"c\":null}\n");
        let mut out = Vec::new();
        assert!(write_statistics(&table, &mut out).unwrap());
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("\"min\":-2.5e-7,\"max\":16777216.0,"), "{text}");
    }
}

/// Printed bounds, read back as floats of their width, leave every value in the bin that counted it.
#[test]
fn histogram_bounds_hold_for_narrow_floats() {
    let values: Vec<Option<f64>> = (0..1_000u16).map(|n| Some(f64::from(f32::from(n) * 0.1))).collect();
    let table = table(&values, "FLOAT", true);
    let mut out = Vec::new();
    write_statistics(&table, &mut out).unwrap();
    let known: Value = serde_json::from_slice(&out).unwrap();
    let bins = known[0]["histogram"]["bins"].as_array().unwrap();
    assert_eq!(bins.len(), 20);
    for (number, bin) in bins.iter().enumerate() {
        let last = if number == 19 { "lte" } else { "lt" };
        let body = json!({"filters": {"c": {"gte": bin["from"], last: bin["to"]}}, "limit": 9_999});
        assert_eq!(rows(&table, &body).len() as u64, bin["count"].as_u64().unwrap(), "{bin}");
    }
}
