//! Which tables of routes each listener serves.

use std::sync::Arc;

use super::app::App;
use super::handlers::{catalog, health, metadata, operator, query};
use super::router::Router;
use super::service::Service;
use super::surface::Surface;
use crate::access::RateLimits;

/// The public API.
pub fn public_service(app: Arc<App>, limits: &RateLimits) -> Service {
    let router = Router::new(&[health::ROUTES, catalog::ROUTES, metadata::ROUTES, query::ROUTES]);
    Service::new(app, router, Surface::public(limits))
}

/// The operator's side.
pub fn admin_service(app: Arc<App>) -> Service {
    Service::new(app, Router::new(&[health::ROUTES, operator::ROUTES]), Surface::Operator)
}
