//! Interrupts a conversion on SIGINT and SIGTERM. The conversion checks a flag at every read and every batch. When a
//! sort, a decoder or a sync delays it beyond a grace period, the process exits from here. Both leave no output and no
//! temporary file. Does not depend on formats.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::convert::isolation::channel;
use crate::failure::Failure;

/// The grace period of a conversion.
const GRACE: Duration = Duration::from_millis(500);

/// The interruption flag of a conversion, shared with signal handlers.
#[derive(Clone, Debug, Default)]
pub struct Interruption {
    requested: Arc<AtomicBool>,
    unfinished: Arc<Mutex<Cleanup>>,
}

/// The files that an immediate exit has to remove.
#[derive(Debug, Default)]
enum Cleanup {
    #[default]
    Nothing,
    /// A temporary file that is not renamed yet.
    File { unnamed: PathBuf, output: PathBuf },
    /// A supervisor passes signals on to its worker.
    Supervised,
    /// The conversion has ended, so signals have no effect.
    Ended,
}

impl Interruption {
    pub fn request(&self) {
        self.requested.store(true, Ordering::Relaxed);
    }

    #[must_use]
    pub fn is_requested(&self) -> bool {
        self.requested.load(Ordering::Relaxed)
    }

    /// Registers the temporary file of `output`.
    pub fn begin(&self, unnamed: &Path, output: &Path) {
        channel::unfinished(unnamed);
        self.set(Cleanup::File { unnamed: unnamed.to_path_buf(), output: output.to_path_buf() });
    }

    /// Leaves signals to a supervisor, which looks at the request.
    pub fn supervise(&self) {
        self.set(Cleanup::Supervised);
    }

    pub fn end(&self) {
        self.set(Cleanup::Ended);
    }

    fn set(&self, now: Cleanup) {
        *self.unfinished.lock().unwrap_or_else(PoisonError::into_inner) = now;
    }

    /// Requests an interruption on SIGINT or SIGTERM, and exits the process after the grace period.
    pub fn on_signals(&self) -> io::Result<()> {
        let mut signals = Signals::new([SIGINT, SIGTERM])?;
        let interruption = self.clone();
        thread::spawn(move || {
            if signals.forever().next().is_none() {
                return;
            }
            interruption.request();
            thread::sleep(GRACE);
            interruption.end_process();
        });
        Ok(())
    }

    /// Removes the temporary file and exits, although the conversion still runs.
    pub fn abandon(&self, exit_code: i32) {
        let unfinished = self.unfinished.lock().unwrap_or_else(PoisonError::into_inner);
        if let Cleanup::File { unnamed, .. } = &*unfinished {
            let _ = std::fs::remove_file(unnamed);
        }
        std::process::exit(exit_code);
    }

    fn end_process(&self) {
        // The lock is held until the exit, so that the conversion cannot register another file.
        let unfinished = self.unfinished.lock().unwrap_or_else(PoisonError::into_inner);
        let file = match &*unfinished {
            Cleanup::Nothing => String::from("conversion"),
            Cleanup::File { unnamed, output } => {
                // The file may have been renamed or removed in the meantime.
                let _ = std::fs::remove_file(unnamed);
                output.display().to_string()
            }
            Cleanup::Supervised | Cleanup::Ended => return,
        };
        let failure = Failure::Cancelled { file };
        eprintln!("mercato-tools: {}", failure.one_line());
        std::process::exit(failure.exit_code().into());
    }
}
