//! What the operator's listener offers beside accounts: metrics and a reload of the catalog.

use serde::Serialize;

use super::dataset_answer::no_parameters;
use crate::http::app::App;
use crate::http::buffer::AnswerBuffer;
use crate::http::errors::ApiError;
use crate::http::incoming::{Incoming, Method};
use crate::http::response::Response;
use crate::http::router::{Guard, Route};
use crate::ledger::Health;

/// Paths of this file.
pub(in crate::http) const ROUTES: &[Route] = &[
    Route::new(Method::Get, "/metrics", Guard::Uncounted, metrics),
    Route::new(Method::Post, "/admin/v1/catalog/reload", Guard::Operator, reload),
];

fn metrics(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    no_parameters(request)?;
    let snapshot = app.catalog.snapshot();
    let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    let patrolled = app.catalog.patrolled();
    let books = app.ledger.stats();
    let serves = u64::from(app.ledger.health() == Health::Serving);
    let (addresses, address_bytes) = app.gate.tracked_addresses();
    let mut gauges = vec![
        ("mercato_datasets_serving", "Datasets that are served.", count(snapshot.datasets().len())),
        ("mercato_datasets_quarantined", "Datasets that are damaged.", count(snapshot.quarantined().len())),
        ("mercato_checksum_bytes", "Bytes compared with their checksums since the start.", patrolled.bytes()),
        ("mercato_checksum_rounds", "Times that every store file was gone over.", patrolled.rounds()),
        ("mercato_checksum_damaged", "Versions found damaged by it since the start.", patrolled.damaged()),
        ("mercato_ledger_serving", "1 while the books can be written.", serves),
        ("mercato_ledger_entries", "Entries in the books.", books.entries),
        ("mercato_ledger_operations", "Operations on the books since the start.", books.operations),
        ("mercato_ledger_batches", "Batches in which they were written.", books.batches),
        ("mercato_ledger_queue_depth", "Operations that wait for the books.", count(books.queue_depth)),
        ("mercato_ledger_open_reservations", "Streams that hold credits.", books.open_reservations),
        ("mercato_accounts", "Accounts.", count(books.accounts)),
        ("mercato_keys", "Keys, revoked ones included.", count(books.keys)),
        ("mercato_tracked_addresses", "Client addresses whose requests are counted.", count(addresses)),
        ("mercato_tracked_address_bytes", "Memory that they take.", count(address_bytes)),
    ];
    gauges.extend(app.search.neural().gauges());
    let text = app.metrics.render(&gauges);
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
    let report = app.catalog.reload(request.now()).map_err(|error| ApiError::internal(error.to_string()))?;
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
