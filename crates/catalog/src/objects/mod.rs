//! Objects in a store that speaks S3's protocol: put, read by range, fetch into a file, verify, delete.
//!
//! Calls block, and a failed one is made again a few times. Nothing is listed and no condition is sent, so that a store
//! which knows neither will do. Only this folder names the crate `rusty_s3`. Does not depend on what objects mean, nor on
//! books, catalog or routes.

mod address;
mod answer;
mod client;
mod digest;
mod error;
mod fetch;
mod name;
mod parts;
mod profile;
mod upload;

#[cfg(test)]
mod tests;

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

pub use address::{StoreAddress, StoreAddressError};
pub use digest::{Digest, DigestError};
pub use error::ObjectError;
pub use fetch::UNFINISHED;
pub use name::{ObjectName, ObjectNameError};

use client::Client;

/// Most bytes that one call of [`ObjectStore::read`] or [`ObjectStore::put_bytes`] takes.
pub const WHOLE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// A store. Clones share their connections.
#[derive(Debug, Clone)]
pub struct ObjectStore {
    client: Arc<Client>,
}

impl ObjectStore {
    /// A store at this address. Nothing is sent yet.
    pub fn open(address: StoreAddress) -> ObjectStore {
        ObjectStore::open_with(address, client::Patience::default())
    }

    fn open_with(address: StoreAddress, patience: client::Patience) -> ObjectStore {
        ObjectStore { client: Arc::new(Client::new(address, patience)) }
    }

    /// Puts a file, by parts at the same time where it is longer than one part. An upload that fails is aborted.
    /// `sent` hears the bytes of each part that has arrived.
    pub fn put_file(
        &self,
        name: &ObjectName,
        file: &Path,
        sent: &(dyn Fn(u64) + Sync),
    ) -> Result<(), ObjectError> {
        upload::put_file(&self.client, name, file, upload::PART_BYTES, sent)
    }

    /// Puts at most [`WHOLE_BYTES_MAX`] bytes.
    pub fn put_bytes(&self, name: &ObjectName, bytes: &[u8]) -> Result<(), ObjectError> {
        check_length(name, bytes.len() as u64)?;
        self.client.put(name, bytes)
    }

    /// The length of an object in bytes; `None` where there is no such object.
    pub fn length(&self, name: &ObjectName) -> Result<Option<u64>, ObjectError> {
        self.client.length(name)
    }

    /// The bytes of a range, at most [`WHOLE_BYTES_MAX`] of them.
    pub fn read(&self, name: &ObjectName, range: Range<u64>) -> Result<Vec<u8>, ObjectError> {
        check_length(name, range.end.saturating_sub(range.start))?;
        self.client.read(name, range, None)
    }

    /// Fetches a whole object into the file `to`, which appears complete, synced and compared with length and SHA-256, or
    /// not at all. Meanwhile a file beside it, whose name ends with [`UNFINISHED`], takes the whole room at once.
    /// `got` hears the bytes of each part that has arrived.
    pub fn fetch_file(
        &self,
        name: &ObjectName,
        digest: &Digest,
        length: u64,
        to: &Path,
        got: &(dyn Fn(u64) + Sync),
    ) -> Result<(), ObjectError> {
        fetch::fetch_file(&self.client, name, (digest, length), to, got)
    }

    /// Reads a whole object back and compares length and SHA-256. `got` hears the bytes of each part that has arrived.
    pub fn verify(
        &self,
        name: &ObjectName,
        digest: &Digest,
        length: u64,
        got: &(dyn Fn(u64) + Sync),
    ) -> Result<(), ObjectError> {
        fetch::verify(&self.client, name, (digest, length), got)
    }

    /// Deletes an object. Deleting what is not there succeeds.
    pub fn delete(&self, name: &ObjectName) -> Result<(), ObjectError> {
        self.client.delete(name)
    }
}

fn check_length(name: &ObjectName, bytes: u64) -> Result<(), ObjectError> {
    if bytes > WHOLE_BYTES_MAX {
        return Err(ObjectError::TooLong { object: name.to_string(), bytes, most: WHOLE_BYTES_MAX });
    }
    Ok(())
}
