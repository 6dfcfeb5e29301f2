//! A cache of the relation graph, by language.
//!
//! Holds one rendering for each state of catalog and relations. Does not depend on either.

use std::sync::{Arc, Mutex, PoisonError};

use crate::catalog::Language;
use crate::clock::Moment;
use crate::http::errors::ApiError;

/// Which state of the catalog and of the relations a graph shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edition {
    /// Number of the snapshot.
    pub snapshot: u64,
    /// Number of the state of the relations.
    pub relations: u64,
}

/// A graph as bytes.
pub struct Drawn {
    /// The `data` of the response.
    pub data: Vec<u8>,
    /// When something in it last changed.
    pub changed_at: Moment,
}

type Kept = (Edition, Option<Language>, Arc<Drawn>);

/// Keeps one edition in each language.
#[derive(Default)]
pub struct GraphCache {
    kept: Mutex<Vec<Kept>>,
}

impl GraphCache {
    /// The graph of this edition, drawn now unless it was drawn before. Of requests at one time, one draws.
    pub fn get(
        &self,
        edition: Edition,
        language: Option<Language>,
        draw: impl FnOnce() -> Result<Drawn, ApiError>,
    ) -> Result<Arc<Drawn>, ApiError> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, _, drawn)) = kept.iter().find(|(of, lang, _)| (*of, *lang) == (edition, language)) {
            return Ok(Arc::clone(drawn));
        }
        let drawn = Arc::new(draw()?);
        kept.retain(|(of, lang, _)| *of == edition && *lang != language);
        kept.push((edition, language, Arc::clone(&drawn)));
        Ok(drawn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_graph_once_per_edition_and_language() {
        let cache = GraphCache::default();
        let mut drawings = Vec::new();
        let mut ask = |snapshot: u64, language: Option<Language>| {
            let edition = Edition { snapshot, relations: 1 };
            let drawn = cache.get(edition, language, || {
                drawings.push((snapshot, language));
                Ok(Drawn { data: vec![1], changed_at: Moment::from_unix_millis(0) })
            });
            assert_eq!(drawn.unwrap().data, [1]);
        };
        let italian = Some(Language::Italian);
        for (snapshot, language) in [(1, None), (1, italian), (1, None), (1, italian), (2, None), (2, None)] {
            ask(snapshot, language);
        }
        assert_eq!(drawings, [(1, None), (1, italian), (2, None)]);
    }
}
