//! Keys that change while the store is in use.

use std::path::Path;

use super::super::{ObjectError, ObjectStore, StoreAddress};
use super::double::{Answer, Asked, Double};
use super::name;

/// A double that takes the keys whose name stands behind `keys`, and says this of others.
fn double(good: &'static str, status: u16, code: &'static str) -> Double {
    let body = format!("<Error><Code>{code}</Code></Error>");
    Double::that(move |asked, _| {
        let is_good = key_of(asked).starts_with(good);
        // An answer to HEAD has no body.
        let body = if asked.method == "HEAD" { Vec::new() } else { body.clone().into_bytes() };
        if is_good { Answer::Well } else { Answer::This(status, "", body) }
    })
}

fn key_of(asked: &Asked) -> &str {
    asked.query.get("X-Amz-Credential").map_or("", String::as_str)
}

fn write_keys(file: &Path, key: &str) {
    let text = format!("[default]\naws_access_key_id = {key}\naws_secret_access_key = s3cret\n");
    std::fs::write(file, text).unwrap();
}

fn store(double: &Double, file: &Path) -> ObjectStore {
    let (endpoint, file) = (format!("http://{}", double.address), file.display().to_string());
    let variable = move |name: &str| match name {
        "AWS_ENDPOINT_URL" => Some(endpoint.clone()),
        "AWS_SHARED_CREDENTIALS_FILE" => Some(file.clone()),
        _ => None,
    };
    let address = StoreAddress::parse("s3://bucket/pre/fix", &variable).unwrap();
    ObjectStore::open(address.with_changing_keys(variable))
}

#[test]
fn looks_keys_up_again_when_store_does_not_take_them() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("credentials");
    for (status, code) in [
        (403, "InvalidAccessKeyId"),
        (403, "SignatureDoesNotMatch"),
        (403, "ExpiredToken"),
        (400, "ExpiredToken"),
        (400, "InvalidToken"),
    ] {
        let double = double("new", status, code);
        double.keep("one", b"bytes");
        write_keys(&file, "old");
        let store = store(&double, &file);
        write_keys(&file, "new");
        assert_eq!(store.read(&name("one"), 0..5).unwrap(), b"bytes", "{status} {code}");
        assert_eq!(double.asked().len(), 2);
        assert_eq!(store.length(&name("one")).unwrap(), Some(5));
        assert_eq!(double.asked().len(), 3, "the new keys stay");
    }
    let double = double("new", 400, "");
    double.keep("one", b"bytes");
    write_keys(&file, "old");
    let store = store(&double, &file);
    write_keys(&file, "new");
    assert_eq!(store.length(&name("one")).unwrap(), Some(5), "nothing tells why HEAD is refused");
}

#[test]
fn asks_once_with_keys_that_are_denied_for_good() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("credentials");
    write_keys(&file, "old");
    let double = double("new", 403, "AccessDenied");
    let store = store(&double, &file);
    let denied = |store: &ObjectStore| {
        assert!(matches!(store.read(&name("one"), 0..5), Err(ObjectError::Denied { .. })));
    };
    denied(&store);
    assert_eq!(double.asked().len(), 1, "the same keys again would do nothing");
    write_keys(&file, "new");
    denied(&store);
    assert_eq!(double.asked().len(), 2, "the file was looked at a moment ago");
}

#[test]
fn keeps_keys_while_file_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("credentials");
    write_keys(&file, "old");
    let double = double("new", 403, "InvalidAccessKeyId");
    let store = store(&double, &file);
    for text in [None, Some("[default]\naws_access_key_id = new\n")] {
        drop(std::fs::remove_file(&file));
        text.iter().for_each(|text| std::fs::write(&file, text).unwrap());
        let denied = store.read(&name("one"), 0..5).unwrap_err();
        assert!(matches!(denied, ObjectError::Denied { code, .. } if code == "InvalidAccessKeyId"));
    }
}
