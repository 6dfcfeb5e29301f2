//! The pages of API keys: list, new key, one key.

pub mod created;
pub mod key;
pub mod key_form;
pub mod key_view;
pub mod keys;
mod once;
