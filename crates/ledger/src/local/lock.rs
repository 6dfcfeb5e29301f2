//! The lock that keeps a second process away from the books.

use std::fs::{self, File, TryLockError};
use std::path::Path;

use crate::checkpoint::{StoreError, io};

const FILE: &str = "lock";

/// The lock, held until it is dropped.
pub struct Lock(File);

impl Drop for Lock {
    /// Closing the file would not do: a child that another thread is just starting may have it open too.
    fn drop(&mut self) {
        drop(self.0.unlock());
    }
}

/// Locks the folder before anything in it is touched. Creates the folder.
pub fn lock(directory: &Path) -> Result<Lock, StoreError> {
    fs::create_dir_all(directory).map_err(|error| io(directory, "creating the folder", &error))?;
    let path = directory.join(FILE);
    let file = File::options().create(true).truncate(false).write(true).open(&path);
    let file = file.map_err(|error| io(&path, "opening the lock file", &error))?;
    match file.try_lock() {
        Ok(()) => Ok(Lock(file)),
        Err(TryLockError::WouldBlock) => Err(StoreError::Locked { path }),
        Err(TryLockError::Error(error)) => Err(io(&path, "locking", &error)),
    }
}
