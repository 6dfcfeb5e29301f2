//! Ranking by words.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BenchmarkId, Criterion};
use mercato_search::lexical::{Document, DocumentAnalyzer, DocumentText, LexicalIndex, Vocabulary};
use mercato_search::lexicon::Lexicon;
use mercato_search::question::Question;
use mercato_search::ranking::rank;
use mercato_tools::evaluation::EvaluationSet;

const SIZES: [usize; 3] = [1_000, 10_000, 100_000];
/// One question of each kind, and one of many frequent words.
const QUESTIONS: [(&str, &str); 6] = [
    ("words", "hospital beds by ward"),
    ("ideas", "where can I plug in my electric car"),
    ("italian", "incidenti stradali con feriti"),
    ("typing error", "earthqakes magnitude"),
    ("acronym", "NO2"),
    (
        "frequent words",
        "monthly data of the number of residents, prices, energy and traffic by city and region",
    ),
];
/// Results of an answer.
const COUNT: usize = 36;

/// Questions at every size, and making an index again from documents that were read before.
pub fn bench(criterion: &mut Criterion) {
    for size in SIZES {
        let (vocabulary, documents) = catalog(size);
        let index = LexicalIndex::new(Arc::clone(&vocabulary), documents.clone());
        let mut group = criterion.benchmark_group("search/lexical");
        for (kind, text) in QUESTIONS {
            let question = Question::parse(text).unwrap();
            group.bench_with_input(BenchmarkId::new(kind, size), &question, |bencher, question| {
                bencher.iter(|| {
                    let reading = index.read(black_box(question), None);
                    rank(&index, question, &reading, None, None, COUNT)
                });
            });
        }
        group.finish();
        criterion.bench_function(&format!("search/index again/{size}"), |bencher| {
            bencher.iter(|| LexicalIndex::new(Arc::clone(&vocabulary), documents.clone()));
        });
    }
}

fn catalog(size: usize) -> (Arc<Vocabulary>, Vec<Arc<Document>>) {
    let set: EvaluationSet =
        serde_json::from_str(include_str!("../../../tests/search/catalog.json")).unwrap();
    let mut vocabulary = Vocabulary::new(Lexicon::builtin());
    let mut analyzer = DocumentAnalyzer::new(&mut vocabulary);
    let documents = (0..size).map(|number| {
        let base = &set.datasets[number % set.datasets.len()];
        // A neighbour's description and a place of its own keep copies from being the same dataset.
        let other = &set.datasets[(number / set.datasets.len() + number) % set.datasets.len()];
        let slug = format!("{}-{number}", base.slug);
        let title = base.title.choose(None).unwrap_or_default();
        let place = format!("{title} place{}", number / 7);
        let description =
            [&base.description, &other.description].map(|text| text.choose(None).unwrap_or_default());
        let description = description.join(" ");
        Arc::new(analyzer.read(&DocumentText {
            slug: &slug,
            titles: vec![(None, &place)],
            descriptions: vec![(None, &description)],
            tags: base.tags.iter().map(String::as_str).collect(),
            columns: base.columns.iter().map(|name| (name.as_str(), ["", ""])).collect(),
            methodology: "",
        }))
    });
    let documents = documents.collect();
    (Arc::new(vocabulary), documents)
}
