//! The records of API keys: hash, label and limits.

pub(in crate::ledger) mod api_key;
pub(in crate::ledger) mod key_limits;
pub(in crate::ledger) mod key_record;
