//! Putting bytes and files, beside stores that fail in between.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::super::upload::put_file;
use super::super::{ObjectError, ObjectStore, WHOLE_BYTES_MAX};
use super::double::{Answer, Asked, Double};
use super::{ignore, name, noise};

/// Bytes of a part here; a real store would want more.
const STEP: u64 = 10_000;

fn file_of(bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, bytes).unwrap();
    (folder, path)
}

/// Puts a file of so many bytes by parts.
fn put(double: &Double, length: usize) -> Result<(), ObjectError> {
    let (_folder, path) = file_of(&noise(length));
    let store: ObjectStore = double.store();
    put_file(&store.client, &name("o"), &path, STEP, &ignore)
}

fn is_part(asked: &Asked) -> bool {
    asked.query.contains_key("partNumber")
}

fn joins(asked: &Asked) -> bool {
    asked.method == "POST" && asked.query.contains_key("uploadId")
}

#[test]
fn puts_files_in_one_or_many_parts() {
    for length in [0, 1, STEP as usize, STEP as usize + 1, 125_000] {
        let (double, bytes) = (Double::well(), noise(length));
        let (_folder, path) = file_of(&bytes);
        let heard = AtomicU64::new(0);
        let hear = |bytes| _ = heard.fetch_add(bytes, Ordering::Relaxed);
        put_file(&double.store().client, &name("o"), &path, STEP, &hear).unwrap();
        assert_eq!(double.object("o").unwrap(), bytes);
        assert_eq!((heard.into_inner(), double.open_uploads()), (length as u64, 0));
        let parts = double.asked().iter().filter(|asked| is_part(asked)).count();
        assert_eq!(parts, if length > STEP as usize { length.div_ceil(STEP as usize) } else { 0 });
    }
    let (double, (_folder, path)) = (Double::well(), file_of(b"abc"));
    double.store().put_file(&name("p/q"), &path, &ignore).unwrap();
    assert_eq!(double.object("p/q").unwrap(), b"abc");
}

#[test]
fn puts_bytes_over_older_ones() {
    let double = Double::well();
    for bytes in [b"one".as_slice(), b"", b"three"] {
        double.store().put_bytes(&name("o"), bytes).unwrap();
        assert_eq!(double.object("o").unwrap(), bytes);
    }
    let long = vec![0; usize::try_from(WHOLE_BYTES_MAX).unwrap() + 1];
    assert!(matches!(double.store().put_bytes(&name("o"), &long), Err(ObjectError::TooLong { .. })));
}

#[test]
fn sends_part_again_from_its_beginning() {
    let failed = Arc::new(AtomicBool::new(false));
    let double = Double::that(move |asked, _| {
        let fails =
            is_part(asked) && asked.query["partNumber"] == "3" && !failed.swap(true, Ordering::SeqCst);
        if fails { Answer::This(500, "", Vec::new()) } else { Answer::Well }
    });
    put(&double, 45_000).unwrap();
    assert_eq!(double.object("o").unwrap(), noise(45_000));
}

/// A store that refuses a long body may close the connection before it was read.
#[test]
fn tells_missing_bucket_for_long_objects() {
    let no_bucket = || Answer::This(404, "", b"<Error><Code>NoSuchBucket</Code></Error>".to_vec());
    let cut = Double::that(move |asked, _| match asked.method.as_str() {
        "PUT" => Answer::Raw(Vec::new()),
        "HEAD" => Answer::This(404, "", Vec::new()),
        _ => no_bucket(),
    });
    let (_folder, path) = file_of(&noise(45_000));
    let outcomes = [
        cut.store().put_file(&name("o"), &path, &ignore),
        cut.store().put_bytes(&name("o"), b"abc"),
        put(&cut, 45_000),
        cut.store().length(&name("o")).map(drop),
    ];
    for outcome in outcomes {
        assert!(matches!(outcome, Err(ObjectError::NoBucket { .. })), "{outcome:?}");
    }
    let away =
        Double::that(|asked, _| if asked.method == "PUT" { Answer::Raw(Vec::new()) } else { Answer::Well });
    assert!(away.store().put_bytes(&name("o"), b"abc").unwrap_err().is_passing());
}

#[test]
fn aborts_upload_that_fails() {
    let refusals: [fn(&Asked) -> bool; 2] =
        [|asked| is_part(asked) && asked.query["partNumber"] == "2", joins];
    for refuses in refusals {
        let double = Double::that(move |asked, _| {
            let body = b"<Error><Code>EntityTooSmall</Code></Error>".to_vec();
            if refuses(asked) { Answer::This(400, "", body) } else { Answer::Well }
        });
        let refused = put(&double, 45_000).unwrap_err();
        assert!(
            matches!(refused, ObjectError::Refused { status: 400, code, .. } if code == "EntityTooSmall")
        );
        assert_eq!((double.open_uploads(), double.object("o")), (0, None));
    }
}

#[test]
fn notices_failure_in_body_of_success() {
    let says = |code: &'static str, most: usize| {
        let seen = AtomicU64::new(0);
        Double::that(move |asked, _| {
            let fails = joins(asked) && seen.fetch_add(1, Ordering::SeqCst) < most as u64;
            let body = format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code></Error>").into_bytes();
            if fails { Answer::This(200, "", body) } else { Answer::Well }
        })
    };
    let passing = says("InternalError", 2);
    put(&passing, 45_000).unwrap();
    assert_eq!(passing.object("o").unwrap(), noise(45_000));
    let for_good = says("InvalidPart", 99);
    assert!(
        matches!(put(&for_good, 45_000), Err(ObjectError::Refused { status: 200, code, .. }) if code == "InvalidPart")
    );
    assert_eq!((for_good.open_uploads(), for_good.object("o")), (0, None));
    let neither =
        Double::that(
            |asked, _| if joins(asked) { Answer::This(200, "", b"hm".to_vec()) } else { Answer::Well },
        );
    assert!(put(&neither, 45_000).unwrap_err().is_passing());
}

#[test]
fn counts_upload_as_complete_whose_answer_was_lost() {
    let lost = AtomicBool::new(false);
    let double = Double::that(move |asked, _| {
        if joins(asked) && !lost.swap(true, Ordering::SeqCst) { Answer::Lost } else { Answer::Well }
    });
    put(&double, 45_000).unwrap();
    assert_eq!(double.object("o").unwrap(), noise(45_000));
    // An upload that the store forgot is none that was complete.
    let forgets = Double::that(|asked, _| match joins(asked) {
        true => Answer::This(404, "", b"<Error><Code>NoSuchUpload</Code></Error>".to_vec()),
        false => Answer::Well,
    });
    assert!(matches!(put(&forgets, 45_000), Err(ObjectError::Refused { status: 404, .. })));
}

#[test]
fn refuses_store_without_upload_id_or_tag() {
    let no_id = Double::that(|asked, _| {
        if asked.method == "POST" {
            Answer::This(200, "", b"<UploadId></UploadId>".to_vec())
        } else {
            Answer::Well
        }
    });
    assert!(matches!(put(&no_id, 45_000), Err(ObjectError::Refused { .. })));
    let no_tag = Double::that(
        |asked, _| if is_part(asked) { Answer::This(200, "", Vec::new()) } else { Answer::Well },
    );
    assert!(matches!(put(&no_tag, 45_000), Err(ObjectError::Refused { .. })));
    assert_eq!(no_tag.open_uploads(), 0);
}

#[test]
fn tells_fault_of_file_from_fault_of_store() {
    let (double, (folder, path)) = (Double::well(), file_of(&noise(45_000)));
    let missing = double.store().put_file(&name("o"), &folder.path().join("none"), &ignore);
    assert!(matches!(missing, Err(ObjectError::Disk { .. })));
    // The file becomes shorter after the upload has begun.
    let shorter = path.clone();
    let cutting = Double::that(move |asked, _| {
        if asked.query.contains_key("uploads") {
            fs::File::options().write(true).open(&shorter).unwrap().set_len(15_000).unwrap();
        }
        Answer::Well
    });
    let failed = put_file(&cutting.store().client, &name("o"), &path, STEP, &ignore);
    assert!(matches!(failed, Err(ObjectError::Disk { .. })), "{failed:?}");
    assert_eq!((cutting.open_uploads(), cutting.object("o")), (0, None));
}
