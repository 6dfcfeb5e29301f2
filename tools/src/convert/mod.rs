//! Converts files into a store file: gathers their rows, builds each column inside one memory limit, appends the columns
//! in order and verifies the file. Knows no server.

pub mod dataset;
pub mod footer;
pub mod inputs;
mod int96;
pub mod limits;
mod pages;
mod plan;
mod reader;
mod report;
mod resources;
mod schedule;
mod schema;
mod sorted;
mod source;
pub mod text;
mod thrift;
mod values;

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use indicatif::ProgressBar;
use mercato::render::append_lengths;
use mercato_format::{
    BuildOptions, ColumnBuilder, ColumnReport, ColumnSegment, ColumnSpec, FormatError, TableMetadata,
    TableSummary, TableWriter, TimeUnit,
};

use crate::destination::{Destination, folder_of};
use crate::failure::Failure;
use crate::interruption::Interruption;
use crate::progress;
use dataset::part::{Origin, Part, PartValues, Sink};
use dataset::{Dataset, JoinedColumn, gather};
use inputs::{InputFile, InputFormat};
use limits::{BATCH_ROWS, COLUMN_BUDGET_BYTES_MIN, MEMORY_LIMIT_BYTES_MIN};
pub use report::Report;
use report::{Phase, PhaseTimer};
use schedule::{Bounds, Job, MemoryUse};
use text::TextOptions;
use values::feeder::{FeedError, Feeder};

/// Output of this size is accepted at any expansion ratio, bytes.
const OUTPUT_RATIO_FREE_BYTES: u64 = 1024 * 1024 * 1024;

/// Largest expansion ratio: bytes of store file for one byte of input. It stops decompression bombs.
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
    /// Files and folders; `-` is standard input.
    pub inputs: Vec<PathBuf>,
    /// The format of all inputs. By default each file's name tells it.
    pub input_format: Option<InputFormat>,
    /// The options of text inputs.
    pub text: TextOptions,
    /// A store file whose rows come before those of the inputs.
    pub append_to: Option<PathBuf>,
    /// Columns by which the rows are sorted. None keeps the order of the inputs.
    pub sort_by: Vec<String>,
    /// The store file.
    pub output: PathBuf,
    /// Whether an existing file may be replaced.
    pub replace: bool,
    /// Which columns get a sort index.
    pub sort_index: SortIndex,
    /// Columns and structs to drop.
    pub drop: Vec<String>,
    /// Whether names of `sort_index` that no file has are passed over.
    pub inherited_index: bool,
    /// Whether names of `drop` that no file has are passed over.
    pub inherited_drop: bool,
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

/// Converts the inputs. An error leaves the output path unchanged.
///
/// # Errors
/// When the input is invalid, an option is wrong, or the operating system fails.
pub fn convert(conversion: &Conversion) -> Result<Report, Failure> {
    convert_if(conversion, &|_| Ok(()))
}

/// A check of the columns, which runs before any value is read.
pub type Accept<'a> = dyn Fn(&[&ColumnSpec]) -> Result<(), Failure> + 'a;

/// Converts the inputs if `accept` accepts its columns.
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
        let run = ConversionRun { conversion, dataset, sorted: &sort_index, directory: &directory, timer: &timer };
        run.write(&target, conversion.replace, true)
    };
    if conversion.sort_by.is_empty() {
        let (summary, columns) = whole(&dataset)?;
        return Ok(Report::new(&dataset, conversion, &summary, columns, &timer));
    }
    let keys = sorted::keys(conversion, &dataset)?;
    let indexed = (0..dataset.columns.len()).map(|column| keys.contains(&column)).collect::<Vec<_>>();
    let unsorted = sorted::unsorted_path(&target);
    let run = ConversionRun { conversion, dataset: &dataset, sorted: &indexed, directory: &directory, timer: &timer };
    run.write(&unsorted, true, false)?;
    let table = sorted::open_and_remove(&unsorted)?;
    let sequence = sorted::sequence(&table, &keys, conversion)?;
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
fn sorted_columns(
    conversion: &Conversion,
    dataset: &Dataset,
) -> Result<(Vec<bool>, Vec<String>), Failure> {
    let SortIndex::Only(names) = &conversion.sort_index else {
        return Ok((vec![conversion.sort_index == SortIndex::All; dataset.columns.len()], Vec::new()));
    };
    let known: HashSet<&String> = dataset.columns.iter().map(|column| &column.spec.name).collect();
    let unknown: Vec<String> = names.iter().filter(|name| !known.contains(name)).cloned().collect();
    if let Some(unknown) = unknown.first().filter(|_| !conversion.inherited_index) {
        return Err(Failure::Usage(format!("--sort-index {unknown}: {} has no such column", dataset.name)));
    }
    let wanted: HashSet<&String> = names.iter().collect();
    Ok((dataset.columns.iter().map(|column| wanted.contains(&column.spec.name)).collect(), unknown))
}

/// A running conversion.
struct ConversionRun<'a> {
    conversion: &'a Conversion,
    dataset: &'a Dataset,
    sorted: &'a [bool],
    directory: &'a Path,
    timer: &'a PhaseTimer,
}

impl MemoryUse for ColumnSegment {
    fn memory_bytes(&self) -> u64 {
        ColumnSegment::memory_bytes(self)
    }
}

impl ConversionRun<'_> {
    /// Writes the store file. Statistics and lengths are left out of a file that is only read back.
    fn write(
        &self,
        target: &Path,
        replace: bool,
        is_final: bool,
    ) -> Result<(TableSummary, Vec<ColumnReport>), Failure> {
        let (conversion, timer) = (self.conversion, self.timer);
        let store_error = || Failure::store(&conversion.output);
        let metadata = TableMetadata {
            source_schema: self.dataset.source_schema.clone(),
            created_by: concat!("mercato-tools ", env!("CARGO_PKG_VERSION")).into(),
        };
        let writer = TableWriter::create(target, metadata).map_err(store_error())?;
        let writer = if replace { writer } else { writer.without_replacing() };
        conversion.interruption.begin(writer.temporary_path(), &conversion.output);
        let (mut writer, reports) = self.build_all(writer)?;
        conversion.check_interrupted()?;
        if is_final {
            let before = Instant::now();
            writer.append_statistics().map_err(store_error())?;
            append_lengths(&mut writer).map_err(store_error())?;
            timer.record(Phase::Derive, before.elapsed());
            conversion.check_interrupted()?;
        }
        let before = Instant::now();
        let summary = writer.commit(&|_| ()).map_err(store_error())?;
        timer.record(Phase::Commit, before.elapsed());
        Ok((summary, reports))
    }

    fn build_all(&self, mut writer: TableWriter) -> Result<(TableWriter, Vec<ColumnReport>), Failure> {
        let columns = &self.dataset.columns;
        let bar = if self.conversion.progress {
            progress::bar("convert", self.dataset.row_count * columns.len() as u64, "values")
        } else {
            ProgressBar::hidden()
        };
        let jobs = columns.iter().enumerate().map(|(number, column)| Job {
            column: number,
            wanted_bytes: resources::wanted_bytes(self.dataset, column),
            reading_bytes: self.dataset.reading_bytes(column),
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
        let limit = self.conversion.memory_limit.saturating_sub(self.dataset.held_bytes);
        Bounds {
            threads: self.conversion.threads.clamp(1, self.dataset.columns.len().max(1)),
            building_bytes: resources::building_bytes(limit),
            waiting_bytes: limit / 10,
            budget_bytes_min: COLUMN_BUDGET_BYTES_MIN,
        }
    }

    fn build(&self, index: usize, budget: u64, bar: &ProgressBar) -> Result<ColumnSegment, Failure> {
        let (Some(column), Some(sorted)) = (self.dataset.columns.get(index), self.sorted.get(index)) else {
            return Err(Failure::Usage(format!("column {index} does not exist")));
        };
        let options = BuildOptions {
            memory_budget_bytes: budget,
            spill_directory: self.directory.to_path_buf(),
            sort_index: *sorted,
        };
        let mut builder = ColumnBuilder::new(column.spec.clone(), options);
        let mut feeder = Feeder::default();
        let begun = Instant::now();
        for (part, (origin, shape)) in self.dataset.parts.iter().zip(&column.origins) {
            let shape = column.shape(*shape);
            let batch_bytes = self.batch_bytes(part, *origin);
            let mut sink = Sink {
                builder: &mut builder,
                feeder: &mut feeder,
                kind: column.spec.kind,
                progress: &mut |rows| {
                    bar.inc(rows);
                    self.conversion.check_interrupted()
                },
                refuse: &|first_row, error| self.refuse(part, column, first_row, error),
            };
            part.feed(*origin, shape, batch_bytes, &mut sink)?;
        }
        self.timer.record(Phase::Read, begun.elapsed());
        let before = Instant::now();
        let segment =
            builder.finish().map_err(|error| self.refuse_build(&self.dataset.name, column, error))?;
        self.timer.record(Phase::Build, before.elapsed());
        Ok(segment)
    }

    fn batch_bytes(&self, part: &Part, origin: Origin) -> u64 {
        let (Origin::Column(number), PartValues::Parquet(parquet)) = (origin, &part.values) else { return 0 };
        let column = parquet.plan.columns.get(number as usize);
        column.map_or(0, |column| resources::batch_bytes(&parquet.plan, column, self.conversion.memory_limit))
    }

    fn refuse_build(&self, file: &str, column: &JoinedColumn, source: FormatError) -> Failure {
        Failure::Column { file: file.to_owned(), column: column.spec.name.clone(), source }
    }

    fn refuse(&self, part: &Part, column: &JoinedColumn, first_row: u64, error: FeedError) -> Failure {
        let name = &column.spec.name;
        let file = part.name.clone();
        let remedy = format!("correct the value in the source, or drop the column with --drop {name}");
        match error {
            FeedError::Build(source) => self.refuse_build(&file, column, source),
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
            source => Failure::Column { file: self.dataset.name.clone(), column, source },
        }
    }

    fn check_ratio(&self, written: u64) -> Result<(), Failure> {
        let bytes_in = self.dataset.bytes_in;
        let bound = OUTPUT_RATIO_FREE_BYTES.max(bytes_in.saturating_mul(OUTPUT_RATIO_MAX));
        if written <= bound {
            return Ok(());
        }
        Err(Failure::Refused {
            file: self.dataset.name.clone(),
            section: "output size".into(),
            expected: format!("at most {bound} bytes out of {bytes_in}"),
            found: format!("{written}"),
            remedy: "the file expands like a decompression bomb; if it is genuine, split it or drop columns"
                .into(),
        })
    }
}
