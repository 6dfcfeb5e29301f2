//! The tags of the published datasets, with how many carry each.

use serde::Serialize;

use crate::api::app::App;
use crate::api::context::Incoming;
use crate::api::handlers::catalog::page_links::{page_bounds, page_links};
use crate::api::route::{Guard, Route};
use crate::limits::api::{TAGS_LIMIT_DEFAULT, TAGS_LIMIT_MAX};
use mercato_catalog::TagCount;
use mercato_web::{ApiError, Method, Response};

/// Paths of this file.
pub const ROUTES: &[Route] = &[Route::new(Method::Get, "/api/v1/tags", Guard::Public, tags)];

const REVALIDATE: &str = "public, no-cache";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TagsData<'a> {
    results: Vec<Line<'a>>,
    total: usize,
    limit: u64,
    offset: u64,
    next_offset: Option<u64>,
}

#[derive(Serialize)]
struct Line<'a> {
    tag: &'a str,
    count: usize,
}

fn tags(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    let mut query = request.query();
    let limit = query.integer("limit", 1, TAGS_LIMIT_MAX, TAGS_LIMIT_DEFAULT);
    let offset = query.integer("offset", 0, u64::MAX, 0);
    query.finish()?;
    let snapshot = app.catalog.snapshot();
    let tags = snapshot.tags();
    let (page, next_offset) = page_bounds(limit, offset, tags.len());
    let results = tags.get(page).unwrap_or_default().iter();
    let results = results.map(|TagCount { tag, count }| Line { tag, count: *count }).collect();
    let data = TagsData { results, total: tags.len(), limit, offset, next_offset };
    let links = page_links(&app.documents.link("/api/v1/tags"), limit, offset, next_offset, "");
    let response = Response::data(&data)?;
    Ok(response.public(request, snapshot.changed_at(), REVALIDATE).with_header("Link", links))
}
