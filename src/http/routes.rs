//! Which tables of routes each listener serves.

use std::sync::Arc;

use super::app::App;
use super::handlers::{account, admin, catalog, graph, health, metadata, operator, query, related, stream};
use super::router::Router;
use super::service::Service;
use super::surface::Surface;
use crate::access::RateLimits;

/// The public API.
pub fn public_service(app: Arc<App>, limits: &RateLimits) -> Service {
    let router = Router::new(&[
        health::ROUTES,
        catalog::ROUTES,
        graph::ROUTES,
        related::ROUTES,
        metadata::ROUTES,
        query::ROUTES,
        stream::ROUTES,
        account::ROUTES,
    ]);
    Service::new(app, router, Surface::public(limits))
}

/// The operator's side.
pub fn admin_service(app: Arc<App>) -> Service {
    Service::new(app, Router::new(&[health::ROUTES, operator::ROUTES, admin::ROUTES]), Surface::Operator)
}
