//! A cache of question vectors.
//!
//! Two generations: a full younger generation replaces the older one, and a hit in the older one moves its entry to the
//! younger. Does not depend on models: a new model gets a new cache.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

const GENERATION_ENTRIES_MAX: usize = 2_048;
/// Length limit of a cached question.
const KEY_LENGTH_BYTES_MAX: usize = 4_096;

#[derive(Default)]
pub(super) struct QueryCache {
    generations: Mutex<Generations>,
}

#[derive(Default)]
struct Generations {
    younger: HashMap<String, Arc<[f32]>>,
    older: HashMap<String, Arc<[f32]>>,
}

impl QueryCache {
    pub(super) fn get(&self, question: &str) -> Option<Arc<[f32]>> {
        let mut generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(vector) = generations.younger.get(question) {
            return Some(Arc::clone(vector));
        }
        let (question, vector) = generations.older.remove_entry(question)?;
        generations.put(question, Arc::clone(&vector));
        Some(vector)
    }

    pub(super) fn put(&self, question: String, vector: Arc<[f32]>) {
        if question.len() <= KEY_LENGTH_BYTES_MAX {
            self.generations.lock().unwrap_or_else(PoisonError::into_inner).put(question, vector);
        }
    }
}

impl Generations {
    fn put(&mut self, question: String, vector: Arc<[f32]>) {
        if self.younger.len() >= GENERATION_ENTRIES_MAX {
            self.older = std::mem::take(&mut self.younger);
        }
        self.younger.insert(question, vector);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_entries_and_keeps_used_ones() {
        let cache = QueryCache::default();
        let vector: Arc<[f32]> = Arc::from([1.0_f32].as_slice());
        for at in 0..10 * GENERATION_ENTRIES_MAX {
            cache.put(at.to_string(), Arc::clone(&vector));
            cache.put("asked again".to_owned(), Arc::clone(&vector));
            assert!(at % 1_000 != 0 || cache.get("asked again").is_some());
        }
        let generations = cache.generations.lock().unwrap();
        assert!(
            generations.younger.len() <= GENERATION_ENTRIES_MAX
                && generations.older.len() <= GENERATION_ENTRIES_MAX
        );
        drop(generations);
        assert!(cache.get("0").is_none());
        cache.put("x".repeat(KEY_LENGTH_BYTES_MAX + 1), vector);
        assert!(cache.get(&"x".repeat(KEY_LENGTH_BYTES_MAX + 1)).is_none());
    }
}
