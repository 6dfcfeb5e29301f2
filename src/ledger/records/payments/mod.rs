//! The records of payments: what a customer asked to buy, and what the payment provider took back.

pub(in crate::ledger) mod checkout;
pub(in crate::ledger) mod price;
pub(in crate::ledger) mod reversal;
