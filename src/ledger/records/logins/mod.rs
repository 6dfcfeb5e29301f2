//! The records of logins: e-mail address and password hash, sessions, one-time tokens, and the end of an account.

pub(in crate::ledger) mod closing;
pub(in crate::ledger) mod email;
pub(in crate::ledger) mod login;
pub(in crate::ledger) mod one_time_token;
pub(in crate::ledger) mod password_hash;
pub(in crate::ledger) mod session_record;
pub(in crate::ledger) mod token;
