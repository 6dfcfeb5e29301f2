//! A lexicon of open data: groups of English and Italian terms for one concept.
//!
//! One line of the text files beside this one is one group: English terms, `|`, Italian terms, and after `>` the
//! groups it belongs to, each named by its first English term. Terms are separated by commas and may be phrases.
//! Does not depend on datasets or ranking.

mod source;

use std::sync::{Arc, LazyLock};

pub use source::{LexiconError, parse};

/// Words of one term of the lexicon, stop words not counted.
pub const PHRASE_WORDS_MAX: usize = 5;

/// Files of the lexicon. Groups of `general` describe measures and lists rather than topics.
pub const SOURCES: &[(&str, &str)] = &[
    ("transport", include_str!("transport.txt")),
    ("health", include_str!("health.txt")),
    ("energy", include_str!("energy.txt")),
    ("environment", include_str!("environment.txt")),
    ("weather", include_str!("weather.txt")),
    ("economy", include_str!("economy.txt")),
    ("labour", include_str!("labour.txt")),
    ("people", include_str!("people.txt")),
    ("education", include_str!("education.txt")),
    ("justice", include_str!("justice.txt")),
    ("government", include_str!("government.txt")),
    ("agriculture", include_str!("agriculture.txt")),
    ("leisure", include_str!("leisure.txt")),
    ("housing", include_str!("housing.txt")),
    ("geography", include_str!("geography.txt")),
    ("technology", include_str!("technology.txt")),
    (GENERAL, include_str!("general.txt")),
];

/// The file whose groups count for less.
const GENERAL: &str = "general";

/// Number of a group.
pub type Concept = u32;

/// One concept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Its first English term, as it is written.
    pub name: String,
    /// English terms, each as its folded words without stop words.
    pub english: Vec<Vec<String>>,
    /// Italian terms, each as its folded words without stop words.
    pub italian: Vec<Vec<String>>,
    /// Concepts that it is a kind or a part of.
    pub broader: Vec<Concept>,
    /// Concepts that are a kind or a part of it.
    pub narrower: Vec<Concept>,
    /// Whether it describes measures and lists rather than a topic.
    pub general: bool,
}

#[derive(Debug, Default)]
pub struct Lexicon {
    groups: Vec<Group>,
}

impl Lexicon {
    /// The lexicon that is compiled in. A line with a error is left out; a test holds that there is none.
    pub fn builtin() -> Arc<Self> {
        static BUILTIN: LazyLock<Arc<Lexicon>> = LazyLock::new(|| Arc::new(parse(SOURCES, &mut |_| true).0));
        Arc::clone(&BUILTIN)
    }

    /// A group by its number.
    pub fn group(&self, concept: Concept) -> Option<&Group> {
        self.groups.get(usize::try_from(concept).ok()?)
    }

    /// All groups with their numbers.
    pub fn groups(&self) -> impl Iterator<Item = (Concept, &Group)> {
        (0..).zip(&self.groups)
    }

    /// How many groups it has.
    pub fn len(&self) -> usize {
        self.groups.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }
}
