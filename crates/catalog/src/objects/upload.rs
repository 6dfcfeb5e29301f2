//! A file into a store, by parts where it is long. Does not depend on what it holds.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

use parking_lot::Mutex;

use super::client::Client;
use super::error::ObjectError;
use super::name::ObjectName;
use super::parts::{Parts, in_parallel};

/// Bytes of a part, unless the file would have too many of them. Stores take nothing below 5 MiB.
pub(super) const PART_BYTES: u64 = 16 * 1024 * 1024;
/// Most parts of an upload.
const PARTS_MAX: u64 = 10_000;
/// Longest part in bytes, which is the longest that stores take.
const PART_BYTES_MAX: u64 = 5 * 1024 * 1024 * 1024;

/// Puts a file in parts of `step` bytes or, of a file that is too long for that, of longer ones.
pub(super) fn put_file(
    client: &Client,
    name: &ObjectName,
    path: &Path,
    step: u64,
    sent: &(dyn Fn(u64) + Sync),
) -> Result<(), ObjectError> {
    let disk = ObjectError::disk(path);
    let file = File::open(path).map_err(&disk)?;
    let length = file.metadata().map_err(&disk)?.len();
    let most = PART_BYTES_MAX * PARTS_MAX;
    if length > most {
        return Err(ObjectError::TooLong { object: name.to_string(), bytes: length, most });
    }
    let parts = Parts { length, step: step.max(length.div_ceil(PARTS_MAX)) };
    if parts.count() <= 1 {
        let reader = || FilePart { file: &file, at: 0, left: length, failed: None };
        client.put_from(name, length, reader, |part| part.check(path))?;
        sent(length);
        return Ok(());
    }
    let upload = client.begin(name)?;
    let put = put_parts(client, (name, &upload), (&file, path), parts, sent)
        .and_then(|tags| client.complete((name, &upload), &tags, length));
    if put.is_err() {
        // The first failure is the one to tell.
        drop(client.abort((name, &upload)));
    }
    put
}

/// Puts all parts: their entity tags.
fn put_parts(
    client: &Client,
    upload: (&ObjectName, &str),
    (file, path): (&File, &Path),
    parts: Parts,
    sent: &(dyn Fn(u64) + Sync),
) -> Result<Vec<String>, ObjectError> {
    let slots: Vec<Mutex<String>> = (0..parts.count()).map(|_| Mutex::default()).collect();
    in_parallel(0..parts.count(), &|part| {
        let range = parts.range(part);
        let length = range.end - range.start;
        let number = u16::try_from(part + 1).unwrap_or(u16::MAX);
        let reader = || FilePart { file, at: range.start, left: length, failed: None };
        let tag = client.put_part(upload, number, length, reader, |part| part.check(path))?;
        if let Some(place) = usize::try_from(part).ok().and_then(|at| slots.get(at)) {
            *place.lock() = tag;
        }
        sent(length);
        Ok(())
    })?;
    Ok(slots.into_iter().map(Mutex::into_inner).collect())
}

/// The bytes of a part of a file.
struct FilePart<'a> {
    file: &'a File,
    at: u64,
    left: u64,
    /// Why the file could not be read on.
    failed: Option<io::Error>,
}

impl FilePart<'_> {
    fn check(self, path: &Path) -> Result<(), ObjectError> {
        self.failed.map_or(Ok(()), |error| Err(ObjectError::disk(path)(error)))
    }

    fn read_on(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let Some(room) = buffer.get_mut(..most).filter(|room| !room.is_empty()) else { return Ok(0) };
        let read = self.file.read_at(room, self.at)?;
        if read == 0 {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the file became shorter while it was sent",
            ));
        }
        self.at += read as u64;
        self.left -= read as u64;
        Ok(read)
    }
}

impl Read for FilePart<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.read_on(buffer).map_err(|error| {
            let kind = error.kind();
            self.failed = Some(error);
            io::Error::from(kind)
        })
    }
}
