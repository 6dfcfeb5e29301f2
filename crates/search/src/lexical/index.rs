//! The inverted index: documents by terms. Immutable; a catalog change builds a new one from the reused documents.
//!
//! Does not depend on datasets.

use std::collections::HashMap;
use std::sync::Arc;

use super::Term;
use super::document::{Document, Field};
use super::fuzzy::Neighbours;
use super::question_terms::{QuestionReader, QuestionTerms};
use super::scores::{Posting, Scores, frequency};
use super::vocabulary::{Known, Vocabulary};
use crate::language::Side;
use crate::question::Question;
use mercato_catalog::Language;

/// All documents of one moment, by number.
pub struct LexicalIndex {
    vocabulary: Arc<Vocabulary>,
    documents: Vec<Arc<Document>>,
    /// Offset of the postings of each term, with one more at the end.
    offsets: Vec<u32>,
    postings: Vec<Posting>,
    by_key: HashMap<String, Vec<u32>>,
    by_slug: HashMap<Box<str>, u32>,
    neighbours: Neighbours,
}

/// A question that was read against an index.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    terms: QuestionTerms,
    sorted: Vec<Term>,
}

impl Reading {
    /// The language in which it was read.
    pub fn side(&self) -> Side {
        self.terms.side
    }

    /// Whether a word is one of those that find something.
    pub fn wants(&self, known: &Known) -> bool {
        let side = self.terms.side;
        let mut terms = known.stems().chain(known.concepts(side));
        terms.any(|term| self.sorted.binary_search(&term).is_ok())
    }
}

impl LexicalIndex {
    /// An index over documents whose terms come from `vocabulary`.
    pub fn new(vocabulary: Arc<Vocabulary>, documents: Vec<Arc<Document>>) -> Self {
        let (offsets, postings) = invert(&documents, vocabulary.term_count());
        let mut by_key: HashMap<String, Vec<u32>> = HashMap::new();
        for (number, document) in (0..).zip(&documents) {
            for key in &document.keys {
                by_key.entry(key.clone()).or_default().push(number);
            }
        }
        let by_slug =
            (0..).zip(&documents).map(|(number, document)| (document.slug.clone(), number)).collect();
        let neighbours = Neighbours::default();
        let mut index = Self { vocabulary, documents, offsets, postings, by_key, by_slug, neighbours };
        let can_be_meant = |known: &&Known| {
            known.english_concept.is_some()
                || known.italian_concept.is_some()
                || known.stems().any(|term| index.occurs(term))
        };
        let words = index.vocabulary.words().filter(can_be_meant).map(|known| Arc::clone(&known.word));
        index.neighbours = Neighbours::new(words);
        index
    }

    pub fn documents(&self) -> &[Arc<Document>] {
        &self.documents
    }

    /// The number of the document with that slug.
    pub fn number_of(&self, slug: &str) -> Option<u32> {
        self.by_slug.get(slug).copied()
    }

    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.vocabulary
    }

    /// Reads a question; without a language, in the one that its words show.
    pub fn read(&self, question: &Question, language: Option<Language>) -> Reading {
        let reader = QuestionReader {
            vocabulary: &self.vocabulary,
            neighbours: &self.neighbours,
            documents: self.documents.len(),
            occurs: &|term| self.occurs(term),
            frequency: &|term| frequency(self.postings_of(term)),
        };
        let terms = reader.read(question, language);
        let sorted = terms.terms();
        Reading { terms, sorted }
    }

    /// How well each document answers.
    pub fn scores(&self, reading: &Reading) -> Scores {
        Scores::new(self.documents.len(), &reading.terms.topics, |term| self.postings_of(term))
    }

    /// Documents whose slug or title is the question, those named by their slug first.
    pub fn named(&self, question: &Question) -> Vec<u32> {
        let mut named = self.by_key.get(question.key()).cloned().unwrap_or_default();
        let by_title = |number: &u32| {
            let document = usize::try_from(*number).ok().and_then(|number| self.documents.get(number));
            document.is_none_or(|document| document.slug.as_ref() != question.text().to_lowercase())
        };
        named.sort_by_key(by_title);
        named
    }

    /// Fields of a document that match the question.
    pub fn fields(&self, reading: &Reading, document: u32) -> Vec<Field> {
        let document = usize::try_from(document).ok().and_then(|number| self.documents.get(number));
        let fields = document.map_or(0, |document| document.fields_of(&reading.sorted));
        Field::ALL.into_iter().filter(|field| fields & field.bit() != 0).collect()
    }

    fn occurs(&self, term: Term) -> bool {
        !self.postings_of(term).is_empty()
    }

    fn postings_of(&self, term: Term) -> &[Posting] {
        let place = |at: usize| self.offsets.get(at).and_then(|offset| usize::try_from(*offset).ok());
        let at = usize::try_from(term).unwrap_or(usize::MAX);
        let range = place(at).zip(place(at.saturating_add(1)));
        range.and_then(|(start, end)| self.postings.get(start..end)).unwrap_or_default()
    }
}

/// Postings by term, in the order of documents: counted first, then placed.
fn invert(documents: &[Arc<Document>], term_count: usize) -> (Vec<u32>, Vec<Posting>) {
    let mut offsets = vec![0_u32; term_count.saturating_add(1)];
    let place = |term: Term| usize::try_from(term).unwrap_or(usize::MAX);
    for own in documents.iter().flat_map(|document| &document.terms) {
        if let Some(count) = offsets.get_mut(place(own.term).saturating_add(1)) {
            *count = count.saturating_add(1);
        }
    }
    let mut sum = 0_u32;
    for offset in &mut offsets {
        sum = sum.saturating_add(*offset);
        *offset = sum;
    }
    let mut next = offsets.clone();
    let mut postings = vec![
        Posting { document: 0, impact: 0, aside: false, tag: false };
        usize::try_from(sum).unwrap_or_default()
    ];
    for (document, terms) in (0..).zip(documents.iter().map(|document| &document.terms)) {
        for own in terms {
            let Some(at) = next.get_mut(place(own.term)) else { continue };
            if let Some(posting) = postings.get_mut(place(*at)) {
                let aside = own.fields == Field::Methodology.bit();
                let tag = own.fields & !Field::Methodology.bit() == Field::Tags.bit();
                *posting = Posting { document, impact: own.impact, aside, tag };
            }
            *at = at.saturating_add(1);
        }
    }
    (offsets, postings)
}

impl std::fmt::Debug for LexicalIndex {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("LexicalIndex");
        shown.field("documents", &self.documents.len()).field("postings", &self.postings.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexical::{DocumentAnalyzer, DocumentText};
    use crate::lexicon::Lexicon;

    fn text<'d>(slug: &'d str, title: &'d str, description: &'d str) -> DocumentText<'d> {
        DocumentText {
            slug,
            titles: vec![(None, title)],
            descriptions: vec![(None, description)],
            ..DocumentText::default()
        }
    }

    fn index() -> LexicalIndex {
        let mut vocabulary = Vocabulary::new(Lexicon::builtin());
        let mut analyzer = DocumentAnalyzer::new(&mut vocabulary);
        let texts = [
            text("hospitals-lazio", "Hospitals in Lazio", "Beds and wards of public hospitals."),
            text("air-hourly", "Hourly air quality", "Nitrogen dioxide and particulate matter by station."),
            text("case-popolari", "Case popolari", "Alloggi di edilizia residenziale pubblica per comune."),
            text("bus-stops", "Bus stops", "Stops of the city lines with coordinates."),
        ];
        let documents = texts.iter().map(|text| Arc::new(analyzer.read(text))).collect();
        LexicalIndex::new(Arc::new(vocabulary), documents)
    }

    #[track_caller]
    fn check(question: &str, best: &str) {
        let index = index();
        let question = Question::parse(question).unwrap();
        let top = index.scores(&index.read(&question, None)).top(1);
        let found = top.first().map(|(number, _)| index.documents[*number as usize].slug.as_ref());
        assert_eq!(found.unwrap_or("nothing"), best, "{}", question.text());
    }

    #[test]
    fn finds_datasets_by_words_concepts_and_typos() {
        check("hospital wards", "hospitals-lazio");
        check("ospedali", "hospitals-lazio");
        check("hosptial", "hospitals-lazio");
        check("smog", "air-hourly");
        check("polveri sottili", "air-hourly");
        check("NO2", "air-hourly");
        check("social housing", "case-popolari");
        check("fermate autobus", "bus-stops");
        check("busstops", "bus-stops");
        check("where does public transport halt", "bus-stops");
        check("xyzzy", "nothing");
        check("!?", "nothing");
    }

    #[test]
    fn reports_matching_fields() {
        let index = index();
        let reading = index.read(&Question::parse("hospital beds").unwrap(), None);
        let fields: Vec<&str> = index.fields(&reading, 0).into_iter().map(Field::name).collect();
        assert_eq!(fields, ["title", "description", "slug"]);
        assert!(index.fields(&reading, 3).is_empty());
    }

    #[test]
    fn finds_dataset_by_slug_or_title() {
        let index = index();
        let named = |text: &str| index.named(&Question::parse(text).unwrap());
        assert_eq!(named("Air-Hourly"), [1]);
        assert_eq!(named("hourly AIR quality"), [1]);
        assert!(named("air quality").is_empty());
    }

    #[test]
    fn category_tag_alone_finds_nothing() {
        let found = |with_shares: bool, asked: &str| {
            let mut vocabulary = Vocabulary::new(Lexicon::builtin());
            let mut analyzer = DocumentAnalyzer::new(&mut vocabulary);
            let banks = text("bank-branches", "Bank branches", "Branches with their addresses.");
            let banks = DocumentText { tags: vec!["finance"], ..banks };
            let shares = text("daily-quotes", "Daily quotes", "Closing prices of the stock market.");
            let other = text("bus-stops", "Bus stops", "Stops of the city lines with coordinates.");
            let texts = [banks, other].into_iter().chain(with_shares.then_some(shares));
            let documents = texts.map(|text| Arc::new(analyzer.read(&text))).collect();
            let index = LexicalIndex::new(Arc::new(vocabulary), documents);
            let scores = index.scores(&index.read(&Question::parse(asked).unwrap(), None));
            let top = scores.top(3).into_iter();
            top.map(|(number, _)| index.documents[number as usize].slug.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(found(false, "stock market"), [""; 0], "banks are not what was asked for");
        assert_eq!(found(false, "finance"), ["bank-branches"]);
        assert_eq!(found(true, "stock market"), ["daily-quotes", "bank-branches"]);
    }
}
