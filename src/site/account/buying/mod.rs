//! Buying credits: the form with the packs, the purchases of an account, and a receipt of each to print.

pub(in crate::site) mod offer;
pub(super) mod purchase;
pub(super) mod receipt;
pub(in crate::site) mod words;
