//! The Parquet file of a version: served by range under the rules of downloads, never with damaged bytes, and gone with its
//! version. The server does not look inside, so these tests publish any bytes in its place.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;

use base64::Engine;
use mercato_base::clock::SystemClock;
use mercato_catalog::scrubber::{Finding, scrub_once};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::harness::{
    Answer, Ask, MANIFEST, Site, chance, city_columns, parse, publish_files_and, wait_until,
};

const DOWNLOAD: &str = "/api/v1/datasets/cities/download";
const TARGET: &str = "/api/v1/datasets/cities/download?format=parquet";
const PARQUET: &str = "application/vnd.apache.parquet";

/// Publishes a version with `bytes` as its Parquet file.
fn publish_with(site: &Site, version: &str, rows: i64, bytes: &[u8]) {
    publish_files_and(&site.data(), MANIFEST, version, &city_columns(rows), &[], Some(bytes));
    wait_until("the version is served", || site.serves("cities", version));
}

fn random_bytes(count: usize) -> Vec<u8> {
    let mut next = chance(7);
    (0..count).map(|_| (next() >> 24) as u8).collect()
}

fn site(rows: i64, bytes: &[u8]) -> Site {
    let site = Site::with_cities();
    publish_with(&site, "1.1.0", rows, bytes);
    site
}

fn ask(key: &str) -> Ask {
    Ask::get(TARGET).header("X-Api-Key", key)
}

fn part(site: &Site, key: &str, range: &str) -> Answer {
    site.send(&ask(key).header("Range", range))
}

/// An answer that may break off: all that comes until the connection ends.
fn cut_answer(site: &Site, ask: &Ask) -> Answer {
    let mut stream = TcpStream::connect(site.address()).unwrap();
    stream.write_all(&ask.bytes()).unwrap();
    let mut wire = Vec::new();
    // A connection may also end with a reset.
    drop(stream.read_to_end(&mut wire));
    parse(&wire)
}

fn charged(answer: &Answer) -> u64 {
    answer.header("X-Credits-Charged").unwrap().parse().unwrap()
}

fn credits(site: &Site) -> u64 {
    site.running().app().ledger.accounts()[0].credits()
}

fn is_settled(site: &Site) -> bool {
    site.running().app().ledger.stats().open_reservations == 0
}

fn path(site: &Site, version: &str) -> PathBuf {
    site.data().datasets().join("cities/versions").join(format!("{version}.parquet"))
}

/// Writes other bytes into the file, as a disk does it: only a reader sees that.
fn overwrite(path: &PathBuf, bytes: &[u8]) {
    let written_at = fs::metadata(path).unwrap().modified().unwrap();
    fs::write(path, bytes).unwrap();
    fs::File::options().write(true).open(path).unwrap().set_modified(written_at).unwrap();
}

fn offers(site: &Site) -> Vec<(String, serde_json::Value)> {
    let header = site.get("/api/v1/datasets/cities").json();
    let formats = header["data"]["formats"].as_array().unwrap();
    let offer = |one: &serde_json::Value| (one["format"].as_str().unwrap().to_owned(), one["bytes"].clone());
    formats.iter().map(offer).collect()
}

#[test]
fn serves_file_as_published() {
    let bytes = random_bytes(1_500_000);
    let site = site(1_000, &bytes);
    let key = site.paying_key(100_000);
    let whole = site.send(&ask(&key).header("Accept-Encoding", "gzip, zstd"));
    assert_eq!((whole.status, whole.header("Content-Type")), (200, Some(PARQUET)));
    assert!(whole.body == bytes);
    assert_eq!(whole.header("Content-Encoding"), None, "it is compressed inside");
    assert_eq!(whole.header("Content-Length"), Some(bytes.len().to_string().as_str()));
    assert_eq!(whole.header("Content-Disposition"), Some("attachment; filename=\"cities-1.1.0.parquet\""));
    let digest = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(&bytes));
    assert_eq!(whole.header("Repr-Digest"), Some(format!("sha-256=:{digest}:").as_str()));
    assert_eq!((charged(&whole), whole.header("Accept-Ranges")), (1_000, Some("bytes")));
    let accepted = Ask::get(DOWNLOAD).header("X-Api-Key", &key).header("Accept", PARQUET);
    assert!(site.send(&accepted).body == bytes);
    wait_until("all is settled", || is_settled(&site));
    assert_eq!(credits(&site), 98_000);
    assert_eq!(offers(&site).last().unwrap(), &("parquet".to_owned(), json!(bytes.len())));
}

/// Readers of Parquet ask for the length, then for the end of the file, then for the columns that they need.
#[test]
fn charges_once_for_reading_in_pieces() {
    let bytes = random_bytes(900_000);
    let site = site(1_000, &bytes);
    let key = site.paying_key(10_000);
    let head = site.send(&Ask::new("HEAD", TARGET).header("X-Api-Key", &key));
    assert_eq!((head.status, charged(&head), head.header("Content-Length")), (200, 0, Some("900000")));
    let footer = part(&site, &key, "bytes=-8");
    assert_eq!((footer.status, charged(&footer), &footer.body[..]), (206, 1_000, &bytes[899_992..]));
    assert_eq!(footer.header("Content-Range"), Some("bytes 899992-899999/900000"));
    // Blocks have 262,144 bytes: parts inside of one, over a border, over several, and of one byte.
    for (first, last) in
        [(0, 5_000), (262_143, 262_144), (262_144, 262_144), (100_000, 800_000), (0, 899_999)]
    {
        let answer = part(&site, &key, &format!("bytes={first}-{last}"));
        assert!(answer.status == 206 && answer.body == bytes[first..=last], "{first}-{last}");
    }
    assert_eq!(part(&site, &key, "bytes=900000-").status, 416);
    // The open range of everything is a new download.
    assert!(part(&site, &key, "bytes=0-").body == bytes);
    wait_until("all is settled", || is_settled(&site));
    assert_eq!(credits(&site), 8_000);
    let again = part(&site, &key, "bytes=7-9");
    assert_eq!((charged(&again), &again.body[..]), (0, &bytes[7..10]));
}

#[test]
fn conditions_hold_for_unchanged_file_only() {
    let site = site(10, b"PAR1 first PAR1");
    let key = site.paying_key(10_000);
    let head = site.send(&Ask::new("HEAD", TARGET).header("X-Api-Key", &key));
    let tag = head.header("ETag").unwrap().to_owned();
    assert!(tag.starts_with('"'), "a strong one");
    let with =
        |name: &str, value: &str| site.send(&ask(&key).header("Range", "bytes=0-3").header(name, value));
    assert_eq!(site.send(&ask(&key).header("If-None-Match", &tag)).status, 304);
    assert_eq!((with("If-Range", &tag).status, with("If-Match", &tag).status), (206, 206));
    assert_eq!(with("If-Match", "\"other\"").status, 412);
    let changed = with("If-Range", "\"other\"");
    assert_eq!((changed.status, &changed.body[..]), (200, &b"PAR1 first PAR1"[..]));
    // The same rows in other bytes, as another release writes them.
    publish_with(&site, "1.2.0", 10, b"PAR1 other PAR1");
    let newer = with("If-Range", &tag);
    assert_eq!((newer.status, newer.header("X-Dataset-Version")), (200, Some("1.2.0")));
    assert_eq!(with("If-Match", &tag).status, 412);
    let older = Ask::get(&format!("{TARGET}&version=1.1.0")).header("X-Api-Key", &key);
    assert_eq!(site.send(&older.header("Range", "bytes=0-3").header("If-Match", &tag)).status, 206);
}

#[test]
fn charges_share_of_abandoned_download() {
    let bytes = random_bytes(60_000_000);
    let site = site(100_000, &bytes);
    let key = site.paying_key(1_000_000);
    {
        let mut stream = TcpStream::connect(site.address()).unwrap();
        write!(stream, "GET {TARGET} HTTP/1.1\r\nHost: x\r\nX-Api-Key: {key}\r\n\r\n").unwrap();
        stream.read_exact(&mut vec![0; 1_000_000]).unwrap();
    }
    wait_until("the rest comes back", || is_settled(&site));
    let paid = 1_000_000 - credits(&site);
    assert!(paid > 1_000 && paid < 100_000, "{paid}");
    assert_eq!(charged(&part(&site, &key, "bytes=-9")), 100_000 - paid, "a part later pays the rest");
}

#[test]
fn offers_no_parquet_where_none_was_published() {
    let site = Site::with_cities();
    let key = site.paying_key(100);
    for ask in [ask(&key), Ask::get(DOWNLOAD).header("X-Api-Key", &key).header("Accept", PARQUET)] {
        let refused = site.send(&ask);
        assert_eq!(refused.refusal(), (406, "NOT_ACCEPTABLE".into(), "FORMAT_NOT_OFFERED".into()));
        let allowed = &refused.json()["error"]["details"]["allowed"];
        assert!(
            allowed.as_array().unwrap().contains(&json!("csv")) && !allowed.to_string().contains("parquet")
        );
    }
    assert_eq!(
        (credits(&site), site.send(&Ask::new("HEAD", TARGET).header("X-Api-Key", &key)).status),
        (100, 406)
    );
    assert!(offers(&site).iter().all(|(format, _)| format != "parquet"));
    // One that lies there without a record of a publication does not count.
    fs::write(path(&site, "1.0.0"), b"PAR1 foreign PAR1").unwrap();
    publish_with(&site, "1.1.0", 3, b"PAR1");
    let foreign = Ask::get(&format!("{TARGET}&version=1.0.0")).header("X-Api-Key", &key);
    assert_eq!(site.send(&foreign).status, 406);
}

#[test]
fn never_sends_damaged_bytes() {
    let bytes = random_bytes(900_000);
    let site = site(1_000, &bytes);
    let key = site.paying_key(100_000);
    let mut damaged = bytes.clone();
    damaged[300_000] ^= 1;
    overwrite(&path(&site, "1.1.0"), &damaged);
    // The first block is sound, and the connection ends before the second.
    let cut = cut_answer(&site, &ask(&key));
    assert_eq!(cut.status, 200);
    assert!(cut.body.len() <= 262_144 && bytes.starts_with(&cut.body), "{} bytes", cut.body.len());
    wait_until("all is settled", || is_settled(&site));
    assert_eq!(credits(&site), 100_000, "nothing is paid for it");
    for ask in [
        ask(&key),
        ask(&key).header("Range", "bytes=0-9"),
        Ask::new("HEAD", TARGET).header("X-Api-Key", &key),
    ] {
        let refused = site.send(&ask);
        assert_eq!(refused.status, 503);
        assert!(refused.header("Retry-After").is_some());
        if !refused.body.is_empty() {
            assert_eq!(refused.refusal().2, "PARQUET_DAMAGED");
            assert!(!refused.text().contains("versions"), "no path is told");
        }
    }
    assert_eq!(site.query("cities", &key, r#"{"limit": 1}"#).status, 200, "its rows are sound");
    assert!(offers(&site).iter().all(|(format, _)| format != "parquet"));
    let warnings = site.running().app().catalog.snapshot().warnings();
    assert!(warnings[0].reason.contains("version 1.1.0 is not offered as Parquet"), "{}", warnings[0].reason);
    // A sound copy of it comes back into service.
    fs::write(path(&site, "1.1.0").with_extension("copy"), &bytes).unwrap();
    fs::rename(path(&site, "1.1.0").with_extension("copy"), path(&site, "1.1.0")).unwrap();
    wait_until("the repair is noticed", || offers(&site).iter().any(|(format, _)| format == "parquet"));
    assert!(site.send(&ask(&key)).body == bytes);
}

#[test]
fn refuses_part_that_begins_with_damage_before_payment() {
    let mut bytes = random_bytes(600_000);
    let site = site(1_000, &bytes);
    let key = site.paying_key(10_000);
    bytes[599_999] ^= 1;
    overwrite(&path(&site, "1.1.0"), &bytes);
    let sound = part(&site, &key, "bytes=0-99");
    assert_eq!((sound.status, charged(&sound), &sound.body[..]), (206, 1_000, &bytes[..100]));
    let refused = part(&site, &key, "bytes=-8");
    assert_eq!(refused.refusal(), (503, "UNAVAILABLE".into(), "PARQUET_DAMAGED".into()));
    assert_eq!(credits(&site), 9_000);
}

#[test]
fn refunds_part_that_meets_damage_on_its_way() {
    let mut bytes = random_bytes(600_000);
    let site = site(1_000, &bytes);
    let key = site.paying_key(10_000);
    bytes[300_000] ^= 1;
    overwrite(&path(&site, "1.1.0"), &bytes);
    let cut = cut_answer(&site, &ask(&key).header("Range", "bytes=10-599999"));
    assert_eq!((cut.status, charged(&cut)), (206, 1_000));
    assert!(bytes[10..262_144].starts_with(&cut.body), "{} bytes", cut.body.len());
    wait_until("the charge comes back", || credits(&site) == 10_000);
}

#[test]
fn detects_damage_by_scrubbing() {
    let bytes = random_bytes(600_000);
    let site = site(10, &bytes);
    let catalog = &site.running().app().catalog;
    let find = || {
        let found = std::cell::RefCell::new(Vec::new());
        let note = |finding: &Finding| found.borrow_mut().push(finding.clone());
        scrub_once(catalog, &SystemClock, &mut |_| Ok(()), &note).unwrap();
        found.into_inner()
    };
    assert!(find().is_empty());
    let scrubbed = catalog.scrub_counts().bytes();
    assert!(scrubbed > 600_000, "{scrubbed}");
    let mut damaged = bytes.clone();
    damaged[0] ^= 1;
    overwrite(&path(&site, "1.1.0"), &damaged);
    let found = find();
    assert_eq!((found.len(), found[0].version.as_str()), (1, "1.1.0"));
    assert!(
        found[0].reason.contains("1.1.0.parquet") && found[0].reason.contains("at 0"),
        "{}",
        found[0].reason
    );
    assert_eq!(catalog.scrub_counts().damaged(), 1);
    assert!(find().is_empty(), "it is told once");
    let key = site.paying_key(100);
    assert_eq!(site.send(&ask(&key)).status, 503);
    assert_eq!(site.query("cities", &key, r#"{"limit": 1}"#).status, 200, "the store file stays in service");
}

#[test]
fn file_of_other_length_is_out_of_service_after_start() {
    let folder = tempfile::tempdir().unwrap();
    let flags = ["--requests-per-minute", "0", "--requests-per-day", "0"];
    {
        let site = Site::at(folder.path(), &flags);
        for version in ["1.1.0", "1.2.0", "1.3.0"] {
            publish_with(&site, version, 10, version.as_bytes());
        }
        fs::write(path(&site, "1.2.0"), b"1.2").unwrap();
        fs::remove_file(path(&site, "1.3.0")).unwrap();
    }
    let site = Site::at(folder.path(), &flags);
    let key = site.paying_key(1_000);
    let of = |version: &str| {
        site.send(&Ask::get(&format!("{TARGET}&version={version}")).header("X-Api-Key", &key))
    };
    assert_eq!((of("1.1.0").status, of("1.1.0").body), (200, b"1.1.0".to_vec()));
    assert_eq!((of("1.2.0").status, of("1.2.0").refusal().2.as_str()), (503, "PARQUET_DAMAGED"));
    assert_eq!(of("1.3.0").status, 406, "the operator took it away");
}

#[test]
fn removes_file_with_its_version() {
    let site = Site::with_cities();
    // Left by a publication that was killed before its store file had its place.
    fs::write(path(&site, "1.0.9"), b"orphan").unwrap();
    for version in ["1.1.0", "1.2.0", "1.3.0", "1.4.0"] {
        publish_with(&site, version, 3, version.as_bytes());
    }
    let listed = fs::read_dir(path(&site, "1.2.0").parent().unwrap()).unwrap();
    let mut names: Vec<_> = listed.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let kept =
        ["1.2.0", "1.3.0", "1.4.0"].map(|version| [format!("{version}.mcol"), format!("{version}.parquet")]);
    assert_eq!(names, kept.concat());
}

#[test]
fn croissant_describes_file_with_digest() {
    let bytes = random_bytes(1_000);
    let site = site(3, &bytes);
    let data = site.get("/api/v1/datasets/cities/croissant").json();
    let file = data["distribution"].as_array().unwrap().last().unwrap();
    assert_eq!((&file["@id"], &file["encodingFormat"]), (&json!("parquet"), &json!(PARQUET)));
    assert_eq!(file["contentSize"], "1000 B");
    let hex: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(file["sha256"], hex);
}

#[test]
fn site_lists_format_with_its_size() {
    let site = site(3, &random_bytes(12_345));
    let page = site.get("/datasets/cities").text();
    assert!(page.contains("Parquet"), "the overview has the format");
    let usage = "/datasets/cities/use";
    let reads =
        |page: &str, reader: &str| page.contains(&format!("{reader}(")) && page.contains("CREATE SECRET");
    assert!(reads(&site.get(usage).text(), "read_parquet"));
    publish_files_and(&site.data(), MANIFEST, "1.2.0", &city_columns(3), &[], None);
    wait_until("the version is served", || site.serves("cities", "1.2.0"));
    assert!(!site.get("/datasets/cities").text().contains("Parquet"));
    assert!(reads(&site.get(usage).text(), "read_csv"));
}
