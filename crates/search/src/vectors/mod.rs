//! Vectors of datasets: index and storage.
//!
//! A vector is a named row of numbers. Does not depend on models or texts.

mod arithmetic;
mod file;
mod index;

pub use arithmetic::{dot, normalise};
pub use file::{StoredVectors, TextKey, VectorFile};
pub use index::{Nearest, VectorIndex};
