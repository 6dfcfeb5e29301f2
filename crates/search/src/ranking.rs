//! Rank fusion: combines lexical scores and vectors.
//!
//! Depends on scores and cosines, not on texts or models.

use std::collections::HashSet;

use super::lexical::{LexicalIndex, Reading, Scores};
use super::question::Question;
use super::vectors::VectorIndex;
use crate::limits::LEXICAL_CANDIDATES_MAX;

/// Datasets found by vector alone that can be among the results.
const VECTOR_CANDIDATES_MAX: usize = 200;

/// How much words count beside the cosine.
const LEXICAL_WEIGHT: f32 = 0.5;
/// A dataset that no word finds must be at least this near in meaning.
const COSINE_MIN: f32 = 0.3;
/// It must also be at least so near beside the nearest one.
const COSINE_OF_BEST: f32 = 0.6;

/// A dataset among the results.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// Its number in the index.
    pub document: u32,
    /// How well it answers: 0 to 1, never rising down the list.
    pub score: f32,
    /// Whether the question is its slug or title.
    pub named: bool,
    /// Whether its vector is near to the question's.
    pub near: bool,
    /// Whether it is found only together with its methodology, and so stands behind all others.
    pub aside: bool,
}

/// Candidates, best first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ranked {
    pub candidates: Vec<Candidate>,
    /// How many datasets were found in all.
    pub total: usize,
}

/// Vectors of the datasets, and that of the question.
#[derive(Debug, Clone, Copy)]
pub struct Meaning<'v> {
    /// By slug.
    pub vectors: &'v VectorIndex,
    /// Of length 1.
    pub question: &'v [f32],
}

/// A filter of datasets by number; all datasets without one.
pub type Choice<'c> = Option<&'c dyn Fn(u32) -> bool>;

/// The best `count` datasets. Those whose slug or title is the question stand first; then words alone decide, or with
/// vectors `max(0, cosine) + 0.5 · words`, where the best by words has 1; last come those that are found only together
/// with their methodology. Ties are in the order of the index.
pub fn rank(
    index: &LexicalIndex,
    question: &Question,
    reading: &Reading,
    meaning: Option<Meaning<'_>>,
    choice: Choice<'_>,
    count: usize,
) -> Ranked {
    let mut scores = index.scores(reading);
    let is_wanted = |document: u32| choice.is_none_or(|is_wanted| is_wanted(document));
    if choice.is_some() {
        scores.retain(is_wanted);
    }
    let (mut candidates, mut total) = match meaning {
        Some(meaning) => by_both(index, &scores, meaning, choice),
        None => (by_words(&scores, count), scores.found().len()),
    };
    let mut named = index.named(question);
    named.retain(|document| is_wanted(*document));
    let unfound = named.iter().filter(|number| !candidates.iter().any(|one| one.document == **number));
    total = total.saturating_add(unfound.filter(|number| scores.of(**number) == 0.0).count());
    candidates.retain(|candidate| !named.contains(&candidate.document));
    candidates.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.document.cmp(&b.document)));
    let first = named.iter().map(|document| Candidate { named: true, ..Candidate::new(*document, 1.0) });
    let mut candidates: Vec<Candidate> = first.chain(candidates).collect();
    let lowest = candidates.last().map_or(1.0, |candidate| candidate.score);
    let known: HashSet<u32> = candidates.iter().map(|candidate| candidate.document).collect();
    let behind = scores.aside().iter().filter(|(document, _)| !known.contains(document));
    for (document, score) in behind {
        let score = share(*score, scores.ideal()).min(lowest);
        candidates.push(Candidate { aside: true, ..Candidate::new(*document, score) });
        total = total.saturating_add(1);
    }
    candidates.truncate(count);
    Ranked { total: total.max(candidates.len()), candidates }
}

/// Moves re-ranked results to the front, by their new scores; the others keep their order. Scores never rise along the
/// list.
pub fn reorder(ranked: &mut Ranked, looked_at: &[Option<f32>]) {
    let named = ranked.candidates.iter().take_while(|candidate| candidate.named).count();
    let rest = ranked.candidates.split_off(named);
    let scores = looked_at.iter().copied().chain(std::iter::repeat(None));
    let (mut reached, mut left) = (Vec::new(), Vec::new());
    for (candidate, score) in rest.into_iter().zip(scores) {
        match score {
            Some(score) => reached.push(Candidate { score: score.clamp(0.0, 1.0), ..candidate }),
            None => left.push(candidate),
        }
    }
    reached.sort_by(|a, b| b.score.total_cmp(&a.score));
    let mut lowest: f32 = 1.0;
    for candidate in reached.into_iter().chain(left) {
        lowest = lowest.min(candidate.score);
        ranked.candidates.push(Candidate { score: lowest, ..candidate });
    }
}

impl Candidate {
    fn new(document: u32, score: f32) -> Self {
        Self { document, score, named: false, near: false, aside: false }
    }
}

/// A score beside the one that could be reached, 0 to 1.
fn share(score: f32, ideal: f32) -> f32 {
    (score / ideal.max(f32::EPSILON)).clamp(0.0, 1.0)
}

fn by_words(scores: &Scores, count: usize) -> Vec<Candidate> {
    let ideal = scores.ideal();
    let candidate = |(document, score)| Candidate::new(document, share(score, ideal));
    scores.top(count).into_iter().map(candidate).collect()
}

fn by_both(
    index: &LexicalIndex,
    scores: &Scores,
    meaning: Meaning<'_>,
    choice: Choice<'_>,
) -> (Vec<Candidate>, usize) {
    let documents = index.documents();
    // With a filter, the nearest overall may be excluded.
    let looked_at = if choice.is_some() { meaning.vectors.len() } else { VECTOR_CANDIDATES_MAX };
    let nearest = meaning.vectors.nearest(meaning.question, looked_at);
    let least = nearest.iter().map(|nearest| COSINE_OF_BEST * nearest.cosine).fold(COSINE_MIN, f32::max);
    let best = scores.best().max(f32::EPSILON);
    let cosine_of = |document: u32| {
        let slug = documents.get(usize::try_from(document).ok()?).map(|document| document.slug.as_ref())?;
        meaning.vectors.cosine(meaning.vectors.position(slug)?, meaning.question)
    };
    let candidate = |document: u32, cosine: f32| {
        let words = scores.of(document) / best;
        let score = cosine.max(0.0) + LEXICAL_WEIGHT * words;
        Candidate { near: cosine >= least, ..Candidate::new(document, share(score, 1.0 + LEXICAL_WEIGHT)) }
    };
    let mut candidates: Vec<Candidate> = scores
        .top(LEXICAL_CANDIDATES_MAX)
        .into_iter()
        .map(|(document, _)| candidate(document, cosine_of(document).unwrap_or(0.0)))
        .collect();
    let known: HashSet<u32> = candidates.iter().map(|candidate| candidate.document).collect();
    let mut total = scores.found().len();
    for nearest in nearest {
        let document = meaning.vectors.name(nearest.position).and_then(|slug| index.number_of(slug));
        let is_new =
            |document: &u32| !known.contains(document) && choice.is_none_or(|is_wanted| is_wanted(*document));
        let Some(document) = document.filter(is_new) else { continue };
        let by_words = scores.of(document) > 0.0;
        if by_words || nearest.cosine >= least {
            candidates.push(candidate(document, nearest.cosine));
            total = total.saturating_add(usize::from(!by_words));
        }
    }
    (candidates, total)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(document: u32, score: f32, named: bool) -> Candidate {
        Candidate { named, ..Candidate::new(document, score) }
    }

    #[test]
    fn reranked_results_come_first_with_falling_scores() {
        let candidates = vec![
            candidate(9, 1.0, true),
            candidate(0, 0.9, false),
            candidate(1, 0.8, false),
            candidate(2, 0.7, false),
            candidate(3, 0.6, false),
        ];
        let mut ranked = Ranked { candidates, total: 5 };
        reorder(&mut ranked, &[Some(0.1), Some(0.5), None]);
        let order: Vec<(u32, f32)> = ranked.candidates.iter().map(|one| (one.document, one.score)).collect();
        assert_eq!(order, [(9, 1.0), (1, 0.5), (0, 0.1), (2, 0.1), (3, 0.1)]);
    }
}
