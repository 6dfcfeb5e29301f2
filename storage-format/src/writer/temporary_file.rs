//! Files that are not whole yet: beside their target, under a name that other writers know, and locked for as long as
//! their writer lives. What a killed writer left behind is removed by the next one in that folder. Knows no byte of them.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use tempfile::NamedTempFile;

use crate::writer::table_writer::folder_of;

/// Stands between the target's name and the random part.
const MARK: &str = ".mcol-tmp-";
/// Letters and digits at the end of the name.
const RANDOM_LENGTH: usize = 6;

/// Makes the file that is to become `target`, and removes what killed writers left in its folder.
pub(crate) fn create(target: &Path) -> io::Result<NamedTempFile> {
    let folder = folder_of(target);
    remove_abandoned(folder);
    let name = target.file_name().and_then(|name| name.to_str()).unwrap_or("table");
    let prefix = format!(".{name}{MARK}");
    loop {
        let file = tempfile::Builder::new().prefix(&prefix).rand_bytes(RANDOM_LENGTH).tempfile_in(folder)?;
        // Where a file system knows no locks, nobody can get one and take the file for abandoned.
        if file.as_file().lock().is_err() || is_at(file.as_file(), file.path()) {
            return Ok(file);
        }
        // Another writer found it before it was locked, and removed it.
    }
}

/// Removes the files in `folder` that have our kind of name and no writer. Whatever stands in the way is left: the folder
/// may belong to others, and the new file does not depend on it.
fn remove_abandoned(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(is_unfinished_name)
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
    // Held until the name is gone, so that no writer can lock the file in between.
    if is_at(&file, path) { fs::remove_file(path) } else { Ok(()) }
}

fn is_unfinished_name(name: &str) -> bool {
    let Some((before, random)) = name.rsplit_once(MARK) else { return false };
    before.starts_with('.')
        && random.len() == RANDOM_LENGTH
        && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Whether the name still leads to the open file.
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
    fn what_a_killed_writer_left_goes_and_everything_else_stays() {
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
    fn writers_side_by_side_never_lose_their_files() {
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
