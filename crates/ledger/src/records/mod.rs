//! The records of the books, their keys and their bytes.

pub(super) mod account;
pub(super) mod changes;
pub(super) mod claim;
pub(super) mod codec;
pub(super) mod counter;
pub(super) mod entry;
#[cfg(test)]
mod forms;
pub(super) mod id;
pub(super) mod key_space;
pub(super) mod keys;
pub(super) mod logins;
pub(super) mod paid_view;
pub(super) mod payments;
pub(super) mod relation;
pub(super) mod reservation_record;
pub(super) mod usage;
