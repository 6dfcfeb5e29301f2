//! Search for datasets by topic.
//!
//! Ranks datasets of the catalog for a question in English or Italian. Does not depend on accounts, routes or sockets.

mod engine;
mod indexer;
mod language;
pub mod lexical;
pub mod lexicon;
pub mod limits;
pub mod models;
pub mod neural;
mod passages;
pub mod question;
pub mod ranking;
mod snippet;
mod stop_words;
pub mod text;
pub mod vectors;

pub use engine::{Found, Hit, NotReady, Page, RERANKED_MAX, RankedBy, Search};
pub use passages::Passages;
