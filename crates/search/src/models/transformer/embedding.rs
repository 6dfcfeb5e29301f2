//! A sentence encoder from a sentence-transformers folder.
//!
//! Does not depend on datasets.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use candle_core::Tensor;

use super::encoder::Encoder;
use super::folder::{CONFIG_FILE, ModelFolder};
use super::sentence::{Pooling, SentenceSettings};
use super::settings::EncoderSettings;
use super::tokenizer::TextTokenizer;
use super::weights::{Weights, weight_files};
use crate::models::error::{InferenceError, ModelError};
use crate::models::pool::InferencePool;
use crate::models::{Embedder, ModelDescription, ModelFingerprint, ModelKind, trial_deadline};
use crate::vectors::normalise;

/// A sentence that every loaded model must be able to read.
const TRIAL_SENTENCE: &str = "Air quality in cities. La qualità dell'aria nelle città.";

pub struct SentenceModel {
    description: ModelDescription,
    encoder: Encoder,
    tokens: TextTokenizer,
    pooling: Pooling,
    normalise: bool,
    query_prompt: String,
    passage_prompt: String,
    questions: Arc<InferencePool>,
    passages: Arc<InferencePool>,
}

impl SentenceModel {
    /// Loads a folder; the model is tried once before it is returned.
    pub fn load(
        path: &Path,
        questions: Arc<InferencePool>,
        passages: Arc<InferencePool>,
    ) -> Result<Self, ModelError> {
        let folder = ModelFolder::open(path)?;
        let sentence = SentenceSettings::read(&folder)?;
        let settings = EncoderSettings::read(&sentence.encoder.json(CONFIG_FILE)?)?;
        let length = settings.sequence_limit(sentence.length);
        let tokens = TextTokenizer::read(&sentence.encoder, &settings, length, sentence.lower_case)?;
        let weights = Weights::open(&sentence.encoder)?.with_prefix(settings.architecture.prefix());
        let description = ModelDescription {
            kind: ModelKind::Embedding,
            name: folder.name().to_owned(),
            architecture: settings.architecture.name(),
            fingerprint: fingerprint(&folder, &sentence)?,
            dimensions: settings.hidden,
            layers: settings.layers,
            vocabulary: settings.vocabulary,
            parameters: settings.parameter_count(),
            tokens_max: length,
            multilingual: settings.is_multilingual(),
            pooling: Some(sentence.pooling.name()),
            normalised: sentence.normalise,
            query_prompt: sentence.query_prompt.clone(),
            passage_prompt: sentence.passage_prompt.clone(),
        };
        let model = Self {
            description,
            encoder: Encoder::read(settings, &weights)?,
            tokens,
            pooling: sentence.pooling,
            normalise: sentence.normalise,
            query_prompt: sentence.query_prompt,
            passage_prompt: sentence.passage_prompt,
            questions,
            passages,
        };
        let trial = model.embed_query(TRIAL_SENTENCE, trial_deadline());
        trial.map_err(|error| ModelError::Trial { path: path.to_owned(), reason: error.to_string() })?;
        Ok(model)
    }

    fn run(
        &self,
        pool: &InferencePool,
        prompt: &str,
        text: &str,
        deadline: Instant,
    ) -> Result<Vec<f32>, InferenceError> {
        pool.run(deadline, || {
            let tokens = self.tokens.single(prompt, text)?;
            let failed = |error: candle_core::Error| InferenceError::Computation(error.to_string());
            let states = self.encoder.forward(&tokens).map_err(failed)?;
            let vector = self.pool_tokens(&states).map_err(failed)?;
            let finite = vector.iter().all(|number| number.is_finite());
            if finite {
                Ok(vector)
            } else {
                Err(InferenceError::Computation("the vector is not finite".into()))
            }
        })?
    }

    fn pool_tokens(&self, states: &Tensor) -> candle_core::Result<Vec<f32>> {
        let vector = match self.pooling {
            Pooling::Cls => states.get(0)?,
            Pooling::Mean => states.mean(0)?,
            Pooling::Max => states.max(0)?,
        };
        vector.to_vec1()
    }
}

impl Embedder for SentenceModel {
    fn description(&self) -> &ModelDescription {
        &self.description
    }

    fn embed_query(&self, text: &str, deadline: Instant) -> Result<Vec<f32>, InferenceError> {
        self.run(&self.questions, &self.query_prompt, text, deadline).map(unit)
    }

    fn embed_passage(&self, text: &str, deadline: Instant) -> Result<Vec<f32>, InferenceError> {
        self.run(&self.passages, &self.passage_prompt, text, deadline).map(unit)
    }

    fn encode(&self, text: &str, deadline: Instant) -> Result<Vec<f32>, InferenceError> {
        let vector = self.run(&self.questions, "", text, deadline)?;
        Ok(if self.normalise { unit(vector) } else { vector })
    }
}

fn unit(mut vector: Vec<f32>) -> Vec<f32> {
    normalise(&mut vector);
    vector
}

fn fingerprint(folder: &ModelFolder, sentence: &SentenceSettings) -> Result<ModelFingerprint, ModelError> {
    let mut files = sentence.files.clone();
    let inner = sentence.encoder.path().strip_prefix(folder.path()).unwrap_or(Path::new(""));
    for name in weight_files(&sentence.encoder)? {
        files.push(inner.join(name).to_string_lossy().into_owned());
    }
    folder.fingerprint(&files)
}
