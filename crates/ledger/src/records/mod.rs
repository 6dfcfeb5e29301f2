//! The records of the books, their keys and their bytes.

pub mod account;
pub mod changes;
pub mod claim;
pub mod codec;
pub mod counter;
pub mod entry;
#[cfg(test)]
mod forms;
pub mod id;
pub mod key_space;
pub mod keys;
pub mod logins;
pub mod paid_view;
pub mod payments;
pub mod relation;
pub mod reservation_record;
