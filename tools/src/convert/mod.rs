//! Converts a Parquet file into a store file: plans from the footer, builds each column inside one memory limit, appends
//! the columns in order and verifies the file. Does not depend on datasets or servers.

pub mod footer;
mod int96;
pub mod limits;
mod pages;
mod plan;
mod reader;
mod report;
mod resources;
mod schedule;
mod schema;
mod source;
mod thrift;
mod values;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use indicatif::ProgressBar;
use mercato::render::append_lengths;
use mercato_format::{
    BuildOptions, ColumnBuilder, ColumnReport, ColumnSegment, ColumnSpec, FormatError, TableMetadata,
    TableWriter, TimeUnit,
};

use crate::destination::{Destination, folder_of};
use crate::failure::Failure;
use crate::interruption::Interruption;
use crate::progress;
use limits::{BATCH_ROWS, COLUMN_BUDGET_BYTES_MIN, MEMORY_LIMIT_BYTES_MIN};
use plan::Plan;
pub use report::Report;
use report::{Phase, PhaseTimer};
use schedule::{Bounds, Job, MemoryUse};
use schema::flatten::OutputColumn;
use source::Source;
use values::feeder::{FeedError, Feeder};

/// Output of this size is accepted at any expansion ratio, bytes.
const OUTPUT_RATIO_FREE_BYTES: u64 = 1024 * 1024 * 1024;

/// Largest expansion ratio: bytes of store file for one byte of Parquet. It stops decompression bombs.
const OUTPUT_RATIO_MAX: u64 = 1_000;

/// Which columns get a sort index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SortIndex {
    /// Every column.
    All,
    /// No column.
    None,
    /// The columns named.
    Only(Vec<String>),
}

/// The options of a conversion.
#[derive(Debug, Clone)]
pub struct Conversion {
    /// The Parquet file.
    pub input: PathBuf,
    /// The store file.
    pub output: PathBuf,
    /// Whether an existing file may be replaced.
    pub replace: bool,
    /// Which columns get a sort index.
    pub sort_index: SortIndex,
    /// Columns and structs to drop.
    pub drop: Vec<String>,
    /// Unit of INT96 timestamps. By default, each column gets the finest unit that holds its values.
    pub timestamp_unit: Option<TimeUnit>,
    /// Memory limit, bytes.
    pub memory_limit: u64,
    /// Threads that build columns.
    pub threads: usize,
    /// Whether to show a progress bar.
    pub progress: bool,
    /// Interrupts the conversion.
    pub interruption: Interruption,
}

impl Conversion {
    /// A conversion with every sort index, 2 GiB of memory and a thread for each core.
    #[must_use]
    pub fn new(input: &Path, output: &Path) -> Conversion {
        Conversion {
            input: input.to_path_buf(),
            output: output.to_path_buf(),
            replace: false,
            sort_index: SortIndex::All,
            drop: Vec::new(),
            timestamp_unit: None,
            memory_limit: 2 * 1024 * 1024 * 1024,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            progress: true,
            interruption: Interruption::default(),
        }
    }

    /// Fails after an interruption.
    fn check_interrupted(&self) -> Result<(), Failure> {
        if self.interruption.is_requested() {
            return Err(Failure::Cancelled { file: self.output.display().to_string() });
        }
        Ok(())
    }
}

/// Converts one file. An error leaves the output path unchanged.
///
/// # Errors
/// When the input is invalid, an option is wrong, or the operating system fails.
pub fn convert(conversion: &Conversion) -> Result<Report, Failure> {
    convert_if(conversion, &|_| Ok(()))
}

/// A check of the columns, which runs before any value is read.
pub type Accept<'a> = dyn Fn(&[&ColumnSpec]) -> Result<(), Failure> + 'a;

/// Converts one file if `accept` accepts its columns.
///
/// # Errors
/// Those of [`convert`] and of `accept`.
pub fn convert_if(conversion: &Conversion, accept: &Accept<'_>) -> Result<Report, Failure> {
    let outcome = convert_until_interrupted(conversion, accept);
    conversion.interruption.end();
    outcome
}

fn convert_until_interrupted(conversion: &Conversion, accept: &Accept<'_>) -> Result<Report, Failure> {
    let timer = PhaseTimer::start();
    if conversion.memory_limit < MEMORY_LIMIT_BYTES_MIN {
        return Err(Failure::Usage(format!(
            "--memory-limit: expected at least {} MiB, found {} bytes",
            MEMORY_LIMIT_BYTES_MIN >> 20,
            conversion.memory_limit
        )));
    }
    let source = Source::open(&conversion.input, &conversion.interruption)?;
    if source.is_at(&conversion.output) {
        let output = conversion.output.display();
        return Err(Failure::Usage(format!("--output {output}: expected another file than the input")));
    }
    let target = Destination::check(&conversion.output, conversion.replace)?.into_file()?;
    let directory = folder_of(&target).to_path_buf();
    let sort_index = &conversion.sort_index;
    let (mut sorted, mut reading) = (Vec::new(), Vec::new());
    let plan = plan::plan(source, &conversion.drop, conversion.timestamp_unit, |plan| {
        sorted = sorted_columns(&conversion.input, &plan.columns, sort_index)?;
        accept(&plan.columns.iter().map(|column| &column.spec).collect::<Vec<_>>())?;
        resources::check_disk(plan, &directory, conversion.memory_limit)?;
        reading = resources::reading_bytes(plan, conversion.memory_limit)?;
        Ok(())
    })?;
    timer.record(Phase::Plan, timer.elapsed());

    let metadata = TableMetadata {
        source_schema: plan.source_schema.clone(),
        created_by: concat!("mercato-tools ", env!("CARGO_PKG_VERSION")).into(),
    };
    let writer = TableWriter::create(&target, metadata).map_err(Failure::store(&conversion.output))?;
    let writer = if conversion.replace { writer } else { writer.without_replacing() };
    conversion.interruption.begin(writer.temporary_path(), &conversion.output);
    let timer = &timer;
    let run = ConversionRun {
        conversion,
        plan: &plan,
        sorted: &sorted,
        reading: &reading,
        directory: &directory,
        timer,
    };
    let (mut writer, reports) = run.build_all(writer)?;
    conversion.check_interrupted()?;
    let before = Instant::now();
    writer.append_statistics().map_err(Failure::store(&conversion.output))?;
    append_lengths(&mut writer).map_err(Failure::store(&conversion.output))?;
    timer.record(Phase::Derive, before.elapsed());
    conversion.check_interrupted()?;
    let before = Instant::now();
    let summary = writer.commit(&|_| ()).map_err(Failure::store(&conversion.output))?;
    timer.record(Phase::Commit, before.elapsed());
    Ok(Report::new(&plan, conversion, &summary, reports, timer))
}

/// Whether each column gets a sort index.
fn sorted_columns(
    input: &Path,
    columns: &[OutputColumn],
    sort_index: &SortIndex,
) -> Result<Vec<bool>, Failure> {
    let SortIndex::Only(names) = sort_index else {
        return Ok(vec![*sort_index == SortIndex::All; columns.len()]);
    };
    let known: HashSet<&String> = columns.iter().map(|column| &column.spec.name).collect();
    let unknown = names.iter().find(|name| !known.contains(name));
    if let Some(unknown) = unknown {
        let file = input.display();
        return Err(Failure::Usage(format!("--sort-index {unknown}: {file} has no such column")));
    }
    let wanted: HashSet<&String> = names.iter().collect();
    Ok(columns.iter().map(|column| wanted.contains(&column.spec.name)).collect())
}

/// A running conversion.
struct ConversionRun<'a> {
    conversion: &'a Conversion,
    plan: &'a Plan,
    sorted: &'a [bool],
    /// Memory of the reader of each column, bytes.
    reading: &'a [u64],
    directory: &'a Path,
    timer: &'a PhaseTimer,
}

impl MemoryUse for ColumnSegment {
    fn memory_bytes(&self) -> u64 {
        ColumnSegment::memory_bytes(self)
    }
}

impl ConversionRun<'_> {
    fn build_all(&self, mut writer: TableWriter) -> Result<(TableWriter, Vec<ColumnReport>), Failure> {
        let columns = &self.plan.columns;
        let bar = if self.conversion.progress {
            progress::bar("convert", self.plan.row_count * columns.len() as u64, "values")
        } else {
            ProgressBar::hidden()
        };
        let jobs =
            columns.iter().zip(self.reading).enumerate().map(|(column, (output, reading_bytes))| Job {
                column,
                wanted_bytes: resources::wanted_bytes(self.plan, output),
                reading_bytes: *reading_bytes,
            });
        let mut reports = Vec::with_capacity(columns.len());
        let mut written = 0_u64;
        schedule::run(
            jobs.collect(),
            self.bounds(),
            |column, budget| self.build(column, budget, &bar),
            |segment| segment.spill().map_err(Failure::store(&self.conversion.output)),
            |segment: ColumnSegment| {
                let before = Instant::now();
                written = written.saturating_add(segment.report().data_bytes + segment.report().index_bytes);
                self.check_ratio(written)?;
                reports.push(segment.report().clone());
                let name = segment.report().name.clone();
                writer.append(segment).map_err(|error| self.append_error(name, error))?;
                self.timer.record(Phase::Append, before.elapsed());
                Ok(())
            },
        )?;
        bar.finish_and_clear();
        Ok((writer, reports))
    }

    /// Reserves a tenth of the memory for finished columns in the reorder buffer, and a twentieth for everything else.
    fn bounds(&self) -> Bounds {
        let limit = self.conversion.memory_limit;
        Bounds {
            threads: self.conversion.threads.clamp(1, self.plan.columns.len()),
            building_bytes: resources::building_bytes(limit),
            waiting_bytes: limit / 10,
            budget_bytes_min: COLUMN_BUDGET_BYTES_MIN,
        }
    }

    fn build(&self, index: usize, budget: u64, bar: &ProgressBar) -> Result<ColumnSegment, Failure> {
        let (Some(column), Some(sorted)) = (self.plan.columns.get(index), self.sorted.get(index)) else {
            return Err(Failure::Usage(format!("column {index} does not exist")));
        };
        let options = BuildOptions {
            memory_budget_bytes: budget,
            spill_directory: self.directory.to_path_buf(),
            sort_index: *sorted,
        };
        let mut builder = ColumnBuilder::new(column.spec.clone(), options);
        let mut feeder = Feeder::default();
        let (begun, mut feeding) = (Instant::now(), std::time::Duration::ZERO);
        let batch_bytes = resources::batch_bytes(self.plan, column, self.conversion.memory_limit);
        reader::read_column(self.plan, column, batch_bytes, |batch| {
            self.conversion.check_interrupted()?;
            let before = Instant::now();
            let fed = feeder.feed(&mut builder, column, &batch.array, batch.nulls.as_ref());
            feeding += before.elapsed();
            bar.inc(batch.array.len() as u64);
            fed.map_err(|error| self.refuse(column, batch.first_row, error))
        })?;
        self.timer.record(Phase::Read, begun.elapsed().saturating_sub(feeding));
        let before = Instant::now();
        let segment = builder.finish().map_err(|error| self.refuse(column, 0, FeedError::Build(error)))?;
        self.timer.record(Phase::Build, feeding + before.elapsed());
        Ok(segment)
    }

    fn refuse(&self, column: &OutputColumn, first_row: u64, error: FeedError) -> Failure {
        let name = &column.spec.name;
        let file = self.plan.source.path().display().to_string();
        let remedy = format!("correct the value in the source, or drop the column with --drop {name}");
        match error {
            FeedError::Build(source) => Failure::Column { file, column: name.clone(), source },
            FeedError::Value { row, found } => Failure::Refused {
                file,
                section: format!("column `{name}`, row {}", first_row + row as u64),
                expected: format!("values that fit a column of kind {}", column.spec.kind.name()),
                found,
                remedy,
            },
            FeedError::Type(found) => Failure::Refused {
                file,
                section: format!("column `{name}`, rows {first_row} to {}", first_row + BATCH_ROWS as u64),
                expected: column.spec.source_type.clone(),
                found,
                remedy,
            },
        }
    }

    /// An I/O error names the output file, a format error the input file.
    fn append_error(&self, column: String, error: FormatError) -> Failure {
        match error {
            FormatError::Io { .. } => Failure::store(&self.conversion.output)(error),
            source => Failure::Column { file: self.plan.source.path().display().to_string(), column, source },
        }
    }

    fn check_ratio(&self, written: u64) -> Result<(), Failure> {
        let bytes_in = self.plan.source.byte_length();
        let bound = OUTPUT_RATIO_FREE_BYTES.max(bytes_in.saturating_mul(OUTPUT_RATIO_MAX));
        if written <= bound {
            return Ok(());
        }
        Err(Failure::Refused {
            file: self.plan.source.path().display().to_string(),
            section: "output size".into(),
            expected: format!("at most {bound} bytes out of {bytes_in}"),
            found: format!("{written}"),
            remedy: "the file expands like a decompression bomb; if it is genuine, split it or drop columns"
                .into(),
        })
    }
}
