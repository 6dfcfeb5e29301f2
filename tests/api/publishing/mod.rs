//! Publications while the server runs, and damaged files.

mod away;
mod store_files;
mod under_load;

use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt};

use mercato_base::clock::SystemClock;
use mercato_catalog::publish::{
    PublishError, PublishRequest, Rows, feature, publish, publish_by, republish, rollback, unpublish,
};
use mercato_catalog::scrubber::{Finding, scrub_once};
use mercato_catalog::{CatalogError, Slug};
use mercato_format::Table;
use mercato_format::writer::write_table;
use semver::Version;

use crate::harness::{Ask, MANIFEST, Site, city_columns, exchange, store_path, wait_until};

fn slug() -> Slug {
    Slug::parse("cities").unwrap()
}

#[test]
fn serves_new_version_without_restart() {
    let site = Site::with_cities();
    site.publish("cities", MANIFEST, "1.1.0", &city_columns(9));
    assert_eq!(site.get("/api/v1/datasets/cities").json()["data"]["rowCount"], 9);
}

#[test]
fn finishes_walk_on_its_first_version() {
    let site = Site::with_cities();
    let key = site.paying_key(100);
    let first = site.query("cities", &key, r#"{"limit": 4}"#);
    let cursor = first.json()["data"]["nextCursor"].as_str().unwrap().to_owned();
    site.publish("cities", MANIFEST, "2.0.0", &city_columns(50));
    let second = site.query("cities", &key, &format!(r#"{{"limit": 4, "cursor": "{cursor}"}}"#));
    assert_eq!((second.status, second.header("X-Dataset-Version")), (200, Some("1.0.0")));
    assert_eq!(second.json()["data"]["rowsReturned"], 2);
    assert!(second.json()["data"]["nextCursor"].is_null());
    assert_eq!(site.query("cities", &key, "{}").header("X-Dataset-Version"), Some("2.0.0"));
}

#[test]
fn expires_cursor_of_removed_version() {
    let site = Site::with_cities();
    let key = site.paying_key(100);
    let first = site.query("cities", &key, r#"{"limit": 4}"#).json();
    for (minor, rows) in [(1, 7), (2, 8), (3, 9)] {
        site.publish("cities", MANIFEST, &format!("1.{minor}.0"), &city_columns(rows));
    }
    assert!(!store_path(&site.data(), "cities", "1.0.0").exists());
    let body = format!(r#"{{"cursor": {}}}"#, first["data"]["nextCursor"]);
    assert_eq!(
        site.query("cities", &key, &body).refusal(),
        (400, "BAD_REQUEST".into(), "CURSOR_EXPIRED".into())
    );
}

#[test]
fn continues_walk_after_its_file_is_removed() {
    let site = Site::with_cities();
    let key = site.paying_key(100);
    let mut cursor = site.query("cities", &key, r#"{"limit": 1}"#).json()["data"]["nextCursor"].clone();
    for patch in 1..=5 {
        let body = format!(r#"{{"limit": 1, "cursor": {cursor}}}"#);
        let page = site.query("cities", &key, &body);
        assert_eq!((page.status, page.header("X-Dataset-Version")), (200, Some("1.0.0")), "{}", page.text());
        let json = page.json();
        assert_eq!(json["data"]["results"][0]["id"], patch + 1);
        cursor = json["data"]["nextCursor"].clone();
        site.publish("cities", MANIFEST, &format!("1.0.{patch}"), &city_columns(6 + patch));
    }
    assert!(!store_path(&site.data(), "cities", "1.0.0").exists());
    assert!(cursor.is_null(), "all six rows of the first version were read");
    let versions = site.get("/api/v1/datasets/cities").json()["data"]["versions"].clone();
    assert_eq!(versions.as_array().unwrap().len(), 3, "only what is kept is offered: {versions}");
}

#[test]
fn keeps_as_many_versions_as_publisher_or_manifest_sets() {
    let site = Site::with_cities();
    let folder = tempfile::tempdir().unwrap();
    let columns = city_columns(3);
    let attempt = |manifest: &str, version: &str, keep: Option<usize>| {
        fs::write(folder.path().join("dataset.toml"), manifest).unwrap();
        let version = Version::parse(version).unwrap();
        let data = site.data();
        let request = PublishRequest { keep, ..PublishRequest::new(&data, folder.path(), &version) };
        let done = publish_by(request, |path, _| write_table(path, &columns).map(drop));
        let removed = done.unwrap().removed;
        removed.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert!(attempt(MANIFEST, "1.0.1", Some(16)).is_empty());
    let five = MANIFEST.replace("[title]", "keep_versions = 5\n[title]");
    for version in ["1.0.2", "1.0.3", "1.0.4"] {
        assert!(attempt(&five, version, None).is_empty());
    }
    assert_eq!(attempt(&five, "1.0.5", None), ["1.0.0"]);
    assert_eq!(attempt(&five, "1.0.6", Some(2)), ["1.0.4", "1.0.3", "1.0.2", "1.0.1"]);
    assert!(attempt(MANIFEST, "1.0.7", None).is_empty());
}

#[test]
fn features_datasets_of_operator_until_reset() {
    let site = Site::with_cities();
    site.publish("rivers", "slug = \"rivers\"\nfeatured = true\n", "1.0.0", &city_columns(2));
    let first = || site.get("/api/v1/datasets").json()["data"]["results"][0]["slug"].clone();
    assert_eq!(first(), "rivers");
    feature(&site.data(), &slug(), Some(true)).unwrap();
    feature(&site.data(), &Slug::parse("rivers").unwrap(), Some(false)).unwrap();
    wait_until("the operator's choice is served", || first() == "cities");
    site.publish("cities", MANIFEST, "1.1.0", &city_columns(2));
    site.publish("rivers", "slug = \"rivers\"\nfeatured = true\n", "1.1.0", &city_columns(2));
    assert_eq!(first(), "cities", "a publication leaves it");
    feature(&site.data(), &slug(), None).unwrap();
    feature(&site.data(), &Slug::parse("rivers").unwrap(), None).unwrap();
    wait_until("the manifests decide again", || first() == "rivers");
    assert!(matches!(
        feature(&site.data(), &Slug::parse("nowhere").unwrap(), Some(true)),
        Err(CatalogError::NotPublished { .. })
    ));
}

#[test]
fn rejects_existing_and_lower_versions() {
    let site = Site::with_cities();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("dataset.toml"), MANIFEST).unwrap();
    let columns = city_columns(3);
    let attempt = |version: &str| {
        let version = Version::parse(version).unwrap();
        publish(&site.data(), folder.path(), &version, |path| write_table(path, &columns).map(drop))
    };
    assert!(matches!(attempt("1.0.0"), Err(PublishError::Catalog(CatalogError::VersionExists { .. }))));
    assert!(matches!(attempt("0.9.0"), Err(PublishError::Catalog(CatalogError::VersionNotGreater { .. }))));
    assert!(matches!(
        attempt("1.0.0+build.2"),
        Err(PublishError::Catalog(CatalogError::VersionNotGreater { .. }))
    ));
    assert_eq!(attempt("1.0.1").unwrap().rows, 3);
}

#[test]
fn leaves_catalog_unchanged_after_failed_publication() {
    let site = Site::with_cities();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("dataset.toml"), MANIFEST.replace("Cities", "Changed")).unwrap();
    let failed = publish(&site.data(), folder.path(), &Version::new(2, 0, 0), |path| {
        fs::write(path, b"half a file")?;
        Err(std::io::Error::other("the disk is full"))
    });
    assert!(matches!(failed, Err(PublishError::Store(_))));
    let damaged = publish(&site.data(), folder.path(), &Version::new(2, 0, 0), |path| {
        fs::write(path, b"no store file")
    });
    assert!(matches!(damaged, Err(PublishError::Catalog(CatalogError::Store { .. }))));
    site.running().app().catalog.reload(crate::harness::now()).unwrap();
    let json = site.get("/api/v1/datasets/cities").json();
    assert_eq!(
        (&json["data"]["currentVersion"], &json["data"]["title"]),
        (&"1.0.0".into(), &"Cities".into())
    );
}

#[test]
fn rolls_back_until_next_publication() {
    let site = Site::with_cities();
    site.publish("cities", MANIFEST, "1.1.0", &city_columns(9));
    rollback(&site.data(), &slug(), &Version::new(1, 0, 0), Rows::Here).unwrap();
    wait_until("the older version is served", || site.serves("cities", "1.0.0"));
    assert!(matches!(
        rollback(&site.data(), &slug(), &Version::new(3, 0, 0), Rows::Here),
        Err(CatalogError::NoSuchVersion { .. })
    ));
    site.publish("cities", MANIFEST, "1.2.0", &city_columns(10));
}

#[test]
fn removes_unpublished_dataset_until_next_publication() {
    let site = Site::with_cities();
    unpublish(&site.data(), &slug()).unwrap();
    wait_until("the dataset is gone", || site.get("/api/v1/datasets/cities").status == 404);
    assert_eq!(site.get("/api/v1/datasets").json()["data"]["total"], 0);
    site.publish("cities", MANIFEST, "1.1.0", &city_columns(9));
}

#[test]
fn refuses_rollback_of_unpublished_dataset_and_publishes_it_again() {
    let site = Site::with_cities();
    site.publish("cities", MANIFEST, "1.1.0", &city_columns(9));
    let back = || rollback(&site.data(), &slug(), &Version::new(1, 0, 0), Rows::Here);
    back().unwrap();
    unpublish(&site.data(), &slug()).unwrap();
    wait_until("the dataset is gone", || site.get("/api/v1/datasets/cities").status == 404);
    let refusal = back().unwrap_err().to_string();
    assert!(refusal.contains("mercato-tools republish cities"), "{refusal}");
    let again = || republish(&site.data(), &slug(), Rows::Here).unwrap();
    assert_eq!(again(), Version::new(1, 0, 0), "as it was served last");
    wait_until("it is served again", || site.serves("cities", "1.0.0"));
    assert_eq!(again(), Version::new(1, 0, 0), "which changes nothing");
}

#[test]
fn refuses_rollback_and_republication_of_withheld_dataset() {
    let site = Site::with_cities();
    let withheld = format!("published = false\n{MANIFEST}");
    crate::harness::publish_files(&site.data(), &withheld, "1.1.0", &city_columns(9), &[]);
    let back = rollback(&site.data(), &slug(), &Version::new(1, 0, 0), Rows::Here);
    let again = republish(&site.data(), &slug(), Rows::Here).map(drop);
    for refused in [back, again] {
        assert!(matches!(refused, Err(CatalogError::Withheld { .. })), "{refused:?}");
    }
}

#[test]
fn withholds_dataset_by_manifest() {
    let site = Site::with_cities();
    let withheld = format!("published = false\n{MANIFEST}");
    crate::harness::publish_files(&site.data(), &withheld, "1.1.0", &city_columns(9), &[]);
    wait_until("the dataset is gone", || site.get("/api/v1/datasets/cities").status == 404);
}

#[test]
fn quarantines_only_damaged_dataset() {
    let site = Site::with_cities();
    site.publish("rivers", "slug = \"rivers\"\n", "1.0.0", &city_columns(2));
    let path = store_path(&site.data(), "rivers", "1.0.0");
    let good = fs::read(&path).unwrap();
    let replace = |bytes: &[u8]| {
        let beside = path.with_extension("damaged");
        fs::write(&beside, bytes).unwrap();
        fs::rename(&beside, &path).unwrap();
    };
    replace(&good[..good.len() / 2]);
    wait_until("the damage is noticed", || site.get("/api/v1/datasets/rivers").status == 503);
    let snapshot = site.running().app().catalog.snapshot();
    let reason = snapshot.quarantined()[0].1.to_owned();
    assert_eq!(reason.matches("1.0.0.mcol").count(), 1, "the file is named once: {reason}");
    let answer = site.get("/api/v1/datasets/rivers");
    assert_eq!(answer.refusal(), (503, "UNAVAILABLE".into(), "DATASET_QUARANTINED".into()));
    assert!(answer.header("Retry-After").is_some());
    assert!(!answer.text().contains(path.parent().unwrap().to_str().unwrap()));
    let ready = site.get("/readyz");
    let json = ready.json();
    assert_eq!((ready.status, &json["data"]["datasets"]["quarantined"]), (200, &1.into()));
    assert_eq!(json["data"]["datasets"]["damaged"], serde_json::json!(["rivers"]));
    assert_eq!(site.get("/api/v1/datasets/cities").status, 200);
    assert_eq!(site.get("/api/v1/datasets").json()["data"]["total"], 1);
    replace(&good);
    wait_until("the repair is noticed", || site.get("/api/v1/datasets/rivers").status == 200);
}

#[test]
fn detects_damage_by_scrubbing() {
    let site = Site::with_cities();
    for version in ["1.0.0", "1.1.0"] {
        site.publish("rivers", "slug = \"rivers\"\n", version, &city_columns(300));
    }
    // One that watches no folder: what is written here would be noticed before it is read.
    let catalog = &mercato_catalog::Catalog::open(site.data()).unwrap();
    let find = || {
        let found = std::cell::RefCell::new(Vec::new());
        let note =
            |finding: &Finding| found.borrow_mut().push((finding.slug.clone(), finding.version.clone()));
        scrub_once(catalog, &SystemClock, &mut |_| Ok(()), &note).unwrap();
        found.into_inner()
    };
    assert!(find().is_empty());
    let bytes = catalog.scrub_counts().bytes();
    assert!(bytes > 0);
    let damage = |version: &str| {
        let path = store_path(&site.data(), "rivers", version);
        let table = Table::open(&path).unwrap();
        let largest = table.blocks().unwrap().max_by_key(|block| block.len).unwrap();
        let middle = largest.offset + largest.len as u64 / 2;
        let written_at = fs::metadata(&path).unwrap().modified().unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let file = fs::File::options().read(true).write(true).open(&path).unwrap();
        let mut byte = [0];
        file.read_exact_at(&mut byte, middle).unwrap();
        file.write_all_at(&[byte[0] ^ 0x55], middle).unwrap();
        // As a disk does it: nothing but the bytes tells.
        file.set_modified(written_at).unwrap();
    };
    damage("1.0.0");
    assert_eq!(find(), [("rivers".to_owned(), "1.0.0".to_owned())], "the older version alone");
    let header = || site.get("/api/v1/datasets/rivers").json();
    wait_until("the damaged version is gone", || {
        header()["data"]["versions"].as_array().is_some_and(|versions| versions.len() == 1)
    });
    damage("1.1.0");
    assert_eq!(find(), [("rivers".to_owned(), "1.1.0".to_owned())]);
    wait_until("no sound version is left", || site.get("/api/v1/datasets/rivers").status == 503);
    assert_eq!(site.get("/api/v1/datasets/cities").status, 200);
    let metrics = exchange(site.admin_address(), &Ask::get("/metrics")).text();
    assert!(metrics.contains("\nmercato_checksum_damaged_total "), "{metrics}");
}

#[test]
fn quarantines_dataset_with_unreadable_manifest() {
    let site = Site::with_cities();
    fs::write(site.data().dataset(&slug()).file("dataset.toml"), "slug = \n").unwrap();
    wait_until("the damage is noticed", || site.get("/api/v1/datasets/cities").status == 503);
}

#[test]
fn rejects_cursor_of_another_dataset() {
    let site = Site::with_cities();
    site.publish("rivers", "slug = \"rivers\"\n", "1.0.0", &city_columns(9));
    let key = site.paying_key(100);
    let cursor = site.query("rivers", &key, r#"{"limit": 4}"#).json()["data"]["nextCursor"].clone();
    let body = format!(r#"{{"limit": 4, "cursor": {cursor}}}"#);
    assert_eq!(
        site.query("cities", &key, &body).refusal(),
        (400, "BAD_REQUEST".into(), "CURSOR_QUERY_MISMATCH".into())
    );
}

#[test]
fn updates_time_of_list_on_unpublication() {
    let site = Site::with_cities();
    site.publish("rivers", "slug = \"rivers\"\n", "1.0.0", &city_columns(9));
    let list = || site.get("/api/v1/datasets");
    let changed = || httpdate::parse_http_date(list().header("Last-Modified").unwrap()).unwrap();
    let before = changed();
    std::thread::sleep(std::time::Duration::from_millis(1100));
    unpublish(&site.data(), &Slug::parse("rivers").unwrap()).unwrap();
    wait_until("the dataset is gone", || list().json()["data"]["total"] == 1);
    assert!(changed() > before, "a client that asks with If-Modified-Since must hear of it");
}
