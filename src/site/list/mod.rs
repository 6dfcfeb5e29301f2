//! The list of datasets: a question or none, facets, an order, pages.
//!
//! Depends on catalogue and search, not on pages of a dataset.

mod choice;
mod facets;
mod view;

use std::sync::Arc;
use std::time::Instant;

use super::cache::Cache;
use super::entry::Entry;
use super::visit::Visit;
use super::words::fill;
use crate::api::route::{Guard, Route};
use crate::api::{App, Incoming};
use crate::limits::site::DATASETS_PER_PAGE;
use choice::Choice;
use facets::Facets;
use mercato_catalog::{Dataset, Snapshot};
use mercato_search::limits::{QUESTION_CHARS_MAX, QUESTION_CHARS_MIN, RESULTS_REACH_MAX};
use mercato_search::question::{Question, QuestionError};
use mercato_search::{Found, Hit, Page as SearchPage, RankedBy};
use mercato_web::{ApiError, Method, Response};
use view::{ListPage, Paging};

/// Results of a search over which facets are counted, where there are no more.
const RESULTS_COUNTED_MAX: usize = 60;

/// Paths of this file.
pub(super) const ROUTES: &[Route] = &[Route::new(Method::Get, "/datasets", Guard::Public, list)];

/// The results of a list: their number, the entries of a page, and the facets.
struct Shown {
    total: usize,
    /// Those behind it are not shown: a search has a reach.
    reachable: usize,
    entries: Vec<Entry>,
    facets: Facets,
    ranking: Option<&'static str>,
}

fn list(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    let visit = Visit::of(app, request, &choice::NAMES)?;
    let snapshot = app.catalog.snapshot();
    let choice = Choice::of(&visit);
    let mut problem = None;
    let mut notice = None;
    let found = match &choice.question {
        None => None,
        Some(Err(fault)) => {
            problem = Some(fault_text(&visit, *fault));
            None
        }
        Some(Ok(question)) => {
            let found = search(app, &visit, &choice, question, choice.page);
            notice = found.is_none().then_some(visit.words.search_starting);
            found.map(|shown| match choice.page_in(shown.reachable) {
                last if last < choice.page => search(app, &visit, &choice, question, last).unwrap_or(shown),
                _ => shown,
            })
        }
    };
    let cache = if problem.is_some() || notice.is_some() {
        Cache::NoStore
    } else {
        Cache::Revalidate(snapshot.changed_at())
    };
    let shown = found.unwrap_or_else(|| listed(&visit, &snapshot, &choice));
    let paging = Paging::new(&visit, choice.page, shown.reachable);
    let mut page = ListPage::new(&visit, &choice, shown, paging);
    (page.problem, page.notice) = (problem, notice);
    visit.answer(request, &page, cache)
}

/// The datasets of a list in its order.
fn listed(visit: &Visit, snapshot: &Snapshot, choice: &Choice<'_>) -> Shown {
    let ordered = snapshot.in_order(choice.order, Some(visit.language));
    let (total, entries, facets) = if choice.takes_all() {
        let entries = page_of(ordered.iter(), choice.page_in(ordered.len()));
        let entries = entries.map(|dataset| Entry::of(visit, dataset)).collect();
        (ordered.len(), entries, Facets::of_all(visit, snapshot, choice))
    } else {
        let found: Vec<&Arc<Dataset>> = ordered.iter().filter(|dataset| choice.takes(dataset)).collect();
        let entries = page_of(found.iter(), choice.page_in(found.len()));
        let entries = entries.map(|dataset| Entry::of(visit, dataset)).collect();
        (found.len(), entries, Facets::of_found(visit, &found, choice))
    };
    Shown { total, reachable: total, entries, facets, ranking: None }
}

/// A page of the datasets that answer a question; nothing while the index is being made.
fn search(app: &App, visit: &Visit, choice: &Choice<'_>, question: &Question, page: usize) -> Option<Shown> {
    let reach = usize::try_from(RESULTS_REACH_MAX).unwrap_or(usize::MAX);
    let before = page.saturating_sub(1).saturating_mul(DATASETS_PER_PAGE).min(reach);
    // The first results are requested together: where there are no others, facets are counted over them.
    let is_early = before.saturating_add(DATASETS_PER_PAGE) <= RESULTS_COUNTED_MAX;
    let (offset, limit) = if is_early {
        (0, RESULTS_COUNTED_MAX)
    } else {
        (before, DATASETS_PER_PAGE.min(reach.saturating_sub(before)))
    };
    let is_wanted = |dataset: &Dataset| choice.takes(dataset);
    let only: Option<&dyn Fn(&Dataset) -> bool> = if choice.takes_all() { None } else { Some(&is_wanted) };
    let wanted = SearchPage { offset, limit, tags: Vec::new(), only };
    let Found { total, hits, ranked_by, .. } =
        app.search.find(question, None, &wanted, Instant::now()).ok()?;
    let ranking = match ranked_by {
        RankedBy::Lexical => visit.words.ranked_words,
        RankedBy::Embedding | RankedBy::CrossEncoder => visit.words.ranked_meaning,
    };
    let facets = if is_early && total == hits.len() {
        let found: Vec<&Arc<Dataset>> = hits.iter().map(|hit| &hit.dataset).collect();
        Facets::of_found(visit, &found, choice)
    } else {
        Facets::of_search(visit, &app.catalog.snapshot(), choice)
    };
    let on_page = hits.iter().skip(before.saturating_sub(offset)).take(DATASETS_PER_PAGE);
    let entries = on_page.map(|hit| entry_of(visit, hit)).collect();
    Some(Shown { total, reachable: total.min(reach), entries, facets, ranking: Some(ranking) })
}

/// A dataset that answers a question: with the piece of text that does, and where the question was found.
fn entry_of(visit: &Visit, hit: &Hit) -> Entry {
    let words = visit.words;
    let place = |name: &&'static str| match *name {
        "title" => words.in_title,
        "tags" => words.in_tags,
        "description" => words.in_description,
        "columns" => words.in_columns,
        "slug" => words.in_slug,
        "methodology" => words.in_methodology,
        "meaning" => words.in_meaning,
        other => other,
    };
    let places: Vec<&str> = hit.matched_on.iter().map(place).collect();
    let mut entry = Entry::of(visit, &hit.dataset);
    entry.found_in = (!places.is_empty()).then(|| fill(words.found_in, places.join(", ")));
    if !hit.snippet.is_empty() {
        entry.summary.clone_from(&hit.snippet);
    }
    entry
}

fn page_of<T>(found: impl Iterator<Item = T>, page: usize) -> impl Iterator<Item = T> {
    found.skip(page.saturating_sub(1).saturating_mul(DATASETS_PER_PAGE)).take(DATASETS_PER_PAGE)
}

fn fault_text(visit: &Visit, fault: QuestionError) -> String {
    match fault {
        QuestionError::TooShort => fill(visit.words.question_short, QUESTION_CHARS_MIN),
        QuestionError::TooLong => fill(visit.words.question_long, QUESTION_CHARS_MAX),
        QuestionError::ControlCharacter => visit.words.question_control.to_owned(),
    }
}
