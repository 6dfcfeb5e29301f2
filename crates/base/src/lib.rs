//! What every part needs: moments, numbers in sentences and values of metrics.
//!
//! Knows no dataset, no account and no socket.

pub mod clock;
pub mod marks;
pub mod sample;
pub mod words;
