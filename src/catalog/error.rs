//! What can go wrong with the catalog's files.

use std::io;
use std::path::{Path, PathBuf};

use semver::Version;

use super::slug::SlugError;

/// A fault of the catalog, naming the place, what was expected and what was found.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// A file or folder could not be read or written.
    #[error("{}: cannot {action}: {source}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// A manifest is not as it should be.
    #[error("{}:{line}:{column}: {message}", path.display())]
    Manifest {
        /// The manifest.
        path: PathBuf,
        /// Line, from one.
        line: usize,
        /// Column, from one.
        column: usize,
        /// What is wrong.
        message: String,
    },
    /// A text file is larger than its limit.
    #[error("{}: {found} bytes, at most {limit} are read", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        found: u64,
        /// The limit.
        limit: u64,
    },
    /// A text file is not UTF-8.
    #[error("{}: not valid UTF-8", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
    },
    /// A store file cannot be opened.
    #[error("{}: {message}", path.display())]
    Store {
        /// The store file.
        path: PathBuf,
        /// What the reader said.
        message: String,
    },
    /// A name is not a slug.
    #[error(transparent)]
    Slug(#[from] SlugError),
    /// The version is already published, and a published version never changes.
    #[error("{slug} {version} is already published and never changes; publish a higher version")]
    VersionExists {
        /// The dataset.
        slug: String,
        /// The version.
        version: Version,
    },
    /// Versions only go up.
    #[error("{slug} {version} is not above {highest}, the highest published version")]
    VersionNotGreater {
        /// The dataset.
        slug: String,
        /// The version asked for.
        version: Version,
        /// The highest so far.
        highest: Version,
    },
    /// The dataset has no such version on disk.
    #[error("{slug} has no version {version}; it keeps {kept}")]
    NoSuchVersion {
        /// The dataset.
        slug: String,
        /// The version asked for.
        version: Version,
        /// What is there.
        kept: String,
    },
    /// Nothing of that name was ever published.
    #[error("no dataset `{slug}` is published here")]
    NotPublished {
        /// The dataset.
        slug: String,
    },
    /// Somebody else is publishing the same dataset.
    #[error("{}: another publication of this dataset is running", path.display())]
    Locked {
        /// The lock file.
        path: PathBuf,
    },
    /// The version takes away what the ones before promised, under a number that does not allow that.
    #[error(
        "{slug} {version} breaks what {base} promised: {breaches}; publish it as {enough}, or with --allow-breaking"
    )]
    Breaking {
        /// The dataset.
        slug: String,
        /// The version asked for.
        version: Version,
        /// The version that promised.
        base: String,
        /// What is broken.
        breaches: String,
        /// The lowest number that allows it.
        enough: String,
    },
    /// The changelog does not tell what a version breaks.
    #[error(
        "{slug} {version} breaks what {base} promised: {breaches}; changelog.md beside dataset.toml must say so: \
         write the heading `## [{version}] - YYYY-MM-DD` and below it what changes for readers"
    )]
    NotInChangelog {
        /// The dataset.
        slug: String,
        /// The version asked for.
        version: Version,
        /// The version that promised.
        base: String,
        /// What is broken.
        breaches: String,
    },
    /// The record of the publications cannot be read.
    #[error("{}: {message}; restore it from a backup, or remove it: times and choices of earlier publications are forgotten then", path.display())]
    Record {
        /// The record.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// The `featured` file says neither `on` nor `off`.
    #[error("{}: expected `on` or `off`, found `{found}`; write it with `mercato-tools feature`", path.display())]
    Featured {
        /// The file.
        path: PathBuf,
        /// What it holds.
        found: String,
    },
    /// The `current` file names a version that is not there.
    #[error("{}: names version `{found}`, which is not among the store files", path.display())]
    DanglingCurrent {
        /// The file.
        path: PathBuf,
        /// What it holds.
        found: String,
    },
}

impl CatalogError {
    /// A fault of the file system.
    pub fn io(path: &Path, action: &'static str, source: io::Error) -> Self {
        Self::Io { path: path.to_owned(), action, source }
    }
}
