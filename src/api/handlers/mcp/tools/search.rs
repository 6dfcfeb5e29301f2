//! `search_datasets`: datasets for a question, or the list of all.

use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;

use super::{Arguments, Output};
use crate::api::app::App;
use crate::api::context::Incoming;
use crate::limits::mcp::{OFFSET_MAX, SUMMARY_BYTES_MAX, TAGS_MAX};
use mercato_base::words::{counted, shortened};
use mercato_catalog::{Dataset, Language, Order};
use mercato_search::Page;
use mercato_search::limits::{
    QUESTION_CHARS_MAX, QUESTION_CHARS_MIN, RESULTS_DEFAULT, RESULTS_MAX, RESULTS_REACH_MAX,
    RETRY_AFTER_INDEXING_SECONDS,
};
use mercato_search::question::Question;
use mercato_web::ApiError;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Found {
    total: usize,
    next_offset: Option<u64>,
    results: Vec<Brief>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<&'static str>,
}

/// A dataset as far as one chooses by it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Brief {
    slug: String,
    title: String,
    description: String,
    tags: Vec<String>,
    license: Option<String>,
    version: String,
    row_count: u32,
    updated_at: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    matched_on: Vec<&'static str>,
}

/// Which datasets are wanted.
struct Wanted {
    tags: Vec<String>,
    limit: u64,
    offset: u64,
    language: Option<Language>,
}

pub(super) fn run(app: &App, _: &mut Incoming, mut arguments: Arguments) -> Result<Output, ApiError> {
    let typed = arguments.text("query");
    let wanted = Wanted {
        tags: arguments.texts("tags", TAGS_MAX),
        limit: arguments.integer("limit", 1, RESULTS_MAX, RESULTS_DEFAULT),
        offset: arguments.integer("offset", 0, OFFSET_MAX, 0),
        language: arguments.language(),
    };
    let question = typed.map(|text| Question::parse(&text)).transpose().unwrap_or_else(|fault| {
        let hint = format!(
            "give {QUESTION_CHARS_MIN} to {QUESTION_CHARS_MAX} characters, or leave it out to list all datasets"
        );
        arguments.refuse("OUT_OF_RANGE", "query", &fault.to_string(), &hint);
        None
    });
    arguments.finish()?;
    let found = match &question {
        Some(question) => searched(app, question, &wanted)?,
        None => listed(app, &wanted),
    };
    let text = in_words(&found, question.as_ref());
    Output::free(&found, text)
}

fn searched(app: &App, question: &Question, wanted: &Wanted) -> Result<Found, ApiError> {
    let reached = wanted.limit.min(RESULTS_REACH_MAX.saturating_sub(wanted.offset));
    let page = Page {
        offset: whole(wanted.offset),
        limit: whole(reached),
        tags: wanted.tags.iter().map(String::as_str).collect(),
        only: None,
    };
    let found = app.search.find(question, wanted.language, &page, Instant::now()).map_err(|error| {
        ApiError::unavailable(error.to_string(), RETRY_AFTER_INDEXING_SECONDS).with_reason(
            "SEARCH_NOT_READY",
            "try again in some seconds, or list the datasets without a query",
        )
    })?;
    let results = found.hits.iter().map(|hit| {
        let matched_on = hit.matched_on.clone();
        Brief { matched_on, ..Brief::of(&hit.dataset, wanted.language) }
    });
    let results: Vec<Brief> = results.collect();
    let reachable = found.total.min(whole(RESULTS_REACH_MAX));
    Ok(Found {
        total: found.total,
        next_offset: next_offset(wanted, results.len(), reachable),
        results,
        warnings: found.warnings,
    })
}

fn listed(app: &App, wanted: &Wanted) -> Found {
    let snapshot = app.catalog.snapshot();
    let has_all = |dataset: &&Arc<Dataset>| wanted.tags.iter().all(|tag| dataset.manifest.tags.contains(tag));
    let all = snapshot.in_order(Order::Featured, wanted.language);
    let total = all.iter().filter(has_all).count();
    let page = all.iter().filter(has_all).skip(whole(wanted.offset)).take(whole(wanted.limit));
    let results: Vec<Brief> = page.map(|dataset| Brief::of(dataset, wanted.language)).collect();
    Found { total, next_offset: next_offset(wanted, results.len(), total), results, warnings: Vec::new() }
}

/// The offset of the next page, if there is one.
fn next_offset(wanted: &Wanted, shown: usize, total: usize) -> Option<u64> {
    let end = wanted.offset.saturating_add(u64::try_from(shown).unwrap_or(u64::MAX));
    (whole(end) < total).then_some(end)
}

fn whole(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

impl Brief {
    fn of(dataset: &Dataset, language: Option<Language>) -> Self {
        let manifest = &dataset.manifest;
        let (description, rest) =
            shortened(manifest.description.choose(language).unwrap_or_default(), SUMMARY_BYTES_MAX);
        Self {
            slug: dataset.slug().to_owned(),
            title: manifest.title.choose(language).unwrap_or(dataset.slug()).to_owned(),
            description: format!("{description}{rest}"),
            tags: manifest.tags.clone(),
            license: manifest.license.clone(),
            version: dataset.current.version.to_string(),
            row_count: dataset.current.table.row_count(),
            updated_at: dataset.updated_at.rfc3339(),
            matched_on: Vec::new(),
        }
    }
}

fn in_words(found: &Found, question: Option<&Question>) -> String {
    let about = question.map(|question| format!(" for “{}”", question.text())).unwrap_or_default();
    let count = counted(u64::try_from(found.total).unwrap_or(u64::MAX), "dataset");
    let names: Vec<&str> = found.results.iter().map(|brief| brief.slug.as_str()).collect();
    let listed = if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
    let more = found.next_offset.map(|next| format!(" More: offset {next}.")).unwrap_or_default();
    let hint = if found.total == 0 { " Try other words, or no query to list all." } else { "" };
    format!("{count}{about}{listed}.{more}{hint}")
}
