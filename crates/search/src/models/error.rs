//! Errors of loading models and of inference.
//!
//! Does not depend on requests.

use std::io;
use std::path::PathBuf;

/// Why a folder cannot be used as a model.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// A file or folder cannot be read.
    #[error("{}: cannot {action}: {source}", path.display())]
    Io {
        /// Which one.
        path: PathBuf,
        /// The attempted action.
        action: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// A file has an unsupported value.
    #[error("{}: {field}: expected {expected}, found {found}", path.display())]
    Field {
        /// The file.
        path: PathBuf,
        /// Which part of it.
        field: String,
        /// The expected value.
        expected: String,
        /// The found value.
        found: String,
    },
    /// The weights exist only as a Python pickle.
    #[error(
        "{}: holds pytorch_model.bin but no model.safetensors; convert it once with Python: \
         `from sentence_transformers import SentenceTransformer; SentenceTransformer(DIR).save(NEW_DIR)` (a cross-encoder: \
         `from transformers import AutoModelForSequenceClassification as A; A.from_pretrained(DIR).save_pretrained(NEW_DIR)`, \
         and copy the tokenizer's files)",
        path.display()
    )]
    PickleOnly {
        /// The folder.
        path: PathBuf,
    },
    /// A trial run of the loaded model failed.
    #[error("{}: the model was loaded but fails on a trial sentence: {reason}", path.display())]
    Trial {
        /// The folder.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// This program was built without the feature `models`.
    #[error("{}: this program was built without models; build it with `cargo build --release --features models`, or take a package", path.display())]
    NotBuilt {
        /// The folder.
        path: PathBuf,
    },
}

/// Why there is no vector or score.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InferenceError {
    /// All inference threads were busy until the deadline.
    #[error("no inference thread became free in time")]
    Busy,
    /// The text could not be cut into tokens.
    #[error("tokenizer: {0}")]
    Tokens(String),
    /// The computation failed.
    #[error("model: {0}")]
    Computation(String),
}
