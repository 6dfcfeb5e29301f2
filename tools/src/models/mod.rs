//! Model folders: taken out of a Python wheel, and tried.
//!
//! Knows no server.

pub mod check;
pub mod wheel;
