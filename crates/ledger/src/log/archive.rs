//! Moves old segments to another folder, which may lie on another disk.
//!
//! A segment is read whole and compared with the next one's header before anything happens to it, and it leaves its
//! folder when its copy is safe. An interrupted run is repeated; the last segment always stays.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::{LogError, io};
use super::files::{DiskFolder, Folder, copy_range, create_folder, is_same};
use super::reader::{LogReader, verify_closed};
use super::segment::{Segment, SegmentFile, file_name};

const UNFINISHED_SUFFIX: &str = ".part";

/// A segment that was moved, the number of its last record, and where it lies now.
pub type Moved = (Segment, u64, PathBuf);

/// Moves the segments whose last record is at most `below`, oldest first.
pub fn archive(folder: &Path, to: &Path, below: u64) -> Result<Vec<Moved>, LogError> {
    let (folder, to) = folders(folder, to)?;
    let source: Arc<dyn Folder> = Arc::new(DiskFolder::at(folder));
    let target = DiskFolder::at(to);
    let segments: Vec<Segment> = LogReader::over(&[Arc::clone(&source)])?.segments().collect();
    let mut moved = Vec::new();
    for (segment, next) in segments.iter().copied().zip(segments.iter().copied().skip(1)) {
        // Its last number is below that.
        if segment.first > below {
            break;
        }
        let last = verify_closed(&source, segment, next)?;
        if last > below {
            break;
        }
        let path = move_segment(&*source, &target, segment)?;
        moved.push((segment, last, path));
    }
    Ok(moved)
}

fn folders(folder: &Path, to: &Path) -> Result<(PathBuf, PathBuf), LogError> {
    let folder = folder.canonicalize().map_err(|error| io(folder, "opening the folder", &error))?;
    create_folder(to).map_err(|error| io(to, "creating the folder", &error))?;
    let to = to.canonicalize().map_err(|error| io(to, "opening the folder", &error))?;
    if folder == to {
        let error = io::Error::other("it is the folder of the log itself; name another one");
        return Err(io(&to, "archiving", &error));
    }
    Ok((folder, to))
}

fn move_segment(source: &dyn Folder, target: &DiskFolder, segment: Segment) -> Result<PathBuf, LogError> {
    let name = file_name(segment.number);
    let file = SegmentFile::open(source, segment.number, false)?;
    let path = target.describe(&name);
    let failed = |error: &io::Error| io(&path, "archiving", error);
    match fs::symlink_metadata(&path) {
        Ok(found) => {
            let is_copy = found.is_file() && is_copy(&file, target, &name).map_err(|error| failed(&error))?;
            if !is_copy {
                return Err(LogError::Differs { path, source_path: file.path });
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            copy(&file, target, &name).map_err(|error| failed(&error))?;
        }
        Err(error) => return Err(failed(&error)),
    }
    target.sync().map_err(|error| failed(&error))?;
    let removed = source.remove(&name).and_then(|()| source.sync());
    removed.map_err(|error| io(&file.path, "removing the archived segment", &error))?;
    Ok(path)
}

/// Whether a file in the archive is the segment. If so it is also safe.
fn is_copy(segment: &SegmentFile, target: &DiskFolder, name: &str) -> io::Result<bool> {
    let copy = target.open(name, false)?;
    let is_copy = is_same(&*segment.file, 0, segment.bytes, &*copy)?;
    copy.sync()?;
    Ok(is_copy)
}

fn copy(segment: &SegmentFile, target: &DiskFolder, name: &str) -> io::Result<()> {
    let unfinished = format!("{name}{UNFINISHED_SUFFIX}");
    match target.remove(&unfinished) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    copy_range(&*segment.file, 0, segment.bytes, &*target.create(&unfinished)?)?;
    if !is_copy(segment, target, &unfinished)? {
        return Err(io::Error::other("the copy differs from the segment"));
    }
    fs::rename(target.describe(&unfinished), target.describe(name))
}
