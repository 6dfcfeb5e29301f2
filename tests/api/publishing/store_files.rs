//! Store files that are new, changed or damaged: what is verified before it is served, what is served in the place of a
//! damaged version, what the operator hears of it, and which times survive a copy.

use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

use mercato_base::clock::SystemClock;
use mercato_catalog::DataDirectory;
use mercato_catalog::publish::{Rows, rollback};
use mercato_catalog::scrubber::scrub_once;
use mercato_format::Table;
use mercato_format::writer::Column;
use serde_json::Value;

use crate::harness::{
    Answer, Ask, MANIFEST, Site, city_columns, exchange, publish_files, store_path, wait_until,
};

const FREE_FLAGS: [&str; 4] = ["--requests-per-minute", "0", "--requests-per-day", "0"];
/// The rate of a slow verification: small blocks count as 64 KiB each, so a small file takes seconds.
const SLOW_BYTES_PER_SECOND: u64 = 1 << 20;
const RIVERS: &str = "slug = \"rivers\"\n";
const BODY: &str = r#"{"limit": 3}"#;

fn slowly_verified(folder: tempfile::TempDir) -> Site {
    Site::tuned(folder, &[], |settings| settings.verification_bytes_per_second = Some(SLOW_BYTES_PER_SECOND))
}

fn rivers() -> Vec<Column> {
    city_columns(300)
}

/// A data directory with `cities` 1.0.0 and `rivers` in these versions.
fn prepared(versions: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let data = DataDirectory::new(folder.path());
    publish_files(&data, MANIFEST, "1.0.0", &city_columns(6), &[]);
    for version in versions {
        publish_files(&data, RIVERS, version, &rivers(), &[]);
    }
    folder
}

fn rivers_file(folder: &Path, version: &str) -> std::path::PathBuf {
    store_path(&DataDirectory::new(folder), "rivers", version)
}

/// Changes one byte in the middle of the largest block of values and sets the time of the file back.
fn damage(path: &Path) {
    let table = Table::open(path).unwrap();
    let largest = table.blocks().unwrap().max_by_key(|block| block.len).unwrap();
    damage_at(path, largest.offset + largest.len as u64 / 2);
}

fn damage_at(path: &Path, at: u64) {
    let written_at = fs::metadata(path).unwrap().modified().unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
    let file = fs::File::options().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 0x55], at).unwrap();
    file.set_modified(written_at).unwrap();
}

/// Copies as `cp -r` does: other files with other times.
fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for item in fs::read_dir(from).unwrap() {
        let item = item.unwrap();
        let target = to.join(item.file_name());
        if item.file_type().unwrap().is_dir() {
            copy_folder(&item.path(), &target);
        } else {
            fs::write(target, fs::read(item.path()).unwrap()).unwrap();
        }
    }
}

fn operator_view(site: &Site) -> Value {
    exchange(site.admin_address(), &Ask::get("/readyz")).json()["data"]["datasets"].clone()
}

fn files_verified(site: &Site) -> u64 {
    site.running().app().catalog.verification().files_done()
}

fn no_longer_verifying(site: &Site) {
    wait_until("all files are verified", || !site.running().app().catalog.verification().is_busy());
}

fn credits_left(answer: &Answer) -> u64 {
    answer.header("X-Credits-Remaining").unwrap().parse().unwrap()
}

#[test]
fn refuses_damaged_block_before_first_row_without_charge() {
    let folder = prepared(&["1.0.0"]);
    damage(&rivers_file(folder.path(), "1.0.0"));
    let site = Site::over(folder, &FREE_FLAGS);
    let key = site.paying_key(1_000);
    let answer = site.query("rivers", &key, BODY);
    assert_eq!(answer.refusal().0, 503, "{}", answer.text());
    assert_eq!((answer.header("X-Credits-Charged"), credits_left(&answer)), (Some("0"), 1_000));
    assert!(answer.header("Retry-After").is_some());
    assert_eq!(site.query("cities", &key, BODY).status, 200);
    no_longer_verifying(&site);
    let stream = Ask::post("/api/v1/datasets/rivers/query/stream", BODY).header("X-Api-Key", &key);
    let download = Ask::get("/api/v1/datasets/rivers/download").header("X-Api-Key", &key);
    for refused in [site.query("rivers", &key, BODY), site.send(&stream), site.send(&download)] {
        assert_eq!(refused.refusal().2, "DATASET_QUARANTINED");
    }
    let seen = operator_view(&site);
    let reason = seen["reasons"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("1.0.0.mcol") && reason.contains("checksum"), "{seen}");
    site.wait_for_metrics(&["mercato_verification_damaged_total 1"]);
}

/// Its length and its time are as before: only the change time of the inode tells.
#[test]
fn quarantines_file_damaged_in_place_under_its_old_time() {
    let site = Site::over(prepared(&["1.0.0"]), &FREE_FLAGS);
    let key = site.paying_key(1_000);
    assert_eq!(site.query("rivers", &key, BODY).status, 200);
    damage(&store_path(&site.data(), "rivers", "1.0.0"));
    wait_until("the damage is noticed", || {
        site.get("/api/v1/datasets/rivers").status == 503 && !operator_view(&site)["reasons"][0].is_null()
    });
    assert_eq!(site.query("rivers", &key, BODY).refusal().2, "DATASET_QUARANTINED");
    assert_eq!(credits_left(&site.query("rivers", &key, BODY)), 997, "only the sound rows were paid");
}

/// Nobody has noticed the damage before the rows are read.
#[test]
fn never_sells_rows_damaged_in_place() {
    let site = Site::over(prepared(&["1.0.0"]), &FREE_FLAGS);
    let key = site.paying_key(1_000);
    assert_eq!(site.query("rivers", &key, BODY).status, 200);
    let path = store_path(&site.data(), "rivers", "1.0.0");
    let table = Table::open(&path).unwrap();
    let blocks = table.sections().find(|section| section.kind == "row_blocks").unwrap();
    damage_at(&path, blocks.offset + 8 + blocks.len / 300);
    let refused = site.query("rivers", &key, BODY);
    assert_eq!(refused.refusal().0, 503, "{}", refused.text());
    assert_eq!((refused.header("X-Credits-Charged"), credits_left(&refused)), (Some("0"), 997));
    let again = site.query("rivers", &key, BODY);
    assert_eq!(again.refusal().2, "DATASET_QUARANTINED");
}

#[test]
fn refuses_rollback_to_damaged_version() {
    let site = Site::over(prepared(&["1.0.0", "1.1.0"]), &FREE_FLAGS);
    let to = semver::Version::new(1, 0, 0);
    damage(&store_path(&site.data(), "rivers", "1.0.0"));
    let back = rollback(&site.data(), &mercato_catalog::Slug::parse("rivers").unwrap(), &to, Rows::Here);
    let refusal = back.unwrap_err().to_string();
    assert!(refusal.contains("rivers 1.0.0 is damaged") && refusal.contains("checksum"), "{refusal}");
    assert!(site.serves("rivers", "1.1.0"));
}

#[test]
fn verifies_files_once_across_publication_and_restarts() {
    let folder = prepared(&["1.0.0", "1.1.0"]);
    let mut site = Site::at(folder.path(), &FREE_FLAGS);
    let key = site.paying_key(100);
    assert_eq!(site.query("rivers", &key, BODY).status, 200);
    assert_eq!(files_verified(&site), 0, "the publications did it");
    site.stop();
    // A copy by hand is another file.
    let path = rivers_file(folder.path(), "1.1.0");
    let beside = path.with_extension("copy");
    fs::copy(&path, &beside).unwrap();
    fs::rename(&beside, &path).unwrap();
    let mut site = Site::at(folder.path(), &FREE_FLAGS);
    no_longer_verifying(&site);
    assert_eq!(files_verified(&site), 1, "only the copy");
    assert_eq!(site.query("rivers", &key, BODY).status, 200);
    site.stop();
    let mut site = Site::at(folder.path(), &FREE_FLAGS);
    assert_eq!(site.query("rivers", &key, BODY).status, 200);
    assert_eq!(files_verified(&site), 0, "it is remembered");
    site.stop();
    let memory = folder.path().join("verified");
    for (change, text) in [("damaged", "no memory".to_owned()), ("forged", forged(&memory))] {
        fs::write(&memory, text).unwrap();
        let mut site = Site::at(folder.path(), &FREE_FLAGS);
        no_longer_verifying(&site);
        assert_eq!(files_verified(&site), 1, "{change}");
        site.stop();
    }
}

/// The memory with the inode of another file.
fn forged(memory: &Path) -> String {
    fs::read_to_string(memory).unwrap().replace("\"inode\":", "\"inode\":1")
}

#[test]
fn verifies_copied_data_directory_completely() {
    let folder = prepared(&["1.0.0", "1.1.0"]);
    let copy = tempfile::tempdir().unwrap();
    copy_folder(folder.path(), copy.path());
    let site = Site::over(copy, &FREE_FLAGS);
    no_longer_verifying(&site);
    assert_eq!(files_verified(&site), 3);
    assert_eq!(site.query("rivers", &site.paying_key(100), BODY).status, 200);
}

#[test]
fn answers_503_only_for_data_under_verification() {
    let versions = ["1.0.0", "1.1.0", "1.2.0"];
    let folder = prepared(&versions);
    for version in versions {
        let path = rivers_file(folder.path(), version);
        let content = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        fs::write(&path, content).unwrap();
    }
    let site = slowly_verified(folder);
    let key = site.paying_key(1_000);
    assert_eq!(operator_view(&site)["waiting"], serde_json::json!(["rivers"]), "too slow to see it wait");
    let asks = [
        Ask::post("/api/v1/datasets/rivers/query", BODY),
        Ask::post("/api/v1/datasets/rivers/query/estimate", BODY),
        Ask::post("/api/v1/datasets/rivers/query/stream", BODY),
        Ask::get("/api/v1/datasets/rivers/download"),
        Ask::get("/api/v1/datasets/rivers/sample"),
        Ask::get("/api/v1/datasets/rivers/stats"),
        Ask::get("/api/v1/datasets/rivers/schema"),
    ];
    for ask in asks {
        let answer = site.send(&ask.header("X-Api-Key", &key));
        assert_eq!(answer.refusal(), (503, "UNAVAILABLE".into(), "DATASET_VERIFYING".into()));
        assert!(answer.header("Retry-After").unwrap().parse::<u32>().unwrap() > 0);
    }
    let header = site.get("/api/v1/datasets/rivers");
    assert_eq!((header.status, &header.json()["data"]["formats"][0]["bytes"]), (200, &Value::Null));
    assert_eq!(site.get("/api/v1/datasets").json()["data"]["total"], 2);
    assert_eq!(site.query("cities", &key, BODY).status, 200);
    let ready = site.get("/readyz");
    let seen = ready.json()["data"]["datasets"].clone();
    assert_eq!((ready.status, &seen["verifying"]), (200, &1.into()), "{seen}");
    assert!(seen["verification"]["bytesDone"].as_u64() < seen["verification"]["bytes"].as_u64(), "{seen}");
    wait_until("it is verified", || site.query("rivers", &key, BODY).status == 200);
    let header = site.get("/api/v1/datasets/rivers").json();
    assert!(header["data"]["formats"][0]["bytes"].is_u64());
}

#[test]
fn serves_copied_version_after_verification() {
    let other = prepared(&["1.0.0", "1.1.0"]);
    let site = slowly_verified(prepared(&["1.0.0"]));
    let key = site.paying_key(1_000);
    let target = store_path(&site.data(), "rivers", "1.1.0");
    fs::copy(rivers_file(other.path(), "1.1.0"), target.with_extension("copy")).unwrap();
    fs::rename(target.with_extension("copy"), &target).unwrap();
    wait_until("the copy is seen", || site.running().app().catalog.verification().is_busy());
    while site.running().app().catalog.verification().is_busy() {
        let answer = site.query("rivers", &key, BODY);
        assert_eq!(answer.status, 200, "the version that was verified goes on: {}", answer.text());
        std::thread::sleep(Duration::from_millis(20));
    }
    wait_until("it is served", || site.serves("rivers", "1.1.0"));
    assert_eq!(site.query("rivers", &key, BODY).header("X-Dataset-Version"), Some("1.1.0"));
}

#[test]
fn verifies_replaced_file_before_first_row() {
    let site = slowly_verified(prepared(&["1.0.0"]));
    let key = site.paying_key(1_000);
    assert_eq!(site.query("rivers", &key, BODY).status, 200);
    let path = store_path(&site.data(), "rivers", "1.0.0");
    let beside = path.with_extension("copy");
    fs::copy(&path, &beside).unwrap();
    damage(&beside);
    fs::rename(&beside, &path).unwrap();
    wait_until("the other file is seen", || site.query("rivers", &key, BODY).status == 503);
    wait_until("it is found damaged", || {
        site.query("rivers", &key, BODY).refusal().2 == "DATASET_QUARANTINED"
    });
}

#[test]
fn falls_back_to_newest_sound_version() {
    for how in ["cut short", "a byte of a value"] {
        let folder = prepared(&["1.0.0", "1.1.0", "1.2.0"]);
        let newest = rivers_file(folder.path(), "1.2.0");
        if how == "cut short" {
            let bytes = fs::read(&newest).unwrap();
            fs::remove_file(&newest).unwrap();
            fs::write(&newest, &bytes[..bytes.len() / 2]).unwrap();
        } else {
            damage(&newest);
        }
        let mut site = Site::at(folder.path(), &FREE_FLAGS);
        no_longer_verifying(&site);
        let key = site.paying_key(100);
        let answer = site.query("rivers", &key, BODY);
        assert_eq!((answer.status, answer.header("X-Dataset-Version")), (200, Some("1.1.0")), "{how}");
        let seen = operator_view(&site);
        let warning = &seen["warnings"][0];
        assert_eq!((&warning["slug"], &warning["serves"]), (&"rivers".into(), &"1.1.0".into()), "{seen}");
        assert!(warning["reason"].as_str().unwrap().contains("1.2.0"), "{seen}");
        let public = site.get("/readyz");
        assert_eq!(public.json()["data"]["datasets"]["fallenBack"], 1);
        for hidden in ["warnings", "reasons", folder.path().to_str().unwrap()] {
            assert!(!public.text().contains(hidden), "{}", public.text());
        }
        site.wait_for_metrics(&["mercato_datasets_fallen_back 1"]);
        site.stop();
        let site = Site::at(folder.path(), &FREE_FLAGS);
        assert_eq!(files_verified(&site), 0, "what was found is remembered: {how}");
        assert!(site.serves("rivers", "1.1.0"), "{how}");
        publish_files(&site.data(), RIVERS, "1.3.0", &rivers(), &[]);
        wait_until("a sound newer version is served", || site.serves("rivers", "1.3.0"));
        assert_eq!(operator_view(&site)["fallenBack"], 0);
    }
}

#[test]
fn keeps_fallback_from_damage_after_text_change() {
    let site = Site::over(prepared(&["1.0.0", "1.1.0"]), &FREE_FLAGS);
    let key = site.paying_key(100);
    damage(&store_path(&site.data(), "rivers", "1.1.0"));
    let catalog = &site.running().app().catalog;
    scrub_once(catalog, &SystemClock, &mut |_| Ok(()), &|_| ()).unwrap();
    let served = || site.query("rivers", &key, BODY).header("X-Dataset-Version").map(str::to_owned);
    assert_eq!(served().as_deref(), Some("1.0.0"));
    let manifest = site.data().dataset(&mercato_catalog::Slug::parse("rivers").unwrap()).file("dataset.toml");
    fs::write(manifest, format!("{RIVERS}tags = [\"water\"]\n")).unwrap();
    let tags = || site.get("/api/v1/datasets/rivers").json()["data"]["tags"][0].clone();
    wait_until("the text is seen", || tags() == "water");
    assert_eq!(served().as_deref(), Some("1.0.0"));
}

#[test]
fn ignores_higher_versions_after_rollback() {
    let folder = prepared(&["1.0.0", "1.1.0", "1.2.0"]);
    let data = DataDirectory::new(folder.path());
    let slug = mercato_catalog::Slug::parse("rivers").unwrap();
    rollback(&data, &slug, &semver::Version::new(1, 1, 0), Rows::Here).unwrap();
    damage(&rivers_file(folder.path(), "1.1.0"));
    let mut site = Site::at(folder.path(), &FREE_FLAGS);
    no_longer_verifying(&site);
    assert!(site.serves("rivers", "1.0.0"));
    site.stop();
    damage(&rivers_file(folder.path(), "1.0.0"));
    let site = Site::at(folder.path(), &FREE_FLAGS);
    no_longer_verifying(&site);
    assert_eq!(site.get("/api/v1/datasets/rivers").status, 503);
}

/// Everything that tells when something was published or changed.
fn times(site: &Site) -> Vec<String> {
    let key = site.paying_key(1_000);
    let header = site.get("/api/v1/datasets/cities");
    let data = header.json()["data"].clone();
    let modified = |answer: &Answer| answer.header("Last-Modified").unwrap().to_owned();
    let download = Ask::get("/api/v1/datasets/cities/download").header("X-Api-Key", &key);
    let field = |target: &str| site.get(target).json()["data"]["updatedAt"].to_string();
    let map = site.get("/sitemap.xml").text();
    let changes: Vec<&str> = map.split("<lastmod>").skip(1).collect();
    let days: Vec<&str> = changes.iter().map(|rest| rest.split('<').next().unwrap()).collect();
    vec![
        data["updatedAt"].to_string(),
        data["versions"][0]["publishedAt"].to_string(),
        data["versions"][1]["publishedAt"].to_string(),
        modified(&header),
        modified(&site.send(&download)),
        modified(&site.get("/api/v1/datasets")),
        modified(&site.get("/sitemap.xml")),
        modified(&site.get("/api/v1/datasets/relations/graph")),
        days.join(" "),
        field("/api/v1/datasets/cities/methodology"),
        field("/api/v1/datasets/cities/changelog"),
    ]
}

#[test]
fn keeps_times_in_plain_copy() {
    let folder = tempfile::tempdir().unwrap();
    let data = DataDirectory::new(folder.path());
    let texts = [("methodology.md", "# How\n"), ("changelog.md", "## 1.0.0\nFirst.\n")];
    publish_files(&data, MANIFEST, "1.0.0", &city_columns(6), &texts);
    std::thread::sleep(Duration::from_millis(20));
    let later = [("methodology.md", "# How\n"), ("changelog.md", "## 1.1.0\nMore.\n")];
    publish_files(&data, MANIFEST, "1.1.0", &city_columns(7), &later);
    let slug = mercato_catalog::Slug::parse("cities").unwrap();
    mercato_catalog::publish::feature(&data, &slug, Some(true)).unwrap();
    let before = times(&Site::at(folder.path(), &FREE_FLAGS));
    assert!(before[9] < before[10], "a text that stayed the same keeps its time: {before:?}");
    std::thread::sleep(Duration::from_millis(1_100));
    let copy = tempfile::tempdir().unwrap();
    copy_folder(&folder.path().join("datasets"), &copy.path().join("datasets"));
    assert_eq!(times(&Site::over(copy, &FREE_FLAGS)), before);
}

#[test]
fn dates_edited_text_by_file_time() {
    let folder = prepared(&["1.0.0"]);
    let data = DataDirectory::new(folder.path());
    let slug = mercato_catalog::Slug::parse("rivers").unwrap();
    let changelog = data.dataset(&slug).file("changelog.md");
    fs::write(&changelog, "## 1.0.0\nFirst.\n").unwrap();
    let edited_at = httpdate::parse_http_date("Sat, 01 Jan 2050 00:00:00 GMT").unwrap();
    fs::File::options().write(true).open(&changelog).unwrap().set_modified(edited_at).unwrap();
    let site = Site::over(folder, &FREE_FLAGS);
    for target in ["/api/v1/datasets/rivers", "/api/v1/datasets/rivers/changelog"] {
        assert_eq!(site.get(target).json()["data"]["updatedAt"], "2050-01-01T00:00:00.000Z", "{target}");
    }
}

#[test]
fn uses_file_times_without_record_and_names_damaged_one() {
    let folder = prepared(&["1.0.0"]);
    let data = DataDirectory::new(folder.path());
    let record = data.dataset(&mercato_catalog::Slug::parse("rivers").unwrap()).file("publications.json");
    let written_at = httpdate::parse_http_date("Sat, 01 Jan 2050 00:00:00 GMT").unwrap();
    let store = rivers_file(folder.path(), "1.0.0");
    fs::set_permissions(&store, fs::Permissions::from_mode(0o644)).unwrap();
    fs::File::options().write(true).open(&store).unwrap().set_modified(written_at).unwrap();
    for (content, warnings) in [(None, 0), (Some("{\"versions\": 7}"), 1)] {
        match content {
            None => fs::remove_file(&record).unwrap(),
            Some(content) => fs::write(&record, content).unwrap(),
        }
        let mut site = Site::at(folder.path(), &FREE_FLAGS);
        let header = site.get("/api/v1/datasets/rivers").json()["data"].clone();
        assert_eq!(header["versions"][0]["publishedAt"], "2050-01-01T00:00:00.000Z", "{header}");
        let seen = operator_view(&site);
        assert_eq!(seen["warnings"].as_array().unwrap().len(), warnings, "{seen}");
        site.stop();
    }
    let text = tempfile::tempdir().unwrap();
    fs::write(text.path().join("dataset.toml"), RIVERS).unwrap();
    let refused =
        mercato_catalog::publish::publish(&data, text.path(), &semver::Version::new(1, 1, 0), |_| {
            Ok::<(), std::io::Error>(())
        });
    let said = refused.unwrap_err().to_string();
    assert!(said.contains("publications.json") && said.contains("remove it"), "{said}");
}
