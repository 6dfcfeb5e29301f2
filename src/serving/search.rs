//! Search as the settings ask for it.
//!
//! Holds the folders. Search reads their contents.

use std::sync::Arc;

use super::{StartError, part};
use crate::config::Settings;
use mercato_catalog::{Catalog, DataDirectory};
use mercato_search::neural::{Neural, NeuralSettings, NeuralWorker};
use mercato_search::{Passages, Search};

/// Starts search. Models load in the background; only a folder that is plainly not what its flag says holds up the start.
pub(super) fn start(
    settings: &Settings,
    directory: &DataDirectory,
    catalog: &Arc<Catalog>,
) -> Result<(Arc<Search>, NeuralWorker), StartError> {
    let settings = NeuralSettings {
        embedding_model: settings.embedding_model.clone(),
        cross_encoder: settings.cross_encoder.clone(),
        vectors: directory.search(),
        cores: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
    };
    let passages = Arc::new(Passages::builtin());
    let (neural, worker) = Neural::start(&settings, Arc::clone(catalog), passages.clone())
        .map_err(|error| part("search", &error))?;
    let search =
        Search::start(Arc::clone(catalog), neural, passages).map_err(|error| part("search", &error))?;
    Ok((Arc::new(search), worker))
}
