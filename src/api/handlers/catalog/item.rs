//! A dataset as lists show it, and its header.

use serde::Serialize;

use crate::api::app::App;
use crate::api::handlers::query::price::Price;
use mercato_catalog::{Dataset, Language};
use mercato_query::render::{Format, XLSX_ROWS_MAX};

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

/// A dataset with all that a visitor wants to know first.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Header<'a> {
    #[serde(flatten)]
    item: Item<'a>,
    license_url: Option<&'a str>,
    publisher: Option<PublisherLine<'a>>,
    contact: Option<&'a str>,
    homepage: Option<&'a str>,
    citation: Option<&'a str>,
    coverage: Option<CoverageLine<'a>>,
    update_frequency: Option<&'static str>,
    methodology_url: String,
    changelog_url: String,
    schema_url: String,
    sample_url: String,
    stats_url: String,
    related_url: String,
    croissant_url: String,
    query_url: String,
    stream_url: String,
    download_url: String,
    column_count: usize,
    formats: Vec<FormatOffer>,
    credits_for_download: u32,
    price_for_download: Price,
    versions: Vec<VersionLine>,
}

#[derive(Serialize)]
struct PublisherLine<'a> {
    name: &'a str,
    url: Option<&'a str>,
}

#[derive(Serialize)]
struct CoverageLine<'a> {
    from: Option<&'a str>,
    to: Option<&'a str>,
    places: &'a [String],
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
    pub(super) fn of(dataset: &'a Dataset, language: Option<Language>, app: &App) -> Self {
        let url = |part: &str| app.documents.link(&format!("/api/v1/datasets/{}/{part}", dataset.slug()));
        let credits = dataset.current.table.row_count();
        let provenance = &dataset.manifest.provenance;
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
            publisher: provenance
                .publisher
                .as_ref()
                .map(|publisher| PublisherLine { name: &publisher.name, url: publisher.url.as_deref() }),
            contact: provenance.contact.as_deref(),
            homepage: provenance.homepage.as_deref(),
            citation: provenance.citation.as_deref(),
            coverage: provenance.coverage.as_ref().map(|coverage| CoverageLine {
                from: coverage.from.as_deref(),
                to: coverage.to.as_deref(),
                places: &coverage.places,
            }),
            update_frequency: provenance.update_frequency.map(|frequency| frequency.word),
            methodology_url: url("methodology"),
            changelog_url: url("changelog"),
            schema_url: url("schema"),
            sample_url: url("sample"),
            stats_url: url("stats"),
            related_url: url("related"),
            croissant_url: url("croissant"),
            query_url: url("query"),
            stream_url: url("query/stream"),
            download_url: url("download"),
            column_count: dataset.current.table.columns().len(),
            formats: offers(dataset, app),
            credits_for_download: credits,
            price_for_download: Price::of(credits.into()),
            versions: versions.collect(),
        }
    }
}

/// The formats of the download, with their sizes where the length is known before the first byte. Excel is none for more rows
/// than a sheet has.
fn offers(dataset: &Dataset, app: &App) -> Vec<FormatOffer> {
    let current = &dataset.current;
    // Lengths may have to be counted, which reads values.
    let counted = |format| current.is_verified().then(|| app.exports.bytes(&current.table, format)).flatten();
    let texts = [("csv", Format::Csv), ("json", Format::Json), ("ndjson", Format::Ndjson)];
    let mut offers: Vec<FormatOffer> =
        texts.map(|(format, text)| FormatOffer { format, bytes: counted(text) }).into();
    offers.push(FormatOffer { format: "arrow", bytes: None });
    if current.table.row_count() <= XLSX_ROWS_MAX {
        offers.push(FormatOffer { format: "xlsx", bytes: None });
    }
    let parquet = current.offered_parquet();
    offers.extend(parquet.map(|file| FormatOffer { format: "parquet", bytes: Some(file.bytes()) }));
    offers
}
