//! What SIGINT and SIGTERM do to a conversion: it looks at a flag at every read and every batch and ends by itself;
//! where a sort, a foreign decoder or a sync keeps it longer than a moment, the process is ended from here. Either way
//! no output and no unfinished file is left. Knows no format.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::failure::Failure;

/// How long a conversion may take to end by itself.
const GRACE: Duration = Duration::from_millis(500);

/// Shared between a conversion and whoever may end it.
#[derive(Clone, Debug, Default)]
pub struct Interruption {
    requested: Arc<AtomicBool>,
    unfinished: Arc<Mutex<Cleanup>>,
}

/// What a sudden end has to clear away.
#[derive(Debug, Default)]
enum Cleanup {
    /// Nothing is written yet.
    #[default]
    Nothing,
    /// A file that has not got its name.
    File { unnamed: PathBuf, output: PathBuf },
    /// The conversion has ended; what goes on is not for this file to end.
    Ended,
}

impl Interruption {
    /// Asks the conversion to end before it is done.
    pub fn request(&self) {
        self.requested.store(true, Ordering::Relaxed);
    }

    /// Whether the conversion is to end before it is done.
    #[must_use]
    pub fn is_requested(&self) -> bool {
        self.requested.load(Ordering::Relaxed)
    }

    /// Notes the file that is written before `output` has its name.
    pub fn begin(&self, unnamed: &Path, output: &Path) {
        self.set(Cleanup::File { unnamed: unnamed.to_path_buf(), output: output.to_path_buf() });
    }

    /// Notes that nothing unfinished is left.
    pub fn end(&self) {
        self.set(Cleanup::Ended);
    }

    fn set(&self, now: Cleanup) {
        *self.unfinished.lock().unwrap_or_else(PoisonError::into_inner) = now;
    }

    /// Requests an end on SIGINT or SIGTERM, and ends the process when the conversion does not.
    ///
    /// # Errors
    /// When the signals cannot be waited for.
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

    fn end_process(&self) {
        // Held to the end, so that the conversion cannot note anything new.
        let unfinished = self.unfinished.lock().unwrap_or_else(PoisonError::into_inner);
        let file = match &*unfinished {
            Cleanup::Nothing => String::from("conversion"),
            Cleanup::File { unnamed, output } => {
                // It may have got its name or been removed a moment ago.
                let _ = std::fs::remove_file(unnamed);
                output.display().to_string()
            }
            Cleanup::Ended => return,
        };
        let failure = Failure::Cancelled { file };
        eprintln!("mercato-tools: {}", failure.one_line());
        std::process::exit(failure.exit_code().into());
    }
}
