//! The records of payments: checkouts, and the refunds and disputes of their payments.

pub mod checkout;
pub mod price;
pub mod reversal;
