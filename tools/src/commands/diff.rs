//! The command `diff A B`. Parses its options, opens both versions and prints what changed.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use mercato::config::byte_size;
use mercato_catalog::DataDirectory;
use mercato_format::{Table, encode};
use semver::Version;

use super::publish::slug;
use super::{print_json, print_text};
use crate::diff::{self, DiffOptions, compare};
use crate::failure::Failure;
use crate::progress;

/// Tell what changed between two versions: columns, and rows by key columns.
///
/// A version is a store file, or SLUG@VERSION of a data directory. Rows are compared with --key: columns with a sort index
/// whose values no two rows share. One key column needs no memory; several need 16 bytes a row.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mercato-tools diff old.mcol new.mcol --key id
  mercato-tools diff sales@1.0.0 sales@1.1.0 --data /var/lib/mercato --key day,store --markdown >> changelog.md")]
pub struct DiffArguments {
    /// The version before.
    #[arg(value_name = "A")]
    pub before: String,
    /// The version after.
    #[arg(value_name = "B")]
    pub after: String,
    /// Columns whose values together name a row. Without them, only columns are compared.
    #[arg(long, value_name = "COL,..", value_delimiter = ',')]
    pub key: Vec<String>,
    /// The server's data directory, for SLUG@VERSION.
    #[arg(long, value_name = "DATA_DIR")]
    pub data: Option<PathBuf>,
    /// Most examples of each kind of change.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(0..=1_000))]
    pub examples: u16,
    /// Print a draft for changelog.md.
    #[arg(long)]
    pub markdown: bool,
    /// Memory for the order of several key columns.
    #[arg(long, value_name = "BYTES", default_value = "2GiB", value_parser = byte_size)]
    pub memory_limit: u64,
}

pub fn run(arguments: &DiffArguments, json: bool) -> Result<(), Failure> {
    let paths = (path_of(&arguments.before, arguments)?, path_of(&arguments.after, arguments)?);
    let open = |path: &PathBuf| Table::open(path).map_err(Failure::store(path));
    let tables = (open(&paths.0)?, open(&paths.1)?);
    let before = diff::Version { name: &arguments.before, path: &paths.0, table: &tables.0 };
    let after = diff::Version { name: &arguments.after, path: &paths.1, table: &tables.1 };
    let options = DiffOptions {
        key: arguments.key.clone(),
        examples: arguments.examples.into(),
        memory_limit: arguments.memory_limit,
    };
    let rows = u64::from(tables.0.row_count().max(tables.1.row_count()));
    let difference = compare(&before, &after, &options, &progress::bar("compare", rows, "rows"))?;
    for (table, path) in [(&tables.0, &paths.0), (&tables.1, &paths.1)] {
        table.check_intact().map_err(Failure::store(path))?;
    }
    if json {
        return print_json(&difference);
    }
    if arguments.markdown {
        let version = arguments.after.rsplit_once('@').map_or("NEXT", |(_, version)| version);
        return print_text(&difference.markdown(version, &today()));
    }
    print_text(&difference.to_string())
}

/// The store file of a version: `SLUG@VERSION` in a data directory, or a path.
fn path_of(typed: &str, arguments: &DiffArguments) -> Result<PathBuf, Failure> {
    let Some((name, version)) = typed.rsplit_once('@').filter(|_| arguments.data.is_some()) else {
        return Ok(PathBuf::from(typed));
    };
    let version = Version::parse(version)
        .map_err(|error| Failure::Usage(format!("{typed}: expected SLUG@VERSION; version: {error}")))?;
    let data = arguments.data.clone().unwrap_or_default();
    Ok(DataDirectory::new(&data).dataset(&slug(name)?).store(&version))
}

/// The day in UTC.
fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let mut day = Vec::new();
    encode::push_date(&mut day, i64::try_from(seconds / 86_400).unwrap_or(0));
    String::from_utf8(day).unwrap_or_default()
}
