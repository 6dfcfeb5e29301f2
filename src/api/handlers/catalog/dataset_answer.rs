//! Finds the dataset of a path, and builds the errors of unknown, damaged and unverified datasets.

use std::sync::Arc;

use crate::api::app::App;
use crate::api::context::Incoming;
use mercato_catalog::{
    Catalog, Dataset, DatasetVersion, Entry, Language, Slug, SlugError, Snapshot, nearest_slug,
};
use mercato_people::Caller;
use mercato_web::{ApiError, ErrorKind, Parameters, ValidationErrorBody};

/// `Retry-After` for a damaged dataset.
pub const RETRY_AFTER_QUARANTINED_SECONDS: u32 = 60;
/// `Retry-After` for a dataset whose store file is being verified.
const RETRY_AFTER_VERIFYING_SECONDS: u32 = 2;
/// `Retry-After` for a dataset whose store file is being fetched.
const RETRY_AFTER_AWAY_SECONDS: u32 = 2;

/// The published dataset of the path, if the caller's key may read it.
pub fn find_for_key(app: &App, request: &mut Incoming) -> Result<Arc<Dataset>, ApiError> {
    let dataset = find(app, request)?;
    may_read(&dataset, request.context.caller()?)?;
    Ok(dataset)
}

/// Refuses a key that is for other datasets.
pub fn may_read(dataset: &Dataset, caller: &Caller) -> Result<(), ApiError> {
    let limits = caller.key.limits();
    if limits.allow(dataset.slug()) {
        return Ok(());
    }
    let message = format!("the API key is not for the dataset `{}`", dataset.slug());
    Err(ApiError::new(ErrorKind::NoCredits, message)
        .with_reason("KEY_CAP_REACHED", "read one of the datasets allowed, or use another key of the account")
        .with_fact("cap", "datasets")
        .with_allowed(limits.datasets.to_vec()))
}

/// The published dataset whose slug is the first parameter of the path.
pub fn find(app: &App, request: &mut Incoming) -> Result<Arc<Dataset>, ApiError> {
    let typed = request.path_parameter(0).to_owned();
    find_named(app, request, &typed)
}

/// The published dataset with that slug.
pub fn find_named(app: &App, request: &mut Incoming, typed: &str) -> Result<Arc<Dataset>, ApiError> {
    let snapshot = app.catalog.snapshot();
    let slug = Slug::parse(typed).map_err(|error| no_slug(app, &snapshot, typed, &error))?;
    request.context.log.dataset = Some(slug.to_string());
    match snapshot.get(slug.as_str()) {
        Some(Entry::Serving(dataset)) => Ok(Arc::clone(dataset)),
        Some(Entry::Quarantined { .. }) => Err(out_of_service(slug.as_str())),
        None if app.catalog.is_missing(&slug) => Err(not_copied(&slug)),
        None => Err(not_published(app, &snapshot, &slug)),
    }
}

fn no_slug(app: &App, snapshot: &Snapshot, typed: &str, error: &SlugError) -> ApiError {
    let (meant, hint) = meant(app, snapshot, typed);
    let mut fault = ValidationErrorBody::parameter("SLUG_INVALID", "slug", error.to_string(), hint);
    fault.suggestion = meant.map(ToOwned::to_owned);
    ApiError::bad_request(vec![fault])
}

fn not_published(app: &App, snapshot: &Snapshot, slug: &Slug) -> ApiError {
    let (meant, hint) = meant(app, snapshot, slug.as_str());
    ApiError::new(ErrorKind::NotFound, format!("no dataset `{slug}` is published"))
        .with_reason("DATASET_NOT_FOUND", hint)
        .with_suggestion(meant)
}

/// The error of a dataset that is published, and of which this server has nothing yet.
fn not_copied(slug: &Slug) -> ApiError {
    let message = format!("`{slug}` is being fetched; the other datasets are not concerned");
    ApiError::unavailable(message, RETRY_AFTER_AWAY_SECONDS)
        .with_reason("DATASET_AWAY", "try again after Retry-After; nothing was charged")
}

/// The nearest served slug and a hint. Datasets that are not served must not be revealed.
fn meant<'s>(app: &App, snapshot: &'s Snapshot, typed: &str) -> (Option<&'s str>, String) {
    let meant = nearest_slug(typed, snapshot.datasets().iter().map(|dataset| dataset.slug()));
    let question = meant.map(|slug| format!("did you mean `{slug}`? ")).unwrap_or_default();
    let list = app.documents.link("/api/v1/datasets");
    (meant, format!("{question}list the datasets with GET {list}"))
}

/// Quarantines a version whose store file is damaged.
pub fn damaged(app: &App, slug: &str, version: &DatasetVersion, reason: &str) -> ApiError {
    app.catalog.quarantine(version, slug, reason, app.clock.now());
    let refusal = out_of_service_now(&app.catalog, slug, version);
    refusal.with_cause(format!("{}: {reason}", version.path.display()))
}

/// The error of a quarantined version. If the dataset has others, the error concerns this version only.
pub fn out_of_service_now(catalog: &Catalog, slug: &str, version: &DatasetVersion) -> ApiError {
    let snapshot = catalog.snapshot();
    let Some(Entry::Serving(dataset)) = snapshot.get(slug) else { return out_of_service(slug) };
    let (version, serves) = (&version.version, &dataset.current.version);
    let message = format!("version `{version}` of `{slug}` is out of service; `{serves}` is served");
    let names = dataset.versions.iter().map(|version| version.version.to_string()).collect();
    ApiError::unavailable(message, RETRY_AFTER_QUARANTINED_SECONDS)
        .with_reason(
            "VERSION_QUARANTINED",
            "name one of the versions allowed, or leave it out for the current one",
        )
        .with_allowed(names)
}

fn out_of_service(slug: &str) -> ApiError {
    let message = format!("the dataset `{slug}` is out of service; the other datasets are not concerned");
    ApiError::unavailable(message, RETRY_AFTER_QUARANTINED_SECONDS)
        .with_reason("DATASET_QUARANTINED", "try again later; the operator has been told")
}

/// Refuses to read a version whose store file is not verified yet, or not on this machine; the latter is fetched then.
pub fn verified(catalog: &Catalog, slug: &str, version: &DatasetVersion) -> Result<(), ApiError> {
    if version.is_verified() {
        version.note_use();
        return Ok(());
    }
    if version.is_away() {
        catalog.demand(slug, version);
        return Err(away(slug, version));
    }
    let message = format!(
        "the data of `{slug}` {} are being verified; the other datasets are not concerned",
        version.version
    );
    Err(ApiError::unavailable(message, RETRY_AFTER_VERIFYING_SECONDS)
        .with_reason("DATASET_VERIFYING", "try again after Retry-After; nothing was charged"))
}

/// The error of a version that lies in the object store only.
fn away(slug: &str, version: &DatasetVersion) -> ApiError {
    let number = &version.version;
    if version.is_too_large() {
        let message = format!("the data of `{slug}` {number} do not fit into the cache of this server");
        return ApiError::unavailable(message, RETRY_AFTER_QUARANTINED_SECONDS)
            .with_reason("DATASET_AWAY", "try again later; the operator has been told");
    }
    let message =
        format!("the data of `{slug}` {number} are being fetched; the other datasets are not concerned");
    ApiError::unavailable(message, RETRY_AFTER_AWAY_SECONDS)
        .with_reason("DATASET_AWAY", "try again after Retry-After; nothing was charged")
}

/// The parameter `lang`.
pub fn language(query: &mut Parameters<'_>) -> Option<Language> {
    query.choice("lang", &[("en", Language::English), ("it", Language::Italian)])
}

/// Refuses all query parameters.
pub fn no_parameters(request: &Incoming) -> Result<(), ApiError> {
    request.query().finish()
}
