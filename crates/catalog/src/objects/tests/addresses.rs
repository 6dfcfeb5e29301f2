//! Addresses out of URLs, variables and files.

use std::collections::HashMap;

use super::super::{StoreAddress, StoreAddressError};

const KEYS: [(&str, &str); 2] = [("AWS_ACCESS_KEY_ID", "AKIAKEY"), ("AWS_SECRET_ACCESS_KEY", "s3cret/x+")];

fn parse(url: &str, variables: &[(&str, &str)]) -> Result<StoreAddress, StoreAddressError> {
    let variables: HashMap<&str, &str> = variables.iter().copied().collect();
    StoreAddress::parse(url, |name| variables.get(name).map(|value| (*value).to_owned()))
}

fn with_keys(url: &str, variables: &[(&str, &str)]) -> Result<StoreAddress, StoreAddressError> {
    parse(url, &[&KEYS, variables].concat())
}

fn base(address: &StoreAddress) -> &str {
    address.bucket.base_url().as_str()
}

#[test]
fn finds_bucket_in_host_or_path() {
    let address = with_keys("s3://data/a/b/", &[]).unwrap();
    assert_eq!(base(&address), "https://data.s3.us-east-1.amazonaws.com/");
    assert_eq!((address.prefix.as_str(), address.bucket.region()), ("a/b", "us-east-1"));
    let address = with_keys("s3://data", &[("AWS_DEFAULT_REGION", "eu-south-1")]).unwrap();
    assert_eq!((base(&address), address.prefix.as_str()), ("https://data.s3.eu-south-1.amazonaws.com/", ""));
    let address = with_keys("s3://da.ta", &[("AWS_REGION", "eu-1"), ("AWS_DEFAULT_REGION", "x")]).unwrap();
    assert_eq!(base(&address), "https://s3.eu-1.amazonaws.com/da.ta/");
    let endpoints = [("AWS_ENDPOINT_URL_S3", "http://minio:9000"), ("AWS_ENDPOINT_URL", "http://other")];
    let address = with_keys("s3://data/p", &endpoints).unwrap();
    assert_eq!(base(&address), "http://minio:9000/data/");
    let address = with_keys("s3://data/p", &[("AWS_ENDPOINT_URL_S3", " "), endpoints[1]]).unwrap();
    assert_eq!(base(&address), "http://other/data/");
}

#[test]
fn refuses_other_forms() {
    let long = format!("s3://data/{}", "x".repeat(257));
    for bad in [
        "",
        "data",
        "S3://data",
        "https://data",
        "s3://",
        "s3://ab",
        "s3://Data",
        "s3://-data",
        "s3://data.",
        "s3://da_ta",
        "s3://key:secret@data",
        "s3://data//a",
        "s3://data/a//b",
        "s3://data/../b",
        "s3://data/.",
        "s3://data/a b",
        "s3://data/a?b",
        "s3://data/a%2fb",
        "s3://dätä",
        &long,
    ] {
        assert!(matches!(with_keys(bad, &[]), Err(StoreAddressError::Form(_))), "{bad}");
    }
    for bad in [
        "minio:9000",
        "ftp://minio",
        "http://",
        "http://user@minio",
        "http://:pass@minio",
        "http://minio?a=b",
        "http://minio#a",
    ] {
        let refused = with_keys("s3://data", &[("AWS_ENDPOINT_URL", bad)]);
        assert!(matches!(refused, Err(StoreAddressError::Endpoint { .. })), "{bad}");
    }
    for bad in ["eu.evil.test/", "eu south", "eu/../x"] {
        assert!(
            matches!(with_keys("s3://data", &[("AWS_REGION", bad)]), Err(StoreAddressError::Value(_))),
            "{bad}"
        );
    }
}

#[test]
fn wants_both_keys() {
    assert!(matches!(parse("s3://data", &[]), Err(StoreAddressError::NoCredentials)));
    assert!(matches!(
        parse("s3://data", &KEYS[..1]),
        Err(StoreAddressError::Incomplete("AWS_SECRET_ACCESS_KEY"))
    ));
    assert!(matches!(
        parse("s3://data", &KEYS[1..]),
        Err(StoreAddressError::Incomplete("AWS_ACCESS_KEY_ID"))
    ));
    let address = with_keys("s3://data", &[("AWS_SESSION_TOKEN", "t0ken")]).unwrap();
    assert_eq!((address.credentials.key(), address.credentials.token()), ("AKIAKEY", Some("t0ken")));
    assert!(matches!(
        with_keys("s3://data", &[("AWS_SESSION_TOKEN", "a b")]),
        Err(StoreAddressError::Value(_))
    ));
}

#[test]
fn shows_no_secret() {
    let address = with_keys("s3://data/p", &[("AWS_SESSION_TOKEN", "t0ken")]).unwrap();
    assert_eq!(format!("{address}"), "s3://data/p at https://s3.us-east-1.amazonaws.com/");
    let store = super::super::ObjectStore::open(address.clone());
    for shown in [format!("{address:?}"), format!("{store:?}")] {
        assert!(!shown.contains("s3cret") && !shown.contains("t0ken"), "{shown}");
    }
    let wrong = with_keys("s3://data", &[("AWS_ENDPOINT_URL", "http://me:s3cret@minio")]).unwrap_err();
    assert!(!wrong.to_string().contains("s3cret"), "{wrong}");
    let wrong = parse("s3://data", &[KEYS[0], ("AWS_SECRET_ACCESS_KEY", "s3cret\n")]).unwrap_err();
    assert!(!wrong.to_string().contains("s3cret"), "{wrong}");
}

#[test]
fn reads_profiles_of_files() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join(".aws");
    std::fs::create_dir(&folder).unwrap();
    let write = |file: &str, text: &str| std::fs::write(folder.join(file), text).unwrap();
    write(
        "credentials",
        "# mine\n[default]\naws_access_key_id = K1\naws_secret_access_key=S1=\n[shop]\nAWS_ACCESS_KEY_ID=K2\naws_secret_access_key = S2\naws_session_token = T2\n",
    );
    write(
        "config",
        "[default]\nregion = eu-1\ns3 =\n  region = nested\n[profile shop]\nregion=eu-2\nendpoint_url = http://minio:9000\naws_access_key_id = other\n",
    );
    let home = home.path().to_str().unwrap();
    let address = parse("s3://data", &[("HOME", home)]).unwrap();
    let seen = (address.credentials.key(), address.credentials.secret(), address.bucket.region());
    assert_eq!(seen, ("K1", "S1=", "eu-1"));
    let address = parse("s3://data", &[("HOME", home), ("AWS_PROFILE", "shop")]).unwrap();
    let seen = (address.credentials.key(), address.credentials.token(), base(&address));
    assert_eq!(seen, ("K2", Some("T2"), "http://minio:9000/data/"));
    let address = with_keys("s3://data", &[("HOME", home), ("AWS_PROFILE", "shop")]).unwrap();
    assert_eq!((address.credentials.key(), address.credentials.token()), ("AKIAKEY", None));
    let unknown = parse("s3://data", &[("HOME", home), ("AWS_PROFILE", "none")]);
    assert!(matches!(unknown, Err(StoreAddressError::NoProfile(name)) if name == "none"));
    let missing = with_keys("s3://data", &[("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")]);
    assert!(matches!(missing, Err(StoreAddressError::File { .. })));
    assert!(
        parse("s3://data", &[("HOME", "/nowhere")]).is_err()
            && with_keys("s3://data", &[("HOME", "/nowhere")]).is_ok()
    );
}
