//! Finding datasets by what they are about.
//!
//! Ranks datasets of the catalog for a question in English or Italian. Knows no account, no route and no socket.

mod engine;
pub mod evaluation;
mod indexer;
mod language;
pub mod lexical;
pub mod lexicon;
pub mod models;
pub mod neural;
mod passages;
pub mod question;
pub mod ranking;
mod snippet;
mod stop_words;
pub mod text;
pub mod vectors;

pub use engine::{Found, Hit, NotReady, Page, RankedBy, Search};
pub use passages::Passages;
