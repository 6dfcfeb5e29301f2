//! Vectors of datasets: compared with a question, and kept on disk.
//!
//! Knows no model and no text; a vector is a row of numbers under a name.

mod arithmetic;
mod file;
mod index;

pub use arithmetic::{dot, normalise};
pub use file::{StoredVectors, TextKey, VectorFile};
pub use index::{Nearest, VectorIndex};
