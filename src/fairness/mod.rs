//! Who comes next where many wait for few: addresses share by time, so who asks little does not wait behind who asks much.
//!
//! Knows addresses and threads; knows no request and no connection.

mod client_block;
mod line;
mod priority;
mod turns;
mod waiter;

pub use client_block::client_block;
pub use line::{Advance, Line, Standing};
pub use priority::step_back;
pub use turns::{Size, Turn, Turns};
pub use waiter::Waiter;
