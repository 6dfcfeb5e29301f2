//! The operator's listener: metrics, a reload of the catalog, and commands on the books.

pub mod admin;

use serde::Serialize;

use crate::api::app::App;
use crate::api::context::Incoming;
use crate::api::handlers::catalog::dataset_answer::no_parameters;
use crate::api::metrics::process::ProcessStatus;
use crate::api::metrics::{OPENMETRICS_MEDIA_TYPE, text_of};
use crate::api::route::{Guard, Route, Work};
use mercato_base::sample::Sample;
use mercato_ledger::{DatabaseStats, Health};
use mercato_web::{ApiError, Method, Response};

/// The path that Prometheus reads.
pub const METRICS: &[Route] =
    &[Route::new(Method::Get, "/metrics", Guard::Uncounted, metrics).by(Work::Vital)];

/// Further paths of this file.
pub const ROUTES: &[Route] = &[Route::new(Method::Post, "/admin/v1/catalog/reload", Guard::Operator, reload)];

fn metrics(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    no_parameters(request)?;
    let stats = app.ledger.stats();
    let values = datasets(app).into_iter().chain(books(app)).chain(memory(app));
    let values = values.chain(app.search.neural().gauges()).chain(stats.database.iter().flat_map(database));
    let samples = values.map(|(name, help, value)| {
        if name.ends_with("_total") {
            Sample::counter(name, help, value)
        } else {
            Sample::gauge(name, help, value)
        }
    });
    let mut registry = app.metrics.registry(samples.collect());
    registry.register(
        "mercato_ledger_sync_seconds",
        "Time of one sync of the log, or of one batch on a database",
        stats.sync_seconds,
    );
    registry.register(
        "mercato_ledger_sync_records",
        "Operations that one sync of the log, or one batch on a database, made durable",
        stats.group_sizes,
    );
    let text = text_of(&registry).map_err(|error| ApiError::internal(error.to_string()))?;
    Ok(Response::bytes(OPENMETRICS_MEDIA_TYPE, text.as_bytes()))
}

type Gauge = (&'static str, &'static str, u64);

fn datasets(app: &App) -> [Gauge; 15] {
    let snapshot = app.catalog.snapshot();
    let versions = snapshot.datasets().iter().flat_map(|dataset| &dataset.versions);
    let versions = versions.filter(|version| !version.is_away());
    let mapped = versions.fold(0_u64, |sum, version| sum.saturating_add(version.table.file_bytes()));
    let (scrub_counts, verification) = (app.catalog.scrub_counts(), app.catalog.verification());
    let kept = app.selections.counts();
    [
        ("mercato_datasets_serving", "Datasets that are served.", count(snapshot.datasets().len())),
        ("mercato_datasets_quarantined", "Datasets that are damaged.", count(snapshot.quarantined().len())),
        (
            "mercato_datasets_fallen_back",
            "Datasets that serve an older version because theirs is damaged.",
            count(snapshot.fallen_back()),
        ),
        (
            "mercato_datasets_verifying",
            "Datasets that wait for the verification of their store file.",
            count(snapshot.verifying().len()),
        ),
        (
            "mercato_verification_files_waiting",
            "Store files that wait for their verification.",
            verification.files().saturating_sub(verification.files_done()),
        ),
        (
            "mercato_verification_files_total",
            "Store files verified since the start, because they were new or changed.",
            verification.files_done(),
        ),
        ("mercato_verification_bytes_total", "Bytes compared by it.", verification.bytes_done()),
        ("mercato_verification_damaged_total", "Store files found damaged by it.", verification.damaged()),
        (
            "mercato_checksum_bytes_total",
            "Bytes compared with their checksums since the start.",
            scrub_counts.bytes(),
        ),
        (
            "mercato_checksum_rounds_total",
            "Times that every store file was gone over.",
            scrub_counts.rounds(),
        ),
        (
            "mercato_checksum_damaged_total",
            "Versions found damaged by it since the start.",
            scrub_counts.damaged(),
        ),
        ("mercato_mapped_bytes", "Store files that are mapped.", mapped),
        ("mercato_selection_hits_total", "Selections found ready.", kept.hits),
        ("mercato_selection_misses_total", "Selections that had to be built.", kept.misses),
        ("mercato_selection_bytes", "Memory of the selections that are kept.", count(kept.bytes)),
    ]
}

fn books(app: &App) -> [Gauge; 8] {
    let books = app.ledger.stats();
    let serves = u64::from(app.ledger.health() == Health::Serving);
    let (addresses, address_bytes) = app.access.tracked_addresses();
    [
        ("mercato_ledger_serving", "1 while the books can be written.", serves),
        ("mercato_ledger_entries", "Entries in the books.", books.entries),
        ("mercato_ledger_operations_total", "Operations on the books since the start.", books.operations),
        ("mercato_ledger_open_reservations", "Streams that hold credits.", books.open_reservations),
        ("mercato_accounts", "Accounts.", count(books.accounts)),
        ("mercato_keys", "Keys, revoked ones included.", count(books.keys)),
        ("mercato_tracked_addresses", "Client addresses whose requests are counted.", count(addresses)),
        ("mercato_tracked_address_bytes", "Memory that they take.", count(address_bytes)),
    ]
}

/// Books on a database.
fn database(stats: &DatabaseStats) -> [Gauge; 4] {
    [
        ("mercato_database_lease_milliseconds", "Time left of the lease of this server.", stats.lease_millis),
        (
            "mercato_database_follow_lag_milliseconds",
            "Time since this server knew what others had changed.",
            stats.follow_lag_millis,
        ),
        (
            "mercato_database_doubtful_outcomes_total",
            "Commits whose answer was lost, since the start.",
            stats.doubtful_outcomes,
        ),
        (
            "mercato_database_reconnects_total",
            "Connections that took the place of lost ones, since the start.",
            stats.reconnects,
        ),
    ]
}

/// Memory of the process from the kernel; empty if unavailable.
fn memory(app: &App) -> Vec<Gauge> {
    let status = ProcessStatus::read();
    let descriptors = std::fs::read_dir("/proc/self/fd").map(|folder| count(folder.count())).ok();
    let uptime = app.metrics.uptime_seconds();
    [
        (
            "process_resident_memory_bytes",
            "Memory that is resident, mapped files included.",
            status.bytes("VmRSS"),
        ),
        ("mercato_resident_anonymous_bytes", "Resident memory that is no file.", status.bytes("RssAnon")),
        ("mercato_resident_file_bytes", "Resident pages of mapped files.", status.bytes("RssFile")),
        ("process_threads", "Threads.", status.field("Threads")),
        ("process_open_fds", "File descriptors that are open.", descriptors),
        ("mercato_uptime_seconds", "Seconds since the start.", Some(uptime)),
    ]
    .into_iter()
    .filter_map(|(name, help, value)| Some((name, help, value?)))
    .collect()
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
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

/// Scans all folders now. The response names the reasons of quarantined datasets.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_metrics_of_books_on_database() {
        let text = std::fs::read_to_string("docs/OPERATIONS.md").unwrap();
        let stats =
            DatabaseStats { lease_millis: 1, follow_lag_millis: 2, doubtful_outcomes: 3, reconnects: 4 };
        let metrics = database(&stats);
        for (name, ..) in metrics {
            assert!(name.starts_with("mercato_database_") && text.contains(&format!("`{name}`")), "{name}");
        }
        assert_eq!(metrics.map(|(.., value)| value), [1, 2, 3, 4]);
        let named = text.split("mercato_database_").skip(1);
        let known = |rest: &str| metrics.iter().any(|(name, ..)| rest.starts_with(&name[17..]));
        assert!(named.into_iter().all(known), "a metric that is not there");
    }
}
