//! Downloads: the whole file, parts of it, what the client holds already, and what it costs.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use base64::Engine;
use mercato_catalog::Table;
use mercato_query::render::{Format, render_rows};
use sha2::{Digest, Sha256};

use crate::harness::{Answer, Ask, MANIFEST, Site, city_columns, store_path, wait_until};

const TARGET: &str = "/api/v1/datasets/cities/download";
const FORMATS: [(&str, &str, Format); 3] = [
    ("csv", "text/csv; charset=utf-8; header=present", Format::Csv),
    ("json", "application/json", Format::Json),
    ("ndjson", "application/x-ndjson", Format::Ndjson),
];

fn site_with_rows(rows: i64) -> Site {
    let site = Site::with_cities();
    site.publish("cities", MANIFEST, "1.1.0", &city_columns(rows));
    site
}

/// The expected bytes of a download, from the row writer in one pass.
fn expected(site: &Site, format: Format) -> Vec<u8> {
    let table = Table::open(&store_path(&site.data(), "cities", "1.1.0")).unwrap();
    let rows: Vec<u32> = (0..table.row_count()).collect();
    let columns: Vec<usize> = (0..table.columns().len()).collect();
    let mut text = Vec::new();
    render_rows(format, &table, &columns, &rows, &mut text).unwrap();
    text
}

fn ask(key: &str, format: &str) -> Ask {
    Ask::get(&format!("{TARGET}?format={format}")).header("X-Api-Key", key)
}

fn part(site: &Site, key: &str, format: &str, range: &str) -> Answer {
    site.send(&ask(key, format).header("Range", range))
}

fn credits(site: &Site) -> u64 {
    site.running().app().ledger.accounts()[0].credits()
}

fn charged(answer: &Answer) -> u64 {
    answer.header("X-Credits-Charged").unwrap().parse().unwrap()
}

#[test]
fn downloads_every_row_in_requested_format() {
    let site = site_with_rows(5_000);
    let key = site.paying_key(100_000);
    let mut tags = Vec::new();
    for (name, content_type, format) in FORMATS {
        let answer = site.send(&ask(&key, name));
        assert_eq!((answer.status, answer.header("Content-Type")), (200, Some(content_type)));
        let text = expected(&site, format);
        assert!(answer.body == text, "{name}: {} bytes instead of {}", answer.body.len(), text.len());
        assert_eq!(answer.header("Content-Length"), Some(text.len().to_string().as_str()));
        let file = format!("attachment; filename=\"cities-1.1.0.{name}\"");
        assert_eq!(answer.header("Content-Disposition"), Some(file.as_str()));
        assert_eq!(answer.header("Accept-Ranges"), Some("bytes"));
        assert_eq!((answer.header("X-Dataset-Version"), charged(&answer)), (Some("1.1.0"), 5_000));
        let digest = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(&text));
        assert_eq!(answer.header("Repr-Digest"), Some(format!("sha-256=:{digest}:").as_str()));
        tags.push(answer.header("ETag").unwrap().to_owned());
    }
    tags.dedup();
    assert!(tags.len() == 3 && tags.iter().all(|tag| tag.starts_with('"')), "{tags:?}");
    assert_eq!(credits(&site), 85_000);
}

#[test]
fn prefers_format_parameter_and_defaults_to_csv() {
    let site = site_with_rows(3);
    let key = site.paying_key(100);
    let format_of = |target: &str, accept: &str| {
        let answer = site.send(&Ask::new("HEAD", target).header("X-Api-Key", &key).header("Accept", accept));
        (
            answer.status,
            answer.header("Content-Type").unwrap_or_default().split(';').next().unwrap().to_owned(),
        )
    };
    let json = format!("{TARGET}?format=json");
    assert_eq!(format_of(&json, "text/csv"), (200, "application/json".to_owned()));
    assert_eq!(format_of(TARGET, "*/*"), (200, "text/csv".to_owned()));
    assert_eq!(format_of(TARGET, "application/json"), (200, "application/json".to_owned()));
    assert_eq!(format_of(TARGET, "application/jsonl"), (200, "application/x-ndjson".to_owned()));
    assert_eq!(format_of(TARGET, "image/png").0, 406);
    assert_eq!(site.send(&ask(&key, "pdf")).refusal().0, 400);
    assert_eq!(site.send(&ask(&key, "csv&limit=1")).refusal().2, "UNKNOWN_PARAMETER");
    assert_eq!(site.send(&Ask::get(TARGET)).status, 401);
    let unknown = Ask::get("/api/v1/datasets/nothing/download").header("X-Api-Key", &key);
    assert_eq!(site.send(&unknown).status, 404);
    assert_eq!(credits(&site), 100);
}

#[test]
fn serves_any_range_of_same_bytes() {
    let site = site_with_rows(4_000);
    let key = site.paying_key(100_000);
    for (name, _, format) in FORMATS {
        let text = expected(&site, format);
        let length = text.len();
        let mut ranges =
            vec![(0, 0), (0, length - 1), (length - 1, length - 1), (1, 2), (length / 2, length - 2)];
        // Around every place where a stretch of rows could begin, and some places in between.
        for step in 1..40 {
            let at = length * step / 40;
            ranges.push((at - 1, at + step * 97));
        }
        for (first, last) in ranges {
            let answer = part(&site, &key, name, &format!("bytes={first}-{last}"));
            let last = last.min(length - 1);
            assert_eq!(answer.status, 206, "{name} {first}-{last}");
            assert!(answer.body == text[first..=last], "{name} {first}-{last}");
            let range = format!("bytes {first}-{last}/{length}");
            assert_eq!(answer.header("Content-Range"), Some(range.as_str()));
            assert_eq!(answer.header("Content-Length"), Some((last - first + 1).to_string().as_str()));
        }
        let open = part(&site, &key, name, &format!("bytes={}-", length - 7));
        let suffix = part(&site, &key, name, "bytes=-7");
        assert_eq!(
            (open.status, &open.body, &suffix.body),
            (206, &suffix.body, &text[length - 7..].to_vec())
        );
        assert_eq!(part(&site, &key, name, "bytes=-99999999999").body.len(), length);
        assert!(part(&site, &key, name, "bytes=0-1,5-6").status == 200, "several ranges are passed over");
    }
}

#[test]
fn charges_parts_once_and_open_range_anew() {
    let site = site_with_rows(1_000);
    let key = site.paying_key(10_000);
    assert_eq!(charged(&part(&site, &key, "csv", "bytes=10-19")), 1_000);
    assert_eq!(charged(&part(&site, &key, "csv", "bytes=-5")), 0);
    assert_eq!(charged(&part(&site, &key, "csv", "bytes=0-5")), 0);
    assert_eq!(charged(&part(&site, &key, "json", "bytes=0-5")), 1_000, "another format is another file");
    let open = part(&site, &key, "csv", "bytes=0-");
    assert_eq!((open.status, charged(&open)), (206, 1_000));
    assert!(open.body == expected(&site, Format::Csv));
    wait_until("the open range is settled", || site.running().app().ledger.stats().open_reservations == 0);
    assert_eq!(charged(&part(&site, &key, "csv", "bytes=1-")), 0);
    assert_eq!(credits(&site), 7_000);
    let other = site.free_key();
    let refused = part(&site, &other, "csv", "bytes=10-19");
    assert_eq!(refused.refusal().2, "INSUFFICIENT_CREDITS", "what one account paid is no other's");
    let details = refused.json()["error"]["details"].clone();
    assert_eq!(
        (&details["required"], &details["available"], &details["shortfall"]),
        (&1000.into(), &0.into(), &1000.into())
    );
    assert_eq!(
        site.send(&ask(&other, "csv")).refusal(),
        (402, "NO_CREDITS".to_owned(), "INSUFFICIENT_CREDITS".to_owned())
    );
}

#[test]
fn charges_nothing_for_head_and_held_content() {
    let site = site_with_rows(1_000);
    let key = site.paying_key(1_000);
    let head = site.send(&Ask::new("HEAD", TARGET).header("X-Api-Key", &key));
    let length = expected(&site, Format::Csv).len();
    assert_eq!((head.status, head.body.len(), charged(&head)), (200, 0, 0));
    assert_eq!(head.header("Content-Length"), Some(length.to_string().as_str()));
    let tag = head.header("ETag").unwrap();
    let last_modified = head.header("Last-Modified").unwrap();
    let held = site.send(&ask(&key, "csv").header("If-None-Match", tag));
    assert_eq!((held.status, held.body.len(), held.header("ETag")), (304, 0, Some(tag)));
    assert_eq!(site.send(&ask(&key, "csv").header("If-Modified-Since", last_modified)).status, 304);
    for range in [format!("bytes={length}-"), "bytes=-0".to_owned(), "bytes=5-2".to_owned()] {
        let refused = part(&site, &key, "csv", &range);
        assert_eq!(refused.refusal().1, "RANGE_NOT_SATISFIABLE");
        assert_eq!(refused.header("Content-Range"), Some(format!("bytes */{length}").as_str()));
    }
    let described =
        site.send(&Ask::new("HEAD", TARGET).header("X-Api-Key", &key).header("Range", "bytes=0-9"));
    assert_eq!((described.status, described.header("Content-Length")), (206, Some("10")));
    assert_eq!(credits(&site), 1_000);
}

#[test]
fn rejects_download_of_unexpected_content() {
    let site = site_with_rows(1_000);
    let key = site.paying_key(10_000);
    let head = site.send(&Ask::new("HEAD", TARGET).header("X-Api-Key", &key));
    let (tag, date) = (head.header("ETag").unwrap(), head.header("Last-Modified").unwrap());
    let long_ago = "Tue, 14 Nov 2000 22:13:20 GMT";
    let refuses = |ask: Ask| {
        let refused = site.send(&ask);
        assert_eq!(refused.refusal().1, "PRECONDITION_FAILED", "{ask:?}");
        assert_eq!(refused.status, 412);
        assert_eq!(refused.header("ETag"), Some(tag));
        assert_eq!((charged(&refused), refused.header("X-Credits-Remaining")), (0, Some("10000")));
    };
    for (name, value) in
        [("If-Match", "\"other\""), ("If-Match", &format!("W/{tag}")), ("If-Unmodified-Since", long_ago)]
    {
        refuses(ask(&key, "csv").header(name, value));
        refuses(ask(&key, "csv").header(name, value).header("Range", "bytes=5-9"));
        refuses(ask(&key, "csv").header(name, value).header("Range", "bytes=9999999-"));
        refuses(ask(&key, "csv").header(name, value).header("If-None-Match", tag));
    }
    let unread = site.send(&Ask::new("HEAD", TARGET).header("X-Api-Key", &key).header("If-Match", "\"x\""));
    assert_eq!(unread.status, 412);
    let expected = ask(&key, "csv").header("If-Match", tag).header("If-Unmodified-Since", long_ago);
    let part = site.send(&expected.clone().header("Range", "bytes=5-9"));
    assert_eq!((part.status, charged(&part)), (206, 1_000));
    let whole = site.send(&ask(&key, "csv").header("If-Unmodified-Since", date));
    assert_eq!((whole.status, whole.body), (200, expected_csv(&site)));
    let plain = site.send(&expected.header("Accept-Encoding", "zstd, gzip"));
    assert_eq!((plain.status, plain.header("Content-Encoding")), (200, None));
    assert_eq!(site.send(&ask(&key, "csv").header("If-Match", "\"x\", *")).status, 412);
    site.publish("cities", MANIFEST, "1.2.0", &city_columns(900));
    assert_eq!(site.send(&ask(&key, "csv").header("If-Match", tag)).status, 412);
}

fn expected_csv(site: &Site) -> Vec<u8> {
    expected(site, Format::Csv)
}

#[test]
fn reports_cost_and_balance_of_refused_download() {
    let site = site_with_rows(1_000);
    let key = site.paying_key(10);
    let unknown = Ask::get("/api/v1/datasets/nothing/download").header("X-Api-Key", &key);
    let asks = [
        (402, ask(&key, "csv")),
        (402, ask(&key, "csv").header("Range", "bytes=1-2")),
        (400, ask(&key, "pdf")),
        (406, ask(&key, "parquet")),
        (404, unknown),
        (406, Ask::get(TARGET).header("X-Api-Key", &key).header("Accept", "image/png")),
        (416, ask(&key, "csv").header("Range", "bytes=9999999-")),
    ];
    for (status, ask) in asks {
        let refused = site.send(&ask);
        assert_eq!(refused.status, status, "{ask:?}");
        let told = |name: &str| {
            refused
                .headers
                .iter()
                .filter(|(found, _)| found == name)
                .map(|(_, value)| value.clone())
                .collect()
        };
        let (charged, left): (Vec<String>, Vec<String>) =
            (told("X-Credits-Charged"), told("X-Credits-Remaining"));
        assert_eq!((charged, left), (vec!["0".to_owned()], vec!["10".to_owned()]), "{ask:?}");
        if status == 402 {
            let hint = refused.json()["error"]["details"]["hint"].as_str().unwrap().to_owned();
            assert!(!hint.contains("limit") && hint.contains("buy credits"), "{hint}");
        }
    }
}

#[test]
fn serves_part_of_unchanged_file_only() {
    let site = site_with_rows(1_000);
    let key = site.paying_key(10_000);
    let head = site.send(&Ask::new("HEAD", TARGET).header("X-Api-Key", &key));
    let (tag, date) = (head.header("ETag").unwrap(), head.header("Last-Modified").unwrap());
    let conditional = |condition: &str| {
        site.send(&ask(&key, "csv").header("Range", "bytes=5-9").header("If-Range", condition))
    };
    assert_eq!(conditional(tag).status, 206);
    assert_eq!(conditional(date).status, 206);
    let changed = conditional("\"another\"");
    assert_eq!((changed.status, changed.header("Content-Range")), (200, None));
    assert!(changed.body == expected(&site, Format::Csv));
    assert_eq!(conditional(&format!("W/{tag}")).status, 200);
    site.publish("cities", MANIFEST, "1.2.0", &city_columns(900));
    let newer = conditional(tag);
    assert_eq!((newer.status, newer.header("X-Dataset-Version")), (200, Some("1.2.0")));
}

#[test]
fn downloads_empty_table_without_charge() {
    let site = site_with_rows(0);
    let key = site.free_key();
    let bodies = FORMATS.map(|(name, ..)| site.send(&ask(&key, name)).text());
    assert_eq!(bodies, ["id,name,area,height,capital,founded,seen\r\n", "[]", ""]);
    assert_eq!(part(&site, &key, "json", "bytes=1-1").text(), "]");
    assert_eq!(part(&site, &key, "ndjson", "bytes=0-").status, 416);
}

#[test]
fn states_size_and_price_of_download() {
    let site = site_with_rows(2_000);
    let header = site.get("/api/v1/datasets/cities").json();
    for (place, (name, _, format)) in FORMATS.into_iter().enumerate() {
        let offer = &header["data"]["formats"][place];
        assert_eq!(
            (&offer["format"], &offer["bytes"]),
            (&name.into(), &expected(&site, format).len().into())
        );
    }
    assert_eq!(header["data"]["creditsForDownload"], 2_000);
}

/// Reads a download until so many bytes of its body arrived, then leaves.
fn read_some(site: &Site, ask: &str, key: &str, bytes: usize) -> (String, Vec<u8>) {
    let mut stream = TcpStream::connect(site.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    write!(stream, "GET {TARGET} HTTP/1.1\r\nHost: x\r\nX-Api-Key: {key}\r\n{ask}\r\n").unwrap();
    let mut wire = Vec::new();
    let mut piece = vec![0; 16 * 1024];
    loop {
        let split = wire.windows(4).position(|window| window == b"\r\n\r\n");
        if let Some(split) = split
            && wire.len() >= split + 4 + bytes
        {
            let head = String::from_utf8(wire[..split].to_vec()).unwrap();
            return (head, wire[split + 4..split + 4 + bytes].to_vec());
        }
        let length = stream.read(&mut piece).unwrap();
        assert!(length > 0, "the body ended early");
        wire.extend_from_slice(&piece[..length]);
    }
}

#[test]
fn charges_resumed_download_once() {
    let rows = 150_000;
    let site = site_with_rows(rows);
    let key = site.paying_key(1_000_000);
    let text = expected(&site, Format::Csv);
    let (head, mut got) = read_some(&site, "", &key, 1_000);
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    // The first resumption may come before the broken download was noticed, or after.
    let mut step = 777;
    while got.len() < text.len() {
        step = step * 3 % 900_001 + 1;
        let wanted = step.min(text.len() - got.len());
        let (head, more) = read_some(&site, &format!("Range: bytes={}-\r\n", got.len()), &key, wanted);
        assert!(head.starts_with("HTTP/1.1 206 "), "{head}");
        got.extend_from_slice(&more);
    }
    assert!(got == text);
    let ledger = &site.running().app().ledger;
    wait_until("everything is settled", || ledger.stats().open_reservations == 0);
    assert_eq!(credits(&site), 1_000_000 - u64::try_from(rows).unwrap());
}

#[test]
fn charges_written_rows_of_abandoned_download() {
    let site = site_with_rows(400_000);
    let key = site.paying_key(1_000_000);
    read_some(&site, "Accept: application/json\r\n", &key, 1_000);
    wait_until("the rest comes back", || credits(&site) > 600_000);
    let paid = 1_000_000 - credits(&site);
    assert!(paid > 0 && paid < 400_000, "{paid}");
    let answer = part(&site, &key, "json", "bytes=5-9");
    assert_eq!(charged(&answer), 400_000 - paid, "a part later pays the rest");
    assert_eq!(charged(&part(&site, &key, "json", "bytes=-9")), 0);
}
