//! `aggregate_rows`: groups of rows and aggregates of them, sold as `query_rows` sells rows.

use super::query::{Goods, sell};
use super::{Arguments, Output};
use crate::api::app::App;
use crate::api::context::Incoming;
use mercato_web::ApiError;

/// The arguments that are fields of a group query.
const GROUPS: Goods = Goods {
    fields: &[
        "filters",
        "groupBy",
        "aggregates",
        "having",
        "sortBy",
        "sortDirection",
        "limit",
        "cursor",
        "version",
    ],
    unit: "group",
};

/// Without groups and aggregates, the call would buy rows.
pub(super) fn run(app: &App, request: &mut Incoming, mut arguments: Arguments) -> Result<Output, ApiError> {
    if !arguments.has("groupBy") && !arguments.has("aggregates") {
        let hint = "name columns in groupBy, or send aggregates such as {\"rows\": {\"op\": \"count\"}}";
        arguments.refuse("MISSING", "groupBy", "groupBy or aggregates is required", hint);
    }
    sell(app, request, arguments, &GROUPS)
}
