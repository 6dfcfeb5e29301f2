//! The parts of every page: layout, words in each language, addresses, numbers, headers.

pub mod cache;
pub mod cookies;
pub mod frame;
pub mod language;
pub mod numbers;
pub mod security;
pub mod url;
pub mod visit;
pub mod words;
