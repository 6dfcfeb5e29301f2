//! Health and readiness.

use serde::Serialize;

use crate::api::app::App;
use crate::api::context::Incoming;
use crate::api::handlers::catalog::dataset_answer::no_parameters;
use crate::api::route::{Guard, Route, Work};
use mercato_catalog::{CopyCause, CopyFault, Entry, Snapshot};
use mercato_ledger::Health;
use mercato_web::{ApiError, Method, Response};

/// Paths of this file.
pub const ROUTES: &[Route] = &[
    Route::new(Method::Get, "/healthz", Guard::Uncounted, alive).by(Work::Vital),
    Route::new(Method::Get, "/readyz", Guard::Uncounted, ready).by(Work::Vital),
];

/// The same paths on the operator's side.
pub const OPERATOR_ROUTES: &[Route] = &[
    Route::new(Method::Get, "/healthz", Guard::Uncounted, alive).by(Work::Vital),
    Route::new(Method::Get, "/readyz", Guard::Uncounted, ready_for_operator).by(Work::Vital),
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
    /// Only where versions lie in an object store.
    #[serde(skip_serializing_if = "Option::is_none")]
    store: Option<StoreState>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StoreState {
    status: &'static str,
    cache_disk: &'static str,
    /// Datasets that are published, and of which this server has nothing.
    missing: usize,
}

impl StoreState {
    fn of(snapshot: &Snapshot, faults: &[CopyFault]) -> Self {
        let state = |cause| {
            if faults.iter().any(|fault| fault.cause == cause) { "failing" } else { "serving" }
        };
        let is_missing =
            |fault: &&CopyFault| fault.version.is_none() && snapshot.get(fault.slug.as_str()).is_none();
        Self {
            status: state(CopyCause::Store),
            cache_disk: state(CopyCause::Disk),
            missing: faults.iter().filter(is_missing).count(),
        }
    }
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

impl Fault {
    fn of_copy(snapshot: &Snapshot, fault: &CopyFault) -> Self {
        let serves = match snapshot.get(fault.slug.as_str()) {
            Some(Entry::Serving(dataset)) if !dataset.current.is_away() => {
                Some(dataset.current.version.to_string())
            }
            _ => None,
        };
        let version =
            fault.version.as_ref().map(|version| format!("version {version}: ")).unwrap_or_default();
        Self { slug: fault.slug.to_string(), serves, reason: format!("{version}{}", fault.reason) }
    }
}

impl Faults {
    fn of(snapshot: &Snapshot, copies: &[CopyFault]) -> Self {
        let reasons = snapshot.quarantined().into_iter().map(|(slug, reason)| Fault {
            slug: slug.to_string(),
            serves: None,
            reason: reason.to_owned(),
        });
        let damaged = snapshot.warnings().into_iter().map(|warning| Fault {
            slug: warning.slug,
            serves: Some(warning.serves),
            reason: warning.reason,
        });
        let warnings = damaged.chain(copies.iter().map(|fault| Fault::of_copy(snapshot, fault)));
        Self {
            reasons: reasons.collect(),
            warnings: warnings.collect(),
            waiting: snapshot.verifying().into_iter().map(str::to_owned).collect(),
        }
    }
}

fn ready(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    no_parameters(request)?;
    readiness(app, |_, _| None)
}

/// Readiness with the reasons, for the operator.
fn ready_for_operator(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    no_parameters(request)?;
    readiness(app, |snapshot, copies| Some(Faults::of(snapshot, copies)))
}

/// A damaged dataset does not make the server unready: the others serve. One that has nothing of what is published is unready, or a
/// balancer would send it customers.
fn readiness(
    app: &App,
    faults: impl FnOnce(&Snapshot, &[CopyFault]) -> Option<Faults>,
) -> Result<Response, ApiError> {
    let snapshot = app.catalog.snapshot();
    let copies = app.catalog.copy_faults();
    let store = copies.as_ref().map(|copies| StoreState::of(&snapshot, copies));
    let is_empty = snapshot.datasets().is_empty() && store.as_ref().is_some_and(|store| store.missing > 0);
    let counts = app.catalog.verification();
    let quarantined = snapshot.quarantined();
    let serves = matches!(app.ledger.health(), Health::Serving);
    let is_ready = serves && !is_empty;
    let data = Ready {
        status: if is_ready { "ready" } else { "not ready" },
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
            faults: faults(&snapshot, copies.as_deref().unwrap_or_default()),
        },
        store,
    };
    let response = Response::data(&data)?;
    Ok(if is_ready { response } else { response.with_status(503) })
}
