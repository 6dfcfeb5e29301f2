//! Loads a dataset from its folder and reopens only changed store files.
//!
//! Does not depend on other datasets.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mercato_format::{Fingerprint, FormatError, Table};
use semver::Version;

use crate::choose::choose;
use crate::error::CatalogError;
use crate::files::data_directory::{
    CHANGELOG_FILE, CURRENT_FILE, DatasetFolder, FEATURED_FILE, MANIFEST_FILE, METHODOLOGY_FILE, RECORD_FILE,
    UNPUBLISHED_FILE, version_of_file_name, version_of_outline_name, version_of_parquet_name,
};
use crate::files::file_identity::{FileIdentity, is_absence};
use crate::files::parquet_file::ParquetFile;
use crate::files::text_file;
use crate::manifest::{MANIFEST_SIZE_BYTES_MAX, Manifest};
use crate::publish::record::{RECORD_SIZE_BYTES_MAX, Record};
use crate::snapshot::dataset::{Dataset, DatasetVersion, HELD_VERSION_COUNT_MAX, Standing};
use crate::verification::verified_marks::{Verdict, VerifiedMarks};
use mercato_base::clock::Moment;

/// Size limit of methodology and changelog.
pub const DOCUMENT_SIZE_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Number of versions of one dataset that are opened, highest first.
pub const OPEN_VERSION_COUNT_MAX: usize = 16;
/// Size limit of a mark, such as the name of the current version.
pub(super) const MARK_SIZE_BYTES_MAX: u64 = 256;

/// The file marks of a dataset's folder.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct FolderMark {
    files: BTreeMap<&'static str, FileIdentity>,
    /// Of each version the store file, or else the outline.
    stores: BTreeMap<Version, FileIdentity>,
    parquets: BTreeMap<Version, FileIdentity>,
}

/// The texts and marks in the folder of a dataset, with the most bytes of each. Copies appear in this order: a folder without
/// a manifest is not published.
pub const TEXT_FILES: [(&str, u64); 7] = [
    (UNPUBLISHED_FILE, MARK_SIZE_BYTES_MAX),
    (CURRENT_FILE, MARK_SIZE_BYTES_MAX),
    (FEATURED_FILE, MARK_SIZE_BYTES_MAX),
    (RECORD_FILE, RECORD_SIZE_BYTES_MAX),
    (METHODOLOGY_FILE, DOCUMENT_SIZE_BYTES_MAX),
    (CHANGELOG_FILE, DOCUMENT_SIZE_BYTES_MAX),
    (MANIFEST_FILE, MANIFEST_SIZE_BYTES_MAX),
];

impl FolderMark {
    /// Reads the marks without opening a file.
    pub(super) fn of(folder: &DatasetFolder) -> Result<Self, CatalogError> {
        let mut mark = Self::default();
        for (name, _) in TEXT_FILES {
            if let Some(file) = FileIdentity::of(&folder.file(name))? {
                mark.files.insert(name, file);
            }
        }
        let VersionFiles { stores, parquets, outlines } = VersionFiles::of(&folder.versions())?;
        // A store file stands for its outline, too.
        let opened = outlines.into_iter().chain(stores).collect();
        for (paths, marks) in [(opened, &mut mark.stores), (parquets, &mut mark.parquets)] {
            for (version, path) in paths {
                if let Some(file) = FileIdentity::of(&path)? {
                    marks.insert(version, file);
                }
            }
        }
        Ok(mark)
    }

    /// Whether the dataset is published: a manifest, a version, and no mark of unpublishing.
    fn is_offered(&self) -> bool {
        let has = |name| self.files.contains_key(name);
        has(MANIFEST_FILE) && !has(UNPUBLISHED_FILE) && !self.stores.is_empty()
    }
}

/// The state loaded before, to reopen only changed files.
#[derive(Default)]
pub(super) struct Known<'a> {
    pub(super) mark: Option<&'a FolderMark>,
    pub(super) dataset: Option<&'a Dataset>,
}

impl Known<'_> {
    /// Whether the store file of a version is unchanged.
    fn is_unchanged(&self, version: &Version, file: &FileIdentity) -> bool {
        self.mark.is_some_and(|before| before.stores.get(version) == Some(file))
    }
}

/// Loads the dataset of a folder; `None` when it is not published.
pub(super) fn load(
    folder: &DatasetFolder,
    mark: &FolderMark,
    known: &Known<'_>,
    verified_marks: &VerifiedMarks,
    now: Moment,
) -> Result<Option<Dataset>, CatalogError> {
    if !mark.is_offered() {
        return Ok(None);
    }
    let texts = Texts::read(folder)?;
    let mut manifest = Manifest::parse(&texts.manifest, &folder.file(MANIFEST_FILE))?;
    if !manifest.published {
        return Ok(None);
    }
    check_name(folder, &manifest)?;
    manifest.featured = is_featured(folder, texts.featured.as_deref(), manifest.featured)?;
    let (record, record_fault) = match Record::read(folder) {
        Ok(record) => (record, None),
        Err(error) => (None, Some(error.to_string())),
    };
    let wanted = wanted_version(folder, mark, texts.current.as_deref())?;
    let opening = Opening { folder, slug: manifest.slug.as_str(), record: record.as_ref(), verified_marks };
    let (versions, damaged) = opening.open_versions(mark, known);
    let serving = known.dataset.map(|dataset| &dataset.current);
    let Some(current) = choose(&wanted, &versions, serving) else {
        return Err(cannot_serve(folder, &wanted, &damaged));
    };
    let times = texts.times(record.as_ref(), mark);
    let manifest_at = times.get(MANIFEST_FILE).copied().unwrap_or(current.published_at);
    let time_of = |name| times.get(name).copied().unwrap_or(manifest_at);
    let by_command = record.as_ref().and_then(Record::changed_at);
    let changes = times.values().copied().chain(by_command);
    Ok(Some(Dataset {
        updated_at: changes.fold(current.published_at, Moment::max),
        methodology_updated_at: time_of(METHODOLOGY_FILE),
        changelog_updated_at: time_of(CHANGELOG_FILE),
        held: held_for_cursors(known, mark, &versions, now),
        manifest,
        versions,
        methodology: texts.methodology.unwrap_or_default(),
        changelog: texts.changelog.unwrap_or_default(),
        current,
        wanted,
        damaged,
        record_fault,
    }))
}

/// The text files of a folder.
struct Texts {
    manifest: String,
    methodology: Option<String>,
    changelog: Option<String>,
    current: Option<String>,
    featured: Option<String>,
}

impl Texts {
    fn read(folder: &DatasetFolder) -> Result<Self, CatalogError> {
        let optional = |name: &str, limit| text_file::read_optional(&folder.file(name), limit);
        Ok(Self {
            manifest: text_file::read(&folder.file(MANIFEST_FILE), MANIFEST_SIZE_BYTES_MAX)?,
            methodology: optional(METHODOLOGY_FILE, DOCUMENT_SIZE_BYTES_MAX)?,
            changelog: optional(CHANGELOG_FILE, DOCUMENT_SIZE_BYTES_MAX)?,
            current: optional(CURRENT_FILE, MARK_SIZE_BYTES_MAX)?,
            featured: optional(FEATURED_FILE, MARK_SIZE_BYTES_MAX)?,
        })
    }

    /// When each text last changed: as recorded, else as the file system says.
    fn times(&self, record: Option<&Record>, mark: &FolderMark) -> BTreeMap<&'static str, Moment> {
        let present = [
            (MANIFEST_FILE, Some(&self.manifest)),
            (METHODOLOGY_FILE, self.methodology.as_ref()),
            (CHANGELOG_FILE, self.changelog.as_ref()),
            (CURRENT_FILE, self.current.as_ref()),
            (FEATURED_FILE, self.featured.as_ref()),
        ];
        let time = |(name, text): (&'static str, Option<&String>)| {
            let recorded = record.and_then(|record| record.file_changed_at(name, text?));
            Some((name, recorded.or_else(|| mark.files.get(name).map(FileIdentity::moment))?))
        };
        present.into_iter().filter(|(_, text)| text.is_some()).filter_map(time).collect()
    }
}

/// The folder must have the name of its dataset, or two folders could claim one slug.
fn check_name(folder: &DatasetFolder, manifest: &Manifest) -> Result<(), CatalogError> {
    if folder.path().file_name().is_some_and(|name| name == manifest.slug.as_str()) {
        return Ok(());
    }
    let message = format!("the slug `{}` is not the name of the folder", manifest.slug);
    Err(CatalogError::Manifest { path: folder.file(MANIFEST_FILE), line: 1, column: 1, message })
}

/// The operator's choice overrides the manifest.
fn is_featured(
    folder: &DatasetFolder,
    by_operator: Option<&str>,
    by_publisher: bool,
) -> Result<bool, CatalogError> {
    match by_operator.map(str::trim) {
        None => Ok(by_publisher),
        Some("on") => Ok(true),
        Some("off") => Ok(false),
        Some(found) => {
            Err(CatalogError::Featured { path: folder.file(FEATURED_FILE), found: found.to_owned() })
        }
    }
}

/// Removed and evicted versions that cursors or streams still read.
fn held_for_cursors(
    known: &Known<'_>,
    mark: &FolderMark,
    opened: &[DatasetVersion],
    now: Moment,
) -> Vec<DatasetVersion> {
    let Some(before) = known.dataset else { return Vec::new() };
    let is_gone = |version: &&DatasetVersion| match opened.iter().find(|open| open.version == version.version)
    {
        Some(open) => open.is_away() && !version.is_away(),
        None => !mark.stores.contains_key(&version.version),
    };
    let gone = before.versions.iter().filter(is_gone);
    let mut held: Vec<DatasetVersion> =
        gone.chain(&before.held).filter(|version| version.has_recent_cursor(now)).cloned().collect();
    held.sort_by_key(|version| std::cmp::Reverse(version.last_cursor_at()));
    held.truncate(HELD_VERSION_COUNT_MAX);
    held
}

type Opened = (Vec<DatasetVersion>, Vec<(Version, String)>);

/// The context for opening the versions of a folder.
struct Opening<'a> {
    folder: &'a DatasetFolder,
    slug: &'a str,
    record: Option<&'a Record>,
    verified_marks: &'a VerifiedMarks,
}

impl Opening<'_> {
    /// Opens the versions, highest first. Unchanged tables stay open.
    fn open_versions(&self, mark: &FolderMark, known: &Known<'_>) -> Opened {
        let mut opened: Opened = (Vec::new(), Vec::new());
        for (version, file) in mark.stores.iter().rev().take(OPEN_VERSION_COUNT_MAX) {
            let before = known.dataset.filter(|_| known.is_unchanged(version, file));
            let kept = before.and_then(|before| before.versions.iter().find(|one| one.version == *version));
            match kept.map_or_else(|| self.open(version, file), |kept| Ok(self.keep(kept))) {
                Ok(version) => opened.0.push(version),
                Err(reason) => opened.1.push((version.clone(), reason)),
            }
        }
        opened
    }

    /// The unchanged version with facts of the current record.
    fn keep(&self, kept: &DatasetVersion) -> DatasetVersion {
        let mut kept = kept.clone();
        let content = kept.table.fingerprint();
        if let Some(record) = self.record {
            kept.published_at = record.published_at(&kept.version, content).unwrap_or(kept.published_at);
            if !kept.is_verified() && record.certifies(&kept.version, content, &kept.identity) {
                kept.set_verified();
            }
            // A Parquet file that was restored or removed.
            let found = self.find_parquet(&kept.version, content);
            let is_same = match (&kept.parquet, &found) {
                (Some(kept), Some(found)) => kept.is_same(found),
                (kept, found) => kept.is_none() && found.is_none(),
            };
            if !is_same {
                kept.parquet = found.map(Arc::new);
            }
        }
        kept
    }

    /// Opens a version, or returns the reason why it cannot be served.
    fn open(&self, version: &Version, file: &FileIdentity) -> Result<DatasetVersion, String> {
        let mut path = self.folder.store(version);
        let mut opened = Table::open(&path);
        let is_away =
            matches!(&opened, Err(error) if is_missing(error)) && self.folder.outline(version).exists();
        if is_away {
            path = self.folder.outline(version);
            opened = Table::open(&path);
        }
        let table = opened.map_err(|error| without_path(&error))?;
        let identity = FileIdentity::of(&path).ok().flatten().ok_or("it was removed while it was opened")?;
        let content = table.fingerprint();
        let is_verified = !is_away
            && match self.verified_marks.verdict(self.slug, version, &identity) {
                // The file was replaced before it was opened; the next reload sees that.
                _ if identity != *file => false,
                Some(Verdict::Sound) => true,
                Some(Verdict::Damaged(reason)) => return Err(reason),
                Some(Verdict::Doubtful) => false,
                None => self.record.is_some_and(|record| record.certifies(version, content, &identity)),
            };
        let recorded = self.record.and_then(|record| record.published_at(version, content));
        let published_at = recorded.unwrap_or(file.moment());
        let parquet = self.find_parquet(version, content);
        let standing = match (is_away, is_verified) {
            (true, _) => Standing::Away,
            (false, true) => Standing::Verified,
            (false, false) => Standing::Unverified,
        };
        Ok(DatasetVersion::new(version.clone(), table, published_at, path, identity, parquet, standing))
    }

    /// The Parquet file of a version, if it was published with one.
    fn find_parquet(&self, version: &Version, content: Fingerprint) -> Option<ParquetFile> {
        let fact = self.record?.parquet(version, content)?;
        ParquetFile::find(self.folder.parquet(version), fact, content)
    }
}

/// Whether there is no such file.
fn is_missing(error: &FormatError) -> bool {
    match error {
        FormatError::File { source, .. } => is_missing(source),
        FormatError::Io { source, .. } => is_absence(source),
        _ => false,
    }
}

/// Drops the path from the reader's message: the caller adds it.
fn without_path(error: &FormatError) -> String {
    match error {
        FormatError::File { source, .. } => source.to_string(),
        other => other.to_string(),
    }
}

/// The version in the `current` file, else the highest.
fn wanted_version(
    folder: &DatasetFolder,
    mark: &FolderMark,
    current: Option<&str>,
) -> Result<Version, CatalogError> {
    match current {
        Some(text) => {
            Version::parse(text.trim()).ok().filter(|version| mark.stores.contains_key(version)).ok_or_else(
                || CatalogError::DanglingCurrent { path: folder.file(CURRENT_FILE), found: text.to_owned() },
            )
        }
        None => Ok(mark.stores.keys().next_back().cloned().unwrap_or(Version::new(0, 0, 0))),
    }
}

fn cannot_serve(folder: &DatasetFolder, wanted: &Version, damaged: &[(Version, String)]) -> CatalogError {
    let reason = damaged.iter().find(|(version, _)| version == wanted).map(|(_, reason)| reason.clone());
    let message =
        reason.unwrap_or_else(|| format!("not among the {OPEN_VERSION_COUNT_MAX} highest versions"));
    CatalogError::Store { path: folder.store(wanted), message }
}

pub(super) fn store_files(versions: &Path) -> Result<BTreeMap<Version, PathBuf>, CatalogError> {
    Ok(VersionFiles::of(versions)?.stores)
}

/// The files of versions, by version.
#[derive(Debug, Default)]
pub(super) struct VersionFiles {
    pub(super) stores: BTreeMap<Version, PathBuf>,
    /// Parquet files, also those without a store file.
    pub(super) parquets: BTreeMap<Version, PathBuf>,
    /// Outlines, also those beside a store file.
    pub(super) outlines: BTreeMap<Version, PathBuf>,
}

impl VersionFiles {
    /// Lists a folder of versions.
    pub(super) fn of(versions: &Path) -> Result<Self, CatalogError> {
        let listing = match fs::read_dir(versions) {
            Ok(listing) => listing,
            Err(error) if is_absence(&error) => return Ok(Self::default()),
            Err(error) => return Err(CatalogError::io(versions, "list it", error)),
        };
        let mut files = Self::default();
        for item in listing {
            let item = item.map_err(|error| CatalogError::io(versions, "list it", error))?;
            let name = item.file_name();
            let Some(name) = name.to_str() else { continue };
            if let Some(version) = version_of_file_name(name) {
                files.stores.insert(version, item.path());
            } else if let Some(version) = version_of_parquet_name(name) {
                files.parquets.insert(version, item.path());
            } else if let Some(version) = version_of_outline_name(name) {
                files.outlines.insert(version, item.path());
            }
        }
        Ok(files)
    }
}

/// Modification time of a file or folder.
pub(super) fn modified_at(path: &Path) -> Option<Moment> {
    FileIdentity::of(path).ok().flatten().map(|identity| identity.moment())
}
