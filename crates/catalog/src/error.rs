//! Errors of the catalog's files.

use std::io;
use std::path::{Path, PathBuf};

use semver::Version;

use crate::slug::SlugError;

/// An error of the catalog with the place, the expected and the found value.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// A file or folder could not be read or written.
    #[error("{}: cannot {action}: {source}", path.display())]
    Io { path: PathBuf, action: &'static str, source: io::Error },
    #[error("{}:{line}:{column}: {message}", path.display())]
    Manifest { path: PathBuf, line: usize, column: usize, message: String },
    /// A text file is larger than its limit.
    #[error("{}: {found} bytes, at most {limit} are read", path.display())]
    TooLarge { path: PathBuf, found: u64, limit: u64 },
    /// A text file is not UTF-8.
    #[error("{}: not valid UTF-8", path.display())]
    NotText { path: PathBuf },
    /// A store file cannot be opened.
    #[error("{}: {message}", path.display())]
    Store { path: PathBuf, message: String },
    /// A name is not a slug.
    #[error(transparent)]
    Slug(#[from] SlugError),
    /// The version is already published, and a published version never changes.
    #[error("{slug} {version} is already published and never changes; publish a higher version")]
    VersionExists { slug: String, version: Version },
    /// A new version must be the highest.
    #[error("{slug} {version} is not above {highest}, the highest published version")]
    VersionNotGreater { slug: String, version: Version, highest: Version },
    /// The dataset has no such version on disk.
    #[error("{slug} has no version {version}; it keeps {kept}")]
    NoSuchVersion { slug: String, version: Version, kept: String },
    /// No dataset with this slug is published.
    #[error("no dataset `{slug}` is published here")]
    NotPublished { slug: String },
    /// The dataset is unpublished, so that no version of it is served.
    #[error(
        "{slug} is unpublished and serves no version; publish it again first: mercato-tools republish {slug}"
    )]
    Unpublished { slug: String },
    /// The manifest withholds the dataset.
    #[error(
        "dataset.toml of {slug} says `published = false`, so no version of it is served; publish a version whose \
         dataset.toml says `published = true`"
    )]
    Withheld { slug: String },
    /// The store file of the version is damaged.
    #[error(
        "{slug} {version} is damaged and cannot be served: {message}; choose another version, or publish a new one"
    )]
    Damaged {
        slug: String,
        version: Version,
        /// What is damaged.
        message: String,
    },
    /// Another publication of the dataset is running.
    #[error("{}: another publication of this dataset is running", path.display())]
    Locked { path: PathBuf },
    /// The version breaks compatibility, and its number does not allow that.
    #[error(
        "{slug} {version} breaks what {base} promised: {breaches}; publish it as {enough}, or with --allow-breaking"
    )]
    Breaking {
        slug: String,
        version: Version,
        /// The last release.
        base: String,
        breaches: String,
        /// The lowest version that allows them.
        enough: String,
    },
    /// The changelog does not mention a breaking version.
    #[error(
        "{slug} {version} breaks what {base} promised: {breaches}; changelog.md beside dataset.toml must say so: \
         write the heading `## [{version}] - YYYY-MM-DD` and below it what changes for readers"
    )]
    NotInChangelog {
        slug: String,
        version: Version,
        /// The last release.
        base: String,
        breaches: String,
    },
    /// The publication record is invalid.
    #[error("{}: {message}; restore it from a backup, or remove it: times and choices of earlier publications are forgotten then", path.display())]
    Record { path: PathBuf, message: String },
    /// The `featured` file contains neither `on` nor `off`.
    #[error("{}: expected `on` or `off`, found `{found}`; write it with `mercato-tools feature`", path.display())]
    Featured { path: PathBuf, found: String },
    /// The `current` file names a missing version.
    #[error("{}: names version `{found}`, which is not among the store files", path.display())]
    DanglingCurrent { path: PathBuf, found: String },
}

impl CatalogError {
    pub fn io(path: &Path, action: &'static str, source: io::Error) -> Self {
        Self::Io { path: path.to_owned(), action, source }
    }
}
