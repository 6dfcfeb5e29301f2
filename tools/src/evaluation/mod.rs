//! Evaluates rankings: questions, their relevant datasets and the metrics of the results.
//!
//! Does not depend on the catalog or on files.

mod metrics;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use mercato_catalog::{Language, LocalizedText};
use mercato_search::Passages;
use mercato_search::RERANKED_MAX;
use mercato_search::lexical::{DocumentAnalyzer, DocumentText, LexicalIndex, Vocabulary};
use mercato_search::lexicon::Lexicon;
use mercato_search::models::{Embedder, Reranker};
use mercato_search::question::{Question, QuestionError};
use mercato_search::ranking::{Meaning, rank, reorder};
use mercato_search::vectors::{VectorIndex, normalise};
use metrics::{judge, mean};

pub use metrics::Metrics;

/// Results in which the first right one is looked for.
const RESULTS: usize = 50;
/// Long enough for any model on any machine: a measurement does not give up.
const PATIENCE: Duration = Duration::from_secs(600);

/// Datasets, and questions to them.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvaluationSet {
    pub datasets: Vec<EvaluationDataset>,
    pub queries: Vec<EvaluationQuery>,
}

/// A dataset as far as search looks at it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvaluationDataset {
    pub slug: String,
    #[serde(default)]
    pub title: LocalizedText,
    #[serde(default)]
    pub description: LocalizedText,
    #[serde(default)]
    pub tags: Vec<String>,
    #[serde(default)]
    pub columns: Vec<String>,
    #[serde(default)]
    pub methodology: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvaluationQuery {
    pub q: String,
    /// `en` or `it`, if known.
    #[serde(default)]
    pub lang: Option<String>,
    /// The kind of question, such as `typo`.
    pub kind: String,
    /// Slugs of the relevant datasets; empty when the catalog has none.
    pub relevant: Vec<String>,
}

/// Why a set cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EvaluationError {
    /// A question that the API would refuse.
    #[error("query `{q}`: {error}")]
    Question { q: String, error: QuestionError },
    /// A dataset that is named but not there.
    #[error("query `{q}`: no dataset is named `{slug}`")]
    UnknownDataset { q: String, slug: String },
    #[error("query `{q}`: `lang` is `{lang}`, expected `en` or `it`")]
    UnknownLanguage { q: String, lang: String },
    #[error("{model}: {reason}")]
    Model { model: String, reason: String },
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    pub all: Metrics,
    pub kinds: BTreeMap<String, Metrics>,
    /// Questions without a right result among the first ten, and those that nothing answers and that found something.
    pub missed: Vec<String>,
}

#[derive(Default, Clone, Copy)]
pub struct Models<'m> {
    pub embedder: Option<&'m dyn Embedder>,
    /// Looks at the best ones again.
    pub reranker: Option<&'m dyn Reranker>,
}

/// Asks every question of a set and judges the answers.
pub fn evaluate(
    set: &EvaluationSet,
    lexicon: &Arc<Lexicon>,
    models: Models<'_>,
) -> Result<Report, EvaluationError> {
    let run = EvaluationRun::new(set, lexicon, models)?;
    let mut all = Vec::with_capacity(set.queries.len());
    for query in &set.queries {
        let (order, found) = run.ask(query)?;
        all.push((query, judge(&order, found, &query.relevant)));
    }
    let of_kind =
        |kind: &str| mean(all.iter().filter(|(query, _)| query.kind == kind).map(|(_, judged)| *judged));
    let missed = all.iter().filter(|(_, judged)| judged.ndcg == 0.0).map(|(query, _)| query.q.clone());
    Ok(Report {
        all: mean(all.iter().map(|(_, judged)| *judged)),
        kinds: all.iter().map(|(query, _)| (query.kind.clone(), of_kind(&query.kind))).collect(),
        missed: missed.collect(),
    })
}

struct EvaluationRun<'s> {
    set: &'s EvaluationSet,
    models: Models<'s>,
    passages: Passages,
    index: LexicalIndex,
    vectors: VectorIndex,
}

impl<'s> EvaluationRun<'s> {
    fn new(
        set: &'s EvaluationSet,
        lexicon: &Arc<Lexicon>,
        models: Models<'s>,
    ) -> Result<Self, EvaluationError> {
        let mut vocabulary = Vocabulary::new(Arc::clone(lexicon));
        let mut analyzer = DocumentAnalyzer::new(&mut vocabulary);
        let documents = set.datasets.iter().map(|dataset| Arc::new(analyzer.read(&text(dataset)))).collect();
        let index = LexicalIndex::new(Arc::new(vocabulary), documents);
        let passages = Passages::new(Arc::clone(lexicon));
        let mut run = Self { set, models, passages, index, vectors: VectorIndex::default() };
        if let Some(embedder) = models.embedder {
            let mut vectors = Vec::with_capacity(set.datasets.len());
            for dataset in &set.datasets {
                let passages = run.passages.of(&text(dataset), embedder.is_multilingual());
                vectors.push((dataset.slug.clone(), sum(&passages, embedder, true)?));
            }
            run.vectors = VectorIndex::new(embedder.dimensions(), vectors);
        }
        Ok(run)
    }

    /// Slugs in the order of the answer, and how many datasets were found in all.
    fn ask(&self, query: &EvaluationQuery) -> Result<(Vec<&'s str>, usize), EvaluationError> {
        let unknown = query.relevant.iter().find(|slug| self.index.number_of(slug).is_none());
        if let Some(slug) = unknown {
            return Err(EvaluationError::UnknownDataset { q: query.q.clone(), slug: slug.clone() });
        }
        let error = |error| EvaluationError::Question { q: query.q.clone(), error };
        let question = Question::parse(&query.q).map_err(error)?;
        let language = language(query)?;
        let reading = self.index.read(&question, language);
        let gloss =
            if language == Some(Language::English) { None } else { self.passages.gloss(question.text()) };
        let vector = match self.models.embedder {
            Some(embedder) => {
                let gloss = gloss.clone().filter(|gloss| !gloss.is_empty() && !embedder.is_multilingual());
                let wordings: Vec<String> =
                    std::iter::once(question.text().to_owned()).chain(gloss).collect();
                Some(sum(&wordings, embedder, false)?)
            }
            None => None,
        };
        let meaning = vector.as_deref().map(|question| Meaning { vectors: &self.vectors, question });
        let mut ranked = rank(&self.index, &question, &reading, meaning, None, RESULTS);
        let dataset = |document: u32| self.set.datasets.get(usize::try_from(document).ok()?);
        if let Some(reranker) = self.models.reranker {
            let multilingual = reranker.is_multilingual();
            let side = language.or(reading.side().language());
            let unnamed = ranked
                .candidates
                .iter()
                .filter(|candidate| !candidate.named && !candidate.aside)
                .take(RERANKED_MAX);
            let passages: Vec<String> = unnamed
                .filter_map(|candidate| dataset(candidate.document))
                .map(|dataset| self.passages.short(&text(dataset), side, multilingual))
                .collect();
            let passages: Vec<&str> = passages.iter().map(String::as_str).collect();
            let wording = gloss.as_deref().filter(|_| !multilingual).unwrap_or(question.text());
            let scores = reranker.score(wording, &passages, Instant::now() + PATIENCE);
            reorder(&mut ranked, &scores.map_err(|error| failed(reranker.name(), &error))?);
        }
        let slugs = ranked.candidates.iter().filter_map(|candidate| dataset(candidate.document));
        Ok((slugs.map(|dataset| dataset.slug.as_str()).collect(), ranked.total))
    }
}

fn language(query: &EvaluationQuery) -> Result<Option<Language>, EvaluationError> {
    match query.lang.as_deref() {
        None => Ok(None),
        Some("en") => Ok(Some(Language::English)),
        Some("it") => Ok(Some(Language::Italian)),
        Some(lang) => Err(EvaluationError::UnknownLanguage { q: query.q.clone(), lang: lang.to_owned() }),
    }
}

fn sum(texts: &[String], embedder: &dyn Embedder, passages: bool) -> Result<Vec<f32>, EvaluationError> {
    let mut sum = vec![0.0_f32; embedder.dimensions()];
    for text in texts {
        let until = Instant::now() + PATIENCE;
        let vector =
            if passages { embedder.embed_passage(text, until) } else { embedder.embed_query(text, until) };
        let vector = vector.map_err(|error| failed(embedder.name(), &error))?;
        sum.iter_mut().zip(vector).for_each(|(sum, number)| *sum += number);
    }
    normalise(&mut sum);
    Ok(sum)
}

fn failed(model: &str, error: &dyn std::fmt::Display) -> EvaluationError {
    EvaluationError::Model { model: model.to_owned(), reason: error.to_string() }
}

fn text(dataset: &EvaluationDataset) -> DocumentText<'_> {
    fn localized(text: &LocalizedText) -> Vec<(Option<Language>, &str)> {
        let english = text.en.as_deref().map(|text| (Some(Language::English), text));
        english.into_iter().chain(text.it.as_deref().map(|text| (Some(Language::Italian), text))).collect()
    }
    DocumentText {
        slug: &dataset.slug,
        titles: localized(&dataset.title),
        descriptions: localized(&dataset.description),
        tags: dataset.tags.iter().map(String::as_str).collect(),
        columns: dataset.columns.iter().map(|name| (name.as_str(), ["", ""])).collect(),
        methodology: &dataset.methodology,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mercato_search::lexicon::{SOURCES, parse};
    use xxhash_rust::xxh3::xxh3_64_with_seed;

    fn set() -> EvaluationSet {
        serde_json::from_str(include_str!("../../../tests/search/catalog.json")).unwrap()
    }

    fn lexical(lexicon: &Arc<Lexicon>) -> Report {
        evaluate(&set(), lexicon, Models::default()).unwrap()
    }

    #[test]
    fn evaluation_set_is_wide() {
        let set = set();
        assert!(set.datasets.len() >= 60 && set.queries.len() >= 60);
        let kinds: std::collections::BTreeSet<&str> =
            set.queries.iter().map(|query| query.kind.as_str()).collect();
        for kind in ["paraphrase", "synonym", "italian", "it-en", "en-it", "typo", "acronym", "exact"] {
            assert!(kinds.contains(kind), "{kind}");
        }
        let count = |kind: &str| set.queries.iter().filter(|query| query.kind == kind).count();
        assert!(count("two-words") >= 40 && count("nothing") >= 12);
    }

    #[test]
    fn lexical_ranking_keeps_its_quality() {
        let report = lexical(&Lexicon::builtin());
        let Metrics { ndcg, mrr, recall, .. } = report.all;
        assert!(ndcg >= 0.91 && mrr >= 0.89 && recall >= 0.95, "{report:#?}");
        assert!(report.kinds["two-words"].ndcg >= 0.94 && report.kinds["nothing"].ndcg >= 0.5, "{report:#?}");
        for kind in ["typo", "exact", "acronym"] {
            assert!(report.kinds[kind].ndcg >= 0.95, "{report:#?}");
        }
    }

    #[test]
    fn lexicon_improves_ranking() {
        let without = |percent: u64| {
            let mut keep = |term: &str| xxh3_64_with_seed(term.as_bytes(), 7) % 100 >= percent;
            Arc::new(parse(SOURCES, &mut keep).0)
        };
        let (full, half, none) = (lexical(&without(0)), lexical(&without(50)), lexical(&without(100)));
        assert!(full.all.ndcg > half.all.ndcg && half.all.ndcg > none.all.ndcg);
        assert!(half.all.ndcg >= 0.65 && none.all.ndcg >= 0.40, "half {:?}, none {:?}", half.all, none.all);
    }

    #[test]
    fn metrics_match_definitions() {
        let relevant = ["a".to_owned(), "b".to_owned()];
        let perfect = judge(&["a", "b", "x"], 3, &relevant);
        assert_eq!((perfect.ndcg, perfect.mrr, perfect.recall), (1.0, 1.0, 1.0));
        let late = judge(&["x", "a"], 2, &relevant);
        let expected = (1.0 / 3.0_f64.log2()) / (1.0 + 1.0 / 3.0_f64.log2());
        assert!((late.ndcg - expected).abs() < 1e-12);
        assert_eq!((late.mrr, late.recall), (0.5, 0.5));
        assert_eq!(judge(&["x"], 1, &relevant), Metrics { queries: 1, found: 1.0, ..Metrics::default() });
    }

    #[test]
    fn empty_result_is_right_without_relevant_datasets() {
        let (right, wrong) = (judge(&[], 0, &[]), judge(&["x", "y"], 2, &[]));
        assert_eq!((right.ndcg, right.mrr, right.recall), (1.0, 1.0, 1.0));
        assert_eq!((wrong.ndcg, wrong.mrr, wrong.recall, wrong.found), (0.0, 0.0, 0.0, 2.0));
    }

    #[test]
    fn rejects_inconsistent_evaluation_sets() {
        let mut wrong = set();
        wrong.queries[0].relevant = vec!["nothing".to_owned()];
        let error = evaluate(&wrong, &Lexicon::builtin(), Models::default()).unwrap_err();
        assert!(error.to_string().ends_with("no dataset is named `nothing`"), "{error}");
    }
}
