//! Translates a question into terms: for each word and concept, all terms that match it.
//!
//! Words that name one concept together form one topic; every other word is its own topic. A document with only the
//! common words of a phrase does not match its topic. Does not depend on document scores.

use super::Term;
use super::fuzzy::{Neighbour, Neighbours};
use super::scores;
use super::vocabulary::{Known, Mention, Vocabulary};
use crate::language::Side;
use crate::lexicon::{Concept, Group};
use crate::question::Question;
use mercato_catalog::Language;

/// Unknown words of one question that are compared with all known ones.
const UNKNOWN_WORDS_MAX: usize = 8;

/// How much a concept counts beside a word.
const IDEA_WEIGHT: f32 = 0.8;
/// How much each further word of a phrase adds to its concept.
const PHRASE_WORD_WEIGHT: f32 = 0.4;
/// How much a concept counts that describes measures and lists.
const GENERAL_WEIGHT: f32 = 0.4;
/// How much the concept above counts for one that was asked for.
const BROADER_WEIGHT: f32 = 0.35;
/// How much a concept below counts for one that was asked for.
const NARROWER_WEIGHT: f32 = 0.5;
/// How many times one may go up from a concept that occurs nowhere to one that does.
const STEPS_UP_MAX: usize = 3;
/// How much a topic counts that neither the lexicon nor any document knows: mostly a name.
const UNKNOWN_WEIGHT: f32 = 0.5;
/// Likeness from which one error is taken for certain, so that nothing else is tried.
const SURE_LIKENESS: f32 = 0.8;

/// Something that was asked for, found by any of its alternatives: the best one counts.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Wanted {
    /// How much it counts beside the others.
    pub weight: f32,
    /// Whether a document that has it has the topic.
    pub finds: bool,
    /// Terms that find it, each with how well it does: 0 to 1. The first is the one that was asked for.
    pub alternatives: Vec<(Term, f32)>,
    /// How many of the first terms are the concept or narrower; the others are broader.
    pub direct: usize,
}

/// A word of the question with its concept, or a phrase with its words and its concept.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Topic {
    /// How much of the question it is beside the others.
    pub importance: f32,
    /// The terms that match it alone or together.
    pub wanted: Vec<Wanted>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct QuestionTerms {
    /// The language it was read in.
    pub side: Side,
    /// The words and concepts of the question.
    pub topics: Vec<Topic>,
}

impl QuestionTerms {
    /// All terms that find anything, sorted.
    pub(super) fn terms(&self) -> Vec<Term> {
        let wanted = self.topics.iter().flat_map(|topic| &topic.wanted);
        let mut terms: Vec<Term> =
            wanted.flat_map(|wanted| &wanted.alternatives).map(|(term, _)| *term).collect();
        terms.sort_unstable();
        terms.dedup();
        terms
    }
}

pub(super) struct QuestionReader<'i> {
    /// Words.
    pub vocabulary: &'i Vocabulary,
    /// Words that may be meant by unknown ones.
    pub neighbours: &'i Neighbours,
    /// How many documents there are.
    pub documents: usize,
    /// Whether a term occurs in any document.
    pub occurs: &'i dyn Fn(Term) -> bool,
    /// How many documents have a term elsewhere than in their methodology.
    pub frequency: &'i dyn Fn(Term) -> usize,
}

/// A word of a question, or its replacement.
struct Meant {
    known: Known,
    likeness: f32,
    /// Alternatives.
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
        let mentions = self.vocabulary.mentions(&words, side);
        let mut topics = Vec::with_capacity(meant.len());
        let mut start = 0;
        while let Some(rest) = meant.get(start..).filter(|rest| !rest.is_empty()) {
            let here: Vec<&Mention> = mentions.iter().filter(|mention| mention.start == start).collect();
            let length = here.iter().map(|mention| mention.length).max().unwrap_or(1).max(1);
            let words = rest.get(..length).unwrap_or(rest);
            topics.push(self.topic(words, here.into_iter().map(|mention| mention.concept)));
            start = start.saturating_add(length);
        }
        QuestionTerms { side, topics }
    }

    /// One word or the words of one phrase, with the concepts that they name.
    fn topic(&self, words: &[Meant], concepts: impl Iterator<Item = Concept>) -> Topic {
        let likeness = words.iter().map(|meant| meant.likeness).fold(1.0, f32::min);
        let length = 1.0 + PHRASE_WORD_WEIGHT * words.len().saturating_sub(1) as f32;
        let mut wanted: Vec<Wanted> = words.iter().map(|meant| self.word(meant)).collect();
        let rarest = wanted.iter().map(|word| self.rarity(word)).fold(0.0, f32::max);
        wanted.iter_mut().for_each(|word| word.finds = self.rarity(word) >= rarest);
        let (mut known, mut general) = (false, true);
        for concept in concepts {
            let Some(group) = self.vocabulary.lexicon().group(concept) else { continue };
            (known, general) = (true, general && group.general);
            wanted.push(self.idea(concept, group, length, likeness));
        }
        let finding = wanted.iter().filter(|wanted| wanted.finds && !wanted.alternatives.is_empty());
        let rarity = finding.map(|wanted| self.rarity(wanted)).reduce(f32::min);
        let weight = match (known, general) {
            (true, true) => GENERAL_WEIGHT,
            (true, false) => length,
            (false, _) if rarity.is_some() => 1.0,
            (false, _) => UNKNOWN_WEIGHT,
        };
        wanted.retain(|wanted| !wanted.alternatives.is_empty());
        // In a small catalog nothing at all is much rarer than one document: what is missing must not outweigh the rest.
        let rarity_max = scores::rarity(self.documents, 1);
        Topic { importance: weight * rarity.map_or(rarity_max, |rarity| rarity.min(rarity_max)), wanted }
    }

    /// How rare it is: of the alternatives that are as good as the first one, the most frequent counts. One without
    /// alternatives is as rare as can be.
    fn rarity(&self, wanted: &Wanted) -> f32 {
        let best = wanted.alternatives.first().map_or(1.0, |(_, likeness)| *likeness);
        let as_good = wanted.alternatives.iter().filter(|(_, likeness)| *likeness >= best);
        let frequency = as_good.map(|(term, _)| (self.frequency)(*term)).max();
        scores::rarity(self.documents, frequency.unwrap_or(0))
    }

    /// The words without stop words, or all if only stop words; unknown words are replaced by the nearest.
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
        self.vocabulary.holds(&word.word) || word.stems().any(|term| (self.occurs)(term))
    }

    /// The terms that match a word: its stems, and those of its alternatives.
    fn word(&self, meant: &Meant) -> Wanted {
        let mut alternatives: Vec<(Term, f32)> = Vec::new();
        let others = meant.others.iter().map(|other| (self.vocabulary.look_up(&other.word), other.likeness));
        for (known, likeness) in std::iter::once((meant.known.clone(), meant.likeness)).chain(others) {
            for term in known.stems().filter(|term| (self.occurs)(*term)) {
                if !alternatives.iter().any(|(present, _)| *present == term) {
                    alternatives.push((term, likeness));
                }
            }
        }
        Wanted { weight: 1.0, finds: true, direct: alternatives.len(), alternatives }
    }

    /// The terms that match a concept: itself, narrower and broader concepts. A concept that occurs nowhere is replaced
    /// by the next broader one.
    fn idea(&self, concept: Concept, group: &Group, length: f32, likeness: f32) -> Wanted {
        let lexicon = self.vocabulary.lexicon();
        let narrower = group.narrower.iter().map(|narrower| (*narrower, NARROWER_WEIGHT * likeness));
        let mut alternatives: Vec<(Term, f32)> =
            std::iter::once((concept, likeness)).chain(narrower).collect();
        let mut above: Vec<Concept> = group.broader.clone();
        for _ in 0..STEPS_UP_MAX {
            alternatives.extend(above.iter().map(|broader| (*broader, BROADER_WEIGHT * likeness)));
            if alternatives.iter().any(|(term, _)| (self.occurs)(*term)) {
                break;
            }
            let next = above.iter().filter_map(|broader| lexicon.group(*broader));
            above = next.flat_map(|group| group.broader.iter().copied()).collect();
        }
        let below = group.narrower.len().saturating_add(1);
        let occurs = |(term, _): &&(Concept, f32)| (self.occurs)(*term);
        let direct = alternatives.iter().take(below).filter(occurs).count();
        alternatives.retain(|(term, _)| (self.occurs)(*term));
        let weight = IDEA_WEIGHT * length * if group.general { GENERAL_WEIGHT } else { 1.0 };
        Wanted { weight, finds: true, alternatives, direct }
    }
}
