//! `/llms.txt`: what this place is and where a language model goes on, as Markdown with links (llmstxt.org).
//!
//! Texts of publishers become plain words: they make no link, heading or line of their own.

use std::fmt::Write;

use crate::api::app::App;
use crate::api::context::Incoming;
use crate::api::handlers::catalog::dataset_answer::no_parameters;
use crate::api::handlers::query::price::Price;
use crate::limits::branding::{ABOUT_CHARS_MAX, NAME_CHARS_MAX, TAGLINE_CHARS_MAX};
use crate::limits::mcp::SUMMARY_BYTES_MAX;
use mercato_base::words::{counted, grouped, shortened};
use mercato_catalog::{Dataset, Language, Order, Snapshot};
use mercato_web::{ApiError, Response};

/// Datasets that `llms.txt` names.
const LLMS_DATASETS_MAX: usize = 100;
const TITLE_BYTES_MAX: usize = 120;
/// UTF-8 bytes that a character takes at most.
const CHAR_BYTES_MAX: usize = 4;

pub(super) fn answer(
    app: &App,
    request: &Incoming,
    cache_control: &'static str,
) -> Result<Response, ApiError> {
    no_parameters(request)?;
    let base = app.documents.base_url(request)?;
    let snapshot = app.catalog.snapshot();
    let text = document(app, &snapshot, base.as_str());
    let changed = snapshot.changed_at().max(app.documents.started_at());
    let response = Response::bytes("text/plain; charset=utf-8", text.as_bytes());
    Ok(response.public(request, changed, cache_control))
}

// Writing into a String cannot fail.
fn document(app: &App, snapshot: &Snapshot, base: &str) -> String {
    let (branding, language) = (&app.branding, Some(Language::English));
    let mut text = format!("# {}\n\n", plain(&branding.name, NAME_CHARS_MAX * CHAR_BYTES_MAX));
    let tagline = branding.tagline.choose(language).unwrap_or("A marketplace of datasets.");
    let _infallible = writeln!(text, "> {}\n", plain(tagline, TAGLINE_CHARS_MAX * CHAR_BYTES_MAX));
    if let Some(about) = branding.about.choose(language) {
        let _infallible = writeln!(text, "{}\n", plain(about, ABOUT_CHARS_MAX * CHAR_BYTES_MAX));
    }
    let (count, plan) = (snapshot.datasets().len(), app.ledger.free_plan());
    let _infallible = write!(
        text,
        "{} can be found, described and sampled without a key. Rows are bought one credit each ({} EUR per 1,000 \
         credits, VAT excluded), with an API key in the header `X-Api-Key`; an account has {} \
         free queries a month of at most {} each, which are used before its credits. An estimate is free and says the cost before.\n\n\
         ## For agents\n\n\
         - [MCP]({base}/mcp): Model Context Protocol over HTTP (POST). Tools: search_datasets, describe_dataset, \
         sample_rows, estimate_cost, query_rows, aggregate_rows.\n\
         - [OpenAPI]({base}/api/v1/openapi.json): every path of the HTTP API, with examples.\n\
         - [Search]({base}/api/v1/datasets/search?q=energy): datasets for a question, in English or Italian.\n\
         - [All datasets]({base}/api/v1/datasets?limit=100): the list as JSON, a page at a time.\n\
         - [Relations]({base}/api/v1/datasets/relations/graph): which datasets belong together.\n\n\
         ## For people\n\n\
         - [Datasets]({base}/datasets): the catalogue, with search and facets.\n\
         - [Prices]({base}/pricing)\n\
         - [API keys]({base}/account/keys): made here after signing up.\n\
         - [Console]({base}/docs): try every call.\n",
        counted(count.try_into().unwrap_or(u64::MAX), "dataset"),
        Price::of(1_000).eur(),
        grouped(plan.queries_per_month.into()),
        counted(plan.rows_per_query, "row"),
    );
    if count > 0 {
        text.push_str("\n## Datasets\n\n");
        for dataset in snapshot.in_order(Order::Featured, language).iter().take(LLMS_DATASETS_MAX) {
            line(&mut text, dataset, base, language);
        }
        if count > LLMS_DATASETS_MAX {
            let rest = count.saturating_sub(LLMS_DATASETS_MAX).try_into().unwrap_or(u64::MAX);
            let _infallible = writeln!(text, "- and {} in the list of all", counted(rest, "other"));
        }
    }
    text
}

fn line(text: &mut String, dataset: &Dataset, base: &str, language: Option<Language>) {
    let manifest = &dataset.manifest;
    let slug = dataset.slug();
    let title = plain(manifest.title.choose(language).unwrap_or(slug), TITLE_BYTES_MAX);
    let about = plain(manifest.description.choose(language).unwrap_or_default(), SUMMARY_BYTES_MAX);
    let rows = counted(dataset.current.table.row_count().into(), "row");
    let about = if about.is_empty() { String::new() } else { format!(" {about}") };
    let _infallible = writeln!(text, "- [{title}]({base}/api/v1/datasets/{slug}): `{slug}`, {rows}.{about}");
}

/// A text on one line, shortened, without what Markdown or HTML would read as a mark.
fn plain(text: &str, bytes_max: usize) -> String {
    let words = text.split(|letter: char| letter.is_whitespace() || letter.is_control());
    let line = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    let (line, rest) = shortened(&line, bytes_max);
    let mut safe = String::with_capacity(line.len());
    for letter in line.chars() {
        if matches!(letter, '[' | ']' | '<' | '>' | '`' | '\\') {
            safe.push('\\');
        }
        safe.push(letter);
    }
    safe + rest
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn makes_plain_words_of_hostile_texts() {
        for (text, expected) in [
            ("Trains", "Trains"),
            ("a\n\n# b\r\nc\u{0}d", "a # b c d"),
            ("x](https://evil.test) [y", "x\\](https://evil.test) \\[y"),
            ("<script>`\\", "\\<script\\>\\`\\\\"),
            (" \t ", ""),
        ] {
            assert_eq!(plain(text, 100), expected, "{text:?}");
        }
        assert_eq!(plain(&"ä".repeat(100), 5), "ää…");
    }
}
