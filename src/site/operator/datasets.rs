//! `/operator/datasets`: every published dataset with its state, versions and sizes, page by page.

use askama::Template;

use super::done::DONE;
use super::operator_visit::{self, Head, OperatorVisit, Page};
use super::state::State;
use super::words::OperatorWords;
use crate::api::{App, Incoming};
use crate::limits::site::OPERATOR_LINES_PER_PAGE;
use crate::site::cache::Cache;
use crate::site::entry::whole;
use crate::site::frame::{Frame, NavLink};
use crate::site::words::fill;
use mercato_catalog::{Dataset, Language, Snapshot};
use mercato_web::{ApiError, Response};

/// Name of the parameter with the words that are looked for.
const QUESTION: &str = "q";
/// Name of the parameter that says which datasets are shown.
const WHICH: &str = "which";
/// Its only value.
const FAULTY: &str = "faulty";
/// Name of the parameter with the number of the page.
const PAGE: &str = "page";

#[derive(Template)]
#[template(path = "operator/datasets.html")]
struct DatasetsPage {
    frame: Frame,
    head: Head,
    words: &'static OperatorWords,
    question: String,
    action: String,
    kinds: [NavLink; 2],
    is_faulty: bool,
    count: String,
    lines: Vec<Line>,
    previous: Option<String>,
    next: Option<String>,
}

struct Line {
    slug: String,
    title: String,
    url: String,
    state: &'static str,
    tone: &'static str,
    version: String,
    versions: String,
    rows: String,
    bytes: String,
    updated: String,
}

/// A published dataset.
enum Published<'s> {
    Serving(&'s Dataset),
    Quarantined(&'s str),
}

impl Published<'_> {
    fn slug(&self) -> &str {
        match self {
            Self::Serving(dataset) => dataset.slug(),
            Self::Quarantined(slug) => slug,
        }
    }

    fn is_faulty(&self) -> bool {
        match self {
            Self::Serving(dataset) => State::of(dataset) != State::Serving,
            Self::Quarantined(_) => true,
        }
    }

    /// Whether its slug or one of its titles has these words, in small letters.
    fn has(&self, words: &str) -> bool {
        let is_in_title = |dataset: &Dataset| {
            let titles = [Language::English, Language::Italian];
            titles
                .iter()
                .filter_map(|language| dataset.manifest.title.choose(Some(*language)))
                .any(|title| title.to_lowercase().contains(words))
        };
        self.slug().contains(words) || matches!(self, Self::Serving(dataset) if is_in_title(dataset))
    }
}

/// The list.
pub fn show(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    operator_visit::read(app, request, &[QUESTION, WHICH, PAGE], |app, request, operator| {
        let snapshot = app.catalog.snapshot();
        let question = operator.visit.value(QUESTION).unwrap_or_default().trim().to_owned();
        let is_faulty = operator.visit.value(WHICH) == Some(FAULTY);
        let found = found(&snapshot, &question.to_lowercase(), is_faulty);
        let pages = found.len().div_ceil(OPERATOR_LINES_PER_PAGE).max(1);
        let page = operator.visit.value(PAGE).and_then(|text| text.parse().ok()).unwrap_or(1).clamp(1, pages);
        let first = page.saturating_sub(1).saturating_mul(OPERATOR_LINES_PER_PAGE);
        let here = operator.visit.here().without(PAGE).without(DONE);
        let words = operator.words;
        let kind = |text, url: &dyn ToString, is_current| NavLink { text, url: url.to_string(), is_current };
        let at = |page: usize| here.with(PAGE, page).to_string();
        let page = DatasetsPage {
            frame: operator.frame(Page::Datasets, words.datasets),
            head: operator.head(words.datasets),
            words,
            question,
            action: operator.visit.link("/operator/datasets").bare().to_string(),
            kinds: [
                kind(words.all, &here.without(WHICH), !is_faulty),
                kind(words.faulty, &here.with(WHICH, FAULTY), is_faulty),
            ],
            is_faulty,
            count: fill(words.datasets_found, operator.visit.numbers.integer(whole(found.len()))),
            lines: found
                .iter()
                .skip(first)
                .take(OPERATOR_LINES_PER_PAGE)
                .map(|published| line(&operator, published))
                .collect(),
            previous: (page > 1).then(|| at(page.saturating_sub(1))),
            next: (page < pages).then(|| at(page.saturating_add(1))),
        };
        operator.visit.answer(request, &page, Cache::NoStore)
    })
}

/// By slug.
fn found<'s>(snapshot: &'s Snapshot, words: &str, is_faulty: bool) -> Vec<Published<'s>> {
    let serving = snapshot.datasets().iter().map(|dataset| Published::Serving(dataset));
    let quarantined =
        snapshot.quarantined().into_iter().map(|(slug, _)| Published::Quarantined(slug.as_str()));
    let mut found: Vec<Published<'s>> = serving
        .chain(quarantined)
        .filter(|one| (!is_faulty || one.is_faulty()) && (words.is_empty() || one.has(words)))
        .collect();
    found.sort_by(|one, other| one.slug().cmp(other.slug()));
    found
}

fn line(operator: &OperatorVisit, published: &Published<'_>) -> Line {
    let (words, numbers) = (operator.words, operator.visit.numbers);
    let slug = published.slug().to_owned();
    let url = operator.visit.link(&format!("/operator/datasets/{slug}")).to_string();
    let Published::Serving(dataset) = published else {
        let state = State::Quarantined;
        let nothing = || "–".to_owned();
        return Line {
            title: slug.clone(),
            slug,
            url,
            state: state.text(words),
            tone: state.tone(),
            version: nothing(),
            versions: nothing(),
            rows: nothing(),
            bytes: nothing(),
            updated: nothing(),
        };
    };
    let state = State::of(dataset);
    let bytes = dataset.versions.iter().map(|version| version.table.file_bytes());
    Line {
        title: dataset.manifest.title.choose(Some(operator.visit.language)).unwrap_or(&slug).to_owned(),
        slug,
        url,
        state: state.text(words),
        tone: state.tone(),
        version: dataset.current.version.to_string(),
        versions: numbers.integer(whole(dataset.versions.len())),
        rows: numbers.integer(dataset.current.table.row_count().into()),
        bytes: numbers.bytes(bytes.fold(0, u64::saturating_add)),
        updated: numbers.minute(dataset.updated_at),
    }
}
