//! Walks a folder of data files. Hidden files and the texts of a dataset are passed over; anything else that is no data
//! is refused, as are links out of the folder. Does not depend on contents.

use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};

use super::partitions::{self, Partition};
use super::{InputFile, InputFormat, check_count, format_inside, format_of, unknown_format};
use crate::convert::limits::{FOLDER_DEPTH_MAX, FOLDER_ENTRIES_MAX};
use crate::failure::Failure;

/// Files of a dataset's folder that are no data.
const TEXTS: [&str; 3] = ["dataset.toml", "methodology.md", "changelog.md"];

/// The number of names seen so far, in all folders.
#[derive(Debug, Default)]
pub(super) struct Visited(usize);

struct Pending {
    path: PathBuf,
    partitions: Vec<Partition>,
    depth: usize,
}

/// Appends the data files below `root`.
pub(super) fn walk(
    root: &Path,
    format: Option<InputFormat>,
    visited: &mut Visited,
    files: &mut Vec<InputFile>,
) -> Result<(), Failure> {
    let inside = root.canonicalize().map_err(Failure::io(root, "open"))?;
    let before = files.len();
    let mut pending = vec![Pending { path: root.to_path_buf(), partitions: Vec::new(), depth: 0 }];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(&folder.path).map_err(Failure::io(&folder.path, "list"))? {
            let entry = entry.map_err(Failure::io(&folder.path, "list"))?;
            visited.0 += 1;
            if visited.0 > FOLDER_ENTRIES_MAX {
                let expected = format!("at most {FOLDER_ENTRIES_MAX} names");
                return Err(refusal(root, "folder", expected, "more", "join small files first"));
            }
            if is_passed_over(&entry) {
                continue;
            }
            match look(&entry, &inside, &folder)? {
                Seen::Folder(below) => pending.push(below),
                Seen::File(path) => {
                    let by_name = || format_of(&path).filter(|format| *format != InputFormat::Store);
                    let found = match format.or_else(by_name) {
                        Some(format) => Some(format),
                        None => format_inside(&path)?,
                    };
                    let format = found.ok_or_else(|| unknown_format(&path, "move it out of the folder"))?;
                    let partitions = folder.partitions.clone();
                    files.push(InputFile { path: Some(path), format, partitions });
                    check_count(files.len(), root)?;
                }
            }
        }
    }
    if files.len() == before {
        let expected = "at least one data file".to_owned();
        return Err(refusal(root, "folder", expected, "none", "name a folder with data"));
    }
    Ok(())
}

/// Names that begin with a dot or an underscore are marks of other programs: `_SUCCESS`, `.part-0.crc`.
fn is_passed_over(entry: &DirEntry) -> bool {
    let name = entry.file_name();
    let name = name.to_string_lossy();
    name.starts_with(['.', '_']) || TEXTS.contains(&&*name)
}

enum Seen {
    Folder(Pending),
    File(PathBuf),
}

fn look(entry: &DirEntry, inside: &Path, above: &Pending) -> Result<Seen, Failure> {
    let path = entry.path();
    let kind = entry.file_type().map_err(Failure::io(&path, "look at"))?;
    if kind.is_symlink() {
        let target = path.canonicalize().map_err(Failure::io(&path, "follow"))?;
        if !target.starts_with(inside) {
            let expected = "links inside the folder".to_owned();
            let found = "one that leads out of it";
            return Err(refusal(&path, "link", expected, found, "copy the file into the folder"));
        }
        if !target.is_file() {
            let expected = "a link to a file".to_owned();
            return Err(refusal(&path, "link", expected, "one to something else", "remove it"));
        }
        return Ok(Seen::File(path));
    }
    if kind.is_file() {
        return Ok(Seen::File(path));
    }
    if !kind.is_dir() {
        let expected = "files and folders".to_owned();
        return Err(refusal(&path, "folder", expected, "a device or pipe", "remove it"));
    }
    let depth = above.depth + 1;
    if depth > FOLDER_DEPTH_MAX {
        let expected = format!("at most {FOLDER_DEPTH_MAX} folders inside one another");
        return Err(refusal(&path, "folder", expected, "more", "name a folder further inside"));
    }
    let name = entry.file_name();
    let partitions =
        partitions::below(&above.partitions, &name.to_string_lossy(), &path.display().to_string())?;
    Ok(Seen::Folder(Pending { path, partitions, depth }))
}

fn refusal(path: &Path, section: &str, expected: String, found: &str, remedy: &str) -> Failure {
    Failure::refused(path.display().to_string(), section, expected, found, remedy)
}
