//! A disk that is soon full. Does not depend on its contents.

use std::path::Path;
use std::process::Command;

/// A small file system in memory; unmounted when dropped.
pub struct SmallDisk {
    folder: tempfile::TempDir,
}

impl SmallDisk {
    /// Mounts one of a size such as `16m`, or says why that cannot be done here.
    pub fn mount(size: &str) -> Result<SmallDisk, String> {
        let folder = tempfile::tempdir().unwrap();
        let option = format!("size={size}");
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", &option, "tmpfs"]).arg(folder.path()).output();
        match mounted {
            Ok(output) if output.status.success() => Ok(SmallDisk { folder }),
            Ok(output) => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Its mount point.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        drop(Command::new("umount").arg("-l").arg(self.folder.path()).output());
    }
}
