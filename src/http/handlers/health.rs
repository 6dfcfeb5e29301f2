//! Whether the server lives and whether it can serve.

use serde::Serialize;

use super::dataset_answer::no_parameters;
use crate::http::app::App;
use crate::http::errors::ApiError;
use crate::http::incoming::{Incoming, Method};
use crate::http::response::Response;
use crate::http::router::{Guard, Route};
use crate::ledger::Health;

/// Paths of this file.
pub(in crate::http) const ROUTES: &[Route] = &[
    Route::new(Method::Get, "/healthz", Guard::Uncounted, alive),
    Route::new(Method::Get, "/readyz", Guard::Uncounted, ready),
];

#[derive(Serialize)]
struct Alive {
    status: &'static str,
}

/// A ledger that only a restart can cure makes the process unhealthy, so that whoever watches restarts it.
fn alive(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    no_parameters(request)?;
    match app.ledger.health() {
        Health::NeedsRestart { .. } => Ok(Response::data(&Alive { status: "restart" })?.with_status(503)),
        _ => Response::data(&Alive { status: "alive" }),
    }
}

#[derive(Serialize)]
struct Ready {
    status: &'static str,
    ledger: &'static str,
    datasets: DatasetCounts,
}

#[derive(Serialize)]
struct DatasetCounts {
    serving: usize,
    quarantined: usize,
    /// Slugs of what is quarantined.
    damaged: Vec<String>,
}

/// A damaged dataset does not make the server unready: the others serve.
fn ready(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    no_parameters(request)?;
    let snapshot = app.catalog.snapshot();
    let quarantined = snapshot.quarantined();
    let serves = matches!(app.ledger.health(), Health::Serving);
    let data = Ready {
        status: if serves { "ready" } else { "not ready" },
        ledger: if serves { "serving" } else { "down" },
        datasets: DatasetCounts {
            serving: snapshot.datasets().len(),
            quarantined: quarantined.len(),
            damaged: quarantined.iter().map(|(slug, _)| slug.to_string()).collect(),
        },
    };
    let response = Response::data(&data)?;
    Ok(if serves { response } else { response.with_status(503) })
}
