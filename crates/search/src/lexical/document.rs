//! A dataset as an index document: its terms with weights and fields.
//!
//! Does not depend on other datasets, so a document stays valid while the rest of the catalog changes.

use std::collections::HashMap;

use super::{Term, Vocabulary};
use crate::language::Side;
use crate::text::{key, spell_out, words};
use mercato_catalog::{Dataset, Language};

/// Columns of a dataset whose names and descriptions are searched.
const COLUMNS_MAX: usize = 1_000;

/// Bytes of a methodology that are searched, from its beginning.
pub const METHODOLOGY_BYTES_MAX: usize = 16 * 1024;
/// Bytes of the description of one column that are searched.
const COLUMN_NOTE_BYTES_MAX: usize = 1_024;

/// A field of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    Title,
    Tags,
    Description,
    /// Names and descriptions of columns.
    Columns,
    Slug,
    Methodology,
}

impl Field {
    /// All fields, in the order in which answers name them.
    pub const ALL: [Self; 6] =
        [Self::Title, Self::Tags, Self::Description, Self::Columns, Self::Slug, Self::Methodology];

    /// As `matchedOn` names it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Tags => "tags",
            Self::Description => "description",
            Self::Columns => "columns",
            Self::Slug => "slug",
            Self::Methodology => "methodology",
        }
    }

    /// How much a word counts there, and the length in words at which a field counts as neither short nor long.
    const fn weight(self) -> (f32, f32) {
        match self {
            Self::Title => (3.0, 6.0),
            Self::Tags => (2.0, 5.0),
            Self::Description => (1.0, 30.0),
            Self::Columns => (0.7, 25.0),
            Self::Slug => (1.0, 4.0),
            Self::Methodology => (0.1, 120.0),
        }
    }

    /// Its bit in a set of fields.
    pub const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// Frequency at which a term counts half (BM25).
const K1: f32 = 1.2;
/// How far the length of a field counts, 0 to 1 (BM25).
const B: f32 = 0.6;
/// The scale of stored impacts.
const IMPACT_SCALE: f32 = 65_535.0;

/// The texts of a dataset.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DocumentText<'d> {
    pub slug: &'d str,
    /// Titles with their languages, if known.
    pub titles: Vec<(Option<Language>, &'d str)>,
    /// Descriptions, likewise.
    pub descriptions: Vec<(Option<Language>, &'d str)>,
    pub tags: Vec<&'d str>,
    /// Column names with descriptions in English and Italian, empty where there is none.
    pub columns: Vec<(&'d str, [&'d str; 2])>,
    pub methodology: &'d str,
}

impl<'d> From<&'d Dataset> for DocumentText<'d> {
    fn from(dataset: &'d Dataset) -> Self {
        let manifest = &dataset.manifest;
        let localized = |text: &'d mercato_catalog::LocalizedText| {
            let english = text.en.as_deref().map(|text| (Some(Language::English), text));
            let italian = text.it.as_deref().map(|text| (Some(Language::Italian), text));
            english.into_iter().chain(italian).collect()
        };
        let notes = |name: &str| {
            let texts = manifest.columns.get(name).map(|note| [&note.description.en, &note.description.it]);
            texts.map_or(["", ""], |texts| texts.map(|text| text.as_deref().unwrap_or_default()))
        };
        let columns = dataset.current.table.columns().iter().take(COLUMNS_MAX);
        Self {
            slug: dataset.slug(),
            titles: localized(&manifest.title),
            descriptions: localized(&manifest.description),
            tags: manifest.tags.iter().map(String::as_str).collect(),
            columns: columns.map(|column| (column.name.as_str(), notes(&column.name))).collect(),
            methodology: &dataset.methodology,
        }
    }
}

/// A term of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DocumentTerm {
    pub term: Term,
    /// The impact of the term on the document: 0 to 65,535.
    pub impact: u16,
    /// Fields that have it, as bits.
    pub fields: u8,
}

/// A dataset without its texts.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    pub slug: Box<str>,
    /// Exact names of the dataset: slug and titles, folded.
    pub keys: Vec<String>,
    /// Sorted by term.
    pub(super) terms: Box<[DocumentTerm]>,
}

impl Document {
    /// Bits of the fields with any of the terms. `terms` must be sorted.
    pub(super) fn fields_of(&self, terms: &[Term]) -> u8 {
        let fields_of_term = |term: &Term| {
            let place = self.terms.binary_search_by_key(term, |own| own.term).ok()?;
            self.terms.get(place).map(|own| own.fields)
        };
        terms.iter().filter_map(fields_of_term).fold(0, |all, fields| all | fields)
    }
}

/// Turns texts into a document. New words go into the vocabulary.
pub struct DocumentAnalyzer<'v> {
    vocabulary: &'v mut Vocabulary,
    weights: HashMap<Term, (f32, u8)>,
}

impl<'v> DocumentAnalyzer<'v> {
    /// One that learns into `vocabulary`.
    pub fn new(vocabulary: &'v mut Vocabulary) -> Self {
        Self { vocabulary, weights: HashMap::new() }
    }

    /// The document of some texts.
    pub fn read(&mut self, text: &DocumentText<'_>) -> Document {
        self.weights.clear();
        self.read_field(Field::Title, &text.titles);
        self.read_field(Field::Tags, &[(None, text.tags.join(" . ").as_str())]);
        self.read_field(Field::Description, &text.descriptions);
        self.read_field(Field::Columns, &[(None, columns_text(&text.columns).as_str())]);
        self.read_field(Field::Slug, &[(None, text.slug)]);
        self.read_field(Field::Methodology, &[(None, beginning(text.methodology, METHODOLOGY_BYTES_MAX))]);
        let mut terms: Vec<DocumentTerm> = self
            .weights
            .drain()
            .map(|(term, (weight, fields))| document_term(term, weight, fields))
            .collect();
        terms.sort_unstable_by_key(|term| term.term);
        let mut keys: Vec<String> = vec![key(text.slug)];
        keys.extend(text.titles.iter().map(|(_, title)| key(title)));
        keys.retain(|key| !key.is_empty());
        keys.sort_unstable();
        keys.dedup();
        Document { slug: text.slug.into(), keys, terms: terms.into() }
    }

    /// A field can be given in several languages; a term counts as in the one that has it most.
    fn read_field(&mut self, field: Field, variants: &[(Option<Language>, &str)]) {
        let (field_weight, usual_length) = field.weight();
        let mut best: HashMap<Term, f32> = HashMap::new();
        for (language, text) in variants {
            let (counts, length) = self.count(text, *language);
            let norm = 1.0 - B + B * length as f32 / usual_length;
            for (term, count) in counts {
                let weight = best.entry(term).or_default();
                *weight = weight.max(field_weight * count as f32 / norm);
            }
        }
        for (term, weight) in best {
            let (sum, fields) = self.weights.entry(term).or_default();
            *sum += weight;
            *fields |= field.bit();
        }
    }

    /// How often each term occurs, and how many words there are.
    fn count(&mut self, text: &str, language: Option<Language>) -> (HashMap<Term, u32>, usize) {
        let known: Vec<_> =
            words(text).iter().map(|word| self.vocabulary.learn(&word.folded).clone()).collect();
        let side = match Vocabulary::side(&known) {
            Side::Unknown => Side::from(language),
            detected => detected,
        };
        let telling: Vec<_> = known.iter().filter(|word| !word.is_stop(side)).collect();
        let mentions = self.vocabulary.mentions(&telling, side);
        let stems = telling.iter().flat_map(|word| word.stems());
        let mut counts: HashMap<Term, u32> = HashMap::new();
        for term in stems.chain(mentions.iter().map(|mention| mention.concept)) {
            let count = counts.entry(term).or_default();
            *count = count.saturating_add(1);
        }
        (counts, telling.len())
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an impact lies between 0 and 1")]
fn document_term(term: Term, weight: f32, fields: u8) -> DocumentTerm {
    DocumentTerm { term, impact: (weight / (weight + K1) * IMPACT_SCALE).round() as u16, fields }
}

/// The value of a stored impact, 0 to 1.
pub(super) fn impact(kept: u16) -> f32 {
    f32::from(kept) / IMPACT_SCALE
}

fn columns_text(columns: &[(&str, [&str; 2])]) -> String {
    let mut text = String::new();
    for (name, notes) in columns.iter().take(COLUMNS_MAX) {
        text.push_str(&spell_out(name));
        text.push_str(" . ");
        for note in notes.iter().filter(|note| !note.is_empty()) {
            text.push_str(beginning(note, COLUMN_NOTE_BYTES_MAX));
            text.push_str(" . ");
        }
    }
    text
}

/// The longest prefix of whole characters within a number of bytes.
pub fn beginning(text: &str, bytes_max: usize) -> &str {
    let mut end = bytes_max.min(text.len());
    while !text.is_char_boundary(end) {
        end = end.saturating_sub(1);
    }
    text.get(..end).unwrap_or(text)
}
