//! Excel workbooks: types of cells, sheets, titles, merged cells, and hostile parts within bounds.

use std::io::{Cursor, Write};

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::{check_refusal, conversion, put, read, refused};
use crate::cli;

const TYPES: &str =
    r#"<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>"#;
const RELATIONS: &str = r#"<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>"#;
/// Style 1 is a date, style 2 a date with time, style 3 a time.
const STYLES: &str = r#"<?xml version="1.0"?><styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><cellXfs count="4"><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="22"/><xf numFmtId="21"/></cellXfs></styleSheet>"#;

/// A workbook of sheets: name, `hidden` or nothing, and rows.
fn workbook(sheets: &[(&str, &str, &str)], texts: &str) -> Vec<u8> {
    let main = r#"xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main""#;
    let relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    let (mut list, mut links, mut parts) = (String::new(), String::new(), Vec::new());
    for (number, (name, state, rows)) in (1..).zip(sheets) {
        let state = if state.is_empty() { String::new() } else { format!(r#" state="{state}""#) };
        list += &format!(r#"<sheet name="{name}" sheetId="{number}"{state} r:id="rId{number}"/>"#);
        links += &format!(
            r#"<Relationship Id="rId{number}" Type="{relation}/worksheet" Target="worksheets/sheet{number}.xml"/>"#
        );
        parts.push((
            format!("xl/worksheets/sheet{number}.xml"),
            format!(r#"<?xml version="1.0"?><worksheet {main}><sheetData>{rows}</sheetData></worksheet>"#),
        ));
    }
    parts.push(("[Content_Types].xml".into(), TYPES.into()));
    parts.push(("_rels/.rels".into(), RELATIONS.into()));
    parts.push(("xl/styles.xml".into(), STYLES.into()));
    parts.push(("xl/sharedStrings.xml".into(), format!(r#"<?xml version="1.0"?><sst {main} {texts}</sst>"#)));
    parts.push((
        "xl/workbook.xml".into(),
        format!(
            r#"<?xml version="1.0"?><workbook {main} xmlns:r="{relation}"><sheets>{list}</sheets></workbook>"#
        ),
    ));
    parts.push(("xl/_rels/workbook.xml.rels".into(), format!(r#"<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{links}</Relationships>"#)));
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in parts {
        zip.start_file(name, SimpleFileOptions::default()).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// A row of cells, each written as `text`, `=number`, `d:serial`, `t:serial`, `h:serial`, `b:1`, `e:error` or nothing.
fn row(number: usize, cells: &[&str]) -> String {
    let cell = |(at, text): (usize, &&str)| {
        let place = format!("{}{number}", char::from(b'A' + u8::try_from(at).unwrap()));
        match text.split_at_checked(2).unwrap_or((text, "")) {
            ("", _) => String::new(),
            ("d:", value) => format!(r#"<c r="{place}" s="1"><v>{value}</v></c>"#),
            ("t:", value) => format!(r#"<c r="{place}" s="2"><v>{value}</v></c>"#),
            ("h:", value) => format!(r#"<c r="{place}" s="3"><v>{value}</v></c>"#),
            ("b:", value) => format!(r#"<c r="{place}" t="b"><v>{value}</v></c>"#),
            ("e:", value) => format!(r#"<c r="{place}" t="e"><v>{value}</v></c>"#),
            _ if text.starts_with('=') => format!(r#"<c r="{place}"><v>{}</v></c>"#, &text[1..]),
            _ => format!(r#"<c r="{place}" t="inlineStr"><is><t>{text}</t></is></c>"#),
        }
    };
    format!(r#"<row r="{number}">{}</row>"#, cells.iter().enumerate().map(cell).collect::<String>())
}

fn rows(cells: &[&[&str]]) -> String {
    (1..).zip(cells).map(|(number, cells)| row(number, cells)).collect()
}

fn one_sheet(cells: &[&[&str]]) -> Vec<u8> {
    workbook(&[("Dati", "", &rows(cells))], ">")
}

#[test]
fn cells_keep_their_types() {
    let folder = tempfile::tempdir().unwrap();
    let content = one_sheet(&[
        &["id", "cap", "importo", "giorno", "ora", "quando", "ok", "nota"],
        &["=1", "00184", "=12.5", "d:45351", "h:0.5", "t:45351.5", "b:1", "x"],
        &["=2", "20121", "=-0.25", "d:1", "h:0.25", "t:45352", "b:0", ""],
        &["=3", "", "e:#DIV/0!", "", "", "", "", "è"],
    ]);
    put(folder.path(), "a.xlsx", content);
    let (columns, found) = read(&conversion(folder.path(), &["a.xlsx"])).unwrap();
    let expected = [
        "id integer",
        "cap text?",
        "importo float?",
        "giorno date?",
        "ora text?",
        "quando timestamp?",
        "ok boolean?",
        "nota text?",
    ];
    assert_eq!(columns, expected);
    assert_eq!(
        found[0],
        r#"{"id":1,"cap":"00184","importo":12.5,"giorno":"2024-02-29","ora":"12:00:00","quando":"2024-02-29T12:00:00Z","ok":true,"nota":"x"}"#
    );
    assert_eq!(
        found[2],
        r#"{"id":3,"cap":null,"importo":null,"giorno":null,"ora":null,"quando":null,"ok":null,"nota":"è"}"#
    );
    let told = cli::run(folder.path(), &["convert", "a.xlsx"]);
    let warnings = String::from_utf8(told.stderr).unwrap();
    assert!(warnings.contains("#DIV/0! in row 4, column 3"), "{warnings}");
}

#[test]
fn first_visible_sheet_is_read_unless_another_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let sheets = [
        ("Nascosto", "hidden", rows(&[&["a"], &["=1"]])),
        ("Entrate", "", rows(&[&["a"], &["=2"]])),
        ("Uscite", "", rows(&[&["a"], &["=3"]])),
    ];
    let sheets = sheets.each_ref().map(|(name, state, rows)| (*name, *state, rows.as_str()));
    put(folder.path(), "a.xlsx", workbook(&sheets, ">"));
    let mut conversion = conversion(folder.path(), &["a.xlsx"]);
    assert_eq!(read(&conversion).unwrap().1, [r#"{"a":2}"#]);
    for (sheet, value) in [("Uscite", 3), ("Nascosto", 1)] {
        conversion.text.source.sheet = Some(sheet.into());
        assert_eq!(read(&conversion).unwrap().1, [format!(r#"{{"a":{value}}}"#)]);
    }
    let arguments = ["convert", "a.xlsx", "--sheet", "Altro", "-o", "x.mcol"];
    cli::refused(folder.path(), &arguments, 2, &["--sheet Altro", "Entrate, Uscite"]);
    let told = cli::run(folder.path(), &["convert", "a.xlsx", "-o", "x.mcol"]);
    assert!(String::from_utf8(told.stderr).unwrap().contains("the first of 2 sheets"));
}

#[test]
fn titles_missing_headers_and_stray_cells_are_noticed() {
    let title: &[&[&str]] =
        &[&["Bilancio 2024"], &[], &["", "voce", "euro"], &["", "Entrate", "=5"], &["", "Uscite", "=7"]];
    refused("a.xlsx", one_sheet(title), &["line 1", "--skip-lines 2"]);
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "a.xlsx", one_sheet(title));
    let mut skipping = conversion(folder.path(), &["a.xlsx"]);
    skipping.text.source.skip_lines = Some(2);
    let expected = [r#"{"voce":"Entrate","euro":5}"#, r#"{"voce":"Uscite","euro":7}"#];
    assert_eq!(read(&skipping).unwrap().1, expected);
    let values: &[&[&str]] = &[&["Roma", "=5"], &["Pisa", "=7"]];
    refused("a.xlsx", one_sheet(values), &["line 1", "--no-header"]);
    put(folder.path(), "b.xlsx", one_sheet(values));
    let mut bare = conversion(folder.path(), &["b.xlsx"]);
    bare.text.source.no_header = Some(true);
    assert_eq!(read(&bare).unwrap().1[0], r#"{"column1":"Roma","column2":5}"#);
    refused(
        "a.xlsx",
        one_sheet(&[&["a", "b"], &["=1", "=2", "=3"], &["=1", "=2"], &["=1", "=2"]]),
        &["line 2, column 3"],
    );
    refused("a.xlsx", one_sheet(&[&["a", "a"], &["=1", "=2"]]), &["`a` for the second time"]);
    refused("a.xlsx", one_sheet(&[&["a"], &["=1"], &["x"]]), &["a.xlsx", "line 3", "--type a=string"]);
    refused("a.xlsx", one_sheet(&[]), &["an empty one"]);
}

#[test]
fn hostile_workbooks_are_refused_within_bounds() {
    let folder = tempfile::tempdir().unwrap();
    let cells = rows(&[&["a"], &["=1"]]);
    let sheet = [("Dati", "", cells.as_str())];
    put(folder.path(), "count.xlsx", workbook(&sheet, r#"uniqueCount="99999999999">"#));
    put(folder.path(), "texts.xlsx", workbook(&sheet, &format!("><si><t>{}</t></si>", "x".repeat(8 << 20))));
    let far =
        r#"<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>1</v></c></row>"#;
    put(folder.path(), "far.xlsx", workbook(&[("Dati", "", far)], ">"));
    put(folder.path(), "value.xlsx", workbook(&[("Dati", "", &"x".repeat(17 << 20))], ">"));
    put(folder.path(), "order.xlsx", workbook(&[("Dati", "", &(row(3, &["a"]) + &row(2, &["=1"])))], ">"));
    put(folder.path(), "cut.xlsx", &workbook(&sheet, ">")[..500]);
    put(folder.path(), "text.xlsx", "a,b\n1,2\n");
    for (name, words) in [
        ("count.xlsx", &["at most", "99999999999"][..]),
        ("texts.xlsx", &["texts and styles", "--memory-limit"]),
        ("far.xlsx", &["far.xlsx"]),
        ("value.xlsx", &["values of at most"]),
        ("order.xlsx", &["rows in order"]),
        ("cut.xlsx", &["an Excel workbook"]),
        ("text.xlsx", &["an Excel workbook"]),
    ] {
        let mut conversion = conversion(folder.path(), &[name]);
        conversion.memory_limit = 64 << 20;
        check_refusal(&conversion, words);
    }
}
