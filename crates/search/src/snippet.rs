//! Snippets: the piece of a text that best shows the match.
//!
//! Does not depend on markup.

use super::lexical::{Known, Reading, Vocabulary, beginning};
use super::text::{Word, words};
use crate::lexical::METHODOLOGY_BYTES_MAX;
use mercato_catalog::Language;

/// Bytes of a description in which a snippet is looked for.
const SNIPPET_SOURCE_BYTES_MAX: usize = 4 * 1024;
const SNIPPET_CHARS_MAX: usize = 240;

/// The mark of omitted text.
const LEFT_OUT: char = '…';

/// A piece of a text and how many different words of it were asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Snippet {
    pub text: String,
    pub found: usize,
}

/// The piece of at most [`SNIPPET_CHARS_MAX`] characters with the most different words that were asked for; of equal
/// ones the first. White space becomes single spaces, `…` stands for what is left out.
pub(super) fn cut(text: &str, reading: &Reading, vocabulary: &Vocabulary) -> Snippet {
    let text = beginning(text, SNIPPET_SOURCE_BYTES_MAX);
    let words = words(text);
    let wanted: Vec<bool> =
        words.iter().map(|word| reading.wants(&vocabulary.look_up(&word.folded))).collect();
    if text.chars().count() <= SNIPPET_CHARS_MAX {
        let found = distinct(words.iter().zip(&wanted));
        return Snippet { text: tidy(text), found };
    }
    let mut best = (0, 0, 0);
    let mut end = 0;
    for (start, word) in words.iter().enumerate() {
        // Only a window that begins with the text or with a wanted word can be the best.
        if start > 0 && !wanted.get(start).copied().unwrap_or_default() {
            continue;
        }
        end = window_end(text, &words, word.start, end);
        let inside = words.iter().zip(&wanted).skip(start).take(end.saturating_sub(start));
        let found = distinct(inside);
        if found > best.0 || start == 0 {
            best = (found, start, end);
        }
    }
    let (found, start, end) = best;
    Snippet { text: piece(text, &words, start, end), found }
}

/// The paragraphs of a text that are not in another language, all of them where that leaves none.
pub(super) fn in_language(text: &str, language: Option<Language>, vocabulary: &Vocabulary) -> String {
    let Some(language) = language else { return text.to_owned() };
    let is_other = |paragraph: &&str| {
        let known: Vec<Known> =
            words(paragraph).iter().map(|word| vocabulary.look_up(&word.folded)).collect();
        Vocabulary::side(&known).language().is_some_and(|own| own != language)
    };
    let text = beginning(text, METHODOLOGY_BYTES_MAX);
    let own: Vec<&str> = text.split("\n\n").filter(|paragraph| !is_other(paragraph)).collect();
    if own.is_empty() { text.to_owned() } else { own.join("\n\n") }
}

/// The first word that no longer fits behind `from`, at least as far as `known`.
fn window_end(text: &str, words: &[Word], from: usize, known: usize) -> usize {
    let mut end = known;
    while let Some(word) = words.get(end) {
        let chars = text.get(from..word.end).map_or(0, |piece| piece.chars().count());
        if chars > SNIPPET_CHARS_MAX.saturating_sub(2) {
            break;
        }
        end = end.saturating_add(1);
    }
    end
}

fn distinct<'w>(words: impl Iterator<Item = (&'w Word, &'w bool)>) -> usize {
    let mut found: Vec<&str> =
        words.filter(|(_, wanted)| **wanted).map(|(word, _)| word.folded.as_str()).collect();
    found.sort_unstable();
    found.dedup();
    found.len()
}

fn piece(text: &str, words: &[Word], start: usize, end: usize) -> String {
    let from = if start == 0 { 0 } else { words.get(start).map_or(0, |word| word.start) };
    let last = end.checked_sub(1).and_then(|last| words.get(last));
    let until = if end >= words.len() { text.len() } else { last.map_or(from, |word| word.end) };
    let inner = tidy(text.get(from..until).unwrap_or_default());
    let mut piece: String = inner.chars().take(SNIPPET_CHARS_MAX.saturating_sub(2)).collect();
    if from > 0 {
        piece.insert(0, LEFT_OUT);
    }
    if until < text.len() {
        piece.push(LEFT_OUT);
    }
    piece
}

fn tidy(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::lexical::{DocumentAnalyzer, DocumentText, LexicalIndex};
    use crate::lexicon::Lexicon;
    use crate::question::Question;
    use proptest::prelude::*;

    fn cut_of(text: &str, question: &str) -> Snippet {
        let mut vocabulary = Vocabulary::new(Lexicon::builtin());
        let document = DocumentAnalyzer::new(&mut vocabulary)
            .read(&DocumentText { descriptions: vec![(None, text)], ..DocumentText::default() });
        let index = LexicalIndex::new(Arc::new(vocabulary), vec![Arc::new(document)]);
        let reading = index.read(&Question::parse(question).unwrap(), None);
        cut(text, &reading, index.vocabulary())
    }

    #[test]
    fn keeps_short_text_whole() {
        let snippet = cut_of("Beds  in\nhospitals.", "hospital beds");
        assert_eq!((snippet.text.as_str(), snippet.found), ("Beds in hospitals.", 2));
    }

    #[test]
    fn selects_best_piece_of_long_text() {
        let filler = "Nothing of interest stands here. ".repeat(12);
        let text = format!("{filler}Wards of hospitals and clinics by region. {filler}");
        let snippet = cut_of(&text, "hospital wards");
        assert!(snippet.text.contains("Wards of hospitals"), "{}", snippet.text);
        assert!(snippet.text.starts_with('…') && snippet.text.ends_with('…'), "{}", snippet.text);
        assert!(snippet.text.chars().count() <= SNIPPET_CHARS_MAX);
    }

    #[test]
    fn selects_one_language() {
        let vocabulary = Vocabulary::new(Lexicon::builtin());
        let text = "# Methodology\n\nThe beds of all hospitals are counted.\n\n# Metodologia\n\nSono contati i letti di tutti gli ospedali.";
        let english = in_language(text, Some(Language::English), &vocabulary);
        let italian = in_language(text, Some(Language::Italian), &vocabulary);
        assert!(english.contains("hospitals") && !english.contains("ospedali"), "{english}");
        assert!(italian.contains("ospedali") && !italian.contains("hospitals"), "{italian}");
        let only = "The beds of all hospitals are counted.";
        assert_eq!(in_language(only, Some(Language::Italian), &vocabulary), only);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn bounds_snippet_length(text in "(\\PC{0,12} ?){0,80}") {
            prop_assert!(cut_of(&text, "hospital").text.chars().count() <= SNIPPET_CHARS_MAX);
        }
    }
}
