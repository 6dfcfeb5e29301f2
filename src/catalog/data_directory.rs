//! Where things lie under `--data DIR`.
//!
//! The only place that knows the names of files and folders of the catalog.

use std::path::{Path, PathBuf};

use semver::Version;

use super::slug::Slug;

/// Name of the manifest in the folder of a dataset.
pub const MANIFEST_FILE: &str = "dataset.toml";
/// Name of the methodology.
pub const METHODOLOGY_FILE: &str = "methodology.md";
/// Name of the changelog.
pub const CHANGELOG_FILE: &str = "changelog.md";
/// Names the current version where it is not the highest one.
pub const CURRENT_FILE: &str = "current";
/// Says `on` or `off` where the operator decided whether the dataset stands first in the list.
pub const FEATURED_FILE: &str = "featured";
/// Present while a dataset is taken down.
pub const UNPUBLISHED_FILE: &str = "unpublished";
/// Facts of the publications: times, choices, and what was verified.
pub const RECORD_FILE: &str = "publications.json";
/// What the name of a store file ends in.
pub const STORE_SUFFIX: &str = ".mcol";
/// Touched after each change, so that a server need not look everywhere.
const CHANGED_FILE: &str = ".changed";

/// The root of everything that a server keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataDirectory {
    root: PathBuf,
}

impl DataDirectory {
    /// The directory at `root`; nothing is looked at yet.
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// The root itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Folder of all datasets.
    pub fn datasets(&self) -> PathBuf {
        self.root.join("datasets")
    }

    /// The file whose change tells that the catalog changed.
    pub fn changed(&self) -> PathBuf {
        self.datasets().join(CHANGED_FILE)
    }

    /// Folder of the books.
    pub fn ledger(&self) -> PathBuf {
        self.root.join("ledger")
    }

    /// Folder of what search makes and can make again.
    pub fn search(&self) -> PathBuf {
        self.root.join("search")
    }

    /// Which store files were verified, so that a restart need not read them again.
    pub fn verified(&self) -> PathBuf {
        self.root.join("verified")
    }

    /// The operator's token.
    pub fn admin_token(&self) -> PathBuf {
        self.root.join("admin.token")
    }

    /// Where the admin listener of the last server is, so that the tools find it.
    pub fn admin_address(&self) -> PathBuf {
        self.root.join("admin.address")
    }

    /// Folder of one dataset.
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
    /// A folder that was found by listing.
    pub fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A file of the folder.
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

    /// Where the store file of a version grows before it is published. Names that begin with a dot are never served.
    pub fn incoming_store(&self, version: &Version) -> PathBuf {
        self.versions().join(format!(".incoming-{version}{STORE_SUFFIX}"))
    }
}

/// The version that a store file's name stands for.
pub fn version_of_file_name(name: &str) -> Option<Version> {
    if name.starts_with('.') {
        return None;
    }
    name.strip_suffix(STORE_SUFFIX).and_then(|text| Version::parse(text).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_store_files_are_versions() {
        assert_eq!(version_of_file_name("1.2.3.mcol"), Some(Version::new(1, 2, 3)));
        assert_eq!(version_of_file_name("1.2.3-rc.1.mcol"), Version::parse("1.2.3-rc.1").ok());
        for other in [".incoming-1.2.3.mcol", "1.2.mcol", "1.2.3.mcol.tmp-7", "1.2.3", "current"] {
            assert_eq!(version_of_file_name(other), None, "{other}");
        }
    }
}
