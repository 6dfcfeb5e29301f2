//! Sign-up, sign-in, confirmation and password reset, sessions, and the refusal of forms from other sites.

pub(in crate::site::account) mod ask;
pub(in crate::site::account) mod confirm;
pub(in crate::site::account) mod customer;
pub(in crate::site::account) mod device;
pub(in crate::site::account) mod forgot;
pub(in crate::site::account) mod mails;
pub(in crate::site::account) mod password;
pub(in crate::site::account) mod reset;
pub(in crate::site) mod same_origin;
pub(in crate::site::account) mod session;
pub(in crate::site::account) mod sign_in;
pub(in crate::site::account) mod sign_up;
