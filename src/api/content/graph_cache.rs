//! A cache of the relation graph: its edges, and its rendering by language.
//!
//! Holds one state of catalog and relations. Does not depend on either, and keeps no old version alive.

use std::sync::{Arc, Mutex, PoisonError};

use mercato_base::clock::Moment;
use mercato_catalog::Language;
use mercato_web::ApiError;

/// Which state of the catalog and of the relations a graph shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edition {
    pub snapshot: u64,
    /// Number of the state of the relations.
    pub relations: u64,
}

/// An edge between two served datasets. Its numbers are valid in one edition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GraphEdge {
    /// Index of the first end among the datasets of the snapshot.
    pub from: usize,
    /// Index of the second end.
    pub to: usize,
    /// Index of the relation that an operator entered; nothing for a pair that a manifest lists.
    pub relation: Option<usize>,
}

/// The edges of the graph, in two orders.
#[derive(Default)]
pub struct GraphEdges {
    /// Relations in their own order, then listed pairs by the name of the first end.
    pub drawn: Vec<GraphEdge>,
    /// All of them, by the names of both ends.
    pub by_name: Vec<GraphEdge>,
}

/// A graph as bytes.
pub struct Drawn {
    /// The `data` of the response.
    pub data: Vec<u8>,
    /// When something in it last changed.
    pub changed_at: Moment,
}

/// Keeps one edition: its edges, and a rendering in each language.
#[derive(Default)]
pub struct GraphCache {
    kept: Mutex<Option<Kept>>,
}

struct Kept {
    edition: Edition,
    edges: Arc<GraphEdges>,
    drawn: Vec<(Option<Language>, Arc<Drawn>)>,
}

impl GraphCache {
    /// The edges of this edition, found now unless they were found before. Of requests at one time, one finds them.
    pub fn edges(&self, edition: Edition, find: impl FnOnce() -> GraphEdges) -> Arc<GraphEdges> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&Kept::of(&mut kept, edition, find).edges)
    }

    /// The graph of this edition, drawn now unless it was drawn before. Of requests at one time, one draws.
    pub fn drawn(
        &self,
        edition: Edition,
        language: Option<Language>,
        find: impl FnOnce() -> GraphEdges,
        draw: impl FnOnce(&GraphEdges) -> Result<Drawn, ApiError>,
    ) -> Result<Arc<Drawn>, ApiError> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = Kept::of(&mut kept, edition, find);
        if let Some((_, drawn)) = kept.drawn.iter().find(|(of, _)| *of == language) {
            return Ok(Arc::clone(drawn));
        }
        let drawn = Arc::new(draw(&kept.edges)?);
        kept.drawn.push((language, Arc::clone(&drawn)));
        Ok(drawn)
    }
}

impl Kept {
    fn of(kept: &mut Option<Self>, edition: Edition, find: impl FnOnce() -> GraphEdges) -> &mut Self {
        let current = kept.take().filter(|kept| kept.edition == edition);
        kept.insert(current.unwrap_or_else(|| Self { edition, edges: Arc::new(find()), drawn: Vec::new() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edition(snapshot: u64) -> Edition {
        Edition { snapshot, relations: 1 }
    }

    #[test]
    fn draws_graph_once_per_edition_and_language() {
        let cache = GraphCache::default();
        let mut drawings = Vec::new();
        let mut ask = |snapshot: u64, language: Option<Language>| {
            let drawn = cache.drawn(edition(snapshot), language, GraphEdges::default, |_| {
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

    #[test]
    fn finds_edges_once_per_edition() {
        let cache = GraphCache::default();
        let mut searches = Vec::new();
        for snapshot in [1, 1, 2, 2, 1] {
            cache.edges(edition(snapshot), || {
                searches.push(snapshot);
                GraphEdges::default()
            });
        }
        assert_eq!(searches, [1, 2, 1]);
    }
}
