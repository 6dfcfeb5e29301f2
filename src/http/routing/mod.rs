//! From a request target to the route that answers it: parsed target, table of routes, classes of work.

pub(super) mod classes;
pub mod parameters;
pub mod router;
pub(super) mod routes;
pub mod target;
