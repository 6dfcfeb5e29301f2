//! The mercato server.
pub mod api;
pub mod branding;
pub mod config;
pub mod limits;
pub mod logging;
pub mod memory;
pub mod operator;
pub mod selections;
pub mod serving;
pub mod site;
