//! Health and readiness.

use serde::Serialize;

use crate::api::app::App;
use crate::api::context::Incoming;
use crate::api::handlers::catalog::dataset_answer::no_parameters;
use crate::api::route::{Guard, Route};
use mercato_catalog::Snapshot;
use mercato_ledger::Health;
use mercato_web::{ApiError, Method, Response};

/// Paths of this file.
pub const ROUTES: &[Route] = &[
    Route::new(Method::Get, "/healthz", Guard::Uncounted, alive),
    Route::new(Method::Get, "/readyz", Guard::Uncounted, ready),
];

/// The same paths on the operator's side.
pub const OPERATOR_ROUTES: &[Route] = &[
    Route::new(Method::Get, "/healthz", Guard::Uncounted, alive),
    Route::new(Method::Get, "/readyz", Guard::Uncounted, ready_for_operator),
];

#[derive(Serialize)]
struct Alive {
    status: &'static str,
}

/// A ledger that only a restart can cure makes the process unhealthy, so a supervisor restarts it.
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
#[serde(rename_all = "camelCase")]
struct DatasetCounts {
    serving: usize,
    quarantined: usize,
    /// Slugs of quarantined datasets.
    damaged: Vec<String>,
    /// How many serve an older version than they should.
    fallen_back: usize,
    /// How many have to wait for the verification of their store file.
    verifying: usize,
    verification: Verification,
    #[serde(flatten)]
    faults: Option<Faults>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Verification {
    files: u64,
    files_done: u64,
    bytes: u64,
    bytes_done: u64,
}

/// Details for the operator only, because they name files.
#[derive(Serialize)]
struct Faults {
    reasons: Vec<Fault>,
    warnings: Vec<Fault>,
    waiting: Vec<String>,
}

#[derive(Serialize)]
struct Fault {
    slug: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    serves: Option<String>,
    reason: String,
}

impl Faults {
    fn of(snapshot: &Snapshot) -> Self {
        let reasons = snapshot.quarantined().into_iter().map(|(slug, reason)| Fault {
            slug: slug.to_string(),
            serves: None,
            reason: reason.to_owned(),
        });
        let warnings = snapshot.warnings().into_iter().map(|warning| Fault {
            slug: warning.slug,
            serves: Some(warning.serves),
            reason: warning.reason,
        });
        Self {
            reasons: reasons.collect(),
            warnings: warnings.collect(),
            waiting: snapshot.verifying().into_iter().map(str::to_owned).collect(),
        }
    }
}

fn ready(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    no_parameters(request)?;
    readiness(app, |_| None)
}

/// Readiness with the reasons, for the operator.
fn ready_for_operator(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    no_parameters(request)?;
    readiness(app, |snapshot| Some(Faults::of(snapshot)))
}

/// A damaged dataset does not make the server unready: the others serve.
fn readiness(app: &App, faults: impl FnOnce(&Snapshot) -> Option<Faults>) -> Result<Response, ApiError> {
    let snapshot = app.catalog.snapshot();
    let counts = app.catalog.verification();
    let quarantined = snapshot.quarantined();
    let serves = matches!(app.ledger.health(), Health::Serving);
    let data = Ready {
        status: if serves { "ready" } else { "not ready" },
        ledger: if serves { "serving" } else { "down" },
        datasets: DatasetCounts {
            serving: snapshot.datasets().len(),
            quarantined: quarantined.len(),
            damaged: quarantined.iter().map(|(slug, _)| slug.to_string()).collect(),
            fallen_back: snapshot.fallen_back(),
            verifying: snapshot.verifying().len(),
            verification: Verification {
                files: counts.files(),
                files_done: counts.files_done(),
                bytes: counts.bytes(),
                bytes_done: counts.bytes_done(),
            },
            faults: faults(&snapshot),
        },
    };
    let response = Response::data(&data)?;
    Ok(if serves { response } else { response.with_status(503) })
}
