//! A search question, validated and split into words.
//!
//! A pure function from text to [`Question`]. Does not depend on datasets.

use super::text;
use crate::limits::{QUESTION_CHARS_MAX, QUESTION_CHARS_MIN};

/// Limit of words in a question.
const QUESTION_WORDS_MAX: usize = 48;

/// A question that can be answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    text: String,
    words: Vec<String>,
    key: String,
}

/// Why a text is no question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum QuestionError {
    /// Fewer characters than the minimum, spaces around it not counted.
    #[error("a question has at least {QUESTION_CHARS_MIN} characters besides the spaces around it")]
    TooShort,
    /// More characters than the maximum.
    #[error("a question has at most {QUESTION_CHARS_MAX} characters")]
    TooLong,
    /// A control character such as a line break or NUL.
    #[error("a question holds no control characters")]
    ControlCharacter,
}

impl Question {
    /// Reads a question: characters are Unicode scalar values, and white space at both ends does not count.
    pub fn parse(typed: &str) -> Result<Self, QuestionError> {
        if typed.chars().any(char::is_control) {
            return Err(QuestionError::ControlCharacter);
        }
        let text = typed.trim();
        match text.chars().count() {
            ..QUESTION_CHARS_MIN => Err(QuestionError::TooShort),
            QUESTION_CHARS_MIN..=QUESTION_CHARS_MAX => Ok(Self::of(text)),
            _ => Err(QuestionError::TooLong),
        }
    }

    fn of(text: &str) -> Self {
        let words = text::words(text).into_iter().map(|word| word.folded).take(QUESTION_WORDS_MAX).collect();
        Self { text: text.to_owned(), words, key: text::key(text) }
    }

    /// As it was typed, without the spaces around it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its folded words, at most `QUESTION_WORDS_MAX`.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// The folded text, to compare with titles and slugs.
    pub fn key(&self) -> &str {
        &self.key
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(typed: &str, expected: Result<&str, QuestionError>) {
        let read = Question::parse(typed);
        assert_eq!(read.as_ref().map(Question::text).map_err(|error| *error), expected, "{typed:?}");
    }

    #[test]
    fn counts_characters_of_trimmed_question() {
        check("a", Err(QuestionError::TooShort));
        check("", Err(QuestionError::TooShort));
        check("   ", Err(QuestionError::TooShort));
        check(" a ", Err(QuestionError::TooShort));
        check(" ab ", Ok("ab"));
        check("àè", Ok("àè"));
        check("水質", Ok("水質"));
        check("a\u{0}b", Err(QuestionError::ControlCharacter));
        check("ab\n", Err(QuestionError::ControlCharacter));
        let longest = "è".repeat(QUESTION_CHARS_MAX);
        check(&longest, Ok(&longest));
        check(&format!(" {longest} "), Ok(&longest));
        check(&format!("{longest}é"), Err(QuestionError::TooLong));
    }

    proptest! {
        #[test]
        fn parses_or_rejects_any_text(typed in "\\PC{0,240}") {
            if let Ok(question) = Question::parse(&typed) {
                prop_assert!(question.words().len() <= QUESTION_WORDS_MAX);
                prop_assert!(question.words().iter().all(|word| !word.is_empty()));
            }
        }
    }
}
