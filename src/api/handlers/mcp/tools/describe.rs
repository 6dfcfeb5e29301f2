//! `describe_dataset`: content and price of a dataset, with a bounded number of columns.

use serde::Serialize;

use super::{Arguments, Output, literal};
use crate::api::app::App;
use crate::api::context::Incoming;
use crate::api::handlers::catalog::dataset_answer::{damaged, verified};
use crate::api::handlers::catalog::dataset_version;
use crate::api::handlers::catalog::schema::{self, ColumnLine};
use crate::api::handlers::query::price::Price;
use crate::limits::mcp::OFFSET_MAX;
use mercato_base::words::{counted, shortened};
use mercato_catalog::{Dataset, DatasetVersion, Language};
use mercato_web::ApiError;

/// Bytes of the description of a dataset.
const DESCRIPTION_BYTES_MAX: usize = 4_000;
/// Columns of one description; `columnOffset` leads on.
const COLUMNS_SHOWN_MAX: usize = 100;
/// Versions of one description, newest first.
const VERSIONS_SHOWN_MAX: usize = 10;
/// Columns that the text names.
const COLUMNS_IN_TEXT_MAX: usize = 30;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Description<'a> {
    slug: &'a str,
    title: &'a str,
    description: String,
    publisher: Option<&'a str>,
    license: Option<&'a str>,
    license_url: Option<&'a str>,
    tags: &'a [String],
    version: String,
    versions: Vec<String>,
    updated_at: String,
    row_count: u32,
    column_count: usize,
    columns: Vec<ColumnLine>,
    next_column_offset: Option<usize>,
    credits_per_row: u32,
    price_of_all_rows: Price,
    page_url: String,
    api_url: String,
}

pub(super) fn run(app: &App, request: &mut Incoming, mut arguments: Arguments) -> Result<Output, ApiError> {
    let slug = arguments.slug();
    let named = arguments.text("version");
    let offset = arguments.integer("columnOffset", 0, OFFSET_MAX, 0);
    let language = arguments.language();
    arguments.finish()?;
    let dataset = super::dataset(app, request, &slug)?;
    let version = dataset_version::of_parameter(&dataset, named.as_deref())?;
    verified(&app.catalog, dataset.slug(), version)?;
    let document = schema::document(&dataset, version, language)
        .map_err(|error| damaged(app, dataset.slug(), version, &error.to_string()))?;
    let offset = usize::try_from(offset).unwrap_or(usize::MAX);
    let description = describe(app, &dataset, version, language, document.into_columns(), offset);
    let text = in_words(&description, version);
    Output::free(&description, text)
}

fn describe<'a>(
    app: &App,
    dataset: &'a Dataset,
    version: &DatasetVersion,
    language: Option<Language>,
    columns: Vec<ColumnLine>,
    offset: usize,
) -> Description<'a> {
    let manifest = &dataset.manifest;
    let (description, rest) =
        shortened(manifest.description.choose(language).unwrap_or_default(), DESCRIPTION_BYTES_MAX);
    let count = columns.len();
    let columns: Vec<ColumnLine> = columns.into_iter().skip(offset).take(COLUMNS_SHOWN_MAX).collect();
    let end = offset.saturating_add(columns.len());
    let slug = dataset.slug();
    let rows = version.table.row_count();
    let versions = dataset.versions.iter().take(VERSIONS_SHOWN_MAX);
    Description {
        slug,
        title: manifest.title.choose(language).unwrap_or(slug),
        description: format!("{description}{rest}"),
        publisher: manifest.provenance.publisher.as_ref().map(|publisher| publisher.name.as_str()),
        license: manifest.license.as_deref(),
        license_url: manifest.license_url.as_deref(),
        tags: &manifest.tags,
        version: version.version.to_string(),
        versions: versions.map(|version| version.version.to_string()).collect(),
        updated_at: dataset.updated_at.rfc3339(),
        row_count: rows,
        column_count: count,
        next_column_offset: (end < count).then_some(end),
        columns,
        credits_per_row: 1,
        price_of_all_rows: Price::of(rows.into()),
        page_url: app.documents.link(&format!("/datasets/{slug}")),
        api_url: app.documents.link(&format!("/api/v1/datasets/{slug}")),
    }
}

fn in_words(description: &Description<'_>, version: &DatasetVersion) -> String {
    let brief = |column: &ColumnLine| {
        let (name, kind) = column.name_and_type();
        format!("{} ({kind})", literal(name))
    };
    let names = description.columns.iter().take(COLUMNS_IN_TEXT_MAX).map(brief);
    let names = names.collect::<Vec<_>>().join(", ");
    let rest = if description.columns.len() > COLUMNS_IN_TEXT_MAX { ", …" } else { "" };
    let more = description.next_column_offset.map(|next| format!(" More columns: columnOffset {next}."));
    format!(
        "{} (`{}` {}): {}, {}: {names}{rest}.{} All rows cost {} EUR without VAT.",
        literal(description.title),
        description.slug,
        version.version,
        counted(description.row_count.into(), "row"),
        counted(description.column_count.try_into().unwrap_or(u64::MAX), "column"),
        more.unwrap_or_default(),
        description.price_of_all_rows.eur(),
    )
}
