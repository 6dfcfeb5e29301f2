//! Search over the catalog.
//!
//! Knows the parameters and the shape of the answer; knows no ranking.

use std::time::Instant;

use serde::Serialize;

use super::dataset_answer::language;
use super::item::Item;
use crate::catalog::Language;
use crate::clock::Moment;
use crate::http::app::App;
use crate::http::errors::ApiError;
use crate::http::incoming::{Incoming, Method};
use crate::http::parameters::Parameters;
use crate::http::response::Response;
use crate::http::router::{Guard, Route};
use crate::limits::search::{
    QUESTION_CHARS_MAX, QUESTION_CHARS_MIN, RESULTS_DEFAULT, RESULTS_MAX, RETRY_AFTER_INDEXING_SECONDS,
};
use crate::search::question::{Question, QuestionFault};
use crate::search::{Hit, Page};

/// Paths of this file.
pub(in crate::http) const ROUTES: &[Route] =
    &[Route::new(Method::Get, "/api/v1/datasets/search", Guard::Public, search)];

/// Caches may keep these answers but ask each time whether they still hold.
const REVALIDATE: &str = "public, no-cache";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SearchData<'a> {
    query: &'a str,
    lang: Option<&'static str>,
    ranking: &'static str,
    total: usize,
    results: Vec<ResultItem<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResultItem<'a> {
    #[serde(flatten)]
    item: Item<'a>,
    score: f64,
    rank: usize,
    matched_on: &'a [&'static str],
    snippet: &'a str,
}

fn search(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    let mut query = request.query();
    let question = question(&mut query);
    let limit = query.integer("limit", 1, RESULTS_MAX, RESULTS_DEFAULT);
    let language = language(&mut query);
    query.finish()?;
    let question = question.ok_or_else(|| ApiError::internal("a question without a fault is missing"))?;

    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let page = Page { limit, ..Page::default() };
    let found = app.search.find(&question, language, &page, Instant::now()).map_err(|error| {
        ApiError::unavailable(error.to_string(), RETRY_AFTER_INDEXING_SECONDS)
            .with_reason("SEARCH_NOT_READY", "try again after Retry-After seconds")
    })?;
    let results = (1..).zip(&found.hits).map(|(rank, hit)| result(hit, rank, language)).collect();
    let data = SearchData {
        query: question.text(),
        lang: found.language.map(code),
        ranking: found.ranked_by.name(),
        total: found.total,
        results,
    };
    let snapshot = app.catalog.snapshot();
    let last_modified = snapshot.datasets().iter().map(|dataset| dataset.updated_at).max();
    let mut response = Response::data(&data)?;
    for warning in found.warnings {
        response = response.with_warning(warning);
    }
    Ok(response.public(request, last_modified.unwrap_or(Moment::from_unix_millis(0)), REVALIDATE))
}

/// The parameter `q`; its faults are noted.
fn question(query: &mut Parameters<'_>) -> Option<Question> {
    let hint = format!("give {QUESTION_CHARS_MIN} to {QUESTION_CHARS_MAX} characters");
    let Some(text) = query.text("q") else {
        query.refuse("MISSING", "q", "the parameter is required", hint);
        return None;
    };
    let parsed = Question::parse(text);
    if let Err(fault) = &parsed {
        let reason = match fault {
            QuestionFault::TooShort | QuestionFault::TooLong => "OUT_OF_RANGE",
            QuestionFault::ControlCharacter => "CONTROL_CHARACTER",
        };
        query.refuse(reason, "q", fault.to_string(), hint);
    }
    parsed.ok()
}

fn result(hit: &Hit, rank: usize, language: Option<Language>) -> ResultItem<'_> {
    // Four digits tell results apart and do not pretend to more.
    let score = (f64::from(hit.score) * 10_000.0).round() / 10_000.0;
    ResultItem {
        item: Item::of(&hit.dataset, language),
        score,
        rank,
        matched_on: &hit.matched_on,
        snippet: &hit.snippet,
    }
}

const fn code(language: Language) -> &'static str {
    match language {
        Language::English => "en",
        Language::Italian => "it",
    }
}
