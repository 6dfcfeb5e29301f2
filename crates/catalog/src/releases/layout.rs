//! Lays heads out as folders of a data directory, so that the catalogue loads them as any other.
//!
//! Beside the folders, `blobs/SLUG.json` says which blobs a folder was made of: a version whose blobs differ is another one,
//! whatever its number. Does not depend on the database, or on which store files are here.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use semver::Version;

use super::head::{Blob, Head, VersionBlobs};
use crate::objects::{Digest, ObjectError, ObjectName, ObjectStore};
use crate::{Catalog, CatalogError, DataDirectory, DatasetFolder, Slug, copy};

/// Begins the names of files that are being fetched; the catalogue passes them over.
pub(super) const FETCHING: &str = ".fetching-";

/// Why a head could not be laid out.
#[derive(Debug, thiserror::Error)]
pub(super) enum LayoutError {
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    #[error(transparent)]
    Object(#[from] ObjectError),
    #[error("{0}: its bytes are not those of its name")]
    Digest(String),
}

/// The blobs of a dataset's versions.
pub(super) type Blobs = BTreeMap<Version, VersionBlobs>;

pub(super) struct Layout {
    pub(super) directory: DataDirectory,
}

impl Layout {
    pub(super) fn folder(&self, slug: &Slug) -> DatasetFolder {
        self.directory.dataset(slug)
    }

    /// Where it is written of which blobs the folders were made.
    pub(super) fn records(&self) -> PathBuf {
        self.directory.root().join("blobs")
    }

    fn record(&self, slug: &Slug) -> PathBuf {
        self.records().join(format!("{slug}.json"))
    }

    /// Removes folders of datasets that are not among `known`, and what interrupted fetches left in the others.
    pub(super) fn prepare(&self, known: impl Fn(&str) -> bool) -> std::io::Result<()> {
        for item in fs::read_dir(self.directory.datasets())? {
            let item = item?;
            if !item.file_type()?.is_dir() {
                continue;
            }
            if !item.file_name().to_str().is_some_and(&known) {
                fs::remove_dir_all(item.path())?;
                continue;
            }
            remove_unfinished(&item.path().join("versions"));
        }
        Ok(())
    }

    /// Lays a head out. Nothing of it is seen before all of it can be, and no store file is fetched. `catalog` is held while
    /// files change. Says which versions were here and are not any more.
    pub(super) fn apply(
        &self,
        slug: &Slug,
        head: &Head,
        store: &ObjectStore,
        catalog: Option<&Catalog>,
    ) -> Result<Vec<Version>, LayoutError> {
        let folder = self.folder(slug);
        fs::create_dir_all(folder.versions())
            .map_err(|error| CatalogError::io(&folder.versions(), "create it", error))?;
        let before = self.blobs(slug);
        let is_same = |version: &Version, blobs: &VersionBlobs| before.get(version) == Some(blobs);
        let mut outlines = Vec::new();
        for (version, blobs) in &head.versions {
            let place = folder.outline(version);
            if !is_same(version, blobs) || !place.exists() {
                let beside = folder.versions().join(format!("{FETCHING}{version}.outline"));
                copy::put_outline(&small(store, &blobs.outline)?, blobs.store.bytes, &beside)?;
                outlines.push((beside, place));
            }
        }
        let stored = copy::versions_of(&folder)?;
        let gone: Vec<Version> = stored
            .into_keys()
            .filter(|version| head.versions.get(version).is_none_or(|blobs| !is_same(version, blobs)))
            .collect();
        let _not_loaded_meanwhile = catalog.map(Catalog::hold);
        for version in before.keys().filter(|version| head.versions.get(version) != before.get(version)) {
            copy::remove_file(&folder.parquet(version))?;
            copy::remove_file(&folder.outline(version))?;
        }
        for version in &gone {
            copy::remove_file(&folder.store(version))?;
            copy::remove_file(&folder.parquet(version))?;
        }
        for (beside, place) in outlines {
            copy::rename(&beside, &place)?;
        }
        if before != head.versions {
            let text = serde_json::to_string(&texts_of(&head.versions)).unwrap_or_default();
            copy::replace_file(&self.record(slug), Some(&text))?;
        }
        copy::put_texts(&folder, &head.texts)?;
        Ok(gone)
    }

    /// Of which blobs the folder was made. What cannot be read counts as nothing, and is made again.
    pub(super) fn blobs(&self, slug: &Slug) -> Blobs {
        let read = fs::read(self.record(slug)).ok();
        let texts: Option<BTreeMap<String, VersionBlobs>> =
            read.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let parsed = texts.unwrap_or_default().into_iter();
        parsed.filter_map(|(text, blobs)| Some((Version::parse(&text).ok()?, blobs))).collect()
    }
}

fn texts_of(blobs: &Blobs) -> BTreeMap<String, &VersionBlobs> {
    blobs.iter().map(|(version, blobs)| (version.to_string(), blobs)).collect()
}

/// The bytes of a small blob, compared with its name.
pub(super) fn small(store: &ObjectStore, blob: &Blob) -> Result<Vec<u8>, LayoutError> {
    let name = ObjectName::blob(&blob.sha256);
    let bytes = store.read(&name, 0..blob.bytes)?;
    if Digest::of(&bytes) != blob.sha256 {
        return Err(LayoutError::Digest(name.to_string()));
    }
    Ok(bytes)
}

/// Removes what an interrupted fetch left. Whatever stays costs room only.
fn remove_unfinished(versions: &Path) {
    let Ok(items) = fs::read_dir(versions) else { return };
    for item in items.flatten() {
        if item.file_name().to_str().is_some_and(|name| name.starts_with('.')) {
            drop(fs::remove_file(item.path()));
        }
    }
}
