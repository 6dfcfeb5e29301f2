//! Converts files into a store file: gathers their rows, builds each column inside one memory limit, appends the columns
//! in order and verifies the file. Does not depend on servers.

pub mod arrow;
mod chunk_offsets;
pub mod dataset;
mod footer;
pub mod inputs;
mod int96;
pub mod isolation;
pub mod limits;
mod pages;
mod plan;
mod preview;
mod reader;
mod report;
mod resources;
mod run;
mod schedule;
mod schema;
pub mod sorted;
mod source;
pub mod text;
mod thrift;
mod unknown_column;
mod values;

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use mercato_format::{ColumnSpec, TimeUnit};
use serde::{Deserialize, Serialize};

use crate::destination::{Destination, folder_of};
use crate::failure::Failure;
use crate::interruption::Interruption;
use dataset::{Dataset, gather};
use inputs::{InputFile, InputFormat};
use isolation::{Isolation, supervisor};
use limits::MEMORY_LIMIT_BYTES_MIN;
pub use preview::Preview;
pub use report::Report;
use report::{Phase, PhaseTimer};
use run::ConversionRun;
use text::TextOptions;

/// Which columns get a sort index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum SortIndex {
    All,
    None,
    Only(Vec<String>),
}

#[derive(Debug, Clone)]
pub struct Conversion {
    /// Files and folders; `-` is standard input.
    pub inputs: Vec<PathBuf>,
    /// The format of all inputs. By default each file's name decides.
    pub input_format: Option<InputFormat>,
    pub text: TextOptions,
    /// A store file whose rows come before those of the inputs.
    pub append_to: Option<PathBuf>,
    /// Columns by which the rows are sorted. None keeps the order of the inputs.
    pub sort_by: Vec<String>,
    pub output: PathBuf,
    /// Whether an existing file may be replaced.
    pub replace: bool,
    /// Which columns get a sort index.
    pub sort_index: SortIndex,
    pub drop: Vec<String>,
    /// Whether names of `sort_index` that no file has are passed over.
    pub inherited_index: bool,
    /// Whether names of `drop` that no file has are passed over.
    pub inherited_drop: bool,
    /// Unit of INT96 timestamps. By default, each column gets the finest unit that holds its values.
    pub timestamp_unit: Option<TimeUnit>,
    /// Memory limit, bytes.
    pub memory_limit: u64,
    pub threads: usize,
    pub progress: bool,
    pub interruption: Interruption,
    /// How the conversion is isolated from this process; by default not at all.
    pub isolation: Option<Isolation>,
}

impl Conversion {
    /// A conversion with every sort index, 2 GiB of memory and a thread for each core.
    #[must_use]
    pub fn new(input: &Path, output: &Path) -> Conversion {
        Conversion {
            inputs: vec![input.to_path_buf()],
            input_format: None,
            text: TextOptions::default(),
            append_to: None,
            sort_by: Vec::new(),
            output: output.to_path_buf(),
            replace: false,
            sort_index: SortIndex::All,
            drop: Vec::new(),
            inherited_index: false,
            inherited_drop: false,
            timestamp_unit: None,
            memory_limit: 2 * 1024 * 1024 * 1024,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            progress: true,
            interruption: Interruption::default(),
            isolation: None,
        }
    }

    fn check_interrupted(&self) -> Result<(), Failure> {
        if self.interruption.is_requested() {
            return Err(Failure::Cancelled { file: self.output.display().to_string() });
        }
        Ok(())
    }
}

/// Converts the inputs. An error leaves the output path unchanged.
pub fn convert(conversion: &Conversion) -> Result<Report, Failure> {
    convert_if(conversion, &|_| Ok(()))
}

/// A check of the columns, which runs before any value is read.
pub type Accept<'a> = dyn Fn(&[&ColumnSpec]) -> Result<(), Failure> + 'a;

/// Converts the inputs if `accept` accepts its columns.
pub fn convert_if(conversion: &Conversion, accept: &Accept<'_>) -> Result<Report, Failure> {
    let outcome = match &conversion.isolation {
        Some(isolation) => supervisor::convert(conversion, isolation, accept),
        None => convert_until_interrupted(conversion, accept),
    };
    conversion.interruption.end();
    outcome
}

/// Finds the columns that a conversion would have, without writing anything.
pub fn preview(conversion: &Conversion) -> Result<Preview, Failure> {
    if let Some(isolation) = &conversion.isolation {
        return supervisor::preview(conversion, isolation);
    }
    check_memory_limit(conversion)?;
    let files = inputs::list(&conversion.inputs, conversion.input_format)?;
    preview::of_files(conversion, files)
}

fn check_memory_limit(conversion: &Conversion) -> Result<(), Failure> {
    if conversion.memory_limit >= MEMORY_LIMIT_BYTES_MIN {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "--memory-limit: expected at least {} MiB, found {} bytes",
        MEMORY_LIMIT_BYTES_MIN >> 20,
        conversion.memory_limit
    )))
}

fn convert_until_interrupted(conversion: &Conversion, accept: &Accept<'_>) -> Result<Report, Failure> {
    let timer = PhaseTimer::start();
    check_memory_limit(conversion)?;
    let files = input_files(conversion)?;
    let target = Destination::check(&conversion.output, conversion.replace)?.into_file()?;
    let directory = folder_of(&target).to_path_buf();
    let dataset = gather::gather(conversion, files, &directory)?;
    let (sort_index, absent) = sorted_columns(conversion, &dataset)?;
    let dataset = Dataset { absent: [absent, dataset.absent.clone()].concat(), ..dataset };
    accept(&dataset.columns.iter().map(|column| &column.spec).collect::<Vec<_>>())?;
    resources::check_disk(&dataset, &directory, conversion.memory_limit)?;
    timer.record(Phase::Plan, timer.elapsed());
    let whole = |dataset: &Dataset| {
        let run =
            ConversionRun { conversion, dataset, sorted: &sort_index, directory: &directory, timer: &timer };
        run.write(&target, conversion.replace, true)
    };
    if conversion.sort_by.is_empty() {
        let (summary, columns) = whole(&dataset)?;
        return Ok(Report::new(&dataset, conversion, &summary, columns, &timer));
    }
    let keys = sorted::keys(conversion, &dataset)?;
    let indexed = (0..dataset.columns.len()).map(|column| keys.contains(&column)).collect::<Vec<_>>();
    let unsorted = sorted::unsorted_path(&target);
    let run = ConversionRun {
        conversion,
        dataset: &dataset,
        sorted: &indexed,
        directory: &directory,
        timer: &timer,
    };
    run.write(&unsorted, true, false)?;
    let table = sorted::open_and_remove(&unsorted)?;
    let sequence = sorted::sequence(&table, &keys, &conversion.output, &|| conversion.check_interrupted())?;
    let dataset = Dataset::reordered(table, sequence, dataset);
    let (summary, columns) = whole(&dataset)?;
    Ok(Report::new(&dataset, conversion, &summary, columns, &timer))
}

/// The files to read, none of which is the output.
fn input_files(conversion: &Conversion) -> Result<Vec<InputFile>, Failure> {
    let mut files = inputs::list(&conversion.inputs, conversion.input_format)?;
    if let Some(path) = &conversion.append_to {
        let (path, format) = (Some(path.clone()), InputFormat::Store);
        files.insert(0, InputFile { path, format, partitions: Vec::new() });
    }
    let identity = |path: &Path| std::fs::metadata(path).ok().map(|facts| (facts.dev(), facts.ino()));
    let output = identity(&conversion.output);
    let is_output = |file: &InputFile| output.is_some() && file.path.as_deref().and_then(identity) == output;
    if files.iter().any(is_output) {
        let output = conversion.output.display();
        return Err(Failure::Usage(format!("--output {output}: expected another file than the input")));
    }
    Ok(files)
}

/// Whether each column gets a sort index, and the inherited names that no column has.
fn sorted_columns(conversion: &Conversion, dataset: &Dataset) -> Result<(Vec<bool>, Vec<String>), Failure> {
    let SortIndex::Only(names) = &conversion.sort_index else {
        return Ok((vec![conversion.sort_index == SortIndex::All; dataset.columns.len()], Vec::new()));
    };
    let known: HashSet<&String> = dataset.columns.iter().map(|column| &column.spec.name).collect();
    let unknown: Vec<String> = names.iter().filter(|name| !known.contains(name)).cloned().collect();
    if let Some(unknown) = unknown.first().filter(|_| !conversion.inherited_index) {
        let names = dataset.columns.iter().map(|column| column.spec.name.as_str());
        return Err(unknown_column::refuse("--sort-index", unknown, &dataset.name, names));
    }
    let wanted: HashSet<&String> = names.iter().collect();
    Ok((dataset.columns.iter().map(|column| wanted.contains(&column.spec.name)).collect(), unknown))
}
