//! Which tables of routes each listener serves.

use std::sync::Arc;

use super::router::{Route, Router};
use crate::access::RateLimits;
use crate::http::app::App;
use crate::http::handlers::catalog::{graph, list, metadata, related, search, stats, tags};
use crate::http::handlers::discovery::{self, croissant};
use crate::http::handlers::operator::{self, admin};
use crate::http::handlers::query::{self, estimate};
use crate::http::handlers::streams::{download, stream};
use crate::http::handlers::{account, console, health};
use crate::http::listener_kind::ListenerKind;
use crate::http::service::Service;
use crate::net::Slots;

/// Tables of the public API. The OpenAPI document describes the same routes.
pub(in crate::http) const PUBLIC: &[&[Route]] = &[
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

/// The public API.
pub fn public_service(app: Arc<App>, limits: &RateLimits, slots: Arc<Slots>) -> Service {
    Service::new(app, Router::new(PUBLIC), ListenerKind::public(limits), slots)
}

/// The operator's side.
pub fn admin_service(app: Arc<App>, slots: Arc<Slots>) -> Service {
    let routes = Router::new(&[health::OPERATOR_ROUTES, operator::ROUTES, admin::ROUTES]);
    Service::new(app, routes, ListenerKind::Operator, slots)
}
