//! Counters of the models, for metrics.
//!
//! Does not depend on questions or datasets.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::ModelState;
use crate::models::InferenceError;

/// Name, help and value.
pub type Gauge = (&'static str, &'static str, u64);

/// Counts since the start.
#[derive(Debug, Default)]
pub struct Counters {
    computed: AtomicU64,
    computed_micros: AtomicU64,
    cached: AtomicU64,
    busy: AtomicU64,
    failed: AtomicU64,
    passages_scored: AtomicU64,
    passages_unreached: AtomicU64,
    vectors_made: AtomicU64,
}

impl Counters {
    pub(super) fn question_computed(&self, took: Duration) {
        self.computed.fetch_add(1, Ordering::Relaxed);
        self.computed_micros.fetch_add(u64::try_from(took.as_micros()).unwrap_or(0), Ordering::Relaxed);
    }

    pub(super) fn question_cached(&self) {
        self.cached.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn refused(&self, error: &InferenceError) {
        let counter = if *error == InferenceError::Busy { &self.busy } else { &self.failed };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn reranked(&self, scored: usize, unreached: usize) {
        self.passages_scored.fetch_add(u64::try_from(scored).unwrap_or(0), Ordering::Relaxed);
        self.passages_unreached.fetch_add(u64::try_from(unreached).unwrap_or(0), Ordering::Relaxed);
    }

    pub(super) fn vector_made(&self) {
        self.vectors_made.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn gauges(&self, embedder: ModelState, reranker: ModelState, vectors: usize) -> Vec<Gauge> {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let ready = |state: ModelState| u64::from(state == ModelState::Ready);
        vec![
            ("mercato_search_embedding_ready", "1 when the embedding model answers.", ready(embedder)),
            ("mercato_search_cross_encoder_ready", "1 when the cross-encoder answers.", ready(reranker)),
            ("mercato_search_vectors", "Datasets that have a vector.", u64::try_from(vectors).unwrap_or(0)),
            ("mercato_search_vectors_made", "Vectors of datasets made.", read(&self.vectors_made)),
            ("mercato_search_questions_embedded", "Vectors of questions computed.", read(&self.computed)),
            (
                "mercato_search_questions_embedded_microseconds",
                "Time that this took.",
                read(&self.computed_micros),
            ),
            ("mercato_search_questions_cached", "Vectors of questions remembered.", read(&self.cached)),
            ("mercato_search_inference_busy", "Inferences given up for want of a thread.", read(&self.busy)),
            ("mercato_search_inference_failed", "Inferences that failed.", read(&self.failed)),
            ("mercato_search_passages_scored", "Passages re-ranked.", read(&self.passages_scored)),
            (
                "mercato_search_passages_unreached",
                "Passages left in their order at the deadline.",
                read(&self.passages_unreached),
            ),
        ]
    }
}
