//! What describes a dataset: schema, sample, methodology and changelog.

use serde::Serialize;

use super::dataset_answer::{damaged, find, no_parameters, verified};
use super::dataset_version;
use super::{sample, schema};
use crate::catalog::parse_changelog;
use crate::clock::Moment;
use crate::http::app::App;
use crate::http::buffer::AnswerBuffer;
use crate::http::errors::{ApiError, ErrorKind};
use crate::http::incoming::{Incoming, Method};
use crate::http::negotiation::choose;
use crate::http::response::Response;
use crate::http::router::{Guard, Route};

/// Paths of this file.
pub(in crate::http) const ROUTES: &[Route] = &[
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
    query.finish()?;
    let version = dataset_version::of_parameter(&dataset, named)?;
    verified(dataset.slug(), version)?;
    let document = schema::document(&dataset, version)
        .map_err(|error| damaged(app, dataset.slug(), version, &error.to_string()))?;
    Ok(Response::data(&document)?.public(request, dataset.updated_at, REVALIDATE))
}

fn get_sample(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    let dataset = find(app, request)?;
    let mut query = request.query();
    let named = query.text("version");
    query.finish()?;
    let version = dataset_version::of_parameter(&dataset, named)?;
    verified(dataset.slug(), version)?;
    let mut buffer = Response::begin_envelope(32 * 1024);
    let (rows, notes) = sample::write(version, buffer.sink())
        .map_err(|error| damaged(app, dataset.slug(), version, &error.to_string()))?;
    request.log.rows = Some(u64::from(rows));
    let response = Response::enveloped(buffer).public(request, dataset.updated_at, FIVE_MINUTES);
    Ok(super::page_answer::with_notes(response, &notes))
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
    text_answer(request, &data, updated_at)
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
    text_answer(request, &data, updated_at)
}

/// JSON, or the raw text for whoever prefers Markdown.
fn text_answer(request: &Incoming, data: &TextData<'_>, updated_at: Moment) -> Result<Response, ApiError> {
    let offers: [&[&str]; 2] = [&["application/json"], &["text/markdown", "text/plain"]];
    let response = match choose(&request.accept(), &offers) {
        Some(0) => Response::data(data)?,
        Some(_) => {
            Response::raw("text/markdown; charset=utf-8", AnswerBuffer::from_body(data.markdown.as_bytes()))
        }
        None => {
            let allowed = vec!["application/json".to_owned(), "text/markdown".to_owned()];
            return Err(ApiError::new(
                ErrorKind::NotAcceptable,
                "none of the accepted media types is offered",
            )
            .with_reason("NOT_ACCEPTABLE", "accept one of the listed media types")
            .with_header("Vary", "Accept")
            .with_allowed(allowed));
        }
    };
    Ok(response.public(request, updated_at, REVALIDATE).with_header("Vary", "Accept"))
}
