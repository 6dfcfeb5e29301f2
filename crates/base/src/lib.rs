//! What every part needs: moments, numbers in sentences, counts by bucket and values of metrics.
//!
//! Knows no dataset, no account and no socket.

pub mod clock;
pub mod histogram;
pub mod marks;
pub mod sample;
pub mod words;
