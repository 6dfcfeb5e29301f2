//! Neural models: interfaces of sentence encoders and re-rankers, and their loading.
//!
//! Folders in, vectors and scores out. Does not depend on datasets or ranking.

mod error;
mod guard;
mod load;
mod pool;
#[cfg(test)]
mod tests;
#[cfg(feature = "models")]
mod transformer;

use std::fmt;
use std::time::Instant;

pub use error::{InferenceError, ModelError};
pub use load::{kind, load_embedder, load_reranker};
pub use pool::{AHEAD_NICENESS, InferencePool, WAITED_FOR_NICENESS};
#[cfg(feature = "models")]
pub use transformer::PASSAGE_TOKENS_MAX;

/// SHA-256 over the settings, the vocabulary and the weights of a model: equal models, equal vectors.
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

/// The kind of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelKind {
    /// A sentence encoder, in the layout of sentence-transformers.
    Embedding,
    /// A cross-encoder, in the layout of Hugging Face.
    CrossEncoder,
}

/// The description of a loaded model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelDescription {
    pub kind: ModelKind,
    /// Its folder name, or its name on the Hub.
    pub name: String,
    /// `bert` or `xlm-roberta`.
    pub architecture: &'static str,
    pub fingerprint: ModelFingerprint,
    /// Numbers that it answers with: those of a vector, or one score.
    pub dimensions: usize,
    pub layers: usize,
    /// Tokens of its vocabulary.
    pub vocabulary: usize,
    /// Numbers that it consists of.
    pub parameters: usize,
    /// Tokens of a text, or of a pair, that it reads.
    pub tokens_max: usize,
    /// Whether its vocabulary was made for many languages.
    pub multilingual: bool,
    /// How tokens become a sentence: `mean`, `cls` or `max`; a cross-encoder has none.
    pub pooling: Option<&'static str>,
    /// Whether its folder says that vectors have length 1.
    pub normalised: bool,
    /// The prompt before a question.
    pub query_prompt: String,
    /// The prompt before a passage.
    pub passage_prompt: String,
}

/// Turns sentences into vectors: near meanings, near directions.
pub trait Embedder: Send + Sync {
    /// The description of the model.
    fn description(&self) -> &ModelDescription;
    /// The name for responses and the log.
    fn name(&self) -> &str {
        &self.description().name
    }
    /// The fingerprint of the model.
    fn fingerprint(&self) -> ModelFingerprint {
        self.description().fingerprint
    }
    /// Numbers in a vector.
    fn dimensions(&self) -> usize {
        self.description().dimensions
    }
    /// Whether its vocabulary was made for many languages; an English one has nothing to say about Italian words.
    fn is_multilingual(&self) -> bool {
        self.description().multilingual
    }
    /// The vector of a question, of length 1. Waits for a free inference thread until `deadline`.
    fn embed_query(&self, text: &str, deadline: Instant) -> Result<Vec<f32>, InferenceError>;
    /// The vector of a text that questions are compared with, of length 1. Waits like [`Self::embed_query`].
    fn embed_passage(&self, text: &str, deadline: Instant) -> Result<Vec<f32>, InferenceError>;
    /// The vector without a prompt, and of length 1 only if the folder says so: what `SentenceTransformer.encode` gives.
    fn encode(&self, text: &str, deadline: Instant) -> Result<Vec<f32>, InferenceError>;
}

/// Scores how well a text answers a question.
pub trait Reranker: Send + Sync {
    /// The description of the model.
    fn description(&self) -> &ModelDescription;
    /// The name for responses and the log.
    fn name(&self) -> &str {
        &self.description().name
    }
    /// The fingerprint of the model.
    fn fingerprint(&self) -> ModelFingerprint {
        self.description().fingerprint
    }
    /// Whether its vocabulary was made for many languages.
    fn is_multilingual(&self) -> bool {
        self.description().multilingual
    }
    /// A score from 0 to 1 for each passage, in the order given. Those that were not reached before `deadline` have none:
    /// it works from the first passage to the last, so the caller puts the most promising first.
    fn score(
        &self,
        query: &str,
        passages: &[&str],
        deadline: Instant,
    ) -> Result<Vec<Option<f32>>, InferenceError>;
    /// The number before it is mapped to 0 to 1. Waits for a free inference thread until `deadline`.
    fn logit(&self, query: &str, passage: &str, deadline: Instant) -> Result<f32, InferenceError>;
}

/// Longest wait for the trial of a model that is being loaded.
#[cfg(feature = "models")]
const TRIAL_WAIT: std::time::Duration = std::time::Duration::from_secs(60);

#[cfg(feature = "models")]
fn trial_deadline() -> Instant {
    Instant::now() + TRIAL_WAIT
}
