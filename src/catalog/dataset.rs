//! A dataset as it is served: its manifest, its texts and its retained versions, all of one moment.
//!
//! Never changes after it was loaded; a change of the files makes a new one.

use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};

use mercato_format::{Fingerprint, Table};
use semver::Version;

use super::file_identity::FileIdentity;
use super::manifest::Manifest;
use crate::clock::Moment;

/// A version that was removed from the disk stays readable for so long after a cursor or a stream last read it.
pub const WALK_PAUSE_MILLIS_MAX: i64 = 60_000;
/// Versions of one dataset that are held for such walks, the ones read last.
pub const HELD_VERSION_COUNT_MAX: usize = 16;

const VERIFIED: u8 = 0;
const UNVERIFIED: u8 = 1;
/// Not verified, and in the line of those that will be.
const CLAIMED: u8 = 2;

/// One version of a dataset with its open store file.
#[derive(Clone)]
pub struct DatasetVersion {
    /// The version.
    pub version: Version,
    /// The open store file; whoever holds it can read it, also after the version was retired.
    pub table: Arc<Table>,
    /// When it was published.
    pub published_at: Moment,
    /// Where the store file lies; for the log, never for a client.
    pub path: PathBuf,
    /// How the store file looked when it was opened.
    pub(super) identity: FileIdentity,
    standing: Arc<AtomicU8>,
    /// When a walk last read it, in milliseconds since 1970.
    last_cursor_at: Arc<AtomicI64>,
    examples: Arc<OnceLock<Vec<Option<String>>>>,
}

impl DatasetVersion {
    pub(super) fn new(
        version: Version,
        table: Table,
        published_at: Moment,
        path: PathBuf,
        identity: FileIdentity,
        is_verified: bool,
    ) -> Self {
        let last_cursor_at = Arc::new(AtomicI64::new(i64::MIN));
        let standing = Arc::new(AtomicU8::new(if is_verified { VERIFIED } else { UNVERIFIED }));
        let (table, examples) = (Arc::new(table), Arc::default());
        Self { version, table, published_at, path, identity, standing, last_cursor_at, examples }
    }

    /// Whether every block of the store file was compared with its checksum since it last changed. No row of a version
    /// is served before.
    pub fn is_verified(&self) -> bool {
        self.standing.load(Ordering::Acquire) == VERIFIED
    }

    pub(super) fn set_verified(&self) {
        self.standing.store(VERIFIED, Ordering::Release);
    }

    /// Whether it has to be verified and stands in no line yet.
    pub(super) fn awaits_verification(&self) -> bool {
        self.standing.load(Ordering::Acquire) == UNVERIFIED
    }

    /// Notes that it stands in the line.
    pub(super) fn claim_verification(&self) {
        self.standing.store(CLAIMED, Ordering::Release);
    }

    /// A value of each column, in the order of the columns, as answers print it; `None` where none was found. `find`
    /// looks for them when they are asked for first: a version never changes. Fails as `find` does.
    pub fn examples<E>(
        &self,
        find: impl FnOnce(&Table) -> Result<Vec<Option<String>>, E>,
    ) -> Result<&[Option<String>], E> {
        if let Some(known) = self.examples.get() {
            return Ok(known);
        }
        let found = find(&self.table)?;
        Ok(self.examples.get_or_init(|| found))
    }

    /// Notes that a cursor or a stream reads this version.
    pub fn note_cursor(&self, now: Moment) {
        self.last_cursor_at.fetch_max(now.unix_millis(), Ordering::Relaxed);
    }

    /// Whether a walk that read it may still go on.
    pub(super) fn has_recent_cursor(&self, now: Moment) -> bool {
        self.last_cursor_at().saturating_add(WALK_PAUSE_MILLIS_MAX) > now.unix_millis()
    }

    pub(super) fn last_cursor_at(&self) -> i64 {
        self.last_cursor_at.load(Ordering::Relaxed)
    }
}

/// A dataset with at least one version.
#[derive(Clone)]
pub struct Dataset {
    /// What the publisher says.
    pub manifest: Manifest,
    /// The version that is served to whoever asks for none.
    pub current: DatasetVersion,
    /// The version that should be served: the highest, or the one that the operator went back to.
    pub wanted: Version,
    /// All retained versions, the highest first; the current one is among them.
    pub versions: Vec<DatasetVersion>,
    /// Versions that are gone from the disk while walks still read them.
    pub held: Vec<DatasetVersion>,
    /// Methodology in Markdown; empty when there is none.
    pub methodology: String,
    /// Changelog in Markdown; empty when there is none.
    pub changelog: String,
    /// When anything about the dataset last changed.
    pub updated_at: Moment,
    /// When the methodology last changed.
    pub methodology_updated_at: Moment,
    /// When the changelog last changed.
    pub changelog_updated_at: Moment,
    /// Retained versions whose store file cannot be read, with the reason.
    pub damaged: Vec<(Version, String)>,
    /// Why the record of its publications cannot be read, where it cannot.
    pub record_fault: Option<String>,
}

impl Dataset {
    /// Its name.
    pub fn slug(&self) -> &str {
        self.manifest.slug.as_str()
    }

    /// Whether an older version is served because the one that should be is damaged.
    pub fn falls_back(&self) -> bool {
        self.damaged.iter().any(|(version, _)| *version == self.wanted)
    }

    /// What the operator should know although the dataset is served.
    pub fn warnings(&self) -> Vec<String> {
        let serves = &self.current.version;
        let said = self.damaged.iter().map(|(version, reason)| {
            if *version == self.wanted {
                format!("version {version} cannot be served, {serves} is served in its place: {reason}")
            } else {
                format!("version {version} cannot be served: {reason}")
            }
        });
        said.chain(self.record_fault.clone()).collect()
    }

    /// The retained or held version with that content, for a walk that began on it.
    pub fn version_of_content(&self, fingerprint: Fingerprint) -> Option<&DatasetVersion> {
        self.versions.iter().chain(&self.held).find(|version| version.table.fingerprint() == fingerprint)
    }
}
