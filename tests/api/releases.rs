//! Several servers with versions in an object store. The tests need a database (`MERCATO_TEST_POSTGRES`) and a store
//! (`MERCATO_TEST_S3`): `tests/books/postgres.sh python tests/cluster/object_stores.py -- cargo test --test api releases:: -- --ignored`.

use std::path::Path;
use std::time::Duration;

use mercato_catalog::objects::{ObjectName, ObjectStore, StoreAddress};
use mercato_catalog::publish::{Rows, rollback, unpublish};
use mercato_catalog::releases::{Progress, Pulled, ReleaseError, Releases, VersionBlobs, wait_for_servers};
use mercato_catalog::{DataDirectory, Slug};
use mercato_database::{Connection, DatabaseAddress, migrate};
use mercato_format::ColumnKind;
use mercato_format::writer::{Column, ColumnValues};
use mercato_ledger::cluster_status;
use serde_json::json;
use tempfile::TempDir;

use crate::harness::{Answer, Ask, Site, exchange, now, publish_files_and, wait_until};
use crate::schema::url_of;

const FREE: [&str; 4] = ["--requests-per-minute", "0", "--requests-per-day", "0"];

struct Silent;

impl Progress for Silent {
    fn begin(&self, _: &'static str, _: u64) {}
    fn moved(&self, _: u64) {}
    fn warn(&self, text: &str) {
        panic!("{text}");
    }
}

/// Books, a store, and a folder for the servers.
struct Cluster {
    folder: TempDir,
    url: String,
    store: ObjectStore,
    releases: Releases,
}

impl Cluster {
    fn new() -> Cluster {
        let bucket = std::env::var("MERCATO_TEST_S3").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let url = format!("{bucket}/{}", uuid::Uuid::new_v4());
        let store = ObjectStore::open(StoreAddress::parse(&url, |name| std::env::var(name).ok()).unwrap());
        let database = DatabaseAddress::parse(&url_of(folder.path()), |_| None).unwrap();
        migrate(&database).unwrap();
        let releases = Releases::open(database, store.clone()).unwrap();
        Cluster { folder, url, store, releases }
    }

    fn database(&self) -> DatabaseAddress {
        DatabaseAddress::parse(&url_of(self.folder.path()), |_| None).unwrap()
    }

    fn server(&self, name: &str, flags: &[&str]) -> Site {
        let data = self.folder.path().join(name);
        std::fs::create_dir_all(&data).unwrap();
        let own = ["--store", self.url.as_str()];
        let flags: Vec<&str> = own.iter().chain(&FREE).chain(flags).copied().collect();
        Site::beside(self.folder.path(), &data, &flags)
    }

    fn pull(&self, slug: &str, into: &Path) -> Pulled {
        self.releases.pull(&Slug::parse(slug).unwrap(), into, false, &Silent).unwrap()
    }

    /// Changes the folder of a dataset; returns the generation.
    fn change(&self, slug: &str, change: impl FnOnce(&DataDirectory, &Slug)) -> i64 {
        let folder = tempfile::tempdir().unwrap();
        let pulled = self.pull(slug, folder.path());
        change(&pulled.data, &Slug::parse(slug).unwrap());
        self.releases.push(&pulled, now(), &Silent).unwrap().generation
    }

    fn publish(&self, slug: &str, version: &str, rows: i64) -> i64 {
        self.change(slug, |data, slug| publish(data, slug, version, rows))
    }

    /// Waits until as many servers serve a generation.
    #[track_caller]
    fn served_by(&self, servers: u64, generation: i64) {
        let waited = wait_for_servers(&self.database(), generation, Duration::from_secs(20)).unwrap();
        assert!(waited.lagging.is_empty() && waited.serving == servers, "{waited:?}");
    }
}

/// Two columns of numbers that fill some bytes for each row.
fn columns(rows: i64) -> Vec<Column> {
    let numbers =
        |factor: i64| ColumnValues::Integers((0..rows).map(|row| Some(row * factor % 1_000_003)).collect());
    vec![
        Column::new("id", ColumnKind::Integer, ColumnValues::Integers((0..rows).map(Some).collect())),
        Column::new("value", ColumnKind::Integer, numbers(7_919)),
    ]
}

fn publish(data: &DataDirectory, slug: &Slug, version: &str, rows: i64) {
    let manifest = format!("slug = \"{slug}\"\nkeep_versions = 2\n");
    publish_files_and(data, &manifest, version, &columns(rows), &[], Some(b"not looked into"));
}

/// The answer after the version was fetched; every one before says that it is being fetched.
#[track_caller]
fn fetched(site: &Site, slug: &str, key: &str, body: &str) -> Answer {
    let mut last = None;
    wait_until("the version is fetched", || {
        let answer = site.query(slug, key, body);
        if answer.status == 503 {
            assert_eq!(answer.refusal().2, "DATASET_AWAY");
            return false;
        }
        last = Some(answer);
        true
    });
    last.unwrap()
}

/// The identifiers of the rows of a page, and the cursor of the next one.
fn page(answer: &Answer) -> (Vec<i64>, Option<String>) {
    assert_eq!(answer.status, 200, "{}", answer.text());
    let json = answer.json();
    let ids = json["data"]["results"].as_array().unwrap().iter().map(|row| row["id"].as_i64().unwrap());
    (ids.collect(), json["data"]["nextCursor"].as_str().map(str::to_owned))
}

fn served(site: &Site, slug: &str, key: &str) -> Option<String> {
    site.query(slug, key, r#"{"limit": 1}"#).header("X-Dataset-Version").map(str::to_owned)
}

/// A key that every server knows.
fn key_for(sites: &[&Site]) -> String {
    let key = sites[0].paying_key(100_000);
    for site in sites {
        wait_until("the key is known", || site.query("none", &key, "{}").status == 404);
    }
    key
}

#[test]
#[ignore = "needs PostgreSQL and an object store: tests/cluster/object_stores.py"]
fn publications_reach_every_server_and_walks_go_on_at_any() {
    let cluster = Cluster::new();
    cluster.publish("numbers", "1.0.0", 1_000);
    let (a, b) = (cluster.server("a", &[]), cluster.server("b", &[]));
    let key = key_for(&[&a, &b]);
    cluster.served_by(2, cluster.change("numbers", |_, _| {}));
    let (mut seen, cursor) = page(&a.query("numbers", &key, r#"{"limit": 300}"#));
    let mut cursor = cursor.unwrap();
    cluster.served_by(2, cluster.publish("numbers", "1.1.0", 2_000));
    for site in [&a, &b] {
        assert_eq!(served(site, "numbers", &key).as_deref(), Some("1.1.0"));
    }
    for site in [&b, &a, &b] {
        let body = format!(r#"{{"limit": 300, "cursor": "{cursor}"}}"#);
        let answer = fetched(site, "numbers", &key, &body);
        assert_eq!(answer.header("X-Dataset-Version"), Some("1.0.0"));
        let (ids, next) = page(&answer);
        seen.extend(ids);
        cursor = next.unwrap_or_default();
    }
    assert_eq!((seen, cursor.as_str()), ((0..1_000).collect(), ""));
    let to = semver::Version::new(1, 0, 0);
    cluster
        .served_by(2, cluster.change("numbers", |data, slug| rollback(data, slug, &to, Rows::Away).unwrap()));
    for site in [&a, &b] {
        assert_eq!(served(site, "numbers", &key).as_deref(), Some("1.0.0"));
    }
    cluster.served_by(2, cluster.change("numbers", |data, slug| unpublish(data, slug).unwrap()));
    for site in [&a, &b] {
        assert_eq!(site.get("/api/v1/datasets/numbers").status, 404);
    }
}

#[test]
#[ignore = "needs PostgreSQL and an object store: tests/cluster/object_stores.py"]
fn looks_for_publications_at_once_when_asked() {
    let cluster = Cluster::new();
    let site = cluster.server("a", &["--prefetch", "none"]);
    for minor in 0..5 {
        cluster.publish("numbers", &format!("1.{minor}.0"), 10);
        site.running().app().catalog.refresh();
        assert!(site.serves("numbers", &format!("1.{minor}.0")));
    }
}

#[test]
#[ignore = "needs PostgreSQL and an object store: tests/cluster/object_stores.py"]
fn eviction_ends_no_walk_and_keeps_to_cache_size() {
    let cluster = Cluster::new();
    for name in ["one", "two", "three"] {
        cluster.publish(name, "1.0.0", 20_000);
    }
    cluster.publish("huge", "1.0.0", 200_000);
    let bytes = length(&cluster, "one");
    let most = (bytes * 5 / 2).to_string();
    let site = cluster.server("a", &["--prefetch", "none", "--cache-bytes", &most]);
    let key = key_for(&[&site]);
    assert_eq!(site.get("/api/v1/datasets").json()["data"]["total"], 4);
    let (mut seen, mut cursor) = page(&fetched(&site, "one", &key, r#"{"limit": 1000}"#));
    let mut others = ["two", "three"].iter().cycle();
    while let Some(next) = cursor {
        let body = format!(r#"{{"limit": 1000, "cursor": "{next}"}}"#);
        let (ids, next) = page(&site.query("one", &key, &body));
        seen.extend(ids);
        cursor = next;
        fetched(&site, others.next().unwrap(), &key, r#"{"limit": 1}"#);
        assert!(files(&cluster, "a") <= bytes * 5 / 2, "the cache is larger than it may be");
    }
    assert_eq!(seen, (0..20_000).collect::<Vec<i64>>());
    wait_until("it is known to be too large", || {
        let said = site.query("huge", &key, "{}");
        assert_eq!((said.status, said.refusal().2.as_str()), (503, "DATASET_AWAY"));
        said.text().contains("do not fit into the cache")
    });
    assert_eq!(site.query("one", &key, r#"{"limit": 1}"#).status, 200, "nothing goes for what can never fit");
}

#[test]
#[ignore = "needs PostgreSQL and an object store: tests/cluster/object_stores.py"]
fn starts_again_with_what_is_in_the_cache() {
    let cluster = Cluster::new();
    let generation = cluster.publish("numbers", "1.0.0", 1_000);
    let mut site = cluster.server("a", &[]);
    cluster.served_by(1, generation);
    assert!(site.stop());
    // What an interrupted fetch leaves.
    let versions = cluster.folder.path().join("a/cache/datasets/numbers/versions");
    std::fs::write(versions.join(".1.0.0.mcol.1-1.unfinished"), "half").unwrap();
    let site = cluster.server("a", &[]);
    assert!(!versions.join(".1.0.0.mcol.1-1.unfinished").exists());
    let key = key_for(&[&site]);
    assert_eq!(site.query("numbers", &key, "{}").status, 200);
    assert_eq!(site.running().app().catalog.verification().files(), 0, "nothing is read again");
    site.wait_for_metrics(&["mercato_cache_fetches_total{outcome=\"fetched\"} 0", "mercato_versions_away 0"]);
}

/// Changes some bytes in the middle of a file, as a disk does.
fn damage(path: &Path) {
    use std::os::unix::fs::{FileExt, PermissionsExt};
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o644)).unwrap();
    let file = std::fs::File::options().read(true).write(true).open(path).unwrap();
    let middle = file.metadata().unwrap().len() / 2;
    let mut bytes = [0; 64];
    file.read_exact_at(&mut bytes, middle).unwrap();
    file.write_all_at(&bytes.map(|byte| !byte), middle).unwrap();
}

#[test]
#[ignore = "needs PostgreSQL and an object store: tests/cluster/object_stores.py"]
fn fetches_damaged_files_again() {
    let cluster = Cluster::new();
    cluster.publish("numbers", "1.0.0", 1_000);
    cluster.publish("alone", "1.0.0", 20_000);
    cluster.publish("cut", "1.0.0", 20_000);
    let generation = cluster.publish("numbers", "1.1.0", 2_000);
    let site = cluster.server("a", &[]);
    cluster.served_by(1, generation);
    let key = key_for(&[&site]);
    let place = |slug: &str, file: &str| {
        cluster.folder.path().join("a/cache/datasets").join(slug).join("versions").join(file)
    };
    // A version with another one below it, and one that is alone; found by the verification.
    let catalog = &site.running().app().catalog;
    for (found, (slug, version)) in (1..).zip([("numbers", "1.1.0"), ("alone", "1.0.0")]) {
        let path = place(slug, &format!("{version}.mcol"));
        let whole = std::fs::read(&path).unwrap();
        damage(&path);
        wait_until("the damage is found", || catalog.verification().damaged() == found);
        wait_until("it is served again", || served(&site, slug, &key).as_deref() == Some(version));
        assert!(std::fs::read(&path).unwrap() == whole);
    }
    // Cut short under a reader.
    let path = place("cut", "1.0.0.mcol");
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    std::fs::File::options().write(true).open(&path).unwrap().set_len(5_000).unwrap();
    let body = r#"{"limit": 1000, "sortBy": "value"}"#;
    wait_until("it is whole again", || {
        site.query("cut", &key, body).status == 200 && path.metadata().is_ok_and(|now| now.len() > 5_000)
    });
    // A Parquet file, while its rows stay.
    let path = place("numbers", "1.1.0.parquet");
    let whole = std::fs::read(&path).unwrap();
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    std::fs::write(&path, b"damaged").unwrap();
    wait_until("the Parquet file is whole", || {
        assert_eq!(served(&site, "numbers", &key).as_deref(), Some("1.1.0"));
        std::fs::read(&path).unwrap() == whole
    });
}

#[test]
#[ignore = "needs PostgreSQL and an object store: tests/cluster/object_stores.py"]
fn serves_what_is_here_while_the_store_is_away() {
    let cluster = Cluster::new();
    let generation = cluster.publish("numbers", "1.0.0", 1_000);
    let mut site = cluster.server("a", &[]);
    cluster.served_by(1, generation);
    assert!(site.stop());
    cluster.publish("others", "1.0.0", 10);
    // Another prefix has none of the blobs.
    let elsewhere = Cluster { url: format!("{}/elsewhere", cluster.url), ..cluster };
    let site = elsewhere.server("a", &[]);
    let key = key_for(&[&site]);
    assert_eq!(site.query("numbers", &key, "{}").status, 200);
    let others = site.get("/api/v1/datasets/others");
    assert_eq!((others.status, others.refusal().2.as_str()), (503, "DATASET_AWAY"), "it is published");
    assert_eq!(site.get("/api/v1/datasets/nothing").status, 404);
    let waited = wait_for_servers(&elsewhere.database(), generation + 1, Duration::from_secs(1)).unwrap();
    assert_eq!((waited.serving, waited.lagging.len()), (0, 1), "it does not serve the whole generation");
    let lacking = || cluster_status(&elsewhere.database()).unwrap().servers[0].lacking;
    assert_eq!(lacking(), Some(1), "it serves all others");
    elsewhere.change("others", |data, slug| unpublish(data, slug).unwrap());
    wait_until("what is withdrawn is nothing to wait for", || {
        site.get("/api/v1/datasets/others").status == 404
    });
    wait_until("nothing is lacking", || lacking() == Some(0));
}

/// What the operator's `/readyz` says: its status, the store, the warnings.
fn readiness(site: &Site) -> (u16, serde_json::Value, Vec<serde_json::Value>) {
    let answer = exchange(site.admin_address(), &Ask::get("/readyz"));
    let data = answer.json()["data"].clone();
    let warnings = data["datasets"]["warnings"].as_array().cloned().unwrap_or_default();
    (answer.status, data["store"].clone(), warnings)
}

#[test]
#[ignore = "needs PostgreSQL and an object store: tests/cluster/object_stores.py"]
fn is_not_ready_while_the_store_gives_nothing_of_what_is_published() {
    let cluster = Cluster::new();
    cluster.publish("numbers", "1.0.0", 1_000);
    let nowhere = Cluster { url: "s3://nowhere-at-all/test".to_owned(), ..cluster };
    let site = nowhere.server("a", &[]);
    let public = site.get("/readyz");
    assert_eq!((public.status, &public.json()["data"]["status"]), (503, &"not ready".into()));
    let state = json!({"status": "failing", "cacheDisk": "serving", "missing": 1});
    assert_eq!(public.json()["data"]["store"], state);
    let (status, store, warnings) = readiness(&site);
    assert_eq!((status, store), (503, state));
    let [warning] = warnings.as_slice() else { panic!("{warnings:?}") };
    assert_eq!(warning["slug"], "numbers");
    assert!(warning["reason"].as_str().unwrap().contains("no such bucket"), "{warning}");
    site.wait_for_metrics(&["mercato_copy_faults{cause=\"store\"} 1"]);
    nowhere.change("numbers", |data, slug| unpublish(data, slug).unwrap());
    wait_until("nothing is missing", || site.get("/readyz").status == 200);
    assert_eq!(readiness(&site).1["status"], "serving");
}

#[test]
#[ignore = "needs PostgreSQL and an object store: tests/cluster/object_stores.py"]
fn tells_full_cache_disk_until_it_has_room() {
    let cluster = Cluster::new();
    cluster.publish("numbers", "1.0.0", 1_000);
    let site = cluster.server("a", &["--prefetch", "none"]);
    let key = key_for(&[&site]);
    assert_eq!(
        readiness(&site),
        (200, json!({"status": "serving", "cacheDisk": "serving", "missing": 0}), vec![])
    );
    // A folder in the place of a file fails as a full disk does.
    let taken = cluster.folder.path().join("a/cache/datasets/numbers/versions/.fetching-1.0.0.store");
    std::fs::create_dir(&taken).unwrap();
    assert_eq!(site.query("numbers", &key, "{}").refusal().2, "DATASET_AWAY");
    wait_until("it is told", || readiness(&site).1["cacheDisk"] == "failing");
    let (status, _, warnings) = readiness(&site);
    let [warning] = warnings.as_slice() else { panic!("{warnings:?}") };
    assert_eq!((status, &warning["slug"]), (200, &"numbers".into()), "it serves what is here");
    assert!(warning["reason"].as_str().unwrap().starts_with("version 1.0.0: "), "{warning}");
    assert!(!site.get("/readyz").text().contains("warnings"), "they name files");
    site.wait_for_metrics(&["mercato_copy_faults{cause=\"disk\"} 1"]);
    let refused = site.query("numbers", &key, "{}");
    assert!(refused.status == 503 && refused.header("Retry-After").is_some(), "{}", refused.text());
    std::fs::remove_dir(&taken).unwrap();
    fetched(&site, "numbers", &key, "{}");
    assert_eq!(readiness(&site).1["cacheDisk"], "serving");
    site.wait_for_metrics(&["mercato_copy_faults{cause=\"disk\"} 0"]);
}

#[test]
#[ignore = "needs PostgreSQL and an object store: tests/cluster/object_stores.py"]
fn refuses_publication_that_another_one_overtook() {
    let cluster = Cluster::new();
    cluster.publish("numbers", "1.0.0", 10);
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (one, other) = (cluster.pull("numbers", one.path()), cluster.pull("numbers", other.path()));
    for pulled in [&one, &other] {
        publish(&pulled.data, &Slug::parse("numbers").unwrap(), "1.1.0", 20);
    }
    cluster.releases.push(&one, now(), &Silent).unwrap();
    let refused = cluster.releases.push(&other, now(), &Silent);
    assert!(matches!(refused, Err(ReleaseError::Overtaken(slug)) if slug == "numbers"));
}

#[test]
#[ignore = "needs PostgreSQL and an object store: tests/cluster/object_stores.py"]
fn deletes_blobs_a_day_after_last_head_named_them() {
    let cluster = Cluster::new();
    cluster.publish("numbers", "1.0.0", 10);
    cluster.publish("same", "1.0.0", 10);
    let blobs = |slug: &str| -> Vec<ObjectName> {
        let folder = tempfile::tempdir().unwrap();
        let pulled = cluster.pull(slug, folder.path());
        pulled
            .head()
            .versions
            .values()
            .flat_map(VersionBlobs::blobs)
            .map(|blob| ObjectName::blob(&blob.sha256))
            .collect()
    };
    let first = blobs("numbers");
    for minor in 1..3 {
        cluster.publish("numbers", &format!("1.{minor}.0"), 100 * minor);
    }
    let is_there =
        |names: &[ObjectName]| names.iter().any(|name| cluster.store.length(name).unwrap().is_some());
    let mut connection = Connection::open(&cluster.database()).unwrap();
    let age = "UPDATE spare_blob SET at = at - interval '25 hours'";
    connection.run(age).unwrap();
    cluster.change("numbers", |_, _| {});
    assert!(is_there(&first), "another dataset has the same content");
    cluster.change("same", |data, slug| {
        for minor in 1..3 {
            publish(data, slug, &format!("1.{minor}.0"), 1_000 * minor);
        }
    });
    cluster.change("numbers", |_, _| {});
    assert!(is_there(&first), "a day has not passed");
    connection.run(age).unwrap();
    cluster.change("numbers", |_, _| {});
    let store = &first[0];
    assert_eq!(cluster.store.length(store).unwrap(), None);
    assert!(blobs("numbers").iter().chain(&blobs("same")).all(|name| is_there(std::slice::from_ref(name))));
}

/// Bytes of the files of the only version.
fn length(cluster: &Cluster, slug: &str) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    cluster.pull(slug, folder.path()).head().versions.values().map(VersionBlobs::bytes).sum()
}

/// Bytes of all store files and Parquet files in the cache of a server.
fn files(cluster: &Cluster, name: &str) -> u64 {
    let mut sum = 0;
    for dataset in std::fs::read_dir(cluster.folder.path().join(name).join("cache/datasets")).unwrap() {
        let Ok(versions) = std::fs::read_dir(dataset.unwrap().path().join("versions")) else { continue };
        for file in versions {
            let file = file.unwrap();
            let name = file.file_name().into_string().unwrap();
            if name.ends_with(".mcol") || name.ends_with(".parquet") {
                sum += file.metadata().map_or(0, |metadata| metadata.len());
            }
        }
    }
    sum
}
