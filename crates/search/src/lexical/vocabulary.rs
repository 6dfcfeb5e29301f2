//! The vocabulary: all words of documents and the lexicon, each stemmed once.
//!
//! A word has two stems, one for each language, and up to two concepts. Does not depend on documents.

use std::collections::HashMap;
use std::sync::Arc;

use frostem::{Algorithm, Stemmer};

use super::Term;
use crate::language::{Clue, Side, detect};
use crate::lexicon::PHRASE_WORDS_MAX;
use crate::lexicon::{Concept, Lexicon};
use crate::stop_words::Stop;

/// The record of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    pub word: Arc<str>,
    /// Its English stem, if any document or term of the lexicon has it.
    pub english: Option<Term>,
    /// Its Italian stem, likewise.
    pub italian: Option<Term>,
    /// The concept that it stands for in English.
    pub english_concept: Option<Concept>,
    /// The concept that it stands for in Italian.
    pub italian_concept: Option<Concept>,
    /// In which languages it says nothing of a topic.
    pub stop: Stop,
    /// The language in which the lexicon has this very word, where in the other one it has at most its stem.
    pub exact: Option<Side>,
}

/// A concept in a row of words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mention {
    /// Place of its first word.
    pub start: usize,
    /// How many words it covers.
    pub length: usize,
    pub concept: Concept,
}

/// Words, stems and phrases. Concepts of the lexicon are the first terms, by their number.
#[derive(Clone)]
pub struct Vocabulary {
    lexicon: Arc<Lexicon>,
    stemmers: [Stemmer; 2],
    words: HashMap<Arc<str>, Known>,
    /// Stems with the letter of their language in front.
    stems: HashMap<Box<str>, Term>,
    next: Term,
    /// Single words and stems of single words that name one concept, by language.
    singles: [HashMap<Box<str>, Option<Concept>>; 2],
    /// Stems of several words that name one concept.
    phrases: HashMap<Box<[Term]>, Concept>,
    /// Longest phrase that begins with a stem.
    phrase_starts: HashMap<Term, usize>,
}

const LETTERS: [char; 2] = ['e', 'i'];

impl Vocabulary {
    /// The words of a lexicon alone.
    pub fn new(lexicon: Arc<Lexicon>) -> Self {
        let mut vocabulary = Self {
            stemmers: [Stemmer::new(Algorithm::English), Stemmer::new(Algorithm::Italian)],
            words: HashMap::new(),
            stems: HashMap::new(),
            next: Term::try_from(lexicon.len()).unwrap_or(Term::MAX),
            singles: [HashMap::new(), HashMap::new()],
            phrases: HashMap::new(),
            phrase_starts: HashMap::new(),
            lexicon,
        };
        let lexicon = Arc::clone(&vocabulary.lexicon);
        for (concept, group) in lexicon.groups() {
            vocabulary.add_terms(0, &group.english, concept);
            vocabulary.add_terms(1, &group.italian, concept);
        }
        let terms = lexicon.groups().flat_map(|(_, group)| group.english.iter().chain(&group.italian));
        for word in terms.flatten() {
            vocabulary.learn(word);
        }
        vocabulary
    }

    /// The lexicon that its concepts come from.
    pub fn lexicon(&self) -> &Arc<Lexicon> {
        &self.lexicon
    }

    /// How many words it holds.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// One more than the largest term.
    pub fn term_count(&self) -> usize {
        usize::try_from(self.next).unwrap_or(usize::MAX)
    }

    /// All its words, in no order.
    pub fn words(&self) -> impl Iterator<Item = &Known> {
        self.words.values()
    }

    /// Adds a folded word.
    pub(super) fn learn(&mut self, word: &str) -> &Known {
        if !self.words.contains_key(word) {
            for language in [0, 1] {
                self.stem_term(language, word);
            }
            let known = self.inspect(word);
            self.words.insert(Arc::clone(&known.word), known);
        }
        // The entry was there, or has just been made.
        self.words.entry(Arc::from(word)).or_insert_with_key(|word| Known::unknown(word))
    }

    /// The record of a folded word, without adding it.
    pub fn look_up(&self, word: &str) -> Known {
        self.words.get(word).cloned().unwrap_or_else(|| self.inspect(word))
    }

    /// Whether the vocabulary has a word.
    pub fn holds(&self, word: &str) -> bool {
        self.words.contains_key(word)
    }

    /// The language of some words.
    pub fn side(words: &[Known]) -> Side {
        detect(words.iter().map(|known| Clue {
            word: &known.word,
            stop: known.stop,
            english: known.english_concept.is_some() && known.exact != Some(Side::Italian),
            italian: known.italian_concept.is_some() && known.exact != Some(Side::English),
        }))
    }

    /// The first English terms of the concepts in an Italian text; a word without a concept stays as it is.
    pub fn gloss(&self, words: &[Known]) -> String {
        let telling: Vec<&Known> = words.iter().filter(|known| !known.is_stop(Side::Italian)).collect();
        let mentions = self.mentions(&telling, Side::Italian);
        let mut gloss: Vec<&str> = Vec::with_capacity(telling.len());
        let mut covered = 0;
        for (place, known) in telling.iter().enumerate() {
            if let Some(mention) = mentions.iter().find(|mention| mention.start == place) {
                gloss.extend(self.lexicon.group(mention.concept).map(|group| group.name.as_str()));
                covered = place.saturating_add(mention.length);
            } else if place >= covered {
                gloss.push(&known.word);
            }
        }
        gloss.join(" ")
    }

    /// Concepts in a row of words without stop words: the longest phrase at each place, else the word. Of a word that
    /// means different things in the two languages the side decides.
    pub(super) fn mentions(&self, words: &[&Known], side: Side) -> Vec<Mention> {
        let mut mentions = Vec::new();
        let mut start = 0;
        while let Some(rest) = words.get(start..).filter(|rest| !rest.is_empty()) {
            let phrase = self.phrase_at(rest, side);
            if let Some((length, concept)) = phrase {
                mentions.push(Mention { start, length, concept });
            } else if let Some(known) = rest.first() {
                mentions.extend(known.concepts(side).map(|concept| Mention { start, length: 1, concept }));
            }
            start = start.saturating_add(phrase.map_or(1, |(length, _)| length));
        }
        mentions
    }

    /// The longest phrase that begins here; of equally long ones, the one in the language of the text.
    fn phrase_at(&self, words: &[&Known], side: Side) -> Option<(usize, Concept)> {
        let languages = if side == Side::Italian { [1, 0] } else { [0, 1] };
        let mut best: Option<(usize, Concept)> = None;
        for language in languages {
            let stems: Vec<Term> =
                words.iter().take(PHRASE_WORDS_MAX).map_while(|known| known.stem(language)).collect();
            let longest = stems.first().and_then(|first| self.phrase_starts.get(first)).copied().unwrap_or(0);
            let found = (2..=longest).rev().find_map(|length| {
                let concept = stems.get(..length).and_then(|phrase| self.phrases.get(phrase))?;
                Some((length, *concept))
            });
            best = match (best, found) {
                (Some(best), Some(found)) if found.0 > best.0 => Some(found),
                (None, found) => found,
                (best, _) => best,
            };
        }
        best
    }

    fn add_terms(&mut self, language: usize, terms: &[Vec<String>], concept: Concept) {
        for term in terms {
            let stems: Vec<Term> = term.iter().map(|word| self.stem_term(language, word)).collect();
            match (term.as_slice(), stems.first()) {
                ([word], _) => self.add_single(language, word, concept),
                (_, Some(first)) => {
                    let longest = self.phrase_starts.entry(*first).or_default();
                    *longest = (*longest).max(stems.len());
                    self.phrases.entry(stems.into()).or_insert(concept);
                }
                _ => {}
            }
        }
    }

    /// The word itself names the concept, and its stem does unless another concept has the same stem.
    fn add_single(&mut self, language: usize, word: &str, concept: Concept) {
        let stem = self.stem(language, word);
        let Some(singles) = self.singles.get_mut(language) else { return };
        singles.insert(word.into(), Some(concept));
        let marked = format!("+{stem}").into_boxed_str();
        singles
            .entry(marked)
            .and_modify(|owner| *owner = owner.filter(|owner| *owner == concept))
            .or_insert(Some(concept));
    }

    fn inspect(&self, word: &str) -> Known {
        let stems = [0, 1].map(|language| self.stem(language, word));
        let term = |language: usize| -> Option<Term> {
            let letter = LETTERS.get(language)?;
            self.stems.get(format!("{letter}{}", stems.get(language)?).as_str()).copied()
        };
        let concept = |language: usize| -> Option<Concept> {
            let singles = self.singles.get(language)?;
            let exact = singles.get(word).copied().flatten();
            exact.or_else(|| singles.get(format!("+{}", stems.get(language)?).as_str()).copied().flatten())
        };
        let is_exact =
            |language: usize| self.singles.get(language).is_some_and(|words| words.contains_key(word));
        let exact = match (is_exact(0), is_exact(1)) {
            (true, false) => Some(Side::English),
            (false, true) => Some(Side::Italian),
            _ => None,
        };
        Known {
            exact,
            english: term(0),
            italian: term(1),
            english_concept: concept(0),
            italian_concept: concept(1),
            ..Known::unknown(word)
        }
    }

    fn stem(&self, language: usize, word: &str) -> String {
        let stemmable = word.bytes().all(|byte| byte.is_ascii_alphabetic());
        match self.stemmers.get(language) {
            Some(stemmer) if stemmable => stemmer.stem(word).into_owned(),
            _ => word.to_owned(),
        }
    }

    fn stem_term(&mut self, language: usize, word: &str) -> Term {
        let stem = self.stem(language, word);
        let letter = LETTERS.get(language).copied().unwrap_or_default();
        let next = &mut self.next;
        *self.stems.entry(format!("{letter}{stem}").into_boxed_str()).or_insert_with(|| {
            let term = *next;
            *next = next.saturating_add(1);
            term
        })
    }
}

impl Known {
    fn unknown(word: &str) -> Self {
        Self {
            word: word.into(),
            english: None,
            italian: None,
            english_concept: None,
            italian_concept: None,
            stop: Stop::of(word),
            exact: None,
        }
    }

    /// Whether it says nothing in a text of that side.
    pub(super) fn is_stop(&self, side: Side) -> bool {
        match side {
            Side::English => self.stop.english,
            Side::Italian => self.stop.italian,
            Side::Unknown => self.stop.english || self.stop.italian,
        }
    }

    /// Its stems, one for each language.
    pub(super) fn stems(&self) -> impl Iterator<Item = Term> {
        self.english.into_iter().chain(self.italian)
    }

    fn stem(&self, language: usize) -> Option<Term> {
        if language == 0 { self.english } else { self.italian }
    }

    /// The concepts that it stands for in a text of that side.
    pub(super) fn concepts(&self, side: Side) -> impl Iterator<Item = Concept> {
        let (first, second) = match (self.english_concept, self.italian_concept, side) {
            (Some(english), Some(_), Side::English) => (Some(english), None),
            (Some(_), Some(italian), Side::Italian) => (Some(italian), None),
            (english, italian, _) if english == italian => (english, None),
            (english, italian, _) => (english, italian),
        };
        first.into_iter().chain(second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexicon::parse;

    fn vocabulary() -> Vocabulary {
        let content = "car, passenger car | auto, automobile\n\
                       air quality | qualita dell'aria\n\
                       sale | vendita\n\
                       salt | sale\n\
                       university | ateneo\n\
                       universe | universo\n";
        let (lexicon, errors) = parse(&[("x", content)], &mut |_| true);
        assert_eq!(errors, []);
        Vocabulary::new(Arc::new(lexicon))
    }

    #[track_caller]
    fn check(text: &str, side: Side, expected: &[(usize, usize, Concept)]) {
        let vocabulary = vocabulary();
        let words: Vec<Known> = text.split(' ').map(|word| vocabulary.look_up(word)).collect();
        let words: Vec<&Known> = words.iter().filter(|known| !known.is_stop(side)).collect();
        let found = vocabulary.mentions(&words, side);
        let found: Vec<_> = found.iter().map(|found| (found.start, found.length, found.concept)).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn finds_concepts_by_words_inflections_and_phrases() {
        check("cars", Side::English, &[(0, 1, 0)]);
        check("passenger cars", Side::English, &[(0, 2, 0)]);
        check("qualita dell aria", Side::Italian, &[(0, 2, 1)]);
        check("air", Side::English, &[]);
        check("air quality of cars", Side::English, &[(0, 2, 1), (2, 1, 0)]);
    }

    #[test]
    fn language_decides_ambiguous_words() {
        check("sale", Side::English, &[(0, 1, 2)]);
        check("sale", Side::Italian, &[(0, 1, 3)]);
        check("sale", Side::Unknown, &[(0, 1, 2), (0, 1, 3)]);
    }

    #[test]
    fn ambiguous_stem_names_no_concept() {
        check("university", Side::English, &[(0, 1, 4)]);
        check("universe", Side::English, &[(0, 1, 5)]);
        check("universal", Side::English, &[]);
    }

    #[test]
    fn learnt_words_have_stems() {
        let mut vocabulary = vocabulary();
        assert_eq!((vocabulary.look_up("hedgehogs").english, vocabulary.holds("hedgehog")), (None, false));
        let learnt = vocabulary.learn("hedgehog").english;
        assert!(learnt.is_some());
        assert_eq!(vocabulary.look_up("hedgehogs").english, learnt);
    }
}
