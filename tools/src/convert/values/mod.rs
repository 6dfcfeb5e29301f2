//! Values of Arrow arrays: into a column builder, and as text where the store has no kind for them.

pub mod feeder;
mod nested;
mod texts;
