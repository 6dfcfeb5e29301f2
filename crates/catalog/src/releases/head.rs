//! The head of a dataset: its texts, and the blobs of its versions.
//!
//! It is checked when it is written and again when it is read. Does not depend on tables, objects or folders.

use std::collections::{BTreeMap, BTreeSet};

use mercato_format::outline::{OUTLINE_BYTES_MAX, STORE_FILE_BYTES_MAX};
use semver::Version;
use serde::{Deserialize, Serialize};

use crate::copy::{TEXT_FILES, UNPUBLISHED_FILE};
use crate::objects::Digest;
use crate::publish::RETAINED_VERSION_COUNT_MAX;

/// Bytes of a head at most; its texts are longer as JSON.
pub(super) const HEAD_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The form of heads that this program reads and writes.
const FORMAT: u32 = 1;

/// A blob in the object store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Blob {
    /// Its SHA-256, which is its name.
    pub sha256: Digest,
    pub bytes: u64,
}

/// The blobs of a version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VersionBlobs {
    pub store: Blob,
    pub outline: Blob,
    /// Its rows as Parquet, if they were published so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parquet: Option<Blob>,
}

impl VersionBlobs {
    pub fn blobs(&self) -> impl Iterator<Item = &Blob> {
        [&self.store, &self.outline].into_iter().chain(&self.parquet)
    }

    /// Bytes of the files that are fetched for its rows.
    pub fn bytes(&self) -> u64 {
        self.store.bytes.saturating_add(self.parquet.as_ref().map_or(0, |parquet| parquet.bytes))
    }
}

/// The folder of a dataset.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Head {
    /// Texts and marks, by the name of the file.
    pub texts: BTreeMap<&'static str, String>,
    pub versions: BTreeMap<Version, VersionBlobs>,
}

/// Why bytes are no head.
#[derive(Debug, thiserror::Error)]
pub enum HeadError {
    /// They are too many.
    #[error("{0} bytes, at most {HEAD_BYTES_MAX} are possible")]
    TooLong(usize),
    /// They are not in the form of a head.
    #[error("{0}")]
    Form(String),
    /// A newer program wrote it.
    #[error(
        "it has format {0}, this program knows {FORMAT}; use the program that published it, or a newer one"
    )]
    Format(u32),
    /// A text has a name that no folder has, or is too long.
    #[error("the text `{name}` has {bytes} bytes, at most {most} are possible")]
    Text {
        /// Name of the file.
        name: String,
        bytes: usize,
        /// The most, 0 for a name that no folder has.
        most: u64,
    },
    /// A dataset keeps no such number of versions.
    #[error("{0} versions, at most {RETAINED_VERSION_COUNT_MAX} are kept")]
    Versions(usize),
    /// A version is not as a version should be.
    #[error("version {version}: {fault}")]
    Version {
        version: String,
        /// What is wrong.
        fault: &'static str,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    format: u32,
    texts: BTreeMap<String, String>,
    versions: BTreeMap<String, VersionBlobs>,
}

#[derive(Deserialize)]
struct Form {
    format: u32,
}

impl Head {
    /// Whether servers show the dataset.
    pub(super) fn is_published(&self) -> bool {
        !self.versions.is_empty() && !self.texts.contains_key(UNPUBLISHED_FILE)
    }

    /// The bytes of the table.
    pub fn encode(&self) -> Result<Vec<u8>, HeadError> {
        self.check()?;
        let texts = self.texts.iter().map(|(name, text)| ((*name).to_owned(), text.clone())).collect();
        let versions =
            self.versions.iter().map(|(version, blobs)| (version.to_string(), blobs.clone())).collect();
        let written = Written { format: FORMAT, texts, versions };
        let bytes = serde_json::to_vec(&written).map_err(|error| HeadError::Form(error.to_string()))?;
        if bytes.len() > HEAD_BYTES_MAX {
            return Err(HeadError::TooLong(bytes.len()));
        }
        Ok(bytes)
    }

    /// Reads bytes of the table.
    pub fn decode(bytes: &[u8]) -> Result<Head, HeadError> {
        if bytes.len() > HEAD_BYTES_MAX {
            return Err(HeadError::TooLong(bytes.len()));
        }
        let form = |error: serde_json::Error| HeadError::Form(error.to_string());
        let Form { format } = serde_json::from_slice(bytes).map_err(form)?;
        if format != FORMAT {
            return Err(HeadError::Format(format));
        }
        let written: Written = serde_json::from_slice(bytes).map_err(form)?;
        let mut head = Head::default();
        for (name, text) in written.texts {
            let known = TEXT_FILES.iter().find(|(known, _)| *known == name);
            let bytes = text.len();
            let (name, _) = known.ok_or(HeadError::Text { name, bytes, most: 0 })?;
            head.texts.insert(name, text);
        }
        for (text, blobs) in written.versions {
            let version = Version::parse(&text).ok().filter(|version| version.to_string() == text);
            let version = version.ok_or(HeadError::Version { version: text, fault: "not a version" })?;
            head.versions.insert(version, blobs);
        }
        head.check()?;
        Ok(head)
    }

    /// The digests of all its blobs.
    pub fn digests(&self) -> BTreeSet<String> {
        let blobs = self.versions.values().flat_map(VersionBlobs::blobs);
        blobs.map(|blob| blob.sha256.to_string()).collect()
    }

    fn check(&self) -> Result<(), HeadError> {
        for (name, text) in &self.texts {
            let most = TEXT_FILES.iter().find(|(known, _)| known == name).map_or(0, |(_, most)| *most);
            if text.len() as u64 > most {
                return Err(HeadError::Text { name: (*name).to_owned(), bytes: text.len(), most });
            }
        }
        if self.versions.len() > RETAINED_VERSION_COUNT_MAX {
            return Err(HeadError::Versions(self.versions.len()));
        }
        for (version, blobs) in &self.versions {
            let fault = match blobs {
                VersionBlobs { outline, .. } if outline.bytes > OUTLINE_BYTES_MAX as u64 => {
                    "its outline is too long"
                }
                blobs if blobs.bytes() > STORE_FILE_BYTES_MAX => "its files are too long",
                _ => continue,
            };
            return Err(HeadError::Version { version: version.to_string(), fault });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn blob(text: &str, bytes: u64) -> Blob {
        Blob { sha256: Digest::of(text.as_bytes()), bytes }
    }

    fn head() -> Head {
        let mut head = Head::default();
        head.texts.insert("dataset.toml", "slug = \"cities\"\n".to_owned());
        head.texts.insert("unpublished", String::new());
        for minor in 0..3 {
            let outline = blob("outline", 4_096);
            let parquet = (minor == 1).then(|| blob("parquet", 7));
            let blobs = VersionBlobs { store: blob(&minor.to_string(), 1 << 40), outline, parquet };
            head.versions.insert(Version::new(1, minor, 0), blobs);
        }
        head
    }

    #[test]
    fn round_trips() {
        let bytes = head().encode().unwrap();
        assert_eq!(Head::decode(&bytes).unwrap(), head());
        assert_eq!(head().digests().len(), 5);
    }

    #[test]
    fn refuses_hostile_heads() {
        let text = String::from_utf8(head().encode().unwrap()).unwrap();
        let digest = Digest::of(b"outline").to_string();
        for (what, from, to) in [
            ("format 2", "\"format\":1", "\"format\":2"),
            ("another file", "dataset.toml", "../../etc/passwd"),
            ("another field", "\"texts\":", "\"more\":1,\"texts\":"),
            ("version", "\"1.0.0\"", "\"../1.0.0\""),
            ("version in another form", "\"1.0.0\"", "\"01.0.0\""),
            ("digest", digest.as_str(), "../../blobs"),
            ("outline", "\"bytes\":4096", "\"bytes\":99999999999"),
            ("length", "\"bytes\":1099511627776", "\"bytes\":18446744073709551615"),
            ("negative length", "\"bytes\":7", "\"bytes\":-7"),
        ] {
            let hostile = text.replacen(from, to, 1);
            assert_ne!(hostile, text, "{what}");
            assert!(Head::decode(hostile.as_bytes()).is_err(), "{what}");
        }
    }

    #[test]
    fn refuses_too_much() {
        let mut long = head();
        long.texts.insert("current", "1".repeat(300));
        assert!(matches!(long.encode(), Err(HeadError::Text { bytes: 300, .. })));
        let mut many = head();
        for minor in 0..20 {
            many.versions.insert(Version::new(2, minor, 0), many.versions[&Version::new(1, 0, 0)].clone());
        }
        assert!(matches!(many.encode(), Err(HeadError::Versions(23))));
    }

    proptest! {
        #[test]
        fn bears_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200), at in any::<prop::sample::Index>()) {
            drop(Head::decode(&bytes));
            let mut changed = head().encode().unwrap();
            let place = at.index(changed.len());
            changed[place] = changed[place].wrapping_add(1);
            if let Ok(read) = Head::decode(&changed) {
                prop_assert!(read.encode().is_ok());
            }
        }
    }
}
