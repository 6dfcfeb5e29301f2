//! Statistics of all values of each column. The converter computed them, so a response costs one read.

use serde_json::json;

use crate::api::app::App;
use crate::api::context::Incoming;
use crate::api::handlers::catalog::dataset_answer::{damaged, find, verified};
use crate::api::handlers::catalog::dataset_version;
use crate::api::route::{Guard, Route};
use mercato_query::render::write_statistics;
use mercato_web::{ApiError, Method, Response};

/// Paths of this file.
pub const ROUTES: &[Route] =
    &[Route::new(Method::Get, "/api/v1/datasets/{slug}/stats", Guard::Public, get_stats)];

const REVALIDATE: &str = "public, no-cache";

fn get_stats(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    let dataset = find(app, request)?;
    let mut query = request.query();
    let named = query.text("version");
    query.finish()?;
    let version = dataset_version::of_parameter(&dataset, named)?;
    verified(&app.catalog, dataset.slug(), version)?;
    let mut buffer = Response::begin_envelope(16 * 1024);
    let out = buffer.sink();
    let name = json!(version.version.to_string());
    let head = format!(r#"{{"version":{name},"rowCount":{},"columns":"#, version.table.row_count());
    out.extend_from_slice(head.as_bytes());
    let complete = write_statistics(&version.table, out)
        .map_err(|error| damaged(app, dataset.slug(), version, &error.to_string()))?;
    out.extend_from_slice(format!(r#","complete":{complete}}}"#).as_bytes());
    Ok(Response::enveloped(buffer).public(request, dataset.updated_at, REVALIDATE))
}
