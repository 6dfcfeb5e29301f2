//! CSV, TSV and NDJSON: every type, nulls, quotes, line ends, compression, declared types, and refusals with places.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use mercato_format::Table;

use super::{check_refusal, contents, conversion, converted, put, read, refused};
use crate::cli;

fn columns(name: &str, content: &str) -> Vec<String> {
    converted(name, content).unwrap().0
}

fn rows(name: &str, content: &str) -> Vec<String> {
    converted(name, content).unwrap().1
}

#[test]
fn reads_every_type_of_csv() {
    let text = "id,big,price,ratio,open,day,at,code,name,none\r\n\
                1,99999999999999999999999999999999999999,12.50,1.5,true,2024-02-29,2024-02-29T12:00:00+01:00,007,\"a,\"\"b\"\"\",\r\n\
                -2,0,0.05,1e3,false,1969-12-31,1970-01-01 00:00:00.5,012,\"two\r\nlines\",\r\n\
                ,,,,,,,,\"\",\r\n";
    let (columns, rows) = converted("a.csv", text).unwrap();
    assert_eq!(
        columns,
        [
            "id integer?",
            "big integer?",
            "price decimal?",
            "ratio float?",
            "open boolean?",
            "day date?",
            "at timestamp?",
            "code text?",
            "name text",
            "none text?",
        ]
    );
    assert_eq!(
        rows,
        [
            r#"{"id":1,"big":99999999999999999999999999999999999999,"price":12.50,"ratio":1.5,"open":true,"day":"2024-02-29","at":"2024-02-29T11:00:00.000Z","code":"007","name":"a,\"b\"","none":null}"#,
            r#"{"id":-2,"big":0,"price":0.05,"ratio":1000.0,"open":false,"day":"1969-12-31","at":"1970-01-01T00:00:00.500Z","code":"012","name":"two\r\nlines","none":null}"#,
            r#"{"id":null,"big":null,"price":null,"ratio":null,"open":null,"day":null,"at":null,"code":null,"name":"","none":null}"#,
        ]
    );
}

#[test]
fn reads_every_type_of_ndjson() {
    let text = concat!(
        r#"{"id":18446744073709551616,"price":0.10,"name":"x\u00e8","at":"2024-01-01T00:00:00Z","a":{"b":1,"c":{"d":true}},"l":[1, {"k" : "\u00e8"}, null]}"#,
        "\n\n",
        r#"{"price":12.50,"late":"2024-05-05","id":null,"a":{"c":null},"name":"12"}"#,
        "\r\n",
    );
    let (columns, rows) = converted("a.ndjson", text).unwrap();
    assert_eq!(
        columns,
        [
            "id integer?",
            "price decimal",
            "name text",
            "at timestamp?",
            "a.b integer?",
            "a.c.d boolean?",
            "l text?",
            "late date?",
        ]
    );
    assert_eq!(
        rows,
        [
            r#"{"id":18446744073709551616,"price":0.10,"name":"xè","at":"2024-01-01T00:00:00Z","a.b":1,"a.c.d":true,"l":"[1,{\"k\":\"è\"},null]","late":null}"#,
            r#"{"id":null,"price":12.50,"name":"12","at":null,"a.b":null,"a.c.d":null,"l":null,"late":"2024-05-05"}"#,
        ]
    );
}

#[test]
fn line_ends_marks_and_blank_lines_do_not_matter() {
    let expected = [r#"{"a":1,"b":"x"}"#, r#"{"a":2,"b":"y"}"#];
    for text in [
        "a,b\n1,x\n2,y\n",
        "a,b\r\n1,x\r\n2,y",
        "\u{feff}a,b\n\n1,x\n2,y\n\n",
        "\"a\",\"b\"\n\"1\",x\n2,\"y\"\n",
    ] {
        assert_eq!(rows("a.csv", text), expected, "{text:?}");
    }
    assert_eq!(rows("a.tsv", "a\tb\n1\tx\n2\ty\n"), expected);
    assert_eq!(rows("a.csv", "a\n1\n\n3\n"), [r#"{"a":1}"#, r#"{"a":null}"#, r#"{"a":3}"#]);
    assert_eq!(converted("a.csv", "a,b\n").unwrap(), (vec!["a text?".into(), "b text?".into()], Vec::new()));
}

#[test]
fn compressed_files_give_same_rows() {
    let text: String =
        std::iter::once("n,t\n".to_owned()).chain((0..20_000).map(|n| format!("{n},t{n}\n"))).collect();
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(text.as_bytes()).unwrap();
    let plain = converted("a.csv", &text).unwrap();
    assert_eq!(plain.1.len(), 20_000);
    assert_eq!(converted("a.csv.gz", gzip.finish().unwrap()).unwrap(), plain);
    assert_eq!(converted("a.csv.zst", zstd::encode_all(text.as_bytes(), 1).unwrap()).unwrap(), plain);
}

#[test]
fn export_reads_back_same() {
    let folder = tempfile::tempdir().unwrap();
    let text =
        "id,price,day,name,at\n1,1.50,2024-01-01,\"\",2024-01-01T00:00:00.000001Z\n2,2.25,,\"a\nb\",\n";
    put(folder.path(), "a.csv", text);
    let first = read(&conversion(folder.path(), &["a.csv"])).unwrap();
    for format in ["csv", "ndjson"] {
        let name = format!("again.{format}");
        let done = cli::run(folder.path(), &["export", "out.mcol", "--format", format, "--output", &name]);
        assert!(done.status.success());
        let mut again = conversion(folder.path(), &[&name]);
        again.output = folder.path().join("again.mcol");
        assert_eq!(read(&again).unwrap(), first, "{format}");
    }
}

#[test]
fn types_are_declared_by_option_and_manifest() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "a.csv", "zip,n,at\n00100,n/a,2024-01-01\n20100,7,2024-01-02T10:00\n");
    let arguments =
        ["convert", "a.csv", "--type", "zip=string", "--null-text", "n/a", "--type", "at=datetime(ms)"];
    assert!(cli::run(folder.path(), &arguments).status.success());
    let (columns, rows) = contents(&folder.path().join("a.mcol"));
    assert_eq!(columns, ["zip text", "n integer?", "at timestamp"]);
    assert_eq!(rows[0], r#"{"zip":"00100","n":null,"at":"2024-01-01T00:00:00.000Z"}"#);

    let manifest = "slug = \"a\"\n[columns.zip]\ntype = \"string\"\n[columns.n]\ntype = \"decimal(5,2)\"\n";
    put(folder.path(), "a/dataset.toml", manifest);
    put(folder.path(), "b.csv", "zip,n\n20100,7\n");
    let publish = ["publish", "a", "--parquet", "b.csv", "--version", "1.0.0", "--data", "data"];
    assert!(cli::run(folder.path(), &publish).status.success());
    let (columns, rows) = contents(&folder.path().join("data/datasets/a/versions/1.0.0.mcol"));
    assert_eq!((columns[0].as_str(), columns[1].as_str()), ("zip text", "n decimal"));
    assert_eq!(rows, [r#"{"zip":"20100","n":7.00}"#]);
    put(folder.path(), "a/dataset.toml", "slug = \"a\"\n[columns.zip]\ntype = \"varchar\"\n");
    cli::refused(folder.path(), &publish, 1, &["dataset.toml", "varchar", "decimal(P,S)"]);
}

#[test]
fn declared_type_that_value_does_not_fit_names_place() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "a.csv", "n,m\n1,2\n1,2.345\n");
    let mut conversion = conversion(folder.path(), &["a.csv"]);
    conversion.text.types.insert("m".into(), "decimal(5,2)".parse().unwrap());
    check_refusal(&conversion, &["a.csv", "line 3", "column 2 (`m`)", "decimal(5,2)", "2.345"]);
}

#[test]
fn reads_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "a.csv", "n\n1\n2\n");
    let input = std::fs::File::open(folder.path().join("a.csv")).unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_mercato-tools"));
    command.current_dir(folder.path()).args(["convert", "-", "--input-format", "csv", "-o", "x.mcol"]);
    assert!(command.stdin(input).output().unwrap().status.success());
    assert_eq!(contents(&folder.path().join("x.mcol")).1, [r#"{"n":1}"#, r#"{"n":2}"#]);
    cli::refused(folder.path(), &["convert", "-", "-o", "y.mcol"], 2, &["--input-format"]);
    cli::refused(folder.path(), &["convert", "-", "--input-format", "csv"], 2, &["--output"]);
    cli::refused(
        folder.path(),
        &["convert", "-", "a.csv", "--input-format", "csv", "-o", "y.mcol"],
        2,
        &["joined"],
    );
}

#[test]
fn csv_refusals_name_file_line_and_column() {
    refused("a.csv", "a,b\n1,2\n3\n", &["a.csv", "line 3", "2 fields", "found 1"]);
    refused("a.csv", "a,b\n1,2\n3,4,5\n", &["a.csv", "line 3", "at most 2 fields"]);
    refused(
        "a.csv",
        b"a,b\n1,x\n2,\xe8\n",
        &["a.csv", "line 3", "column 2 (`b`)", "UTF-8", "0xE8", "--encoding"],
    );
    refused("a.csv", "a,b\n1,x\n2,\"y\n3,z\n", &["a.csv", "line 3", "closing quote"]);
    refused("a.csv", "a,b\n1,\"x\"y\n", &["a.csv", "line 2", "column 2 (`b`)", "closing quote", "`y`"]);
    refused("a.csv", "a,b\n1,x\ry\n", &["a.csv", "line 2", "carriage return"]);
    refused(
        "a.csv",
        "n\n1\n2\nn/a\n",
        &[
            "a.csv",
            "line 4",
            "column 1 (`n`)",
            "an integer",
            "`n/a`",
            "--null-text n/a",
            "--type n=string",
            "dataset.toml",
        ],
    );
    refused("a.csv", "a,a\n1,2\n", &["a.csv", "line 1", "column 2", "second time"]);
    refused("a.csv", "a,\n1,2\n", &["a.csv", "line 1", "names", "--skip-lines 1 --no-header"]);
    refused("a.csv", "a;b\n1;2\n", &["a.csv", "--delimiter"]);
    refused("a.csv", "", &["a.csv", "header"]);
    refused("a.json", "{}", &["a.json", "an array of objects", "--input-format ndjson"]);
    refused("a.txt", "{}", &["a.txt", "--input-format"]);
}

#[test]
fn ndjson_refusals_name_file_line_and_column() {
    refused("a.ndjson", "{\"a\":1}\n{\"a\":\"x\"}\n", &["a.ndjson", "line 2", "`a`", "`x`"]);
    refused("a.ndjson", "{\"a\":1}\n{\"a\":[1]}\n", &["a.ndjson", "line 2", "`a`", "`[1]`"]);
    refused("a.ndjson", "{\"a\":{\"b\":1}}\n{\"a\":1}\n", &["a.ndjson", "line 2", "`a`", "an object"]);
    refused("a.ndjson", "{\"a\":1}\n{\"a\":}\n", &["a.ndjson", "line 2", "at byte"]);
    refused("a.ndjson", "{\"a\":1,\"a\":2}\n", &["a.ndjson", "line 1", "`a`", "one value"]);
    refused("a.ndjson", "{\"a.b\":1,\"a\":{\"b\":2}}\n", &["a.ndjson", "line 1", "`a.b`", "one value"]);
    refused("a.ndjson", "[1]\n", &["a.ndjson", "line 1", "object"]);
    refused("a.ndjson", b"{\"a\":\"\xff\"}\n", &["a.ndjson", "line 1", "UTF-8", "0xFF"]);
    refused("a.ndjson", "\n", &["a.ndjson", "columns"]);
}

#[test]
fn dropped_column_may_mix_types() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "a.csv", "a,b\n1,1\n2,x\n");
    let mut conversion = conversion(folder.path(), &["a.csv"]);
    conversion.drop = vec!["b".into()];
    assert_eq!(read(&conversion).unwrap().1, [r#"{"a":1}"#, r#"{"a":2}"#]);
    conversion.drop = vec!["b".into(), "c".into()];
    std::fs::remove_file(&conversion.output).unwrap();
    check_refusal(&conversion, &["--drop c", "it has a"]);
}

#[test]
fn other_delimiters_are_read() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "a.csv", "a;b\n1,5;x\n");
    let mut conversion = conversion(folder.path(), &["a.csv"]);
    conversion.text.source.delimiter = Some(";".parse().unwrap());
    assert_eq!(read(&conversion).unwrap().1, [r#"{"a":"1,5","b":"x"}"#]);
    assert_eq!(columns("a.csv", "a\n\"1\"\n\"\"\n"), ["a integer?"]);
}

#[test]
fn late_columns_keep_all_rows() {
    let lines: String = (0..70_000)
        .map(|n| if n == 69_999 { "{\"n\":1,\"late\":2}\n".to_owned() } else { format!("{{\"n\":{n}}}\n") })
        .collect();
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "a.ndjson", lines);
    let conversion = conversion(folder.path(), &["a.ndjson"]);
    let (columns, rows) = read(&conversion).unwrap();
    assert_eq!(columns, ["n integer", "late integer?"]);
    assert_eq!((rows.len(), rows[0].as_str()), (70_000, r#"{"n":0,"late":null}"#));
    assert_eq!(rows[69_999], r#"{"n":1,"late":2}"#);
    assert_eq!(Table::open(&conversion.output).unwrap().row_count(), 70_000);
}
