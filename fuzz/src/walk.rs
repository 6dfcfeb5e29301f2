//! Runs one request in all modes - page, stream, cursor walk, count - and compares the results.

use mercato_format::Table;
use mercato_query::render::{Format, render_rows};
use mercato_query::{
    Count, NoSelections, Plan, QueryError, QueryRequest, RowStream, count_matches, count_rows, execute, plan,
};

/// Most pages of a cursor walk.
const PAGES_MAX: usize = 80;

/// The rows of a page, or the number of validation errors.
pub fn page(request: &QueryRequest, table: &Table) -> Result<Vec<u32>, usize> {
    let plan = match plan(request, table, "t@1", &mercato_query::Unlimited) {
        Ok(plan) => plan,
        Err(QueryError::Invalid(faults)) => {
            assert!(!faults.is_empty(), "a refusal names its errors");
            return Err(faults.len());
        }
        Err(QueryError::Format(error)) => panic!("a sound file: {error}"),
        Err(QueryError::Stopped(stop)) => panic!("a search without a limit: {stop}"),
    };
    let page = execute(&plan, &NoSelections).expect("a sound file");
    assert!(page.rows.len() as u64 <= plan.limit());
    assert_eq!(page.total_rows, plan.total_rows());
    let counted = count_rows(&plan, u64::MAX, &NoSelections).expect("a sound file");
    assert_eq!(counted, Count::Exact(page.rows.len() as u64));
    let stream = streamed(&plan);
    assert_eq!(stream, page.rows, "a stream gives the rows of the page");
    check_print(&plan, &page.rows);
    check_walk(request, table, &page.rows, page.next_cursor);
    Ok(page.rows)
}

/// The number of matching rows.
pub fn matches(request: &QueryRequest, table: &Table) -> Option<u64> {
    let plan = plan(request, table, "t@1", &mercato_query::Unlimited).ok()?;
    let count = count_matches(&plan, &NoSelections).expect("a sound file");
    assert!(plan.total_rows().is_none_or(|total| total == count));
    Some(count)
}

fn streamed(plan: &Plan<'_>) -> Vec<u32> {
    let mut stream = RowStream::new(plan).expect("a sound file");
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    loop {
        // A batch may be empty although more follow, if nothing was found within its time slice.
        let more = stream.next_batch(7, &mut batch).expect("a sound file");
        all.extend_from_slice(&batch);
        if !more {
            return all;
        }
    }
}

fn check_print(plan: &Plan<'_>, rows: &[u32]) {
    let mut text = Vec::new();
    render_rows(Format::Json, plan.table(), plan.columns(), rows, &mut text).expect("a sound file");
    let json: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
    let list = json.as_array().expect("a list");
    assert_eq!(list.len(), rows.len());
    assert!(list.iter().all(|row| row.as_object().is_some_and(|row| row.len() == plan.columns().len())));
}

/// Walks the following pages by cursor, and checks that no row repeats and the walk ends.
fn check_walk(request: &QueryRequest, table: &Table, first: &[u32], mut cursor: Option<String>) {
    let mut seen = vec![false; table.row_count() as usize];
    first.iter().for_each(|row| seen[*row as usize] = true);
    for _ in 0..PAGES_MAX {
        let Some(text) = cursor else { return };
        let mut next = request.clone();
        next.resume_at(&text).expect("a cursor of our own");
        let plan =
            plan(&next, table, "t@1", &mercato_query::Unlimited).expect("the request was planned before");
        let page = execute(&plan, &NoSelections).expect("a sound file");
        assert!(!page.rows.is_empty(), "a cursor promises a further row");
        for row in &page.rows {
            assert!(!std::mem::replace(&mut seen[*row as usize], true), "row {row} comes twice");
        }
        cursor = page.next_cursor;
    }
}
