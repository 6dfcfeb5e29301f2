//! Public descriptions of datasets: lists, search, tags, schema, sample, statistics, texts and relations.

pub mod dataset_answer;
pub(super) mod dataset_version;
pub mod graph;
mod item;
pub mod list;
pub mod metadata;
mod page_links;
pub mod related;
pub mod sample;
pub mod schema;
pub mod search;
pub mod stats;
pub mod tags;
pub mod text_page;
