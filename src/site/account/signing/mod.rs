//! Sign-up, sign-in, confirmation and password reset, sessions, and the refusal of forms from other sites.

pub mod ask;
pub mod confirm;
pub mod customer;
pub mod device;
pub mod forgot;
pub mod mails;
mod next;
pub mod password;
pub mod reset;
pub mod same_origin;
pub mod session;
pub mod sign_in;
pub mod sign_up;
