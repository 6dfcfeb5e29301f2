//! Search over the catalog.
//!
//! Does not depend on the ranking.

use std::time::Instant;

use serde::Serialize;

use crate::api::app::App;
use crate::api::context::Incoming;
use crate::api::handlers::catalog::dataset_answer::language;
use crate::api::handlers::catalog::item::Item;
use crate::api::handlers::catalog::page_links::{page_bounds, page_links};
use crate::api::route::{Guard, Route};
use mercato_base::clock::Moment;
use mercato_catalog::Language;
use mercato_search::limits::{
    QUESTION_CHARS_MAX, QUESTION_CHARS_MIN, RESULTS_DEFAULT, RESULTS_MAX, RESULTS_REACH_MAX,
    RETRY_AFTER_INDEXING_SECONDS,
};
use mercato_search::question::{Question, QuestionError};
use mercato_search::{Hit, Page};
use mercato_web::{ApiError, Method, Parameters, Response, percent_encode};

/// Paths of this file.
pub const ROUTES: &[Route] = &[Route::new(Method::Get, "/api/v1/datasets/search", Guard::Public, search)];

/// Caches may keep these responses but must revalidate them each time.
const REVALIDATE: &str = "public, no-cache";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SearchData<'a> {
    query: &'a str,
    lang: Option<&'static str>,
    ranking: &'static str,
    total: usize,
    limit: u64,
    offset: u64,
    next_offset: Option<u64>,
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
    let offset = query.integer("offset", 0, RESULTS_REACH_MAX.saturating_sub(1), 0);
    let tags: Vec<&str> = query.texts("tag").collect();
    let language = language(&mut query);
    query.finish()?;
    let question = question.ok_or_else(|| ApiError::internal("a question without a fault is missing"))?;

    let whole = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let reached = limit.min(RESULTS_REACH_MAX.saturating_sub(offset));
    let page = Page { offset: whole(offset), limit: whole(reached), tags, only: None };
    let found = app.search.find(&question, language, &page, Instant::now()).map_err(|error| {
        ApiError::unavailable(error.to_string(), RETRY_AFTER_INDEXING_SECONDS)
            .with_reason("SEARCH_NOT_READY", "try again after Retry-After seconds")
    })?;
    let (_, next_offset) = page_bounds(limit, offset, found.total.min(whole(RESULTS_REACH_MAX)));
    let ranks = page.offset.saturating_add(1)..;
    let data = SearchData {
        query: question.text(),
        lang: found.language.map(code),
        ranking: found.ranked_by.name(),
        total: found.total,
        limit,
        offset,
        next_offset,
        results: ranks.zip(&found.hits).map(|(rank, hit)| result(hit, rank, language)).collect(),
    };
    let address = app.documents.link("/api/v1/datasets/search");
    let links = page_links(&address, limit, offset, next_offset, &parameters(&question, &page, language));
    let snapshot = app.catalog.snapshot();
    let last_modified = snapshot.datasets().iter().map(|dataset| dataset.updated_at).max();
    let mut response = Response::data(&data)?;
    for warning in found.warnings {
        response = response.with_warning(warning);
    }
    let last_modified = last_modified.unwrap_or(Moment::from_unix_millis(0));
    Ok(response.public(request, last_modified, REVALIDATE).with_header("Link", links))
}

/// The parameters that all pages of a search share.
fn parameters(question: &Question, page: &Page<'_>, language: Option<Language>) -> String {
    let tags = page.tags.iter().map(|tag| ("tag", *tag));
    let pairs = std::iter::once(("q", question.text())).chain(tags);
    let mut text = String::new();
    for (name, value) in pairs.chain(language.map(|language| ("lang", code(language)))) {
        text.push('&');
        text.push_str(name);
        text.push('=');
        percent_encode(value, &mut text);
    }
    text
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
            QuestionError::TooShort | QuestionError::TooLong => "OUT_OF_RANGE",
            QuestionError::ControlCharacter => "CONTROL_CHARACTER",
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
