//! A whole object into a file, or only compared. Does not depend on what it holds.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

use super::answer::length_differs;
use super::client::Client;
use super::digest::{Digest, Hasher};
use super::error::ObjectError;
use super::name::ObjectName;
use super::parts::{PARALLEL_MAX, Parts, in_parallel};

/// End of the name of a file that is being fetched. After a sudden death such files remain, and nobody needs them.
pub const UNFINISHED: &str = ".fetching";
/// Bytes of a part. A fetch keeps at most [`PARALLEL_MAX`] of them in memory.
const PART_BYTES: u64 = 8 * 1024 * 1024;

/// Distinguishes the files that are being fetched here.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// Fetches an object into a file beside `to`, compares it and renames it.
pub(super) fn fetch_file(
    client: &Client,
    name: &ObjectName,
    (digest, length): (&Digest, u64),
    to: &Path,
    got: &(dyn Fn(u64) + Sync),
) -> Result<(), ObjectError> {
    let unfinished = Unfinished::beside(to)?;
    let disk = ObjectError::disk(&unfinished.path);
    reserve(&unfinished.file, length).map_err(&disk)?;
    let parts = Parts { length, step: PART_BYTES };
    in_parallel(0..parts.count(), &|part| {
        let range = parts.range(part);
        let bytes = client.read(name, range.clone(), Some(length))?;
        unfinished.file.write_all_at(&bytes, range.start).map_err(&disk)?;
        got(bytes.len() as u64);
        Ok(())
    })?;
    unfinished.file.sync_all().map_err(&disk)?;
    // Parts arrive out of order, so the file is hashed when it is whole; it lies in the page cache.
    let (found, bytes) = Digest::of_file(&unfinished.path).map_err(&disk)?;
    compare(name, (digest, length), (&found, bytes))?;
    unfinished.rename(to)
}

/// Reads an object back, a few parts at a time, and compares it.
pub(super) fn verify(
    client: &Client,
    name: &ObjectName,
    (digest, length): (&Digest, u64),
    got: &(dyn Fn(u64) + Sync),
) -> Result<(), ObjectError> {
    let found = client.length(name)?.ok_or_else(|| ObjectError::Missing { object: name.to_string() })?;
    if found != length {
        return Err(length_differs(name.as_str(), length, found));
    }
    let parts = Parts { length, step: PART_BYTES };
    let mut hasher = Hasher::default();
    let mut next = 0;
    while next < parts.count() {
        let end = parts.count().min(next + PARALLEL_MAX);
        let slots: Vec<Mutex<Vec<u8>>> = (next..end).map(|_| Mutex::default()).collect();
        in_parallel(next..end, &|part| {
            let bytes = client.read(name, parts.range(part), Some(length))?;
            got(bytes.len() as u64);
            if let Some(slot) = usize::try_from(part - next).ok().and_then(|at| slots.get(at)) {
                *slot.lock() = bytes;
            }
            Ok(())
        })?;
        slots.into_iter().for_each(|slot| hasher.add(&slot.into_inner()));
        next = end;
    }
    compare(name, (digest, length), (&hasher.finish(), length))
}

fn compare(
    name: &ObjectName,
    (digest, length): (&Digest, u64),
    (found, bytes): (&Digest, u64),
) -> Result<(), ObjectError> {
    if bytes != length {
        return Err(length_differs(name.as_str(), length, bytes));
    }
    if found != digest {
        let reason = format!("expected the SHA-256 {digest}, the object has {found}");
        return Err(ObjectError::Damaged { object: name.to_string(), reason });
    }
    Ok(())
}

/// Takes the room of the whole file at once, so that a full disk is known before anything is fetched, and a map of the
/// file never meets a hole.
fn reserve(file: &File, length: u64) -> io::Result<()> {
    if length == 0 {
        return Ok(());
    }
    match fallocate(file, FallocateFlags::empty(), 0, length) {
        // Not every file system can. There the bytes take their room as they are written, all before anybody maps them.
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => file.set_len(length),
        other => other.map_err(io::Error::from),
    }
}

/// A file that is removed unless it was renamed.
struct Unfinished {
    file: File,
    path: PathBuf,
    is_renamed: bool,
}

impl Unfinished {
    fn beside(to: &Path) -> Result<Unfinished, ObjectError> {
        let mut name = OsString::from(".");
        name.push(to.file_name().unwrap_or_default());
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        name.push(format!(".{}-{number}{UNFINISHED}", std::process::id()));
        let path = to.with_file_name(name);
        // A file of that name is left from another process with the same id.
        let opened = File::options().write(true).create(true).truncate(true).open(&path);
        let file = opened.map_err(ObjectError::disk(&path))?;
        Ok(Unfinished { file, path, is_renamed: false })
    }

    fn rename(mut self, to: &Path) -> Result<(), ObjectError> {
        let folder = to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::rename(&self.path, to).map_err(ObjectError::disk(to))?;
        self.is_renamed = true;
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(ObjectError::disk(folder))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.is_renamed {
            // What cannot be removed now is removed as a leftover later.
            drop(fs::remove_file(&self.path));
        }
    }
}
