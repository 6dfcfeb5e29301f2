//! Selects the version of a dataset to read: the named one, that of a cursor, or the current one.

use std::sync::Arc;

use crate::api::app::App;
use crate::api::handlers::query::query_input::refuse;
use crate::api::processor_limit::ProcessorLimit;
use mercato_base::clock::Moment;
use mercato_base::words::quoted;
use mercato_catalog::{Dataset, DatasetVersion, Entry, parse_changelog};
use mercato_query::{QueryError, QueryRequest, Reason, ValidationError};
use mercato_web::ApiError;

/// The version that a parameter names, else the current one.
pub fn of_parameter<'d>(dataset: &'d Dataset, name: Option<&str>) -> Result<&'d DatasetVersion, ApiError> {
    let Some(name) = name else { return Ok(&dataset.current) };
    named(dataset, name, "version").map_err(|fault| refuse(vec![fault]))
}

/// The dataset; after a look at what other servers published, if the query goes on in a version that this one does not know.
pub fn with_cursor(app: &App, dataset: Arc<Dataset>, asked: &QueryRequest) -> Arc<Dataset> {
    let walked = asked.cursor_fingerprint();
    if walked.is_none_or(|content| dataset.version_of_content(content).is_some()) {
        return dataset;
    }
    app.catalog.refresh();
    match app.catalog.snapshot().get(dataset.slug()) {
        Some(Entry::Serving(newer)) => Arc::clone(newer),
        _ => dataset,
    }
}

/// The version that a query reads. If its version is unreadable, all other errors of the query are reported with that
/// one.
pub fn of_query(
    dataset: &Dataset,
    asked: &QueryRequest,
    now: Moment,
    work: &ProcessorLimit,
) -> Result<DatasetVersion, ApiError> {
    let walked = asked.cursor_fingerprint().and_then(|content| dataset.version_of_content(content));
    let version = match asked.version() {
        None => walked.unwrap_or(&dataset.current),
        Some(name) => {
            let version =
                named(dataset, name, "/version").map_err(|fault| with_others(dataset, asked, fault, work))?;
            let differs =
                |walked: &&DatasetVersion| walked.table.fingerprint() != version.table.fingerprint();
            if let Some(walked) = walked.filter(differs) {
                return Err(refuse(vec![contradiction(walked, version)]));
            }
            version
        }
    };
    if walked.is_some() || asked.version().is_some() {
        version.note_cursor(now);
    }
    Ok(version.clone())
}

/// The version with that name, or the error of the name.
pub fn named<'d>(
    dataset: &'d Dataset,
    name: &str,
    pointer: &str,
) -> Result<&'d DatasetVersion, ValidationError> {
    let served = || dataset.versions.iter();
    if let Some(found) = served().find(|version| version.version.to_string() == name) {
        return Ok(found);
    }
    let was_published = dataset.damaged.iter().any(|(version, _)| version.to_string() == name)
        || parse_changelog(&dataset.changelog).iter().any(|entry| entry.version.to_string() == name);
    let slug = dataset.slug();
    let name_shown = quoted(name);
    let (reason, message) = if was_published {
        (Reason::VersionGone, format!("version {name_shown} of `{slug}` cannot be read any more"))
    } else {
        (Reason::VersionUnknown, format!("`{slug}` has no version {name_shown}"))
    };
    let names: Vec<String> = served().map(|version| version.version.to_string()).collect();
    let hint = "name one of the versions allowed, or leave it out for the current one";
    Err(ValidationError::new(reason, pointer, message, hint)
        .with_names(name, names.iter().map(String::as_str)))
}

/// The fault of the name, and those that the columns of the current version show.
fn with_others(
    dataset: &Dataset,
    asked: &QueryRequest,
    fault: ValidationError,
    work: &ProcessorLimit,
) -> ApiError {
    let mut faults = vec![fault];
    let asked = asked.clone().without_cursor();
    if let Err(QueryError::Invalid(more)) =
        mercato_query::plan(&asked, &dataset.current.table, dataset.slug(), work)
    {
        faults.extend(more);
    }
    refuse(faults)
}

fn contradiction(walked: &DatasetVersion, named: &DatasetVersion) -> ValidationError {
    let message =
        format!("the cursor began on version `{}`, and `version` names `{}`", walked.version, named.version);
    let hint = "leave `version` out: a cursor goes on with the version on which it began";
    ValidationError::new(Reason::CursorQueryMismatch, "/cursor", message, hint)
}
