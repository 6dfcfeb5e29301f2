//! A dataset as lists show it, and its header.

use serde::Serialize;

use crate::catalog::{Dataset, Language};
use crate::http::exports::Exports;
use crate::render::Format;

/// One dataset in a list.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Item<'a> {
    slug: &'a str,
    title: &'a str,
    description: &'a str,
    license: Option<&'a str>,
    current_version: String,
    row_count: u32,
    file_size: u64,
    tags: &'a [String],
    featured: bool,
    updated_at: String,
}

impl<'a> Item<'a> {
    /// In that language where the publisher gave it.
    pub(super) fn of(dataset: &'a Dataset, language: Option<Language>) -> Self {
        let manifest = &dataset.manifest;
        Self {
            slug: dataset.slug(),
            title: manifest.title.choose(language).unwrap_or(dataset.slug()),
            description: manifest.description.choose(language).unwrap_or(""),
            license: manifest.license.as_deref(),
            current_version: dataset.current.version.to_string(),
            row_count: dataset.current.table.row_count(),
            file_size: dataset.current.table.file_bytes(),
            tags: &manifest.tags,
            featured: manifest.featured,
            updated_at: dataset.updated_at.rfc3339(),
        }
    }
}

impl<'a> Item<'a> {
    /// The same with another description, and the one that it had.
    pub(super) fn described(mut self, description: &'a str) -> (Self, &'a str) {
        let own = std::mem::replace(&mut self.description, description);
        (self, own)
    }
}

/// A dataset with all that a visitor wants to know first.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Header<'a> {
    #[serde(flatten)]
    item: Item<'a>,
    license_url: Option<&'a str>,
    methodology_url: String,
    changelog_url: String,
    schema_url: String,
    sample_url: String,
    croissant_url: String,
    column_count: usize,
    formats: [FormatOffer; 3],
    credits_for_download: u32,
    versions: Vec<VersionLine>,
}

#[derive(Serialize)]
struct FormatOffer {
    format: &'static str,
    /// Size of the download, once it is known.
    bytes: Option<u64>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct VersionLine {
    version: String,
    row_count: u32,
    file_size: u64,
    published_at: String,
    current: bool,
}

impl<'a> Header<'a> {
    /// The header of a dataset.
    /// `exports` knows the sizes of downloads.
    pub(super) fn of(dataset: &'a Dataset, language: Option<Language>, exports: &Exports) -> Self {
        let url = |part: &str| format!("/api/v1/datasets/{}/{part}", dataset.slug());
        let versions = dataset.versions.iter().map(|version| VersionLine {
            version: version.version.to_string(),
            row_count: version.table.row_count(),
            file_size: version.table.file_bytes(),
            published_at: version.published_at.rfc3339(),
            current: version.version == dataset.current.version,
        });
        Self {
            item: Item::of(dataset, language),
            license_url: dataset.manifest.license_url.as_deref(),
            methodology_url: url("methodology"),
            changelog_url: url("changelog"),
            schema_url: url("schema"),
            sample_url: url("sample"),
            croissant_url: url("croissant"),
            column_count: dataset.current.table.columns().len(),
            formats: [("csv", Format::Csv), ("json", Format::Json), ("ndjson", Format::Ndjson)].map(
                |(name, format)| FormatOffer {
                    format: name,
                    bytes: exports
                        .bytes(&dataset.current.table, format)
                        .filter(|_| dataset.current.is_verified()),
                },
            ),
            credits_for_download: dataset.current.table.row_count(),
            versions: versions.collect(),
        }
    }
}
