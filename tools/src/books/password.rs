//! Reads a new password from the terminal, which shows nothing of it, or from standard input, and gives its hash.
//!
//! Does not depend on accounts.

use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::path::Path;

use mercato_people::{NewPassword, SALT_BYTES, compute_password_hash};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::failure::Failure;

/// More than a password of the greatest length has.
const LINE_BYTES_MAX: u64 = 4_096;

/// The hash of the password that the operator types.
pub(super) fn read_hash() -> Result<String, Failure> {
    let password = if io::stdin().is_terminal() { ask()? } else { read_line()? };
    let accepted =
        NewPassword::parse(&password, None).map_err(|refusal| Failure::Usage(refusal.to_string()))?;
    let mut salt = [0; SALT_BYTES];
    getrandom::fill(&mut salt).map_err(|error| Failure::Usage(format!("no random bytes: {error}")))?;
    let hash = compute_password_hash(accepted, salt);
    hash.map(|hash| hash.phc().to_owned()).map_err(|error| Failure::Usage(error.to_string()))
}

/// Twice, because nothing is shown.
fn ask() -> Result<String, Failure> {
    let _hidden = Hidden::begin().map_err(stdin("hide what is typed"))?;
    let first = prompt("New password: ")?;
    if first == prompt("Again: ")? {
        return Ok(first);
    }
    Err(Failure::Usage("the two passwords differ; nothing was changed".to_owned()))
}

fn prompt(text: &str) -> Result<String, Failure> {
    let mut out = io::stderr();
    write!(out, "{text}").and_then(|()| out.flush()).map_err(stdin("prompt"))?;
    let line = read_line();
    // The line break of the terminal is hidden, too.
    writeln!(out).map_err(stdin("prompt"))?;
    line
}

/// The first line, without its end.
fn read_line() -> Result<String, Failure> {
    let mut line = String::new();
    io::stdin().lock().take(LINE_BYTES_MAX).read_line(&mut line).map_err(stdin("read the password"))?;
    let line = line.strip_suffix('\n').unwrap_or(&line);
    Ok(line.strip_suffix('\r').unwrap_or(line).to_owned())
}

fn stdin(action: &'static str) -> impl FnOnce(io::Error) -> Failure {
    Failure::io(Path::new("standard input"), action)
}

/// A terminal without echo, until this is dropped.
struct Hidden(Termios);

impl Hidden {
    fn begin() -> io::Result<Hidden> {
        let shown = tcgetattr(io::stdin())?;
        let mut hidden = shown.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Flush, &hidden)?;
        Ok(Hidden(shown))
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        // A terminal that is gone shows nothing either.
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.0);
    }
}
