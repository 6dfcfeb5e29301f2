//! Fuzzes search queries and dataset texts. A query is parsed or refused. The ranking lists each dataset once, with
//! descending scores from 0 to 1. A dataset whose title equals the query is first.

use std::collections::HashSet;
use std::sync::{Arc, LazyLock};

use mercato_catalog::Language;
use mercato_search::lexical::{DocumentAnalyzer, DocumentText, LexicalIndex, Vocabulary};
use mercato_search::lexicon::Lexicon;
use mercato_search::question::Question;
use mercato_search::ranking::rank;

/// Number of requested results.
const RESULTS: usize = 20;
/// Slug, English title, Italian title, description, methodology.
const DATASETS: [[&str; 5]; 6] = [
    [
        "air-quality",
        "Air quality",
        "Qualità dell'aria",
        "Hourly ozone and dust of every station",
        "Measured, then checked.",
    ],
    ["orders", "Orders", "Ordini", "Every order of a shop with its price and customer", ""],
    [
        "schools",
        "Schools of Italy",
        "Scuole d'Italia",
        "Addresses, pupils and teachers",
        "From the ministry's register.",
    ],
    ["rivers", "Rivers", "Fiumi", "Water levels and floods; i livelli dell'acqua", "Daily."],
    ["t1-x9", "T1 X9", "T1 X9", "l_orderkey l_partkey totalPriceEUR", "# Head\n\n| a | b |\n|---|---|\n"],
    ["水質", "水質", "", "àèìòù ß ﬁ İ ǅ \u{1F600}", "\u{202E}\u{0301}"],
];

/// Bits of the first byte that turn the text into a dataset.
const OWN_INDEX: u8 = 0xE0;

static INDEX: LazyLock<LexicalIndex> = LazyLock::new(|| index(""));

/// The first byte selects the language, and whether the text also becomes a dataset. That is rare, because building an
/// index takes a hundred times as long as a query.
pub fn run(data: &[u8]) {
    let Some((mode, rest)) = data.split_first() else { return };
    let text = String::from_utf8_lossy(rest);
    let language = match mode % 3 {
        0 => None,
        1 => Some(Language::English),
        _ => Some(Language::Italian),
    };
    let Ok(question) = Question::parse(&text) else { return };
    assert_eq!(
        Question::parse(question.text()).as_ref(),
        Ok(&question),
        "what is around a question does not count"
    );
    check(&INDEX, &question, language);
    if mode & OWN_INDEX == OWN_INDEX {
        check(&index(&text), &question, language);
    }
}

/// An index of the datasets above and, if `text` is not empty, one more.
fn index(text: &str) -> LexicalIndex {
    let mut vocabulary = Vocabulary::new(Lexicon::builtin());
    let mut analyzer = DocumentAnalyzer::new(&mut vocabulary);
    let mut documents: Vec<_> =
        DATASETS.iter().map(|texts| Arc::new(analyzer.read(&document(texts)))).collect();
    if !text.is_empty() {
        documents.push(Arc::new(analyzer.read(&document(&["text", text, text, text, text]))));
    }
    LexicalIndex::new(Arc::new(vocabulary), documents)
}

fn document<'d>([slug, english, italian, description, methodology]: &[&'d str; 5]) -> DocumentText<'d> {
    DocumentText {
        slug,
        titles: vec![(Some(Language::English), english), (Some(Language::Italian), italian)],
        descriptions: vec![(None, description)],
        tags: description.split(' ').take(3).collect(),
        columns: description.split(' ').map(|word| (word, [*english, *italian])).collect(),
        methodology,
    }
}

fn check(index: &LexicalIndex, question: &Question, language: Option<Language>) {
    let reading = index.read(question, language);
    let ranked = rank(index, question, &reading, None, None, RESULTS);
    assert!(ranked.candidates.len() <= RESULTS.min(index.documents().len()));
    assert!(ranked.total >= ranked.candidates.len() && ranked.total <= index.documents().len());
    let mut seen = HashSet::new();
    let mut before = 1.0_f32;
    for candidate in &ranked.candidates {
        assert!((0.0..=before).contains(&candidate.score), "{question:?}: {ranked:?}");
        assert!(seen.insert(candidate.document), "{question:?}: {ranked:?}");
        before = candidate.score;
        drop(index.fields(&reading, candidate.document));
    }
    let named = index.named(question);
    assert!(
        named.is_empty() || ranked.candidates.first().is_some_and(|first| named.contains(&first.document)),
        "{question:?}: {named:?} {ranked:?}"
    );
}
