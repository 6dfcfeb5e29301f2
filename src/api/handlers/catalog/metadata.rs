//! Descriptions of a dataset: schema, sample, methodology and changelog.

use serde::Serialize;

use super::{sample, schema, text_page};
use crate::api::app::App;
use crate::api::context::Incoming;
use crate::api::handlers::catalog::dataset_answer::{damaged, find, language, no_parameters, verified};
use crate::api::handlers::catalog::dataset_version;
use crate::api::handlers::query::page_answer::with_notes;
use crate::api::handlers::query::query_input::{FORMATS, format, none_acceptable};
use crate::api::route::{Guard, Route};
use mercato_base::clock::Moment;
use mercato_catalog::{Dataset, parse_changelog};
use mercato_web::{ApiError, Method, Response, ResponseBuffer, choose};

/// Paths of this file.
pub const ROUTES: &[Route] = &[
    Route::new(Method::Get, "/api/v1/datasets/{slug}/schema", Guard::Public, get_schema),
    Route::new(Method::Get, "/api/v1/datasets/{slug}/sample", Guard::Public, get_sample),
    Route::new(Method::Get, "/api/v1/datasets/{slug}/methodology", Guard::Public, get_methodology),
    Route::new(Method::Get, "/api/v1/datasets/{slug}/changelog", Guard::Public, get_changelog),
];

const REVALIDATE: &str = "public, no-cache";
const FIVE_MINUTES: &str = "public, max-age=300";

fn get_schema(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    let dataset = find(app, request)?;
    let mut query = request.query();
    let named = query.text("version");
    let language = language(&mut query);
    query.finish()?;
    let version = dataset_version::of_parameter(&dataset, named)?;
    verified(&app.catalog, dataset.slug(), version)?;
    let document = schema::document(&dataset, version, language)
        .map_err(|error| damaged(app, dataset.slug(), version, &error.to_string()))?;
    Ok(Response::data(&document)?.public(request, dataset.updated_at, REVALIDATE))
}

fn get_sample(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    let dataset = find(app, request)?;
    let mut query = request.query();
    let named = query.text("version");
    let format_named = query.choice("format", &FORMATS);
    query.finish()?;
    let version = dataset_version::of_parameter(&dataset, named)?;
    verified(&app.catalog, dataset.slug(), version)?;
    let format = format(request, format_named)?;
    let (response, rows, notes) = sample::answer(format, dataset.slug(), version)
        .map_err(|error| damaged(app, dataset.slug(), version, &error.to_string()))?;
    request.context.log.rows = Some(u64::from(rows));
    let response = response
        .public(request, dataset.updated_at, FIVE_MINUTES)
        .with_header("X-Dataset-Version", version.version.to_string())
        .with_header("Vary", "Accept");
    Ok(with_notes(response, &notes))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TextData<'a> {
    markdown: &'a str,
    version: String,
    updated_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    entries: Option<Vec<EntryData>>,
}

#[derive(Serialize)]
struct EntryData {
    version: String,
    date: Option<String>,
    markdown: String,
}

fn get_methodology(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    let dataset = find(app, request)?;
    no_parameters(request)?;
    let updated_at = dataset.methodology_updated_at;
    let data = TextData {
        markdown: &dataset.methodology,
        version: dataset.current.version.to_string(),
        updated_at: updated_at.rfc3339(),
        entries: None,
    };
    text_answer(request, &heading(&dataset, "Methodology"), &data, updated_at)
}

fn get_changelog(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    let dataset = find(app, request)?;
    no_parameters(request)?;
    let updated_at = dataset.changelog_updated_at;
    let entries = parse_changelog(&dataset.changelog).into_iter().map(|entry| EntryData {
        version: entry.version.to_string(),
        date: entry.date,
        markdown: entry.markdown,
    });
    let data = TextData {
        markdown: &dataset.changelog,
        version: dataset.current.version.to_string(),
        updated_at: updated_at.rfc3339(),
        entries: Some(entries.collect()),
    };
    text_answer(request, &heading(&dataset, "Changelog"), &data, updated_at)
}

/// The title of a page about the dataset.
fn heading(dataset: &Dataset, what: &str) -> String {
    format!("{what} of {}", dataset.manifest.title.choose(None).unwrap_or(dataset.slug()))
}

/// Markdown comes before HTML, so that `text/*` gives the original text.
const TEXT_OFFERS: [&[&str]; 3] = [&["application/json"], &["text/markdown", "text/plain"], &["text/html"]];

/// JSON, Markdown or HTML, as the client prefers.
fn text_answer(
    request: &Incoming,
    title: &str,
    data: &TextData<'_>,
    updated_at: Moment,
) -> Result<Response, ApiError> {
    let text =
        |content_type, text: &str| Response::raw(content_type, ResponseBuffer::from_body(text.as_bytes()));
    let response = match choose(&request.accept(), &TEXT_OFFERS) {
        Some(0) => Response::data(data)?,
        Some(1) => text("text/markdown; charset=utf-8", data.markdown),
        Some(_) => text("text/html; charset=utf-8", &text_page::document(title, data.markdown))
            .with_header("Content-Security-Policy", text_page::POLICY)
            .with_header("Referrer-Policy", "no-referrer"),
        None => return Err(none_acceptable(&TEXT_OFFERS)),
    };
    Ok(response.public(request, updated_at, REVALIDATE).with_header("Vary", "Accept"))
}
