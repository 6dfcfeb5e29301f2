//! Reading, fetching and verifying, beside stores that answer wrongly.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::super::{Digest, ObjectError, UNFINISHED};
use super::double::{Answer, Asked, Double};
use super::{ignore, name, noise, store_at};

/// Three parts and a bit.
const LONG: usize = 25_000_001;

fn fetch(double: &Double, bytes: &[u8], folder: &Path) -> Result<(), ObjectError> {
    let digest = Digest::of(bytes);
    double.store().fetch_file(&name("o"), &digest, bytes.len() as u64, &folder.join("to"), &ignore)
}

fn files(folder: &Path) -> Vec<String> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn fetches_and_verifies_object_of_several_parts() {
    let (double, bytes, folder) = (Double::well(), noise(LONG), tempfile::tempdir().unwrap());
    double.keep("o", &bytes);
    let (digest, heard) = (Digest::of(&bytes), AtomicU64::new(0));
    let hear = |bytes| _ = heard.fetch_add(bytes, Ordering::Relaxed);
    let to = folder.path().join("to");
    fs::write(&to, "old").unwrap();
    double.store().fetch_file(&name("o"), &digest, LONG as u64, &to, &hear).unwrap();
    assert_eq!((fs::read(&to).unwrap() == bytes, files(folder.path())), (true, vec!["to".to_owned()]));
    double.store().verify(&name("o"), &digest, LONG as u64, &hear).unwrap();
    assert_eq!(heard.into_inner(), 2 * LONG as u64);
    let read = double.store().read(&name("o"), 8_388_600..8_388_620).unwrap();
    assert_eq!(read, bytes[8_388_600..8_388_620]);
    assert_eq!(double.store().length(&name("o")).unwrap(), Some(LONG as u64));
}

#[test]
fn fetches_empty_object() {
    let (double, folder) = (Double::well(), tempfile::tempdir().unwrap());
    double.keep("o", b"");
    fetch(&double, b"", folder.path()).unwrap();
    assert_eq!(fs::read(folder.path().join("to")).unwrap(), b"");
    double.store().verify(&name("o"), &Digest::of(b""), 0, &ignore).unwrap();
    assert_eq!(double.store().read(&name("o"), 7..7).unwrap(), b"");
}

#[test]
fn keeps_nothing_of_other_bytes() {
    let (double, bytes, folder) = (Double::well(), noise(100), tempfile::tempdir().unwrap());
    let mut other = bytes.clone();
    other[50] ^= 1;
    for kept in [other, bytes[..99].to_vec(), [bytes.as_slice(), b"x"].concat(), Vec::new()] {
        double.keep("o", &kept);
        let refused = fetch(&double, &bytes, folder.path()).unwrap_err();
        assert!(matches!(refused, ObjectError::Damaged { .. }), "{} bytes: {refused}", kept.len());
        let refused = double.store().verify(&name("o"), &Digest::of(&bytes), 100, &ignore).unwrap_err();
        assert!(matches!(refused, ObjectError::Damaged { .. }), "{} bytes: {refused}", kept.len());
    }
    assert!(files(folder.path()).is_empty());
}

#[test]
fn tells_missing_object_from_missing_bucket_and_denial() {
    let (double, folder) = (Double::well(), tempfile::tempdir().unwrap());
    let missing = |result: Result<(), ObjectError>| matches!(result, Err(ObjectError::Missing { .. }));
    assert!(missing(fetch(&double, b"abc", folder.path())));
    assert!(missing(double.store().verify(&name("o"), &Digest::of(b""), 0, &ignore)));
    assert!(missing(double.store().read(&name("o"), 0..1).map(drop)));
    assert_eq!(double.store().length(&name("o")).unwrap(), None);
    let asked = double.asked().len();
    double.store().delete(&name("o")).unwrap();
    assert_eq!(double.asked().len(), asked + 1);
    let says = |status, code: &str| {
        let body = format!("<Error><Code>{code}</Code></Error>").into_bytes();
        Double::that(move |_, _| Answer::This(status, "", body.clone()))
    };
    let no_bucket = says(404, "NoSuchBucket").store().delete(&name("o")).unwrap_err();
    assert!(matches!(no_bucket, ObjectError::NoBucket { .. }), "{no_bucket}");
    let denied = says(403, "AccessDenied");
    assert!(
        matches!(denied.store().length(&name("o")), Err(ObjectError::Denied { code, .. }) if code == "AccessDenied" || code == "no code")
    );
    assert!(
        matches!(denied.store().read(&name("o"), 0..4), Err(ObjectError::Denied { code, .. }) if code == "AccessDenied")
    );
    assert_eq!(denied.asked().len(), 2, "a denial is not tried again");
}

#[test]
fn tries_again_while_store_is_away() {
    let bytes = noise(1_000);
    for trouble in [
        || Answer::This(500, "", Vec::new()),
        || Answer::This(503, "", b"<Error><Code>SlowDown</Code></Error>".to_vec()),
        || Answer::This(429, "", Vec::new()),
        || Answer::Raw(Vec::new()),
        || Answer::Raw(b"HTTP/1.1 2".to_vec()),
        || Answer::Raw(b"SSH-2.0-x\r\n".to_vec()),
        || Answer::Cut(999),
        || Answer::Cut(0),
        || Answer::Silent(Duration::from_secs(1)),
    ] as [fn() -> Answer; 9]
    {
        let double = Double::that(move |_, before| if before < 2 { trouble() } else { Answer::Well });
        double.keep("o", &bytes);
        assert_eq!(double.store().read(&name("o"), 0..1_000).unwrap(), bytes);
        let forever = Double::that(move |_, _| trouble());
        forever.keep("o", &bytes);
        let away = forever.store().read(&name("o"), 0..1_000).unwrap_err();
        assert!(away.is_passing(), "{away}");
        assert_eq!(forever.asked().len(), 3);
    }
}

#[test]
fn reports_away_where_nobody_listens() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = store_at(&format!("http://{closed}")).length(&name("o")).unwrap_err();
    assert!(error.is_passing() && !error.to_string().contains("Signature"), "{error}");
}

#[test]
fn refuses_wrong_ranges() {
    let some = |place: &'static str, body: &'static [u8]| {
        let double = Double::that(move |_, _| Answer::This(206, place, body.to_vec()));
        double.store().read(&name("o"), 4..8).unwrap_err()
    };
    assert!(matches!(some("Content-Range: bytes 0-3/20\r\n", b"abcd"), ObjectError::Refused { .. }));
    assert!(matches!(some("Content-Range: bytes 4-9/20\r\n", b"abcdef"), ObjectError::Refused { .. }));
    assert!(matches!(some("", b"abcd"), ObjectError::Refused { .. }));
    assert!(matches!(some("Content-Range: bytes 4-7/20\r\n", b"abcde"), ObjectError::Damaged { .. }));
    assert!(some("Content-Range: bytes 4-7/20\r\n", b"abc").is_passing());
    let whole = Double::that(|_, _| Answer::This(200, "", b"abcdefgh".to_vec()));
    assert!(matches!(whole.store().read(&name("o"), 4..8), Err(ObjectError::Refused { status: 200, .. })));
    assert_eq!(whole.store().read(&name("o"), 0..8).unwrap(), b"abcdefgh");
    assert!(matches!(whole.store().read(&name("o"), 0..4), Err(ObjectError::Damaged { .. })));
    let longer = Double::that(|_, _| Answer::This(206, "Content-Range: bytes 0-3/20\r\n", b"abcd".to_vec()));
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(fetch(&longer, b"abcd", folder.path()), Err(ObjectError::Damaged { .. })));
}

#[test]
fn reads_no_endless_answer() {
    let heads = [
        "HTTP/1.1 206 X\r\nContent-Range: bytes 0-9/10\r\nConnection: close\r\n\r\n",
        "HTTP/1.1 206 X\r\nContent-Range: bytes 0-9/10\r\nContent-Length: 99999999999\r\n\r\n",
        "HTTP/1.1 400 X\r\nConnection: close\r\n\r\n",
        "HTTP/1.1 200 X\r\nA: ",
        "",
    ];
    for head in heads {
        let double = Double::that(move |_, _| Answer::Endless(head));
        let began = Instant::now();
        let failed = double.store().read(&name("o"), 0..10).unwrap_err();
        assert!(began.elapsed() < Duration::from_secs(10), "{head:?}: {failed}");
    }
}

#[test]
fn follows_no_redirect() {
    let moved = Double::that(|asked: &Asked, _| {
        assert!(asked.path.starts_with("/bucket/"));
        Answer::This(
            307,
            "Location: http://127.0.0.1:1/elsewhere?X-Amz-Signature=1\r\n",
            b"<Code>TemporaryRedirect</Code>".to_vec(),
        )
    });
    let refused = moved.store().read(&name("o"), 0..4).unwrap_err();
    assert!(matches!(refused, ObjectError::Refused { status: 307, code, .. } if code == "TemporaryRedirect"));
}

#[test]
fn bounds_what_one_read_takes() {
    let double = Double::well();
    let most = super::super::WHOLE_BYTES_MAX;
    assert!(matches!(double.store().read(&name("o"), 5..most + 6), Err(ObjectError::TooLong { .. })));
    assert!(double.asked().is_empty());
}

#[test]
fn removes_unfinished_file_of_failed_fetch() {
    let bytes = noise(LONG);
    let double = Double::that(|asked: &Asked, _| {
        if asked.range.is_some_and(|(first, _)| first > 0) { Answer::Cut(1_000) } else { Answer::Well }
    });
    double.keep("o", &bytes);
    let folder = tempfile::tempdir().unwrap();
    assert!(fetch(&double, &bytes, folder.path()).unwrap_err().is_passing());
    assert!(files(folder.path()).is_empty());
    let nowhere = fetch(&double, &bytes, &folder.path().join("none")).unwrap_err();
    assert!(
        matches!(nowhere, ObjectError::Disk { path, .. } if path.to_str().unwrap().ends_with(UNFINISHED))
    );
}

#[test]
fn full_disk_is_known_before_anything_is_fetched() {
    let double = Double::well();
    let folder = tempfile::tempdir().unwrap();
    // Longer than any file system is.
    let length = 1 << 62;
    let refused =
        double.store().fetch_file(&name("o"), &Digest::of(b""), length, &folder.path().join("to"), &ignore);
    assert!(matches!(refused, Err(ObjectError::Disk { .. })), "{refused:?}");
    assert!(double.asked().is_empty() && files(folder.path()).is_empty());
}
