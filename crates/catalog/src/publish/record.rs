//! The publication record of a dataset, `publications.json`, kept beside its store files.
//!
//! A copy of the folder keeps these facts even if file times change. If a text was edited by hand, its hash differs and
//! its file time counts instead. Does not depend on Parquet or responses.

use std::collections::BTreeMap;

use mercato_format::Fingerprint;
use mercato_format::checksum::fingerprint;
use semver::Version;
use serde::{Deserialize, Serialize};

use crate::error::CatalogError;
use crate::files::data_directory::{DatasetFolder, RECORD_FILE};
use crate::files::file_identity::FileIdentity;
use crate::files::parquet_file::ParquetFact;
use crate::files::text_file;
use mercato_base::clock::Moment;

/// Size limit of a record.
pub const RECORD_SIZE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Conversion choices of a version, reused for the next one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Choices {
    /// Columns with a sort index.
    pub sort_index: IndexChoice,
    /// Excluded columns and groups of the source.
    pub drop: Vec<String>,
}

/// Which columns get a sort index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum IndexChoice {
    All,
    /// No column.
    None,
    Only(Vec<String>),
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// Time of the last change by a command.
    changed_at: Option<Time>,
    /// Texts and marks by file name.
    #[serde(default)]
    files: BTreeMap<String, FileFact>,
    #[serde(default)]
    versions: BTreeMap<String, VersionFact>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct FileFact {
    hash: String,
    changed_at: Time,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct VersionFact {
    published_at: Time,
    fingerprint: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    choices: Option<Choices>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verified: Option<VerifiedFact>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parquet: Option<ParquetFact>,
}

/// The file that the publication verified. The seal detects edits of the record. It is no defence against a writer of
/// this folder, who could also change the store file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct VerifiedFact {
    #[serde(flatten)]
    file: FileIdentity,
    seal: String,
}

impl VerifiedFact {
    fn new(file: FileIdentity, content: &str) -> Self {
        Self { seal: Self::seal_of(&file, content), file }
    }

    fn seal_of(file: &FileIdentity, content: &str) -> String {
        hash(format!("{file:?} {content}").as_bytes())
    }

    fn certifies(&self, identity: &FileIdentity, content: &str) -> bool {
        self.file == *identity && self.seal == Self::seal_of(&self.file, content)
    }
}

impl Record {
    /// Reads the record of a folder; `None` when it is absent, an error when it is invalid.
    pub fn read(folder: &DatasetFolder) -> Result<Option<Self>, CatalogError> {
        let path = folder.file(RECORD_FILE);
        let Some(text) = text_file::read_optional(&path, RECORD_SIZE_BYTES_MAX)? else { return Ok(None) };
        serde_json::from_str(&text)
            .map(Some)
            .map_err(|error| CatalogError::Record { path, message: error.to_string() })
    }

    /// The content of the file.
    pub fn to_text(&self) -> String {
        // Maps with text keys and plain values always serialize.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Records a change at `now`.
    pub fn note_change(&mut self, now: Moment) {
        self.changed_at = Some(Time(now));
    }

    /// Time of the last change by a command.
    pub fn changed_at(&self) -> Option<Moment> {
        self.changed_at.map(|time| time.0)
    }

    /// Records the content of a file, or its removal. Unchanged content keeps its time.
    pub fn note_file(&mut self, name: &str, content: Option<&str>, now: Moment) {
        let Some(content) = content else {
            self.files.remove(name);
            return;
        };
        let hash = hash(content.as_bytes());
        if self.files.get(name).is_none_or(|fact| fact.hash != hash) {
            self.files.insert(name.to_owned(), FileFact { hash, changed_at: Time(now) });
        }
    }

    /// Since when a file has this content, if known.
    pub fn file_changed_at(&self, name: &str, content: &str) -> Option<Moment> {
        let fact = self.files.get(name).filter(|fact| fact.hash == hash(content.as_bytes()))?;
        Some(fact.changed_at.0)
    }

    /// Records a publication. Its store file counts as verified from [`Record::note_verified`] on.
    pub fn note_version(
        &mut self,
        version: &Version,
        content: Fingerprint,
        choices: Option<Choices>,
        now: Moment,
    ) {
        let (published_at, fingerprint) = (Time(now), content.to_string());
        let fact = VersionFact { published_at, fingerprint, choices, verified: None, parquet: None };
        self.versions.insert(version.to_string(), fact);
    }

    /// Records the identity of the verified store file in its final place.
    pub fn note_verified(&mut self, version: &Version, identity: FileIdentity) {
        if let Some(fact) = self.versions.get_mut(&version.to_string()) {
            fact.verified = Some(VerifiedFact::new(identity, &fact.fingerprint));
        }
    }

    /// Records the Parquet file of a recorded version.
    pub fn note_parquet(&mut self, version: &Version, parquet: Option<ParquetFact>) {
        if let Some(fact) = self.versions.get_mut(&version.to_string()) {
            fact.parquet = parquet;
        }
    }

    /// The Parquet file of a version with this content, if it has one.
    pub fn parquet(&self, version: &Version, content: Fingerprint) -> Option<&ParquetFact> {
        self.fact(version, content)?.parquet.as_ref()
    }

    /// Removes versions that are not retained.
    pub fn keep_only(&mut self, is_kept: impl Fn(&Version) -> bool) {
        self.versions.retain(|text, _| Version::parse(text).is_ok_and(|version| is_kept(&version)));
    }

    /// When a version with this content was published, if known.
    pub fn published_at(&self, version: &Version, content: Fingerprint) -> Option<Moment> {
        Some(self.fact(version, content)?.published_at.0)
    }

    /// Whether the publication verified this very file.
    pub fn certifies(&self, version: &Version, content: Fingerprint, identity: &FileIdentity) -> bool {
        let verified = self.fact(version, content).and_then(|fact| fact.verified.as_ref());
        verified.is_some_and(|verified| verified.certifies(identity, &content.to_string()))
    }

    /// The highest version with known choices.
    pub fn last_choices(&self) -> Option<(Version, Choices)> {
        let made = self
            .versions
            .iter()
            .filter_map(|(text, fact)| Some((Version::parse(text).ok()?, fact.choices.clone()?)));
        made.max_by(|(a, _), (b, _)| a.cmp(b))
    }

    fn fact(&self, version: &Version, content: Fingerprint) -> Option<&VersionFact> {
        self.versions.get(&version.to_string()).filter(|fact| fact.fingerprint == content.to_string())
    }
}

fn hash(bytes: &[u8]) -> String {
    Fingerprint(fingerprint(bytes)).to_string()
}

/// A time in RFC 3339.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
struct Time(Moment);

impl TryFrom<String> for Time {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        read_moment(&text).map(Self).ok_or_else(|| format!("expected a time as RFC 3339, found `{text}`"))
    }
}

impl From<Time> for String {
    fn from(time: Time) -> Self {
        time.0.rfc3339()
    }
}

/// Parses an RFC 3339 time.
pub fn read_moment(text: &str) -> Option<Moment> {
    let timestamp: jiff::Timestamp = text.trim().parse().ok()?;
    Some(Moment::from_unix_millis(timestamp.as_millisecond()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATER: Moment = Moment::from_unix_millis(1_800_000_000_123);
    const NOW: Moment = Moment::from_unix_millis(1_700_000_000_123);

    fn identity(path: &std::path::Path) -> FileIdentity {
        FileIdentity::of(path).unwrap().unwrap()
    }

    #[test]
    fn keeps_time_of_unchanged_text() {
        let mut record = Record::default();
        record.note_file("changelog.md", Some("one"), NOW);
        record.note_file("changelog.md", Some("one"), LATER);
        assert_eq!(record.file_changed_at("changelog.md", "one"), Some(NOW));
        assert_eq!(record.file_changed_at("changelog.md", "by hand"), None);
        record.note_file("changelog.md", Some("two"), LATER);
        assert_eq!(record.file_changed_at("changelog.md", "two"), Some(LATER));
        let again: Record = serde_json::from_str(&record.to_text()).unwrap();
        assert_eq!(again, record);
        record.note_file("changelog.md", None, LATER);
        assert_eq!(record.file_changed_at("changelog.md", "two"), None);
    }

    #[test]
    fn certifies_only_its_own_file() {
        let folder = tempfile::tempdir().unwrap();
        let (own, copy) = (folder.path().join("own"), folder.path().join("copy"));
        std::fs::write(&own, "rows").unwrap();
        let (version, content) = (Version::new(1, 0, 0), Fingerprint([7; 16]));
        let mut record = Record::default();
        record.note_version(&version, content, None, NOW);
        assert!(!record.certifies(&version, content, &identity(&own)), "not verified yet");
        record.note_verified(&version, identity(&own));
        assert!(record.certifies(&version, content, &identity(&own)));
        assert!(!record.certifies(&version, Fingerprint([8; 16]), &identity(&own)), "other content");
        std::fs::copy(&own, &copy).unwrap();
        assert!(!record.certifies(&version, content, &identity(&copy)), "a copy is another file");
        let written_at = std::fs::metadata(&own).unwrap().modified().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        std::fs::write(&own, "raws").unwrap();
        std::fs::File::options().write(true).open(&own).unwrap().set_modified(written_at).unwrap();
        assert!(!record.certifies(&version, content, &identity(&own)), "written, its time set back");
        let forged = record.to_text().replace(
            &format!(
                "\"changedNanos\": {}",
                record.versions["1.0.0"].verified.as_ref().unwrap().file.changed_nanos
            ),
            &format!("\"changedNanos\": {}", identity(&own).changed_nanos),
        );
        let forged: Record = serde_json::from_str(&forged).unwrap();
        assert!(!forged.certifies(&version, content, &identity(&own)), "an edited record");
    }

    #[test]
    fn round_trips_times() {
        assert_eq!(read_moment(&NOW.rfc3339()), Some(NOW));
        assert_eq!(read_moment("\n"), None);
    }
}
