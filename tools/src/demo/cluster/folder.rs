//! The folder of a cluster: a temporary one, or one that stays. Does not depend on what lies in it.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::failure::Failure;

/// Others may pass, not list: PostgreSQL may have a user of its own.
const MODE: u32 = 0o711;
/// What lets another user pass through a folder.
const PASSABLE: u32 = 0o001;

pub(super) struct ClusterFolder {
    path: PathBuf,
    /// Removes it at the end.
    _temporary: Option<TempDir>,
}

impl ClusterFolder {
    /// Makes it. `is_entered`: a user that is not its owner has to reach what lies in it.
    pub(super) fn make(wanted: Option<&Path>, is_entered: bool) -> Result<ClusterFolder, Failure> {
        let Some(wanted) = wanted else {
            let made = tempfile::Builder::new().prefix("mercato-cluster-").tempdir();
            let made = made.map_err(Failure::io(&std::env::temp_dir(), "make a folder"))?;
            let path = made.path().to_path_buf();
            return ClusterFolder { path, _temporary: Some(made) }.open_to_others(is_entered);
        };
        fs::create_dir_all(wanted).map_err(Failure::io(wanted, "create"))?;
        let path = wanted.canonicalize().map_err(Failure::io(wanted, "open"))?;
        if fs::read_dir(&path).map_err(Failure::io(&path, "read"))?.next().is_some() {
            return Err(refused(&path, "no files", "files", "name a new one, or none for a temporary one"));
        }
        ClusterFolder { path, _temporary: None }.open_to_others(is_entered)
    }

    fn open_to_others(self, is_entered: bool) -> Result<ClusterFolder, Failure> {
        let path = &self.path;
        fs::set_permissions(path, Permissions::from_mode(MODE)).map_err(Failure::io(path, "open"))?;
        let is_passable = |folder: &Path| {
            fs::metadata(folder).is_ok_and(|found| found.permissions().mode() & PASSABLE == PASSABLE)
        };
        match path.ancestors().find(|folder| is_entered && !is_passable(folder)) {
            None => Ok(self),
            Some(closed) => {
                let remedy = "name one elsewhere: PostgreSQL refuses to run as root and runs as another user";
                Err(refused(closed, "one that every user may pass", "another", remedy))
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

fn refused(folder: &Path, expected: &str, found: &str, remedy: &str) -> Failure {
    Failure::refused(folder.display().to_string(), "folder of the cluster", expected, found, remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temporary_folder_is_removed() {
        let made = ClusterFolder::make(None, false).unwrap();
        let path = made.path().to_path_buf();
        fs::write(path.join("file"), "x").unwrap();
        drop(made);
        assert!(!path.exists());
    }

    #[test]
    fn refuses_folder_with_files() {
        let folder = tempfile::tempdir().unwrap();
        let wanted = folder.path().join("a/b");
        drop(ClusterFolder::make(Some(&wanted), false).unwrap());
        assert!(wanted.is_dir(), "one that was named stays");
        fs::write(wanted.join("file"), "x").unwrap();
        assert!(matches!(ClusterFolder::make(Some(&wanted), false), Err(Failure::Refused { .. })));
    }

    #[test]
    fn refuses_folder_that_others_cannot_reach() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o700)).unwrap();
        let wanted = folder.path().join("cluster");
        assert!(ClusterFolder::make(Some(&wanted), false).is_ok());
        let refused = ClusterFolder::make(Some(&wanted), true).err().unwrap().to_string();
        assert!(
            refused.starts_with(&folder.path().canonicalize().unwrap().display().to_string()),
            "{refused}"
        );
    }
}
