//! Excel over HTTP: pages, samples, streams and downloads carry the rows of their JSON, cost the same, and are the same
//! bytes whenever they are asked for.

use std::collections::BTreeMap;
use std::io::{Cursor, Read};

use mercato_format::ColumnKind;
use mercato_format::writer::{Column, ColumnValues};
use serde_json::{Value, json};

use crate::harness::{Answer, Ask, MANIFEST, Site, city_columns, wait_until};

const XLSX: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
const QUERY: &str = "/api/v1/datasets/cities/query";
const STREAM: &str = "/api/v1/datasets/cities/query/stream";
const SAMPLE: &str = "/api/v1/datasets/cities/sample";
const DOWNLOAD: &str = "/api/v1/datasets/cities/download?format=xlsx";

fn site_with_rows(rows: i64) -> Site {
    let site = Site::with_cities();
    site.publish("cities", MANIFEST, "1.1.0", &city_columns(rows));
    site
}

fn post(key: &str, target: &str, body: &str) -> Ask {
    Ask::post(target, body).header("X-Api-Key", key).header("Accept", XLSX)
}

fn credits(site: &Site) -> u64 {
    wait_until("everything is settled", || site.running().app().ledger.stats().open_reservations == 0);
    site.running().app().ledger.accounts()[0].credits()
}

fn part(workbook: &[u8], name: &str) -> String {
    let mut archive = zip::ZipArchive::new(Cursor::new(workbook)).unwrap();
    let mut text = String::new();
    archive.by_name(name).unwrap().read_to_string(&mut text).unwrap();
    text
}

/// A cell: its style, and its value as a text, a boolean or the text of a number.
type Cell = (String, Value);

fn attribute<'x>(tag: &'x str, name: &str) -> Option<&'x str> {
    let start = tag.find(&format!(" {name}=\""))? + name.len() + 3;
    tag[start..].split('"').next()
}

fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

/// The rows of a sheet: cells by column letters.
fn rows(workbook: &[u8]) -> Vec<BTreeMap<String, Cell>> {
    let sheet = part(workbook, "xl/worksheets/sheet1.xml");
    assert!(sheet.ends_with("</sheetData></worksheet>"));
    let mut rows = Vec::new();
    for (number, row) in (1..).zip(sheet.split("<row ").skip(1)) {
        assert!(row.starts_with(&format!("r=\"{number}\">")), "{row}");
        let mut cells = BTreeMap::new();
        for cell in row.split("<c ").skip(1) {
            let (tag, content) = cell.split_once('>').unwrap();
            let tag = format!(" {tag}");
            let place = attribute(&tag, "r").unwrap();
            let letters = place.trim_end_matches(|c: char| c.is_ascii_digit());
            assert_eq!(place, format!("{letters}{number}"));
            let between = |open: &str, close: &str| {
                let start = content.find(open).unwrap() + open.len();
                content[start..][..content[start..].find(close).unwrap()].to_owned()
            };
            let value = match attribute(&tag, "t") {
                Some("inlineStr") => {
                    json!({ "text": unescaped(&between("<t xml:space=\"preserve\">", "</t>")) })
                }
                Some("b") => json!(between("<v>", "</v>") == "1"),
                Some(other) => panic!("{other}"),
                None => json!(between("<v>", "</v>")),
            };
            cells.insert(letters.to_owned(), (attribute(&tag, "s").unwrap_or("0").to_owned(), value));
        }
        rows.push(cells);
    }
    rows
}

fn text(value: &str) -> Value {
    json!({ "text": value })
}

/// Checks rows against the JSON of the API: cities with all columns in their order.
fn check(workbook: &[u8], expected: &[Value]) {
    let rows = rows(workbook);
    let names = ["id", "name", "area", "height", "capital", "founded", "seen"];
    let header: Vec<Cell> = rows[0].values().cloned().collect();
    assert_eq!(header, names.map(|name| ("1".to_owned(), text(name))));
    assert_eq!(rows.len(), expected.len() + 1);
    for (cells, wanted) in rows[1..].iter().zip(expected) {
        let cell = |letters: &str| cells.get(letters).cloned();
        let some = |style: &str, value: Value| Some((style.to_owned(), value));
        assert_eq!(cell("A"), some("2", json!(wanted["id"].to_string())));
        assert_eq!(cell("B"), some("6", text(wanted["name"].as_str().unwrap())));
        let (style, area) = cell("C").unwrap();
        assert_eq!((style.as_str(), area.as_str().unwrap().parse().ok()), ("8", wanted["area"].as_f64()));
        match wanted["id"].as_i64().unwrap() {
            2 => assert_eq!(cell("D"), some("6", text("NaN"))),
            3 => assert_eq!(cell("D"), None),
            _ => assert_eq!(cell("D"), some("0", json!(wanted["height"].to_string()))),
        }
        assert_eq!(cell("E"), some("0", wanted["capital"].clone()));
        let days = wanted["id"].as_i64().unwrap() - 1;
        let founded = (days != 3).then(|| ("3".to_owned(), json!((25_569 + days).to_string())));
        assert_eq!(cell("F"), founded);
        let (style, seen) = cell("G").unwrap();
        let millis = (seen.as_str().unwrap().parse::<f64>().unwrap() - 25_569.0) * 86_400_000.0;
        assert_eq!((style.as_str(), millis.round() as i64), ("5", 1_700_000_000_123 + days * 1_000));
    }
}

#[test]
fn page_and_sample_have_rows_and_headers_of_their_json() {
    let site = site_with_rows(2_000);
    let key = site.paying_key(1_000_000);
    for body in [
        r#"{"limit": 500}"#,
        r#"{"limit": 700, "sortBy": "area", "sortDirection": "asc"}"#,
        r#"{"limit": 9, "filters": {"id": -1}}"#,
    ] {
        let answer = site.send(&post(&key, QUERY, body));
        assert_eq!((answer.status, answer.header("Content-Type")), (200, Some(XLSX)), "{body}");
        let envelope = site.query("cities", &key, body).json();
        let expected = envelope["data"]["results"].as_array().unwrap();
        check(&answer.body, expected);
        let count = expected.len().to_string();
        assert_eq!(answer.header("X-Rows-Returned"), Some(count.as_str()));
        assert_eq!(answer.header("X-Credits-Charged"), Some(count.as_str()));
        assert_eq!(answer.header("X-Next-Cursor"), envelope["data"]["nextCursor"].as_str());
        assert_eq!(site.send(&post(&key, QUERY, body)).body, answer.body, "the same bytes");
    }
    let named = site.send(&Ask::get(&format!("{QUERY}?format=xlsx&limit=3")).header("X-Api-Key", &key));
    assert_eq!((named.header("Content-Type"), rows(&named.body).len()), (Some(XLSX), 4));
    let sample = site.send(&Ask::get(SAMPLE).header("Accept", XLSX));
    check(&sample.body, site.get(SAMPLE).json()["data"]["results"].as_array().unwrap());
    assert!(part(&sample.body, "xl/workbook.xml").contains("<sheet name=\"cities\""));
    assert!(part(&sample.body, "docProps/core.xml").contains("<dc:title>cities 1.1.0</dc:title>"));
}

fn stream_as_json(site: &Site, key: &str, body: &str) -> Vec<Value> {
    let ask = Ask::post(STREAM, body).header("X-Api-Key", key).header("Accept", "application/jsonl");
    site.send(&ask).text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn streams_workbook_and_charges_its_rows() {
    let site = site_with_rows(30_000);
    let key = site.paying_key(200_000);
    let body = r#"{"limit": 25000, "sortBy": "area"}"#;
    let answer = site.send(&post(&key, STREAM, body));
    assert_eq!((answer.status, answer.header("Content-Type")), (200, Some(XLSX)));
    assert_eq!(answer.trailer("X-Rows-Returned"), Some("25000"));
    assert_eq!(answer.trailer("X-Credits-Charged"), Some("25000"));
    assert_eq!(credits(&site), 175_000);
    check(&answer.body, &stream_as_json(&site, &key, body));
    let none = site.send(&post(&key, STREAM, r#"{"filters": {"id": -1}}"#));
    check(&none.body, &[]);
    let refused = site.send(&post(&key, &format!("{STREAM}?summary=1"), "{}"));
    assert_eq!(
        (refused.status, &refused.json()["error"]["details"]["reason"]),
        (400, &"SUMMARY_NOT_OFFERED".into())
    );
    let encoded = site.send(&post(&key, STREAM, body).header("Accept-Encoding", "gzip"));
    assert_eq!(encoded.header("Content-Encoding"), None, "it is deflated already");
}

#[test]
fn downloads_whole_workbook_of_unknown_length() {
    let site = site_with_rows(30_000);
    let key = site.paying_key(1_000_000);
    let ask = Ask::get(DOWNLOAD).header("X-Api-Key", &key);
    let whole = site.send(&ask);
    assert_eq!((whole.status, whole.header("Content-Type")), (200, Some(XLSX)));
    assert_eq!((whole.header("Content-Length"), whole.header("Accept-Ranges")), (None, Some("none")));
    assert_eq!(whole.trailer("X-Credits-Charged"), Some("30000"));
    assert_eq!(whole.header("Content-Disposition"), Some("attachment; filename=\"cities-1.1.0.xlsx\""));
    assert_eq!(credits(&site), 1_000_000 - 30_000);
    check(&whole.body, &stream_as_json(&site, &key, r#"{"limit": 30000}"#));
    let again = site.send(&ask.clone().header("Range", "bytes=5-9").header("Accept-Encoding", "gzip"));
    assert_eq!(again.header("Content-Encoding"), None, "it is deflated already");
    assert!(
        again.status == 200 && again.body == whole.body,
        "a range is ignored, and the bytes are the same"
    );
    let tag = whole.header("ETag").unwrap();
    assert_eq!(site.send(&ask.clone().header("If-None-Match", tag)).status, 304);
    let head = Ask::new("HEAD", DOWNLOAD).header("X-Api-Key", &key);
    let described = site.send(&head);
    assert_eq!((described.status, described.header("Content-Length")), (200, None));
    let formats = site.get("/api/v1/datasets/cities").json()["data"]["formats"].clone();
    let listed = formats.as_array().unwrap().iter().find(|offer| offer["format"] == "xlsx").unwrap().clone();
    assert_eq!(listed["bytes"], Value::Null);
    site.publish("cities", MANIFEST, "1.2.0", &city_columns(30_000));
    assert_ne!(site.send(&head).header("ETag").unwrap(), tag, "a workbook names its version");
}

#[test]
fn downloads_empty_table() {
    let site = site_with_rows(0);
    let key = site.free_key();
    check(&site.send(&Ask::get(DOWNLOAD).header("X-Api-Key", &key)).body, &[]);
}

#[test]
fn refuses_download_of_more_rows_than_a_sheet_has() {
    let site = Site::with_cities();
    let rows = 1_048_576;
    let columns =
        [Column::new("n", ColumnKind::Integer, ColumnValues::Integers((0..rows).map(Some).collect()))];
    site.publish("many", &MANIFEST.replace("\"cities\"", "\"many\""), "1.0.0", &columns);
    let key = site.paying_key(2_000_000);
    let ask = Ask::get("/api/v1/datasets/many/download?format=xlsx").header("X-Api-Key", &key);
    let refused = site.send(&ask);
    let json = refused.json();
    assert_eq!(
        (refused.status, &json["error"]["details"]["reason"]),
        (422, &"TOO_MANY_ROWS_FOR_XLSX".into())
    );
    assert!(json["error"]["message"].as_str().unwrap().contains("1048575"));
    assert_eq!(credits(&site), 2_000_000);
    let formats = site.get("/api/v1/datasets/many").json()["data"]["formats"].clone();
    assert!(formats.as_array().unwrap().iter().all(|offer| offer["format"] != "xlsx"));
}

/// The sample of a table as a workbook: the answer and its rows beneath the header row.
fn sample_of(columns: &[Column]) -> (Answer, Vec<BTreeMap<String, Cell>>) {
    let site = Site::with_cities();
    site.publish("odd", &MANIFEST.replace("\"cities\"", "\"odd\""), "1.0.0", columns);
    let answer = site.send(&Ask::get("/api/v1/datasets/odd/sample").header("Accept", XLSX));
    let rows = rows(&answer.body).split_off(1);
    (answer, rows)
}

fn column(rows: &[BTreeMap<String, Cell>], letters: &str) -> Vec<Option<Value>> {
    rows.iter().map(|cells| cells.get(letters).map(|(_, value)| value.clone())).collect()
}

fn number(digits: &str) -> Option<Value> {
    Some(json!(digits))
}

fn printed(digits: &str) -> Option<Value> {
    Some(text(digits))
}

#[test]
fn texts_are_never_formulas_and_long_ones_are_cut_with_a_mark() {
    let long = "è".repeat(40_000);
    let texts =
        [Some("=1+1"), Some("+a"), Some(""), None, Some("a\u{1}b\r\n<&>_x0041_"), Some(long.as_str())];
    let texts = texts.map(|text| text.map(str::to_owned)).to_vec();
    let (answer, found) = sample_of(&[Column::new("=t", ColumnKind::Text, ColumnValues::Texts(texts))]);
    let warnings = answer.header("X-Warnings").unwrap();
    assert!(warnings.contains("1 text is longer"), "{warnings}");
    assert_eq!(rows(&answer.body)[0]["A"].1, text("=t"));
    let texts = column(&found, "A");
    let escaped = printed("a_x0001_b_x000D_\n<&>_x005F_x0041_");
    assert_eq!(texts[..5], [printed("=1+1"), printed("+a"), printed(""), None, escaped]);
    let cut = texts[5].as_ref().unwrap()["text"].as_str().unwrap().to_owned();
    assert_eq!(cut.encode_utf16().count(), 32_767);
    assert!(cut.ends_with("… [cut: 40000 characters in all]"));
}

#[test]
fn numbers_beyond_excel_stay_exact() {
    let wide = [1_i128 << 53, (1 << 53) + 1, -(1 << 53), -(1 << 53) - 1, 0, i128::from(u64::MAX)];
    let decimals = [999_999_999_999_999_i64, 1_000_000_000_000_000, -1, 0, 12_300, 5];
    let floats = [1.5, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 5e-324, 1e300];
    let (_, rows) = sample_of(&[
        Column::new("w", ColumnKind::Integer, ColumnValues::Wide(wide.map(Some).to_vec())),
        Column::new(
            "d",
            ColumnKind::Decimal { precision: 18, scale: 3 },
            ColumnValues::Integers(decimals.map(Some).to_vec()),
        ),
        Column::new("f", ColumnKind::Float, ColumnValues::Floats(floats.map(Some).to_vec())),
    ]);
    assert_eq!(
        column(&rows, "A"),
        [
            number("9007199254740992"),
            printed("9007199254740993"),
            number("-9007199254740992"),
            printed("-9007199254740993"),
            number("0"),
            printed("18446744073709551615")
        ]
    );
    assert_eq!(
        column(&rows, "B"),
        [
            number("999999999999.999"),
            printed("1000000000000.000"),
            number("-0.001"),
            number("0.000"),
            number("12.300"),
            number("0.005")
        ]
    );
    let infinite = [printed("Infinity"), printed("-Infinity"), printed("NaN")];
    assert_eq!(column(&rows, "C")[1..4], infinite);
    assert_eq!(column(&rows, "C")[0], number("1.5"));
    assert_eq!(column(&rows, "C")[4..], [printed("5e-324"), number("1e+300")]);
}

#[test]
fn moments_beyond_excel_stay_exact() {
    let days = [-25_509_i64, -25_508, 2_932_896, 2_932_897, 0, -800_000];
    let micros = [1_000_000_i64, 1, 2_000, 0, -1, 86_400_000_000];
    let (_, rows) = sample_of(&[
        Column::new("day", ColumnKind::Date, ColumnValues::Integers(days.map(Some).to_vec())),
        Column::new(
            "at",
            ColumnKind::Timestamp { unit: mercato_format::TimeUnit::Microsecond },
            ColumnValues::Integers(micros.map(Some).to_vec()),
        ),
    ]);
    assert_eq!(
        column(&rows, "A")[..5],
        [printed("1900-02-28"), number("61"), number("2958465"), printed("+010000-01-01"), number("25569")]
    );
    assert!(column(&rows, "A")[5].as_ref().unwrap()["text"].is_string());
    let at = column(&rows, "B");
    assert_eq!((&at[1], &at[3]), (&printed("1970-01-01T00:00:00.000001Z"), &number("25569")));
    assert_eq!((&at[4], &at[5]), (&printed("1969-12-31T23:59:59.999999Z"), &number("25570")));
    assert!(at[0].as_ref().unwrap().is_string() && at[2].as_ref().unwrap().is_string());
}
