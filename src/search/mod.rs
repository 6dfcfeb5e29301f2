//! Finding datasets by what they are about.
//!
//! Ranks datasets of the catalog for a question in English or Italian. Knows no account, no route and no socket.

pub mod models;
pub mod neural;
pub mod vectors;
