//! Lexical ranking: stems of both languages, concepts of the lexicon, and the nearest known words for unknown ones.
//!
//! A dataset becomes a [`Document`] once; an index is immutable. Does not depend on vectors or threads.

mod document;
mod fuzzy;
mod index;
mod question_terms;
mod scores;
mod vocabulary;

pub use document::METHODOLOGY_BYTES_MAX;
pub use document::beginning;
pub use document::{Document, DocumentAnalyzer, DocumentText, Field};
pub use index::{LexicalIndex, Reading};
pub use scores::Scores;
pub use vocabulary::{Known, Vocabulary};

/// Number of a term: a concept of the lexicon, or a stem of one language.
pub type Term = u32;
