//! The fields of the form, made from the schema.

use crate::catalog::{ColumnKind, FormatError, Table};
use crate::query::SortSupport;
use crate::site::dataset::columns::kind_word;
use crate::site::dataset::preview::PICKABLE_MAX;
use crate::site::dataset::{DatasetWords, Opened};
use crate::site::url::Url;

use super::OFFERED_COLUMNS_MAX;
use super::conditions::{CONDITIONS_MAX, Condition, Test};
use super::view::{Order, is_refused};

/// A condition as a row of the form.
pub(super) struct ConditionRow {
    /// From 1, for the identifiers of its fields.
    pub(super) place: usize,
    pub(super) column: String,
    pub(super) kind: &'static str,
    pub(super) tests: Vec<TestOption>,
    /// Whether there is a field for a value at all.
    pub(super) has_value: bool,
    pub(super) value: String,
    pub(super) input: Input,
    pub(super) fault: Option<&'static str>,
    /// Whether it is part of the view.
    pub(super) is_applied: bool,
    pub(super) remove_url: Url,
}

/// A test that can be chosen.
pub(super) struct TestOption {
    pub(super) code: &'static str,
    pub(super) label: &'static str,
    pub(super) is_chosen: bool,
}

/// How a browser lets a value be typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Input {
    /// `type`
    pub(super) kind: &'static str,
    /// `inputmode`
    pub(super) mode: &'static str,
    /// `placeholder`
    pub(super) example: &'static str,
}

/// A column by which the rows can be sorted.
pub(super) struct SortOption {
    pub(super) name: String,
    pub(super) label: String,
    pub(super) is_chosen: bool,
}

/// The conditions as rows of the form, each checked alone.
pub(super) fn rows(opened: &Opened<'_>, found: &[Condition]) -> Result<Vec<ConditionRow>, FormatError> {
    let (words, table, here) = (opened.words, &opened.dataset.current.table, opened.visit.here());
    let mut rows = Vec::with_capacity(found.len());
    for (number, condition) in found.iter().enumerate() {
        let Some(meta) = table.columns().get(condition.column) else { continue };
        let refused = is_refused(condition, meta, table, opened.visit.language, &opened.work)?;
        let others: Vec<Condition> = found
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != number)
            .map(|(_, other)| other.clone())
            .collect();
        let option = |test: Test| TestOption {
            code: test.code(),
            label: test.label(words),
            is_chosen: test == condition.test,
        };
        rows.push(ConditionRow {
            place: number.saturating_add(1),
            column: meta.name.clone(),
            kind: kind_word(meta.kind, words),
            tests: Test::of(meta).into_iter().map(option).collect(),
            has_value: meta.kind != ColumnKind::Boolean,
            value: condition.value.clone(),
            input: input(meta.kind),
            fault: refused.then(|| fault(meta.kind, words)),
            is_applied: condition.is_complete() && !refused,
            remove_url: Condition::write(here, &others, table),
        });
    }
    Ok(rows)
}

fn input(kind: ColumnKind) -> Input {
    let text = |mode, example| Input { kind: "text", mode, example };
    match kind {
        ColumnKind::Integer => text("numeric", "100"),
        ColumnKind::Decimal { .. } | ColumnKind::Float => text("decimal", "99.5"),
        ColumnKind::Date => Input { kind: "date", mode: "numeric", example: "2024-01-31" },
        ColumnKind::Timestamp { .. } => text("text", "2024-01-31T12:00:00Z"),
        ColumnKind::Text | ColumnKind::Boolean => text("text", ""),
    }
}

/// The expected form of a value of the column.
const fn fault(kind: ColumnKind, words: &DatasetWords) -> &'static str {
    match kind {
        ColumnKind::Integer => words.needs_integer,
        ColumnKind::Decimal { .. } | ColumnKind::Float => words.needs_number,
        ColumnKind::Date => words.needs_date,
        ColumnKind::Timestamp { .. } => words.needs_moment,
        ColumnKind::Text | ColumnKind::Boolean => words.needs_text,
    }
}

/// The hidden fields of the form: the picked columns and the language.
pub(super) fn hidden(opened: &Opened<'_>) -> Vec<(&'static str, String)> {
    let here = opened.visit.here();
    let carried = ["columns", "lang"];
    carried.into_iter().filter_map(|name| Some((name, here.values(name).next()?.to_owned()))).collect()
}

/// Names of columns that a further condition may test.
pub(super) fn addable(table: &Table, conditions: usize) -> Vec<String> {
    if conditions >= CONDITIONS_MAX {
        return Vec::new();
    }
    table.columns().iter().take(OFFERED_COLUMNS_MAX).map(|meta| meta.name.clone()).collect()
}

/// The columns by which rows can be sorted.
pub(super) fn sorts(
    table: &Table,
    order: Option<&Order>,
    words: &DatasetWords,
) -> Result<Vec<SortOption>, FormatError> {
    let none =
        SortOption { name: String::new(), label: words.order_of_file.to_owned(), is_chosen: order.is_none() };
    let mut options = vec![none];
    for (number, meta) in table.columns().iter().enumerate().take(OFFERED_COLUMNS_MAX) {
        if SortSupport::of(table, number)?.sortable {
            let is_chosen = order.is_some_and(|order| order.column == meta.name);
            options.push(SortOption { name: meta.name.clone(), label: meta.name.clone(), is_chosen });
        }
    }
    Ok(options)
}

/// How many columns no link picks.
pub(super) fn unpickable(table: &Table) -> Option<u64> {
    let rest = table.columns().len().saturating_sub(PICKABLE_MAX);
    (rest > 0).then_some(rest as u64)
}
