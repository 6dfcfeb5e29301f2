//! Finding the dataset of a path, and what is answered when there is none or it is damaged.

use std::sync::Arc;

use crate::catalog::{Dataset, DatasetVersion, Entry, Language, Slug};
use crate::http::app::App;
use crate::http::errors::{ApiError, ErrorKind, FaultBody};
use crate::http::incoming::Incoming;
use crate::http::parameters::Parameters;
use crate::limits::http::{RETRY_AFTER_QUARANTINED_SECONDS, RETRY_AFTER_VERIFYING_SECONDS};

/// The published dataset whose slug is the first parameter of the path.
pub(super) fn find(app: &App, request: &mut Incoming) -> Result<Arc<Dataset>, ApiError> {
    let slug = Slug::parse(request.path_parameter(0)).map_err(|error| {
        let hint = "list the datasets with GET /api/v1/datasets";
        ApiError::bad_request(vec![FaultBody::parameter("SLUG_INVALID", "slug", error.to_string(), hint)])
    })?;
    let entry = app.catalog.snapshot().get(slug.as_str()).cloned();
    request.log.dataset = Some(slug.to_string());
    match entry {
        Some(Entry::Serving(dataset)) => Ok(dataset),
        Some(Entry::Quarantined { .. }) => Err(out_of_service(slug.as_str())),
        None => Err(ApiError::new(ErrorKind::NotFound, format!("no dataset `{slug}` is published"))
            .with_reason("DATASET_NOT_FOUND", "list the datasets with GET /api/v1/datasets")),
    }
}

/// Takes a dataset out of service whose store file turned out to be damaged while it was read.
pub(super) fn damaged(app: &App, slug: &str, version: &DatasetVersion, reason: &str) -> ApiError {
    app.catalog.quarantine(version, slug, reason, app.clock.now());
    out_of_service(slug).with_cause(format!("{}: {reason}", version.path.display()))
}

pub(super) fn out_of_service(slug: &str) -> ApiError {
    let message = format!("the dataset `{slug}` is out of service; the other datasets are not concerned");
    ApiError::unavailable(message, RETRY_AFTER_QUARANTINED_SECONDS)
        .with_reason("DATASET_QUARANTINED", "try again later; the operator has been told")
}

/// Refuses to read values of a version whose store file is still being verified.
pub(super) fn verified(slug: &str, version: &DatasetVersion) -> Result<(), ApiError> {
    if version.is_verified() {
        return Ok(());
    }
    let message = format!(
        "the data of `{slug}` {} are being verified; the other datasets are not concerned",
        version.version
    );
    Err(ApiError::unavailable(message, RETRY_AFTER_VERIFYING_SECONDS)
        .with_reason("DATASET_VERIFYING", "try again after Retry-After; nothing was charged"))
}

/// The parameter `lang`.
pub(super) fn language(query: &mut Parameters<'_>) -> Option<Language> {
    query.choice("lang", &[("en", Language::English), ("it", Language::Italian)])
}

/// Refuses parameters where a path takes none.
pub(super) fn no_parameters(request: &Incoming) -> Result<(), ApiError> {
    request.query().finish()
}
