//! The groups that a request asks for, in its order, as the rows of a table in memory.

use std::cmp::Ordering;

use mercato_format::writer::{Column, memory_table};
use mercato_format::{FormatError, Table};

use crate::execute::{Count, Page, Selections, selection};
use crate::groups::cells::{Cells, Place, cells_of};
use crate::groups::from_order::from_order;
use crate::groups::group_plan::GroupPlan;
use crate::groups::measure::Measure;
use crate::groups::scan::{Found, Rows, group_rows};
use crate::groups::{GROUP_MEMORY_BYTES_MAX, GroupError};
use crate::plan::matcher::Node;
use crate::plan::resolve::{ResolveError, resolve};
use crate::plan::sort_value::sort_value;
use crate::plan::{PaginationMode, Plan, Start};
use crate::request::SortDirection;
use crate::request::cursor::{Binding, Cursor};
use crate::request::filter::{Expression, Scalar};
use crate::scan::selection::Selection;
use crate::work_limit::WorkLimit;

/// Estimated memory of a cell of an answer while its table is made.
const CELL_BYTES: usize = 64;

/// Some of the groups of a group query, as the rows of a table: those of a page or stream, and the next one.
#[derive(Debug)]
pub struct GroupRows {
    table: Table,
    /// The number of each group among all groups, in the order of the keys.
    numbers: Vec<u32>,
    /// The column that sorts them.
    sort: Option<usize>,
    limit: u64,
    mode: PaginationMode,
    binding: Binding,
    total: u64,
    left_out: u64,
}

/// Answers a group query.
///
/// # Errors
/// When there are too many groups, a sum has too many digits, the file is damaged, or the search is stopped.
pub fn group(plan: &Plan<'_>, selections: &dyn Selections) -> Result<GroupRows, GroupError> {
    let groups = plan.groups.as_ref().ok_or_else(|| plan.table.damaged(0))?;
    let mut found = find(plan, groups, &groups.measures, selections)?;
    let cells = cells_of(groups, &groups.measures, &mut found)?;
    let all = found.groups.len();
    let mut kept = large_enough(groups, &found);
    let left_out = (all - kept.len()) as u64;
    check_memory(&cells, 0)?;
    if let Some(having) = &groups.having {
        kept = having_only(groups, having, &cells, kept, plan.work)?;
    }
    let total = kept.len() as u64;
    let order = Order { cells: groups.sort.and_then(|column| cells.get(column)), direction: plan.direction };
    order.sort(&mut kept);
    let numbers = page_of(plan, &order, &kept);
    check_memory(&cells, numbers.len().saturating_mul(cells.len()))?;
    let columns = groups.columns.iter().zip(&cells).map(|(column, cells)| cells.column(column, &numbers));
    let columns: Vec<Column> = columns.collect::<Result<_, _>>()?;
    plan.table.check_intact()?;
    Ok(GroupRows {
        table: memory_table(&columns)?,
        numbers,
        sort: groups.sort,
        limit: plan.limit,
        mode: plan.mode(),
        binding: plan.binding(),
        total,
        left_out,
    })
}

/// Counts the groups that a request would return, told exactly up to `most`, and how many they are at most, where that is
/// told. `having` is not evaluated, because only a paid answer may tell which groups fulfil it.
///
/// # Errors
/// As [`group`].
pub fn count_groups(
    plan: &Plan<'_>,
    most: u64,
    selections: &dyn Selections,
) -> Result<(Count, Option<u64>), GroupError> {
    let groups = plan.groups.as_ref().ok_or_else(|| plan.table.damaged(0))?;
    let found = find(plan, groups, &[], selections)?;
    let all = large_enough(groups, &found).len() as u64;
    let behind = |offset: u64, groups: u64| groups.saturating_sub(offset).min(plan.limit);
    Ok(match plan.start {
        Start::Offset(offset) if all > most => (Count::AtLeast(behind(offset, most)), None),
        Start::Offset(offset) if groups.having.is_some() => (Count::AtLeast(0), Some(behind(offset, all))),
        Start::Offset(offset) => (Count::Exact(behind(offset, all)), Some(behind(offset, all))),
        // How many follow a group depends on the values of all.
        _ => (Count::AtLeast(0), None),
    })
}

fn find(
    plan: &Plan<'_>,
    groups: &GroupPlan<'_>,
    measures: &[Measure<'_>],
    selections: &dyn Selections,
) -> Result<Found, GroupError> {
    let count = plan.table.row_count();
    if matches!(plan.filter, Node::All) {
        if let Some(found) = from_order(plan.table, groups, measures)? {
            return Ok(found);
        }
        return group_rows(groups, measures, &Rows { count, selection: None }, plan.work);
    }
    let selection = selection(plan, selections)?;
    group_rows(groups, measures, &Rows { count, selection: Some(&selection) }, plan.work)
}

/// The groups with enough rows, by their number in the order of the keys.
fn large_enough(groups: &GroupPlan<'_>, found: &Found) -> Vec<u32> {
    let rows = |group: &u32| found.counts.get(*group as usize).copied().unwrap_or(0);
    let all = (0..).zip(&found.groups);
    all.filter(|(_, group)| rows(group) >= groups.rows_min).map(|(number, _)| number).collect()
}

fn check_memory(cells: &[Cells<'_, '_>], made: usize) -> Result<(), GroupError> {
    let held: usize = cells.iter().map(Cells::memory_bytes).sum();
    if held.saturating_add(made.saturating_mul(CELL_BYTES)) > GROUP_MEMORY_BYTES_MAX {
        return Err(GroupError::TooMuchMemory);
    }
    Ok(())
}

/// Keeps the groups that fulfil a condition: a filter of a table of the columns that it names.
fn having_only(
    groups: &GroupPlan<'_>,
    having: &Expression,
    cells: &[Cells<'_, '_>],
    kept: Vec<u32>,
    work: &dyn WorkLimit,
) -> Result<Vec<u32>, GroupError> {
    let mut conditions = Vec::new();
    having.collect_conditions(&mut conditions);
    let is_named = |name: &str| {
        conditions.iter().any(|condition| {
            let rest = condition.name.strip_prefix(name);
            rest.is_some_and(|rest| matches!(rest, "" | "_min" | "_max"))
        })
    };
    let named = groups.columns.iter().zip(cells).filter(|(column, _)| is_named(&column.name));
    let columns: Vec<Column> =
        named.map(|(column, cells)| cells.column(column, &kept)).collect::<Result<_, _>>()?;
    let table = memory_table(&columns)?;
    let filter = resolve(&table, having, work).map_err(|error| match error {
        ResolveError::Search(error) => GroupError::Search(error),
        ResolveError::Invalid(_) => GroupError::from(table.damaged(0)),
    })?;
    let matching = Selection::of(&table, &Node::new(&table, &filter, work)?)?;
    Ok((0..).zip(kept).filter(|(row, _)| matching.contains(*row)).map(|(_, group)| group).collect())
}

/// The order of the answer. Equal groups are in the order of their keys.
struct Order<'c, 'p, 't> {
    cells: Option<&'c Cells<'p, 't>>,
    direction: SortDirection,
}

impl Order<'_, '_, '_> {
    fn compare(&self, one: u32, other: u32) -> Ordering {
        let is_descending = self.direction == SortDirection::Descending;
        let Some(cells) = self.cells else {
            return if is_descending { other.cmp(&one) } else { one.cmp(&other) };
        };
        let places = (cells.place(one as usize), cells.place(other as usize));
        let order = match places {
            (Place::Value(one), Place::Value(other)) if is_descending => other.cmp(&one),
            (one, other) => one.cmp(&other),
        };
        order.then(one.cmp(&other))
    }

    fn sort(&self, groups: &mut [u32]) {
        if self.cells.is_some() || self.direction == SortDirection::Descending {
            groups.sort_unstable_by(|one, other| self.compare(*one, *other));
        }
    }
}

/// The groups of the page, and the next one.
fn page_of(plan: &Plan<'_>, order: &Order<'_, '_, '_>, sorted: &[u32]) -> Vec<u32> {
    let start = match plan.start {
        Start::Offset(offset) => usize::try_from(offset).unwrap_or(usize::MAX),
        Start::Row(last) => sorted.partition_point(|group| order.compare(*group, last) != Ordering::Greater),
        Start::Position(_) => usize::MAX,
    };
    let wanted = usize::try_from(plan.limit).unwrap_or(usize::MAX).saturating_add(1);
    sorted.iter().skip(start).take(wanted).copied().collect()
}

impl GroupRows {
    /// The table of the groups. A row more than the answer says that there are more.
    #[must_use]
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Groups that match, on all pages.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Groups that were left out, because they have too few rows.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Groups of the answer.
    #[must_use]
    pub fn count(&self) -> u64 {
        u64::from(self.table.row_count()).min(self.limit)
    }

    /// The answer as a page.
    ///
    /// # Errors
    /// [`FormatError::Corrupt`] when the cursor cannot be made.
    pub fn into_page(self) -> Result<Page, FormatError> {
        let rows: Vec<u32> = (0..u32::try_from(self.count()).unwrap_or(u32::MAX)).collect();
        let has_more = u64::from(self.table.row_count()) > self.count();
        let next_cursor = match rows.last() {
            Some(last) if has_more => Some(self.cursor_after(*last)?),
            _ => None,
        };
        let (total_rows, mode) = (Some(self.total), self.mode);
        Ok(Page { rows, next_cursor, total_rows, mode, groups: Some(std::sync::Arc::new(self)) })
    }

    /// A plan whose rows are these groups.
    #[must_use]
    pub fn plan<'g>(&'g self, work: &'g dyn WorkLimit) -> Plan<'g> {
        Plan::of_groups(self, work)
    }

    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// The cursor behind a row of the table.
    pub(crate) fn cursor_after(&self, row: u32) -> Result<String, FormatError> {
        let value = match self.sort {
            None => Scalar::Null,
            Some(column) => sort_value(&self.table, column, row)?,
        };
        let number = self.numbers.get(row as usize).copied().ok_or_else(|| self.table.damaged(0))?;
        Ok(Cursor::new(value, number, self.binding).encode())
    }
}
