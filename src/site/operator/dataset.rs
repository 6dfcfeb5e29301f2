//! `/operator/datasets/{slug}`: one dataset with its versions and faults; another version, or none, is served from here by the
//! functions that the tools call.

use askama::Template;

use super::done::Done;
use super::forms::{Forms, Refused, confirmed};
use super::operator_visit::{self, ACTION, Head, OperatorVisit, Page};
use super::state::State;
use super::words::OperatorWords;
use crate::api::{App, Incoming};
use crate::site::account::form::Form;
use crate::site::account::form_view::FormView;
use crate::site::cache::Cache;
use crate::site::entry::whole;
use crate::site::frame::Frame;
use mercato_catalog::publish::{Rows, rollback, unpublish};
use mercato_catalog::{CatalogError, Dataset, DatasetVersion, Entry, Slug};
use mercato_web::{ApiError, ErrorKind, Response};

/// Name of the field with a version.
const VERSION: &str = "version";
const ROLLBACK: &str = "rollback";
const WITHDRAW: &str = "withdraw";

#[derive(Template)]
#[template(path = "operator/dataset.html")]
struct DatasetPage {
    frame: Frame,
    head: Head,
    words: &'static OperatorWords,
    state: &'static str,
    tone: &'static str,
    facts: Vec<(&'static str, String)>,
    faults: Vec<String>,
    versions: Vec<VersionLine>,
    rollback: FormView,
    withdraw: FormView,
}

struct VersionLine {
    version: String,
    notes: Vec<&'static str>,
    published: String,
    rows: String,
    columns: String,
    bytes: String,
}

/// The dataset.
pub fn show(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    operator_visit::read(app, request, &[], |app, request, operator| page(app, request, &operator, None))
}

/// Serves another version, or takes the dataset back.
pub fn change(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    operator_visit::change(app, request, |app, request, operator| {
        let slug = Slug::parse(request.path_parameter(0)).map_err(|_| unknown())?;
        let here = operator.visit.here().clone();
        let Some(form) = operator.form(app, request, &[VERSION])? else {
            return Ok(operator.repeated(request, &here));
        };
        let (outcome, done) = match form.raw(ACTION) {
            ROLLBACK => (roll_back(app, &operator, &slug, &form), Done::RolledBack),
            WITHDRAW => (withdraw(app, &operator, &slug, &form), Done::Withdrawn),
            _ => return Err(operator_visit::no_such_action()),
        };
        if let Err(text) = outcome {
            return page(app, request, &operator, Some(Refused { form: &form, text }));
        }
        let now = request.now();
        app.catalog.reload(now).map_err(|error| ApiError::internal(error.to_string()))?;
        let to = if done == Done::Withdrawn { operator.visit.link("/operator/datasets") } else { here };
        Ok(operator.done(request, done, &to))
    })
}

fn roll_back(app: &App, operator: &OperatorVisit, slug: &Slug, form: &Form) -> Result<(), String> {
    not_a_copy(app, operator)?;
    let version = form.text(VERSION).parse().map_err(|_| operator.words.version_wrong.to_owned())?;
    rollback(app.catalog.directory(), slug, &version, Rows::Here)
        .map_err(|error: CatalogError| error.to_string())
}

/// A change to a copy would be lost, and other servers would not hear of it.
pub(super) fn not_a_copy(app: &App, operator: &OperatorVisit) -> Result<(), String> {
    if app.catalog.is_copy() { Err(operator.words.published_elsewhere.to_owned()) } else { Ok(()) }
}

fn withdraw(app: &App, operator: &OperatorVisit, slug: &Slug, form: &Form) -> Result<(), String> {
    not_a_copy(app, operator)?;
    confirmed(operator, form)?;
    unpublish(app.catalog.directory(), slug).map_err(|error| error.to_string())
}

fn page(
    app: &App,
    request: &Incoming,
    operator: &OperatorVisit,
    refused: Option<Refused<'_>>,
) -> Result<Response, ApiError> {
    let words = operator.words;
    let snapshot = app.catalog.snapshot();
    let slug = request.path_parameter(0);
    let entry = snapshot.get(slug).ok_or_else(unknown)?;
    let forms = Forms::new(operator, operator.visit.link(&format!("/operator/datasets/{slug}")), refused);
    let (state, title, facts, faults, versions) = match entry {
        Entry::Serving(dataset) => {
            let title = dataset.manifest.title.choose(Some(operator.visit.language)).unwrap_or(slug);
            let versions = versions(operator, dataset);
            (State::of(dataset), title.to_owned(), facts(operator, dataset), dataset.warnings(), versions)
        }
        Entry::Quarantined { reason } => (
            State::Quarantined,
            slug.to_owned(),
            vec![(words.slug, slug.to_owned())],
            vec![reason.clone()],
            Vec::new(),
        ),
    };
    let page = DatasetPage {
        frame: operator.frame(Page::Datasets, &title),
        head: operator.head_below(&title, words.datasets, &operator.visit.link("/operator/datasets")),
        words,
        state: state.text(words),
        tone: state.tone(),
        facts,
        faults,
        versions,
        rollback: forms.form(ROLLBACK, words.rollback).input(
            forms.input(ROLLBACK, VERSION, "text", words.version).hint(words.rollback_hint).required(),
        ),
        withdraw: forms.form(WITHDRAW, words.withdraw).input(forms.confirmation(WITHDRAW)).dangerous(),
    };
    Ok(operator.visit.answer(request, &page, Cache::NoStore)?.with_status(forms.status()))
}

fn facts(operator: &OperatorVisit, dataset: &Dataset) -> Vec<(&'static str, String)> {
    let (words, numbers) = (operator.words, operator.visit.numbers);
    let mut facts = vec![
        (words.slug, dataset.slug().to_owned()),
        (words.version, dataset.current.version.to_string()),
        (words.updated, numbers.minute(dataset.updated_at)),
    ];
    if dataset.wanted != dataset.current.version {
        facts.push((words.wanted, dataset.wanted.to_string()));
    }
    facts
}

fn versions(operator: &OperatorVisit, dataset: &Dataset) -> Vec<VersionLine> {
    let kept = dataset.versions.iter().map(|version| line(operator, dataset, version, false));
    kept.chain(dataset.held.iter().map(|version| line(operator, dataset, version, true))).collect()
}

fn line(operator: &OperatorVisit, dataset: &Dataset, version: &DatasetVersion, is_held: bool) -> VersionLine {
    let (words, numbers) = (operator.words, operator.visit.numbers);
    let notes = [
        (version.version == dataset.current.version && !is_held, words.served),
        (!version.is_verified() && !version.is_away(), words.state_verifying),
        (version.is_away(), words.state_away),
        (is_held, words.held),
    ];
    VersionLine {
        version: version.version.to_string(),
        notes: notes.into_iter().filter(|(is_so, _)| *is_so).map(|(_, note)| note).collect(),
        published: numbers.minute(version.published_at),
        rows: numbers.integer(version.table.row_count().into()),
        columns: numbers.integer(whole(version.table.columns().len())),
        bytes: numbers.bytes(version.table.file_bytes()),
    }
}

fn unknown() -> ApiError {
    ApiError::new(ErrorKind::NotFound, "no dataset of this name is published")
}
