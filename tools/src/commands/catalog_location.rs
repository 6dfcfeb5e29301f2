//! Where the catalogue is that a command changes: a data directory, or object storage with the database of its servers.
//!
//! In object storage, a command changes a copy of the dataset's folder, and what is new is put there. Does not depend on what the
//! command changes.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use clap::Args;
use indicatif::ProgressBar;
use mercato::config::Secret;
use mercato_base::clock::{Clock, SystemClock};
use mercato_catalog::objects::{ObjectStore, StoreAddress};
use mercato_catalog::publish::Rows;
use mercato_catalog::releases::{Progress, Releases, note_publication, wait_for_servers};
use mercato_catalog::{DataDirectory, Slug};
use mercato_database::DatabaseAddress;
use tempfile::TempDir;

use crate::books;
use crate::failure::Failure;
use crate::progress::bar;

/// Where the catalogue is.
#[derive(Debug, Clone, Args)]
pub struct CatalogPlace {
    /// The server's data directory.
    #[arg(long, value_name = "DATA_DIR", required_unless_present = "store", conflicts_with = "store")]
    data: Option<PathBuf>,
    /// Versions in object storage, in the place of a data directory: `s3://bucket/prefix`, as the servers have it. Needs --books.
    #[arg(long, value_name = "URL", requires = "books")]
    store: Option<String>,
    /// The database of the servers: `postgres://user@host/database`. Beside --data, they share that directory.
    #[arg(long, value_name = "URL")]
    books: Option<Secret>,
}

/// Where the catalogue is, and whether to wait for its servers.
#[derive(Debug, Clone, Args)]
pub struct CatalogLocation {
    /// The place.
    #[command(flatten)]
    pub place: CatalogPlace,
    /// Wait until all servers serve the change, at most so many seconds (60 without a number). Exit code 3 where some do not.
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "60", requires = "books")]
    wait: Option<u32>,
}

impl CatalogPlace {
    fn database(&self) -> Result<Option<DatabaseAddress>, Failure> {
        self.books.as_ref().map(books::database_address).transpose()
    }

    fn releases(&self) -> Result<Option<Releases>, Failure> {
        let (Some(url), Some(database)) = (&self.store, self.database()?) else { return Ok(None) };
        let variable = |name: &str| std::env::var(name).ok();
        let address = StoreAddress::parse(url, variable);
        let address = address.map_err(|error| Failure::Usage(format!("--store: {error}")))?;
        Ok(Some(Releases::open(database, ObjectStore::open(address.with_changing_keys(variable)))?))
    }

    /// The data directory to read; of object storage a copy without rows, which is gone with the second value.
    pub fn read(&self) -> Result<(DataDirectory, Option<TempDir>), Failure> {
        let Some(releases) = self.releases()? else { return Ok((self.directory(), None)) };
        let folder = working_folder()?;
        releases.pull_all(folder.path())?;
        Ok((DataDirectory::new(folder.path()), Some(folder)))
    }

    /// The data directory that was named; of no use with object storage.
    fn directory(&self) -> DataDirectory {
        DataDirectory::new(self.data.as_deref().unwrap_or(Path::new("")))
    }

    /// Whether a command that changes the catalogue sees the rows of its versions.
    pub fn rows(&self) -> Rows {
        if self.store.is_some() { Rows::Away } else { Rows::Here }
    }

    /// The place, where files are not in a directory that stays.
    pub fn store(&self) -> Option<&str> {
        self.store.as_deref()
    }
}

impl CatalogLocation {
    /// Lets `work` change a dataset in the directory that it is given, and tells the servers. `with_current`: it reads the rows of
    /// the version that is served.
    pub fn change<T>(
        &self,
        slug: &Slug,
        with_current: bool,
        work: impl FnOnce(&DataDirectory) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let (done, generation) = match self.place.releases()? {
            Some(releases) => {
                let folder = working_folder()?;
                let steps = Steps::default();
                let pulled = releases.pull(slug, folder.path(), with_current, &steps)?;
                let done = work(&pulled.data)?;
                let pushed = releases.push(&pulled, SystemClock.now(), &steps)?;
                (done, Some(pushed.generation))
            }
            None => {
                let data = self.place.directory();
                let done = work(&data)?;
                books::notify_server(&data);
                let database = self.place.database()?;
                let told = database.map(|database| note_publication(&database)).transpose();
                (done, told.map_err(mercato_catalog::releases::ReleaseError::from)?)
            }
        };
        if let (Some(seconds), Some(generation)) = (self.wait, generation) {
            self.wait_for_servers(slug, generation, seconds)?;
        }
        Ok(done)
    }

    fn wait_for_servers(&self, slug: &Slug, generation: i64, seconds: u32) -> Result<(), Failure> {
        let Some(database) = self.place.database()? else { return Ok(()) };
        let waited = wait_for_servers(&database, generation, Duration::from_secs(seconds.into()))
            .map_err(mercato_catalog::releases::ReleaseError::from)?;
        if waited.lagging.is_empty() {
            return Ok(());
        }
        Err(Failure::Lagging { slug: slug.to_string(), seconds, servers: waited.lagging.join(", ") })
    }
}

fn working_folder() -> Result<TempDir, Failure> {
    let made = tempfile::Builder::new().prefix("mercato-publication-").tempdir();
    made.map_err(Failure::io(&std::env::temp_dir(), "make a folder"))
}

#[derive(Default)]
pub struct Steps {
    present: Mutex<Option<ProgressBar>>,
}

impl Steps {
    fn present(&self) -> std::sync::MutexGuard<'_, Option<ProgressBar>> {
        self.present.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Progress for Steps {
    fn begin(&self, step: &'static str, bytes: u64) {
        if let Some(before) = self.present().replace(bar(step, bytes, "bytes")) {
            before.finish_and_clear();
        }
    }

    fn moved(&self, bytes: u64) {
        if let Some(bar) = &*self.present() {
            bar.inc(bytes);
        }
    }

    fn warn(&self, text: &str) {
        eprintln!("mercato-tools: warning: {text}");
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        if let Some(last) = self.present().take() {
            last.finish_and_clear();
        }
    }
}
