//! The first rows of the free sample that match a view, in its order.
//!
//! Looks at the rows of the sample and no others.

use crate::limits::api::SAMPLE_ROW_COUNT_MAX;
use crate::site::dataset::Opened;
use crate::site::dataset::picked::Picked;
use crate::site::dataset::preview::{Cell, cells, is_number, sorted_rows, values};
use crate::site::words::fill;
use mercato_catalog::Table;
use mercato_query::QueryError;

use super::view::View;
use mercato_web::ApiError;

/// Rows that stand beside the form.
const ROWS_MAX: usize = 10;
/// Columns that stand beside the form.
const COLUMNS_MAX: usize = 12;
/// Characters of a value that are shown.
const CELL_CHARS_MAX: usize = 40;

/// Rows as a table shows them.
pub(super) struct SampleRows {
    pub(super) caption: String,
    pub(super) headers: Vec<(String, bool)>,
    pub(super) rows: Vec<Vec<Cell>>,
}

/// The rows; nothing where finding them would take more work than a page may cause.
pub(super) fn rows(
    opened: &Opened<'_>,
    view: &View,
    picked: &Picked,
) -> Result<Option<SampleRows>, ApiError> {
    match read(opened, view, picked) {
        Ok(rows) => Ok(rows),
        Err(QueryError::Invalid(_) | QueryError::Stopped(_)) => Ok(None),
        Err(QueryError::Format(error)) => Err(opened.damaged(&error)),
    }
}

fn read(opened: &Opened<'_>, view: &View, picked: &Picked) -> Result<Option<SampleRows>, QueryError> {
    let (table, numbers): (&Table, _) = (&opened.dataset.current.table, opened.visit.numbers);
    let all = crate::api::spaced_rows(table.row_count(), SAMPLE_ROW_COUNT_MAX);
    let sampled = all.len();
    let Some(mut matching) = view.matching(table, all, &opened.work)? else { return Ok(None) };
    if let Some((column, order)) =
        view.order.as_ref().and_then(|order| Some((table.column_index(&order.column)?, order)))
    {
        matching = sorted_rows(table, &matching, column, order.descending)?;
    }
    let words = opened.words;
    let count = matching.len();
    matching.truncate(ROWS_MAX);
    let said = match count {
        0 => words.sample_none,
        1..=ROWS_MAX => words.sample_all,
        _ => words.sample_first,
    };
    let figures = [count, sampled, matching.len()].map(|figure| numbers.integer(figure as u64));
    let columns: Vec<usize> = picked.numbers().into_iter().take(COLUMNS_MAX).collect();
    let metas = columns.iter().filter_map(|column| table.columns().get(*column));
    let headers = metas.map(|meta| (meta.name.clone(), is_number(meta.kind.logical()))).collect();
    let rows = values(table, &columns, &matching)?;
    Ok(Some(SampleRows {
        caption: figures.iter().fold(said.to_owned(), |text, figure| fill(&text, figure)),
        headers,
        rows: rows.iter().map(|row| cells(row, CELL_CHARS_MAX)).collect(),
    }))
}
