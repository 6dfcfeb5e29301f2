//! The command `convert IN.parquet`. Parses its options and runs the converter.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use mercato_format::TimeUnit;

use super::{print_json, print_text};
use crate::convert::{Conversion, Report, SortIndex, convert};
use crate::failure::Failure;

/// Convert a Parquet file into a store file.
///
/// Reads one column at a time, so that memory stays inside --memory-limit for files of any size. Fields of structs
/// become columns with dotted names; lists and maps become JSON text; bytes become Base64 text. An unsupported type is
/// an error that names its column. An error leaves no output.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mercato-tools convert sales.parquet
  mercato-tools convert sales.parquet --output /srv/sales.mcol --force --sort-index day,amount
  mercato-tools convert events.parquet --drop payload --drop user.address
  mercato-tools convert events.parquet --memory-limit 512MiB --json | jq .rowsPerSecond")]
pub struct ConvertArguments {
    /// The Parquet file.
    #[arg(value_name = "IN.parquet")]
    pub input: PathBuf,
    /// The store file. Default: the input's name with .mcol, beside it. A symbolic link is followed; a device or pipe is
    /// refused.
    #[arg(long, short, value_name = "OUT.mcol")]
    pub output: Option<PathBuf>,
    /// Replace the output when it exists.
    #[arg(long)]
    pub force: bool,
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
    #[arg(long, value_name = "BYTES", default_value = "2GiB", value_parser = parse_bytes)]
    pub memory_limit: u64,
    /// Drop a column, or a struct with all its columns. May be repeated. `publish` inherits the value of the previous
    /// version by default.
    #[arg(long, value_name = "COL")]
    pub drop: Vec<String>,
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
    ///
    /// # Errors
    /// When the signal handlers cannot be installed.
    pub fn conversion(&self, input: &Path, output: &Path) -> Result<Conversion, Failure> {
        let defaults = Conversion::new(input, output);
        let watched = defaults.interruption.on_signals();
        watched.map_err(Failure::io(output, "wait for signals while writing"))?;
        Ok(Conversion {
            sort_index: self.sort_index.clone().unwrap_or(SortIndex::All),
            drop: self.drop.clone(),
            timestamp_unit: self.timestamp_unit.map(TimeUnit::from),
            memory_limit: self.memory_limit,
            threads: self.threads.map_or(defaults.threads, usize::from),
            ..defaults
        })
    }
}

/// Runs the command.
///
/// # Errors
/// See [`convert`].
pub fn run(arguments: &ConvertArguments, json: bool) -> Result<(), Failure> {
    let output = arguments.output.clone().unwrap_or_else(|| arguments.input.with_extension("mcol"));
    let conversion = arguments.options.conversion(&arguments.input, &output)?;
    let report = convert(&Conversion { replace: arguments.force, ..conversion })?;
    tell_warnings(&report);
    if json { print_json(&report) } else { print_text(&report.to_string()) }
}

/// Prints the warnings of a conversion on standard error.
pub fn tell_warnings(report: &Report) {
    for warning in &report.warnings {
        let line: String = warning.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        eprintln!("mercato-tools: warning: {}: {line}", report.input);
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

/// Parses a size like `2GiB`, `512MB` or `1048576`.
///
/// # Errors
/// When the text is not a size.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit: u64 = match text.get(digits.len()..).unwrap_or_default() {
        "" | "B" => 1,
        "kB" | "KB" => 1_000,
        "KiB" => 1 << 10,
        "MB" => 1_000_000,
        "MiB" => 1 << 20,
        "GB" => 1_000_000_000,
        "GiB" => 1 << 30,
        other => return Err(format!("unknown unit `{other}`; expected B, KiB, MiB, GiB, KB, MB or GB")),
    };
    let number: u64 = digits.parse().map_err(|_| format!("`{digits}` is no whole number"))?;
    number.checked_mul(unit).ok_or_else(|| "more bytes than there are".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_sizes_with_units() {
        assert_eq!(parse_bytes("2GiB"), Ok(2 << 30));
        assert_eq!(parse_bytes("512MB"), Ok(512_000_000));
        assert_eq!(parse_bytes("77"), Ok(77));
        for wrong in ["", "GiB", "1.5GiB", "2 GiB", "2gib", "99999999999GiB"] {
            assert!(parse_bytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn parses_sort_indexes() {
        assert_eq!(parse_sort_index("all"), Ok(SortIndex::All));
        assert_eq!(parse_sort_index("a,b c"), Ok(SortIndex::Only(vec!["a".into(), "b c".into()])));
        assert!(parse_sort_index("a,,b").is_err());
    }
}
