//! Temporary files beside their target, with a recognisable name, locked while their writer lives. The next writer in
//! the folder removes files that a killed writer abandoned. Does not depend on contents.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use tempfile::NamedTempFile;

use crate::writer::table_writer::folder_of;

/// The marker between the target's name and the random part.
const MARK: &str = ".mcol-tmp-";
/// Letters and digits at the end of the name.
const RANDOM_LENGTH: usize = 6;

/// Creates the temporary file of `target`, and removes abandoned ones in its folder.
pub(crate) fn create(target: &Path) -> io::Result<NamedTempFile> {
    let folder = folder_of(target);
    remove_abandoned(folder);
    let name = target.file_name().and_then(|name| name.to_str()).unwrap_or("table");
    let prefix = format!(".{name}{MARK}");
    loop {
        let file = tempfile::Builder::new().prefix(&prefix).rand_bytes(RANDOM_LENGTH).tempfile_in(folder)?;
        // Without locks in the file system, no writer can lock this file and consider it abandoned.
        if file.as_file().lock().is_err() || is_at(file.as_file(), file.path()) {
            return Ok(file);
        }
        // Another writer removed the file before it was locked.
    }
}

/// Removes abandoned temporary files in `folder`. Errors are ignored: the folder may belong to other users, and the new
/// file does not depend on the removal.
fn remove_abandoned(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(is_temporary_name)
            && entry.file_type().is_ok_and(|kind| kind.is_file())
        {
            let path = entry.path();
            drop(remove_if_abandoned(&path));
        }
    }
}

fn remove_if_abandoned(path: &Path) -> io::Result<()> {
    let file = File::open(path)?;
    file.try_lock()?;
    // The lock is held until the file is removed, so that no writer can lock it in between.
    if is_at(&file, path) { fs::remove_file(path) } else { Ok(()) }
}

fn is_temporary_name(name: &str) -> bool {
    let Some((before, random)) = name.rsplit_once(MARK) else { return false };
    before.starts_with('.')
        && random.len() == RANDOM_LENGTH
        && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Whether the path still refers to the open file.
fn is_at(file: &File, path: &Path) -> bool {
    let identity = |facts: fs::Metadata| (facts.dev(), facts.ino());
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(open), Ok(named)) => identity(open) == identity(named),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removes_only_abandoned_temporary_files() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("sales.mcol");
        let living = create(&target).unwrap();
        let (_, killed) = create(&target).unwrap().keep().unwrap();
        let others =
            [".sales.mcol.mcol-tmp-abc", ".sales.mcol.mcol-tmp-abcdefg", ".sales.mcol.mcol-tmp-a.cdef"];
        let others =
            others.iter().chain(&["sales.mcol.mcol-tmp-abcdef", ".sales.mcol.tmp-abcdef", "sales.mcol"]);
        others.clone().for_each(|name| fs::write(folder.path().join(name), "mine").unwrap());
        fs::create_dir(folder.path().join(".folder.mcol-tmp-abcdef")).unwrap();
        std::os::unix::fs::symlink("sales.mcol", folder.path().join(".link.mcol-tmp-abcdef")).unwrap();

        let next = create(&folder.path().join("other.mcol")).unwrap();
        assert!(!killed.exists(), "its writer is gone");
        assert!(living.path().exists() && next.path().exists(), "their writers live");
        others.for_each(|name| assert!(folder.path().join(name).exists(), "{name}"));
        assert!(folder.path().join(".folder.mcol-tmp-abcdef").is_dir());
        assert!(folder.path().join(".link.mcol-tmp-abcdef").is_symlink());
    }

    #[test]
    fn concurrent_writers_keep_their_files() {
        let folder = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let target = folder.path().join(format!("{writer}.mcol"));
                scope.spawn(move || {
                    for _ in 0..50 {
                        let file = create(&target).unwrap();
                        file.persist(&target).unwrap();
                    }
                });
            }
        });
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 4);
    }
}
