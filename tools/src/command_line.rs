//! The command line of `mercato-tools`: arguments and dispatch to commands. Does not depend on exit codes.

use clap::{Parser, Subcommand};

use crate::books::{self, BooksCommand};
#[cfg(target_os = "linux")]
use crate::commands::loadgen;
use crate::commands::{
    convert, datasets, demo, diff, export, inspect, models, packaging, publish, search, verify,
};
use crate::convert::isolation::{WORKER_COMMAND, worker};
use crate::failure::Failure;

/// Puts datasets into mercato: converts Parquet, Arrow and text files, publishes versions, manages accounts, keys and credits.
#[derive(Debug, Parser)]
#[command(name = "mercato-tools", version, propagate_version = true, after_help = EXAMPLES)]
pub struct Arguments {
    /// Print one JSON document on standard output instead of text for people.
    #[arg(long, global = true)]
    pub json: bool,
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  mercato-tools demo
  mercato-tools convert sales.parquet --output sales.mcol
  mercato-tools inspect sales.mcol
  mercato-tools publish ./sales --parquet sales.parquet --version 1.0.0 --data /var/lib/mercato
  mercato-tools export sales.mcol --format csv --output sales.csv

Exit codes: 0 done, 1 failed (the reason is on standard error, in one line), 2 wrong usage, 3 published, but servers lag.";

/// The commands of the program.
#[derive(Debug, Subcommand)]
#[expect(missing_docs, reason = "clap takes the help of each command from its arguments")]
pub enum Command {
    Demo(demo::DemoArguments),
    Convert(convert::ConvertArguments),
    Inspect(inspect::InspectArguments),
    Verify(verify::VerifyArguments),
    Export(export::ExportArguments),
    Diff(diff::DiffArguments),
    Publish(publish::PublishArguments),
    Unpublish(publish::UnpublishArguments),
    Republish(publish::RepublishArguments),
    Rollback(publish::RollbackArguments),
    Feature(publish::FeatureArguments),
    Datasets(datasets::DatasetsArguments),
    Search(search::SearchArguments),
    Models(models::ModelsArguments),
    #[cfg(target_os = "linux")]
    Loadgen(loadgen::LoadgenArguments),
    #[command(hide = true)]
    Packaging(packaging::PackagingArguments),
    #[command(flatten)]
    Books(BooksCommand),
    #[command(name = WORKER_COMMAND, hide = true)]
    ConvertWorker,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let json = arguments.json;
    match &arguments.command {
        Command::Demo(command) => demo::run(command, json),
        Command::Convert(command) => convert::run(command, json),
        Command::Inspect(command) => inspect::run(command, json),
        Command::Verify(command) => verify::run(command, json),
        Command::Export(command) => export::run(command),
        Command::Diff(command) => diff::run(command, json),
        Command::Publish(command) => publish::run(command, json),
        Command::Unpublish(command) => publish::run_unpublish(command, json),
        Command::Republish(command) => publish::run_republish(command, json),
        Command::Rollback(command) => publish::run_rollback(command, json),
        Command::Feature(command) => publish::run_feature(command, json),
        Command::Datasets(command) => datasets::run(command, json),
        Command::Search(command) => search::run(command, json),
        Command::Models(command) => models::run(command, json),
        #[cfg(target_os = "linux")]
        Command::Loadgen(command) => loadgen::run(command, json),
        Command::Packaging(command) => packaging::run(command),
        Command::Books(command) => books::run(command, json),
        Command::ConvertWorker => worker::run(),
    }
}
