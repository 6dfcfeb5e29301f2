//! What the models add to search: vectors of questions, vectors of datasets, and a second look at the best.
//!
//! Everything here may be absent: no model was asked for, it is still being loaded, it failed, or it is busy. Then there
//! is no vector and the caller ranks by words. Knows no ranking.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;

use super::models::{Embedder, Reranker};
use super::vectors::{VectorIndex, normalise};
use crate::catalog::Dataset;

/// Which texts stand for a dataset.
pub trait PassageTexts: Send + Sync {
    /// The texts whose vectors together are the vector of a dataset (their sum, scaled to length 1); none leaves the
    /// dataset without a vector. A change of any of them makes the vector anew, so they must depend on the dataset alone.
    /// `multilingual` says whether the model reads more than English.
    fn passages(&self, dataset: &Dataset, multilingual: bool) -> Vec<String>;
}

/// How far a model is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
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

/// The models of a running server and what they made.
#[derive(Default)]
pub struct Neural {
    embedder: RwLock<Option<Arc<dyn Embedder>>>,
    reranker: RwLock<Option<Arc<dyn Reranker>>>,
    vectors: RwLock<Arc<VectorIndex>>,
}

impl Neural {
    /// The sentence encoder, once it is loaded.
    pub fn embedder(&self) -> Option<Arc<dyn Embedder>> {
        self.embedder.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The cross-encoder, once it is loaded.
    pub fn reranker(&self) -> Option<Arc<dyn Reranker>> {
        self.reranker.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The vectors of the datasets that have one so far, by slug.
    pub fn vectors(&self) -> Arc<VectorIndex> {
        Arc::clone(&self.vectors.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The vector of a question given in one or more wordings (their sum, scaled to length 1), remembered for the next
    /// time. `None` when no model is ready, when it is busy until `deadline`, or when it fails.
    pub fn query_vector(&self, wordings: &[&str], deadline: Instant) -> Option<Arc<[f32]>> {
        let embedder = self.embedder()?;
        let mut sum = vec![0.0_f32; embedder.dimensions()];
        for wording in wordings {
            let vector = embedder.embed_query(wording, deadline).ok()?;
            sum.iter_mut().zip(vector).for_each(|(sum, number)| *sum += number);
        }
        normalise(&mut sum);
        Some(sum.into())
    }
}
