//! What is published: datasets, their versions, manifests and texts, read from the data directory.
//!
//! Readers get a snapshot and keep it; changes on disk make a new one. Knows no account, no route and no socket.

mod changelog;
mod data_directory;
mod dataset;
mod error;
mod load;
mod manifest;
pub mod patrol;
pub mod publish;
mod slug;
mod snapshot;
mod text_file;
mod watch;

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use rayon::prelude::*;

pub use changelog::{ChangelogEntry, parse as parse_changelog};
pub use data_directory::DataDirectory;
pub use dataset::{Dataset, DatasetVersion, WALK_PAUSE_MILLIS_MAX};
pub use error::CatalogError;
pub use manifest::{ColumnNote, Language, LocalizedText, Manifest};
/// What readers of a store file need, so that the layers above name one catalog and not its file format.
pub use mercato_format::{ColumnKind, ColumnMeta, FormatError, LogicalType, Table};
pub use slug::{Slug, SlugError};
pub use snapshot::{Entry, Snapshot};
pub use watch::Watcher;

use data_directory::DatasetFolder;
use load::{FolderMark, Known};
use patrol::PatrolCounts;

use crate::clock::Moment;

/// The published datasets of a data directory, kept up to date by [`Catalog::reload`].
pub struct Catalog {
    directory: DataDirectory,
    snapshot: RwLock<Arc<Snapshot>>,
    /// How each folder looked when it was loaded. One reload at a time holds it.
    marks: Mutex<HashMap<Slug, FolderMark>>,
    patrolled: PatrolCounts,
}

/// What a reload found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReloadReport {
    /// Datasets that serve.
    pub serving: usize,
    /// Datasets that are published but damaged.
    pub quarantined: usize,
    /// Folders that were read because they changed, by name.
    pub changed: Vec<String>,
}

impl Catalog {
    /// Opens everything that is published under `directory`, creating the folder of datasets where it is absent.
    pub fn open(directory: DataDirectory) -> Result<Self, CatalogError> {
        let datasets = directory.datasets();
        fs::create_dir_all(&datasets).map_err(|error| CatalogError::io(&datasets, "create it", error))?;
        let catalog = Self {
            directory,
            snapshot: RwLock::default(),
            marks: Mutex::default(),
            patrolled: PatrolCounts::default(),
        };
        // Nothing is known yet that the time could matter for.
        catalog.reload(Moment::from_unix_millis(0))?;
        Ok(catalog)
    }

    /// Where it reads from.
    pub fn directory(&self) -> &DataDirectory {
        &self.directory
    }

    /// What the background pass over the store files has done.
    pub fn patrolled(&self) -> &PatrolCounts {
        &self.patrolled
    }

    /// What is published now. It stays as it is for as long as the caller keeps it.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.snapshot.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Looks at every folder and loads those that changed. Requests in flight keep what they hold, and a version that
    /// is gone from the disk stays for the walks that read it within the last minute before `now`.
    pub fn reload(&self, now: Moment) -> Result<ReloadReport, CatalogError> {
        let mut marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.snapshot();
        let loaded: Vec<Loaded> = self
            .folders()?
            .into_par_iter()
            .map(|(slug, folder)| load_folder(slug, &folder, &marks, &before, now))
            .collect();
        let mut report = ReloadReport::default();
        let mut entries = HashMap::with_capacity(loaded.len());
        let mut new_marks = HashMap::with_capacity(loaded.len());
        let mut released = false;
        for Loaded { slug, mark, entry, look } in loaded {
            released |= look == Look::Released;
            if look == Look::Changed {
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
        }
        Ok(report)
    }

    /// Takes what is `damaged` out of service: the dataset, when it is its current version, else that version alone. It
    /// comes back when the files of the dataset change.
    pub fn quarantine(&self, damaged: &DatasetVersion, slug: &str, reason: &str, now: Moment) {
        let _one_change_at_a_time = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        let snapshot = self.snapshot();
        let Some(Entry::Serving(dataset)) = snapshot.get(slug) else { return };
        let is_damaged = |version: &DatasetVersion| Arc::ptr_eq(&version.table, &damaged.table);
        let entry = if is_damaged(&dataset.current) {
            Entry::Quarantined { reason: format!("{}: {reason}", damaged.path.display()) }
        } else if dataset.versions.iter().chain(&dataset.held).any(is_damaged) {
            let mut rest = Dataset::clone(dataset);
            rest.versions.retain(|version| !is_damaged(version));
            rest.held.retain(|version| !is_damaged(version));
            rest.damaged.push((damaged.version.clone(), reason.to_owned()));
            Entry::Serving(Arc::new(rest))
        } else {
            return;
        };
        let mut entries = snapshot.entries().clone();
        entries.insert(dataset.manifest.slug.clone(), entry);
        self.replace(entries, now.max(snapshot.changed_at()));
    }

    fn replace(&self, entries: HashMap<Slug, Entry>, changed_at: Moment) {
        let mut place = self.snapshot.write().unwrap_or_else(PoisonError::into_inner);
        let generation = place.generation().wrapping_add(1);
        *place = Arc::new(Snapshot::new(entries, generation, changed_at));
    }

    /// What the first look knows of the last change: later ones know the time.
    fn changed_on_disk(&self, before: &Snapshot) -> Moment {
        if before.generation() > 0 {
            return before.changed_at();
        }
        let modified = |path: &Path| load::modified_at(path).unwrap_or(Moment::from_unix_millis(0));
        modified(&self.directory.datasets()).max(modified(&self.directory.changed()))
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

/// One folder after a look at it.
struct Loaded {
    slug: Slug,
    mark: Option<FolderMark>,
    entry: Option<Entry>,
    look: Look,
}

/// What a look at a folder came to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    /// Everything is as before.
    Same,
    /// The files are as before; versions that were held for walks are not needed any more.
    Released,
    /// The files changed.
    Changed,
}

/// Keeps the entry of a folder that looks as before; a fault of a changed one quarantines that dataset alone.
fn load_folder(
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
            let (entry, look) = release(present, now);
            return Loaded { slug, entry, mark: Some(mark), look };
        }
        Ok(mark) => mark,
        Err(error) => {
            return Loaded { slug, mark: None, entry: Some(quarantined(error)), look: Look::Changed };
        }
    };
    let (versions, held): (&[_], &[_]) = match present {
        Some(Entry::Serving(dataset)) => (&dataset.versions, &dataset.held),
        _ => (&[], &[]),
    };
    let entry = match load::load(folder, &mark, &Known { mark: known_mark, versions, held }, now) {
        Ok(dataset) => dataset.map(|dataset| Entry::Serving(Arc::new(dataset))),
        Err(error) => Some(quarantined(error)),
    };
    Loaded { slug, mark: Some(mark), entry, look: Look::Changed }
}

/// The same entry without the versions that no walk reads any more.
fn release(present: Option<&Entry>, now: Moment) -> (Option<Entry>, Look) {
    if let Some(Entry::Serving(dataset)) = present
        && dataset.held.iter().any(|version| !version.is_walked(now))
    {
        let mut kept = Dataset::clone(dataset);
        kept.held.retain(|version| version.is_walked(now));
        return (Some(Entry::Serving(Arc::new(kept))), Look::Released);
    }
    (present.cloned(), Look::Same)
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
