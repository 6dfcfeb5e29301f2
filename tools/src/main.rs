//! `mercato-tools`: Parquet in, datasets out, and the books. Reads the command line, runs one command, and turns
//! its outcome into an exit code: 0 done, 1 failed, 2 wrong usage. Knows no format.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use mercato_tools::books::{self, BooksCommand};
#[cfg(target_os = "linux")]
use mercato_tools::commands::loadgen;
use mercato_tools::commands::{convert, datasets, demo, export, inspect, models, publish, search, verify};
use mercato_tools::failure::Failure;

/// Puts datasets into mercato: converts Parquet, publishes versions, manages accounts, keys and credits.
#[derive(Debug, Parser)]
#[command(name = "mercato-tools", version, propagate_version = true, after_help = EXAMPLES)]
struct Arguments {
    /// Print one JSON document on standard output instead of text for people.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

/// Buffers of this size are given back to the system when they are freed: what glibc begins with.
const GIVEN_BACK_BYTES_MIN: usize = 128 * 1024;

const EXAMPLES: &str = "\
Examples:
  mercato-tools demo
  mercato-tools convert sales.parquet --output sales.mcol
  mercato-tools inspect sales.mcol
  mercato-tools publish ./sales --parquet sales.parquet --version 1.0.0 --data /srv/mercato
  mercato-tools export sales.mcol --format csv --output sales.csv

Exit codes: 0 done, 1 failed (the reason is on standard error, in one line), 2 wrong usage.";

#[derive(Debug, Subcommand)]
enum Command {
    Demo(demo::DemoArguments),
    Convert(convert::ConvertArguments),
    Inspect(inspect::InspectArguments),
    Verify(verify::VerifyArguments),
    Export(export::ExportArguments),
    Publish(publish::PublishArguments),
    Unpublish(publish::UnpublishArguments),
    Rollback(publish::RollbackArguments),
    Feature(publish::FeatureArguments),
    Datasets(datasets::DatasetsArguments),
    Search(search::SearchArguments),
    Models(models::ModelsArguments),
    #[cfg(target_os = "linux")]
    Loadgen(loadgen::LoadgenArguments),
    #[command(flatten)]
    Books(BooksCommand),
}

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

fn run(arguments: &Arguments) -> Result<(), Failure> {
    let json = arguments.json;
    match &arguments.command {
        Command::Demo(command) => demo::run(command, json),
        Command::Convert(command) => convert::run(command, json),
        Command::Inspect(command) => inspect::run(command, json),
        Command::Verify(command) => verify::run(command, json),
        Command::Export(command) => export::run(command),
        Command::Publish(command) => publish::run(command, json),
        Command::Unpublish(command) => publish::run_unpublish(command, json),
        Command::Rollback(command) => publish::run_rollback(command, json),
        Command::Feature(command) => publish::run_feature(command, json),
        Command::Datasets(command) => datasets::run(command, json),
        Command::Search(command) => search::run(command, json),
        Command::Models(command) => models::run(command, json),
        #[cfg(target_os = "linux")]
        Command::Loadgen(command) => loadgen::run(command, json),
        Command::Books(command) => books::run(command, json),
    }
}
