//! Opens the files of the books: the log, the checkpoint, and the state out of both.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::super::checkpoint::{Checkpoint, StoreError, io};
use super::super::directory::Directory;
use super::super::error::OpenError;
use super::super::log::{DiskFolder, Folder, Log, OpenOptions};
use super::super::state::{LiveStreams, Loading, State};
use crate::clock::Moment;

const LOG: &str = "log";
const CHECKPOINT: &str = "checkpoint";
/// Files of books that were kept in another form.
const FORMER_FILES: [&str; 2] = ["db", "journal"];

/// The log and the state that it brings about.
pub(super) struct Opened {
    pub(super) state: State,
    pub(super) log: Log,
}

/// How the files are opened.
pub(super) struct Opening<'o> {
    pub(super) path: &'o Path,
    pub(super) folder: Arc<dyn Folder>,
    pub(super) directory: Arc<Directory>,
    pub(super) options: OpenOptions,
    pub(super) live: &'o LiveStreams,
    pub(super) now: Moment,
}

/// The folder of the log.
pub(in super::super) fn log_folder(path: &Path) -> Result<Arc<dyn Folder>, StoreError> {
    if let Some(former) = FORMER_FILES.iter().find(|name| path.join(name).exists()) {
        let path = path.to_owned();
        return Err(StoreError::Former { path, found: (*former).to_owned() });
    }
    let folder = log_path(path);
    match DiskFolder::open(&folder) {
        Ok(opened) => Ok(Arc::new(opened)),
        Err(error) => Err(io(&folder, "creating the folder", &error)),
    }
}

/// Where the log is kept.
pub(in super::super) fn log_path(path: &Path) -> PathBuf {
    path.join(LOG)
}

/// Where the checkpoint is kept.
pub(in super::super) fn checkpoint_path(path: &Path) -> PathBuf {
    path.join(CHECKPOINT)
}

impl Opening<'_> {
    /// Opens the log, brings the checkpoint up to its end, and reads the state.
    pub(super) fn open(self) -> Result<Opened, OpenError> {
        let opened = Log::open(self.folder, &self.options)?;
        for cut in &opened.cut {
            let (path, bytes) = (cut.path.display(), cut.bytes);
            tracing::warn!(saved = %path, bytes, "the end of the log was never acknowledged and is cut");
        }
        let log = opened.log;
        let reader = log.reader()?;
        let checkpoint = open_checkpoint(self.path, reader.first_sequence() == 1)?;
        let loading = Loading {
            path: self.path,
            checkpoint,
            log: reader,
            next_sequence: log.next_sequence(),
            directory: self.directory,
            live: self.live,
            now: self.now,
        };
        Ok(Opened { state: loading.load()?, log })
    }
}

/// A checkpoint that cannot be read is moved aside when the log holds everything.
fn open_checkpoint(path: &Path, is_log_whole: bool) -> Result<Checkpoint, StoreError> {
    let folder = checkpoint_path(path);
    match Checkpoint::open(&folder) {
        Err(StoreError::Damaged { detail, .. }) if is_log_whole => {
            let aside = path.join(format!("{CHECKPOINT}.damaged-{}", std::process::id()));
            tracing::error!(detail, aside = %aside.display(), "the checkpoint of the books is damaged; they are read from their log");
            std::fs::rename(&folder, &aside).map_err(|error| io(&folder, "moving aside", &error))?;
            Checkpoint::open(&folder)
        }
        opened => opened,
    }
}
