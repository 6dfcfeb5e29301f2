//! Vectors of questions that were asked before.
//!
//! Two halves: when the younger one is full, it becomes the older one and what was in that is forgotten, unless it was
//! asked for again in the meantime. Knows no model: whoever changes the model makes a new cache.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Questions in one half.
const HALF_COUNT_MAX: usize = 2_048;
/// Longest question that is remembered.
const KEY_LENGTH_BYTES_MAX: usize = 4_096;

#[derive(Default)]
pub(super) struct QueryCache {
    halves: Mutex<Halves>,
}

#[derive(Default)]
struct Halves {
    younger: HashMap<String, Arc<[f32]>>,
    older: HashMap<String, Arc<[f32]>>,
}

impl QueryCache {
    pub(super) fn get(&self, question: &str) -> Option<Arc<[f32]>> {
        let mut halves = self.halves.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(vector) = halves.younger.get(question) {
            return Some(Arc::clone(vector));
        }
        let (question, vector) = halves.older.remove_entry(question)?;
        halves.put(question, Arc::clone(&vector));
        Some(vector)
    }

    pub(super) fn put(&self, question: String, vector: Arc<[f32]>) {
        if question.len() <= KEY_LENGTH_BYTES_MAX {
            self.halves.lock().unwrap_or_else(PoisonError::into_inner).put(question, vector);
        }
    }
}

impl Halves {
    fn put(&mut self, question: String, vector: Arc<[f32]>) {
        if self.younger.len() >= HALF_COUNT_MAX {
            self.older = std::mem::take(&mut self.younger);
        }
        self.younger.insert(question, vector);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stays_within_its_bound_and_keeps_what_is_asked_for() {
        let cache = QueryCache::default();
        let vector: Arc<[f32]> = Arc::from([1.0_f32].as_slice());
        for at in 0..10 * HALF_COUNT_MAX {
            cache.put(at.to_string(), Arc::clone(&vector));
            cache.put("asked again".to_owned(), Arc::clone(&vector));
            assert!(at % 1_000 != 0 || cache.get("asked again").is_some());
        }
        let halves = cache.halves.lock().unwrap();
        assert!(halves.younger.len() <= HALF_COUNT_MAX && halves.older.len() <= HALF_COUNT_MAX);
        drop(halves);
        assert!(cache.get("0").is_none());
        cache.put("x".repeat(KEY_LENGTH_BYTES_MAX + 1), vector);
        assert!(cache.get(&"x".repeat(KEY_LENGTH_BYTES_MAX + 1)).is_none());
    }
}
