//! A query that was checked against the schema of a version that may be read.

use crate::api::app::App;
use crate::api::handlers::catalog::dataset_answer::{damaged, verified};
use crate::api::handlers::query::query_input::not_planned;
use crate::api::processor_limit::ProcessorLimit;
use crate::limits::api::COUNT_TOLD_MAX;
use mercato_catalog::{DatasetVersion, FormatError};
use mercato_ledger::{Receipt, ViewRows, Viewed};
use mercato_query::{
    Count, GROUPS_MAX, GroupError, GroupRows, Page, Plan, QueryRequest, SearchError, ValueCount,
};
use mercato_web::{ApiError, ErrorKind};

/// A query with its plan. A version whose file turns out damaged is taken out of service.
pub struct CheckedQuery<'q> {
    app: &'q App,
    slug: &'q str,
    version: &'q DatasetVersion,
    work: &'q ProcessorLimit,
    plan: Plan<'q>,
}

/// The number of rows of a request that is not paid yet.
#[derive(Debug, Clone, Copy)]
pub struct ToldRows {
    /// So many, or fewer where `at_least` is there.
    pub at_most: u64,
    /// The fewest that there can be; nothing where the number is exact.
    pub at_least: Option<u64>,
}

impl<'q> CheckedQuery<'q> {
    /// Refuses a version that is not verified yet, and a query that does not fit the schema. `work` bounds all its searches
    /// together.
    pub fn new(
        app: &'q App,
        slug: &'q str,
        version: &'q DatasetVersion,
        asked: &QueryRequest,
        work: &'q ProcessorLimit,
    ) -> Result<Self, ApiError> {
        verified(&app.catalog, slug, version)?;
        let broken = |error: FormatError| damaged(app, slug, version, &error.to_string());
        let plan = mercato_query::plan(asked, &version.table, slug, work);
        let plan = plan.map_err(|error| not_planned(error, broken, work))?;
        Ok(Self { app, slug, version, work, plan })
    }

    /// The plan of the query.
    pub fn plan(&self) -> &Plan<'q> {
        &self.plan
    }

    /// Rows of the view that the query is of: of this version, with these filters.
    pub fn viewed(&self, rows: ViewRows) -> Viewed {
        viewed(self.slug, self.version, &self.plan.view_text(), rows)
    }

    /// The rows of one page.
    pub fn page(&self) -> Result<Page, ApiError> {
        if self.plan.is_grouped() {
            return self.groups()?.into_page().map_err(|error| self.damaged(&error));
        }
        mercato_query::execute(&self.plan, self.app.selections.as_ref()).map_err(|error| self.failed(error))
    }

    /// The groups of one page or stream.
    pub fn groups(&self) -> Result<GroupRows, ApiError> {
        mercato_query::group(&self.plan, self.app.selections.as_ref())
            .map_err(|error| self.not_grouped(error))
    }

    /// Rows that a query or a stream would return, as far as an answer tells them that costs nothing.
    pub fn told_rows(&self) -> Result<ToldRows, ApiError> {
        let (plan, selections) = (&self.plan, self.app.selections.as_ref());
        let (counted, at_most) = match plan.is_grouped() {
            true => mercato_query::count_groups(plan, COUNT_TOLD_MAX, selections)
                .map_err(|error| self.not_grouped(error))?,
            false => {
                let counted = mercato_query::count_rows(plan, COUNT_TOLD_MAX, selections)
                    .map_err(|error| self.failed(error))?;
                (counted, counted.exact())
            }
        };
        let at_most = at_most.unwrap_or_else(|| self.rows_at_most());
        Ok(ToldRows { at_most, at_least: counted.at_least() })
    }

    /// Rows that match the filters, as far as an answer tells them that costs nothing.
    pub fn told_matches(&self) -> Result<Count, ApiError> {
        let counted = mercato_query::count_up_to(&self.plan, COUNT_TOLD_MAX, self.app.selections.as_ref());
        counted.map_err(|error| self.failed(error))
    }

    /// The public values of the columns of `facets` with their counts, as far as an answer tells them that costs nothing.
    pub fn told_facets(&self) -> Result<Vec<(String, Vec<ValueCount>)>, ApiError> {
        mercato_query::facets(&self.plan, COUNT_TOLD_MAX, self.app.selections.as_ref())
            .map_err(|error| self.not_grouped(error))
    }

    /// The matches where an index knows them or the request wants them counted.
    pub fn told_total(&self) -> Result<Option<Count>, ApiError> {
        let is_known = self.plan.counts_exactly() || self.plan.total_rows().is_some();
        is_known.then(|| self.told_matches()).transpose()
    }

    /// The total of a page, which only credits make exact beyond what is told for nothing.
    pub fn total_of(&self, page: &Page, receipt: &Receipt) -> Option<Count> {
        let is_exact = receipt.charged > 0 || self.is_public();
        let most = if is_exact { u64::MAX } else { COUNT_TOLD_MAX };
        page.total_rows.map(|total| Count::up_to(total, most))
    }

    /// The rows of a page whose number, or absence, would tell more of the matches or of aggregates than is told for nothing.
    /// They have to be affordable as a whole before any is looked for.
    pub fn rows_behind_told(&self) -> Option<u64> {
        let (offset, limit) = (self.plan.offset(), self.plan.limit());
        let is_behind = offset > 0 && offset.saturating_add(limit) > COUNT_TOLD_MAX;
        let tells = (is_behind && !self.is_public()) || self.plan.has_group_condition();
        tells.then(|| self.rows_at_most())
    }

    /// Whether the number of rows is public. That of groups is not.
    fn is_public(&self) -> bool {
        self.plan.is_unfiltered() && !self.plan.is_grouped()
    }

    /// The most rows that the request can have, whatever its filters. No rows are a group too.
    pub fn rows_at_most(&self) -> u64 {
        let rows = u64::from(self.plan.table().row_count()).max(u64::from(self.plan.is_grouped()));
        rows.saturating_sub(self.plan.offset()).min(self.plan.limit())
    }

    /// The refusal of a request whose search has no result.
    fn failed(&self, error: SearchError) -> ApiError {
        match error {
            SearchError::Format(error) => self.damaged(&error),
            SearchError::Stopped(stop) => self.work.refusal(stop),
        }
    }

    /// The refusal of a group query that has no answer.
    fn not_grouped(&self, error: GroupError) -> ApiError {
        let refusal = |message: String| ApiError::new(ErrorKind::Unprocessable, message);
        let fewer =
            "narrow the filters, group by fewer columns or longer periods, or ask for fewer aggregates";
        match error {
            GroupError::Search(error) => self.failed(error),
            GroupError::Overflow(name) => {
                refusal(format!("aggregates/{name}: the exact result has more than 38 digits"))
                    .with_reason("OVERFLOW", "narrow the filters or the groups, or leave the aggregate out")
                    .with_fact("aggregate", name)
            }
            error @ GroupError::TooManyGroups => refusal(format!("groupBy: {error}"))
                .with_reason("TOO_MANY_GROUPS", fewer)
                .with_fact("limit", GROUPS_MAX),
            error @ GroupError::TooMuchMemory => {
                refusal(format!("groupBy: {error}")).with_reason("TOO_MANY_GROUPS", fewer)
            }
        }
    }

    /// Takes the version out of service, and gives the refusal of the request.
    pub fn damaged(&self, error: &FormatError) -> ApiError {
        damaged(self.app, self.slug, self.version, &error.to_string())
    }
}

/// Rows of the view of a version, with these filters in their canonical form.
pub fn viewed(slug: &str, version: &DatasetVersion, filters: &str, rows: ViewRows) -> Viewed {
    Viewed::new(slug, &version.table.fingerprint().to_string(), filters, rows)
}
