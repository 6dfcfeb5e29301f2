//! The program `mercato-tools`: parses the command line, runs one command, and maps its result to an exit code: 0 done,
//! 1 failed, 2 usage error,
//! 3 servers that do not serve a publication yet. Does not depend on formats.

use std::process::ExitCode;

use clap::Parser;
use mercato_tools::command_line::{Arguments, run};
use mercato_tools::failure::Failure;

/// Freed buffers from this size on are returned to the system; the default of glibc.
const GIVEN_BACK_BYTES_MIN: usize = 128 * 1024;

fn main() -> ExitCode {
    mercato::memory::give_back_at_once(GIVEN_BACK_BYTES_MIN, mercato::memory::Pages::Huge);
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        // A closed standard output is no failure: `head` closes it, for example.
        Err(Failure::Io { source, .. }) if source.kind() == std::io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("mercato-tools: {}", failure.one_line());
            ExitCode::from(failure.exit_code())
        }
    }
}
