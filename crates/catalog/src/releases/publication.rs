//! A publication into an object store: the folder of a dataset is pulled, changed by whoever publishes, and pushed.
//!
//! The pulled folder has outlines in the place of store files: their columns are enough to compare versions. A push puts what is
//! new, reads it back, and then changes the head in one transaction, unless another publication came between. Does not depend on
//! what is changed in the folder.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use semver::Version;

use super::head::{Blob, Head, HeadError, VersionBlobs};
use super::layout::{FETCHING, LayoutError, small};
use super::table::{self, Change, Changed};
use crate::objects::{Digest, ObjectError, ObjectName, ObjectStore};
use crate::publish::current_store;
use crate::{CatalogError, DataDirectory, DatasetFolder, Slug, Table, copy};
use mercato_base::clock::Moment;
use mercato_database::{Connection, DatabaseAddress, SchemaFault, Trouble, check};

/// Attempts of a transaction that another one stands in the way of.
const ATTEMPTS_MAX: u32 = 8;

/// Why a publication failed. Nothing is published then.
#[derive(Debug, thiserror::Error)]
pub enum ReleaseError {
    /// A file of the folder cannot be read or written.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    #[error(transparent)]
    Object(#[from] ObjectError),
    #[error("database: {0}")]
    Database(#[from] Trouble),
    /// The database has another schema.
    #[error("database: {0}")]
    Schema(#[from] SchemaFault),
    /// The head of the dataset cannot be read or written.
    #[error("the head of `{slug}`: {error}")]
    Head { slug: String, error: HeadError },
    /// A blob has other bytes than its name says.
    #[error("{0}")]
    Damaged(String),
    /// Another publication was quicker.
    #[error("another publication of `{0}` was quicker; run the command again")]
    Overtaken(String),
    /// The upload took too long.
    #[error(
        "the upload for `{0}` took longer than a day, and parts of it may have been deleted; run the command again"
    )]
    TooLate(String),
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    File {
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
}

impl From<LayoutError> for ReleaseError {
    fn from(error: LayoutError) -> Self {
        match error {
            LayoutError::Catalog(error) => Self::Catalog(error),
            LayoutError::Object(error) => Self::Object(error),
            LayoutError::Digest(_) => Self::Damaged(error.to_string()),
        }
    }
}

/// Hears how far a publication has come.
pub trait Progress: Sync {
    /// A step begins that moves that many bytes.
    fn begin(&self, step: &'static str, bytes: u64);
    /// Bytes of the step were moved.
    fn moved(&self, bytes: u64);
    /// Something failed that the publication does not need.
    fn warn(&self, text: &str);
}

/// The heads in a database, and the blobs in a store.
pub struct Releases {
    database: DatabaseAddress,
    store: ObjectStore,
}

/// The folder of a dataset, in a data directory of its own.
pub struct Pulled {
    pub data: DataDirectory,
    slug: Slug,
    sequence: Option<i64>,
    head: Head,
}

impl Pulled {
    /// The head that was pulled.
    pub fn head(&self) -> &Head {
        &self.head
    }
}

/// A publication that is committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pushed {
    /// The generation of the catalogue that has it.
    pub generation: i64,
    /// Bytes that were put.
    pub bytes: u64,
}

impl Releases {
    /// Opens them; the schema of the database must be the one of this program.
    pub fn open(database: DatabaseAddress, store: ObjectStore) -> Result<Releases, ReleaseError> {
        check(&mut Connection::open(&database)?)?;
        Ok(Releases { database, store })
    }

    /// Lays the folder of a dataset out under `into`. `with_current`: the version that is served comes whole.
    pub fn pull(
        &self,
        slug: &Slug,
        into: &Path,
        with_current: bool,
        progress: &dyn Progress,
    ) -> Result<Pulled, ReleaseError> {
        let data = DataDirectory::new(into);
        let Some(row) = table::one(&mut Connection::open(&self.database)?, slug)? else {
            return Ok(Pulled { data, slug: slug.clone(), sequence: None, head: Head::default() });
        };
        let folder = data.dataset(slug);
        let head = self.lay_out(slug, row.head.as_deref(), &folder)?;
        let current = if with_current { current_store(&data, slug)? } else { None };
        if let Some((version, path)) = current
            && let Some(blobs) = head.versions.get(&version)
        {
            progress.begin("fetching", blobs.store.bytes);
            let beside = folder.versions().join(format!("{FETCHING}{version}"));
            self.fetch(&blobs.store, &beside, progress)?;
            copy::rename(&beside, &path)?;
        }
        Ok(Pulled { data, slug: slug.clone(), sequence: Some(row.sequence), head })
    }

    /// Lays the folders of all datasets out under `into`, without rows.
    pub fn pull_all(&self, into: &Path) -> Result<(), ReleaseError> {
        let mut rows = Vec::new();
        table::changed(&mut Connection::open(&self.database)?, 0, |row| rows.push(row))?;
        let data = DataDirectory::new(into);
        for row in rows {
            let Ok(slug) = Slug::parse(&row.slug) else { continue };
            self.lay_out(&slug, row.head.as_deref(), &data.dataset(&slug))?;
        }
        Ok(())
    }

    /// Lays a head out as a folder with outlines in the place of store files.
    fn lay_out(
        &self,
        slug: &Slug,
        head: Option<&[u8]>,
        folder: &DatasetFolder,
    ) -> Result<Head, ReleaseError> {
        let head = decode(slug, head)?;
        copy::put_texts(folder, &head.texts)?;
        for (version, blobs) in &head.versions {
            let outline = small(&self.store, &blobs.outline)?;
            copy::put_outline(&outline, blobs.store.bytes, &folder.store(version))?;
        }
        Ok(head)
    }

    fn fetch(&self, blob: &Blob, to: &Path, progress: &dyn Progress) -> Result<(), ReleaseError> {
        let name = ObjectName::blob(&blob.sha256);
        Ok(self.store.fetch_file(&name, &blob.sha256, blob.bytes, to, &|bytes| progress.moved(bytes))?)
    }

    /// Publishes the changed folder.
    pub fn push(&self, pulled: &Pulled, at: Moment, progress: &dyn Progress) -> Result<Pushed, ReleaseError> {
        let slug = &pulled.slug;
        let folder = pulled.data.dataset(slug);
        let mut head = Head { texts: copy::texts_of(&folder)?, versions: std::collections::BTreeMap::new() };
        let mut uploads = Vec::new();
        for (version, path) in copy::versions_of(&folder)? {
            let blobs = match pulled.head.versions.get(&version) {
                Some(known) => known.clone(),
                None => new_blobs(&path, &folder.parquet(&version), &version, &mut uploads)?,
            };
            head.versions.insert(version, blobs);
        }
        let encoded = head.encode().map_err(|error| ReleaseError::Head { slug: slug.to_string(), error })?;
        let uploaded: BTreeSet<String> =
            uploads.iter().map(|upload| upload.blob.sha256.to_string()).collect();
        if !uploads.is_empty() {
            table::stage(&mut Connection::open(&self.database)?, &uploaded)?;
        }
        self.upload(&uploads, progress)?;
        let blobs = head.digests();
        let change =
            Change { slug, base: pulled.sequence, head: &encoded, blobs: &blobs, uploaded: &uploaded, at };
        let generation = self.commit(&change)?;
        self.collect(progress);
        Ok(Pushed { generation, bytes: uploads.iter().map(|upload| upload.blob.bytes).sum() })
    }

    /// Puts blobs and reads them back.
    fn upload(&self, uploads: &[Upload], progress: &dyn Progress) -> Result<(), ReleaseError> {
        let total = uploads.iter().map(|upload| upload.blob.bytes).sum();
        if !uploads.is_empty() {
            progress.begin("uploading", total);
        }
        for Upload { blob, content } in uploads {
            let name = ObjectName::blob(&blob.sha256);
            match content {
                Content::File(path) => self.store.put_file(&name, path, &|bytes| progress.moved(bytes))?,
                Content::Bytes(bytes) => {
                    self.store.put_bytes(&name, bytes)?;
                    progress.moved(blob.bytes);
                }
            }
        }
        if !uploads.is_empty() {
            progress.begin("verifying", total);
        }
        for Upload { blob, .. } in uploads {
            let name = ObjectName::blob(&blob.sha256);
            self.store.verify(&name, &blob.sha256, blob.bytes, &|bytes| progress.moved(bytes))?;
        }
        Ok(())
    }

    fn commit(&self, change: &Change<'_>) -> Result<i64, ReleaseError> {
        let slug = || change.slug.to_string();
        let mut attempt = 1;
        loop {
            let outcome =
                Connection::open(&self.database).and_then(|mut connection| change.commit(&mut connection));
            match outcome {
                Ok(Changed::Committed(generation)) => return Ok(generation),
                Ok(Changed::Overtaken) => return Err(ReleaseError::Overtaken(slug())),
                Ok(Changed::TooLate) => return Err(ReleaseError::TooLate(slug())),
                Err(Trouble::Conflict(_)) if attempt < ATTEMPTS_MAX => attempt += 1,
                // The answer may have been lost after the commit.
                Err(trouble @ Trouble::Gone(_)) => return self.committed(change)?.ok_or(trouble.into()),
                Err(trouble) => return Err(trouble.into()),
            }
        }
    }

    /// The generation of a change whose outcome is unknown, if it was committed.
    fn committed(&self, change: &Change<'_>) -> Result<Option<i64>, ReleaseError> {
        let row = table::one(&mut Connection::open(&self.database)?, change.slug)?;
        let is_ours = |row: &table::Row| {
            Some(row.sequence) != change.base
                && row.at == change.at
                && row.head.as_deref() == Some(change.head)
        };
        Ok(row.filter(is_ours).map(|row| row.sequence))
    }

    /// Deletes blobs that no head has named for a day. A failure leaves them for the next publication.
    fn collect(&self, progress: &dyn Progress) {
        let delete = |blob: &str| {
            let name = blob.parse::<Digest>().map(|digest| ObjectName::blob(&digest));
            let deleted = name.map(|name| self.store.delete(&name));
            match deleted {
                Ok(Err(error)) => {
                    progress.warn(&format!("an old blob stays for now: {error}"));
                    false
                }
                _ => true,
            }
        };
        let collected = Connection::open(&self.database)
            .and_then(|mut connection| table::collect(&mut connection, delete));
        if let Err(trouble) = collected {
            progress.warn(&format!("old blobs stay for now: {trouble}"));
        }
    }
}

/// A blob to be put.
struct Upload {
    blob: Blob,
    content: Content,
}

enum Content {
    File(PathBuf),
    Bytes(Vec<u8>),
}

fn new_blobs(
    store: &Path,
    parquet: &Path,
    version: &Version,
    uploads: &mut Vec<Upload>,
) -> Result<VersionBlobs, ReleaseError> {
    let damaged = |error: crate::FormatError| ReleaseError::Damaged(format!("version {version}: {error}"));
    let outline = Table::open(store).and_then(|table| table.outline()).map_err(damaged)?;
    let small = Blob { sha256: Digest::of(&outline), bytes: outline.len() as u64 };
    let blobs = VersionBlobs {
        store: file_blob(store, uploads)?,
        outline: small.clone(),
        parquet: if fs::exists(parquet).unwrap_or(false) { Some(file_blob(parquet, uploads)?) } else { None },
    };
    uploads.push(Upload { blob: small, content: Content::Bytes(outline) });
    Ok(blobs)
}

fn file_blob(path: &Path, uploads: &mut Vec<Upload>) -> Result<Blob, ReleaseError> {
    let hashed = Digest::of_file(path);
    let (sha256, bytes) = hashed.map_err(|source| ReleaseError::File { path: path.to_owned(), source })?;
    let blob = Blob { sha256, bytes };
    uploads.push(Upload { blob: blob.clone(), content: Content::File(path.to_owned()) });
    Ok(blob)
}

fn decode(slug: &Slug, bytes: Option<&[u8]>) -> Result<Head, ReleaseError> {
    let too_long = HeadError::TooLong(usize::MAX);
    let head = bytes.ok_or(too_long).and_then(Head::decode);
    head.map_err(|error| ReleaseError::Head { slug: slug.to_string(), error })
}
