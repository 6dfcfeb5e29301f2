//! The records of the books, their keys and their bytes.

pub(super) mod account;
pub(super) mod api_key;
pub(super) mod changes;
pub(super) mod claim;
pub(super) mod closing;
pub(super) mod codec;
pub(super) mod counter;
pub(super) mod email;
pub(super) mod entry;
#[cfg(test)]
mod forms;
pub(super) mod id;
pub(super) mod key_limits;
pub(super) mod key_record;
pub(super) mod key_space;
pub(super) mod login;
pub(super) mod one_time_token;
pub(super) mod password_hash;
pub(super) mod relation;
pub(super) mod reservation_record;
pub(super) mod session_record;
pub(super) mod token;
pub(super) mod usage;
