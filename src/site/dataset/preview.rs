//! The free sample as a table. Columns are picked and rows are sorted by links, so every view has an address.
//!
//! Sorts the rows of the sample and no others; shows the rows that `/sample` gives, in its order unless the query names one.

use std::collections::HashMap;

use askama::Template;
use serde_json::value::RawValue;

use crate::limits::api::SAMPLE_ROW_COUNT_MAX;
use crate::site::cache::Cache;
use crate::site::frame::Frame;
use crate::site::url::Url;
use crate::site::words::fill;
use mercato_catalog::{FormatError, LogicalType, Table};
use mercato_query::render::{Format, render_rows};

use super::columns::{PageLink, page_links};
use super::head::{Head, Tab};
use super::picked::Picked;
use super::values::{Value, in_order, shortened};
use super::{DatasetWords, Opened};
use mercato_web::{ApiError, Response};

/// Names that the query of the page may have.
pub(super) const KNOWN: [&str; 4] = ["columns", "sort", "direction", "page"];

/// Columns that are shown at once.
const PREVIEW_COLUMNS_MAX: usize = 20;
const PREVIEW_ROWS_PER_PAGE: usize = 25;
/// Characters of a value that are shown.
const CELL_CHARACTERS_MAX: usize = 80;
/// Columns that can be picked by a link; a wider table is picked by its address.
pub(super) const PICKABLE_MAX: usize = 60;

#[derive(Template)]
#[template(path = "dataset/preview.html")]
struct PreviewPage {
    frame: Frame,
    head: Head,
    words: &'static DatasetWords,
    caption: String,
    headers: Vec<Header>,
    rows: Vec<Vec<Cell>>,
    picker: Vec<Pick>,
    /// Columns that no link picks.
    unpickable: Option<String>,
    all_columns_url: Option<Url>,
    file_order_url: Option<Url>,
    pages: Vec<PageLink>,
    sample_url: String,
}

/// The head of a column, which sorts by it.
struct Header {
    name: String,
    is_number: bool,
    url: Url,
    /// The value of `aria-sort`; nothing where the rows are not sorted by this column.
    sorted: Option<&'static str>,
}

/// A value in a table.
pub(super) struct Cell {
    pub(super) text: String,
    pub(super) is_null: bool,
    pub(super) is_number: bool,
}

/// A column that can be shown or hidden.
pub(super) struct Pick {
    pub(super) name: String,
    pub(super) is_shown: bool,
    /// Nothing where it must stay as it is.
    pub(super) url: Option<Url>,
}

/// A column by which the sample is sorted.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Sorting {
    column: usize,
    descending: bool,
}

pub(super) fn page(opened: &Opened<'_>) -> Result<Response, ApiError> {
    opened.verified()?;
    let (words, numbers, dataset) = (opened.words, opened.visit.numbers, &opened.dataset);
    let (frame, head) = opened.frame_and_head(Tab::Preview);
    let (table, here) = (&dataset.current.table, opened.visit.here());
    let picked = Picked::read(opened.visit.value("columns"), table.columns().len(), PREVIEW_COLUMNS_MAX);
    let sorting = sorting(opened, table);
    let sample = Sample::read(table, &picked.numbers(), sorting).map_err(|error| opened.damaged(&error))?;
    let pages = sample.rows.len().div_ceil(PREVIEW_ROWS_PER_PAGE).max(1);
    let number = opened.visit.value("page").and_then(|page| page.parse().ok()).unwrap_or(1_usize);
    let current = number.clamp(1, pages);
    let base = here.without("page");
    let total = numbers.integer(table.row_count().into());
    let caption = fill(words.preview_caption, numbers.integer(sample.rows.len() as u64));
    let hidden = table.columns().len().saturating_sub(PICKABLE_MAX);
    let page = PreviewPage {
        caption: fill(&caption, total),
        headers: headers(table, &picked, sorting, &base),
        rows: sample.page(current),
        picker: picker(table, &picked, &base),
        unpickable: (hidden > 0).then(|| fill(words.picker_rest, numbers.integer(hidden as u64))),
        all_columns_url: (!picked.is_all()).then(|| base.without("columns")),
        file_order_url: sorting.map(|_| base.without("sort").without("direction")),
        pages: page_links(here, current, pages),
        sample_url: opened.api("sample"),
        frame,
        head,
        words,
    };
    opened.visit.answer(opened.request, &page, Cache::Revalidate(dataset.updated_at))
}

/// The order of the address; a column that does not exist sorts nothing.
fn sorting(opened: &Opened<'_>, table: &Table) -> Option<Sorting> {
    let column = opened.visit.value("sort").and_then(|name| table.column_index(name))?;
    Some(Sorting { column, descending: opened.visit.value("direction") == Some("desc") })
}

fn headers(table: &Table, picked: &Picked, sorting: Option<Sorting>, base: &Url) -> Vec<Header> {
    let header = |number: usize| {
        let meta = table.columns().get(number)?;
        let own = sorting.filter(|sorting| sorting.column == number);
        let ascending = base.with("sort", &meta.name).without("direction");
        Some(Header {
            name: meta.name.clone(),
            is_number: is_number(meta.kind.logical()),
            url: match own {
                Some(Sorting { descending: false, .. }) => ascending.with("direction", "desc"),
                _ => ascending,
            },
            sorted: own.map(|own| if own.descending { "descending" } else { "ascending" }),
        })
    };
    picked.numbers().into_iter().filter_map(header).collect()
}

/// The first columns with the links that show or hide them.
pub(super) fn picker(table: &Table, picked: &Picked, base: &Url) -> Vec<Pick> {
    let metas = table.columns().iter().enumerate().take(PICKABLE_MAX);
    let pick = |(number, meta): (usize, &mercato_catalog::ColumnMeta)| Pick {
        name: meta.name.clone(),
        is_shown: picked.has(number),
        url: picked.turned(number).map(|columns| base.with("columns", columns)),
    };
    metas.map(pick).collect()
}

pub(super) const fn is_number(logical: LogicalType) -> bool {
    matches!(logical, LogicalType::Integer | LogicalType::Number)
}

/// The rows of the sample, in the requested order.
struct Sample {
    rows: Vec<Vec<Cell>>,
}

impl Sample {
    fn read(table: &Table, shown: &[usize], sorting: Option<Sorting>) -> Result<Self, FormatError> {
        let numbers = crate::api::spaced_rows(table.row_count(), SAMPLE_ROW_COUNT_MAX);
        let numbers = match sorting {
            None => numbers,
            Some(Sorting { column, descending }) => sorted_rows(table, &numbers, column, descending)?,
        };
        let values = values(table, shown, &numbers)?;
        Ok(Self { rows: values.iter().map(|row| cells(row, CELL_CHARACTERS_MAX)).collect() })
    }

    fn page(self, page: usize) -> Vec<Vec<Cell>> {
        let first = page.saturating_sub(1).saturating_mul(PREVIEW_ROWS_PER_PAGE);
        self.rows.into_iter().skip(first).take(PREVIEW_ROWS_PER_PAGE).collect()
    }
}

/// Rows, sorted by a column.
pub(super) fn sorted_rows(
    table: &Table,
    rows: &[u32],
    column: usize,
    descending: bool,
) -> Result<Vec<u32>, FormatError> {
    let values = values(table, &[column], rows)?;
    let values: Vec<Value> =
        values.into_iter().map(|row| row.into_iter().next().unwrap_or(Value::Null)).collect();
    let order = in_order(&values, descending);
    Ok(order.into_iter().filter_map(|place| rows.get(place).copied()).collect())
}

/// The values of rows, as the API prints them.
pub(super) fn values(table: &Table, columns: &[usize], rows: &[u32]) -> Result<Vec<Vec<Value>>, FormatError> {
    let mut json = Vec::with_capacity(64 * 1024);
    render_rows(Format::Json, table, columns, rows, &mut json)?;
    let printed: Vec<HashMap<String, Box<RawValue>>> =
        serde_json::from_slice(&json).map_err(|_| table.damaged(columns.first().copied().unwrap_or(0)))?;
    let metas: Vec<_> = columns.iter().filter_map(|column| table.columns().get(*column)).collect();
    let row = |printed: HashMap<String, Box<RawValue>>| {
        let value = |meta: &&mercato_catalog::ColumnMeta| {
            printed.get(&meta.name).map_or(Value::Null, |raw| Value::of(raw, meta.kind))
        };
        metas.iter().map(value).collect()
    };
    Ok(printed.into_iter().map(row).collect())
}

/// Values as a table shows them, cut to so many characters.
pub(super) fn cells(row: &[Value], characters_max: usize) -> Vec<Cell> {
    let cell = |value: &Value| Cell {
        text: shortened(&value.plain(), characters_max),
        is_null: *value == Value::Null,
        is_number: matches!(value, Value::Number(_)),
    };
    row.iter().map(cell).collect()
}
