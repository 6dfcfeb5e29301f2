//! The background thread of the models: loads them, then keeps the vectors of the datasets up to date.
//!
//! Starting it reads only a few small files; requests are served meanwhile. Does not depend on ranking.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TryRecvError, bounded};

use super::vector_builder::VectorBuilder;
use super::{ModelState, Neural, NeuralSettings, PassageTexts};
use crate::models::{
    AHEAD_NICENESS, Embedder, InferencePool, ModelError, ModelKind, WAITED_FOR_NICENESS, kind, load_embedder,
    load_reranker,
};
use mercato_catalog::Catalog;

/// How often the catalog is looked at for datasets without a vector.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);
/// Inference threads of each kind at most.
const INFERENCE_THREADS_MAX: usize = 8;
/// Cores for each inference thread that somebody waits for.
const CORES_PER_INFERENCE_THREAD: usize = 2;

/// Why the models cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum NeuralError {
    /// A folder has another kind of model than its flag.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A folder holds the other kind of model.
    #[error("{folder}: --{flag} expects {expected}, found {found}")]
    WrongKind { folder: String, flag: &'static str, expected: &'static str, found: &'static str },
    /// Threads cannot be had.
    #[error("threads: {0}")]
    Threads(#[from] io::Error),
}

/// The thread; it ends when this is dropped.
#[derive(Default)]
pub struct NeuralWorker {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Neural {
    /// Looks at the folders, then loads the models and makes vectors in the background. Without a folder nothing is
    /// started. Fails only where a folder is plainly not what its flag says; what fails later is in the log.
    pub fn start(
        settings: &NeuralSettings,
        catalog: Arc<Catalog>,
        texts: Arc<dyn PassageTexts>,
    ) -> Result<(Arc<Self>, NeuralWorker), NeuralError> {
        let neural = Arc::new(Self::default());
        if let Some(folder) = &settings.embedding_model {
            check_kind(folder, "embedding-model", ModelKind::Embedding)?;
            neural.set_embedder(ModelState::Loading, None);
        }
        if let Some(folder) = &settings.cross_encoder {
            check_kind(folder, "cross-encoder", ModelKind::CrossEncoder)?;
            neural.set_reranker(ModelState::Loading, None);
        }
        if settings.embedding_model.is_none() && settings.cross_encoder.is_none() {
            return Ok((neural, NeuralWorker::default()));
        }
        let threads = (settings.cores / CORES_PER_INFERENCE_THREAD).clamp(1, INFERENCE_THREADS_MAX);
        let pool = |name| InferencePool::new(name, threads, WAITED_FOR_NICENESS).map(Arc::new);
        let work = Work {
            neural: Arc::clone(&neural),
            settings: settings.clone(),
            catalog,
            texts,
            questions: pool("search-embed")?,
            passages: Arc::new(InferencePool::new("search-vectors", 1, AHEAD_NICENESS)?),
            pairs: pool("search-rerank")?,
        };
        let (stop, stopped) = bounded::<()>(0);
        let thread = thread::Builder::new().name("search-models".to_owned()).spawn(move || {
            // A system that refuses only leaves the thread as important as the others.
            let _refused = rustix::process::nice(AHEAD_NICENESS);
            work.run(&stopped);
        })?;
        Ok((neural, NeuralWorker { stop: Some(stop), thread: Some(thread) }))
    }
}

impl Drop for NeuralWorker {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has nothing left to end.
            drop(thread.join());
        }
    }
}

struct Work {
    neural: Arc<Neural>,
    settings: NeuralSettings,
    catalog: Arc<Catalog>,
    texts: Arc<dyn PassageTexts>,
    questions: Arc<InferencePool>,
    passages: Arc<InferencePool>,
    pairs: Arc<InferencePool>,
}

impl Work {
    fn run(self, stopped: &Receiver<()>) {
        let embedder = self.load_embedder();
        self.load_reranker();
        let Some(embedder) = embedder else { return };
        let vector_builder = VectorBuilder::open(
            &self.settings.vectors,
            embedder,
            Arc::clone(&self.texts),
            Arc::clone(&self.neural),
        );
        let mut vector_builder = match vector_builder {
            Ok(vector_builder) => vector_builder,
            Err(error) => {
                let folder = self.settings.vectors.display().to_string();
                tracing::error!(%error, folder, "vectors cannot be kept on disk: search ranks by words");
                return;
            }
        };
        let mut pause = Duration::ZERO;
        while matches!(stopped.recv_timeout(pause), Err(RecvTimeoutError::Timeout)) {
            let stopped = || !matches!(stopped.try_recv(), Err(TryRecvError::Empty));
            let more = vector_builder.follow(&self.catalog.snapshot(), &stopped);
            pause = if more { Duration::ZERO } else { LOOK_INTERVAL };
        }
    }

    /// Questions and texts of datasets have threads of their own, so that neither waits for the other.
    fn load_embedder(&self) -> Option<Arc<dyn Embedder>> {
        let folder = self.settings.embedding_model.as_deref()?;
        let began = Instant::now();
        match load_embedder(folder, Arc::clone(&self.questions), Arc::clone(&self.passages)) {
            Ok(model) => {
                log_loaded("embedding model", folder, model.name(), began);
                self.neural.set_embedder(ModelState::Ready, Some(Arc::clone(&model)));
                Some(model)
            }
            Err(error) => {
                tracing::error!(%error, "the embedding model cannot be loaded: search ranks by words");
                self.neural.set_embedder(ModelState::Failed, None);
                None
            }
        }
    }

    fn load_reranker(&self) {
        let Some(folder) = self.settings.cross_encoder.as_deref() else { return };
        let began = Instant::now();
        match load_reranker(folder, Arc::clone(&self.pairs)) {
            Ok(model) => {
                log_loaded("cross-encoder", folder, model.name(), began);
                self.neural.set_reranker(ModelState::Ready, Some(model));
            }
            Err(error) => {
                tracing::error!(%error, "the cross-encoder cannot be loaded: search does without");
                self.neural.set_reranker(ModelState::Failed, None);
            }
        }
    }
}

fn log_loaded(what: &'static str, folder: &Path, name: &str, began: Instant) {
    let milliseconds = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    tracing::info!(what, folder = %folder.display(), name, milliseconds, "model loaded");
}

fn check_kind(folder: &Path, flag: &'static str, expected: ModelKind) -> Result<(), NeuralError> {
    let found = kind(folder)?;
    let name = |kind| match kind {
        ModelKind::Embedding => "a sentence encoder",
        ModelKind::CrossEncoder => "a cross-encoder",
    };
    if found == expected {
        return Ok(());
    }
    let folder = folder.display().to_string();
    Err(NeuralError::WrongKind { folder, flag, expected: name(expected), found: name(found) })
}
