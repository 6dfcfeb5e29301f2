//! The columns of a dataset: type, description and statistics of each.

use askama::Template;

use crate::site::cache::Cache;
use crate::site::frame::Frame;
use crate::site::url::Url;
use crate::site::words::fill;
use mercato_catalog::{ColumnKind, Table};
use mercato_query::SortSupport;

use super::head::{Head, Tab};
use super::statistics::{Shown, Writer, of_column};
use super::{DatasetWords, Opened};
use mercato_web::{ApiError, Response};

/// Names that the query of the page may have.
pub(super) const KNOWN: [&str; 1] = ["page"];

/// Columns of one page, so that a page of a very wide table stays small.
const COLUMNS_PER_PAGE: usize = 20;
/// Characters of an example that are shown.
const EXAMPLE_CHARACTERS_MAX: usize = 120;

#[derive(Template)]
#[template(path = "dataset/columns.html")]
struct ColumnsPage {
    frame: Frame,
    head: Head,
    words: &'static DatasetWords,
    /// Of all columns, for the list at the top.
    columns: Vec<Column>,
    said: String,
    pages: Vec<PageLink>,
    schema_url: String,
    stats_url: String,
}

struct Column {
    /// Number of the column from 1, unique in the page.
    place: usize,
    name: String,
    kind: &'static str,
    description: Option<String>,
    example: Option<String>,
    marks: Vec<&'static str>,
    shown: Shown,
}

/// A link to a part of a long list.
pub(super) struct PageLink {
    pub(super) label: String,
    pub(super) url: Url,
    pub(super) is_current: bool,
}

pub(super) fn page(opened: &Opened<'_>) -> Result<Response, ApiError> {
    opened.verified()?;
    let (words, numbers, dataset) = (opened.words, opened.visit.numbers, &opened.dataset);
    let (frame, head) = opened.frame_and_head(Tab::Columns);
    let count = dataset.current.table.columns().len();
    let pages = count.div_ceil(COLUMNS_PER_PAGE).max(1);
    let number = opened.visit.value("page").and_then(|page| page.parse().ok()).unwrap_or(1_usize);
    let current = number.clamp(1, pages);
    let api = |part: &str| opened.api(part);
    let page = ColumnsPage {
        columns: columns(opened, current)?,
        said: fill(words.statistics_said, numbers.integer(dataset.current.table.row_count().into())),
        pages: page_links(&opened.tab(Tab::Columns), current, pages),
        schema_url: api("schema"),
        stats_url: api("stats"),
        frame,
        head,
        words,
    };
    opened.visit.answer(opened.request, &page, Cache::Revalidate(dataset.updated_at))
}

/// Links to all parts; none where there is only one.
pub(super) fn page_links(base: &Url, current: usize, pages: usize) -> Vec<PageLink> {
    let link = |page: usize| PageLink {
        label: page.to_string(),
        url: if page == 1 { base.without("page") } else { base.with("page", page) },
        is_current: page == current,
    };
    let near = |page: &usize| *page == 1 || *page == pages || page.abs_diff(current) <= 3;
    let shown = (1..=pages).filter(near);
    if pages > 1 { shown.map(link).collect() } else { Vec::new() }
}

fn columns(opened: &Opened<'_>, page: usize) -> Result<Vec<Column>, ApiError> {
    let (dataset, words) = (&opened.dataset, opened.words);
    let table = &dataset.current.table;
    let writer = Writer { words, numbers: opened.visit.numbers };
    let examples = crate::api::examples(&dataset.current).map_err(|error| opened.damaged(&error))?;
    let first = page.saturating_sub(1).saturating_mul(COLUMNS_PER_PAGE);
    let metas = table.columns().iter().enumerate().skip(first).take(COLUMNS_PER_PAGE);
    metas
        .map(|(number, meta)| {
            let note = dataset.manifest.columns.get(&meta.name);
            let noted = note.and_then(|note| note.example.as_ref()).map(plain_example);
            let found = || examples.get(number).cloned().flatten();
            let shown = of_column(table, number, writer).map_err(|error| opened.damaged(&error))?;
            Ok(Column {
                place: number.saturating_add(1),
                name: meta.name.clone(),
                kind: kind_word(meta.kind, words),
                description: note
                    .and_then(|note| note.description.choose(Some(opened.visit.language)))
                    .map(str::to_owned),
                example: noted.or_else(|| found().map(|json| plain_json(&json))),
                marks: marks(table, number, words).map_err(|error| opened.damaged(&error))?,
                shown,
            })
        })
        .collect()
}

/// The example of a manifest as text.
fn plain_example(example: &toml::Value) -> String {
    let text = match example {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    super::values::shortened(&text, EXAMPLE_CHARACTERS_MAX)
}

/// A value of the data as text.
fn plain_json(json: &str) -> String {
    let text = serde_json::from_str::<String>(json).unwrap_or_else(|_| json.to_owned());
    super::values::shortened(&text, EXAMPLE_CHARACTERS_MAX)
}

/// The operations that a column supports.
fn marks(
    table: &Table,
    number: usize,
    words: &DatasetWords,
) -> Result<Vec<&'static str>, mercato_catalog::FormatError> {
    let support = SortSupport::of(table, number)?;
    let nullable = table.columns().get(number).is_some_and(|meta| meta.nullable);
    Ok([
        (support.indexed, words.mark_indexed),
        (support.sortable && !support.indexed, words.mark_sortable),
        (nullable, words.mark_nullable),
    ]
    .into_iter()
    .filter_map(|(holds, word)| holds.then_some(word))
    .collect())
}

/// The type of a column in words.
pub(super) fn kind_word(kind: ColumnKind, words: &DatasetWords) -> &'static str {
    match kind {
        ColumnKind::Text => words.kind_text,
        ColumnKind::Integer => words.kind_integer,
        ColumnKind::Decimal { .. } => words.kind_decimal,
        ColumnKind::Float => words.kind_float,
        ColumnKind::Boolean => words.kind_boolean,
        ColumnKind::Date => words.kind_date,
        ColumnKind::Timestamp { .. } => words.kind_timestamp,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_first_last_and_neighbouring_pages() {
        let base = Url::of_path("", "/datasets/x/columns");
        assert!(page_links(&base, 1, 1).is_empty());
        let labels = |current, pages| {
            let links = page_links(&base, current, pages);
            links.into_iter().map(|link| link.label).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(labels(1, 3), "1 2 3");
        assert_eq!(labels(10, 100), "1 7 8 9 10 11 12 13 100");
        let first = page_links(&base.with("page", 2), 2, 3);
        assert_eq!(first[0].url.to_string(), "/datasets/x/columns");
        assert_eq!(first[2].url.to_string(), "/datasets/x/columns?page=3");
    }
}
