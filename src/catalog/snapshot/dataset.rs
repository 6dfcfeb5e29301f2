//! A served dataset: manifest, texts and retained versions of one moment.
//!
//! Immutable after loading; changed files make a new value.

use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};

use mercato_format::{Fingerprint, Table};
use semver::Version;

use crate::catalog::files::file_identity::FileIdentity;
use crate::catalog::files::parquet_file::ParquetFile;
use crate::catalog::manifest::Manifest;
use crate::clock::Moment;

/// How long a removed version stays readable after a cursor or stream last read it.
pub const WALK_PAUSE_MILLIS_MAX: i64 = 60_000;
/// Removed versions of one dataset that are held for cursors, the last read ones.
pub const HELD_VERSION_COUNT_MAX: usize = 16;

const VERIFIED: u8 = 0;
const UNVERIFIED: u8 = 1;
/// Not verified, in the verification queue.
const CLAIMED: u8 = 2;

/// One version of a dataset with its open store file.
#[derive(Clone)]
pub struct DatasetVersion {
    /// The version.
    pub version: Version,
    /// The open store file. A holder can read it even after the version is retired.
    pub table: Arc<Table>,
    /// Time of publication.
    pub published_at: Moment,
    /// Path of the store file, for the log only.
    pub path: PathBuf,
    /// Identity of the store file when it was opened.
    pub(in crate::catalog) identity: FileIdentity,
    /// Its rows as Parquet, if they were published so. The file may be damaged.
    pub parquet: Option<Arc<ParquetFile>>,
    standing: Arc<AtomicU8>,
    /// When a cursor or stream last read it, in milliseconds since 1970.
    last_cursor_at: Arc<AtomicI64>,
    examples: Arc<OnceLock<Vec<Option<String>>>>,
}

impl DatasetVersion {
    pub(in crate::catalog) fn new(
        version: Version,
        table: Table,
        published_at: Moment,
        path: PathBuf,
        identity: FileIdentity,
        parquet: Option<ParquetFile>,
        is_verified: bool,
    ) -> Self {
        let last_cursor_at = Arc::new(AtomicI64::new(i64::MIN));
        let standing = Arc::new(AtomicU8::new(if is_verified { VERIFIED } else { UNVERIFIED }));
        let (table, parquet, examples) = (Arc::new(table), parquet.map(Arc::new), Arc::default());
        Self { version, table, published_at, path, identity, parquet, standing, last_cursor_at, examples }
    }

    /// The Parquet file that is offered: one that is not known to be damaged.
    pub fn offered_parquet(&self) -> Option<&Arc<ParquetFile>> {
        self.parquet.as_ref().filter(|parquet| !parquet.is_damaged())
    }

    /// Whether every block of the unchanged store file was verified. No row of a version is served before.
    pub fn is_verified(&self) -> bool {
        self.standing.load(Ordering::Acquire) == VERIFIED
    }

    pub(in crate::catalog) fn set_verified(&self) {
        self.standing.store(VERIFIED, Ordering::Release);
    }

    /// Whether it needs verification and is not queued yet.
    pub(in crate::catalog) fn awaits_verification(&self) -> bool {
        self.standing.load(Ordering::Acquire) == UNVERIFIED
    }

    /// Marks the version as queued for verification.
    pub(in crate::catalog) fn claim_verification(&self) {
        self.standing.store(CLAIMED, Ordering::Release);
    }

    /// An example value for each column, rendered as in responses; `None` without one. The first call runs `find`,
    /// because a version never changes, and returns its error.
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

    /// Records that a cursor or stream reads this version.
    pub fn note_cursor(&self, now: Moment) {
        self.last_cursor_at.fetch_max(now.unix_millis(), Ordering::Relaxed);
    }

    /// Whether a cursor or stream read it recently.
    pub(in crate::catalog) fn has_recent_cursor(&self, now: Moment) -> bool {
        self.last_cursor_at().saturating_add(WALK_PAUSE_MILLIS_MAX) > now.unix_millis()
    }

    pub(in crate::catalog) fn last_cursor_at(&self) -> i64 {
        self.last_cursor_at.load(Ordering::Relaxed)
    }
}

/// A dataset with at least one version.
#[derive(Clone)]
pub struct Dataset {
    /// The manifest.
    pub manifest: Manifest,
    /// The version that is served by default.
    pub current: DatasetVersion,
    /// The version that should be served: the highest, or the target of a rollback.
    pub wanted: Version,
    /// All retained versions including the current one, highest first.
    pub versions: Vec<DatasetVersion>,
    /// Removed versions that cursors or streams still read.
    pub held: Vec<DatasetVersion>,
    /// Methodology in Markdown, or empty.
    pub methodology: String,
    /// Changelog in Markdown, or empty.
    pub changelog: String,
    /// Time of the last change of the dataset.
    pub updated_at: Moment,
    /// Time of the last change of the methodology.
    pub methodology_updated_at: Moment,
    /// Time of the last change of the changelog.
    pub changelog_updated_at: Moment,
    /// Unreadable retained versions, with the reason.
    pub damaged: Vec<(Version, String)>,
    /// Why the publication record cannot be read, if so.
    pub record_fault: Option<String>,
}

impl Dataset {
    /// The slug.
    pub fn slug(&self) -> &str {
        self.manifest.slug.as_str()
    }

    /// Whether an older version is served in place of a damaged one.
    pub fn falls_back(&self) -> bool {
        self.damaged.iter().any(|(version, _)| *version == self.wanted)
    }

    /// Warnings for the operator about a served dataset.
    pub fn warnings(&self) -> Vec<String> {
        let serves = &self.current.version;
        let said = self.damaged.iter().map(|(version, reason)| {
            if *version == self.wanted {
                format!("version {version} cannot be served, {serves} is served in its place: {reason}")
            } else {
                format!("version {version} cannot be served: {reason}")
            }
        });
        let withheld = self.versions.iter().filter_map(|version| {
            version.parquet.as_ref().filter(|parquet| parquet.is_damaged())?;
            Some(format!("version {} is not offered as Parquet: its file is damaged", version.version))
        });
        said.chain(withheld).chain(self.record_fault.clone()).collect()
    }

    /// The retained or held version with that content, for its cursors.
    pub fn version_of_content(&self, fingerprint: Fingerprint) -> Option<&DatasetVersion> {
        self.versions.iter().chain(&self.held).find(|version| version.table.fingerprint() == fingerprint)
    }
}
