//! The folder of a dataset as a whole, for those who keep it elsewhere and lay out copies of it.
//!
//! Does not depend on where copies come from or go to.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{MutexGuard, PoisonError};

use mercato_format::outline::inflate;
use semver::Version;

pub use super::files::data_directory::UNPUBLISHED_FILE;
use super::files::text_file;
pub use super::load::TEXT_FILES;
use super::load::{FolderMark, MARK_SIZE_BYTES_MAX, store_files};
use super::publish::record::read_moment;
pub(crate) use super::publish::{remove_file, rename, replace_file};
use super::{Catalog, CatalogError, DataDirectory, DatasetFolder, Slug};
use mercato_base::clock::Moment;

/// The texts of a folder, by the name of the file.
pub fn texts_of(folder: &DatasetFolder) -> Result<BTreeMap<&'static str, String>, CatalogError> {
    let mut texts = BTreeMap::new();
    for (name, limit) in TEXT_FILES {
        if let Some(text) = text_file::read_optional(&folder.file(name), limit)? {
            texts.insert(name, text);
        }
    }
    Ok(texts)
}

/// Makes the texts of a folder those. Files that have their content already are left alone.
pub fn put_texts(folder: &DatasetFolder, texts: &BTreeMap<&'static str, String>) -> Result<(), CatalogError> {
    let versions = folder.versions();
    fs::create_dir_all(&versions).map_err(|error| CatalogError::io(&versions, "create it", error))?;
    for (name, limit) in TEXT_FILES {
        let (path, wanted) = (folder.file(name), texts.get(name).map(String::as_str));
        let found = text_file::read_optional(&path, limit);
        if !matches!(&found, Ok(found) if found.as_deref() == wanted) {
            replace_file(&path, wanted)?;
        }
    }
    Ok(())
}

/// The versions of a folder with their store files.
pub fn versions_of(folder: &DatasetFolder) -> Result<BTreeMap<Version, PathBuf>, CatalogError> {
    store_files(&folder.versions())
}

/// Writes an outline as a sparse file at `to`, whose store file has that length.
pub fn put_outline(outline: &[u8], length: u64, to: &Path) -> Result<(), CatalogError> {
    let fault = |message: String| CatalogError::Store { path: to.to_owned(), message };
    remove_file(to)?;
    match inflate(outline, to) {
        Ok(found) if found == length => Ok(()),
        Ok(found) => Err(fault(format!("an outline of {found} bytes, where {length} were expected"))),
        Err(error) => Err(fault(error.to_string())),
    }
}

/// Records the time of the last change of a catalogue that was copied, unless a later one is recorded.
pub fn note_changed(directory: &DataDirectory, at: Moment) -> Result<(), CatalogError> {
    let path = directory.changed();
    let noted = text_file::read_optional(&path, MARK_SIZE_BYTES_MAX).ok().flatten();
    match noted.as_deref().and_then(read_moment) {
        Some(noted) if noted >= at => Ok(()),
        _ => replace_file(&path, Some(&format!("{}\n", at.rfc3339()))),
    }
}

/// While this lives, no folder is loaded.
pub struct Held<'a>(
    #[expect(dead_code, reason = "held for its lock")]
    MutexGuard<'a, std::collections::HashMap<Slug, FolderMark>>,
);

/// Why a copy is not here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyCause {
    /// The object store is away, or refuses.
    Store,
    /// The disk of the copies is full, or fails.
    Disk,
    /// The copies may not take so much room.
    Room,
    /// What is published is damaged, or not there.
    Content,
}

/// A published dataset, or a version of it, that cannot be copied to this machine at present.
#[derive(Debug, Clone)]
pub struct CopyFault {
    pub slug: Slug,
    /// None: nothing of the dataset.
    pub version: Option<Version>,
    pub cause: CopyCause,
    /// For the operator: it names files.
    pub reason: String,
}

impl Catalog {
    /// Keeps every folder from being loaded while several of its files change.
    pub fn hold(&self) -> Held<'_> {
        Held(self.marks.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Says how to hear at once of versions that other servers published, and whether a dataset without a folder is published
    /// elsewhere. `faults`, where the folders are copies: what cannot be copied. A change to copies by an operator of this server
    /// would be lost.
    pub fn follow(
        &self,
        refresh: Box<dyn Fn() + Send + Sync>,
        is_missing: Box<dyn Fn(&Slug) -> bool + Send + Sync>,
        faults: Option<Box<dyn Fn() -> Vec<CopyFault> + Send + Sync>>,
    ) {
        // A second one has no use for it.
        drop(self.followed.set(super::Followed { refresh, is_missing, faults }));
    }

    /// Looks for versions that other servers published, where there are such.
    pub fn refresh(&self) {
        if let Some(followed) = self.followed.get() {
            (followed.refresh)();
        }
    }

    /// Whether a dataset that is not served here is published, and could not be copied yet.
    pub fn is_missing(&self, slug: &Slug) -> bool {
        self.followed.get().is_some_and(|followed| (followed.is_missing)(slug))
    }

    /// Whether the folders are copies of what is published elsewhere.
    pub fn is_copy(&self) -> bool {
        self.followed.get().is_some_and(|followed| followed.faults.is_some())
    }

    /// What cannot be copied to this machine at present; nothing where the folders are no copies.
    pub fn copy_faults(&self) -> Option<Vec<CopyFault>> {
        Some(self.followed.get()?.faults.as_ref()?())
    }
}
