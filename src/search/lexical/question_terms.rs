//! A question as terms: for each of its words and ideas, everything that counts as finding it.
//!
//! Knows the vocabulary and which terms occur; knows no scores of documents.

use super::Term;
use super::fuzzy::{Neighbour, Neighbours};
use super::vocabulary::{Known, Vocabulary};
use crate::catalog::Language;
use crate::limits::search::UNKNOWN_WORDS_MAX;
use crate::search::language::Side;
use crate::search::lexicon::Concept;
use crate::search::question::Question;

/// How much an idea counts beside a word.
const IDEA_WEIGHT: f32 = 0.8;
/// How much each further word of a phrase adds to its idea.
const PHRASE_WORD_WEIGHT: f32 = 0.4;
/// How much an idea counts that describes measures and lists.
const GENERAL_WEIGHT: f32 = 0.4;
/// How much the idea above counts for one that was asked for.
const BROADER_WEIGHT: f32 = 0.35;
/// How much an idea below counts for one that was asked for.
const NARROWER_WEIGHT: f32 = 0.5;
/// Likeness from which one error is taken for certain, so that nothing else is tried.
const SURE_LIKENESS: f32 = 0.8;

/// Something that was asked for, found by any of its alternatives: the best one counts.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Wanted {
    /// How much it counts beside the others.
    pub weight: f32,
    /// Terms that find it, each with how well it does: 0 to 1.
    pub alternatives: Vec<(Term, f32)>,
}

/// A question as terms.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct QuestionTerms {
    /// The language it was read in.
    pub side: Side,
    /// What was asked for.
    pub wanted: Vec<Wanted>,
}

impl QuestionTerms {
    /// All terms that find anything, sorted.
    pub(super) fn terms(&self) -> Vec<Term> {
        let mut terms: Vec<Term> =
            self.wanted.iter().flat_map(|wanted| &wanted.alternatives).map(|(term, _)| *term).collect();
        terms.sort_unstable();
        terms.dedup();
        terms
    }
}

/// Reads questions.
pub(super) struct QuestionReader<'i> {
    /// Words.
    pub vocabulary: &'i Vocabulary,
    /// Words that may be meant by unknown ones.
    pub neighbours: &'i Neighbours,
    /// Whether a term occurs in any document.
    pub occurs: &'i dyn Fn(Term) -> bool,
}

/// A word of a question, or what is taken for it.
struct Meant {
    known: Known,
    likeness: f32,
    /// What else it could be.
    others: Vec<Neighbour>,
}

impl QuestionReader<'_> {
    /// The terms of a question; without a language, the one that its words show.
    pub(super) fn read(&self, question: &Question, language: Option<Language>) -> QuestionTerms {
        let known: Vec<Known> = question.words().iter().map(|word| self.vocabulary.look_up(word)).collect();
        let side = match language {
            Some(language) => Side::from(Some(language)),
            None => Vocabulary::side(&known),
        };
        let meant = self.meant(&known, side);
        let words: Vec<&Known> = meant.iter().map(|meant| &meant.known).collect();
        let mut wanted: Vec<Wanted> = meant.iter().filter_map(|meant| self.word(meant)).collect();
        for mention in self.vocabulary.mentions(&words, side) {
            let covered = meant.iter().skip(mention.start).take(mention.length);
            let likeness = covered.map(|meant| meant.likeness).fold(1.0, f32::min);
            wanted.extend(self.idea(mention.concept, mention.length, likeness));
        }
        QuestionTerms { side, wanted }
    }

    /// The words that say something, or all of them where none does; unknown ones replaced by the nearest.
    fn meant(&self, known: &[Known], side: Side) -> Vec<Meant> {
        let says_something = |word: &&Known| !word.is_stop(side) && !word.stop.of_catalogs;
        let mut telling: Vec<&Known> = known.iter().filter(says_something).collect();
        if telling.is_empty() {
            telling = known.iter().collect();
        }
        let mut meant = Vec::with_capacity(telling.len());
        let mut unknown = 0;
        for word in telling {
            if self.is_known(word) || unknown == UNKNOWN_WORDS_MAX {
                meant.push(Meant { known: word.clone(), likeness: 1.0, others: Vec::new() });
            } else {
                unknown += 1;
                self.guess(word, &mut meant);
            }
        }
        meant
    }

    fn guess(&self, word: &Known, meant: &mut Vec<Meant>) {
        let near = self.neighbours.near(&word.word);
        let sure = near.first().is_some_and(|near| near.likeness >= SURE_LIKENESS);
        let is_known =
            |part: &str| self.vocabulary.holds(part) && self.is_known(&self.vocabulary.look_up(part));
        if let Some((first, second)) = Neighbours::halves(&word.word, is_known).filter(|_| !sure) {
            let part = |part: &str| Meant {
                known: self.vocabulary.look_up(part),
                likeness: 1.0,
                others: Vec::new(),
            };
            meant.extend([part(first), part(second)]);
        } else if let Some((nearest, others)) = near.split_first() {
            let known = self.vocabulary.look_up(&nearest.word);
            meant.push(Meant { known, likeness: nearest.likeness, others: others.to_vec() });
        } else {
            meant.push(Meant { known: word.clone(), likeness: 1.0, others: Vec::new() });
        }
    }

    fn is_known(&self, word: &Known) -> bool {
        word.english_concept.is_some()
            || word.italian_concept.is_some()
            || word.stems().any(|term| (self.occurs)(term))
    }

    /// What finds a word: its stems, and those of the words that could be meant instead.
    fn word(&self, meant: &Meant) -> Option<Wanted> {
        let mut alternatives: Vec<(Term, f32)> = Vec::new();
        let others = meant.others.iter().map(|other| (self.vocabulary.look_up(&other.word), other.likeness));
        for (known, likeness) in std::iter::once((meant.known.clone(), meant.likeness)).chain(others) {
            for term in known.stems().filter(|term| (self.occurs)(*term)) {
                if !alternatives.iter().any(|(present, _)| *present == term) {
                    alternatives.push((term, likeness));
                }
            }
        }
        (!alternatives.is_empty()).then_some(Wanted { weight: 1.0, alternatives })
    }

    /// What finds an idea: itself, and those above and below it.
    fn idea(&self, concept: Concept, words: usize, likeness: f32) -> Option<Wanted> {
        let group = self.vocabulary.lexicon().group(concept)?;
        let broader = group.broader.iter().map(|broader| (*broader, BROADER_WEIGHT * likeness));
        let narrower = group.narrower.iter().map(|narrower| (*narrower, NARROWER_WEIGHT * likeness));
        let alternatives: Vec<(Term, f32)> = std::iter::once((concept, likeness))
            .chain(narrower)
            .chain(broader)
            .filter(|(term, _)| (self.occurs)(*term))
            .collect();
        let length = 1.0 + PHRASE_WORD_WEIGHT * words.saturating_sub(1) as f32;
        let weight = IDEA_WEIGHT * length * if group.general { GENERAL_WEIGHT } else { 1.0 };
        (!alternatives.is_empty()).then_some(Wanted { weight, alternatives })
    }
}
