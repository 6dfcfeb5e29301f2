//! Bounds of search.

/// Fewest characters of a question, without the spaces around it.
pub const QUESTION_CHARS_MIN: usize = 2;
/// Most characters of a question.
pub const QUESTION_CHARS_MAX: usize = 200;
/// Limit of results on a page.
pub const RESULTS_MAX: u64 = 50;
/// Default results on a page.
pub const RESULTS_DEFAULT: u64 = 10;
/// Limit of results over all pages.
pub const RESULTS_REACH_MAX: u64 = LEXICAL_CANDIDATES_MAX as u64;
/// Datasets found by words that are compared with the question's vector, best first.
pub const LEXICAL_CANDIDATES_MAX: usize = 500;
/// `Retry-After` while the first search index is being built.
pub const RETRY_AFTER_INDEXING_SECONDS: u32 = 2;
