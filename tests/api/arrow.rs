//! Arrow over HTTP: pages, samples, streams and downloads carry the rows of their JSON, cost the same, and a stream that
//! was cut never looks whole.

use std::io::{Cursor, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Decimal128Type, Float64Type, Int64Type, TimestampMillisecondType};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_ipc::reader::StreamReader;
use arrow_schema::{DataType, SchemaRef, TimeUnit};
use mercato_format::ColumnKind;
use mercato_format::encode::{push_date, push_decimal, push_timestamp};
use mercato_format::writer::{Column, ColumnValues};
use serde_json::{Value, json};

use crate::harness::{Ask, MANIFEST, Site, city_columns, wait_until};

const ARROW: &str = "application/vnd.apache.arrow.stream";
const QUERY: &str = "/api/v1/datasets/cities/query";
const STREAM: &str = "/api/v1/datasets/cities/query/stream";
const SAMPLE: &str = "/api/v1/datasets/cities/sample";
const DOWNLOAD: &str = "/api/v1/datasets/cities/download";
const END: [u8; 8] = [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0];

fn site_with_rows(rows: i64) -> Site {
    let site = Site::with_cities();
    site.publish("cities", MANIFEST, "1.1.0", &city_columns(rows));
    site
}

fn post(key: &str, target: &str, body: &str) -> Ask {
    Ask::post(target, body).header("X-Api-Key", key).header("Accept", ARROW)
}

fn credits(site: &Site) -> u64 {
    site.running().app().ledger.accounts()[0].credits()
}

fn settled(site: &Site) {
    wait_until("everything is settled", || site.running().app().ledger.stats().open_reservations == 0);
}

fn read(stream: &[u8]) -> (SchemaRef, Vec<RecordBatch>) {
    assert!(stream.ends_with(&END), "the mark of the end");
    let reader = StreamReader::try_new(Cursor::new(stream), None).unwrap();
    (reader.schema(), reader.collect::<Result<_, _>>().unwrap())
}

/// A cell as the JSON of the API prints it.
fn printed(array: &ArrayRef, row: usize) -> Value {
    if array.is_null(row) {
        return Value::Null;
    }
    let mut text = Vec::new();
    match array.data_type() {
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            return printed(dictionary.values(), dictionary.normalized_keys()[row]);
        }
        DataType::Utf8 => return json!(array.as_string::<i32>().value(row)),
        DataType::Boolean => return json!(array.as_boolean().value(row)),
        DataType::Int64 => return json!(array.as_primitive::<Int64Type>().value(row)),
        // NaN is null in JSON.
        DataType::Float64 => return json!(array.as_primitive::<Float64Type>().value(row)),
        DataType::Decimal128(_, scale) => {
            push_decimal(
                &mut text,
                array.as_primitive::<Decimal128Type>().value(row),
                u8::try_from(*scale).unwrap(),
            );
            return serde_json::from_slice(&text).unwrap();
        }
        DataType::Date32 => push_date(&mut text, array.as_primitive::<Date32Type>().value(row).into()),
        DataType::Timestamp(TimeUnit::Millisecond, Some(zone)) if zone.as_ref() == "UTC" => {
            let value = array.as_primitive::<TimestampMillisecondType>().value(row);
            push_timestamp(&mut text, value, mercato_format::TimeUnit::Millisecond);
        }
        other => panic!("{other}"),
    }
    json!(String::from_utf8(text).unwrap())
}

/// The rows as objects.
fn rows(stream: &[u8]) -> Vec<Value> {
    let (schema, batches) = read(stream);
    let mut rows = Vec::new();
    for batch in &batches {
        for row in 0..batch.num_rows() {
            let cells = schema.fields().iter().zip(batch.columns());
            rows.push(cells.map(|(field, array)| (field.name().clone(), printed(array, row))).collect());
        }
    }
    rows
}

fn json_rows(site: &Site, key: &str, body: &str) -> Vec<Value> {
    site.query("cities", key, body).json()["data"]["results"].as_array().unwrap().clone()
}

#[test]
fn page_has_rows_and_headers_of_its_json() {
    let site = site_with_rows(2_000);
    let key = site.paying_key(1_000_000);
    for body in [
        r#"{"limit": 500}"#,
        r#"{"limit": 700, "sortBy": "height", "sortDirection": "desc"}"#,
        r#"{"limit": 100, "filters": {"name": {"contains": "o"}, "id_min": 500}, "sortBy": "founded"}"#,
        r#"{"limit": 9, "columns": ["seen", "capital"], "offset": 3}"#,
        r#"{"limit": 9, "filters": {"id": -1}}"#,
    ] {
        let answer = site.send(&post(&key, QUERY, body));
        assert_eq!((answer.status, answer.header("Content-Type")), (200, Some(ARROW)), "{body}");
        let envelope = site.query("cities", &key, body).json();
        let expected = envelope["data"]["results"].as_array().unwrap();
        assert_eq!(&rows(&answer.body), expected, "{body}");
        let header = |name: &str| answer.header(name).map(ToOwned::to_owned);
        let count = Some(expected.len().to_string());
        assert_eq!(
            (header("X-Rows-Returned"), header("X-Credits-Charged")),
            (count.clone(), count),
            "{body}"
        );
        assert_eq!(header("X-Next-Cursor").as_deref(), envelope["data"]["nextCursor"].as_str());
        assert_eq!(
            header("X-Total-Rows"),
            envelope["data"]["totalRows"].as_u64().map(|total| total.to_string())
        );
        assert_eq!(header("X-Dataset-Version").as_deref(), Some("1.1.0"));
        let (schema, _) = read(&answer.body);
        let named: Vec<_> = schema.metadata().iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(named, ["dataset=cities", "version=1.1.0"]);
    }
}

#[test]
fn walks_by_cursor_through_arrow_pages() {
    let site = site_with_rows(350);
    let key = site.paying_key(10_000);
    let filter = r#""sortBy": "area", "filters": {"name": ["Roma", "Genova", "Torino"]}"#;
    let all = json_rows(&site, &key, &format!(r#"{{"limit": 10000, {filter}}}"#));
    let (mut found, mut cursor, mut schemas) = (Vec::new(), String::new(), Vec::new());
    loop {
        let answer = site.send(&post(&key, QUERY, &format!(r#"{{"limit": 40, {filter}{cursor}}}"#)));
        found.extend(rows(&answer.body));
        schemas.push(read(&answer.body).0);
        match answer.header("X-Next-Cursor") {
            Some(next) => cursor = format!(r#", "cursor": "{next}""#),
            None => break,
        }
    }
    assert_eq!(found, all);
    schemas.dedup();
    assert_eq!(schemas.len(), 1, "pages fit together");
}

#[test]
fn takes_format_from_parameter_and_describes_by_head() {
    let site = Site::with_cities();
    let key = site.paying_key(1_000);
    let named = site.send(&Ask::get(&format!("{QUERY}?format=arrow&limit=3")).header("X-Api-Key", &key));
    assert_eq!((named.header("Content-Type"), rows(&named.body).len()), (Some(ARROW), 3));
    let head =
        Ask::new("HEAD", &format!("{QUERY}?limit=3")).header("X-Api-Key", &key).header("Accept", ARROW);
    let head = site.send(&head);
    assert_eq!((head.status, head.header("Content-Type"), head.body.len()), (200, Some(ARROW), 0));
    assert_eq!(head.header("X-Credits-Charged"), Some("0"));
    let sample = site.send(&Ask::get(SAMPLE).header("Accept", ARROW));
    assert_eq!((sample.header("Content-Type"), sample.header("X-Rows-Returned")), (Some(ARROW), Some("6")));
    assert_eq!(json!(rows(&sample.body)), site.get(SAMPLE).json()["data"]["results"]);
    let tag = sample.header("ETag").unwrap();
    let again = Ask::get(SAMPLE).header("Accept", ARROW).header("If-None-Match", tag);
    assert_eq!(site.send(&again).status, 304);
    for target in [QUERY, SAMPLE, DOWNLOAD] {
        let refused = site.send(&Ask::get(target).header("X-Api-Key", &key).header("Accept", "image/png"));
        let allowed = refused.json()["error"]["details"]["allowed"].as_array().unwrap().clone();
        assert!(refused.status == 406 && allowed.contains(&ARROW.into()), "{target}: {allowed:?}");
    }
}

#[test]
fn streams_one_batch_for_each_piece() {
    let site = site_with_rows(30_000);
    let key = site.paying_key(100_000);
    let body = r#"{"limit": 25000, "sortBy": "area"}"#;
    let answer = site.send(&post(&key, STREAM, body));
    assert_eq!((answer.status, answer.header("Content-Type")), (200, Some(ARROW)));
    assert_eq!(answer.trailer("X-Rows-Returned"), Some("25000"));
    assert_eq!(answer.trailer("X-Credits-Charged"), Some("25000"));
    let cursor = answer.trailer("X-Next-Cursor").unwrap();
    let ndjson =
        site.send(&post(&key, STREAM, body).without_header("Accept").header("Accept", "application/jsonl"));
    let expected: Vec<Value> =
        ndjson.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(rows(&answer.body) == expected);
    let (schema, batches) = read(&answer.body);
    assert_eq!((batches[0].num_rows(), schema.metadata()["dataset"].as_str()), (1, "cities"));
    assert!(batches.len() > 4, "the first rows come soon");
    let rest = format!(r#"{{"limit": 100000, "sortBy": "area", "cursor": "{cursor}"}}"#);
    assert_eq!(rows(&site.send(&post(&key, STREAM, &rest)).body).len(), 5_000);
    settled(&site);
    assert_eq!(credits(&site), 100_000 - 25_000 - 25_000 - 5_000);
}

#[test]
fn streams_nothing_as_schema_and_end() {
    let site = site_with_rows(100);
    let key = site.paying_key(1_000);
    let answer = site.send(&post(&key, STREAM, r#"{"filters": {"id": -1}}"#));
    let (schema, batches) = read(&answer.body);
    assert_eq!((schema.fields().len(), batches.len()), (7, 0));
    assert_eq!(answer.trailer("X-Credits-Charged"), Some("0"));
    let refused = site.send(&post(&key, &format!("{STREAM}?summary=1"), "{}"));
    let json = refused.json();
    assert_eq!((refused.status, &json["error"]["details"]["reason"]), (400, &"SUMMARY_NOT_OFFERED".into()));
}

#[test]
fn encodes_content_losslessly() {
    let site = site_with_rows(3_000);
    let key = site.paying_key(1_000_000);
    let asks = [
        post(&key, QUERY, r#"{"limit": 2000}"#),
        post(&key, STREAM, r#"{"limit": 2000}"#),
        Ask::get(&format!("{DOWNLOAD}?format=arrow")).header("X-Api-Key", &key),
    ];
    for ask in asks {
        let plain = site.send(&ask);
        for coding in ["gzip", "zstd"] {
            let answer = site.send(&ask.clone().header("Accept-Encoding", coding));
            assert_eq!(answer.header("Content-Encoding"), Some(coding));
            let mut decoded = Vec::new();
            match coding {
                "gzip" => flate2::read::GzDecoder::new(&answer.body[..]).read_to_end(&mut decoded).unwrap(),
                _ => zstd::stream::read::Decoder::new(&answer.body[..])
                    .unwrap()
                    .read_to_end(&mut decoded)
                    .unwrap(),
            };
            assert!(decoded == plain.body, "{coding}");
        }
    }
}

#[test]
fn downloads_whole_file_of_unknown_length() {
    let site = site_with_rows(30_000);
    let key = site.paying_key(1_000_000);
    let ask = Ask::get(&format!("{DOWNLOAD}?format=arrow")).header("X-Api-Key", &key);
    let whole = site.send(&ask);
    assert_eq!((whole.status, whole.header("Content-Type")), (200, Some(ARROW)));
    assert_eq!((whole.header("Content-Length"), whole.header("Repr-Digest")), (None, None));
    assert_eq!(whole.header("Accept-Ranges"), Some("none"));
    assert_eq!(
        (whole.header("X-Credits-Charged"), whole.trailer("X-Credits-Charged")),
        (Some("30000"), Some("30000"))
    );
    assert_eq!((whole.trailer("X-Rows-Returned"), whole.trailer("X-Next-Cursor")), (Some("30000"), None));
    assert_eq!(whole.header("Content-Disposition"), Some("attachment; filename=\"cities-1.1.0.arrow\""));
    assert_eq!(rows(&whole.body)[..10_000], json_rows(&site, &key, r#"{"limit": 10000}"#)[..]);
    assert_eq!(rows(&whole.body).len(), 30_000);
    settled(&site);
    assert_eq!(credits(&site), 1_000_000 - 40_000);
    let part = site.send(&ask.clone().header("Range", "bytes=5-9"));
    assert!(part.status == 200 && part.body == whole.body, "a range is ignored, and the bytes are the same");
    settled(&site);
    assert_eq!(credits(&site), 1_000_000 - 70_000, "a new download");
    let tag = whole.header("ETag").unwrap();
    assert_eq!(site.send(&ask.clone().header("If-None-Match", tag)).status, 304);
    let head = Ask::new("HEAD", &format!("{DOWNLOAD}?format=arrow")).header("X-Api-Key", &key);
    let described = site.send(&head);
    assert_eq!((described.status, described.header("Content-Length")), (200, None));
    assert_eq!((described.header("Accept-Ranges"), described.header("ETag")), (Some("none"), Some(tag)));
    assert_eq!(described.header("X-Credits-Charged"), Some("0"));
    let formats = site.get("/api/v1/datasets/cities").json()["data"]["formats"].clone();
    let listed = formats.as_array().unwrap().iter().find(|offer| offer["format"] == "arrow").unwrap().clone();
    assert_eq!(listed["bytes"], Value::Null);
    // Another version has another tag even with the same rows, because the stream names its version.
    site.publish("cities", MANIFEST, "1.2.0", &city_columns(30_000));
    assert_ne!(site.send(&head).header("ETag").unwrap(), tag);
}

#[test]
fn downloads_empty_table() {
    let site = site_with_rows(0);
    let key = site.free_key();
    let answer = site.send(&Ask::get(&format!("{DOWNLOAD}?format=arrow")).header("X-Api-Key", &key));
    let (schema, batches) = read(&answer.body);
    assert_eq!((schema.fields().len(), batches.len()), (7, 0));
}

#[test]
fn downloads_table_with_long_texts() {
    let site = Site::with_cities();
    let long = |row: usize| format!("{row} {}", "\"long\"\n".repeat(row * 911 % 40_000));
    let texts = (0..300).map(|row| (row % 11 != 0).then(|| long(row))).collect();
    let columns = [
        Column::new("id", ColumnKind::Integer, ColumnValues::Integers((0..300).map(Some).collect())),
        Column::new("t", ColumnKind::Text, ColumnValues::Texts(texts)),
    ];
    site.publish("towns", &MANIFEST.replace("\"cities\"", "\"towns\""), "1.0.0", &columns);
    let key = site.paying_key(10_000);
    let ask = Ask::get("/api/v1/datasets/towns/download?format=arrow").header("X-Api-Key", &key);
    let whole = site.send(&ask);
    let (_, batches) = read(&whole.body);
    assert!(batches.len() > 10);
    let found = rows(&whole.body);
    assert!(
        (0..300).all(|row| found[row]["t"] == if row % 11 == 0 { Value::Null } else { long(row).into() })
    );
}

/// Reads the beginning of an answer and leaves.
fn read_some(site: &Site, request: &str, bytes: usize) -> Vec<u8> {
    let mut stream = TcpStream::connect(site.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let (mut wire, mut piece) = (Vec::new(), vec![0; 16 * 1024]);
    while wire.len() < bytes {
        let count = stream.read(&mut piece).unwrap();
        assert!(count > 0, "the answer goes on");
        wire.extend_from_slice(&piece[..count]);
    }
    wire
}

#[test]
fn charges_batches_that_arrived_of_cut_answers() {
    let site = site_with_rows(400_000);
    let key = site.paying_key(10_000_000);
    let body = r#"{"limit": 400000}"#;
    let stream = format!(
        "POST {STREAM} HTTP/1.1\r\nHost: x\r\nX-Api-Key: {key}\r\nAccept: {ARROW}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let download = format!("GET {DOWNLOAD}?format=arrow HTTP/1.1\r\nHost: x\r\nX-Api-Key: {key}\r\n\r\n");
    for request in [stream, download] {
        let before = credits(&site);
        // More than the largest batch: rows are paid with the last byte of their batch.
        let wire = read_some(&site, &request, 1_500_000);
        assert!(!wire.ends_with(&END));
        settled(&site);
        let paid = before - credits(&site);
        assert!(paid > 0 && paid < 400_000, "{paid}");
    }
}

#[test]
fn repeats_broken_download_under_its_key_and_charges_it_once() {
    let site = site_with_rows(400_000);
    let key = site.paying_key(1_000_000);
    let head = format!(
        "GET {DOWNLOAD}?format=arrow HTTP/1.1\r\nHost: x\r\nX-Api-Key: {key}\r\nIdempotency-Key: once\r\n\r\n"
    );
    let wire = read_some(&site, &head, 1_500_000);
    assert!(!wire.ends_with(&END));
    settled(&site);
    let paid = 1_000_000 - credits(&site);
    assert!(paid > 0 && paid < 400_000, "{paid}");
    let ask = Ask::get(&format!("{DOWNLOAD}?format=arrow")).header("X-Api-Key", &key);
    let whole = site.send(&ask.header("Idempotency-Key", "once"));
    assert_eq!(whole.header("Idempotent-Replayed"), Some("true"));
    assert_eq!(whole.trailer("X-Credits-Charged"), Some((400_000 - paid).to_string().as_str()));
    assert_eq!(rows(&whole.body).len(), 400_000);
    settled(&site);
    assert_eq!(credits(&site), 1_000_000 - 400_000);
}

#[test]
fn resumes_stream_behind_whole_rows() {
    let site = site_with_rows(5_000);
    let key = site.paying_key(100_000);
    let body = r#"{"limit": 4000}"#;
    let ask = |target: &str| post(&key, target, body).header("Idempotency-Key", "one");
    let whole = site.send(&ask(STREAM));
    settled(&site);
    let rest = site.send(&ask(&format!("{STREAM}?afterRows=1500")));
    assert_eq!(rest.header("Idempotent-Replayed"), Some("true"));
    assert!(rows(&rest.body) == rows(&whole.body)[1_500..]);
    settled(&site);
    assert_eq!(credits(&site), 100_000 - 4_000);
}
