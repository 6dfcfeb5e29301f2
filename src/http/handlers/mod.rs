//! One file for each group of routes; each has a table `ROUTES`.

pub(super) mod account;
pub(super) mod admin;
pub(super) mod catalog;
pub(super) mod console;
pub(super) mod croissant;
mod dataset_answer;
pub(super) mod discovery;
pub(super) mod graph;
pub(super) mod health;
mod item;
pub(super) mod metadata;
pub(super) mod operator;
mod page_answer;
mod pending_charge;
mod percent;
pub(super) mod query;
mod query_input;
pub(super) mod related;
mod row_stream;
mod sample;
mod schema;
pub(super) mod search;
pub(super) mod stats;
pub(super) mod stream;
