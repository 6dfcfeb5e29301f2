//! The records of payments: checkouts, and the refunds and disputes of their payments.

pub(in crate::ledger) mod checkout;
pub(in crate::ledger) mod price;
pub(in crate::ledger) mod reversal;
