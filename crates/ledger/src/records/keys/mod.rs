//! The records of API keys: hash, label and limits.

pub mod api_key;
pub mod key_limits;
pub mod key_record;
