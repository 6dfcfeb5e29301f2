//! Paths of files and folders under `--data DIR`.
//!
//! The only module with the names of the catalog's files and folders.

use std::path::{Path, PathBuf};

use semver::Version;

use crate::slug::Slug;

/// Name of the manifest in the folder of a dataset.
pub const MANIFEST_FILE: &str = "dataset.toml";
pub const METHODOLOGY_FILE: &str = "methodology.md";
pub const CHANGELOG_FILE: &str = "changelog.md";
/// File with the current version, after a rollback.
pub const CURRENT_FILE: &str = "current";
/// File with `on` or `off`: the operator's choice whether the dataset is featured.
pub const FEATURED_FILE: &str = "featured";
/// Marks an unpublished dataset.
pub const UNPUBLISHED_FILE: &str = "unpublished";
/// Record of the publications: times, choices and verified files.
pub const RECORD_FILE: &str = "publications.json";
/// Extension of store files.
pub const STORE_SUFFIX: &str = ".mcol";
/// Extension of the Parquet files beside them.
pub const PARQUET_SUFFIX: &str = ".parquet";
/// Extension of outlines: store files of which only columns and lengths are on this machine.
pub const OUTLINE_SUFFIX: &str = ".outline";
/// Touched after each change, so that a server need not scan all folders.
const CHANGED_FILE: &str = ".changed";

/// The data directory of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataDirectory {
    root: PathBuf,
}

impl DataDirectory {
    /// The directory at `root`, without any file access.
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Folder of all datasets.
    pub fn datasets(&self) -> PathBuf {
        self.root.join("datasets")
    }

    /// The file that every change of the catalog touches.
    pub fn changed(&self) -> PathBuf {
        self.datasets().join(CHANGED_FILE)
    }

    /// Folder of the books.
    pub fn ledger(&self) -> PathBuf {
        self.root.join("ledger")
    }

    /// Folder of the charges that servers with books on a database refused without knowing whether they were applied.
    pub fn unsettled_charges(&self) -> PathBuf {
        self.root.join("unsettled-charges")
    }

    /// Folder of derived search data.
    pub fn search(&self) -> PathBuf {
        self.root.join("search")
    }

    /// Record of verified store files, so that a restart need not read them again.
    pub fn verified(&self) -> PathBuf {
        self.root.join("verified")
    }

    /// How the place presents itself to people.
    pub fn site(&self) -> PathBuf {
        self.root.join("site.toml")
    }

    pub fn admin_token(&self) -> PathBuf {
        self.root.join("admin.token")
    }

    /// Address of the admin listener of the last server, for the tools.
    pub fn admin_address(&self) -> PathBuf {
        self.root.join("admin.address")
    }

    pub fn dataset(&self, slug: &Slug) -> DatasetFolder {
        DatasetFolder { path: self.datasets().join(slug.as_str()) }
    }
}

/// The folder of one dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatasetFolder {
    path: PathBuf,
}

impl DatasetFolder {
    /// The folder at a listed path.
    pub fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of a file in the folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Folder of the store files.
    pub fn versions(&self) -> PathBuf {
        self.path.join("versions")
    }

    /// The store file of a version.
    pub fn store(&self, version: &Version) -> PathBuf {
        self.versions().join(format!("{version}{STORE_SUFFIX}"))
    }

    /// The Parquet file of a version, which not every version has.
    pub fn parquet(&self, version: &Version) -> PathBuf {
        self.versions().join(format!("{version}{PARQUET_SUFFIX}"))
    }

    /// The outline of a version, for as long as its store file is not on this machine.
    pub fn outline(&self, version: &Version) -> PathBuf {
        self.versions().join(format!("{version}{OUTLINE_SUFFIX}"))
    }

    /// The path of a Parquet file while it is written.
    pub fn incoming_parquet(&self, version: &Version) -> PathBuf {
        self.versions().join(format!(".incoming-{version}{PARQUET_SUFFIX}"))
    }

    /// The path of a store file while it is written. Names that begin with a dot are never served.
    pub fn incoming_store(&self, version: &Version) -> PathBuf {
        self.versions().join(format!(".incoming-{version}{STORE_SUFFIX}"))
    }
}

/// The version in the name of a store file.
pub fn version_of_file_name(name: &str) -> Option<Version> {
    version_before(name, STORE_SUFFIX)
}

/// The version in the name of a Parquet file.
pub fn version_of_parquet_name(name: &str) -> Option<Version> {
    version_before(name, PARQUET_SUFFIX)
}

/// The version in the name of an outline.
pub fn version_of_outline_name(name: &str) -> Option<Version> {
    version_before(name, OUTLINE_SUFFIX)
}

fn version_before(name: &str, suffix: &str) -> Option<Version> {
    if name.starts_with('.') {
        return None;
    }
    name.strip_suffix(suffix).and_then(|text| Version::parse(text).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignores_names_other_than_store_files() {
        assert_eq!(version_of_file_name("1.2.3.mcol"), Some(Version::new(1, 2, 3)));
        assert_eq!(version_of_file_name("1.2.3-rc.1.mcol"), Version::parse("1.2.3-rc.1").ok());
        for other in [".incoming-1.2.3.mcol", "1.2.mcol", "1.2.3.mcol.tmp-7", "1.2.3", "current"] {
            assert_eq!(version_of_file_name(other), None, "{other}");
        }
    }
}
