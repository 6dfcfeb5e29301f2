//! Numbers of CSV that fell to text without a word: with a plus, with leading zeros, with exponents, in other forms. And
//! options that name columns which no file has.

use mercato_tools::convert::{Report, convert};

use super::{check_refusal, conversion, converted, put, read};
use crate::cli;

/// A column of 1,000 numbers with one other value in the middle.
fn numbers_with(value: &str) -> String {
    let lines = (0..1_000).map(|n| if n == 500 { format!("{value}\n") } else { format!("{n}\n") });
    std::iter::once("x\n".to_owned()).chain(lines).collect()
}

fn report(name: &str, content: &str) -> Report {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), name, content);
    convert(&conversion(folder.path(), &[name])).unwrap()
}

#[test]
fn one_number_with_plus_or_exponent_leaves_column_numeric() {
    for (value, kind, row) in [
        ("+5", "integer", r#"{"x":5}"#),
        ("+5.5", "float", r#"{"x":5.5}"#),
        ("1e3", "float", r#"{"x":1000.0}"#),
    ] {
        let (columns, rows) = converted("a.csv", numbers_with(value)).unwrap();
        assert_eq!((columns[0].as_str(), rows[500].as_str()), (format!("x {kind}").as_str(), row), "{value}");
    }
}

#[test]
fn one_code_among_numbers_is_told_and_declared_number_reads_it() {
    for (value, row) in
        [("007", r#"{"x":7.0}"#), ("1e999", r#"{"x":null}"#), ("+390551234567", r#"{"x":390551234567.0}"#)]
    {
        let folder = tempfile::tempdir().unwrap();
        put(folder.path(), "a.csv", numbers_with(value));
        let mut conversion = conversion(folder.path(), &["a.csv"]);
        let words = ["a.csv", "line 502", "`x`", value, "--type x=number", "--type x=string"];
        check_refusal(&conversion, &words);
        conversion.text.types.insert("x".into(), "number".parse().unwrap());
        let (columns, rows) = read(&conversion).unwrap();
        assert_eq!((columns[0].as_str(), rows[500].as_str()), ("x float", row), "{value}");
        conversion.text.types.insert("x".into(), "string".parse().unwrap());
        assert_eq!(read(&conversion).unwrap().1[500], format!(r#"{{"x":"{value}"}}"#));
    }
}

#[test]
fn columns_of_codes_stay_text() {
    let (columns, rows) = converted(
        "a.csv",
        "cap,istat,tel\n00184,058091,+390612345678\n00100,001272,+390557654321\n20121,015146,\n",
    )
    .unwrap();
    assert_eq!(columns, ["cap text", "istat text", "tel text?"]);
    assert_eq!(rows[0], r#"{"cap":"00184","istat":"058091","tel":"+390612345678"}"#);
}

#[test]
fn column_that_falls_to_text_is_told_with_line_and_option() {
    for (values, words) in [
        (&["1,5", "2,5", "3"][..], &["`x`", "100 %", "`1,5`", "line 2", "--decimal ,"][..]),
        (&["31/12/2024", "30/12/2024"], &["dates", "`31/12/2024`", "line 2", "--date-format %d/%m/%Y"]),
        (&["1'234", "2'345"], &["--thousands"]),
    ] {
        let content: String = std::iter::once("x".to_owned())
            .chain(values.iter().map(|value| format!("\"{value}\"")))
            .collect::<Vec<_>>()
            .join("\n");
        let report = report("a.csv", &content);
        assert_eq!(report.columns[0].r#type, "string");
        let warning = report.warnings.first().unwrap_or_else(|| panic!("{values:?}"));
        for word in words {
            assert!(warning.contains(word), "{word}: {warning}");
        }
    }
    assert!(report("a.csv", "x,y\nRoma,12 Main St\nPisa,1.2.3.4\n").warnings.is_empty());
}

#[test]
fn unknown_column_of_an_option_is_refused_with_nearest_name() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "a.csv", "zip,amount\n00100,1\n");
    for option in ["--type", "--drop", "--sort-index", "--sort-by"] {
        let value = if option == "--type" { "zpi=string" } else { "zpi" };
        let arguments = ["convert", "a.csv", option, value];
        cli::refused(
            folder.path(),
            &arguments,
            2,
            &[option, "zpi", "no such column", "nearest name is `zip`"],
        );
    }
    assert_eq!(cli::names(folder.path()), ["a.csv"]);
    let output = cli::run(folder.path(), &["convert", "a.csv", "--null-text", "n/a"]);
    let warning = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && warning.contains("--null-text: no field is `n/a`"), "{warning}");
}

#[test]
fn integer_that_a_double_does_not_hold_is_not_rounded() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "a.csv", "x\n12345678901234567\n1e5\n");
    check_refusal(
        &conversion(folder.path(), &["a.csv"]),
        &["line 2", "12345678901234567", "--type x=string"],
    );
}
