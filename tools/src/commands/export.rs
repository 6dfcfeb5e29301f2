//! The command `export FILE.mcol`: writes every row as CSV, NDJSON, JSON or Arrow, with the server's renderer, or as
//! Parquet.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use mercato_format::Table;
use mercato_query::render::{ArrowEncoder, BatchEncoder, Combinations, Format, Labels, RowWriter};

use crate::convert::Conversion;
use crate::destination::Destination;
use crate::failure::Failure;
use crate::interruption::Interruption;
use crate::parquet_file::ParquetJob;
use crate::progress;

/// Rows of one batch.
const BATCH_ROWS: u32 = 8_192;
/// Rows from which an Arrow batch takes as many as fit.
const ARROW_ROWS: u32 = 65_536;

/// Write every row of a store file. The output equals a download from a server.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mercato-tools export sales.mcol --format csv --output sales.csv
  mercato-tools export sales.mcol --format ndjson | jq .amount | head")]
pub struct ExportArguments {
    /// The store file.
    #[arg(value_name = "FILE.mcol")]
    pub file: PathBuf,
    /// The format of rows.
    #[arg(long, value_enum)]
    pub format: ExportFormat,
    /// The output file; by default, standard output. A symbolic link is followed; a device or pipe is written to.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace an existing output file.
    #[arg(long, requires = "output")]
    pub force: bool,
}

/// The format of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// RFC 4180 with a header row.
    Csv,
    /// One JSON object a line.
    Ndjson,
    /// One JSON array.
    Json,
    /// One Arrow IPC stream.
    Arrow,
    /// One Parquet file, as the one that `publish` writes.
    Parquet,
}

pub fn run(arguments: &ExportArguments) -> Result<(), Failure> {
    let destination = arguments.output.as_deref().map(|path| Destination::check(path, arguments.force));
    let destination = destination.transpose()?;
    if let Some(destination) = &destination {
        destination.refuse_inputs(&[&arguments.file])?;
    }
    let table = Table::open(&arguments.file).map_err(Failure::store(&arguments.file))?;
    table.advise_sequential();
    match destination {
        None => export(arguments, &table, &mut BufWriter::new(io::stdout()), Path::new("standard output")),
        Some(destination) => {
            let place = destination.typed().to_owned();
            let mut file = destination.create()?;
            export(arguments, &table, &mut file, &place)?;
            file.finish()
        }
    }
}

fn export(
    arguments: &ExportArguments,
    table: &Table,
    out: &mut (impl Write + Send),
    place: &Path,
) -> Result<(), Failure> {
    let format = match arguments.format {
        ExportFormat::Csv => Format::Csv,
        ExportFormat::Ndjson => Format::Ndjson,
        ExportFormat::Json => Format::Json,
        ExportFormat::Arrow => return export_arrow(arguments, table, out, place),
        ExportFormat::Parquet => {
            return export_parquet(arguments, table, out, place);
        }
    };
    let damaged = || Failure::store(&arguments.file);
    let columns: Vec<usize> = (0..table.columns().len()).collect();
    let combinations = Combinations::default();
    let rows_in_all = table.row_count() as usize;
    let writer = RowWriter::for_unit(format, table, &columns, rows_in_all, &combinations);
    let mut writer = writer.map_err(damaged())?;
    let bar = progress::bar("export", u64::from(table.row_count()), "rows");
    let (mut text, mut rows, mut first) = (Vec::new(), Vec::new(), 0);
    writer.begin(&mut text);
    while first < table.row_count() {
        let end = table.row_count().min(first.saturating_add(BATCH_ROWS));
        rows.clear();
        rows.extend(first..end);
        writer.rows(&rows, &mut text).map_err(damaged())?;
        out.write_all(&text).map_err(Failure::io(place, "write"))?;
        text.clear();
        bar.inc(u64::from(end - first));
        first = end;
    }
    writer.end(&mut text);
    out.write_all(&text).map_err(Failure::io(place, "write"))?;
    bar.finish_and_clear();
    out.flush().map_err(Failure::io(place, "write"))
}

/// As a download, but without the names of dataset and version, which a store file does not have.
fn export_parquet(
    arguments: &ExportArguments,
    table: &Table,
    out: &mut (impl Write + Send),
    place: &Path,
) -> Result<(), Failure> {
    let memory_limit = Conversion::new(&arguments.file, place).memory_limit;
    let (source, labels) = (arguments.file.as_path(), Labels::default());
    let job = ParquetJob { table, source, labels, memory_limit, interruption: &Interruption::default() };
    job.export(&mut *out, place)?;
    out.flush().map_err(Failure::io(place, "write"))
}

/// As a download, but without the names of dataset and version, which a store file does not have.
fn export_arrow(
    arguments: &ExportArguments,
    table: &Table,
    out: &mut impl Write,
    place: &Path,
) -> Result<(), Failure> {
    let damaged = || Failure::store(&arguments.file);
    let columns: Vec<usize> = (0..table.columns().len()).collect();
    let encoder = ArrowEncoder::new(table, &columns, Labels::default(), u64::MAX).map_err(damaged())?;
    let bar = progress::bar("export", u64::from(table.row_count()), "rows");
    let mut bytes = Vec::new();
    encoder.begin(&mut bytes).map_err(damaged())?;
    let (mut first, mut rows) = (0, Vec::new());
    while first < table.row_count() {
        rows.clear();
        rows.extend(first..table.row_count().min(first.saturating_add(ARROW_ROWS)));
        let done = encoder.batch(&rows, first.into(), &mut bytes).map_err(damaged())?;
        out.write_all(&bytes).map_err(Failure::io(place, "write"))?;
        bytes.clear();
        bar.inc(done as u64);
        first = first.saturating_add(u32::try_from(done).unwrap_or(ARROW_ROWS));
    }
    encoder.end(&mut bytes);
    out.write_all(&bytes).map_err(Failure::io(place, "write"))?;
    bar.finish_and_clear();
    out.flush().map_err(Failure::io(place, "write"))
}
