//! From the folder of one dataset to the dataset, opening only what changed.
//!
//! Knows files and the store reader; knows nothing of other datasets.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use mercato_format::{FormatError, Table};
use semver::Version;

use super::data_directory::{
    CHANGELOG_FILE, CURRENT_FILE, DatasetFolder, FEATURED_FILE, MANIFEST_FILE, METHODOLOGY_FILE,
    UNPUBLISHED_FILE, version_of_file_name,
};
use super::dataset::{Dataset, DatasetVersion, HELD_VERSION_COUNT_MAX};
use super::error::CatalogError;
use super::manifest::Manifest;
use super::text_file;
use crate::clock::Moment;

/// Largest methodology and largest changelog.
pub const DOCUMENT_SIZE_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Versions of one dataset that are opened, the highest first.
pub const OPEN_VERSION_COUNT_MAX: usize = 16;
const MARK_SIZE_BYTES_MAX: u64 = 256;

/// How a file looked: when it changes, this changes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FileMark {
    modified_nanos: u128,
    length: u64,
    inode: u64,
}

/// How the folder of a dataset looked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct FolderMark {
    files: BTreeMap<&'static str, FileMark>,
    stores: BTreeMap<Version, FileMark>,
}

const WATCHED: [&str; 6] =
    [MANIFEST_FILE, METHODOLOGY_FILE, CHANGELOG_FILE, CURRENT_FILE, FEATURED_FILE, UNPUBLISHED_FILE];

impl FolderMark {
    /// Looks at the folder without opening a file.
    pub(super) fn of(folder: &DatasetFolder) -> Result<Self, CatalogError> {
        let mut mark = Self::default();
        for name in WATCHED {
            if let Some(file) = mark_of(&folder.file(name))? {
                mark.files.insert(name, file);
            }
        }
        for (version, path) in store_files(&folder.versions())? {
            if let Some(file) = mark_of(&path)? {
                mark.stores.insert(version, file);
            }
        }
        Ok(mark)
    }

    fn modified(&self, name: &str) -> Option<Moment> {
        self.files.get(name).map(FileMark::moment)
    }

    /// Whether there is anything to serve: a manifest, a version, and no sign that it was taken down.
    fn is_offered(&self) -> bool {
        let has = |name| self.files.contains_key(name);
        has(MANIFEST_FILE) && !has(UNPUBLISHED_FILE) && !self.stores.is_empty()
    }
}

impl FileMark {
    fn moment(&self) -> Moment {
        Moment::from_unix_millis(i64::try_from(self.modified_nanos / 1_000_000).unwrap_or(i64::MAX))
    }
}

/// What was loaded before, to open only what changed.
#[derive(Default)]
pub(super) struct Known<'a> {
    pub(super) mark: Option<&'a FolderMark>,
    pub(super) versions: &'a [DatasetVersion],
    pub(super) held: &'a [DatasetVersion],
}

/// Loads the dataset of a folder; nothing when the folder offers none.
pub(super) fn load(
    folder: &DatasetFolder,
    mark: &FolderMark,
    known: &Known<'_>,
    now: Moment,
) -> Result<Option<Dataset>, CatalogError> {
    if !mark.is_offered() {
        return Ok(None);
    }
    let mut manifest = Manifest::load(folder.path())?;
    if !manifest.published {
        return Ok(None);
    }
    check_name(folder, &manifest)?;
    manifest.featured = is_featured(folder, manifest.featured)?;
    let document = |name: &str| text_file::read_optional(&folder.file(name), DOCUMENT_SIZE_BYTES_MAX);
    let methodology = document(METHODOLOGY_FILE)?.unwrap_or_default();
    let changelog = document(CHANGELOG_FILE)?.unwrap_or_default();
    let (versions, damaged) = open_versions(folder, mark, known);
    let current = choose_current(folder, mark, &versions, &damaged)?;
    let manifest_at = mark.modified(MANIFEST_FILE).unwrap_or(current.published_at);
    let modified = |name| mark.modified(name).unwrap_or(manifest_at);
    let updated_at = mark.files.values().map(FileMark::moment).fold(current.published_at, Moment::max);
    Ok(Some(Dataset {
        manifest,
        held: still_walked(known, mark, now),
        versions,
        methodology,
        changelog,
        updated_at,
        methodology_updated_at: modified(METHODOLOGY_FILE),
        changelog_updated_at: modified(CHANGELOG_FILE),
        current,
        damaged,
    }))
}

/// The folder must bear the name of its dataset, or two folders could claim one slug.
fn check_name(folder: &DatasetFolder, manifest: &Manifest) -> Result<(), CatalogError> {
    if folder.path().file_name().is_some_and(|name| name == manifest.slug.as_str()) {
        return Ok(());
    }
    let message = format!("the slug `{}` is not the name of the folder", manifest.slug);
    Err(CatalogError::Manifest { path: folder.file(MANIFEST_FILE), line: 1, column: 1, message })
}

/// What the operator says about the front of the list goes before what the publisher says.
fn is_featured(folder: &DatasetFolder, by_publisher: bool) -> Result<bool, CatalogError> {
    let path = folder.file(FEATURED_FILE);
    match text_file::read_optional(&path, MARK_SIZE_BYTES_MAX)?.as_deref().map(str::trim) {
        None => Ok(by_publisher),
        Some("on") => Ok(true),
        Some("off") => Ok(false),
        Some(found) => Err(CatalogError::Featured { path, found: found.to_owned() }),
    }
}

/// Versions whose file is gone while walks go on over them.
fn still_walked(known: &Known<'_>, mark: &FolderMark, now: Moment) -> Vec<DatasetVersion> {
    let gone = known.versions.iter().filter(|version| !mark.stores.contains_key(&version.version));
    let mut held: Vec<DatasetVersion> =
        gone.chain(known.held).filter(|version| version.is_walked(now)).cloned().collect();
    held.sort_by_key(|version| std::cmp::Reverse(version.walked_at()));
    held.truncate(HELD_VERSION_COUNT_MAX);
    held
}

type Opened = (Vec<DatasetVersion>, Vec<(Version, String)>);

/// Opens the versions, the highest first. Tables that did not change are kept open.
fn open_versions(folder: &DatasetFolder, mark: &FolderMark, known: &Known<'_>) -> Opened {
    let mut opened: Opened = (Vec::new(), Vec::new());
    for (version, file) in mark.stores.iter().rev().take(OPEN_VERSION_COUNT_MAX) {
        let unchanged = known.mark.is_some_and(|before| before.stores.get(version) == Some(file));
        let kept = known.versions.iter().find(|present| unchanged && present.version == *version);
        if let Some(kept) = kept {
            opened.0.push(kept.clone());
            continue;
        }
        let path = folder.store(version);
        match Table::open(&path) {
            Ok(table) => {
                opened.0.push(DatasetVersion::new(version.clone(), Arc::new(table), file.moment(), path))
            }
            Err(error) => opened.1.push((version.clone(), without_path(&error))),
        }
    }
    opened
}

/// The reader names the file itself, and once is enough.
fn without_path(error: &FormatError) -> String {
    match error {
        FormatError::File { source, .. } => source.to_string(),
        other => other.to_string(),
    }
}

/// The highest version, unless the `current` file names another one.
fn choose_current(
    folder: &DatasetFolder,
    mark: &FolderMark,
    versions: &[DatasetVersion],
    damaged: &[(Version, String)],
) -> Result<DatasetVersion, CatalogError> {
    let wanted = match text_file::read_optional(&folder.file(CURRENT_FILE), MARK_SIZE_BYTES_MAX)? {
        Some(text) => Version::parse(text.trim())
            .ok()
            .filter(|version| mark.stores.contains_key(version))
            .ok_or_else(|| CatalogError::DanglingCurrent { path: folder.file(CURRENT_FILE), found: text })?,
        None => mark.stores.keys().next_back().cloned().unwrap_or(Version::new(0, 0, 0)),
    };
    if let Some(version) = versions.iter().find(|version| version.version == wanted) {
        return Ok(version.clone());
    }
    let reason = damaged.iter().find(|(version, _)| *version == wanted).map(|(_, reason)| reason.clone());
    let message =
        reason.unwrap_or_else(|| format!("not among the {OPEN_VERSION_COUNT_MAX} highest versions"));
    Err(CatalogError::Store { path: folder.store(&wanted), message })
}

/// Store files by version.
pub(super) fn store_files(versions: &Path) -> Result<BTreeMap<Version, PathBuf>, CatalogError> {
    let listing = match fs::read_dir(versions) {
        Ok(listing) => listing,
        Err(error) if is_absence(&error) => return Ok(BTreeMap::new()),
        Err(error) => return Err(CatalogError::io(versions, "list it", error)),
    };
    let mut files = BTreeMap::new();
    for item in listing {
        let item = item.map_err(|error| CatalogError::io(versions, "list it", error))?;
        if let Some(version) = item.file_name().to_str().and_then(version_of_file_name) {
            files.insert(version, item.path());
        }
    }
    Ok(files)
}

/// When a file or folder last changed.
pub(super) fn modified_at(path: &Path) -> Option<Moment> {
    mark_of(path).ok().flatten().map(|mark| mark.moment())
}

fn mark_of(path: &Path) -> Result<Option<FileMark>, CatalogError> {
    match fs::metadata(path) {
        Ok(metadata) => Ok(Some(mark_from(&metadata))),
        Err(error) if is_absence(&error) => Ok(None),
        Err(error) => Err(CatalogError::io(path, "look at it", error)),
    }
}

fn mark_from(metadata: &Metadata) -> FileMark {
    use std::os::unix::fs::MetadataExt;
    let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    FileMark {
        modified_nanos: modified.unwrap_or_default().as_nanos(),
        length: metadata.len(),
        inode: metadata.ino(),
    }
}

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
