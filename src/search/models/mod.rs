//! Neural models: what a sentence encoder and a re-ranker can be asked, and where they are loaded from.
//!
//! Knows no dataset and no ranking; a folder of files comes in, vectors and scores come out.

mod error;

use std::fmt;
use std::time::Instant;

pub use error::{InferenceError, ModelError};

/// SHA-256 over the name of an architecture, its settings, its vocabulary and its weights: equal models, equal vectors.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ModelFingerprint(pub [u8; 32]);

impl fmt::Display for ModelFingerprint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

impl fmt::Debug for ModelFingerprint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "ModelFingerprint({self})")
    }
}

/// Turns sentences into vectors: near meanings, near directions.
pub trait Embedder: Send + Sync {
    /// What the folder is called, for answers and the log.
    fn name(&self) -> &str;
    /// What tells this model from every other one.
    fn fingerprint(&self) -> ModelFingerprint;
    /// Numbers in a vector.
    fn dimensions(&self) -> usize;
    /// Whether its vocabulary was made for many languages; an English one has nothing to say about Italian words.
    fn is_multilingual(&self) -> bool;
    /// The vector of a question, of length 1. Waits for a free inference thread until `deadline`.
    fn embed_query(&self, text: &str, deadline: Instant) -> Result<Vec<f32>, InferenceError>;
    /// The vector of a text that questions are compared with, of length 1. Waits for a free inference thread until `deadline`.
    fn embed_passage(&self, text: &str, deadline: Instant) -> Result<Vec<f32>, InferenceError>;
}

/// Reads a question and a text together and says how well the text answers it.
pub trait Reranker: Send + Sync {
    /// What the folder is called, for answers and the log.
    fn name(&self) -> &str;
    /// What tells this model from every other one.
    fn fingerprint(&self) -> ModelFingerprint;
    /// Whether its vocabulary was made for many languages.
    fn is_multilingual(&self) -> bool;
    /// A score from 0 to 1 for each passage, in the order given. Those that were not reached before `deadline` have none:
    /// it works from the first passage to the last, so the caller puts the most promising first.
    fn score(
        &self,
        query: &str,
        passages: &[&str],
        deadline: Instant,
    ) -> Result<Vec<Option<f32>>, InferenceError>;
}
