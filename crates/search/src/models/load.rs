//! Loads a model from a folder, or reports that the program was built without models.
//!
//! Reads only the files that distinguish the kinds of models.

use std::path::Path;
use std::sync::Arc;

use super::{Embedder, InferencePool, ModelError, ModelKind, Reranker};

/// Loads a sentence encoder; it computes vectors of questions on one pool and those of passages on another (or the same).
#[cfg(feature = "models")]
pub fn load_embedder(
    folder: &Path,
    questions: Arc<InferencePool>,
    passages: Arc<InferencePool>,
) -> Result<Arc<dyn Embedder>, ModelError> {
    Ok(Arc::new(super::transformer::embedding::SentenceModel::load(folder, questions, passages)?))
}

/// Loads a cross-encoder; it computes on `pool`.
#[cfg(feature = "models")]
pub fn load_reranker(folder: &Path, pool: Arc<InferencePool>) -> Result<Arc<dyn Reranker>, ModelError> {
    Ok(Arc::new(super::transformer::cross_encoder::CrossEncoder::load(folder, pool)?))
}

/// Which kind of model a folder holds. Reads settings only, so it is quick and loads nothing.
#[cfg(feature = "models")]
pub fn kind(folder: &Path) -> Result<ModelKind, ModelError> {
    use super::transformer::folder::{CONFIG_FILE, MODULES_FILE, ModelFolder};
    use super::transformer::sentence::SentenceSettings;
    use super::transformer::settings::EncoderSettings;
    use super::transformer::weights::weight_files;

    let folder = ModelFolder::open(folder)?;
    if folder.has(MODULES_FILE) {
        let sentence = SentenceSettings::read(&folder)?;
        EncoderSettings::read(&sentence.encoder.json(CONFIG_FILE)?)?;
        weight_files(&sentence.encoder)?;
        return Ok(ModelKind::Embedding);
    }
    let config = folder.json(CONFIG_FILE)?;
    EncoderSettings::read(&config)?;
    weight_files(&folder)?;
    let architecture =
        config.get("architectures").and_then(|list| list.get(0)).and_then(|name| name.as_str());
    if architecture.is_some_and(|name| name.ends_with("ForSequenceClassification")) {
        return Ok(ModelKind::CrossEncoder);
    }
    let expected =
        "modules.json (a sentence encoder), or a sequence classification in config.json (a cross-encoder)";
    Err(folder.error("", "contents", expected, architecture.unwrap_or("neither")))
}

/// Refuses: this program was built without the feature `models`.
#[cfg(not(feature = "models"))]
pub fn load_embedder(
    folder: &Path,
    _questions: Arc<InferencePool>,
    _passages: Arc<InferencePool>,
) -> Result<Arc<dyn Embedder>, ModelError> {
    Err(not_built(folder))
}

/// Refuses: this program was built without the feature `models`.
#[cfg(not(feature = "models"))]
pub fn load_reranker(folder: &Path, _pool: Arc<InferencePool>) -> Result<Arc<dyn Reranker>, ModelError> {
    Err(not_built(folder))
}

/// Refuses: this program was built without the feature `models`.
#[cfg(not(feature = "models"))]
pub fn kind(folder: &Path) -> Result<ModelKind, ModelError> {
    Err(not_built(folder))
}

#[cfg(not(feature = "models"))]
fn not_built(folder: &Path) -> ModelError {
    ModelError::NotBuilt { path: folder.to_owned() }
}
