//! The server program: reads what was typed, starts the log and the server, and waits for the signal to end.
//!
//! Does not depend on the work of the parts.

use std::fmt::Display;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use mercato::config::{ConfigError, Settings};
use mercato::limits::GIVEN_BACK_BYTES_MIN;
use mercato::{logging, memory, serving};
use mercato_base::clock::SystemClock;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

const EXIT_FAILED: u8 = 1;
const EXIT_USAGE: u8 = 2;

fn main() -> ExitCode {
    memory::give_back_at_once(GIVEN_BACK_BYTES_MIN, memory::Pages::Usual);
    let settings = match Settings::read(std::env::args_os()) {
        Ok(settings) => settings,
        Err(ConfigError::Usage(error)) => error.exit(),
        Err(error) => return end(EXIT_USAGE, &error),
    };
    serve(&settings).map_or_else(|reason| end(EXIT_FAILED, &reason), |()| ExitCode::SUCCESS)
}

fn end(code: u8, reason: &dyn Display) -> ExitCode {
    eprintln!("mercato: {reason}");
    ExitCode::from(code)
}

fn serve(settings: &Settings) -> Result<(), String> {
    let failed = |what: &'static str| move |error: &dyn Display| format!("{what}: {error}");
    // Asked for before any other thread starts, so that no signal is missed.
    let mut signals = Signals::new([SIGTERM, SIGINT]).map_err(|error| failed("signals")(&error))?;
    let _log = logging::start(std::io::stdout()).map_err(|error| failed("log")(&error))?;
    let running =
        serving::start(settings, Arc::new(SystemClock)).map_err(|error| failed("cannot start")(&error))?;
    let signal = signals.forever().next().unwrap_or_default();
    tracing::info!(signal, "stopping");
    // A second signal ends the program at once.
    drop(signal_hook::flag::register_conditional_shutdown(SIGTERM, 1, Arc::new(true.into())));
    drop(signal_hook::flag::register_conditional_shutdown(SIGINT, 1, Arc::new(true.into())));
    let complete = running.stop(Duration::from_secs(settings.drain_seconds));
    tracing::info!(complete, "stopped");
    Ok(())
}
