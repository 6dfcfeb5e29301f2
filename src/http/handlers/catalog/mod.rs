//! Public descriptions of datasets: lists, search, tags, schema, sample, statistics, texts and relations.

pub(in crate::http) mod dataset_answer;
pub(super) mod dataset_version;
pub(in crate::http) mod graph;
mod item;
pub(in crate::http) mod list;
pub(in crate::http) mod metadata;
mod page_links;
pub(in crate::http) mod related;
pub(in crate::http) mod sample;
pub(in crate::http) mod schema;
pub(in crate::http) mod search;
pub(in crate::http) mod stats;
pub(in crate::http) mod tags;
pub(in crate::http) mod text_page;
