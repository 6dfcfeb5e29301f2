//! A cross-encoder from a Hugging Face folder: scores a question and a passage together.
//!
//! Does not depend on datasets.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;

use super::encoder::{Encoder, Linear};
use super::fields::Fields;
use super::folder::{CONFIG_FILE, ModelFolder};
use super::sentence::{ENCODER_FILES, tokenizer_length};
use super::settings::{Architecture, EncoderSettings};
use super::tokenizer::TextTokenizer;
use super::weights::{Weights, weight_files};
use crate::models::error::{InferenceError, ModelError};
use crate::models::pool::InferencePool;
use crate::models::{ModelDescription, ModelKind, Reranker, trial_deadline};

/// Tokens of a passage that are read: its beginning says what it is about, and time grows with length.
pub const PASSAGE_TOKENS_MAX: usize = 64;

pub struct CrossEncoder {
    description: ModelDescription,
    encoder: Encoder,
    tokens: TextTokenizer,
    /// The head: a dense layer on the first token, and one number from it.
    dense: Linear,
    output: Linear,
    pool: Arc<InferencePool>,
}

impl CrossEncoder {
    /// Loads a folder; the model is tried once before it is returned.
    pub fn load(path: &Path, pool: Arc<InferencePool>) -> Result<Self, ModelError> {
        let folder = ModelFolder::open(path)?;
        let config = folder.json(CONFIG_FILE)?;
        let settings = EncoderSettings::read(&config)?;
        one_label(&config)?;
        let length = settings.sequence_limit(tokenizer_length(&folder)?);
        let tokens = TextTokenizer::read(&folder, &settings, length, false)?;
        let hidden = settings.hidden;
        let mut files: Vec<String> = ENCODER_FILES.iter().map(ToString::to_string).collect();
        files.extend(weight_files(&folder)?);
        let description = ModelDescription {
            kind: ModelKind::CrossEncoder,
            name: folder.name().to_owned(),
            architecture: settings.architecture.name(),
            fingerprint: folder.fingerprint(&files)?,
            dimensions: 1,
            layers: settings.layers,
            vocabulary: settings.vocabulary,
            parameters: settings.parameter_count(),
            tokens_max: length,
            multilingual: settings.is_multilingual(),
            pooling: None,
            normalised: false,
            query_prompt: String::new(),
            passage_prompt: String::new(),
        };
        let (dense, output) = match settings.architecture {
            Architecture::Bert => ("bert.pooler.dense", "classifier"),
            Architecture::XlmRoberta => ("classifier.dense", "classifier.out_proj"),
        };
        let weights = Weights::open(&folder)?;
        let (dense, output) =
            (Linear::read(&weights, dense, hidden, hidden)?, Linear::read(&weights, output, hidden, 1)?);
        let weights = weights.with_prefix(settings.architecture.prefix());
        let model =
            Self { description, encoder: Encoder::read(settings, &weights)?, tokens, dense, output, pool };
        let trial = model.logit("air quality", "Measurements of the air in cities", trial_deadline());
        trial.map_err(|error| ModelError::Trial { path: path.to_owned(), reason: error.to_string() })?;
        Ok(model)
    }

    /// On an inference thread.
    fn compute(&self, query: &str, passage: &str) -> Result<f32, InferenceError> {
        let tokens = self.tokens.pair(query, passage, PASSAGE_TOKENS_MAX)?;
        let logit = || -> candle_core::Result<f32> {
            let first = self.encoder.forward(&tokens)?.narrow(0, 0, 1)?;
            let logit = self.output.forward(&self.dense.forward(&first)?.tanh()?)?;
            logit.flatten_all()?.get(0)?.to_scalar()
        };
        let logit = logit().map_err(|error| InferenceError::Computation(error.to_string()))?;
        if logit.is_finite() { Ok(logit) } else { Err(InferenceError::Computation("no finite score".into())) }
    }
}

impl Reranker for CrossEncoder {
    fn description(&self) -> &ModelDescription {
        &self.description
    }

    fn score(
        &self,
        query: &str,
        passages: &[&str],
        deadline: Instant,
    ) -> Result<Vec<Option<f32>>, InferenceError> {
        self.pool.run(deadline, || {
            let mut scores = vec![None; passages.len()];
            for (score, passage) in scores.iter_mut().zip(passages) {
                if Instant::now() >= deadline {
                    break;
                }
                *score = Some(sigmoid(self.compute(query, passage)?));
            }
            Ok(scores)
        })?
    }

    fn logit(&self, query: &str, passage: &str, deadline: Instant) -> Result<f32, InferenceError> {
        self.pool.run(deadline, || self.compute(query, passage))?
    }
}

fn sigmoid(logit: f32) -> f32 {
    1.0 / (1.0 + (-logit).exp())
}

/// A score is one number; classifiers have more.
fn one_label(config: &Fields) -> Result<(), ModelError> {
    let named = config.get("id2label").and_then(Value::as_object).map(serde_json::Map::len);
    let counted = config.optional_count("num_labels", 1..=usize::MAX)?;
    match named.or(counted) {
        Some(1) => Ok(()),
        Some(several) => Err(config.error("id2label", "one label: a score", &several.to_string())),
        None => Err(config.error("id2label", "one label: a score", "none; this is no cross-encoder")),
    }
}
