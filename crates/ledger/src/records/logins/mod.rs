//! The records of logins: e-mail address and password hash, sessions, one-time tokens, and the end of an account.

pub mod closing;
pub mod email;
pub mod login;
pub mod one_time_token;
pub mod password_hash;
pub mod session_record;
pub mod token;
