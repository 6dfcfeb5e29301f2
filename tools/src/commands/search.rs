//! The command `search evaluate FILE`: measures rankings on queries with known results.
//!
//! Reads files and prints figures. The server's search computes the metrics.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::evaluation::{EvaluationSet, Metrics, Models, Report, evaluate};
use clap::{Args, Subcommand};
use mercato_search::lexicon::{Lexicon, SOURCES, parse};
use mercato_search::models::{InferencePool, ModelError, load_embedder, load_reranker};
use serde::Serialize;

use super::{print_json, print_text};
use crate::failure::Failure;

/// Largest evaluation set, bytes.
const SET_SIZE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Measure search quality.
#[derive(Debug, Args)]
pub struct SearchArguments {
    #[command(subcommand)]
    command: SearchCommand,
}

#[derive(Debug, Subcommand)]
enum SearchCommand {
    Evaluate(EvaluateArguments),
}

/// Print nDCG@10, MRR and recall@5 of every ranking on a set of queries with known results.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mercato-tools search evaluate tests/search/catalog.json
  mercato-tools search evaluate tests/search/catalog.json --without-terms 50 --json")]
pub struct EvaluateArguments {
    /// JSON with `datasets` and `queries`, as in tests/search/catalog.json.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Folder of a sentence encoder: adds the ranking by vectors and words.
    #[arg(long, value_name = "DIR")]
    embedding_model: Option<PathBuf>,
    /// Folder of a cross-encoder: adds the ranking in which it reranks the top results.
    #[arg(long, value_name = "DIR")]
    cross_encoder: Option<PathBuf>,
    /// Remove this percentage of the lexicon's terms at random.
    #[arg(long, value_name = "PERCENT", default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=100))]
    without_terms: u64,
    /// Seed of the random choice.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
}

#[derive(Debug, Serialize)]
struct Line {
    ranking: &'static str,
    #[serde(flatten)]
    report: Report,
}

pub fn run(arguments: &SearchArguments, json: bool) -> Result<(), Failure> {
    let SearchCommand::Evaluate(arguments) = &arguments.command;
    let set = read(&arguments.file)?;
    let lexicon = match arguments.without_terms {
        0 => Lexicon::builtin(),
        percent => lexicon_without(percent, arguments.seed),
    };
    let embedder = arguments
        .embedding_model
        .as_deref()
        .map(|folder| load(folder, |folder, pool| load_embedder(folder, Arc::clone(&pool), pool)))
        .transpose()?;
    let reranker =
        arguments.cross_encoder.as_deref().map(|folder| load(folder, load_reranker)).transpose()?;
    let mut rankings = vec![("lexical", Models::default())];
    let with_vectors = Models { embedder: embedder.as_deref(), reranker: None };
    if embedder.is_some() {
        rankings.push(("embedding", with_vectors));
    }
    if reranker.is_some() {
        rankings.push(("cross-encoder", Models { reranker: reranker.as_deref(), ..with_vectors }));
    }
    let lines: Vec<Line> = rankings
        .into_iter()
        .map(|(ranking, models)| {
            let report =
                evaluate(&set, &lexicon, models).map_err(|error| refused(&arguments.file, &error))?;
            Ok(Line { ranking, report })
        })
        .collect::<Result<_, Failure>>()?;
    if json { print_json(&lines) } else { print_text(&table(&lines)) }
}

fn read(file: &Path) -> Result<EvaluationSet, Failure> {
    let failed = |source| Failure::Io { file: file.display().to_string(), action: "read", source };
    let length = std::fs::metadata(file).map_err(failed)?.len();
    if length > SET_SIZE_BYTES_MAX {
        return Err(refused(file, &format!("it has {length} bytes, at most {SET_SIZE_BYTES_MAX} are read")));
    }
    let text = std::fs::read(file).map_err(failed)?;
    serde_json::from_slice(&text).map_err(|error| refused(file, &error))
}

fn load<T: ?Sized>(
    folder: &Path,
    load: impl Fn(&Path, Arc<InferencePool>) -> Result<Arc<T>, ModelError>,
) -> Result<Arc<T>, Failure> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let pool = InferencePool::new("evaluate", cores, 0).map_err(|source| Failure::Io {
        file: "threads".to_owned(),
        action: "start",
        source,
    })?;
    load(folder, Arc::new(pool)).map_err(|error| refused(folder, &error))
}

fn refused(file: &Path, found: &dyn std::fmt::Display) -> Failure {
    Failure::refused(
        file.display().to_string(),
        "search evaluation",
        "datasets, queries and models as docs/OPERATIONS.md describes them",
        found.to_string(),
        "correct it and run the command again",
    )
}

fn lexicon_without(percent: u64, seed: u64) -> Arc<Lexicon> {
    // Any fixed hash of term and seed serves: the same seed removes the same terms on every machine.
    let chance = |term: &str| {
        let mixed = term.bytes().fold(seed ^ 0xcbf2_9ce4_8422_2325, |mixed, byte| {
            (mixed ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        (mixed ^ (mixed >> 32)) % 100
    };
    Arc::new(parse(SOURCES, &mut |term| chance(term) >= percent).0)
}

fn table(lines: &[Line]) -> String {
    let mut text =
        format!("{:<14} {:<12} {:>7}  nDCG@10    MRR  recall@5  found", "ranking", "kind", "queries");
    for line in lines {
        let kinds = line.report.kinds.iter().map(|(kind, metrics)| (kind.as_str(), metrics));
        for (kind, metrics) in std::iter::once(("all", &line.report.all)).chain(kinds) {
            let Metrics { queries, ndcg, mrr, recall, found } = metrics;
            // Writing into a String cannot fail.
            let _ = write!(
                text,
                "\n{:<14} {kind:<12} {queries:>7}    {ndcg:.3}  {mrr:.3}     {recall:.3} {found:>6.1}",
                line.ranking
            );
        }
        for question in &line.report.missed {
            let _ = write!(text, "\n{:<14} not among the first ten: {question}", line.ranking);
        }
    }
    text
}
