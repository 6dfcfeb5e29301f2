//! The parts of every page: layout, words in each language, addresses, numbers, headers.

pub(in crate::site) mod cache;
pub(in crate::site) mod cookies;
pub(in crate::site) mod frame;
pub(in crate::site) mod language;
pub(in crate::site) mod numbers;
pub(in crate::site) mod security;
pub(in crate::site) mod url;
pub(in crate::site) mod visit;
pub(in crate::site) mod words;
