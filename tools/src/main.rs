//! `mercato-tools`: Parquet in, datasets out, and the books. Reads the command line, runs one command, and turns
//! its outcome into an exit code: 0 done, 1 failed, 2 wrong usage. Knows no format.

use std::process::ExitCode;

use clap::Parser;
use mercato_tools::command_line::{Arguments, run};
use mercato_tools::failure::Failure;

/// Buffers of this size are given back to the system when they are freed: what glibc begins with.
const GIVEN_BACK_BYTES_MIN: usize = 128 * 1024;

fn main() -> ExitCode {
    mercato::memory::give_back_at_once(GIVEN_BACK_BYTES_MIN, mercato::memory::Pages::Huge);
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads standard output has seen enough, as `head` does.
        Err(Failure::Io { source, .. }) if source.kind() == std::io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("mercato-tools: {}", failure.one_line());
            ExitCode::from(failure.exit_code())
        }
    }
}
