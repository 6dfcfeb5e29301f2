//! Buying credits: the form with the packs, the purchases of an account, and a receipt of each to print.

pub(super) mod checkout;
pub mod offer;
pub(super) mod purchase;
pub(super) mod receipt;
pub mod words;
