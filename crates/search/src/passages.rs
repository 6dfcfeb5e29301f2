//! The passages that models read of a dataset, with an English gloss of Italian for English-only models.
//!
//! Does not depend on models.

use std::sync::{Arc, LazyLock};

use super::lexical::{DocumentText, Known, Vocabulary, beginning};
use super::lexicon::Lexicon;
use super::neural::PassageTexts;
use super::text::{spell_out, words};
use mercato_catalog::{Dataset, Language};

/// Names of columns that a model reads.
const PASSAGE_COLUMNS_MAX: usize = 24;
/// Bytes of a description that a model reads.
const PASSAGE_DESCRIPTION_BYTES_MAX: usize = 1_200;
/// Bytes of a methodology that a model reads of a dataset without a description.
const PASSAGE_METHODOLOGY_BYTES_MAX: usize = 300;

/// Makes the words of a lexicon.
type MakeVocabulary = Box<dyn FnOnce() -> Vocabulary + Send>;

/// Writes passages and glosses. Its words are made when the first text is glossed, which only models ask for: a start
/// of the server does not wait for them.
pub struct Passages {
    vocabulary: LazyLock<Vocabulary, MakeVocabulary>,
}

impl Passages {
    /// With the terms of a lexicon.
    pub fn new(lexicon: Arc<Lexicon>) -> Self {
        Self { vocabulary: LazyLock::new(Box::new(move || Vocabulary::new(lexicon))) }
    }

    /// With the terms of the lexicon that the server brings along.
    pub fn builtin() -> Self {
        Self { vocabulary: LazyLock::new(Box::new(|| Vocabulary::new(Lexicon::builtin()))) }
    }

    /// The passages whose vectors stand for a dataset. A multilingual model reads every language that is given; an
    /// English one reads English, and Italian together with its gloss only where there is no English.
    pub fn of(&self, text: &DocumentText<'_>, multilingual: bool) -> Vec<String> {
        let english = passage(text, Language::English);
        let italian = passage(text, Language::Italian);
        let (english, italian) = match (has(text, Language::English), has(text, Language::Italian)) {
            (true, true) => (Some(english), Some(italian)),
            (false, true) => (None, Some(italian)),
            _ => (Some(english), None),
        };
        if multilingual {
            return english.into_iter().chain(italian).collect();
        }
        match (english, italian) {
            (Some(english), _) => with_gloss(&english, self.gloss(&english)),
            (None, Some(italian)) => with_gloss(&italian, self.gloss(&italian)),
            (None, None) => Vec::new(),
        }
    }

    /// The passage of a dataset for a cross-encoder and a question in `language`.
    pub fn short(&self, text: &DocumentText<'_>, language: Option<Language>, multilingual: bool) -> String {
        let wanted = if multilingual { language } else { Some(Language::English) };
        let passage = passage(text, wanted.unwrap_or(Language::English));
        if multilingual { passage } else { self.gloss(&passage).unwrap_or(passage) }
    }

    /// The concepts of an Italian text as English words, in the order of the text; unknown words are kept.
    pub fn gloss(&self, text: &str) -> Option<String> {
        let words = words(text);
        let known: Vec<Known> = words.iter().map(|word| self.vocabulary.look_up(&word.folded)).collect();
        Vocabulary::side(&known).language().filter(|language| *language == Language::Italian)?;
        Some(self.vocabulary.gloss(&known))
    }
}

impl PassageTexts for Passages {
    fn passages(&self, dataset: &Dataset, multilingual: bool) -> Vec<String> {
        self.of(&DocumentText::from(dataset), multilingual)
    }
}

fn with_gloss(text: &str, gloss: Option<String>) -> Vec<String> {
    std::iter::once(text.to_owned()).chain(gloss.filter(|gloss| !gloss.is_empty())).collect()
}

fn has(text: &DocumentText<'_>, language: Language) -> bool {
    text.titles.iter().chain(&text.descriptions).any(|(own, _)| *own == Some(language))
}

/// Title, description, tags and columns, with the texts of that language where there are any. A methodology speaks of
/// methods, mostly in the same words as the next one, so it only stands in for a description that is missing.
fn passage(text: &DocumentText<'_>, language: Language) -> String {
    let title = choose(&text.titles, language).unwrap_or(text.slug);
    let description = choose(&text.descriptions, language).unwrap_or_default();
    let methodology = if description.is_empty() { text.methodology } else { "" };
    let columns = text.columns.iter().take(PASSAGE_COLUMNS_MAX).map(|(name, _)| spell_out(name));
    let parts = [
        title.to_owned(),
        beginning(description, PASSAGE_DESCRIPTION_BYTES_MAX).to_owned(),
        text.tags.join(", "),
        columns.collect::<Vec<_>>().join(", "),
        beginning(methodology, PASSAGE_METHODOLOGY_BYTES_MAX).to_owned(),
    ];
    let parts: Vec<&str> =
        parts.iter().map(|part| part.trim().trim_end_matches('.')).filter(|part| !part.is_empty()).collect();
    parts.join(". ")
}

/// The text of that language, else the first one.
pub(super) fn choose<'d>(texts: &[(Option<Language>, &'d str)], language: Language) -> Option<&'d str> {
    let own = texts.iter().find(|(own, _)| *own == Some(language));
    own.or_else(|| texts.first()).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passages() -> Passages {
        Passages::new(Lexicon::builtin())
    }

    #[test]
    fn glosses_italian_only() {
        let passages = passages();
        assert_eq!(passages.gloss("Qualità dell'aria a Trieste").as_deref(), Some("air quality trieste"));
        assert_eq!(passages.gloss("Incidenti stradali con feriti").as_deref(), Some("road accident injury"));
        assert_eq!(passages.gloss("Air quality in Trieste"), None);
    }

    #[test]
    fn uses_methodology_without_description() {
        let mut text = DocumentText { slug: "air", methodology: "Read daily.", ..DocumentText::default() };
        assert_eq!(passages().of(&text, true), ["air. Read daily"]);
        text.descriptions = vec![(None, "Fine dust.")];
        assert_eq!(passages().of(&text, true), ["air. Fine dust"]);
    }

    #[test]
    fn selects_languages_of_model() {
        let text = DocumentText {
            slug: "air",
            titles: vec![(Some(Language::English), "Air"), (Some(Language::Italian), "Aria")],
            descriptions: vec![(Some(Language::Italian), "Dati orari.")],
            tags: vec!["smog"],
            columns: vec![("stationId", ["", ""])],
            methodology: "",
        };
        let passages = passages();
        assert_eq!(
            passages.of(&text, true),
            ["Air. Dati orari. smog. station Id", "Aria. Dati orari. smog. station Id"]
        );
        assert_eq!(
            passages.of(&text, false).first().map(String::as_str),
            Some("Air. Dati orari. smog. station Id")
        );
        let nameless = DocumentText { slug: "air", ..DocumentText::default() };
        assert_eq!(passages.of(&nameless, true), ["air"]);
    }
}
