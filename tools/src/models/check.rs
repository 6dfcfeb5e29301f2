//! Loads a model folder and runs a test inference.
//!
//! Does not depend on the command line.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mercato_search::models::{
    Embedder, InferenceError, InferencePool, ModelDescription, ModelKind, Reranker, kind, load_embedder,
    load_reranker,
};
use serde::Serialize;

use crate::failure::Failure;

/// Number of timed runs, of which the median is reported.
const RUN_COUNT: usize = 21;
/// Timeout of one inference.
const WAIT: Duration = Duration::from_secs(60);

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckReport {
    /// `embedding` or `cross-encoder`.
    pub kind: &'static str,
    pub name: String,
    /// `bert` or `xlm-roberta`.
    pub architecture: &'static str,
    /// Numbers in a vector; 1 for a score.
    pub dimensions: usize,
    /// Most tokens of a text.
    pub max_tokens: usize,
    pub layers: usize,
    pub vocabulary: usize,
    pub parameters: usize,
    pub multilingual: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pooling: Option<&'static str>,
    /// Whether vectors are normalised to length 1.
    pub normalised: bool,
    pub query_prompt: String,
    pub passage_prompt: String,
    /// SHA-256 over settings, vocabulary and weights.
    pub fingerprint: String,
    pub load_milliseconds: f64,
    /// Median time of the sentence on one thread.
    pub milliseconds_per_sentence: f64,
    pub sentence: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vector: Option<Vec<f32>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passage: Option<String>,
    /// The score of the pair, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f32>,
    /// Vectors of all sentences of a file, without prompts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vectors: Option<Vec<Vec<f32>>>,
}

/// Loads the folder and runs the model on a sentence (a cross-encoder also on a passage) and on all `sentences`.
pub fn run(
    folder: &Path,
    sentence: &str,
    passage: &str,
    sentences: &[String],
) -> Result<CheckReport, Failure> {
    let pool =
        Arc::new(InferencePool::new("inference", 1, 0).map_err(Failure::io(folder, "start a thread for"))?);
    let began = Instant::now();
    match kind(folder)? {
        ModelKind::Embedding => {
            let model = load_embedder(folder, Arc::clone(&pool), pool)?;
            let mut trial = described(model.description(), began.elapsed(), sentence);
            try_embedder(model.as_ref(), &mut trial, sentences).map_err(inference(folder))?;
            Ok(trial)
        }
        ModelKind::CrossEncoder if !sentences.is_empty() => Err(Failure::Usage(
            "--sentences is for sentence encoders; this folder holds a cross-encoder".into(),
        )),
        ModelKind::CrossEncoder => {
            let model = load_reranker(folder, pool)?;
            let mut trial = described(model.description(), began.elapsed(), sentence);
            try_reranker(model.as_ref(), &mut trial, passage).map_err(inference(folder))?;
            Ok(trial)
        }
    }
}

fn try_embedder(
    model: &dyn Embedder,
    trial: &mut CheckReport,
    sentences: &[String],
) -> Result<(), InferenceError> {
    let (vector, milliseconds) = timed(|| model.encode(&trial.sentence, Instant::now() + WAIT))?;
    (trial.vector, trial.milliseconds_per_sentence) = (Some(vector), milliseconds);
    if !sentences.is_empty() {
        let vectors = sentences.iter().map(|sentence| model.encode(sentence, Instant::now() + WAIT));
        trial.vectors = Some(vectors.collect::<Result<_, _>>()?);
    }
    Ok(())
}

fn try_reranker(model: &dyn Reranker, trial: &mut CheckReport, passage: &str) -> Result<(), InferenceError> {
    let (scores, milliseconds) = timed(|| model.score(&trial.sentence, &[passage], Instant::now() + WAIT))?;
    trial.score = scores.first().copied().flatten();
    trial.passage = Some(passage.to_owned());
    trial.milliseconds_per_sentence = milliseconds;
    Ok(())
}

/// Returns the result and the median time of several runs, in milliseconds.
fn timed<T>(work: impl Fn() -> Result<T, InferenceError>) -> Result<(T, f64), InferenceError> {
    let mut answer = work()?;
    let mut times = Vec::with_capacity(RUN_COUNT);
    for _ in 0..RUN_COUNT {
        let began = Instant::now();
        answer = work()?;
        times.push(began.elapsed());
    }
    times.sort_unstable();
    let median = times.get(RUN_COUNT / 2).copied().unwrap_or_default();
    Ok((answer, median.as_secs_f64() * 1e3))
}

fn described(model: &ModelDescription, load: Duration, sentence: &str) -> CheckReport {
    CheckReport {
        kind: match model.kind {
            ModelKind::Embedding => "embedding",
            ModelKind::CrossEncoder => "cross-encoder",
        },
        name: model.name.clone(),
        architecture: model.architecture,
        dimensions: model.dimensions,
        max_tokens: model.tokens_max,
        layers: model.layers,
        vocabulary: model.vocabulary,
        parameters: model.parameters,
        multilingual: model.multilingual,
        pooling: model.pooling,
        normalised: model.normalised,
        query_prompt: model.query_prompt.clone(),
        passage_prompt: model.passage_prompt.clone(),
        fingerprint: model.fingerprint.to_string(),
        load_milliseconds: load.as_secs_f64() * 1e3,
        milliseconds_per_sentence: 0.0,
        sentence: sentence.to_owned(),
        vector: None,
        passage: None,
        score: None,
        vectors: None,
    }
}

fn inference(folder: &Path) -> impl Fn(InferenceError) -> Failure {
    let folder = folder.display().to_string();
    move |source| Failure::Inference { folder: folder.clone(), source }
}
