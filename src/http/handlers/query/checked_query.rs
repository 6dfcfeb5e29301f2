//! A query that was checked against the schema of a version that may be read.

use crate::catalog::{DatasetVersion, FormatError};
use crate::http::app::App;
use crate::http::errors::ApiError;
use crate::http::handlers::catalog::dataset_answer::{damaged, verified};
use crate::http::handlers::query::query_input::not_planned;
use crate::http::processor_limit::ProcessorLimit;
use crate::query::{self, Page, Plan, QueryRequest, SearchError};

/// A query with its plan. A version whose file turns out damaged is taken out of service.
pub(in crate::http) struct CheckedQuery<'q> {
    app: &'q App,
    slug: &'q str,
    version: &'q DatasetVersion,
    work: &'q ProcessorLimit,
    plan: Plan<'q>,
}

impl<'q> CheckedQuery<'q> {
    /// Refuses a version that is not verified yet, and a query that does not fit the schema. `work` bounds all its searches
    /// together.
    pub(in crate::http) fn new(
        app: &'q App,
        slug: &'q str,
        version: &'q DatasetVersion,
        asked: &QueryRequest,
        work: &'q ProcessorLimit,
    ) -> Result<Self, ApiError> {
        verified(&app.catalog, slug, version)?;
        let broken = |error: FormatError| damaged(app, slug, version, &error.to_string());
        let plan = query::plan(asked, &version.table, slug, work);
        let plan = plan.map_err(|error| not_planned(error, broken, work))?;
        Ok(Self { app, slug, version, work, plan })
    }

    /// The plan of the query.
    pub(in crate::http) fn plan(&self) -> &Plan<'q> {
        &self.plan
    }

    /// The rows of one page.
    pub(in crate::http) fn page(&self) -> Result<Page, ApiError> {
        query::execute(&self.plan, self.app.selections.as_ref()).map_err(|error| self.failed(error))
    }

    /// Number of rows that a query or a stream would return.
    pub(in crate::http) fn row_count(&self) -> Result<u64, ApiError> {
        query::count_rows(&self.plan, self.app.selections.as_ref()).map_err(|error| self.failed(error))
    }

    /// Number of rows that match the filters.
    pub(in crate::http) fn match_count(&self) -> Result<u64, ApiError> {
        query::count_matches(&self.plan, self.app.selections.as_ref()).map_err(|error| self.failed(error))
    }

    /// Number of rows of the whole result, where an index tells it.
    pub(in crate::http) fn total_rows(&self) -> Result<Option<u64>, ApiError> {
        query::total_rows(&self.plan, self.app.selections.as_ref()).map_err(|error| self.failed(error))
    }

    /// The refusal of a request whose search has no result.
    fn failed(&self, error: SearchError) -> ApiError {
        match error {
            SearchError::Format(error) => self.damaged(&error),
            SearchError::Stopped(stop) => self.work.refusal(stop),
        }
    }

    /// Takes the version out of service, and gives the refusal of the request.
    pub(in crate::http) fn damaged(&self, error: &FormatError) -> ApiError {
        damaged(self.app, self.slug, self.version, &error.to_string())
    }
}
