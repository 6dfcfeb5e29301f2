//! The client of object stores beside a real server. The tests need `MERCATO_TEST_S3`, the address of a bucket as
//! `s3://bucket/prefix`, and the variables of AWS's tools; `tests/cluster/object_stores.py` starts servers and sets them.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};

use mercato_catalog::objects::{Digest, ObjectError, ObjectName, ObjectStore, StoreAddress};

/// The address of a bucket for tests.
const ADDRESS_VARIABLE: &str = "MERCATO_TEST_S3";
/// Set where the server of the tests compares signatures.
const CHECKS_KEYS_VARIABLE: &str = "MERCATO_TEST_S3_CHECKS_KEYS";
/// Three parts of an upload and five of a fetch.
const LONG: usize = 40_000_003;

fn store() -> ObjectStore {
    let url = std::env::var(ADDRESS_VARIABLE).unwrap();
    ObjectStore::open(StoreAddress::parse(&url, |name| std::env::var(name).ok()).unwrap())
}

fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64 ^ seed;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..length).map(|_| next()).collect()
}

fn name(text: &str) -> ObjectName {
    format!("{text}-{}", uuid::Uuid::new_v4()).parse().unwrap()
}

#[test]
#[ignore = "needs an object store: tests/cluster/object_stores.py"]
fn brings_files_of_any_length_to_a_store_and_back() {
    let store = store();
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    for length in [0, 1, 1_000, 16 * 1024 * 1024, 16 * 1024 * 1024 + 1, LONG] {
        let bytes = noise(length, length as u64);
        fs::write(&from, &bytes).unwrap();
        let (digest, length) = Digest::of_file(&from).unwrap();
        let blob = ObjectName::blob(&digest);
        let (sent, got) = (AtomicU64::new(0), AtomicU64::new(0));
        store.put_file(&blob, &from, &|bytes| _ = sent.fetch_add(bytes, Ordering::Relaxed)).unwrap();
        assert_eq!(store.length(&blob).unwrap(), Some(length));
        let hear = |bytes| _ = got.fetch_add(bytes, Ordering::Relaxed);
        store.verify(&blob, &digest, length, &hear).unwrap();
        store.fetch_file(&blob, &digest, length, &to, &hear).unwrap();
        assert!(fs::read(&to).unwrap() == bytes);
        assert_eq!((sent.into_inner(), got.into_inner()), (length, 2 * length));
        // The same again does no harm.
        store.put_file(&blob, &from, &|_| ()).unwrap();
        store.verify(&blob, &digest, length, &|_| ()).unwrap();
        store.delete(&blob).unwrap();
        assert_eq!(store.length(&blob).unwrap(), None);
        let gone = store.fetch_file(&blob, &digest, length.max(1), &to, &|_| ());
        assert!(matches!(gone, Err(ObjectError::Missing { .. })), "{gone:?}");
        assert!(matches!(store.verify(&blob, &digest, length, &|_| ()), Err(ObjectError::Missing { .. })));
        store.delete(&blob).unwrap();
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "no unfinished file remains");
}

#[test]
#[ignore = "needs an object store: tests/cluster/object_stores.py"]
fn reads_ranges_of_an_object() {
    let store = store();
    let (object, bytes) = (name("ranges/a_b.c"), noise(100_000, 7));
    store.put_bytes(&object, &bytes).unwrap();
    for (start, end) in [(0, 1), (0, 100_000), (99_999, 100_000), (40_000, 70_000), (5, 5)] {
        assert_eq!(store.read(&object, start as u64..end as u64).unwrap(), &bytes[start..end]);
    }
    for (start, end) in [(100_000, 100_001), (99_999, 100_001)] {
        assert!(store.read(&object, start..end).is_err(), "{start}..{end}");
    }
    store.delete(&object).unwrap();
}

#[test]
#[ignore = "needs an object store: tests/cluster/object_stores.py"]
fn finds_object_with_other_bytes_damaged() {
    let store = store();
    let (object, bytes) = (name("damaged"), noise(LONG, 8));
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    let mut other = bytes.clone();
    other[LONG / 2] ^= 1;
    for kept in [other, bytes[1..].to_vec()] {
        fs::write(&from, kept).unwrap();
        store.put_file(&object, &from, &|_| ()).unwrap();
        let damaged = store.fetch_file(&object, &Digest::of(&bytes), LONG as u64, &to, &|_| ());
        assert!(matches!(damaged, Err(ObjectError::Damaged { .. })), "{damaged:?}");
        let damaged = store.verify(&object, &Digest::of(&bytes), LONG as u64, &|_| ());
        assert!(matches!(damaged, Err(ObjectError::Damaged { .. })), "{damaged:?}");
        assert!(!to.exists());
    }
    store.delete(&object).unwrap();
}

#[test]
#[ignore = "needs an object store: tests/cluster/object_stores.py"]
fn overwrites_blob_while_others_read_it() {
    let store = store();
    let bytes = noise(20_000_000, 9);
    let folder = tempfile::tempdir().unwrap();
    let from = folder.path().join("from");
    fs::write(&from, &bytes).unwrap();
    let (digest, length) = Digest::of_file(&from).unwrap();
    let blob = ObjectName::blob(&digest);
    store.put_file(&blob, &from, &|_| ()).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| store.put_file(&blob, &from, &|_| ()).unwrap());
        }
        for number in 0..3 {
            let to = folder.path().join(format!("to-{number}"));
            let (store, blob, digest) = (&store, &blob, &digest);
            scope.spawn(move || store.fetch_file(blob, digest, length, &to, &|_| ()).unwrap());
        }
    });
    store.delete(&blob).unwrap();
}

#[test]
#[ignore = "needs an object store: tests/cluster/object_stores.py"]
fn tells_wrong_key_and_wrong_bucket() {
    let store = store();
    let url = std::env::var(ADDRESS_VARIABLE).unwrap();
    let with = |url: &str, secret: &'static str| {
        let variable = |name: &str| {
            if name == "AWS_SECRET_ACCESS_KEY" { Some(secret.to_owned()) } else { std::env::var(name).ok() }
        };
        ObjectStore::open(StoreAddress::parse(url, variable).unwrap())
    };
    let object = name("o");
    store.put_bytes(&object, b"abc").unwrap();
    if std::env::var(CHECKS_KEYS_VARIABLE).is_ok() {
        let stranger = with(&url, "wrong");
        assert!(matches!(stranger.read(&object, 0..3), Err(ObjectError::Denied { .. })));
        assert!(matches!(stranger.put_bytes(&object, b"x"), Err(ObjectError::Denied { .. })));
        assert!(matches!(stranger.delete(&object), Err(ObjectError::Denied { .. })));
        assert_eq!(store.read(&object, 0..3).unwrap(), b"abc");
    }
    let secret = std::env::var("AWS_SECRET_ACCESS_KEY").unwrap();
    let elsewhere = with("s3://nowhere-at-all", secret.leak());
    let folder = tempfile::tempdir().unwrap();
    let long = folder.path().join("long");
    fs::write(&long, noise(40_000_000, 3)).unwrap();
    let outcomes = [
        elsewhere.put_bytes(&object, b"x"),
        elsewhere.put_bytes(&object, &noise(16_000_000, 3)),
        elsewhere.put_file(&object, &long, &|_| ()),
        elsewhere.length(&object).map(drop),
    ];
    for refused in outcomes {
        assert!(matches!(refused, Err(ObjectError::NoBucket { .. })), "{refused:?}");
    }
    store.delete(&object).unwrap();
}
