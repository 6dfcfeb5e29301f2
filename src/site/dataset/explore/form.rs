//! The fields of the form, made from the schema.

use crate::site::dataset::columns::kind_word;
use crate::site::dataset::preview::PICKABLE_MAX;
use crate::site::dataset::{DatasetWords, Opened};
use crate::site::url::Url;
use crate::site::words::fill;
use mercato_catalog::{ColumnKind, FormatError, Table};
use mercato_query::SortSupport;

use super::OFFERED_COLUMNS_MAX;
use super::address::{typed, with_conditions};
use super::conditions::{CONDITIONS_MAX, Condition, Fault, Test, VALUE_CHARS_MAX};
use super::hints::{Hints, OfferedValue};
use super::notation::shown;
use super::view::Order;

/// A condition as a row of the form.
pub(super) struct ConditionRow {
    /// From 1, for the identifiers of its fields.
    pub(super) place: usize,
    pub(super) column: String,
    /// The type of the column; nothing where there is no such column.
    pub(super) kind: Option<&'static str>,
    /// None where there is no such column.
    pub(super) tests: Vec<TestOption>,
    /// The test of the address, where none can be chosen.
    pub(super) code: String,
    /// Whether there is a field for a value at all.
    pub(super) has_value: bool,
    pub(super) value: String,
    pub(super) input: Input,
    pub(super) fault: Option<String>,
    /// Whether only the value is still missing.
    pub(super) is_open: bool,
    /// Values that the condition can take, of which one is picked by a button while the condition has a fault.
    pub(super) offers: Vec<OfferedValue>,
    pub(super) range: Option<String>,
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

/// The conditions as rows of the form, each checked alone. Of those beyond the most, one row tells that they are too many.
pub(super) fn rows(opened: &Opened<'_>, found: &[Condition]) -> Result<Vec<ConditionRow>, FormatError> {
    let shown = found.iter().enumerate().take(CONDITIONS_MAX.saturating_add(1));
    shown.map(|(number, condition)| row(opened, found, number, condition)).collect()
}

fn row(
    opened: &Opened<'_>,
    found: &[Condition],
    number: usize,
    condition: &Condition,
) -> Result<ConditionRow, FormatError> {
    let (words, table) = (opened.words, &opened.dataset.current.table);
    let (meta, chosen) = (condition.meta(table), condition.test(table));
    let fault = match condition.fault(table, &opened.work)? {
        None if number >= CONDITIONS_MAX => Some(Fault::Many),
        fault => fault,
    };
    let others = found.iter().enumerate().filter(|(other, _)| *other != number);
    let others: Vec<Condition> = others.map(|(_, other)| other.clone()).collect();
    let option = |test: Test| TestOption {
        code: test.code(),
        label: test.label(words),
        is_chosen: Some(test) == chosen,
    };
    let (kind, hints) = match (meta, condition.column) {
        (Some(meta), Some(column)) => (meta.kind, Hints::of(opened, column, meta)?),
        _ => (ColumnKind::Text, Hints::default()),
    };
    Ok(ConditionRow {
        place: number.saturating_add(1),
        column: condition.name.clone(),
        kind: meta.map(|meta| kind_word(meta.kind, words)),
        tests: meta.map(Test::of).unwrap_or_default().into_iter().map(option).collect(),
        code: condition.code.clone(),
        has_value: kind != ColumnKind::Boolean,
        value: shown(&condition.value, kind, opened.visit.language),
        // A browser shows no value in a field for days that is none.
        input: if fault == Some(Fault::Value) { Input { kind: "text", ..input(kind) } } else { input(kind) },
        fault: fault.map(|fault| told(fault, kind, words)),
        is_open: fault == Some(Fault::Open),
        offers: hints.offers,
        range: hints.range,
        remove_url: with_conditions(opened.visit.here(), &others),
    })
}

/// What is to be done about a fault.
fn told(fault: Fault, kind: ColumnKind, words: &DatasetWords) -> String {
    match fault {
        Fault::Column => words.needs_column.to_owned(),
        Fault::Test => words.needs_test.to_owned(),
        Fault::Open => words.needs_value.to_owned(),
        Fault::Long => fill(words.needs_shorter, VALUE_CHARS_MAX),
        Fault::Many => fill(words.needs_fewer, CONDITIONS_MAX),
        Fault::Value => form_of(kind, words).to_owned(),
    }
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
const fn form_of(kind: ColumnKind, words: &DatasetWords) -> &'static str {
    match kind {
        ColumnKind::Integer => words.needs_integer,
        ColumnKind::Decimal { .. } | ColumnKind::Float => words.needs_number,
        ColumnKind::Date => words.needs_date,
        ColumnKind::Timestamp { .. } => words.needs_moment,
        ColumnKind::Text | ColumnKind::Boolean => words.needs_test,
    }
}

/// The hidden fields of the form: the language in which values are typed, the picked columns and the language of the page.
pub(super) fn hidden(opened: &Opened<'_>) -> Vec<(&'static str, String)> {
    let here = opened.visit.here();
    let (name, code) = typed(opened.visit.language);
    let carried = ["columns", "lang"].into_iter();
    let carried = carried.filter_map(|name| Some((name, here.values(name).next()?.to_owned())));
    std::iter::once((name, code.to_owned())).chain(carried).collect()
}

/// Names of columns that a further condition may test: those with a button of their own, and those in a list.
pub(super) fn addable(table: &Table, conditions: usize) -> (Vec<String>, Vec<String>) {
    if conditions >= CONDITIONS_MAX {
        return (Vec::new(), Vec::new());
    }
    let names = || table.columns().iter().map(|meta| meta.name.clone()).take(OFFERED_COLUMNS_MAX);
    (names().take(PICKABLE_MAX).collect(), names().skip(PICKABLE_MAX).collect())
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
