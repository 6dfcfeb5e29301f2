//! The pages of API keys: list, new key, one key.

pub(in crate::site::account) mod created;
pub(in crate::site::account) mod key;
pub(in crate::site::account) mod key_form;
pub(in crate::site) mod key_view;
pub(in crate::site::account) mod keys;
mod once;
