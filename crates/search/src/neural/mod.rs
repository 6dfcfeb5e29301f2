//! Neural search: vectors of questions and datasets, and re-ranking.
//!
//! Models are optional: not configured, loading, failed or busy. Then there is no vector, and the caller ranks by
//! words. Does not depend on ranking.

mod cache;
mod counters;
mod vector_builder;
mod worker;

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;

use self::cache::QueryCache;
use super::models::{Embedder, InferenceError, Reranker};
use super::vectors::{VectorIndex, normalise};
use mercato_catalog::Dataset;

pub use counters::{Counters, Gauge};
pub use worker::NeuralWorker;

/// The passages of a dataset.
pub trait PassageTexts: Send + Sync {
    /// The texts whose vectors together are the vector of a dataset (their sum, scaled to length 1); none leaves the
    /// dataset without a vector. A change of any of them makes the vector anew, so they must depend on the dataset alone.
    /// `multilingual` says whether the model reads more than English.
    fn passages(&self, dataset: &Dataset, multilingual: bool) -> Vec<String>;
}

/// The configured models and the folder of vectors.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NeuralSettings {
    /// Folder of the sentence encoder.
    pub embedding_model: Option<PathBuf>,
    /// Folder of the cross-encoder.
    pub cross_encoder: Option<PathBuf>,
    /// Folder of the files of vectors.
    pub vectors: PathBuf,
    /// Cores of the machine; inference for requests takes up to half of them.
    pub cores: usize,
}

/// How far a model is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ModelState {
    /// None was asked for.
    #[default]
    Absent,
    /// Its files are being read.
    Loading,
    /// It answers.
    Ready,
    /// It could not be loaded.
    Failed,
}

/// The models of a running server and their vectors.
#[derive(Default)]
pub struct Neural {
    embedder: RwLock<Slot<dyn Embedder>>,
    reranker: RwLock<Slot<dyn Reranker>>,
    vectors: RwLock<Arc<VectorIndex>>,
    questions: QueryCache,
    counters: Counters,
}

/// A model and how far it is.
struct Slot<T: ?Sized> {
    state: ModelState,
    model: Option<Arc<T>>,
}

impl<T: ?Sized> Default for Slot<T> {
    fn default() -> Self {
        Self { state: ModelState::Absent, model: None }
    }
}

impl Neural {
    /// The sentence encoder, once it is loaded.
    pub fn embedder(&self) -> Option<Arc<dyn Embedder>> {
        self.embedder.read().unwrap_or_else(PoisonError::into_inner).model.clone()
    }

    /// The cross-encoder, once it is loaded.
    pub fn reranker(&self) -> Option<Arc<dyn Reranker>> {
        self.reranker.read().unwrap_or_else(PoisonError::into_inner).model.clone()
    }

    /// How far the sentence encoder and the cross-encoder are.
    pub fn states(&self) -> (ModelState, ModelState) {
        let embedder = self.embedder.read().unwrap_or_else(PoisonError::into_inner).state;
        (embedder, self.reranker.read().unwrap_or_else(PoisonError::into_inner).state)
    }

    /// The vectors of the datasets that have one so far, by slug.
    pub fn vectors(&self) -> Arc<VectorIndex> {
        Arc::clone(&self.vectors.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The vector of a question given in one or more wordings (their sum, scaled to length 1), remembered for the next
    /// time. `None` when no model is ready, when it is busy until `deadline`, or when it fails.
    pub fn query_vector(&self, wordings: &[&str], deadline: Instant) -> Option<Arc<[f32]>> {
        let embedder = self.embedder()?;
        let key = wordings.join("\0");
        if let Some(vector) = self.questions.get(&key) {
            self.counters.question_cached();
            return Some(vector);
        }
        let began = Instant::now();
        let mut sum = vec![0.0_f32; embedder.dimensions()];
        for wording in wordings {
            match embedder.embed_query(wording, deadline) {
                Ok(vector) => sum.iter_mut().zip(vector).for_each(|(sum, number)| *sum += number),
                Err(error) => {
                    self.counters.refused(&error);
                    return None;
                }
            }
        }
        normalise(&mut sum);
        self.counters.question_computed(began.elapsed());
        let vector: Arc<[f32]> = sum.into();
        self.questions.put(key, Arc::clone(&vector));
        Some(vector)
    }

    /// Scores of passages for a question, as [`Reranker::score`] gives them. `None` when no cross-encoder is ready, when it
    /// is busy until `deadline`, or when it fails.
    pub fn rerank(&self, query: &str, passages: &[&str], deadline: Instant) -> Option<Vec<Option<f32>>> {
        match self.reranker()?.score(query, passages, deadline) {
            Ok(scores) => {
                let scored = scores.iter().filter(|score| score.is_some()).count();
                self.counters.reranked(scored, scores.len().saturating_sub(scored));
                Some(scores)
            }
            Err(error) => {
                self.counters.refused(&error);
                None
            }
        }
    }

    /// Its gauges for the operator.
    pub fn gauges(&self) -> Vec<Gauge> {
        let (embedder, reranker) = self.states();
        self.counters.gauges(embedder, reranker, self.vectors().len())
    }

    fn set_embedder(&self, state: ModelState, model: Option<Arc<dyn Embedder>>) {
        *self.embedder.write().unwrap_or_else(PoisonError::into_inner) = Slot { state, model };
    }

    fn set_reranker(&self, state: ModelState, model: Option<Arc<dyn Reranker>>) {
        *self.reranker.write().unwrap_or_else(PoisonError::into_inner) = Slot { state, model };
    }

    fn set_vectors(&self, vectors: Arc<VectorIndex>) {
        *self.vectors.write().unwrap_or_else(PoisonError::into_inner) = vectors;
    }

    /// Whether the failure is one that the next attempt may not have.
    fn count_failure(&self, error: &InferenceError) {
        self.counters.refused(error);
    }
}
