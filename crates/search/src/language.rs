//! Language detection for English and Italian.
//!
//! Single words vote: stop words, words of one side of the lexicon, and endings. Does not depend on datasets.

use mercato_catalog::Language;

use super::stop_words::Stop;

/// A language, or both if unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Side {
    English,
    Italian,
    /// One of the two, or a mixture.
    #[default]
    Unknown,
}

impl From<Option<Language>> for Side {
    fn from(language: Option<Language>) -> Self {
        match language {
            Some(Language::English) => Self::English,
            Some(Language::Italian) => Self::Italian,
            None => Self::Unknown,
        }
    }
}

impl Side {
    /// The language, if known.
    pub fn language(self) -> Option<Language> {
        match self {
            Self::English => Some(Language::English),
            Self::Italian => Some(Language::Italian),
            Self::Unknown => None,
        }
    }
}

/// The vote of a word: whether it is a stop word, and which sides of the lexicon have it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clue<'w> {
    pub word: &'w str,
    /// The languages in which it is a stop word.
    pub stop: Stop,
    /// Whether an English term of the lexicon is this word.
    pub english: bool,
    /// Whether an Italian term of the lexicon is this word.
    pub italian: bool,
}

const STOP_WORD_VOTE: i32 = 4;
const LEXICON_VOTE: i32 = 3;
const ENDING_VOTE: i32 = 1;
/// Shortest word whose ending counts.
const ENDING_CHARS_MIN: usize = 4;

/// The language of a text by majority of its words; unknown on a tie.
pub(super) fn detect<'w>(clues: impl Iterator<Item = Clue<'w>>) -> Side {
    let votes: i32 = clues.map(|clue| vote(&clue)).fold(0, i32::saturating_add);
    match votes {
        1.. => Side::Italian,
        0 => Side::Unknown,
        _ => Side::English,
    }
}

/// Above zero for Italian, below for English.
fn vote(clue: &Clue<'_>) -> i32 {
    let differing = |italian: bool, english: bool, weight: i32| match (italian, english) {
        (true, false) => weight,
        (false, true) => -weight,
        _ => 0,
    };
    let by_stop = differing(clue.stop.italian, clue.stop.english, STOP_WORD_VOTE);
    let by_lexicon = differing(clue.italian, clue.english, LEXICON_VOTE);
    if by_stop != 0 || by_lexicon != 0 {
        return by_stop.saturating_add(by_lexicon);
    }
    if clue.word.chars().count() < ENDING_CHARS_MIN || clue.word.bytes().any(|byte| byte.is_ascii_digit()) {
        return 0;
    }
    let vowel = clue.word.ends_with(['a', 'e', 'i', 'o']);
    differing(vowel && !clue.word.ends_with("le"), !vowel, ENDING_VOTE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexical::Vocabulary;
    use crate::lexicon::Lexicon;
    use crate::question::Question;

    #[track_caller]
    fn check(question: &str, expected: Side) {
        let vocabulary = Vocabulary::new(Lexicon::builtin());
        let question = Question::parse(question).unwrap();
        let words = question.words().iter().map(|word| vocabulary.look_up(word)).collect::<Vec<_>>();
        assert_eq!(Vocabulary::side(&words), expected, "{}", question.text());
    }

    #[test]
    fn detects_language_of_questions() {
        check("how many people live in each municipality", Side::English);
        check("quante persone vivono in ogni comune", Side::Italian);
        check("air quality", Side::English);
        check("qualità dell'aria", Side::Italian);
        check("incidenti stradali", Side::Italian);
        check("hospital beds", Side::English);
        check("climate change", Side::English);
        check("cambiamento climatico", Side::Italian);
        check("PM10", Side::Unknown);
        check("2024", Side::Unknown);
    }
}
