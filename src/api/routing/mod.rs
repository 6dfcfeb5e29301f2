//! Routing: parsed targets, the table of routes, and classes of requests.

pub(super) mod classes;
pub mod parameters;
pub mod router;
pub(super) mod routes;
pub mod target;
