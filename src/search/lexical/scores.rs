//! How well each document answers a question, by its words alone.
//!
//! BM25 with the best alternative of each thing that was asked for. Knows postings, no words.

use super::Term;
use super::document::impact;
use super::question_terms::Wanted;

/// An occurrence of a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Posting {
    pub document: u32,
    pub impact: u16,
}

/// Scores of documents by number; most have none.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Scores {
    all: Vec<f32>,
    found: Vec<u32>,
    ideal: f32,
}

impl Scores {
    /// Over `documents` documents. `postings` gives the occurrences of a term.
    pub(super) fn new<'i>(
        documents: usize,
        wanted: &[Wanted],
        postings: impl Fn(Term) -> &'i [Posting],
    ) -> Self {
        let mut scores = Self { all: vec![0.0; documents], found: Vec::new(), ideal: 0.0 };
        let mut best = Best { all: vec![0.0; documents], found: Vec::new() };
        for wanted in wanted {
            // An idea beside the one that was asked for never counts as rarer than that one.
            let rarity_max =
                wanted.alternatives.first().map_or(0.0, |(term, _)| rarity(documents, postings(*term).len()));
            for (term, likeness) in &wanted.alternatives {
                let postings = postings(*term);
                best.raise(postings, likeness * rarity(documents, postings.len()).min(rarity_max));
            }
            let likeness = wanted.alternatives.first().map_or(1.0, |(_, likeness)| *likeness);
            scores.ideal += wanted.weight * rarity_max / likeness.max(f32::EPSILON);
            scores.take(&mut best, wanted.weight);
        }
        scores
    }

    /// The score of a document; 0 where nothing of it was asked for.
    pub fn of(&self, document: u32) -> f32 {
        usize::try_from(document).ok().and_then(|at| self.all.get(at)).copied().unwrap_or(0.0)
    }

    /// Documents with a score, in no order.
    pub fn found(&self) -> &[u32] {
        &self.found
    }

    /// The score of a document that is about nothing but what was asked for.
    pub fn ideal(&self) -> f32 {
        self.ideal
    }

    /// The largest score.
    pub fn best(&self) -> f32 {
        self.found.iter().map(|document| self.of(*document)).fold(0.0, f32::max)
    }

    /// The `count` best documents, best first, equal ones by number.
    pub fn top(&self, count: usize) -> Vec<(u32, f32)> {
        let mut top: Vec<(u32, f32)> =
            self.found.iter().map(|document| (*document, self.of(*document))).collect();
        let by_score = |a: &(u32, f32), b: &(u32, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        if let Some(last) = count.checked_sub(1).filter(|last| *last < top.len()) {
            top.select_nth_unstable_by(last, by_score);
        }
        top.truncate(count);
        top.sort_unstable_by(by_score);
        top
    }

    /// Adds the best of one wanted thing and empties it.
    fn take(&mut self, best: &mut Best, weight: f32) {
        for document in best.found.drain(..) {
            let Ok(at) = usize::try_from(document) else { continue };
            if let (Some(sum), Some(value)) = (self.all.get_mut(at), best.all.get_mut(at)) {
                if *sum == 0.0 {
                    self.found.push(document);
                }
                *sum += weight * *value;
                *value = 0.0;
            }
        }
    }
}

/// The best alternative of one wanted thing in each document.
struct Best {
    all: Vec<f32>,
    found: Vec<u32>,
}

impl Best {
    fn raise(&mut self, postings: &[Posting], factor: f32) {
        for posting in postings {
            let value = factor * impact(posting.impact);
            let at = usize::try_from(posting.document).unwrap_or(usize::MAX);
            if let Some(best) = self.all.get_mut(at).filter(|best| value > **best) {
                if *best == 0.0 {
                    self.found.push(posting.document);
                }
                *best = value;
            }
        }
    }
}

/// How much it says that a document has a term which `frequency` of `documents` have (BM25).
fn rarity(documents: usize, frequency: usize) -> f32 {
    let (documents, frequency) = (documents as f32, frequency as f32);
    (1.0 + (documents - frequency + 0.5) / (frequency + 0.5)).ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition, document by document.
    fn naive(documents: usize, wanted: &[Wanted], terms: &[Vec<Posting>]) -> Vec<f32> {
        let score = |document: u32, wanted: &Wanted| {
            let rarity_of = |term: Term| rarity(documents, terms[term as usize].len());
            let rarity_max = wanted.alternatives.first().map_or(0.0, |(term, _)| rarity_of(*term));
            let values = wanted.alternatives.iter().flat_map(|(term, likeness)| {
                let here = terms[*term as usize].iter().filter(|posting| posting.document == document);
                here.map(move |posting| likeness * rarity_of(*term).min(rarity_max) * impact(posting.impact))
            });
            wanted.weight * values.fold(0.0, f32::max)
        };
        (0..documents).map(|at| wanted.iter().map(|wanted| score(at as u32, wanted)).sum()).collect()
    }

    proptest! {
        #[test]
        fn scores_and_their_top_are_those_of_the_definition(
            documents in 1_usize..30,
            terms in proptest::collection::vec(proptest::collection::btree_map(0_u32..30, 1_u16.., 0..20), 6),
            wanted in proptest::collection::vec(
                (0.1_f32..2.0, proptest::collection::vec((0_u32..6, 0.1_f32..1.0), 1..4)), 0..5),
            count in 0_usize..12,
        ) {
            let terms: Vec<Vec<Posting>> = terms.into_iter().map(|postings| {
                let inside = postings.into_iter().filter(|(document, _)| (*document as usize) < documents);
                inside.map(|(document, impact)| Posting { document, impact }).collect()
            }).collect();
            let wanted: Vec<Wanted> = wanted.into_iter()
                .map(|(weight, alternatives)| Wanted { weight, alternatives })
                .collect();
            let scores = Scores::new(documents, &wanted, |term| terms[term as usize].as_slice());
            let expected = naive(documents, &wanted, &terms);
            for (at, expected) in expected.iter().enumerate() {
                prop_assert!((scores.of(at as u32) - expected).abs() <= 1e-4 * expected.max(1.0));
            }
            let mut sorted: Vec<(u32, f32)> = scores.found().iter().map(|at| (*at, scores.of(*at))).collect();
            sorted.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            sorted.truncate(count);
            prop_assert_eq!(scores.top(count), sorted);
            prop_assert!(scores.best() <= scores.ideal() * 1.0001);
        }
    }
}
