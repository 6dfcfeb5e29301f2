//! Which tables of routes each listener serves.

use std::sync::Arc;

use super::route::{RefusalPage, Route};
use crate::api::app::App;
use crate::api::handlers::catalog::{graph, list, metadata, related, search, stats, tags};
use crate::api::handlers::discovery::{self, croissant};
use crate::api::handlers::operator::{self, admin};
use crate::api::handlers::query::{self, estimate};
use crate::api::handlers::streams::{download, stream};
use crate::api::handlers::{account, console, health, mcp, payments};
use crate::api::listener_kind::{AdminHosts, ListenerKind};
use crate::api::service::{ClassOf, Service};
use mercato_people::RateLimits;

/// Tables of the public API. The OpenAPI document describes the same routes.
pub const PUBLIC: &[&[Route]] = &[
    health::ROUTES,
    search::ROUTES,
    list::ROUTES,
    tags::ROUTES,
    graph::ROUTES,
    related::ROUTES,
    metadata::ROUTES,
    stats::ROUTES,
    croissant::ROUTES,
    query::ROUTES,
    estimate::ROUTES,
    stream::ROUTES,
    download::ROUTES,
    account::ROUTES,
    discovery::ROUTES,
    console::ROUTES,
];

/// Tables of the public listener that do not stand in the OpenAPI document: agents ask the tools for their descriptions, and
/// payment providers know what they send.
pub const UNDESCRIBED: &[&[Route]] = &[mcp::ROUTES, payments::ROUTES];

/// Tables of the operator's side.
const OPERATOR: &[&[Route]] = &[health::OPERATOR_ROUTES, operator::METRICS, operator::ROUTES, admin::ROUTES];

/// Pages for people beside the API. They do not stand in the OpenAPI document.
#[derive(Clone, Copy)]
pub struct Pages {
    /// Tables of routes; they come before those of the API.
    pub routes: &'static [&'static [Route]],
    /// How people are told of a refusal.
    pub refusal: RefusalPage,
}

/// The public API and the pages beside it.
pub fn public_service(app: Arc<App>, limits: &RateLimits, pages: Pages, class_of: ClassOf) -> Service {
    let tables = pages.routes.iter().chain(PUBLIC).chain(UNDESCRIBED);
    let kind = ListenerKind::public(limits);
    Service::new(app, tables.copied().flatten().copied(), kind, class_of, Some(pages.refusal))
}

/// Metrics and health, for Prometheus: whoever reaches it learns figures and slugs, and can change nothing.
pub fn metrics_service(app: Arc<App>) -> Service {
    let tables = [health::ROUTES, operator::METRICS];
    let kind = ListenerKind::Operator { hosts: AdminHosts::Any };
    Service::new(app, tables.into_iter().flatten().copied(), kind, |_, _| 0, None)
}

/// The operator's side, with its pages.
pub fn admin_service(app: Arc<App>, hosts: AdminHosts, pages: Pages, class_of: ClassOf) -> Service {
    let tables = pages.routes.iter().chain(OPERATOR);
    let kind = ListenerKind::Operator { hosts };
    Service::new(app, tables.copied().flatten().copied(), kind, class_of, Some(pages.refusal))
}
