//! The mercato server.
pub mod access;
pub mod catalog;
pub mod clock;
pub mod config;
pub mod edge;
pub mod histogram;
pub mod http;
pub mod ledger;
pub mod limits;
pub mod logging;
pub mod memory;
pub mod operator;
pub mod query;
pub mod render;
pub mod search;
pub mod selections;
pub mod serving;
