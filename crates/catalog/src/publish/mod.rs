//! Publishes, unpublishes and rolls back datasets by atomic file changes.
//!
//! Every file is written under a temporary name, synced and renamed. The store file follows the texts, so the version
//! becomes visible with them; marks that change visibility go last. Does not depend on Parquet: the caller writes the
//! store file, and the Parquet file beside it.

pub(super) mod compatibility;
pub(super) mod record;

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};

use mercato_format::{Fingerprint, Table};
use semver::Version;

use crate::error::CatalogError;
use crate::files::data_directory::{
    CHANGELOG_FILE, CURRENT_FILE, DataDirectory, DatasetFolder, FEATURED_FILE, MANIFEST_FILE,
    METHODOLOGY_FILE, RECORD_FILE, UNPUBLISHED_FILE,
};
use crate::files::file_identity::FileIdentity;
use crate::files::parquet_file::ParquetFact;
use crate::files::text_file;
use crate::load::{
    DOCUMENT_SIZE_BYTES_MAX, MARK_SIZE_BYTES_MAX, OPEN_VERSION_COUNT_MAX, VersionFiles, store_files,
};
use crate::manifest::{MANIFEST_SIZE_BYTES_MAX, Manifest};
use crate::publish::compatibility::{BreakingChange, CompatibilityCheck};
use crate::publish::record::{Choices, Record};
use crate::slug::Slug;
use crate::verification::verified_marks::{Verdict, VerifiedMarks};
use mercato_base::clock::{Clock, Moment, SystemClock};

/// Default number of retained versions.
pub const RETAINED_VERSION_COUNT: usize = 3;
/// Maximum number of retained versions.
pub const RETAINED_VERSION_COUNT_MAX: usize = OPEN_VERSION_COUNT_MAX;

/// The result of a publication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    pub slug: String,
    pub version: Version,
    pub path: PathBuf,
    pub rows: u32,
    pub bytes: u64,
    /// Size of the Parquet file, if one was written.
    pub parquet_bytes: Option<u64>,
    /// Versions removed by the retention limit.
    pub removed: Vec<Version>,
    /// Breaking changes of the version.
    pub breaking_changes: Vec<BreakingChange>,
}

/// Why a publication failed.
#[derive(Debug, thiserror::Error)]
pub enum PublishError<E> {
    /// The catalog refused the publication.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// The store file could not be written.
    #[error("{0}")]
    Store(E),
}

/// A request to publish a version.
pub struct PublishRequest<'a> {
    pub data: &'a DataDirectory,
    /// The folder with `dataset.toml` and the texts.
    pub folder: &'a Path,
    /// The version, higher than all published ones.
    pub version: &'a Version,
    /// Retained versions, 1 to [`RETAINED_VERSION_COUNT_MAX`]; by default the manifest's number or
    /// [`RETAINED_VERSION_COUNT`].
    pub keep: Option<usize>,
    /// Conversion choices, recorded for the next publication.
    pub choices: Option<Choices>,
    /// Whether breaking changes are allowed with any version number.
    pub allows_breaking: bool,
    /// The clock of the publication time.
    pub clock: &'a dyn Clock,
}

impl<'a> PublishRequest<'a> {
    /// A request with default options.
    pub fn new(data: &'a DataDirectory, folder: &'a Path, version: &'a Version) -> Self {
        Self { data, folder, version, keep: None, choices: None, allows_breaking: false, clock: &SystemClock }
    }
}

/// Publishes a version of the dataset in `folder` with default options; see [`publish_by`].
pub fn publish<E>(
    data: &DataDirectory,
    folder: &Path,
    version: &Version,
    write_store: impl FnOnce(&Path) -> Result<(), E>,
) -> Result<Published, PublishError<E>> {
    publish_by(PublishRequest::new(data, folder, version), |path, _| write_store(path))
}

/// Publishes a version.
///
/// `write_store` writes, syncs and verifies the store file at the given path, as `TableWriter::commit` does; the server
/// trusts that verification. It can check its columns for compatibility as soon as it knows them; they are checked
/// again in any case. It runs before anything becomes visible; when it fails, nothing changes.
///
/// It may write the rows also as Parquet, under the same name with the extension `parquet`, synced and compared with the
/// store file. That file is then served as a download.
pub fn publish_by<E>(
    request: PublishRequest<'_>,
    write_store: impl FnOnce(&Path, &CompatibilityCheck) -> Result<(), E>,
) -> Result<Published, PublishError<E>> {
    let PublishRequest { data, folder, version, keep, choices, allows_breaking, clock } = request;
    let manifest = Manifest::load(folder)?;
    let texts = read_texts(folder)?;
    let target = data.dataset(&manifest.slug);
    let versions = target.versions();
    fs::create_dir_all(&versions).map_err(|error| CatalogError::io(&versions, "create it", error))?;
    let _lock = lock(&target)?;
    check_version(&target, &manifest.slug, version)?;
    remove_leftovers(&versions)?;
    let mut record = Record::read(&target)?.unwrap_or_default();
    let changelog =
        texts.iter().find(|(name, _)| *name == CHANGELOG_FILE).and_then(|(_, text)| text.as_deref());
    let compatibility =
        CompatibilityCheck::read(&target, &manifest.slug, version, changelog, allows_breaking)?;

    let incoming = target.incoming_store(version);
    write_store(&incoming, &compatibility).map_err(PublishError::Store)?;
    let table = open_store(&incoming)?;
    let columns = table.columns().iter().map(|column| (column.name.as_str(), column.kind));
    let breaking_changes = compatibility.check(columns).inspect_err(|_| discard(&target, version))?;
    let now = clock.now();
    for (name, text) in texts {
        replace_file(&target.file(name), text.as_deref())?;
        record.note_file(name, text.as_deref(), now);
    }
    let verified = FileIdentity::of(&incoming)?;
    record.note_version(version, table.fingerprint(), choices, now);
    let parquet = place_parquet(&target, version, table.fingerprint())?;
    let parquet_bytes = parquet.as_ref().map(ParquetFact::bytes);
    record.note_parquet(version, parquet);
    record.note_change(now);
    // The record goes before the store file, so that a server finds both.
    replace_file(&target.file(RECORD_FILE), Some(&record.to_text()))?;
    let path = target.store(version);
    rename(&incoming, &path)?;
    // The marks go last: after a crash before this point, an unpublished or rolled-back dataset stays so.
    replace_file(&target.file(CURRENT_FILE), None)?;
    replace_file(&target.file(UNPUBLISHED_FILE), None)?;
    let keep = keep.or(manifest.keep_versions).unwrap_or(RETAINED_VERSION_COUNT);
    let removed = retire(&target, version, keep)?;
    record.note_file(CURRENT_FILE, None, now);
    record.keep_only(|kept| target.store(kept).is_file());
    // A rename changes the identity, so the verified file is noted in its place only.
    if let Some((identity, verified)) = FileIdentity::of(&path)?.zip(verified)
        && identity.is_moved(&verified)
    {
        record.note_verified(version, identity);
    }
    replace_file(&target.file(RECORD_FILE), Some(&record.to_text()))?;
    touch_changed(data, now)?;
    Ok(Published {
        slug: manifest.slug.to_string(),
        version: version.clone(),
        path,
        rows: table.row_count(),
        bytes: table.file_bytes(),
        parquet_bytes,
        removed,
        breaking_changes,
    })
}

/// Removes the files of a refused version.
fn discard(target: &DatasetFolder, version: &Version) {
    for path in [target.incoming_store(version), target.incoming_parquet(version)] {
        drop(fs::remove_file(path));
    }
}

/// Puts the Parquet file in its place, if one was written. Nobody looks for it before the store file is in place.
fn place_parquet(
    target: &DatasetFolder,
    version: &Version,
    content: Fingerprint,
) -> Result<Option<ParquetFact>, CatalogError> {
    let incoming = target.incoming_parquet(version);
    let Some(fact) = ParquetFact::of(&incoming, content)? else { return Ok(None) };
    rename(&incoming, &target.parquet(version))?;
    Ok(Some(fact))
}

/// The conversion choices of the last recorded version, if any.
pub fn last_choices(data: &DataDirectory, slug: &Slug) -> Result<Option<(Version, Choices)>, CatalogError> {
    Ok(Record::read(&data.dataset(slug))?.and_then(|record| record.last_choices()))
}

/// The version of a dataset that is served, and its store file: after a rollback that version, else the highest. `None`
/// without a version.
pub fn current_store(data: &DataDirectory, slug: &Slug) -> Result<Option<(Version, PathBuf)>, CatalogError> {
    let target = data.dataset(slug);
    let files = store_files(&target.versions())?;
    let path = target.file(CURRENT_FILE);
    let Some(text) = text_file::read_optional(&path, MARK_SIZE_BYTES_MAX)? else {
        return Ok(files.into_iter().next_back());
    };
    let marked = Version::parse(text.trim()).ok().and_then(|version| files.get_key_value(&version));
    match marked {
        Some((version, path)) => Ok(Some((version.clone(), path.clone()))),
        None => Err(CatalogError::DanglingCurrent { path, found: text }),
    }
}

/// Unpublishes a dataset. Its files stay; [`republish`] or a later publication restores it.
pub fn unpublish(data: &DataDirectory, slug: &Slug) -> Result<(), CatalogError> {
    let target = existing(data, slug)?;
    let _lock = lock(&target)?;
    replace_file(&target.file(UNPUBLISHED_FILE), Some(""))?;
    touch_changed(data, SystemClock.now())
}

/// Publishes an unpublished dataset again, with the version that was served last. Returns that version.
pub fn republish(data: &DataDirectory, slug: &Slug, rows: Rows) -> Result<Version, CatalogError> {
    let target = existing(data, slug)?;
    let _lock = lock(&target)?;
    refuse_withheld(&target)?;
    let Some((version, path)) = current_store(data, slug)? else {
        return Err(CatalogError::NotPublished { slug: slug.to_string() });
    };
    check_store(data, &target, slug, &version, &path, rows)?;
    set_mark(data, &target, UNPUBLISHED_FILE, None)?;
    Ok(version)
}

/// Features a dataset or not, or (`None`) leaves the choice to its manifest.
pub fn feature(data: &DataDirectory, slug: &Slug, featured: Option<bool>) -> Result<(), CatalogError> {
    let target = existing(data, slug)?;
    let _lock = lock(&target)?;
    let content = featured.map(|on| if on { "on\n" } else { "off\n" });
    set_mark(data, &target, FEATURED_FILE, content)
}

/// Whether the rows of the store files are in this data directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rows {
    Here,
    /// Outlines stand in their place. Servers compare the rows when they fetch them.
    Away,
}

/// Makes an older version the current one, until the next publication. Refuses a damaged version and an unpublished dataset,
/// which would serve nothing.
pub fn rollback(data: &DataDirectory, slug: &Slug, to: &Version, rows: Rows) -> Result<(), CatalogError> {
    let target = existing(data, slug)?;
    let _lock = lock(&target)?;
    let files = store_files(&target.versions())?;
    let Some(path) = files.get(to) else {
        let kept: Vec<String> = files.keys().map(ToString::to_string).collect();
        return Err(CatalogError::NoSuchVersion {
            slug: slug.to_string(),
            version: to.clone(),
            kept: kept.join(", "),
        });
    };
    refuse_withheld(&target)?;
    if target.file(UNPUBLISHED_FILE).exists() {
        return Err(CatalogError::Unpublished { slug: slug.to_string() });
    }
    check_store(data, &target, slug, to, path, rows)?;
    // Written also for the highest version: the last change invalidates caches.
    set_mark(data, &target, CURRENT_FILE, Some(&format!("{to}\n")))
}

/// Refuses a dataset that its manifest withholds.
fn refuse_withheld(target: &DatasetFolder) -> Result<(), CatalogError> {
    let manifest = Manifest::load(target.path())?;
    if manifest.published {
        return Ok(());
    }
    Err(CatalogError::Withheld { slug: manifest.slug.to_string() })
}

/// Refuses a damaged store file. One that its publication or a server verified is not read again, unless it changed since.
fn check_store(
    data: &DataDirectory,
    target: &DatasetFolder,
    slug: &Slug,
    version: &Version,
    path: &Path,
    rows: Rows,
) -> Result<(), CatalogError> {
    let table = open_store(path)?;
    let Some(identity) = FileIdentity::of(path)?.filter(|_| rows == Rows::Here) else { return Ok(()) };
    let damaged =
        |message| CatalogError::Damaged { slug: slug.to_string(), version: version.clone(), message };
    match VerifiedMarks::load(&data.verified()).verdict(slug.as_str(), version, &identity) {
        Some(Verdict::Sound) => return Ok(()),
        Some(Verdict::Damaged(reason)) => return Err(damaged(reason)),
        Some(Verdict::Doubtful) | None => {}
    }
    let record = Record::read(target).ok().flatten();
    if record.is_some_and(|record| record.certifies(version, table.fingerprint(), &identity)) {
        return Ok(());
    }
    table.verify(&|_| {}).map(drop).map_err(|error| damaged(error.to_string()))
}

/// Writes or removes a mark and records the time. An unreadable record does not prevent it.
fn set_mark(
    data: &DataDirectory,
    target: &DatasetFolder,
    name: &str,
    content: Option<&str>,
) -> Result<(), CatalogError> {
    let now = SystemClock.now();
    if let Ok(record) = Record::read(target) {
        let mut record = record.unwrap_or_default();
        record.note_file(name, content, now);
        record.note_change(now);
        replace_file(&target.file(RECORD_FILE), Some(&record.to_text()))?;
    }
    replace_file(&target.file(name), content)?;
    touch_changed(data, now)
}

type Texts = [(&'static str, Option<String>); 3];

/// The manifest goes last: a folder without one is not published.
fn read_texts(folder: &Path) -> Result<Texts, CatalogError> {
    let optional = |name: &str| text_file::read_optional(&folder.join(name), DOCUMENT_SIZE_BYTES_MAX);
    Ok([
        (METHODOLOGY_FILE, optional(METHODOLOGY_FILE)?),
        (CHANGELOG_FILE, optional(CHANGELOG_FILE)?),
        (MANIFEST_FILE, Some(text_file::read(&folder.join(MANIFEST_FILE), MANIFEST_SIZE_BYTES_MAX)?)),
    ])
}

fn existing(data: &DataDirectory, slug: &Slug) -> Result<DatasetFolder, CatalogError> {
    let target = data.dataset(slug);
    if target.file(MANIFEST_FILE).is_file() {
        return Ok(target);
    }
    Err(CatalogError::NotPublished { slug: slug.to_string() })
}

/// Locks a dataset during a change. The system releases the lock when the process ends.
fn lock(target: &DatasetFolder) -> Result<File, CatalogError> {
    let path = target.file(".lock");
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(|error| CatalogError::io(&path, "open it", error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(CatalogError::Locked { path }),
        Err(TryLockError::Error(error)) => Err(CatalogError::io(&path, "lock it", error)),
    }
}

fn check_version(target: &DatasetFolder, slug: &Slug, version: &Version) -> Result<(), CatalogError> {
    let files = store_files(&target.versions())?;
    if files.contains_key(version) {
        return Err(CatalogError::VersionExists { slug: slug.to_string(), version: version.clone() });
    }
    match files.keys().next_back() {
        // Versions that differ in build metadata alone have equal precedence.
        Some(highest) if highest.cmp_precedence(version).is_ge() => Err(CatalogError::VersionNotGreater {
            slug: slug.to_string(),
            version: version.clone(),
            highest: highest.clone(),
        }),
        _ => Ok(()),
    }
}

/// Removes files of an interrupted publication. The lock excludes other writers.
fn remove_leftovers(versions: &Path) -> Result<(), CatalogError> {
    let fault = |error| CatalogError::io(versions, "list it", error);
    for item in fs::read_dir(versions).map_err(fault)? {
        let item = item.map_err(fault)?;
        if item.file_name().to_str().is_some_and(|name| name.starts_with('.')) {
            fs::remove_file(item.path())
                .map_err(|error| CatalogError::io(&item.path(), "remove it", error))?;
        }
    }
    let VersionFiles { stores, parquets, .. } = VersionFiles::of(versions)?;
    parquets
        .iter()
        .filter(|(version, _)| !stores.contains_key(version))
        .try_for_each(|(_, path)| replace_file(path, None))
}

fn open_store(path: &Path) -> Result<Table, CatalogError> {
    Table::open(path)
        .map_err(|error| CatalogError::Store { path: path.to_owned(), message: error.to_string() })
}

/// Removes versions beyond the retention limit. Readers keep a removed version open.
fn retire(target: &DatasetFolder, current: &Version, keep: usize) -> Result<Vec<Version>, CatalogError> {
    let files = store_files(&target.versions())?;
    let mut removed = Vec::new();
    for (version, path) in files.into_iter().rev().skip(keep) {
        if version != *current {
            replace_file(&target.parquet(&version), None)?;
            fs::remove_file(&path).map_err(|error| CatalogError::io(&path, "remove it", error))?;
            removed.push(version);
        }
    }
    Ok(removed)
}

/// Replaces a small file atomically, or removes it.
pub(crate) fn replace_file(path: &Path, content: Option<&str>) -> Result<(), CatalogError> {
    let Some(content) = content else { return remove_file(path) };
    let mut name = std::ffi::OsString::from(".new-");
    name.push(path.file_name().unwrap_or_default());
    let beside = path.with_file_name(name);
    let written = File::create(&beside).and_then(|mut file| {
        file.write_all(content.as_bytes())?;
        file.sync_all()
    });
    written.map_err(|error| CatalogError::io(&beside, "write it", error))?;
    rename(&beside, path)
}

/// Removes a file, if there is one.
pub(crate) fn remove_file(path: &Path) -> Result<(), CatalogError> {
    match fs::remove_file(path) {
        Ok(()) => sync_parent(path),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(CatalogError::io(path, "remove it", error)),
    }
}

pub(crate) fn rename(from: &Path, to: &Path) -> Result<(), CatalogError> {
    fs::rename(from, to).map_err(|error| CatalogError::io(to, "put it in place", error))?;
    sync_parent(to)
}

fn sync_parent(path: &Path) -> Result<(), CatalogError> {
    let parent = path.parent().unwrap_or(path);
    let synced = File::open(parent).and_then(|folder| folder.sync_all());
    synced.map_err(|error| CatalogError::io(parent, "sync it", error))
}

/// Records the time of the last change, which servers watch.
fn touch_changed(data: &DataDirectory, now: Moment) -> Result<(), CatalogError> {
    let path = data.changed();
    let length = fs::metadata(&path).map_or(0, |metadata| metadata.len());
    let moment = now.rfc3339();
    // The length changes too, for file systems with coarse clocks.
    let is_as_long = usize::try_from(length).is_ok_and(|length| length == moment.len().saturating_add(1));
    replace_file(&path, Some(&format!("{moment}{}", if is_as_long { "\n\n" } else { "\n" })))
}
