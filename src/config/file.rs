//! Reads the configuration file as flags, so that both are typed, checked and documented once.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{Error, Read};
use std::path::{Path, PathBuf};

use clap::error::{ContextKind, ContextValue};
use clap::parser::ValueSource;
use clap::{ArgMatches, Command};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::ConfigError;

/// Largest configuration file.
const CONFIG_SIZE_BYTES_MAX: u64 = 1024 * 1024;

/// The settings of a file that the command line does not give.
#[derive(Default)]
pub(super) struct Lines {
    path: PathBuf,
    words: Vec<OsString>,
    /// Line of each setting.
    lines: BTreeMap<String, usize>,
}

/// Reads the file that `typed` names, if any.
pub(super) fn read(typed: &ArgMatches, command: &Command) -> Result<Lines, ConfigError> {
    let named = typed.try_get_one::<PathBuf>("config").ok().flatten();
    let Some(path) = named else { return Ok(Lines::default()) };
    let text = text_of(path)?;
    let at = |byte: usize| {
        let before = text.get(..byte).unwrap_or_default();
        before.matches('\n').count().saturating_add(1)
    };
    let fault =
        |byte: usize, message: String| ConfigError::File { path: path.clone(), line: at(byte), message };
    let table = DeTable::parse(&text).map_err(|error| {
        fault(error.span().map_or(0, |span| span.start), error.message().replace('\n', "; "))
    })?;
    let mut lines = Lines { path: path.clone(), ..Lines::default() };
    for (name, value) in table.get_ref() {
        let flag = name.get_ref();
        let Some(id) = id_of(command, flag) else {
            return Err(fault(name.span().start, unknown(command, flag)));
        };
        if is_typed(typed, &id) {
            continue;
        }
        lines.lines.insert(flag.to_string(), at(name.span().start));
        let values = scalars(value).ok_or_else(|| {
            fault(value.span().start, format!("{flag}: expected a text, a number or a list of them"))
        })?;
        lines.words.extend(values.iter().map(|value| OsString::from(format!("--{flag}={value}"))));
    }
    Ok(lines)
}

fn text_of(path: &Path) -> Result<String, ConfigError> {
    let unreadable =
        |error: Error| ConfigError::Unreadable { path: path.to_owned(), message: error.to_string() };
    let mut text = String::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(CONFIG_SIZE_BYTES_MAX).read_to_string(&mut text).map_err(unreadable)?;
    Ok(text)
}

/// The flags that a file may set: all but its own path.
fn flags(command: &Command) -> impl Iterator<Item = &clap::Arg> {
    let serve = command.find_subcommand("serve").into_iter();
    serve.flat_map(Command::get_arguments).filter(|flag| flag.get_id() != "config")
}

fn id_of(command: &Command, name: &str) -> Option<String> {
    let flag = flags(command).find(|flag| flag.get_long() == Some(name))?;
    Some(flag.get_id().as_str().to_owned())
}

fn is_typed(typed: &ArgMatches, id: &str) -> bool {
    typed.value_source(id) == Some(ValueSource::CommandLine)
}

fn unknown(command: &Command, name: &str) -> String {
    let names = flags(command).filter_map(clap::Arg::get_long);
    let nearest = names
        .max_by(|left, right| strsim::jaro_winkler(left, name).total_cmp(&strsim::jaro_winkler(right, name)));
    format!("no setting is called `{name}`; the nearest is `{}`", nearest.unwrap_or_default())
}

fn scalars(value: &Spanned<DeValue<'_>>) -> Option<Vec<String>> {
    match value.get_ref() {
        DeValue::Array(items) => items.iter().map(|item| scalar(item.get_ref())).collect(),
        value => scalar(value).map(|text| vec![text]),
    }
}

fn scalar(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => Some(number.to_string()),
        DeValue::Float(number) => Some(number.to_string()),
        DeValue::Boolean(truth) => Some(truth.to_string()),
        DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => None,
    }
}

impl Lines {
    /// The settings as words of a command line.
    pub(super) fn words(&self) -> &[OsString] {
        &self.words
    }

    /// Says in which line of the file a fault stands, if it stands there.
    pub(super) fn place(&self, error: clap::Error) -> ConfigError {
        let flag = match error.get(ContextKind::InvalidArg) {
            Some(ContextValue::String(flag)) => flag.trim_start_matches('-').split([' ', '=']).next(),
            _ => None,
        };
        match flag.and_then(|flag| self.lines.get(flag)) {
            Some(line) => ConfigError::File {
                path: self.path.clone(),
                line: *line,
                message: error.to_string().lines().next().unwrap_or_default().replacen("error: ", "", 1),
            },
            None => ConfigError::Usage(error),
        }
    }
}
