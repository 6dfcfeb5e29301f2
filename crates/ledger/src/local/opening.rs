//! Opens the files of the books: the log, the checkpoint, and the state out of both.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::checkpoint::{Checkpoint, StoreError, io};
use crate::directory::Directory;
use crate::error::OpenError;
use crate::log::{DiskFolder, Folder, Log, OpenOptions, open_log};
use crate::state::{LiveStreams, Loading, State};
use mercato_base::clock::Moment;

const LOG: &str = "log";
const CHECKPOINT: &str = "checkpoint";
/// Files of books that were kept in another form.
const FORMER_FILES: [&str; 2] = ["db", "journal"];

/// The log and the state that it brings about.
pub struct Opened {
    pub state: State,
    pub checkpoint: Arc<Checkpoint>,
    pub log: Log,
}

/// How the files are opened.
pub struct Opening<'o> {
    pub path: &'o Path,
    pub folder: Arc<dyn Folder>,
    pub directory: Arc<Directory>,
    pub options: OpenOptions,
    pub live: &'o LiveStreams,
    pub now: Moment,
}

/// The folder of the log.
pub fn log_folder(path: &Path) -> Result<Arc<dyn Folder>, StoreError> {
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

/// The folder of the log.
pub fn log_path(path: &Path) -> PathBuf {
    path.join(LOG)
}

/// The folder of the checkpoint.
pub fn checkpoint_path(path: &Path) -> PathBuf {
    path.join(CHECKPOINT)
}

impl Opening<'_> {
    /// Opens the log, brings the checkpoint up to its end, and reads the state. A checkpoint that cannot be read, or that
    /// contradicts the log, is made anew where the log holds everything.
    pub fn open(self) -> Result<Opened, OpenError> {
        self.refuse_missing_log()?;
        let opened = open_log(Arc::clone(&self.folder), &self.options)?;
        for cut in &opened.cut {
            let (path, bytes) = (cut.path.display(), cut.bytes);
            tracing::warn!(saved = %path, bytes, "the end of the log is torn, and cut");
        }
        let log = opened.log;
        let (state, checkpoint) = match self.load(&log) {
            Err(error) if is_of_checkpoint(&error) && log.reader()?.first_sequence() == 1 => {
                let aside = move_checkpoint_aside(self.path, &error)?;
                self.load(&log).inspect_err(|_| put_checkpoint_back(self.path, &aside))?
            }
            loaded => loaded?,
        };
        Ok(Opened { state, checkpoint, log })
    }

    fn load(&self, log: &Log) -> Result<(State, Arc<Checkpoint>), OpenError> {
        let loading = Loading {
            path: self.path,
            checkpoint: Checkpoint::open(&checkpoint_path(self.path))?,
            log: log.reader()?,
            next_sequence: log.next_sequence(),
            directory: Arc::clone(&self.directory),
            live: self.live,
            now: self.now,
        };
        // Some damage is met by an assertion inside sled.
        let loaded = catch_unwind(AssertUnwindSafe(|| loading.load()));
        loaded.unwrap_or_else(|_| {
            let (path, detail) =
                (checkpoint_path(self.path), "reading it stopped at an assertion".to_owned());
            Err(StoreError::Damaged { path, detail }.into())
        })
    }

    /// Opening a log that has no segment begins a new one, which would stand in the way of those that are missing.
    fn refuse_missing_log(&self) -> Result<(), OpenError> {
        let names =
            self.folder.list().map_err(|error| io(&log_path(self.path), "listing the folder", &error))?;
        if checkpoint_path(self.path).exists() && !names.iter().any(|name| name.ends_with(".log")) {
            let (directory, finding) = (self.path.to_owned(), "there is a checkpoint, but no log".to_owned());
            return Err(OpenError::Unbalanced { directory, finding });
        }
        Ok(())
    }
}

/// Whether another checkpoint could help.
const fn is_of_checkpoint(error: &OpenError) -> bool {
    matches!(
        error,
        OpenError::Store(StoreError::Damaged { .. })
            | OpenError::Record { .. }
            | OpenError::Unbalanced { .. }
    )
}

fn move_checkpoint_aside(path: &Path, error: &OpenError) -> Result<PathBuf, StoreError> {
    let folder = checkpoint_path(path);
    let mut names = (0..).map(|number: u32| path.join(format!("{CHECKPOINT}.damaged-{number}")));
    let aside = names.find(|aside| !aside.exists()).unwrap_or_default();
    tracing::error!(%error, aside = %aside.display(), "the checkpoint of the books is made again from the log");
    std::fs::rename(&folder, &aside).map_err(|error| io(&folder, "moving aside", &error))?;
    Ok(aside)
}

/// Another checkpoint did not help: the first one stays where it was, so that tries do not fill the disk.
fn put_checkpoint_back(path: &Path, aside: &Path) {
    let folder = checkpoint_path(path);
    let put_back = std::fs::remove_dir_all(&folder).and_then(|()| std::fs::rename(aside, &folder));
    if let Err(error) = put_back {
        tracing::error!(%error, "the checkpoint of the books stays aside");
    }
}
