//! The name of an object below the prefix of a store. Does not depend on stores.

use std::fmt;
use std::str::FromStr;

use super::digest::Digest;

/// Longest name in bytes.
const NAME_BYTES_MAX: usize = 512;

/// A name: segments of `a-z`, `0-9`, `_`, `-` and `.`, with a slash between them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectName(String);

/// Why a text is no name of an object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected a name of an object: at most {NAME_BYTES_MAX} bytes of a-z, 0-9, `_`, `-`, `.` and `/`, no segment that \
     is empty, `.` or `..`"
)]
pub struct ObjectNameError;

impl ObjectName {
    /// The name of the object that holds the bytes with this digest.
    pub fn blob(digest: &Digest) -> ObjectName {
        ObjectName(format!("blobs/{digest}"))
    }

    /// The name as a text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ObjectName {
    type Err = ObjectNameError;

    fn from_str(text: &str) -> Result<ObjectName, ObjectNameError> {
        let letters = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'.' | b'/');
        if text.len() <= NAME_BYTES_MAX && text.bytes().all(letters) && has_plain_segments(text) {
            return Ok(ObjectName(text.to_owned()));
        }
        Err(ObjectNameError)
    }
}

/// Whether a URL keeps every segment as it is: dots are resolved, and empty ones are lost by some stores.
pub(super) fn has_plain_segments(path: &str) -> bool {
    path.split('/').all(|segment| !matches!(segment, "" | "." | ".."))
}

impl fmt::Display for ObjectName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_names_that_urls_keep() {
        for good in ["a", "blobs/0f", "a/b_c/d-e.f", "..a/b..", &"x".repeat(NAME_BYTES_MAX)] {
            assert_eq!(good.parse::<ObjectName>().unwrap().to_string(), good);
        }
        let long = "x".repeat(NAME_BYTES_MAX + 1);
        for bad in [
            "", "/a", "a/", "a//b", ".", "..", "a/../b", "a/./b", "A", "a b", "a%2e", "ä", "a?b", "a#b",
            &long,
        ] {
            assert_eq!(bad.parse::<ObjectName>(), Err(ObjectNameError), "{bad:?}");
        }
    }

    #[test]
    fn names_blob_after_its_digest() {
        let name = ObjectName::blob(&Digest::of(b""));
        assert_eq!(name.as_str(), "blobs/e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(name.as_str().parse::<ObjectName>().unwrap(), name);
    }
}
