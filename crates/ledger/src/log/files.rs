//! The files below the log: a narrow seam, so that a test can tear writes, lose power and fail on command.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::BUFFER_BYTES;

/// A folder of segments.
pub trait Folder: Send + Sync {
    /// Names of the files in it, in any order.
    fn list(&self) -> io::Result<Vec<String>>;
    /// Creates a file that must not exist.
    fn create(&self, name: &str) -> io::Result<Arc<dyn LogFile>>;
    /// Opens a file that exists.
    fn open(&self, name: &str, writable: bool) -> io::Result<Arc<dyn LogFile>>;
    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Forces creations and removals onto the disk.
    fn sync(&self) -> io::Result<()>;
    /// The path of a file, for an error.
    fn describe(&self, name: &str) -> PathBuf;
}

/// An open file.
pub trait LogFile: Send + Sync {
    /// Its length.
    fn len(&self) -> io::Result<u64>;
    /// Reads bytes from an offset on, possibly fewer than requested; none at the end.
    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize>;
    /// Writes all bytes at an offset.
    fn write_all_at(&self, bytes: &[u8], at: u64) -> io::Result<()>;
    /// Cuts the file, or extends it with zeros.
    fn set_len(&self, length: u64) -> io::Result<()>;
    /// Forces content and length onto the disk.
    fn sync(&self) -> io::Result<()>;
}

/// Reads until the buffer is full or the file ends.
pub fn read_full_at(file: &dyn LogFile, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, at.saturating_add(filled as u64)) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Copies a range to the front of another file.
pub fn copy_range(source: &dyn LogFile, from: u64, bytes: u64, target: &dyn LogFile) -> io::Result<()> {
    for_each_piece(source, from, bytes, |at, piece| target.write_all_at(piece, at - from))
}

/// Rewrites a range with its own content.
pub fn write_again(file: &dyn LogFile, from: u64, to: u64) -> io::Result<()> {
    for_each_piece(file, from, to.saturating_sub(from), |at, piece| file.write_all_at(piece, at))
}

/// Whether a file is the copy of a range.
pub fn is_same(source: &dyn LogFile, from: u64, bytes: u64, copy: &dyn LogFile) -> io::Result<bool> {
    let mut is_same = copy.len()? == bytes;
    let mut other = vec![0; BUFFER_BYTES];
    for_each_piece(source, from, if is_same { bytes } else { 0 }, |at, piece| {
        let other = other.get_mut(..piece.len()).unwrap_or_default();
        is_same &= read_full_at(copy, other, at - from)? == piece.len() && other == piece;
        Ok(())
    })?;
    Ok(is_same)
}

/// Reads a range in steps, and fails when the file ends in it.
pub fn for_each_piece(
    file: &dyn LogFile,
    from: u64,
    bytes: u64,
    mut take: impl FnMut(u64, &[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    let (mut at, end) = (from, from.saturating_add(bytes));
    while at < end {
        let wanted = usize::try_from(end - at).unwrap_or(usize::MAX).min(BUFFER_BYTES);
        let piece = buffer.get_mut(..wanted).unwrap_or_default();
        if read_full_at(file, piece, at)? < wanted {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        take(at, piece)?;
        at += wanted as u64;
    }
    Ok(())
}

/// A folder on the disk.
pub struct DiskFolder {
    path: PathBuf,
}

impl DiskFolder {
    /// Opens a folder, and creates it when it is not there.
    pub fn open(path: impl Into<PathBuf>) -> io::Result<DiskFolder> {
        let path = path.into();
        create_folder(&path)?;
        Ok(DiskFolder { path })
    }

    /// A folder that is there.
    pub fn at(path: PathBuf) -> DiskFolder {
        DiskFolder { path }
    }
}

/// Creates a folder with those above it, and forces their names onto the disk.
pub fn create_folder(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    if let Some(parent) = parent {
        create_folder(parent)?;
    }
    match fs::create_dir(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    sync_folder(parent.unwrap_or(Path::new(".")))
}

pub fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

impl Folder for DiskFolder {
    fn list(&self) -> io::Result<Vec<String>> {
        let names = fs::read_dir(&self.path)?.map(|entry| Ok(entry?.file_name().into_string().ok()));
        names.filter_map(Result::transpose).collect()
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn LogFile>> {
        let file = File::options().read(true).write(true).create_new(true).open(self.path.join(name))?;
        Ok(Arc::new(DiskFile(file)))
    }

    fn open(&self, name: &str, writable: bool) -> io::Result<Arc<dyn LogFile>> {
        let file = File::options().read(true).write(writable).open(self.path.join(name))?;
        Ok(Arc::new(DiskFile(file)))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }

    fn sync(&self) -> io::Result<()> {
        sync_folder(&self.path)
    }

    fn describe(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

struct DiskFile(File);

impl LogFile for DiskFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        self.0.read_at(buffer, at)
    }

    fn write_all_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        self.0.write_all_at(bytes, at)
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }
}
