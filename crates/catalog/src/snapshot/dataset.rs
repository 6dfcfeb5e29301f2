//! A served dataset: manifest, texts and retained versions of one moment.
//!
//! Immutable after loading; changed files make a new value.

use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use mercato_format::{Fingerprint, Table};
use semver::Version;

use crate::files::file_identity::FileIdentity;
use crate::files::parquet_file::ParquetFile;
use crate::manifest::Manifest;
use mercato_base::clock::Moment;

/// How long a removed version stays readable after a cursor or stream last read it.
pub const WALK_PAUSE_MILLIS_MAX: i64 = 60_000;
/// Removed versions of one dataset that are held for cursors, the last read ones.
pub const HELD_VERSION_COUNT_MAX: usize = 16;

/// What may be done with the store file of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Standing {
    /// Every block was compared with its checksum.
    Verified,
    /// It must be verified first.
    Unverified,
    /// Not verified, in the verification queue.
    Claimed,
    /// Only its outline is on this machine.
    Away,
    /// Away, and somebody was asked to fetch it.
    Demanded,
    /// Away, and larger than the whole cache.
    TooLarge,
}

/// One version of a dataset with its open store file.
#[derive(Clone)]
pub struct DatasetVersion {
    pub version: Version,
    /// The open store file. A holder can read it even after the version is retired.
    pub table: Arc<Table>,
    /// Time of publication.
    pub published_at: Moment,
    /// Path of the store file, for the log only.
    pub path: PathBuf,
    /// Identity of the store file when it was opened.
    pub identity: FileIdentity,
    /// Its rows as Parquet, if they were published so. The file may be damaged.
    pub parquet: Option<Arc<ParquetFile>>,
    standing: Arc<AtomicU8>,
    /// How often its rows were asked for since this was last read.
    uses: Arc<AtomicU64>,
    /// When a cursor or stream last read it, in milliseconds since 1970.
    last_cursor_at: Arc<AtomicI64>,
    examples: Arc<OnceLock<Vec<Option<String>>>>,
}

impl DatasetVersion {
    pub fn new(
        version: Version,
        table: Table,
        published_at: Moment,
        path: PathBuf,
        identity: FileIdentity,
        parquet: Option<ParquetFile>,
        standing: Standing,
    ) -> Self {
        let last_cursor_at = Arc::new(AtomicI64::new(i64::MIN));
        let standing = Arc::new(AtomicU8::new(standing as u8));
        let (table, parquet, examples) = (Arc::new(table), parquet.map(Arc::new), Arc::default());
        let uses = Arc::default();
        Self {
            version,
            table,
            published_at,
            path,
            identity,
            parquet,
            standing,
            uses,
            last_cursor_at,
            examples,
        }
    }

    /// The Parquet file that is offered: one that is not known to be damaged.
    pub fn offered_parquet(&self) -> Option<&Arc<ParquetFile>> {
        self.parquet.as_ref().filter(|parquet| !parquet.is_damaged())
    }

    /// Whether every block of the unchanged store file was verified. No row of a version is served before.
    pub fn is_verified(&self) -> bool {
        self.has(Standing::Verified)
    }

    /// Whether its store file is not on this machine: `table` is an outline, of which no value may be read.
    pub fn is_away(&self) -> bool {
        self.standing.load(Ordering::Acquire) >= Standing::Away as u8
    }

    /// Whether its store file is away and cannot be fetched, because it is larger than the cache.
    pub fn is_too_large(&self) -> bool {
        self.has(Standing::TooLarge)
    }

    /// Counts a request for rows.
    pub fn note_use(&self) {
        self.uses.fetch_add(1, Ordering::Relaxed);
    }

    /// How often rows were asked for since the last call.
    pub fn take_uses(&self) -> u64 {
        self.uses.swap(0, Ordering::Relaxed)
    }

    fn has(&self, standing: Standing) -> bool {
        self.standing.load(Ordering::Acquire) == standing as u8
    }

    fn change(&self, from: Standing, to: Standing) -> bool {
        self.standing.compare_exchange(from as u8, to as u8, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Says whether nobody was asked to fetch it before.
    pub fn claim_fetch(&self) -> bool {
        self.change(Standing::Away, Standing::Demanded)
    }

    /// The fetch failed and may be asked for again, unless the version can never fit.
    pub fn fetch_failed(&self, is_too_large: bool) {
        let standing = if is_too_large { Standing::TooLarge } else { Standing::Away };
        self.change(Standing::Demanded, standing);
    }

    pub fn set_verified(&self) {
        if !self.is_away() {
            self.standing.store(Standing::Verified as u8, Ordering::Release);
        }
    }

    /// Whether it needs verification and is not queued yet.
    pub fn awaits_verification(&self) -> bool {
        self.has(Standing::Unverified)
    }

    /// Marks the version as queued for verification.
    pub fn claim_verification(&self) {
        self.standing.store(Standing::Claimed as u8, Ordering::Release);
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
    pub fn has_recent_cursor(&self, now: Moment) -> bool {
        self.last_cursor_at().saturating_add(WALK_PAUSE_MILLIS_MAX) > now.unix_millis()
    }

    pub fn last_cursor_at(&self) -> i64 {
        self.last_cursor_at.load(Ordering::Relaxed)
    }
}

/// A dataset with at least one version.
#[derive(Clone)]
pub struct Dataset {
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
        let all = || self.versions.iter().chain(&self.held);
        let mut found = all().filter(|version| version.table.fingerprint() == fingerprint);
        let first = found.next()?;
        // An evicted version may still be held for its walks.
        Some(if first.is_away() { found.find(|version| !version.is_away()).unwrap_or(first) } else { first })
    }
}
