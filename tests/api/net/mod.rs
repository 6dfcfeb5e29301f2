//! The public socket under clients that keep to HTTP, and under clients that do not.

mod answers;
mod attacks;
mod conformance;
mod fake;
mod forms;
mod limits;
mod presence;
pub mod raw;
mod refusals;
