//! Files as Italian and European programs write them: semicolons, decimal commas, thousands, dates, encodings, titles,
//! missing headers, `sep=` lines, ZIP files and JSON arrays. By options, and by `[source]` in dataset.toml.

use std::io::Write;
use std::path::Path;

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::{check_refusal, contents, conversion, put, read, refused};
use crate::cli;

const SALES: &str = "Vendite 2024\r\n\r\ncomune;giorno;importo;abitanti\r\nForl\u{ec};31/12/2024;1.234,50;117.000\r\nPisa;01/01/2025;-0,05;-\r\n";
const OPTIONS: [&str; 14] = [
    "--delimiter",
    ";",
    "--decimal",
    ",",
    "--thousands",
    ".",
    "--date-format",
    "%d/%m/%Y",
    "--encoding",
    "windows-1252",
    "--skip-lines",
    "2",
    "--null-text",
    "-",
];
const SOURCE: &str = "slug = \"a\"\n[source]\ndelimiter = \";\"\ndecimal = \",\"\nthousands = \".\"\ndate_format = \"%d/%m/%Y\"\n\
                      encoding = \"windows-1252\"\nskip_lines = 2\nnull_text = \"-\"\n";
const ROWS: [&str; 2] = [
    r#"{"comune":"Forlì","giorno":"2024-12-31","importo":1234.50,"abitanti":117000}"#,
    r#"{"comune":"Pisa","giorno":"2025-01-01","importo":-0.05,"abitanti":null}"#,
];

fn windows_1252(text: &str) -> Vec<u8> {
    text.chars().map(|letter| u8::try_from(u32::from(letter)).unwrap()).collect()
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// The rows of a file under options of the command line.
fn rows(folder: &Path, name: &str, options: &[&str]) -> Vec<String> {
    let output = cli::run(folder, &[&["convert", name, "--force", "-o", "o.mcol"][..], options].concat());
    assert!(output.status.success(), "{options:?}: {}", String::from_utf8_lossy(&output.stderr));
    contents(&folder.join("o.mcol")).1
}

#[test]
fn italian_file_is_read_by_options_and_by_manifest() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "a.csv", windows_1252(SALES));
    assert_eq!(rows(folder.path(), "a.csv", &OPTIONS), ROWS);
    put(folder.path(), "a/dataset.toml", SOURCE);
    let publish = ["publish", "a", "--input", "a.csv", "--version", "1.0.0", "--data", "data"];
    let output = cli::run(folder.path(), &publish);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(contents(&folder.path().join("data/datasets/a/versions/1.0.0.mcol")).1, ROWS);
    // A typed option beats that of the manifest.
    let again =
        ["publish", "a", "--input", "a.csv", "--version", "1.1.0", "--data", "data", "--delimiter", ","];
    cli::refused(folder.path(), &again, 1, &["--delimiter ';'"]);
    put(folder.path(), "a/dataset.toml", "slug = \"a\"\n[source]\ndecimal = \";\"\n");
    cli::refused(folder.path(), &publish, 1, &["dataset.toml", "a comma or a point"]);
}

#[test]
fn forms_that_were_not_told_are_refused_or_warned_of_but_never_read_wrong() {
    let bytes = windows_1252(SALES);
    refused("a.csv", &bytes, &["--delimiter ';' --skip-lines 2"]);
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "a.csv", bytes);
    let mut conversion = conversion(folder.path(), &["a.csv"]);
    conversion.text.source.delimiter = Some(";".parse().unwrap());
    check_refusal(&conversion, &["--skip-lines 2"]);
    conversion.text.source.skip_lines = Some(2);
    check_refusal(&conversion, &["line 4", "column 1 (`comune`)", "0xEC", "--encoding windows-1252"]);
    put(folder.path(), "a.csv", "a;b\n1;1.234\n2;950\n");
    conversion.text.source.skip_lines = None;
    check_refusal(&conversion, &["line 2", "`b`", "`1.234`", "--decimal , --thousands .", "--decimal ."]);
    conversion.text.source.decimal = Some(".".parse().unwrap());
    assert_eq!(read(&conversion).unwrap().1, [r#"{"a":1,"b":1.234}"#, r#"{"a":2,"b":950.0}"#]);
    conversion.text.source.decimal = Some(",".parse().unwrap());
    conversion.text.source.thousands = Some(".".parse().unwrap());
    assert_eq!(read(&conversion).unwrap().1, [r#"{"a":1,"b":1234}"#, r#"{"a":2,"b":950}"#]);
}

#[test]
fn encodings_are_decoded_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let text = "nome,n\nForl\u{ec},1\n";
    let expected = [r#"{"nome":"Forlì","n":1}"#];
    put(folder.path(), "a.csv", [vec![0xff, 0xfe], utf16(text)].concat());
    assert_eq!(rows(folder.path(), "a.csv", &[]), expected);
    put(folder.path(), "a.csv", utf16(text));
    assert_eq!(rows(folder.path(), "a.csv", &["--encoding", "utf-16"]), expected);
    put(folder.path(), "a.csv", windows_1252(text));
    assert_eq!(rows(folder.path(), "a.csv", &["--encoding", "latin1"]), expected);
    put(folder.path(), "a.csv", text);
    cli::refused(folder.path(), &["convert", "a.csv", "--encoding", "latin1"], 1, &["UTF-8", "--encoding"]);
    refused("a.csv", utf16(text), &["zero byte", "--encoding utf-16"]);
}

#[test]
fn missing_header_and_title_are_noticed() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "a.csv", "Roma,1,2024-01-01\nPisa,2,2024-01-02\n");
    refused("a.csv", "Roma,1,2024-01-01\nPisa,2,2024-01-02\n", &["line 1", "--no-header"]);
    let expected = r#"{"column1":"Roma","column2":1,"column3":"2024-01-01"}"#;
    let found = rows(folder.path(), "a.csv", &["--no-header"]);
    assert_eq!((found.len(), found[0].as_str()), (2, expected));
    let found = rows(folder.path(), "a.csv", &["--no-header=false"]);
    assert_eq!(found, [r#"{"Roma":"Pisa","1":2,"2024-01-01":"2024-01-02"}"#]);
    refused("a.csv", "Titolo\na,b\n1,x\n2,y\n", &["line 1", "--skip-lines 1"]);
    refused("a.csv", "1\n2\n3\n", &["line 1", "--no-header"]);
}

#[test]
fn separator_line_names_delimiter() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "a.csv", "\u{feff}sep=;\r\na;b\r\n1;x\r\n");
    assert_eq!(rows(folder.path(), "a.csv", &[]), [r#"{"a":1,"b":"x"}"#]);
    put(folder.path(), "a.csv", "sep=;\na;b\n1;x\n2\n");
    cli::refused(folder.path(), &["convert", "a.csv"], 1, &["line 4", "2 fields"]);
}

#[test]
fn column_without_name_gets_number_and_warning() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "a.csv", ",a,b,\n0,1,x,\n1,2,y,\n");
    let report = cli::run(folder.path(), &["convert", "a.csv"]);
    let warnings = String::from_utf8(report.stderr).unwrap();
    assert!(
        report.status.success() && warnings.contains("`column1`") && warnings.contains("--drop column4"),
        "{warnings}"
    );
    let rows = contents(&folder.path().join("a.mcol")).1;
    assert_eq!(rows[0], r#"{"column1":0,"a":1,"b":"x","column4":null}"#);
}

#[test]
fn zip_with_one_file_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let archive = |entries: &[(&str, &str)]| {
        let mut zip = ZipWriter::new(std::io::Cursor::new(Vec::new()));
        for (name, text) in entries {
            zip.start_file(*name, SimpleFileOptions::default()).unwrap();
            zip.write_all(text.as_bytes()).unwrap();
        }
        zip.finish().unwrap().into_inner()
    };
    let lines: String =
        std::iter::once("n,t\n".to_owned()).chain((0..20_000).map(|n| format!("{n},t{n}\n"))).collect();
    for name in ["a.zip", "b.csv.zip"] {
        put(folder.path(), name, archive(&[("dati/a.csv", &lines), ("__MACOSX/._a.csv", "x")]));
        assert_eq!(rows(folder.path(), name, &[]).len(), 20_000, "{name}");
    }
    put(folder.path(), "a.zip", archive(&[("a.ndjson", "{\"a\":1}\n")]));
    assert_eq!(rows(folder.path(), "a.zip", &[]), [r#"{"a":1}"#]);
    refused("a.zip", archive(&[("a.csv", "a\n1\n"), ("b.csv", "a\n1\n")]), &["one file", "2 files"]);
    refused("a.zip", archive(&[]), &["a.zip"]);
    refused("a.zip", archive(&[("a.pdf", "x")]), &["an ending"]);
    let mut damaged = archive(&[("a.csv", &lines)]);
    let middle = damaged.len() / 2;
    damaged[middle] ^= 0xff;
    refused("a.zip", damaged, &["a.zip"]);
}

#[test]
fn json_array_is_read_object_by_object() {
    let folder = tempfile::tempdir().unwrap();
    let text =
        "\u{feff}[\n  {\"a\": 1, \"b\": {\"c\": \"}\\\"]\"}},\n  {\"a\": 2.5, \"l\": [1, {\"x\": 2}]}\n]\n";
    put(folder.path(), "a.json", text);
    let expected = [r#"{"a":1.0,"b.c":"}\"]","l":null}"#, r#"{"a":2.5,"b.c":null,"l":"[1,{\"x\":2}]"}"#];
    assert_eq!(rows(folder.path(), "a.json", &[]), expected);
    let many: Vec<String> = (0..5_000).map(|n| format!("{{\"n\":{n}}}")).collect();
    put(folder.path(), "a.json", format!("[{}]", many.join(",")));
    assert_eq!(rows(folder.path(), "a.json", &[]).len(), 5_000);
    refused("a.json", "[{\"a\":1}\n{\"a\":2}]", &["line 2", "a comma", "`{`"]);
    refused("a.json", "[{\"a\":1},\n{\"a\":\"x\"}]", &["line 2", "`a`", "`x`"]);
    refused("a.json", "[{\"a\":1}", &["the end of the file"]);
    refused("a.json", "[{\"a\":1}] x", &["behind the array"]);
    refused("a.json", "[1]", &["an object", "`1`"]);
    refused("a.json", "[{\"a\":", &["the end of the object"]);
    refused("a.json", "[]", &["columns"]);
    put(folder.path(), "a.json", "[{\"a\":1}]");
    cli::refused(folder.path(), &["convert", "a.json", "--decimal", ","], 2, &["--decimal", "JSON"]);
}

#[test]
fn preview_prints_columns_and_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    put(
        folder.path(),
        "a.csv",
        "id,price,day,mixed\n1,1.50,2024-01-01,1\n2,,2024-01-02,2\n3,2.50,2024-01-03,x\n",
    );
    let preview = cli::run(folder.path(), &["convert", "a.csv", "--preview", "--json"]);
    assert!(preview.status.success());
    let document: serde_json::Value = serde_json::from_slice(&preview.stdout).unwrap();
    assert_eq!(document["rows"], 3);
    let expected = serde_json::json!([
        {"name": "id", "type": "integer", "nulls": 0, "examples": ["1", "2", "3"]},
        {"name": "price", "type": "decimal(3,2)", "nulls": 1, "examples": ["1.50", "2.50"]},
        {"name": "day", "type": "date", "nulls": 0, "examples": ["2024-01-01", "2024-01-02", "2024-01-03"]},
        {"name": "mixed", "type": null, "nulls": 0, "examples": ["1", "2", "x"]},
    ]);
    assert_eq!(document["columns"], expected);
    assert!(document["warnings"][0].as_str().unwrap().contains("line 4, column 4 (`mixed`)"));
    let text = cli::run(folder.path(), &["convert", "a.csv", "--preview"]);
    let shown = String::from_utf8(text.stdout).unwrap();
    assert!(
        shown.contains("decimal(3,2)") && shown.contains("1.50 | 2.50") && shown.contains("mixed"),
        "{shown}"
    );
    assert_eq!(cli::names(folder.path()), ["a.csv"]);
}
