//! Scores documents by words: BM25 with the best alternative of each topic.
//!
//! The matching rule: a question consists of topics, which are words with their concepts and phrases with their words
//! and concept. The weight of a topic is its rarity; a topic without documents counts as if one had it. A document
//! matches a topic by the concept or the word, and a phrase by its rarest word; the commoner words of a phrase alone do
//! not count. A document is found when it has [`COVERED_MIN`] of the question, or [`COVERED_OF_LONG_MIN`] of a long
//! one, and [`COVERED_OF_BEST`] of the best document's share. Methodologies are excluded, since publishers repeat the
//! same common words: a document that reaches [`COVERED_WITH_METHODOLOGY_MIN`] only with its methodology ranks behind
//! all others, and if more than [`BOILERPLATE_SHARE`] of the documents do, the words are boilerplate and find nothing.
//! A broader category in the tags, such as finance for stock markets, finds nothing by itself: if no document has more,
//! the result is empty. Depends on postings, not on words.

use super::Term;
use super::document::impact;
use super::question_terms::Topic;

/// Share of the question that a document must have to be found.
const COVERED_MIN: f32 = 0.45;
/// The same for a question of [`TOPICS_MANY`] topics: a long question states one thing in several ways.
const COVERED_OF_LONG_MIN: f32 = 0.2;
const TOPICS_MANY: usize = 3;
/// Share of what the best document has of the question that another must have to be found.
const COVERED_OF_BEST: f32 = 0.5;
/// Share of the question that a document must have which has it only together with its methodology.
const COVERED_WITH_METHODOLOGY_MIN: f32 = 0.8;
/// Share of the documents, at least [`BOILERPLATE_MIN`] of them, above which what their methodologies say says nothing.
const BOILERPLATE_SHARE: f32 = 0.1;
const BOILERPLATE_MIN: f32 = 3.0;

/// An occurrence of a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Posting {
    pub document: u32,
    pub impact: u16,
    /// Whether the term stands in the methodology alone.
    pub aside: bool,
    /// Whether it stands among the tags, and nowhere else but in the methodology.
    pub tag: bool,
}

/// Scores of documents by number; most have none.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Scores {
    all: Vec<f32>,
    found: Vec<u32>,
    aside: Vec<(u32, f32)>,
    ideal: f32,
}

impl Scores {
    /// Over `documents` documents. `postings` gives the occurrences of a term.
    pub(super) fn new<'i>(
        documents: usize,
        topics: &[Topic],
        postings: impl Fn(Term) -> &'i [Posting],
    ) -> Self {
        let asked: f32 = topics.iter().map(|topic| topic.importance).sum();
        let mut scores =
            Self { all: vec![0.0; documents], ideal: ideal(documents, topics, &postings), ..Self::default() };
        let mut without = tally(documents, topics, &postings, false);
        let least = (share_min(topics) * asked).max(COVERED_OF_BEST * without.most());
        let is_known = is_known(topics, &postings);
        without.drain(|document, score, covered| {
            let is_found = is_known && covered >= least;
            if let Some(place) = scores.all.get_mut(at(document)).filter(|_| is_found) {
                *place = score;
                scores.found.push(document);
            }
        });
        let mut behind = Vec::new();
        tally(documents, topics, &postings, true).drain(|document, score, covered| {
            if covered >= COVERED_WITH_METHODOLOGY_MIN * asked && scores.of(document) == 0.0 {
                behind.push((document, score));
            }
        });
        if behind.len() as f32 > BOILERPLATE_MIN.max(BOILERPLATE_SHARE * documents as f32) {
            behind.clear();
        }
        behind.sort_unstable_by(by_score);
        scores.aside = behind;
        scores
    }

    /// The score of a document; 0 where it is not found, or only together with its methodology.
    pub fn of(&self, document: u32) -> f32 {
        self.all.get(at(document)).copied().unwrap_or(0.0)
    }

    /// Documents with a score, in no order.
    pub fn found(&self) -> &[u32] {
        &self.found
    }

    /// Documents that are found only together with their methodology, best first, with what they then score.
    pub fn aside(&self) -> &[(u32, f32)] {
        &self.aside
    }

    /// Removes unwanted documents.
    pub fn retain(&mut self, is_wanted: impl Fn(u32) -> bool) {
        self.found.retain(|document| {
            let wanted = is_wanted(*document);
            if let Some(score) = self.all.get_mut(at(*document)).filter(|_| !wanted) {
                *score = 0.0;
            }
            wanted
        });
        self.aside.retain(|(document, _)| is_wanted(*document));
    }

    /// The score of an conceptl document.
    pub fn ideal(&self) -> f32 {
        self.ideal
    }

    pub fn best(&self) -> f32 {
        self.found.iter().map(|document| self.of(*document)).fold(0.0, f32::max)
    }

    /// The `count` best documents, best first, equal ones by number.
    pub fn top(&self, count: usize) -> Vec<(u32, f32)> {
        let mut top: Vec<(u32, f32)> =
            self.found.iter().map(|document| (*document, self.of(*document))).collect();
        if let Some(last) = count.checked_sub(1).filter(|last| *last < top.len()) {
            top.select_nth_unstable_by(last, by_score);
        }
        top.truncate(count);
        top.sort_unstable_by(by_score);
        top
    }
}

/// Share of a question that a document must have.
fn share_min(topics: &[Topic]) -> f32 {
    if topics.len() < TOPICS_MANY { COVERED_MIN } else { COVERED_OF_LONG_MIN }
}

fn by_score(a: &(u32, f32), b: &(u32, f32)) -> std::cmp::Ordering {
    b.1.total_cmp(&a.1).then(a.0.cmp(&b.0))
}

fn at(document: u32) -> usize {
    usize::try_from(document).unwrap_or(usize::MAX)
}

/// Whether any document has something of the question, and not just a tag that names a category above it.
fn is_known<'i>(topics: &[Topic], postings: impl Fn(Term) -> &'i [Posting]) -> bool {
    let finding = topics.iter().flat_map(|topic| &topic.wanted).filter(|wanted| wanted.finds);
    let mut alternatives = finding.flat_map(|wanted| {
        wanted.alternatives.iter().enumerate().map(|(place, (term, _))| (*term, place >= wanted.direct))
    });
    alternatives.any(|(term, is_category)| {
        let mut own = postings(term).iter().filter(|posting| !posting.aside);
        own.any(|posting| !(is_category && posting.tag))
    })
}

/// The score of each document and its share of the question.
fn tally<'i>(
    documents: usize,
    topics: &[Topic],
    postings: impl Fn(Term) -> &'i [Posting],
    with_methodology: bool,
) -> Sums {
    let mut all = Sums::new(documents);
    let (mut best, mut topic_sums) = (Sums::new(documents), Sums::new(documents));
    for topic in topics {
        for wanted in &topic.wanted {
            // A related concept never counts as rarer than the requested one.
            let first = wanted.alternatives.first();
            let rarity_max = first.map_or(0.0, |(term, _)| rarity(documents, frequency(postings(*term))));
            for (term, likeness) in &wanted.alternatives {
                let postings = postings(*term);
                let factor = likeness * rarity(documents, frequency(postings)).min(rarity_max);
                for posting in postings.iter().filter(|posting| with_methodology || !posting.aside) {
                    best.raise(posting.document, factor * impact(posting.impact), *likeness);
                }
            }
            best.drain(|document, value, likeness| {
                let finds = if wanted.finds { likeness } else { 0.0 };
                topic_sums.add(document, wanted.weight * value, |before| before.max(finds));
            });
        }
        topic_sums.drain(|document, value, likeness| {
            if likeness > 0.0 {
                // A merely related term covers more of the question than it scores.
                let covered = topic.importance * likeness.sqrt();
                all.add(document, value, |before| before + covered);
            }
        });
    }
    all
}

/// How many documents have a term elsewhere than in the methodology: words that methodologies repeat stay rare.
pub(super) fn frequency(postings: &[Posting]) -> usize {
    postings.iter().filter(|posting| !posting.aside).count()
}

/// The score of an conceptl document.
fn ideal<'i>(documents: usize, topics: &[Topic], postings: impl Fn(Term) -> &'i [Posting]) -> f32 {
    let wanted = topics.iter().flat_map(|topic| &topic.wanted);
    let each = wanted.filter_map(|wanted| {
        let (term, likeness) = wanted.alternatives.first()?;
        Some(wanted.weight * rarity(documents, frequency(postings(*term))) / likeness.max(f32::EPSILON))
    });
    each.sum()
}

/// A value and a share for each document; most have none.
struct Sums {
    values: Vec<f32>,
    shares: Vec<f32>,
    found: Vec<u32>,
}

impl Sums {
    fn new(documents: usize) -> Self {
        Self { values: vec![0.0; documents], shares: vec![0.0; documents], found: Vec::new() }
    }

    /// Keeps the largest value and the largest share.
    fn raise(&mut self, document: u32, value: f32, share: f32) {
        let raised = value.max(self.values.get(at(document)).copied().unwrap_or(0.0));
        let before = self.values.get(at(document)).copied().unwrap_or(0.0);
        self.add(document, raised - before, |before| before.max(share));
    }

    /// Adds to the value and changes the share. A value of 0 leaves the document as it was.
    fn add(&mut self, document: u32, value: f32, share: impl Fn(f32) -> f32) {
        let (Some(sum), Some(own)) = (self.values.get_mut(at(document)), self.shares.get_mut(at(document)))
        else {
            return;
        };
        if *sum == 0.0 && value > 0.0 {
            self.found.push(document);
        }
        *sum += value;
        if *sum > 0.0 {
            *own = share(*own);
        }
    }

    fn most(&self) -> f32 {
        self.found.iter().filter_map(|document| self.shares.get(at(*document))).copied().fold(0.0, f32::max)
    }

    /// Hands over every document with its value and share, and empties itself.
    fn drain(&mut self, mut take: impl FnMut(u32, f32, f32)) {
        for document in self.found.drain(..) {
            let (Some(value), Some(share)) =
                (self.values.get_mut(at(document)), self.shares.get_mut(at(document)))
            else {
                continue;
            };
            take(document, std::mem::take(value), std::mem::take(share));
        }
    }
}

/// The BM25 rarity of a term in `frequency` of `documents`.
pub(super) fn rarity(documents: usize, frequency: usize) -> f32 {
    let (documents, frequency) = (documents as f32, frequency as f32);
    (1.0 + (documents - frequency + 0.5) / (frequency + 0.5)).ln()
}

#[cfg(test)]
mod tests {
    use super::super::question_terms::Wanted;
    use super::*;
    use proptest::prelude::*;

    /// The definition, document by document: its score and how much of the question it has.
    fn naive(
        documents: usize,
        document: u32,
        topics: &[Topic],
        terms: &[Vec<Posting>],
        all: bool,
    ) -> (f32, f32) {
        let (mut score, mut covered) = (0.0, 0.0);
        for topic in topics {
            let (mut value, mut share) = (0.0_f32, 0.0_f32);
            for wanted in &topic.wanted {
                let rarity_of = |term: Term| rarity(documents, frequency(&terms[term as usize]));
                let rarity_max = wanted.alternatives.first().map_or(0.0, |(term, _)| rarity_of(*term));
                let mut best = 0.0_f32;
                for (term, likeness) in &wanted.alternatives {
                    for posting in &terms[*term as usize] {
                        if posting.document == document && (all || !posting.aside) {
                            best = best
                                .max(likeness * rarity_of(*term).min(rarity_max) * impact(posting.impact));
                            share = share.max(if wanted.finds { *likeness } else { 0.0 });
                        }
                    }
                }
                value += wanted.weight * best;
            }
            if share > 0.0 {
                score += value;
                covered += topic.importance * share.sqrt();
            }
        }
        (score, covered)
    }

    fn naively_known(topics: &[Topic], terms: &[Vec<Posting>]) -> bool {
        let finding = topics.iter().flat_map(|topic| &topic.wanted).filter(|wanted| wanted.finds);
        let mut alternatives = finding.flat_map(|wanted| {
            let is_above = |place: usize| place >= wanted.direct;
            wanted.alternatives.iter().enumerate().map(move |(place, (term, _))| (*term, is_above(place)))
        });
        alternatives.any(|(term, is_above)| {
            let mut told = terms[term as usize].iter().filter(|posting| !posting.aside);
            if is_above { told.any(|posting| !posting.tag) } else { told.next().is_some() }
        })
    }

    fn close(a: f32, b: f32) -> bool {
        (a - b).abs() <= 1e-4 * b.max(1.0)
    }

    proptest! {
        #[test]
        fn scores_match_naive_definition(
            documents in 1_usize..30,
            terms in proptest::collection::vec(
                proptest::collection::btree_map(0_u32..30, (1_u16.., proptest::bool::ANY, proptest::bool::ANY), 0..20), 6),
            topics in proptest::collection::vec((0.1_f32..3.0, proptest::collection::vec(
                (0.1_f32..2.0, proptest::bool::ANY, 0_usize..5,
                    proptest::collection::vec((0_u32..6, 0.1_f32..1.0), 0..4)), 0..4)), 0..4),
            count in 0_usize..12,
        ) {
            let terms: Vec<Vec<Posting>> = terms.into_iter().map(|postings| {
                let inside = postings.into_iter().filter(|(document, _)| (*document as usize) < documents);
                inside.map(|(document, (impact, aside, tag))| Posting { document, impact, aside, tag }).collect()
            }).collect();
            let topics: Vec<Topic> = topics.into_iter().map(|(importance, wanted)| {
                let wanted = wanted.into_iter()
                    .map(|(weight, finds, direct, alternatives)| Wanted { weight, finds, direct, alternatives })
                    .collect();
                Topic { importance, wanted }
            }).collect();
            let scores = Scores::new(documents, &topics, |term| terms[term as usize].as_slice());
            let asked: f32 = topics.iter().map(|topic| topic.importance).sum();
            let of = |at: u32, all: bool| naive(documents, at, &topics, &terms, all);
            let numbers = 0..documents as u32;
            let most = numbers.clone().map(|at| of(at, false).1).fold(0.0, f32::max);
            let least = (share_min(&topics) * asked).max(COVERED_OF_BEST * most);
            let enough = COVERED_WITH_METHODOLOGY_MIN * asked;
            let is_known = naively_known(&topics, &terms);
            let is_behind = |at: u32| {
                let ((_, covered), (whole, covered_whole)) = (of(at, false), of(at, true));
                !(is_known && covered >= least) && whole > 0.0 && covered_whole >= enough
            };
            let boilerplate = numbers.clone().filter(|at| is_behind(*at)).count() as f32
                > BOILERPLATE_MIN.max(BOILERPLATE_SHARE * documents as f32);
            // At the very edge rounding decides.
            let is_edge = |at: u32| close(of(at, false).1, least) || close(of(at, true).1, enough);
            prop_assume!(!numbers.clone().any(is_edge));
            for at in numbers {
                let ((score, covered), (whole, _)) = (of(at, false), of(at, true));
                let expected = if is_known && covered >= least { score } else { 0.0 };
                prop_assert!(close(scores.of(at), expected), "{} {expected}", scores.of(at));
                let aside = scores.aside().iter().find(|(document, _)| *document == at);
                prop_assert_eq!(aside.is_some(), is_behind(at) && !boilerplate);
                prop_assert!(aside.is_none_or(|(_, score)| close(*score, whole)));
            }
            let mut sorted: Vec<(u32, f32)> = scores.found().iter().map(|at| (*at, scores.of(*at))).collect();
            sorted.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            sorted.truncate(count);
            prop_assert_eq!(scores.top(count), sorted);
            prop_assert!(scores.best() <= scores.ideal() * 1.0001);
        }
    }
}
