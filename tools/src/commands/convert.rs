//! The command `convert IN…`. Parses its options and runs the converter.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use mercato::config::byte_size;
use mercato_catalog::{ColumnType, SourceOptions};
use mercato_format::TimeUnit;

use super::{print_json, print_text};
use crate::convert::inputs::{InputFormat, STANDARD_INPUT, stem};
use crate::convert::isolation::Isolation;
use crate::convert::text::TextOptions;
use crate::convert::{Conversion, SortIndex, convert, preview};
use crate::failure::Failure;

/// Convert Parquet, Arrow, CSV, TSV, JSON, NDJSON or Excel into a store file.
///
/// Several files and folders become one table: files sorted by path, columns joined by name, missing ones null. Folders
/// `key=value` become columns. Arrow IPC comes as files or streams, with plain, LZ4 or ZSTD buffers. Text files may be
/// compressed (gzip, zstd, zip); their types are found from all rows, and --preview shows them.
///
/// Reads one column at a time, so that memory stays inside --memory-limit for files of any size. Fields of structs
/// become columns with dotted names; lists and maps become JSON text; bytes become Base64 text. An unsupported type is
/// an error that names its column. An error leaves no output.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mercato-tools convert sales.parquet
  mercato-tools convert sales.parquet --output /srv/sales.mcol --force --sort-index day,amount
  mercato-tools convert 2024.csv.gz 2025.csv.gz --output sales.mcol --type zip=string --null-text n/a
  mercato-tools convert comuni.csv --delimiter ';' --decimal , --thousands . --date-format %d/%m/%Y --preview
  mercato-tools convert bilancio.xlsx --sheet Entrate --skip-lines 2
  mercato-tools convert trades.arrow --sort-by day
  mercato-tools convert sales/ --output sales.mcol --sort-by day,store
  zcat log.gz | mercato-tools convert - --input-format ndjson --output log.mcol
  mercato-tools convert events.parquet --drop payload --drop user.address
  mercato-tools convert events.parquet --memory-limit 512MiB --json | jq .rowsPerSecond")]
pub struct ConvertArguments {
    /// Files and folders; `-` is standard input.
    #[arg(value_name = "IN", required = true)]
    pub inputs: Vec<PathBuf>,
    /// The store file. Default: the name of the only input with .mcol, beside it. A symbolic link is followed; a device or pipe is
    /// refused.
    #[arg(long, short, value_name = "OUT.mcol")]
    pub output: Option<PathBuf>,
    /// Replace the output when it exists.
    #[arg(long)]
    pub force: bool,
    /// Print the columns that would come out (name, type, nulls, examples, warnings), and write nothing.
    #[arg(long, conflicts_with_all = ["output", "force"])]
    pub preview: bool,
    /// The conversion options.
    #[command(flatten)]
    pub options: ConversionOptions,
}

/// The options of all commands that convert.
#[derive(Debug, Args)]
pub struct ConversionOptions {
    /// Columns that get a sort index: `all`, `none`, or names separated by commas. Default: all; `publish` inherits the
    /// value of the previous version.
    #[arg(long, value_name = "all|none|COL,..", value_parser = parse_sort_index)]
    pub sort_index: Option<SortIndex>,
    /// Memory limit, at least 64MiB. Data beyond it is spilled to disk beside the output. The limit counts allocated
    /// memory, not mapped files.
    #[arg(long, value_name = "BYTES", default_value = "2GiB", value_parser = byte_size)]
    pub memory_limit: u64,
    /// Drop a column, or a struct with all its columns. May be repeated. `publish` inherits the value of the previous
    /// version by default.
    #[arg(long, value_name = "COL")]
    pub drop: Vec<String>,
    /// Sort the rows of the file by these columns, nulls last. Default: the order of the inputs.
    #[arg(long, value_name = "COL,..", value_delimiter = ',')]
    pub sort_by: Vec<String>,
    /// Format of all inputs. Default: by the ending of each name, before .gz, .zst or .zip.
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub input_format: Option<InputFormat>,
    /// Type of a column of CSV, JSON and Excel files: `string`, `integer`, `number`, `decimal(P,S)`, `boolean`, `date`, `datetime`. May be
    /// repeated. Default: the type that holds all values.
    #[arg(long = "type", value_name = "COL=TYPE", value_parser = parse_type)]
    pub types: Vec<(String, ColumnType)>,
    /// The options of CSV, JSON and Excel files; `publish` takes missing ones from `[source]` in dataset.toml.
    #[command(flatten)]
    pub source: SourceOptions,
    /// Unit of INT96 timestamps. Default: the finest unit that holds all values of a column.
    #[arg(long, value_enum, value_name = "ns|us|ms")]
    pub timestamp_unit: Option<TimestampUnit>,
    /// Threads that build columns. Default: one for each core.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
}

/// The unit of INT96 timestamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TimestampUnit {
    /// Nanoseconds: the years 1677 to 2262.
    Ns,
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
}

impl From<TimestampUnit> for TimeUnit {
    fn from(unit: TimestampUnit) -> TimeUnit {
        match unit {
            TimestampUnit::Ns => TimeUnit::Nanosecond,
            TimestampUnit::Us => TimeUnit::Microsecond,
            TimestampUnit::Ms => TimeUnit::Millisecond,
        }
    }
}

impl ConversionOptions {
    /// A conversion with these options. SIGINT and SIGTERM end it without output.
    pub fn conversion(&self, inputs: &[PathBuf], output: &Path) -> Result<Conversion, Failure> {
        let defaults = Conversion::new(Path::new(""), output);
        let watched = defaults.interruption.on_signals();
        watched.map_err(Failure::io(output, "wait for signals while writing"))?;
        Ok(Conversion {
            inputs: inputs.to_vec(),
            input_format: self.input_format,
            text: TextOptions {
                source: self.source.clone(),
                types: self.types.iter().cloned().collect(),
                checks_null_texts: !self.source.null_text.is_empty(),
                ..TextOptions::default()
            },
            sort_by: self.sort_by.clone(),
            sort_index: self.sort_index.clone().unwrap_or(SortIndex::All),
            drop: self.drop.clone(),
            timestamp_unit: self.timestamp_unit.map(TimeUnit::from),
            memory_limit: self.memory_limit,
            threads: self.threads.map_or(defaults.threads, usize::from),
            isolation: Some(Isolation::in_this_program()),
            ..defaults
        })
    }
}

pub fn run(arguments: &ConvertArguments, json: bool) -> Result<(), Failure> {
    if arguments.preview {
        return run_preview(arguments, json);
    }
    let output = match &arguments.output {
        Some(output) => output.clone(),
        None => default_output(&arguments.inputs)?,
    };
    let conversion = arguments.options.conversion(&arguments.inputs, &output)?;
    let report = convert(&Conversion { replace: arguments.force, ..conversion })?;
    tell_warnings(&report.input, &report.warnings);
    if json { print_json(&report) } else { print_text(&report.to_string()) }
}

fn run_preview(arguments: &ConvertArguments, json: bool) -> Result<(), Failure> {
    let conversion = arguments.options.conversion(&arguments.inputs, Path::new("preview"))?;
    let text = TextOptions { is_preview: true, ..conversion.text };
    let preview = preview(&Conversion { text, ..conversion })?;
    tell_warnings(&preview.input, &preview.warnings);
    if json { print_json(&preview) } else { print_text(&preview.to_string()) }
}

/// The name of the only input with `.mcol`.
fn default_output(inputs: &[PathBuf]) -> Result<PathBuf, Failure> {
    match inputs {
        [only] if only.as_os_str() != STANDARD_INPUT && only.file_name().is_some() => {
            let mut name = stem(only).into_os_string();
            name.push(".mcol");
            Ok(PathBuf::from(name))
        }
        _ => Err(Failure::Usage(
            "--output OUT.mcol: expected with several inputs, with standard input, and with a folder without a name".into(),
        )),
    }
}

/// Prints the warnings of a conversion on standard error.
pub fn tell_warnings(input: &str, warnings: &[String]) {
    for warning in warnings {
        let line: String = warning.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        eprintln!("mercato-tools: warning: {input}: {line}");
    }
}

fn parse_sort_index(text: &str) -> Result<SortIndex, String> {
    match text {
        "all" => Ok(SortIndex::All),
        "none" => Ok(SortIndex::None),
        names if names.split(',').any(str::is_empty) => Err("an empty column name".into()),
        names => Ok(SortIndex::Only(names.split(',').map(str::to_owned).collect())),
    }
}

fn parse_type(text: &str) -> Result<(String, ColumnType), String> {
    let (name, kind) = text.rsplit_once('=').ok_or("expected COL=TYPE")?;
    Ok((name.to_owned(), kind.parse()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_types() {
        assert_eq!(parse_type("a=b=date").map(|(name, _)| name), Ok("a=b".to_owned()));
        assert!(parse_type("a").is_err() && parse_type("a=text").is_err());
    }

    #[test]
    fn parses_sort_indexes() {
        assert_eq!(parse_sort_index("all"), Ok(SortIndex::All));
        assert_eq!(parse_sort_index("a,b c"), Ok(SortIndex::Only(vec!["a".into(), "b c".into()])));
        assert!(parse_sort_index("a,,b").is_err());
    }
}
