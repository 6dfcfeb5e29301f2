//! The catalog of published datasets: versions, manifests and texts in the data directory.
//!
//! Readers hold an immutable snapshot; changes on disk make a new one. Does not depend on accounts, routes or sockets.

mod away;
mod background;
mod choose;
pub mod copy;
mod error;
mod files;
mod incoming;
pub mod limits;
mod load;
mod manifest;
pub mod objects;
pub mod publish;
pub mod releases;
mod slug;
mod snapshot;
pub mod verification;
mod watch;

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use crossbeam_channel::{Receiver, Sender, bounded};
use rayon::prelude::*;

pub use error::CatalogError;
pub use files::data_directory::{DataDirectory, DatasetFolder};
pub use files::parquet_file::{OpenParquet, ParquetFile};
pub use incoming::{Incoming, IncomingFile, Unpublished};
pub use manifest::changelog::{ChangelogEntry, parse as parse_changelog};
pub use manifest::column_type::ColumnType;
pub use manifest::provenance::{Coverage, Provenance, Publisher, UPDATE_FREQUENCIES, UpdateFrequency};
pub use manifest::query_offer::QueryOffer;
pub use manifest::source::{
    DateFormat, DateToken, DecimalMark, Delimiter, SourceOptions, TextEncoding, ThousandsMark,
};
pub use manifest::{ColumnNote, Language, LocalizedText, Manifest};
/// Re-exports for readers of store files, so that upper layers depend on the catalog and not on the file format.
pub use mercato_format::{ColumnKind, ColumnMeta, FormatError, LogicalType, Table};
pub use publish::compatibility::{BreakingChange, CompatibilityCheck};
pub use publish::record::{Choices, IndexChoice};
pub use slug::{Slug, SlugError};
pub use snapshot::dataset::{Dataset, DatasetVersion, WALK_PAUSE_MILLIS_MAX};
pub use snapshot::listing::{LicenseCount, NEWEST_VERSIONS_MAX, NewVersion, Order, TagCount};
pub use snapshot::nearest::nearest_slug;
pub use snapshot::{Entry, Snapshot, Warning};
pub use verification::scrubber;
pub use watch::Watcher;

use choose::choose;
use load::{FolderMark, Known};
use scrubber::ScrubCounts;
use verification::verified_marks::{Verdict, VerifiedMarks};
use verification::{Task, VerificationCounts};

pub use away::{Demand, Released};
pub use copy::{CopyCause, CopyFault};

use semver::Version;

use mercato_base::clock::Moment;

/// Capacity of the verification queue; it is refilled when empty.
const VERIFICATION_QUEUE_FILES_MAX: usize = 1_024;

/// The published datasets of a data directory, updated by [`Catalog::reload`].
pub struct Catalog {
    directory: DataDirectory,
    snapshot: RwLock<Arc<Snapshot>>,
    /// The marks of each loaded folder. The lock also serializes changes.
    marks: Mutex<HashMap<Slug, FolderMark>>,
    scrub_counts: ScrubCounts,
    verified_marks: VerifiedMarks,
    verification: VerificationCounts,
    /// Queue of store files to verify before they are served. The rest is queued when it is empty.
    verification_queue: (Sender<Task>, Receiver<Task>),
    /// Versions to be fetched, if somebody fetches.
    demands: away::Demands,
    followed: OnceLock<Followed>,
}

/// How a server hears of what others published.
struct Followed {
    refresh: Box<dyn Fn() + Send + Sync>,
    is_missing: Box<dyn Fn(&Slug) -> bool + Send + Sync>,
    faults: Option<Box<dyn Fn() -> Vec<CopyFault> + Send + Sync>>,
}

/// The result of a reload.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReloadReport {
    /// Served datasets.
    pub serving: usize,
    /// Published but damaged datasets.
    pub quarantined: usize,
    /// Names of the changed folders.
    pub changed: Vec<String>,
}

impl Catalog {
    /// Opens all published datasets under `directory`; creates its folder if absent.
    pub fn open(directory: DataDirectory) -> Result<Self, CatalogError> {
        Self::open_with_queue(directory, VERIFICATION_QUEUE_FILES_MAX)
    }

    fn open_with_queue(directory: DataDirectory, files_max: usize) -> Result<Self, CatalogError> {
        let datasets = directory.datasets();
        fs::create_dir_all(&datasets).map_err(|error| CatalogError::io(&datasets, "create it", error))?;
        let catalog = Self {
            verified_marks: VerifiedMarks::load(&directory.verified()),
            directory,
            snapshot: RwLock::default(),
            marks: Mutex::default(),
            scrub_counts: ScrubCounts::default(),
            verification: VerificationCounts::default(),
            verification_queue: bounded(files_max),
            demands: away::Demands::default(),
            followed: OnceLock::new(),
        };
        // The first load has no earlier state that depends on the time.
        catalog.reload(Moment::from_unix_millis(0))?;
        Ok(catalog)
    }

    pub fn directory(&self) -> &DataDirectory {
        &self.directory
    }

    pub fn scrub_counts(&self) -> &ScrubCounts {
        &self.scrub_counts
    }

    /// Progress of the verification of new and changed store files.
    pub fn verification(&self) -> &VerificationCounts {
        &self.verification
    }

    /// The current snapshot, which never changes for its holder.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.snapshot.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Scans all folders and loads the changed ones. Requests in flight keep their data. A removed version stays while
    /// a cursor or stream has read it in the last minute before `now`.
    pub fn reload(&self, now: Moment) -> Result<ReloadReport, CatalogError> {
        let mut marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.snapshot();
        let loaded: Vec<Loaded> = self
            .folders()?
            .into_par_iter()
            .map(|(slug, folder)| self.load_folder(slug, &folder, &marks, &before, now))
            .collect();
        let mut report = ReloadReport::default();
        let mut entries = HashMap::with_capacity(loaded.len());
        let mut new_marks = HashMap::with_capacity(loaded.len());
        let mut released = false;
        for Loaded { slug, mark, entry, state } in loaded {
            released |= state == FolderState::Released;
            if state == FolderState::Changed {
                report.changed.push(slug.to_string());
            }
            match &entry {
                Some(Entry::Serving(_)) => report.serving = report.serving.saturating_add(1),
                Some(Entry::Quarantined { .. }) => report.quarantined = report.quarantined.saturating_add(1),
                None => {}
            }
            new_marks.extend(mark.map(|mark| (slug.clone(), mark)));
            entries.extend(entry.map(|entry| (slug, entry)));
        }
        let gone = before
            .entries()
            .keys()
            .filter(|slug| !entries.contains_key(*slug) && !new_marks.contains_key(*slug));
        report.changed.extend(gone.map(ToString::to_string));
        *marks = new_marks;
        if !report.changed.is_empty() || released {
            let changed_at = if report.changed.is_empty() { before.changed_at() } else { now };
            self.replace(entries, changed_at.max(self.changed_on_disk(&before)));
            self.enqueue_verification();
        }
        Ok(report)
    }

    /// Queues new and changed store files for verification while the queue has room: current versions first, small
    /// files before large ones. The caller holds `marks`, so that one thread at a time fills the queue.
    fn enqueue_verification(&self) {
        let (queue, _) = &self.verification_queue;
        let room = queue.capacity().unwrap_or(0).saturating_sub(queue.len());
        let snapshot = self.snapshot();
        let mut waiting: Vec<(bool, u64, &str, &DatasetVersion)> = Vec::new();
        for dataset in snapshot.datasets() {
            for version in dataset.versions.iter().filter(|version| version.awaits_verification()) {
                let is_older = !Arc::ptr_eq(&version.table, &dataset.current.table);
                waiting.push((is_older, version.table.file_bytes(), dataset.slug(), version));
            }
        }
        waiting.sort_by_key(|(is_older, bytes, ..)| (*is_older, *bytes));
        for (_, bytes, slug, version) in waiting.into_iter().take(room) {
            version.claim_verification();
            self.verification.add(bytes);
            // Cannot fail: the queue has room, and the catalog holds both ends.
            drop(queue.try_send(Task::new(slug, version)));
        }
    }

    /// Queues the files that had no room before.
    fn enqueue_deferred(&self) {
        let _one_thread_lines_up = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        self.enqueue_verification();
    }

    /// Withdraws a damaged version. The highest intact version below a current one takes its place; without one, the
    /// whole dataset is withdrawn. The version returns when its file changes or is verified after a restart.
    pub fn quarantine(&self, damaged: &DatasetVersion, slug: &str, reason: &str, now: Moment) {
        self.withdraw(damaged, slug, reason, Verdict::Doubtful, now);
    }

    /// Withdraws a damaged version and stores the verdict on its file.
    fn withdraw(&self, damaged: &DatasetVersion, slug: &str, reason: &str, verdict: Verdict, now: Moment) {
        let _one_change_at_a_time = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        self.verified_marks.note(slug, &damaged.version, damaged.identity, verdict);
        self.save_verified_marks();
        let snapshot = self.snapshot();
        let Some(Entry::Serving(dataset)) = snapshot.get(slug) else { return };
        let is_damaged = |version: &DatasetVersion| Arc::ptr_eq(&version.table, &damaged.table);
        if !dataset.versions.iter().chain(&dataset.held).any(is_damaged) {
            return;
        }
        let mut rest = Dataset::clone(dataset);
        rest.versions.retain(|version| !is_damaged(version));
        rest.held.retain(|version| !is_damaged(version));
        rest.damaged.push((damaged.version.clone(), reason.to_owned()));
        let entry = match choose(&rest.wanted, &rest.versions, Some(&dataset.current)) {
            Some(current) => {
                if current.version != dataset.current.version {
                    rest.updated_at = rest.updated_at.max(now);
                }
                Entry::Serving(Arc::new(Dataset { current, ..rest }))
            }
            None => Entry::Quarantined { reason: format!("{}: {reason}", damaged.path.display()) },
        };
        self.put(&snapshot, &dataset.manifest.slug, entry, now);
    }

    /// Marks a version as verified, and serves it if it is the wanted one.
    fn admit(&self, sound: &DatasetVersion, slug: &str, now: Moment) {
        let _one_change_at_a_time = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        sound.set_verified();
        let snapshot = self.snapshot();
        let Some(Entry::Serving(dataset)) = snapshot.get(slug) else { return };
        let chosen = choose(&dataset.wanted, &dataset.versions, Some(&dataset.current));
        let Some(current) = chosen.filter(|chosen| chosen.version != dataset.current.version) else { return };
        let entry = Entry::Serving(Arc::new(Dataset { current, ..Dataset::clone(dataset) }));
        self.put(&snapshot, &dataset.manifest.slug, entry, now);
    }

    fn put(&self, snapshot: &Snapshot, slug: &Slug, entry: Entry, now: Moment) {
        let mut entries = snapshot.entries().clone();
        entries.insert(slug.clone(), entry);
        self.replace(entries, now.max(snapshot.changed_at()));
    }

    /// If the marks cannot be written, the next start verifies the files again.
    fn save_verified_marks(&self) {
        let snapshot = self.snapshot();
        let is_kept = |slug: &str, version: &Version| match snapshot.get(slug) {
            Some(Entry::Serving(dataset)) => {
                let open = dataset.versions.iter().any(|open| open.version == *version);
                open || dataset.damaged.iter().any(|(damaged, _)| damaged == version)
            }
            Some(Entry::Quarantined { .. }) => true,
            None => false,
        };
        if let Err(error) = self.verified_marks.save(is_kept) {
            tracing::warn!(%error, "which store files were verified cannot be remembered");
        }
    }

    fn replace(&self, entries: HashMap<Slug, Entry>, changed_at: Moment) {
        let mut place = self.snapshot.write().unwrap_or_else(PoisonError::into_inner);
        let generation = place.generation().wrapping_add(1);
        *place = Arc::new(Snapshot::new(entries, generation, changed_at));
    }

    /// The time of the last change: after the first load from the snapshot, before from the disk.
    fn changed_on_disk(&self, before: &Snapshot) -> Moment {
        if before.generation() > 0 {
            return before.changed_at();
        }
        let changed = self.directory.changed();
        if let Some(noted) =
            fs::read_to_string(&changed).ok().as_deref().and_then(publish::record::read_moment)
        {
            return noted;
        }
        let modified = |path: &Path| load::modified_at(path).unwrap_or(Moment::from_unix_millis(0));
        modified(&self.directory.datasets()).max(modified(&changed))
    }

    /// Keeps the entry of an unchanged folder. An error in a changed folder quarantines that dataset alone.
    fn load_folder(
        &self,
        slug: Slug,
        folder: &DatasetFolder,
        marks: &HashMap<Slug, FolderMark>,
        before: &Snapshot,
        now: Moment,
    ) -> Loaded {
        let present = before.get(slug.as_str());
        let known_mark = marks.get(&slug);
        let quarantined = |error: CatalogError| Entry::Quarantined { reason: error.to_string() };
        let mark = match FolderMark::of(folder) {
            Ok(mark) if known_mark == Some(&mark) => {
                let (entry, state) = release(present, now);
                return Loaded { slug, entry, mark: Some(mark), state };
            }
            Ok(mark) => mark,
            Err(error) => {
                return Loaded {
                    slug,
                    mark: None,
                    entry: Some(quarantined(error)),
                    state: FolderState::Changed,
                };
            }
        };
        let dataset = match present {
            Some(Entry::Serving(dataset)) => Some(dataset.as_ref()),
            _ => None,
        };
        let known = Known { mark: known_mark, dataset };
        let entry = match load::load(folder, &mark, &known, &self.verified_marks, now) {
            Ok(dataset) => dataset.map(|dataset| Entry::Serving(Arc::new(dataset))),
            Err(error) => Some(quarantined(error)),
        };
        Loaded { slug, mark: Some(mark), entry, state: FolderState::Changed }
    }

    fn folders(&self) -> Result<Vec<(Slug, DatasetFolder)>, CatalogError> {
        let datasets = self.directory.datasets();
        let fault = |error| CatalogError::io(&datasets, "list it", error);
        let mut folders = Vec::new();
        for item in fs::read_dir(&datasets).map_err(fault)? {
            let item = item.map_err(fault)?;
            if let Some(slug) = item.file_name().to_str().and_then(|name| Slug::parse(name).ok()) {
                folders.push((slug, DatasetFolder::at(item.path())));
            }
        }
        Ok(folders)
    }
}

/// The result of loading one folder.
struct Loaded {
    slug: Slug,
    mark: Option<FolderMark>,
    entry: Option<Entry>,
    state: FolderState,
}

/// The state of a folder compared with the last load.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FolderState {
    /// Nothing changed.
    Unchanged,
    /// The files are unchanged; removed versions without cursors were released.
    Released,
    Changed,
}

/// The same entry without held versions that no cursor or stream reads any more.
fn release(present: Option<&Entry>, now: Moment) -> (Option<Entry>, FolderState) {
    if let Some(Entry::Serving(dataset)) = present
        && dataset.held.iter().any(|version| !version.has_recent_cursor(now))
    {
        let mut kept = Dataset::clone(dataset);
        kept.held.retain(|version| version.has_recent_cursor(now));
        return (Some(Entry::Serving(Arc::new(kept))), FolderState::Released);
    }
    (present.cloned(), FolderState::Unchanged)
}

impl std::fmt::Debug for Catalog {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Catalog").field("directory", &self.directory).finish_non_exhaustive()
    }
}

/// A data directory given by its path.
impl From<&Path> for DataDirectory {
    fn from(root: &Path) -> Self {
        Self::new(root)
    }
}
