//! A dataset as it is served: its manifest, its texts and its retained versions, all of one moment.
//!
//! Never changes after it was loaded; a change of the files makes a new one.

use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};

use mercato_format::{Fingerprint, Table};
use semver::Version;

use super::manifest::Manifest;
use crate::clock::Moment;

/// A version that was removed from the disk stays readable for so long after a cursor or a stream last read it.
pub const WALK_PAUSE_MILLIS_MAX: i64 = 60_000;
/// Versions of one dataset that are held for such walks, the ones read last.
pub const HELD_VERSION_COUNT_MAX: usize = 16;

/// One version of a dataset with its open store file.
#[derive(Clone)]
pub struct DatasetVersion {
    /// The version.
    pub version: Version,
    /// The open store file; whoever holds it can read it, also after the version was retired.
    pub table: Arc<Table>,
    /// When the store file was written.
    pub published_at: Moment,
    /// Where the store file lies; for the log, never for a client.
    pub path: PathBuf,
    /// When a walk last read it, in milliseconds since 1970.
    walked_at: Arc<AtomicI64>,
    examples: Arc<OnceLock<Vec<Option<String>>>>,
}

impl DatasetVersion {
    pub(super) fn new(version: Version, table: Arc<Table>, published_at: Moment, path: PathBuf) -> Self {
        let walked_at = Arc::new(AtomicI64::new(i64::MIN));
        Self { version, table, published_at, path, walked_at, examples: Arc::default() }
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
    pub fn note_walk(&self, now: Moment) {
        self.walked_at.fetch_max(now.unix_millis(), Ordering::Relaxed);
    }

    /// Whether a walk that read it may still go on.
    pub(super) fn is_walked(&self, now: Moment) -> bool {
        self.walked_at().saturating_add(WALK_PAUSE_MILLIS_MAX) > now.unix_millis()
    }

    pub(super) fn walked_at(&self) -> i64 {
        self.walked_at.load(Ordering::Relaxed)
    }
}

/// A dataset with at least one version.
#[derive(Clone)]
pub struct Dataset {
    /// What the publisher says.
    pub manifest: Manifest,
    /// The version that is served to whoever asks for none.
    pub current: DatasetVersion,
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
}

impl Dataset {
    /// Its name.
    pub fn slug(&self) -> &str {
        self.manifest.slug.as_str()
    }

    /// The retained or held version with that content, for a walk that began on it.
    pub fn version_of_content(&self, fingerprint: Fingerprint) -> Option<&DatasetVersion> {
        self.versions.iter().chain(&self.held).find(|version| version.table.fingerprint() == fingerprint)
    }
}
