//! The handlers: a table `ROUTES` for each group of routes, and the answers of these routes.

pub(super) mod account;
pub(super) mod catalog;
pub(super) mod console;
pub(super) mod discovery;
pub(super) mod health;
pub(super) mod mcp;
pub(super) mod operator;
pub(super) mod payments;
pub(super) mod query;
pub(super) mod streams;
