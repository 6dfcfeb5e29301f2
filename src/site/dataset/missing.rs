//! Refusals of dataset pages: no such dataset, no such tab, or data out of service. The page suggests where to go on.

use askama::Template;

use crate::api::{App, Incoming};
use crate::site::cache::Cache;
use crate::site::frame::{Frame, Section};
use crate::site::url::Url;
use crate::site::visit::{HTML, Visit, html_of};
use crate::site::words::fill;
use mercato_catalog::{Entry, Slug, nearest_slug};

use super::head::Tab;
use super::values::shortened;
use super::{DatasetWords, Opened};
use mercato_web::{ApiError, ErrorKind, Response};

/// Characters of the typed text that the page repeats.
const TYPED_CHARACTERS_MAX: usize = 80;

#[derive(Template)]
#[template(path = "dataset/missing.html")]
struct MissingPage {
    frame: Frame,
    words: &'static DatasetWords,
    heading: &'static str,
    said: String,
    ways: Vec<Way>,
}

/// Somewhere to go on.
struct Way {
    text: String,
    url: Url,
}

/// A page for a refusal that concerns the dataset; any other refusal is left to the page of all errors.
pub(super) fn answer(
    app: &App,
    request: &Incoming,
    visit: &Visit,
    refusal: ApiError,
) -> Result<Response, ApiError> {
    // Programs get JSON, as everywhere.
    if !request.prefers_html() {
        return Err(refusal);
    }
    let words = DatasetWords::of(visit.language);
    let typed = request.path_parameter(0).to_owned();
    let is_unavailable = refusal.kind() == ErrorKind::Unavailable;
    // An invalid name is treated like the name of a dataset that does not exist.
    let refusal = match Slug::parse(&typed) {
        Ok(_) => refusal,
        Err(error) => ApiError::new(ErrorKind::NotFound, error.to_string()),
    };
    let (heading, said) = match refusal.kind() {
        ErrorKind::NotFound => (words.missing_dataset, words.missing_dataset_said),
        ErrorKind::Unavailable => match waits_for(app, &typed) {
            Some(Wait::Verification) => (words.verifying, words.verifying_said),
            Some(Wait::Fetch) => (words.away, words.away_said),
            None => (words.quarantined, words.quarantined_said),
        },
        _ => return Err(refusal),
    };
    let said = fill(said, shortened(&typed, TYPED_CHARACTERS_MAX));
    let ways = if is_unavailable {
        vec![Way { text: words.way_list.to_owned(), url: visit.link("/datasets") }]
    } else {
        ways(app, visit, words, &typed)
    };
    let page = MissingPage { frame: frame(visit, heading), words, heading, said, ways };
    sent(request, visit, &page, &refusal)
}

/// A page for a tab that no dataset has.
pub(super) fn unknown_tab(opened: &Opened<'_>) -> Result<Response, ApiError> {
    let (words, visit) = (opened.words, opened.visit);
    if !opened.request.prefers_html() {
        return Err(crate::api::unknown_path(opened.app));
    }
    let typed = opened.request.path_parameter(1);
    let meant = nearest_slug(typed, Tab::ALL.iter().map(|tab| tab.name()).filter(|name| !name.is_empty()));
    let meant = Tab::ALL.into_iter().find(|tab| Some(tab.name()) == meant);
    let others = Tab::ALL.into_iter().filter(|tab| Some(*tab) != meant);
    let way = |tab: Tab| Way { text: tab.label(words).to_owned(), url: opened.tab(tab) };
    let page = MissingPage {
        frame: frame(visit, words.missing_tab),
        words,
        heading: words.missing_tab,
        said: fill(words.missing_tab_said, shortened(typed, TYPED_CHARACTERS_MAX)),
        ways: meant.into_iter().chain(others).map(way).collect(),
    };
    let refusal = ApiError::new(ErrorKind::NotFound, "the dataset has no such page");
    sent(opened.request, visit, &page, &refusal)
}

fn frame(visit: &Visit, heading: &'static str) -> Frame {
    visit.frame(Section::Datasets, heading, heading).no_index()
}

fn sent(
    request: &Incoming,
    visit: &Visit,
    page: &MissingPage,
    refusal: &ApiError,
) -> Result<Response, ApiError> {
    let html = html_of(page)?;
    Ok(visit.sent(Response::refusal(refusal, HTML, html.as_bytes()), request, Cache::NoStore))
}

/// What a reader waits for.
enum Wait {
    Verification,
    Fetch,
}

/// Whether the data are only being verified or fetched, so that waiting helps.
fn waits_for(app: &App, slug: &str) -> Option<Wait> {
    let snapshot = app.catalog.snapshot();
    let Some(Entry::Serving(dataset)) = snapshot.get(slug) else { return None };
    match &dataset.current {
        current if current.is_away() => Some(Wait::Fetch),
        current if !current.is_verified() => Some(Wait::Verification),
        _ => None,
    }
}

/// The nearest dataset, a search for the typed text, and the list.
fn ways(app: &App, visit: &Visit, words: &DatasetWords, typed: &str) -> Vec<Way> {
    let snapshot = app.catalog.snapshot();
    let meant = nearest_slug(typed, snapshot.datasets().iter().map(|dataset| dataset.slug()));
    let meant = meant
        .map(|slug| Way { text: fill(words.way_meant, slug), url: visit.link(&Tab::Overview.path(slug)) });
    let question: String = typed.replace(['-', '_'], " ").chars().take(TYPED_CHARACTERS_MAX).collect();
    let search =
        Way { text: fill(words.way_search, &question), url: visit.link("/datasets").with("q", &question) };
    let list = Way { text: words.way_list.to_owned(), url: visit.link("/datasets") };
    let is_searchable = question.trim().chars().count() >= mercato_search::limits::QUESTION_CHARS_MIN;
    meant.into_iter().chain(is_searchable.then_some(search)).chain([list]).collect()
}
