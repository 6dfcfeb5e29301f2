//! Faults of the machine under a running server: files cut short, folders removed, a disk without room, a clock
//! that goes back, a crowd of datasets of which some are bad, books that cannot be read.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use mercato::config::Settings;
use mercato::serving::{self, Running};
use mercato_base::clock::{Clock, TestClock};
use mercato_catalog::DataDirectory;
use mercato_ledger::{EntryKind, Health, Ledger, LedgerOptions};

use crate::harness::{
    Answer, Ask, MANIFEST, Site, city_columns, exchange, now, publish_files, store_path, wait_until,
};
use crate::responses::departures::Reader;
use crate::small_disk::SmallDisk;

/// Enough rows for some hundred pages of memory.
const MANY_ROWS: i64 = 40_000;
const FREE_FLAGS: [&str; 4] = ["--requests-per-minute", "0", "--requests-per-day", "0"];

fn rivers(rows: i64) -> (&'static str, Vec<mercato_format::writer::Column>) {
    ("slug = \"rivers\"\n", city_columns(rows))
}

#[test]
fn quarantines_only_dataset_truncated_while_running() {
    let site = Site::with_cities();
    let (manifest, columns) = rivers(MANY_ROWS);
    site.publish("rivers", manifest, "1.0.0", &columns);
    let key = site.paying_key(10_000_000);
    let body = r#"{"limit": 10000, "sortBy": "seen", "sortDirection": "desc"}"#;
    assert_eq!(site.query("rivers", &key, body).status, 200);
    let credits = |answer: &Answer| answer.header("X-Credits-Remaining").unwrap().to_owned();
    let before = credits(&site.query("cities", &key, r#"{"limit": 1, "offset": 99}"#));
    let path = store_path(&site.data(), "rivers", "1.0.0");
    let whole = fs::read(&path).unwrap();
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    // In place, so that the pages of the map are gone at once.
    fs::File::options().write(true).open(&path).unwrap().set_len(5_000).unwrap();
    let answer = site.query("rivers", &key, body);
    assert_eq!(answer.refusal(), (503, "UNAVAILABLE".into(), "DATASET_QUARANTINED".into()));
    assert_eq!(site.get("/api/v1/datasets/rivers/sample").status, 503);
    assert_eq!(site.query("cities", &key, "{}").status, 200);
    assert_eq!(site.get("/healthz").status, 200);
    let after = credits(&site.query("cities", &key, r#"{"limit": 1, "offset": 99}"#));
    let paid: u64 = before.parse::<u64>().unwrap() - after.parse::<u64>().unwrap();
    assert_eq!(paid, 6, "the page of `cities`; an answer that could not be given costs nothing");
    let beside = path.with_extension("whole");
    fs::write(&beside, whole).unwrap();
    fs::rename(&beside, &path).unwrap();
    wait_until("the repair is noticed", || site.query("rivers", &key, body).status == 200);
}

/// Cuts the file while rows of it are on their way, and gives what the client got.
#[track_caller]
fn cut_short_under_way(line: &str, body: &str) -> String {
    let site = Site::empty(&FREE_FLAGS);
    let (manifest, columns) = rivers(MANY_ROWS);
    site.publish("rivers", manifest, "1.0.0", &columns);
    let key = site.paying_key(10_000_000);
    let path = store_path(&site.data(), "rivers", "1.0.0");
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    let mut reader = Reader::begin(&site, &key, line, "", body);
    reader.read_until(|body| body.len() > 50_000);
    fs::File::options().write(true).open(&path).unwrap().set_len(5_000).unwrap();
    reader.read_to_the_end();
    let ledger = &site.running().app().ledger;
    wait_until("the reservation is settled", || ledger.stats().open_reservations == 0);
    let (entries, _) = ledger.entries(None, 1, 10).unwrap();
    let found: Vec<_> = entries.iter().map(|entry| (entry.kind, entry.amount)).collect();
    let expected =
        [(EntryKind::Purchase, 10_000_000), (EntryKind::Reserve, -MANY_ROWS), (EntryKind::Settle, MANY_ROWS)];
    assert_eq!(found, expected, "{line}");
    assert!(ledger.verify().unwrap().is_balanced());
    assert_eq!(site.get("/healthz").status, 200);
    String::from_utf8(reader.body).unwrap()
}

#[test]
fn aborts_stream_of_truncated_file_without_charge() {
    let got = cut_short_under_way("POST /api/v1/datasets/rivers/query/stream", r#"{"limit": 40000}"#);
    assert!(got.contains("data: {") && !got.ends_with("0\r\n\r\n"), "{}", &got[got.len() - 400..]);
    assert!(
        got.contains("event: error") && got.contains("DATASET_QUARANTINED"),
        "{}",
        &got[got.len() - 900..]
    );
}

#[test]
fn aborts_download_of_truncated_file_without_charge() {
    let got = cut_short_under_way("GET /api/v1/datasets/rivers/download?format=csv", "");
    let rows = got.lines().count() as i64;
    assert!((100..MANY_ROWS).contains(&rows), "{rows}");
}

#[test]
fn names_damaged_older_version_and_serves_others() {
    // If the catalog sees the cut before the query does, the version is gone from the list already.
    let found_by_the_query = (0..5).any(|_| {
        let site = Site::empty(&FREE_FLAGS);
        let (manifest, columns) = rivers(MANY_ROWS);
        for version in ["1.0.0", "1.1.0", "1.2.0"] {
            site.publish("rivers", manifest, version, &columns);
        }
        let key = site.paying_key(10_000_000);
        let path = store_path(&site.data(), "rivers", "1.0.0");
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
        let body = r#"{"version": "1.0.0", "limit": 10000, "sortBy": "seen", "sortDirection": "desc"}"#;
        fs::File::options().write(true).open(&path).unwrap().set_len(5_000).unwrap();
        let answer = site.query("rivers", &key, body);
        let (status, code, reason) = answer.refusal();
        if (status, reason.as_str()) == (400, "VERSION_GONE") {
            return false;
        }
        assert_eq!((status, code.as_str(), reason.as_str()), (503, "UNAVAILABLE", "VERSION_QUARANTINED"));
        let error = answer.json()["error"].clone();
        let message = "version `1.0.0` of `rivers` is out of service; `1.2.0` is served";
        assert_eq!(error["message"], message);
        assert_eq!(error["details"]["allowed"], serde_json::json!(["1.2.0", "1.1.0"]));
        assert_eq!(answer.header("X-Credits-Charged"), Some("0"));
        assert!(answer.header("Retry-After").is_some());
        for other in [r#"{"limit": 1}"#, r#"{"limit": 1, "version": "1.1.0"}"#] {
            assert_eq!(site.query("rivers", &key, other).status, 200);
        }
        true
    });
    assert!(found_by_the_query);
}

#[test]
fn quarantines_damaged_dataset_after_restart() {
    let folder = tempfile::tempdir().unwrap();
    let data = DataDirectory::new(folder.path());
    publish_files(&data, MANIFEST, "1.0.0", &city_columns(6), &[]);
    let (manifest, columns) = rivers(500);
    publish_files(&data, manifest, "1.0.0", &columns, &[]);
    let path = store_path(&data, "rivers", "1.0.0");
    let bytes = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 100]).unwrap();
    let site = Site::over(folder, &FREE_FLAGS);
    assert_eq!(site.get("/api/v1/datasets/rivers").status, 503);
    assert_eq!(site.get("/api/v1/datasets/cities").status, 200);
    assert_eq!(site.get("/readyz").json()["data"]["datasets"]["quarantined"], 1);
}

#[test]
fn drops_only_dataset_of_removed_folder() {
    let site = Site::with_cities();
    let (manifest, columns) = rivers(500);
    site.publish("rivers", manifest, "1.0.0", &columns);
    let key = site.paying_key(1_000_000);
    let first = site.query("rivers", &key, r#"{"limit": 100}"#);
    assert_eq!(first.status, 200);
    fs::remove_dir_all(store_path(&site.data(), "rivers", "1.0.0").ancestors().nth(2).unwrap()).unwrap();
    wait_until("the dataset is gone", || {
        let answer = site.query("rivers", &key, r#"{"limit": 100}"#);
        assert!([200, 404].contains(&answer.status), "{}", answer.text());
        answer.status == 404
    });
    assert_eq!(site.query("cities", &key, "{}").status, 200);
    assert_eq!(site.get("/api/v1/datasets").json()["data"]["total"], 1);
    site.publish("rivers", manifest, "1.0.0", &city_columns(7));
}

#[test]
fn isolates_ten_bad_datasets_of_thousand() {
    let folder = tempfile::tempdir().unwrap();
    let data = DataDirectory::new(folder.path());
    publish_files(&data, "slug = \"d0\"\n", "1.0.0", &city_columns(20), &[]);
    let store = store_path(&data, "d0", "1.0.0");
    let good = fs::read(&store).unwrap();
    for number in 1..1_000 {
        let path = store_path(&data, &format!("d{number}"), "1.0.0");
        let home = path.ancestors().nth(2).unwrap();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(home.join("dataset.toml"), format!("slug = \"d{number}\"\n")).unwrap();
        fs::hard_link(&store, &path).unwrap();
    }
    for (number, bad) in bad_stores(&good).iter().enumerate() {
        let path = store_path(&data, &format!("d{}", number * 97 + 5), "1.0.0");
        fs::remove_file(&path).unwrap();
        fs::write(&path, bad).unwrap();
    }
    let wrong = |slug: &str, text: &str| fs::write(manifest_of(&data, slug), text).unwrap();
    wrong("d900", "slug = \n");
    wrong("d901", "slug = \"another\"\n");
    let site = Site::over(folder, &FREE_FLAGS);
    wait_until("what was linked by hand is verified", || {
        !site.running().app().catalog.verification().is_busy()
    });
    let ready = site.get("/readyz").json();
    let datasets = &ready["data"]["datasets"];
    assert_eq!((&datasets["serving"], &datasets["quarantined"]), (&990.into(), &10.into()), "{ready}");
    assert_eq!(site.get("/api/v1/datasets?limit=100&offset=950").json()["data"]["total"], 990);
    let key = site.paying_key(1_000);
    for (slug, status) in
        [("d0", 200), ("d5", 503), ("d102", 503), ("d900", 503), ("d901", 503), ("d999", 200)]
    {
        assert_eq!(site.query(slug, &key, r#"{"limit": 1}"#).status, status, "{slug}");
    }
}

fn manifest_of(data: &DataDirectory, slug: &str) -> std::path::PathBuf {
    store_path(data, slug, "1.0.0").ancestors().nth(2).unwrap().join("dataset.toml")
}

/// Eight ways in which a store file can be bad that are seen when it is opened.
fn bad_stores(good: &[u8]) -> [Vec<u8>; 8] {
    let changed = |at: usize| {
        let mut bytes = good.to_vec();
        bytes[at] ^= 0x40;
        bytes
    };
    [
        Vec::new(),
        good[..good.len() / 2].to_vec(),
        good[..good.len() - 1].to_vec(),
        [good, &[0]].concat(),
        changed(0),
        changed(60),
        changed(good.len() - 3),
        vec![0; good.len()],
    ]
}

fn start(data: &Path, clock: Arc<dyn Clock>) -> Running {
    let words =
        ["mercato", "serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--workers", "4", "--data"];
    let settings = Settings::read(words.into_iter().chain([data.to_str().unwrap()])).unwrap();
    serving::start(&settings, clock).unwrap()
}

#[test]
fn tolerates_clock_set_back_by_days() {
    let folder = tempfile::tempdir().unwrap();
    let data = DataDirectory::new(folder.path());
    publish_files(&data, MANIFEST, "1.0.0", &city_columns(6), &[]);
    let clock = Arc::new(TestClock::at(now()));
    let running = start(folder.path(), Arc::clone(&clock) as Arc<dyn Clock>);
    let ledger = &running.app().ledger;
    let account = ledger.create_account("tester", clock.now()).unwrap();
    ledger.buy(account, 1_000, None, "", "", clock.now()).unwrap();
    let key = ledger.create_key(account, "", [7; 32], clock.now()).unwrap().plain.reveal().to_owned();
    let address = running.public_socket().unwrap();
    let ask = |body: &str| {
        let ask = Ask::post("/api/v1/datasets/cities/query", body).header("X-Api-Key", &key);
        exchange(address, &ask)
    };
    for days in [0, -3, -40, 1, -1_000, 2] {
        clock.advance_millis(days * 86_400_000);
        for _ in 0..3 {
            // Above the limit of free queries, of which each month has some.
            let answer = ask(r#"{"limit": 200}"#);
            assert_eq!(answer.status, 200, "{days} days: {}", answer.text());
        }
    }
    let usage = Ask::get("/api/v1/account/usage?days=90").header("X-Api-Key", &key);
    assert_eq!(exchange(address, &usage).status, 200);
    assert_eq!(ledger.account(account).unwrap().credits(), 1_000 - 6 * 3 * 6);
    assert!(ledger.verify().unwrap().is_balanced());
    assert!(running.stop(Duration::from_secs(10)));
    let ledger = Ledger::open(&data.ledger(), LedgerOptions::default(), clock.now()).unwrap();
    assert!(ledger.verify().unwrap().is_balanced());
}

#[test]
fn refuses_writes_on_full_disk_and_recovers_without_restart() {
    let disk = match SmallDisk::mount("24m") {
        Ok(disk) => disk,
        Err(reason) => return println!("skipped: a small file system cannot be mounted here: {reason}"),
    };
    let data = DataDirectory::new(disk.path());
    publish_files(&data, MANIFEST, "1.0.0", &city_columns(6), &[]);
    let running = start(disk.path(), Arc::new(mercato_base::clock::SystemClock));
    let ledger = Arc::clone(&running.app().ledger);
    let account = ledger.create_account("tester", now()).unwrap();
    ledger.buy(account, 1_000_000, None, "", "", now()).unwrap();
    let address = running.public_socket().unwrap();
    // A key for each hundred requests: no rate limit stands between the client and the disk.
    let mut sold = 0;
    let mut sell = |turn: u32, body: &str| {
        let mut random = [1; 32];
        random[..4].copy_from_slice(&turn.to_le_bytes());
        let Ok(key) = ledger.create_key(account, "", random, now()) else { return 503 };
        let ask = Ask::post("/api/v1/datasets/cities/query", body).header("X-Api-Key", key.plain.reveal());
        let answer = exchange(address, &ask);
        if answer.status == 200 {
            sold += answer.header("X-Credits-Charged").unwrap().parse::<u64>().unwrap();
        }
        answer.status
    };
    assert_eq!(sell(0, "{}"), 200);
    let ballast = disk.path().join("ballast");
    fill(&ballast);
    let mut refused = false;
    for turn in 1..5_000 {
        match sell(turn, "{}") {
            200 => {}
            503 => {
                refused = true;
                break;
            }
            other => panic!("{other}"),
        }
    }
    assert!(refused, "without room nothing can be sold for ever");
    assert_eq!(exchange(address, &Ask::get("/api/v1/datasets/cities/sample")).status, 200, "reading goes on");
    fs::remove_file(&ballast).unwrap();
    let mut turn = 10_000;
    wait_until("it sells again", || {
        turn += 1;
        ledger.health() == Health::Serving && sell(turn, "{}") == 200
    });
    assert_eq!(ledger.account(account).unwrap().credits(), 1_000_000 - sold);
    assert!(ledger.verify().unwrap().is_balanced());
    running.stop(Duration::from_secs(10));
}

/// Takes every block of the disk.
fn fill(ballast: &Path) {
    use std::io::Write;
    let mut file = fs::File::create(ballast).unwrap();
    for size in [1 << 16, 1 << 12] {
        let block = vec![1; size];
        while file.write_all(&block).is_ok() {}
    }
}

#[test]
fn exits_with_one_line_on_unreadable_books() {
    let folder = tempfile::tempdir().unwrap();
    let data = DataDirectory::new(folder.path());
    publish_files(&data, MANIFEST, "1.0.0", &city_columns(6), &[]);
    let ledger = Ledger::open(&data.ledger(), LedgerOptions::default(), now()).unwrap();
    let account = ledger.create_account("tester", now()).unwrap();
    ledger.buy(account, 1_000, None, "", "", now()).unwrap();
    drop(ledger);
    let segment = data.ledger().join("log").join("0000000001.log");
    let length = fs::metadata(&segment).unwrap().len();
    fs::File::options().write(true).open(&segment).unwrap().set_len(length / 2).unwrap();
    let mut serve = Command::new(env!("CARGO_BIN_EXE_mercato"));
    serve.args(["serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--data"]).arg(folder.path());
    let output = serve.output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), text.lines().count()), (Some(1), 1), "{text}");
    assert!(text.starts_with("mercato: cannot start: ledger: "), "{text}");
}
