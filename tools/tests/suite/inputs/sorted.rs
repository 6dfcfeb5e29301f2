//! Sorted and appended rows: the order of one and of several columns, and versions that grow.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, StringArray};
use mercato_format::{SortIndex, Table};

use super::{check_refusal, contents, conversion, put, read};
use crate::cli;
use crate::convert::files;

#[test]
fn sorts_rows_by_one_and_by_several_columns() {
    let folder = tempfile::tempdir().unwrap();
    let count = 20_000_i64;
    let text = |n: i64| (n % 11 != 0).then(|| format!("t{}", n * 7 % 13));
    let float = |n: i64| if n % 17 == 0 { f64::NAN } else { (n * 31 % 101) as f64 - 50.0 };
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("n", Arc::new(Int64Array::from_iter_values((0..count).map(|n| n * 7_919 % count)))),
        ("t", Arc::new(StringArray::from_iter((0..count).map(text)))),
        ("f", Arc::new(Float64Array::from_iter_values((0..count).map(float)))),
    ];
    files::write(&folder.path().join("a.parquet"), columns, Default::default());
    for keys in [&["n"][..], &["t"], &["f"], &["t", "f"], &["f", "t", "n"]] {
        let mut conversion = conversion(folder.path(), &["a.parquet"]);
        conversion.sort_by = keys.iter().map(|key| (*key).to_owned()).collect();
        let rows = read(&conversion).unwrap().1;
        let key = |n: &i64| {
            let part = |name: &&str| match *name {
                "n" => (false, format!("{:09}", n * 7_919 % count)),
                "t" => (text(*n).is_none(), text(*n).unwrap_or_default()),
                _ => (
                    float(*n).is_nan(),
                    if float(*n).is_nan() { String::new() } else { format!("{:09}", float(*n) as i64 + 100) },
                ),
            };
            keys.iter().map(part).collect::<Vec<_>>()
        };
        let mut order: Vec<i64> = (0..count).collect();
        order.sort_by_key(key);
        let expected = order.iter().map(|n| {
            let text = text(*n).map_or("null".into(), |text| format!("\"{text}\""));
            let float = if float(*n).is_nan() { "null".into() } else { format!("{:.1}", float(*n)) };
            format!("{{\"n\":{},\"t\":{text},\"f\":{float}}}", n * 7_919 % count)
        });
        assert!(rows.into_iter().eq(expected), "{keys:?}");
        let table = Table::open(&conversion.output).unwrap();
        let first = table.column_index(keys[0]).unwrap();
        assert_eq!(table.columns()[first].sort_index, SortIndex::FileOrder, "{keys:?}");
        assert_eq!(cli::names(folder.path()), ["a.parquet", "out.mcol"]);
    }
}

#[test]
fn sort_refuses_unknown_columns_and_too_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "a.csv", "a,b\n1,2\n");
    let mut conversion = conversion(folder.path(), &["a.csv"]);
    conversion.sort_by = vec!["c".into()];
    check_refusal(&conversion, &["--sort-by c", "no such column"]);
    conversion.sort_by = vec!["a".into(), "a".into()];
    check_refusal(&conversion, &["--sort-by a", "twice"]);
}

fn publish(folder: &std::path::Path, version: &str, further: &[&str]) -> std::process::Output {
    let fixed = ["publish", "a", "--version", version, "--data", "data", "--input"];
    cli::run(folder, &fixed.into_iter().chain(further.iter().copied()).collect::<Vec<_>>())
}

#[test]
fn appended_version_has_old_rows_and_new_ones() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "a/dataset.toml", "slug = \"a\"\n");
    put(folder.path(), "1.csv", "id,price,name,at\n1,1.50,x,2024-01-01T00:00:00Z\n3,2.25,\"a,\"\"è\",\n");
    put(folder.path(), "2.csv", "name,id,price,more\n17,2,7,true\n");
    put(folder.path(), "3.csv", "id,price\n4,7.125\n");
    let refused = publish(folder.path(), "1.0.0", &["1.csv", "--append"]);
    assert!(String::from_utf8(refused.stderr).unwrap().contains("without --append"));
    assert!(publish(folder.path(), "1.0.0", &["1.csv"]).status.success());
    assert!(publish(folder.path(), "1.1.0", &["2.csv", "--append", "--sort-by", "id"]).status.success());
    let stored =
        |version: &str| contents(&folder.path().join(format!("data/datasets/a/versions/{version}.mcol")));
    let (columns, rows) = stored("1.1.0");
    assert_eq!(columns, ["id integer", "price decimal", "name text", "at timestamp?", "more boolean?"]);
    assert_eq!(
        rows,
        [
            r#"{"id":1,"price":1.50,"name":"x","at":"2024-01-01T00:00:00Z","more":null}"#,
            r#"{"id":2,"price":7.00,"name":"17","at":null,"more":true}"#,
            r#"{"id":3,"price":2.25,"name":"a,\"è","at":null,"more":null}"#,
        ]
    );
    let refused = publish(folder.path(), "1.2.0", &["3.csv", "--append"]);
    assert!(String::from_utf8(refused.stderr).unwrap().contains("7.125"));
    let rollback = ["rollback", "a", "--to", "1.0.0", "--data", "data"];
    assert!(cli::run(folder.path(), &rollback).status.success());
    assert!(publish(folder.path(), "1.3.0", &["2.csv", "--append"]).status.success());
    assert_eq!(stored("1.3.0").1.len(), 3, "the rows go behind those of the version that is served");
}
