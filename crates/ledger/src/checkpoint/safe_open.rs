//! Opens a sled folder even after a crash during an earlier opening.
//!
//! sled 0.34.7 writes a snapshot when it opens. Killed meanwhile, it leaves `snap.N.generating`, which every later
//! opening takes for a whole snapshot and reports as corruption. A snapshot only shortens reading sled's own log, so
//! a partial one is deleted and a suspicious one is moved aside. Does not depend on records.

use std::fs::{self, File};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::{StoreError, io};

const LOCK_TRIES: u32 = 40;
const LOCK_PAUSE: Duration = Duration::from_millis(25);
const SLED_LOCK_MESSAGE: &str = "could not acquire lock";
const UNFINISHED_SUFFIX: &str = ".generating";
const SNAPSHOT_PREFIX: &str = "snap.";
const MOVED_ASIDE_PREFIX: &str = "unreadable-snapshots-";
/// Memory that the store may use for its page cache.
const STORE_CACHE_BYTES: u64 = 32 * 1024 * 1024;

/// Opens the database of the folder; the caller holds the lock.
pub fn open(directory: &Path) -> Result<sled::Db, StoreError> {
    remove_unfinished_snapshots(directory)?;
    let db = match open_patiently(directory) {
        Err(StoreError::Damaged { .. }) => {
            move_snapshots_aside(directory)?;
            open_once(directory)?
        }
        opened => opened?,
    };
    // sled creates these and never syncs them.
    for name in ["conf", "db", "."] {
        let path = directory.join(name);
        File::open(&path).and_then(|file| file.sync_all()).map_err(|error| io(&path, "syncing", &error))?;
    }
    Ok(db)
}

/// sled's own lock may outlive the last handle for a moment: a thread of sled or a starting child process may hold
/// it. No other program does, because the caller holds the lock of the books.
fn open_patiently(directory: &Path) -> Result<sled::Db, StoreError> {
    for _ in 1..LOCK_TRIES {
        match open_once(directory) {
            Err(StoreError::Io { detail, .. }) if detail.contains(SLED_LOCK_MESSAGE) => {
                thread::sleep(LOCK_PAUSE)
            }
            opened => return opened,
        }
    }
    open_once(directory)
}

fn open_once(directory: &Path) -> Result<sled::Db, StoreError> {
    let config = sled::Config::new().path(directory).cache_capacity(STORE_CACHE_BYTES).flush_every_ms(None);
    // Some damage is met by an assertion inside sled.
    match catch_unwind(AssertUnwindSafe(|| config.open())) {
        Ok(opened) => opened.map_err(|error| store_error(directory, "opening", &error)),
        Err(_) => Err(damaged(directory, "the store stopped while it read its log".to_owned())),
    }
}

fn remove_unfinished_snapshots(directory: &Path) -> Result<(), StoreError> {
    for path in files_named(directory, |name| name.ends_with(UNFINISHED_SUFFIX))? {
        fs::remove_file(&path).map_err(|error| io(&path, "removing an unfinished snapshot", &error))?;
    }
    Ok(())
}

fn move_snapshots_aside(directory: &Path) -> Result<(), StoreError> {
    let snapshots = files_named(directory, |name| name.starts_with(SNAPSHOT_PREFIX))?;
    let aside = directory.join(format!("{MOVED_ASIDE_PREFIX}{}", std::process::id()));
    fs::create_dir_all(&aside).map_err(|error| io(&aside, "creating the folder", &error))?;
    for path in snapshots {
        if let Some(name) = path.file_name() {
            fs::rename(&path, aside.join(name)).map_err(|error| io(&path, "moving aside", &error))?;
        }
    }
    Ok(())
}

fn files_named(directory: &Path, is_wanted: impl Fn(&str) -> bool) -> Result<Vec<PathBuf>, StoreError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).map_err(|error| io(directory, "listing", &error))? {
        let entry = entry.map_err(|error| io(directory, "listing", &error))?;
        if entry.path().is_file() && is_wanted(&entry.file_name().to_string_lossy()) {
            found.push(entry.path());
        }
    }
    Ok(found)
}

/// The error of sled as an error of the store.
pub fn store_error(path: &Path, action: &'static str, error: &sled::Error) -> StoreError {
    match error {
        sled::Error::Corruption { .. } | sled::Error::ReportableBug(_) | sled::Error::Unsupported(_) => {
            damaged(path, format!("{action}: {error}"))
        }
        sled::Error::Io(error) => io(path, action, error),
        sled::Error::CollectionNotFound(_) => damaged(path, format!("{action}: a collection is missing")),
    }
}

fn damaged(path: &Path, detail: String) -> StoreError {
    StoreError::Damaged { path: path.to_owned(), detail }
}
