//! People: mail to them.

pub mod mail;
