//! Selects the version of a dataset to serve.
//!
//! Depends on versions and their verification only, not on files.

use std::sync::Arc;

use semver::Version;

use crate::snapshot::dataset::DatasetVersion;

/// The version to serve for `wanted`: itself, else the highest intact version below it. Versions above it were skipped
/// on purpose. While the choice is being verified, the version that is `serving` stays, if it is still retained.
/// `versions` are the readable versions, highest first.
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
