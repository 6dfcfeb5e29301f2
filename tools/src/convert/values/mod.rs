//! Values of Arrow arrays: into a column builder, and as text where the store has no kind for them.

pub mod feeder;
pub mod integers;
mod nested;
mod texts;
mod variants;
