//! Which version of a dataset is served, where some of them cannot be.
//!
//! Knows versions and whether they were verified; knows no file.

use std::sync::Arc;

use semver::Version;

use super::dataset::DatasetVersion;

/// The version to serve where `wanted` should be: itself, else the highest sound one below it. Versions above it were
/// left on purpose. While the chosen one is still being verified, the one that is `serving` stays, if it still stands.
/// `versions` are those that can be read, the highest first.
pub(super) fn choose(
    wanted: &Version,
    versions: &[DatasetVersion],
    serving: Option<&DatasetVersion>,
) -> Option<DatasetVersion> {
    let target = versions.iter().find(|version| version.version <= *wanted)?;
    let stands = |serving: &&DatasetVersion| {
        let is_open = versions.iter().any(|version| Arc::ptr_eq(&version.table, &serving.table));
        is_open && serving.is_verified()
    };
    let stays = serving.filter(|_| !target.is_verified()).filter(stands);
    Some(stays.unwrap_or(target).clone())
}
