//! A dataset as it is served: its manifest, its texts and its retained versions, all of one moment.
//!
//! Never changes after it was loaded; a change of the files makes a new one.

use std::path::PathBuf;
use std::sync::Arc;

use mercato_format::{Fingerprint, Table};
use semver::Version;

use super::manifest::Manifest;
use crate::clock::Moment;

/// One version of a dataset with its open store file.
#[derive(Clone)]
pub struct DatasetVersion {
    /// The version.
    pub version: Version,
    /// The open store file; whoever holds it can read it, also after the version was retired.
    pub table: Arc<Table>,
    /// When the store file was written.
    pub published_at: Moment,
    /// Where the store file lies; for the log, never for a client.
    pub path: PathBuf,
}

/// A dataset with at least one version.
pub struct Dataset {
    /// What the publisher says.
    pub manifest: Manifest,
    /// The version that is served to whoever asks for none.
    pub current: DatasetVersion,
    /// All retained versions, the highest first; the current one is among them.
    pub versions: Vec<DatasetVersion>,
    /// Methodology in Markdown; empty when there is none.
    pub methodology: String,
    /// Changelog in Markdown; empty when there is none.
    pub changelog: String,
    /// When anything about the dataset last changed.
    pub updated_at: Moment,
    /// When the methodology last changed.
    pub methodology_updated_at: Moment,
    /// When the changelog last changed.
    pub changelog_updated_at: Moment,
    /// Retained versions whose store file cannot be read, with the reason.
    pub damaged: Vec<(Version, String)>,
}

impl Dataset {
    /// Its name.
    pub fn slug(&self) -> &str {
        self.manifest.slug.as_str()
    }

    /// The retained version with that content, for a walk that began on it.
    pub fn version_of_content(&self, fingerprint: Fingerprint) -> Option<&DatasetVersion> {
        self.versions.iter().find(|version| version.table.fingerprint() == fingerprint)
    }
}
