//! Several files and folders as one dataset: columns joined by name, types widened, folders as columns, links refused.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, Date32Array, Decimal128Array, Float32Array, Float64Array, Int32Array, Int64Array, NullArray,
    StringArray, TimestampMicrosecondArray, TimestampMillisecondArray,
};

use super::{check_refusal, conversion, put, read};
use crate::convert::files;

fn parquet(folder: &Path, name: &str, columns: Vec<(&str, ArrayRef)>) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    files::write(&path, columns, Default::default());
}

fn integers(values: &[i32]) -> ArrayRef {
    Arc::new(Int32Array::from(values.to_vec()))
}

fn texts(values: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

#[test]
fn joins_columns_by_name_in_order_of_paths() {
    let folder = tempfile::tempdir().unwrap();
    parquet(folder.path(), "d/b.parquet", vec![("y", texts(&["b"])), ("x", integers(&[2]))]);
    parquet(folder.path(), "d/a.parquet", vec![("x", integers(&[1])), ("z", texts(&["a"]))]);
    parquet(folder.path(), "d/c/0.parquet", vec![("x", integers(&[3]))]);
    put(folder.path(), "d/_SUCCESS", "");
    put(folder.path(), "d/.hidden", "x");
    put(folder.path(), "d/dataset.toml", "slug = \"d\"");
    let (columns, rows) = read(&conversion(folder.path(), &["d"])).unwrap();
    assert_eq!(columns, ["x integer?", "z text?", "y text?"]);
    assert_eq!(
        rows,
        [r#"{"x":1,"z":"a","y":null}"#, r#"{"x":2,"z":null,"y":"b"}"#, r#"{"x":3,"z":null,"y":null}"#,]
    );
    let files = read(&conversion(folder.path(), &["d/b.parquet", "d/a.parquet"])).unwrap();
    assert_eq!(files.1, rows[..2], "the order of the arguments does not matter");
}

#[test]
fn folders_become_columns() {
    let folder = tempfile::tempdir().unwrap();
    for (year, month, value) in
        [("2023", "12", 1), ("2024", "01", 2), ("2024", "__HIVE_DEFAULT_PARTITION__", 3)]
    {
        let name = format!("d/year={year}/month={month}/p.parquet");
        parquet(folder.path(), &name, vec![("v", integers(&[value]))]);
    }
    put(folder.path(), "d/year=2025/month=2/kind=a%20b/q.csv", "v\n4\n5\n");
    let (columns, rows) = read(&conversion(folder.path(), &["d"])).unwrap();
    assert_eq!(columns, ["v integer?", "year integer", "month integer?", "kind text?"]);
    assert_eq!(
        rows,
        [
            r#"{"v":1,"year":2023,"month":12,"kind":null}"#,
            r#"{"v":2,"year":2024,"month":1,"kind":null}"#,
            r#"{"v":3,"year":2024,"month":null,"kind":null}"#,
            r#"{"v":4,"year":2025,"month":2,"kind":"a b"}"#,
            r#"{"v":5,"year":2025,"month":2,"kind":"a b"}"#,
        ]
    );
    put(folder.path(), "d/year=x/r.csv", "v\n6\n");
    let (columns, rows) = read(&conversion(folder.path(), &["d"])).unwrap();
    assert_eq!(
        (columns[1].as_str(), rows[5].as_str()),
        ("year text", r#"{"v":6,"year":"x","month":null,"kind":null}"#)
    );
    parquet(folder.path(), "e/v=1/a.parquet", vec![("v", integers(&[1]))]);
    std::fs::remove_file(folder.path().join("out.mcol")).unwrap();
    check_refusal(&conversion(folder.path(), &["e"]), &["e/v=1/a.parquet", "`v`", "name of a folder"]);
}

#[test]
fn widens_types_without_losing_a_digit() {
    let folder = tempfile::tempdir().unwrap();
    let decimal = |value, precision, scale| -> ArrayRef {
        Arc::new(Decimal128Array::from(vec![value]).with_precision_and_scale(precision, scale).unwrap())
    };
    parquet(
        folder.path(),
        "d/a.parquet",
        vec![
            ("i", integers(&[7])),
            ("f", integers(&[7])),
            ("d", decimal(150, 5, 2)),
            ("n", integers(&[-3])),
            ("t", Arc::new(Date32Array::from(vec![1]))),
            ("u", Arc::new(TimestampMillisecondArray::from(vec![5]))),
            ("w", Arc::new(Float32Array::from(vec![0.1]))),
            ("z", Arc::new(NullArray::new(1))),
        ],
    );
    parquet(
        folder.path(),
        "d/b.parquet",
        vec![
            ("i", Arc::new(Int64Array::from(vec![1 << 60]))),
            ("f", Arc::new(Float64Array::from(vec![1.5]))),
            ("d", decimal(12_345, 10, 4)),
            ("n", decimal(25, 3, 1)),
            ("t", Arc::new(TimestampMicrosecondArray::from(vec![1]))),
            ("u", Arc::new(TimestampMicrosecondArray::from(vec![6]))),
            ("w", Arc::new(Float64Array::from(vec![0.1]))),
            ("z", texts(&["x"])),
        ],
    );
    let (columns, rows) = read(&conversion(folder.path(), &["d"])).unwrap();
    assert_eq!(columns[5], "u timestamp?");
    assert_eq!(
        rows,
        [
            r#"{"i":7,"f":7.0,"d":1.5000,"n":-3.0,"t":"1970-01-02T00:00:00.000000Z","u":"1970-01-01T00:00:00.005000Z","w":0.10000000149011612,"z":null}"#,
            r#"{"i":1152921504606846976,"f":1.5,"d":1.2345,"n":2.5,"t":"1970-01-01T00:00:00.000001Z","u":"1970-01-01T00:00:00.000006Z","w":0.1,"z":"x"}"#,
        ]
    );
}

#[test]
fn refuses_types_that_do_not_join_with_both_files() {
    let folder = tempfile::tempdir().unwrap();
    parquet(folder.path(), "d/a.parquet", vec![("v", integers(&[1]))]);
    parquet(folder.path(), "d/b.parquet", vec![("v", texts(&["x"]))]);
    check_refusal(
        &conversion(folder.path(), &["d"]),
        &["d/a.parquet", "d/b.parquet", "column `v`", "--drop v"],
    );
    let wide: ArrayRef = Arc::new(Int64Array::from(vec![(1 << 53) + 1]));
    parquet(folder.path(), "e/a.parquet", vec![("v", wide)]);
    parquet(folder.path(), "e/b.parquet", vec![("v", Arc::new(Float64Array::from(vec![0.5])))]);
    let words = ["e/a.parquet", "column `v`, row 0", "9007199254740993", "exactly"];
    check_refusal(&conversion(folder.path(), &["e"]), &words);
    put(folder.path(), "f/a.csv", "v\nx\n");
    parquet(folder.path(), "f/b.parquet", vec![("v", integers(&[1]))]);
    check_refusal(&conversion(folder.path(), &["f"]), &["f/a.csv", "f/b.parquet", "column `v`"]);
}

#[test]
fn texts_take_types_of_other_files() {
    let folder = tempfile::tempdir().unwrap();
    let price = Decimal128Array::from(vec![150]).with_precision_and_scale(10, 2).unwrap();
    parquet(folder.path(), "d/a.parquet", vec![("code", texts(&["a1"])), ("price", Arc::new(price))]);
    put(folder.path(), "d/b.csv", "price,code\n2,17\n2.5,18\n");
    put(folder.path(), "d/c.ndjson", "{\"code\":\"19\"}\n");
    let (columns, rows) = read(&conversion(folder.path(), &["d"])).unwrap();
    assert_eq!(columns, ["code text?", "price decimal?"]);
    assert_eq!(
        rows[1..],
        [r#"{"code":"17","price":2.00}"#, r#"{"code":"18","price":2.50}"#, r#"{"code":"19","price":null}"#]
    );
    put(folder.path(), "d/d.csv", "price\n2.555\n");
    std::fs::remove_file(folder.path().join("out.mcol")).unwrap();
    check_refusal(&conversion(folder.path(), &["d"]), &["d/d.csv", "line 2", "decimal(38,2)", "2.555"]);
}

#[test]
fn refuses_links_out_of_folder_and_files_that_are_no_data() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "outside.csv", "v\n1\n");
    put(folder.path(), "d/a.csv", "v\n2\n");
    symlink("../outside.csv", folder.path().join("d/b.csv")).unwrap();
    check_refusal(&conversion(folder.path(), &["d"]), &["d/b.csv", "leads out"]);
    std::fs::remove_file(folder.path().join("d/b.csv")).unwrap();
    symlink("..", folder.path().join("d/up")).unwrap();
    check_refusal(&conversion(folder.path(), &["d"]), &["d/up", "leads out"]);
    std::fs::remove_file(folder.path().join("d/up")).unwrap();
    symlink("a.csv", folder.path().join("d/b.csv")).unwrap();
    check_refusal(&conversion(folder.path(), &["d"]), &["twice"]);
    std::fs::remove_file(folder.path().join("d/b.csv")).unwrap();
    put(folder.path(), "d/notes.txt", "x");
    check_refusal(&conversion(folder.path(), &["d"]), &["d/notes.txt", "ending"]);
    check_refusal(&conversion(folder.path(), &["d/a.csv", "d/a.csv"]), &["d/a.csv", "twice"]);
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    check_refusal(&conversion(folder.path(), &["empty"]), &["empty", "at least one data file"]);
}

#[test]
fn refuses_folders_beyond_bounds() {
    let folder = tempfile::tempdir().unwrap();
    let deep: String = (0..17).map(|depth| format!("f{depth}/")).collect();
    put(folder.path(), &format!("d/{deep}a.csv"), "v\n1\n");
    check_refusal(&conversion(folder.path(), &["d"]), &["at most 16 folders"]);
    for number in 0..4_097 {
        put(folder.path(), &format!("e/{number}.csv"), "v\n1\n");
    }
    check_refusal(&conversion(folder.path(), &["e"]), &["at most 4096"]);
}

#[test]
fn many_small_text_files_are_one_table() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..300 {
        put(folder.path(), &format!("e/{number:03}.csv"), format!("v,c{}\n{number},x\n", number % 7));
    }
    let (columns, rows) = read(&conversion(folder.path(), &["e"])).unwrap();
    assert_eq!((columns.len(), rows.len()), (8, 300));
    assert_eq!(rows[8], r#"{"v":8,"c0":null,"c1":"x","c2":null,"c3":null,"c4":null,"c5":null,"c6":null}"#);
}
