//! `sample_rows`: some rows of the free sample.

use serde::Serialize;

use super::rows::Rows;
use super::{Arguments, Output};
use crate::api::app::App;
use crate::api::context::Incoming;
use crate::api::handlers::catalog::dataset_version;
use crate::api::handlers::catalog::sample::spaced_rows;
use crate::api::handlers::query::checked_query::CheckedQuery;
use crate::api::handlers::query::query_input::Asked;
use crate::api::processor_limit::ProcessorLimit;
use crate::limits::api::{QUERY_LIMIT_MAX, SAMPLE_ROW_COUNT_MAX};
use crate::limits::mcp::{QUERY_ROWS_DEFAULT, SAMPLE_ROWS_DEFAULT};
use mercato_base::words::counted;
use mercato_catalog::DatasetVersion;
use mercato_web::ApiError;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tail<'a> {
    slug: &'a str,
    version: String,
    rows_returned: usize,
    total_rows: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

pub(super) fn run(app: &App, request: &mut Incoming, mut arguments: Arguments) -> Result<Output, ApiError> {
    let slug = arguments.slug();
    let limit = arguments.integer("limit", 1, SAMPLE_ROW_COUNT_MAX.into(), SAMPLE_ROWS_DEFAULT);
    let named = arguments.text("version");
    let body = arguments.body(&["columns"], QUERY_ROWS_DEFAULT);
    arguments.finish()?;
    let dataset = super::dataset(app, request, &slug)?;
    let work = ProcessorLimit::of(app, request);
    let asked = Asked::json(body.as_bytes(), QUERY_LIMIT_MAX).or_all_faults(&dataset, &work)?;
    let version = dataset_version::of_parameter(&dataset, named.as_deref())?;
    let query = CheckedQuery::new(app, dataset.slug(), version, &asked, &work)?;
    let numbers = chosen(version, limit);
    let rows = Rows::encode(&version.table, query.plan().columns(), &numbers, |error| query.damaged(error))?;
    request.context.log.rows = u64::try_from(rows.count).ok();
    let tail = Tail {
        slug: dataset.slug(),
        version: version.version.to_string(),
        rows_returned: rows.count,
        total_rows: version.table.row_count(),
        warnings: rows.warnings(),
    };
    let cut = if rows.count < numbers.len() { " Name fewer columns to see more rows." } else { "" };
    let text = format!(
        "{} of the free sample of `{}` {}, out of {}.{cut} query_rows filters and sorts.",
        counted(rows.count.try_into().unwrap_or(u64::MAX), "row"),
        tail.slug,
        tail.version,
        counted(tail.total_rows.into(), "row"),
    );
    let output = Output::free(&tail, text)?;
    Ok(Output { structured: rows.before(&output.structured), ..output })
}

/// Rows of the one free sample, evenly spaced: other numbers of rows must not show other rows.
fn chosen(version: &DatasetVersion, limit: u64) -> Vec<u32> {
    let sample = spaced_rows(version.table.row_count(), SAMPLE_ROW_COUNT_MAX);
    let (count, wanted) = (u32::try_from(sample.len()), u32::try_from(limit));
    let places = spaced_rows(count.unwrap_or(0), wanted.unwrap_or(0));
    places.into_iter().filter_map(|place| sample.get(usize::try_from(place).ok()?).copied()).collect()
}
