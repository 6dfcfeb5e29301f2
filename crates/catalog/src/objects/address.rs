//! The address of a store: `s3://bucket/prefix`, and what the variables and files of AWS's tools say about endpoint, region
//! and keys.
//!
//! Never shows a secret. Reads the environment through its caller.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use rusty_s3::{Bucket, Credentials, UrlStyle};
use url::Url;

use super::name::has_plain_segments;
use super::profile::Profile;

const SCHEME: &str = "s3://";
const REGION: &str = "us-east-1";
/// Lengths of names of buckets, in bytes.
const BUCKET_BYTES: std::ops::RangeInclusive<usize> = 3..=63;
/// Longest prefix in bytes. With the longest name of an object it stays below the 1,024 that a key may have.
const PREFIX_BYTES_MAX: usize = 256;
/// Longest key, secret, token or region in bytes.
const VALUE_BYTES_MAX: usize = 8 * 1024;

/// A bucket, a prefix in it, where it is and the keys to it.
#[derive(Clone)]
pub struct StoreAddress {
    pub(super) bucket: Bucket,
    /// Empty, or without a slash at its ends.
    pub(super) prefix: String,
    pub(super) credentials: Credentials,
    /// Looks the credentials up again; nothing where they stay for ever.
    pub(super) look_up: Option<LookUp>,
    endpoint: Url,
}

pub(super) type LookUp = Arc<dyn Fn() -> Result<Credentials, StoreAddressError> + Send + Sync>;

/// Why there is no address. Repeats no value that may be a secret.
#[derive(Debug, thiserror::Error)]
pub enum StoreAddressError {
    /// The text is not of the right form.
    #[error("expected s3://bucket or s3://bucket/prefix, the keys not in it: {0}")]
    Form(&'static str),
    /// The endpoint is no address of a server.
    #[error("expected http://host:port or https://host:port in {from}, without user or query: {reason}")]
    Endpoint {
        /// Where it stands.
        from: String,
        /// What is wrong.
        reason: String,
    },
    /// A value is empty, too long or has letters that it cannot have.
    #[error("{0} is not of the right form")]
    Value(&'static str),
    /// One of the two keys is missing.
    #[error("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are needed together: {0} is missing")]
    Incomplete(&'static str),
    #[error(
        "no keys for the object store: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE for a profile of \
         ~/.aws/credentials that has both"
    )]
    NoCredentials,
    /// No file has the profile.
    #[error("AWS_PROFILE: no file has a profile {0:?}")]
    NoProfile(String),
    /// A file cannot be read.
    #[error("{}: {source} ({variable})", path.display())]
    File {
        /// The variable that names it.
        variable: &'static str,
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

impl StoreAddress {
    /// Whether a text is meant as the address of a store.
    pub fn is_one(text: &str) -> bool {
        text.starts_with(SCHEME)
    }

    /// The address that a URL names. `variable` looks up the variables of the environment, of which an empty one counts
    /// as not set: `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL`, `AWS_REGION`, `AWS_DEFAULT_REGION` (else us-east-1),
    /// `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`, and for the files `AWS_PROFILE`,
    /// `AWS_SHARED_CREDENTIALS_FILE`, `AWS_CONFIG_FILE`, `HOME`.
    ///
    /// The bucket is a segment of the path where an endpoint is given, and in front of the host else.
    pub fn parse(
        url: &str,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<StoreAddress, StoreAddressError> {
        let variable = not_empty(variable);
        let (bucket, prefix) = parse_url(url)?;
        let profile = Profile::read(&variable)?;
        let region = ["AWS_REGION", "AWS_DEFAULT_REGION"].into_iter().find_map(&variable);
        let region = region.or_else(|| profile.get("region")).unwrap_or_else(|| REGION.to_owned());
        let in_region = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        checked("the region", &region, in_region)?;
        let given = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]
            .into_iter()
            .find_map(|name| Some((name.to_owned(), variable(name)?)));
        let given =
            given.or_else(|| Some(("endpoint_url of the profile".to_owned(), profile.get("endpoint_url")?)));
        let (endpoint, style) = match given {
            Some((from, url)) => (parse_endpoint(from, &url)?, UrlStyle::Path),
            None => of_amazon(bucket, &region)?,
        };
        let credentials = credentials(&variable, &profile)?;
        let unusable = |_| StoreAddressError::Form("the bucket cannot be part of a host");
        let bucket = Bucket::new(endpoint.clone(), style, bucket.to_owned(), region).map_err(unusable)?;
        Ok(StoreAddress { bucket, prefix: prefix.to_owned(), credentials, look_up: None, endpoint })
    }

    /// The same address for a process that lives long: when the store does not take the keys any more, they are looked up again
    /// in the environment and in the files that `variable` names.
    #[must_use]
    pub fn with_changing_keys(
        self,
        variable: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) -> StoreAddress {
        let variable = not_empty(variable);
        let look_up = move || credentials(&variable, &Profile::read(&variable)?);
        StoreAddress { look_up: Some(Arc::new(look_up)), ..self }
    }
}

/// An empty variable counts as not set.
fn not_empty(variable: impl Fn(&str) -> Option<String>) -> impl Fn(&str) -> Option<String> {
    move |name| variable(name).filter(|value| !value.trim().is_empty())
}

/// Bucket and prefix.
fn parse_url(url: &str) -> Result<(&str, &str), StoreAddressError> {
    let rest = url.strip_prefix(SCHEME).ok_or(StoreAddressError::Form("it does not begin with s3://"))?;
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    let in_bucket = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.');
    let has_plain_ends = !bucket.starts_with(['-', '.']) && !bucket.ends_with(['-', '.']);
    if !BUCKET_BYTES.contains(&bucket.len()) || !bucket.bytes().all(in_bucket) || !has_plain_ends {
        return Err(StoreAddressError::Form("a bucket has 3 to 63 letters of a-z, 0-9, `-` and `.`"));
    }
    let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
    let in_prefix = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte);
    let is_plain = prefix.bytes().all(in_prefix) && has_plain_segments(prefix);
    if prefix.len() > PREFIX_BYTES_MAX || !(prefix.is_empty() || is_plain) {
        return Err(StoreAddressError::Form(
            "a prefix has at most 256 letters of A-Z, a-z, 0-9, `_`, `-`, `.` and `/`, and no segment that is empty, `.` or `..`",
        ));
    }
    Ok((bucket, prefix))
}

/// The endpoint of Amazon. Its certificates cover one label in front, so a bucket with a dot goes into the path.
fn of_amazon(bucket: &str, region: &str) -> Result<(Url, UrlStyle), StoreAddressError> {
    let endpoint = parse_endpoint("AWS_REGION".to_owned(), &format!("https://s3.{region}.amazonaws.com"))?;
    Ok((endpoint, if bucket.contains('.') { UrlStyle::Path } else { UrlStyle::VirtualHost }))
}

fn parse_endpoint(from: String, text: &str) -> Result<Url, StoreAddressError> {
    let reason = match Url::parse(text.trim()) {
        Err(error) => error.to_string(),
        Ok(url) if !matches!(url.scheme(), "http" | "https") => "another scheme".to_owned(),
        Ok(url) if url.host_str().is_none() => "no host".to_owned(),
        Ok(url) if !url.username().is_empty() || url.password().is_some() => "it has a user".to_owned(),
        Ok(url) if url.query().is_some() || url.fragment().is_some() => "it has a query".to_owned(),
        Ok(url) => return Ok(url),
    };
    Err(StoreAddressError::Endpoint { from, reason })
}

fn credentials(
    variable: &dyn Fn(&str) -> Option<String>,
    profile: &Profile,
) -> Result<Credentials, StoreAddressError> {
    let names = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"];
    let [key, secret, token] = match names.map(variable) {
        [None, None, _] => names.map(|name| profile.get(&name.to_ascii_lowercase())),
        given => given,
    };
    let (key, secret) = match (key, secret) {
        (Some(key), Some(secret)) => (key, secret),
        (Some(_), None) => return Err(StoreAddressError::Incomplete("AWS_SECRET_ACCESS_KEY")),
        (None, Some(_)) => return Err(StoreAddressError::Incomplete("AWS_ACCESS_KEY_ID")),
        (None, None) => return Err(StoreAddressError::NoCredentials),
    };
    let is_graphic = |byte: u8| byte.is_ascii_graphic();
    checked("AWS_ACCESS_KEY_ID", &key, is_graphic)?;
    checked("AWS_SECRET_ACCESS_KEY", &secret, is_graphic)?;
    let Some(token) = token else { return Ok(Credentials::new(key, secret)) };
    checked("AWS_SESSION_TOKEN", &token, is_graphic)?;
    Ok(Credentials::new_with_token(key, secret, token))
}

fn checked(what: &'static str, value: &str, may: impl Fn(u8) -> bool) -> Result<(), StoreAddressError> {
    let is_good = (1..=VALUE_BYTES_MAX).contains(&value.len()) && value.bytes().all(may);
    if is_good { Ok(()) } else { Err(StoreAddressError::Value(what)) }
}

impl fmt::Debug for StoreAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

/// Bucket, prefix and endpoint: what an operator recognises it by.
impl fmt::Display for StoreAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{SCHEME}{}", self.bucket.name())?;
        if !self.prefix.is_empty() {
            write!(out, "/{}", self.prefix)?;
        }
        write!(out, " at {}", self.endpoint)
    }
}
