//! The tools.
fn main() {}
