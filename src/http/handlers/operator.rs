//! What the operator's listener offers beside accounts: metrics and a reload of the catalog.

use serde::Serialize;

use super::dataset_answer::no_parameters;
use crate::http::app::App;
use crate::http::buffer::AnswerBuffer;
use crate::http::errors::ApiError;
use crate::http::incoming::{Incoming, Method};
use crate::http::response::Response;
use crate::http::router::{Guard, Route};

/// Paths of this file.
pub(in crate::http) const ROUTES: &[Route] = &[
    Route::new(Method::Get, "/metrics", Guard::Uncounted, metrics),
    Route::new(Method::Post, "/admin/v1/catalog/reload", Guard::Operator, reload),
];

fn metrics(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    no_parameters(request)?;
    let snapshot = app.catalog.snapshot();
    let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    let text = app.metrics.render(&[
        ("mercato_datasets_serving", "Datasets that are served.", count(snapshot.datasets().len())),
        ("mercato_datasets_quarantined", "Datasets that are damaged.", count(snapshot.quarantined().len())),
    ]);
    Ok(Response::raw("text/plain; version=0.0.4; charset=utf-8", AnswerBuffer::from_body(text.as_bytes())))
}

#[derive(Serialize)]
struct Reloaded {
    serving: usize,
    quarantined: usize,
    changed: Vec<String>,
    damaged: Vec<Damaged>,
}

#[derive(Serialize)]
struct Damaged {
    slug: String,
    reason: String,
}

/// Looks at all folders now; the operator is also told why a dataset is damaged.
fn reload(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    no_parameters(request)?;
    let report = app.catalog.reload().map_err(|error| ApiError::internal(error.to_string()))?;
    let snapshot = app.catalog.snapshot();
    let damaged = snapshot
        .quarantined()
        .into_iter()
        .map(|(slug, reason)| Damaged { slug: slug.to_string(), reason: reason.to_owned() })
        .collect();
    let data = Reloaded {
        serving: report.serving,
        quarantined: report.quarantined,
        changed: report.changed,
        damaged,
    };
    Response::data(&data)
}
