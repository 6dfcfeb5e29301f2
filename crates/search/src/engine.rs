//! The search engine: answers questions over the current catalog with the available models.
//!
//! Ranks by words, then by vectors of an embedding model, then by a cross-encoder over the best results. A missing or
//! busy model is skipped, and the result says so. Does not depend on routes or response formats.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::indexer::{CatalogIndex, Indexer};
use super::lexical::{DocumentText, Field, Reading};
use super::neural::Neural;
use super::passages::{Passages, choose};
use super::question::Question;
use super::ranking::{Candidate, Choice, Meaning, Ranked, rank, reorder};
use super::snippet::{self, Snippet};
use mercato_catalog::{Catalog, Dataset, Entry, Language, Snapshot};

/// Best datasets that a cross-encoder re-ranks.
pub const RERANKED_MAX: usize = 20;
/// How long a question waits for its vector.
const VECTOR_WAIT: Duration = Duration::from_millis(100);
/// How long a cross-encoder may take for one question.
const RERANK_WAIT: Duration = Duration::from_millis(400);

/// Extra candidates to replace datasets unpublished since the index was built.
const SPARE_CANDIDATES: usize = 16;
/// The value of `matchedOn` for a dataset found by its vector.
const MEANING: &str = "meaning";
const VECTOR_MISSING: &str =
    "the embedding model was busy or not ready; this answer was ranked by words alone";
const RERANK_MISSING: &str =
    "the cross-encoder was busy or not ready; this answer keeps the order of the first ranking";

/// The ranking method of a result page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RankedBy {
    /// A cross-encoder, over the best of one of the others.
    CrossEncoder,
    /// Vectors together with words.
    Embedding,
    /// Words.
    Lexical,
}

impl RankedBy {
    /// As answers name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CrossEncoder => "cross-encoder",
            Self::Embedding => "embedding",
            Self::Lexical => "lexical",
        }
    }
}

/// One result.
#[derive(Clone)]
pub struct Hit {
    /// The dataset as it is served now.
    pub dataset: Arc<Dataset>,
    /// How well it answers: 0 to 1, never rising down the list.
    pub score: f32,
    /// The fields in which the question was found, and `meaning`.
    pub matched_on: Vec<&'static str>,
    /// A piece of its description or title.
    pub snippet: String,
}

/// Which part of the results is wanted, and of which datasets.
#[derive(Clone, Default)]
pub struct Page<'p> {
    /// Results that are passed over.
    pub offset: usize,
    /// Results at most.
    pub limit: usize,
    /// Tags that a dataset must have, all of them.
    pub tags: Vec<&'p str>,
    /// A further condition on a dataset.
    pub only: Option<&'p dyn Fn(&Dataset) -> bool>,
}

impl Page<'_> {
    fn takes_all(&self) -> bool {
        self.tags.is_empty() && self.only.is_none()
    }

    fn takes(&self, dataset: &Dataset) -> bool {
        let own = &dataset.manifest.tags;
        self.tags.iter().all(|tag| own.iter().any(|own| own == tag))
            && self.only.is_none_or(|is_wanted| is_wanted(dataset))
    }
}

#[derive(Clone)]
pub struct Found {
    pub ranked_by: RankedBy,
    /// The language that was asked for, or the one the question was read in.
    pub language: Option<Language>,
    /// How many datasets were found in all, and are more than a chance match.
    pub total: usize,
    /// Those of the page, best first.
    pub hits: Vec<Hit>,
    /// Warnings on skipped models.
    pub warnings: Vec<&'static str>,
}

/// The first index is still being made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the index of the catalog is still being made")]
pub struct NotReady;

/// Search over a catalog.
pub struct Search {
    catalog: Arc<Catalog>,
    indexer: Indexer,
    neural: Arc<Neural>,
    passages: Arc<Passages>,
}

/// The state of one search.
struct SearchRequest<'a> {
    question: &'a Question,
    language: Option<Language>,
    index: &'a CatalogIndex,
    reading: Reading,
    warnings: Vec<&'static str>,
}

impl Search {
    /// Starts to index `catalog`; `neural` may hold models or get them later.
    pub fn start(
        catalog: Arc<Catalog>,
        neural: Arc<Neural>,
        passages: Arc<Passages>,
    ) -> std::io::Result<Self> {
        let indexer = Indexer::start(Arc::clone(&catalog))?;
        Ok(Self { catalog, indexer, neural, passages })
    }

    /// Search by words alone.
    pub fn by_words(catalog: Arc<Catalog>) -> std::io::Result<Self> {
        Self::start(catalog, Arc::default(), Arc::new(Passages::builtin()))
    }

    /// Its models and the vectors that they made.
    pub fn neural(&self) -> &Neural {
        &self.neural
    }

    /// Says that the catalog may have changed.
    pub fn notify(&self) {
        self.indexer.notify();
    }

    /// A page of the datasets that answer a question, best first. `language` is the one to read it in; without it, its
    /// words show one. `now` is when its deadlines begin.
    pub fn find(
        &self,
        question: &Question,
        language: Option<Language>,
        page: &Page<'_>,
        now: Instant,
    ) -> Result<Found, NotReady> {
        let index = self.indexer.index().ok_or(NotReady)?;
        let reading = index.lexical.read(question, language);
        let mut request = SearchRequest { question, language, index: &index, reading, warnings: Vec::new() };
        let vector = self.vector(&mut request, now);
        let vectors = self.neural.vectors();
        let meaning = vector.as_deref().map(|question| Meaning { vectors: &vectors, question });
        let mut ranked_by = if meaning.is_some() { RankedBy::Embedding } else { RankedBy::Lexical };
        let count = page.offset.saturating_add(page.limit).max(RERANKED_MAX).saturating_add(SPARE_CANDIDATES);
        let is_wanted = |document: u32| request.dataset(document).is_some_and(|dataset| page.takes(dataset));
        let choice: Choice<'_> = if page.takes_all() { None } else { Some(&is_wanted) };
        let mut ranked = rank(&index.lexical, question, &request.reading, meaning, choice, count);
        if self.rerank(&mut request, &mut ranked) {
            ranked_by = RankedBy::CrossEncoder;
        }
        let total = ranked.total;
        let snapshot = self.catalog.snapshot();
        let hits = ranked.candidates.iter().filter_map(|candidate| request.hit(candidate, &snapshot));
        let hits: Vec<Hit> = hits.skip(page.offset).take(page.limit).collect();
        Ok(Found { ranked_by, language: request.answered_in(), total, hits, warnings: request.warnings })
    }

    /// The vector of the question: of its words, and for a model that reads English only of its gloss, too.
    fn vector(&self, request: &mut SearchRequest<'_>, now: Instant) -> Option<Arc<[f32]>> {
        let embedder = self.neural.embedder()?;
        let text = request.question.text();
        let gloss = if embedder.is_multilingual() { None } else { self.gloss(request) };
        let wordings: Vec<&str> = std::iter::once(text).chain(gloss.as_deref()).collect();
        let vector = self.neural.query_vector(&wordings, now + VECTOR_WAIT);
        if vector.is_none() {
            request.warnings.push(VECTOR_MISSING);
        }
        vector
    }

    fn gloss(&self, request: &SearchRequest<'_>) -> Option<String> {
        match request.language {
            Some(Language::English) => None,
            _ => self.passages.gloss(request.question.text()).filter(|gloss| !gloss.is_empty()),
        }
    }

    /// Lets the cross-encoder order the best candidates. Says whether it did.
    fn rerank(&self, request: &mut SearchRequest<'_>, ranked: &mut Ranked) -> bool {
        let Some(reranker) = self.neural.reranker() else { return false };
        let multilingual = reranker.is_multilingual();
        let question = if multilingual { None } else { self.gloss(request) };
        let question = question.as_deref().unwrap_or(request.question.text());
        let side = request.answered_in();
        let unnamed = ranked.candidates.iter().filter(|candidate| !candidate.named && !candidate.aside);
        let passages: Vec<String> = unnamed
            .take(RERANKED_MAX)
            .filter_map(|candidate| request.dataset(candidate.document))
            .map(|dataset| self.passages.short(&DocumentText::from(dataset.as_ref()), side, multilingual))
            .collect();
        if passages.is_empty() {
            return false;
        }
        let passages: Vec<&str> = passages.iter().map(String::as_str).collect();
        match self.neural.rerank(question, &passages, Instant::now() + RERANK_WAIT) {
            Some(scores) if scores.iter().any(Option::is_some) => {
                reorder(ranked, &scores);
                true
            }
            _ => {
                request.warnings.push(RERANK_MISSING);
                false
            }
        }
    }
}

impl SearchRequest<'_> {
    fn dataset(&self, document: u32) -> Option<&Arc<Dataset>> {
        self.index.datasets.get(usize::try_from(document).ok()?)
    }

    /// The language that was asked for, or the one in which the question was read.
    fn answered_in(&self) -> Option<Language> {
        self.language.or(self.reading.side().language())
    }

    /// The result of a candidate, as the dataset is now; nothing when it is no longer served.
    fn hit(&self, candidate: &Candidate, snapshot: &Snapshot) -> Option<Hit> {
        let Some(Entry::Serving(dataset)) = snapshot.get(self.dataset(candidate.document)?.slug()) else {
            return None;
        };
        let fields = self.index.lexical.fields(&self.reading, candidate.document);
        let mut matched_on: Vec<&'static str> = fields.into_iter().map(Field::name).collect();
        if candidate.near || matched_on.is_empty() {
            matched_on.push(MEANING);
        }
        let snippet = self.snippet(&DocumentText::from(dataset.as_ref()));
        Some(Hit { dataset: Arc::clone(dataset), score: candidate.score, matched_on, snippet })
    }

    /// A snippet of the description in the language of the results; if unknown, of the best description.
    fn snippet(&self, text: &DocumentText<'_>) -> String {
        let vocabulary = self.index.lexical.vocabulary();
        let cut = |text: &str| snippet::cut(text, &self.reading, vocabulary);
        let language = self.answered_in();
        let descriptions: Vec<&str> = match language {
            Some(language) => choose(&text.descriptions, language).into_iter().collect(),
            None => text.descriptions.iter().map(|(_, text)| *text).collect(),
        };
        let snippets: Vec<Snippet> = descriptions.into_iter().map(cut).collect();
        let most = snippets.iter().map(|snippet| snippet.found).max();
        if let Some(best) = snippets.into_iter().find(|snippet| Some(snippet.found) == most) {
            return best.text;
        }
        let methodology = snippet::in_language(text.methodology, language, vocabulary);
        let title = choose(&text.titles, language.unwrap_or(Language::English)).unwrap_or(text.slug);
        cut(if methodology.trim().is_empty() { title } else { &methodology }).text
    }
}
