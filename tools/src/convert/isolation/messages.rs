//! The messages between supervisor and worker.

use std::collections::HashMap;
use std::ffi::OsString;

use mercato_catalog::{ColumnType, SourceOptions};
use mercato_format::{ColumnKind, ColumnSpec, TimeUnit};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::convert::inputs::InputFormat;
use crate::convert::isolation::Limits;
use crate::convert::text::TextOptions;
use crate::convert::{Conversion, Preview, Report, SortIndex};
use crate::failure::Failure;
use crate::interruption::Interruption;

#[derive(Debug, Serialize, Deserialize)]
pub struct Job {
    pub limits: Limits,
    /// Whether only the columns are wanted.
    pub is_preview: bool,
    inputs: Vec<OsString>,
    input_format: Option<InputFormat>,
    source: Value,
    types: Vec<(String, TypeMessage)>,
    declared: Vec<(String, TypeMessage)>,
    checks_null_texts: bool,
    append_to: Option<OsString>,
    sort_by: Vec<String>,
    output: OsString,
    replace: bool,
    sort_index: SortIndex,
    drop: Vec<String>,
    inherited_index: bool,
    inherited_drop: bool,
    timestamp_unit: Option<UnitMessage>,
    memory_limit: u64,
    threads: usize,
    progress: bool,
}

#[derive(Debug, Serialize, Deserialize)]
pub enum Event {
    /// A new progress bar, and how far it is.
    Bar {
        label: String,
        total: u64,
        unit: String,
    },
    Position(u64),
    Unfinished(OsString),
    /// A thread reads a section of a file, or has read it.
    Reading {
        thread: u64,
        file: String,
        section: String,
    },
    Read {
        thread: u64,
    },
    /// The columns, before any value is read. The worker waits for an empty line.
    Columns(Vec<ColumnMessage>),
    /// The report, and the inherited names that no file has, which its JSON leaves out.
    Converted(Box<Report>, Vec<String>),
    Previewed(Preview),
    Failed {
        message: String,
        exit_code: u8,
    },
}

#[derive(Debug, Serialize, Deserialize)]
pub struct ColumnMessage {
    name: String,
    #[serde(with = "KindMessage")]
    kind: ColumnKind,
    nullable: bool,
    source_type: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(remote = "ColumnKind")]
enum KindMessage {
    Text,
    Integer,
    Decimal {
        precision: u8,
        scale: u8,
    },
    Float,
    Boolean,
    Date,
    Timestamp {
        #[serde(with = "UnitRemote")]
        unit: TimeUnit,
    },
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(remote = "TimeUnit")]
enum UnitRemote {
    Second,
    Millisecond,
    Microsecond,
    Nanosecond,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct UnitMessage(#[serde(with = "UnitRemote")] TimeUnit);

#[derive(Debug, Serialize, Deserialize)]
enum TypeMessage {
    Kind(#[serde(with = "KindMessage")] ColumnKind),
    Datetime,
}

impl Job {
    pub fn of(conversion: &Conversion, limits: Limits, is_preview: bool) -> Job {
        let text = &conversion.text;
        Job {
            limits,
            is_preview,
            inputs: conversion.inputs.iter().map(|path| path.clone().into()).collect(),
            input_format: conversion.input_format,
            source: source_message(&text.source),
            types: type_messages(&text.types),
            declared: type_messages(&text.declared),
            checks_null_texts: text.checks_null_texts,
            append_to: conversion.append_to.clone().map(Into::into),
            sort_by: conversion.sort_by.clone(),
            output: conversion.output.clone().into(),
            replace: conversion.replace,
            sort_index: conversion.sort_index.clone(),
            drop: conversion.drop.clone(),
            inherited_index: conversion.inherited_index,
            inherited_drop: conversion.inherited_drop,
            timestamp_unit: conversion.timestamp_unit.map(UnitMessage),
            memory_limit: conversion.memory_limit,
            threads: conversion.threads,
            progress: conversion.progress,
        }
    }

    /// The conversion, for the process that does it.
    pub fn conversion(self, interruption: Interruption) -> serde_json::Result<Conversion> {
        Ok(Conversion {
            inputs: self.inputs.into_iter().map(Into::into).collect(),
            input_format: self.input_format,
            text: TextOptions {
                source: serde_json::from_value(self.source)?,
                types: self.types.into_iter().map(|(name, kind)| (name, kind.into())).collect(),
                declared: self.declared.into_iter().map(|(name, kind)| (name, kind.into())).collect(),
                checks_null_texts: self.checks_null_texts,
                is_preview: self.is_preview,
            },
            append_to: self.append_to.map(Into::into),
            sort_by: self.sort_by,
            output: self.output.into(),
            replace: self.replace,
            sort_index: self.sort_index,
            drop: self.drop,
            inherited_index: self.inherited_index,
            inherited_drop: self.inherited_drop,
            timestamp_unit: self.timestamp_unit.map(|UnitMessage(unit)| unit),
            memory_limit: self.memory_limit,
            threads: self.threads,
            progress: self.progress,
            interruption,
            isolation: None,
        })
    }
}

impl Event {
    pub fn failed(failure: &Failure) -> Event {
        Event::Failed { message: failure.one_line(), exit_code: failure.exit_code() }
    }
}

impl From<&ColumnSpec> for ColumnMessage {
    fn from(spec: &ColumnSpec) -> ColumnMessage {
        let ColumnSpec { name, kind, nullable, source_type } = spec.clone();
        ColumnMessage { name, kind, nullable, source_type }
    }
}

impl From<ColumnMessage> for ColumnSpec {
    fn from(message: ColumnMessage) -> ColumnSpec {
        let ColumnMessage { name, kind, nullable, source_type } = message;
        ColumnSpec { name, kind, nullable, source_type }
    }
}

impl From<TypeMessage> for ColumnType {
    fn from(message: TypeMessage) -> ColumnType {
        match message {
            TypeMessage::Kind(kind) => ColumnType::Kind(kind),
            TypeMessage::Datetime => ColumnType::Datetime,
        }
    }
}

fn type_messages(types: &HashMap<String, ColumnType>) -> Vec<(String, TypeMessage)> {
    let message = |kind: &ColumnType| match kind {
        ColumnType::Kind(kind) => TypeMessage::Kind(*kind),
        ColumnType::Datetime => TypeMessage::Datetime,
    };
    types.iter().map(|(name, kind)| (name.clone(), message(kind))).collect()
}

/// The options of a source as in the table `[source]` of dataset.toml.
fn source_message(source: &SourceOptions) -> Value {
    let delimiter = source.delimiter.map(|delimiter| char::from(delimiter.0).to_string());
    let encoding = source.encoding.and_then(|encoding| clap::ValueEnum::to_possible_value(&encoding));
    let mut message = json!({
        "delimiter": delimiter.map(|mark| mark.replace('\t', "tab")),
        "null_text": source.null_text,
        "decimal": source.decimal.map(|mark| mark.0.to_string()),
        "thousands": source.thousands.map(|mark| mark.0.to_string()),
        "date_format": source.date_format.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "encoding": encoding.as_ref().map(clap::builder::PossibleValue::get_name),
        "skip_lines": source.skip_lines,
        "no_header": source.no_header,
        "sheet": source.sheet,
    });
    if let Value::Object(fields) = &mut message {
        fields.retain(|_, value| !value.is_null());
    }
    message
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;
    use std::time::Duration;

    use super::*;

    #[test]
    fn conversion_survives_the_way_to_the_worker() {
        let source = "delimiter = \"tab\"\nnull_text = [\"n/a\", \"-\"]\ndecimal = \",\"\nthousands = \" \"\n\
                      date_format = \"%d/%m/%Y\"\nencoding = \"windows-1252\"\nskip_lines = 2\nno_header = false\n\
                      sheet = \"Dati\"\n";
        let unit = TimeUnit::Millisecond;
        let types = [("a", "datetime"), ("b", "decimal(12,2)"), ("c", "datetime(ms)")];
        let types = types.map(|(name, kind)| (name.to_owned(), kind.parse().unwrap()));
        let sent = Conversion {
            inputs: vec![OsStr::from_bytes(b"\xff.csv").into(), "-".into()],
            input_format: Some(InputFormat::Tsv),
            text: TextOptions {
                source: toml::from_str(source).unwrap(),
                types: types.clone().into(),
                declared: types.into(),
                checks_null_texts: true,
                is_preview: false,
            },
            append_to: Some("old.mcol".into()),
            sort_by: vec!["a".into()],
            sort_index: SortIndex::Only(vec!["b".into()]),
            drop: vec!["x".into()],
            inherited_drop: true,
            timestamp_unit: Some(unit),
            threads: 3,
            progress: false,
            ..Conversion::new(Path::new(""), Path::new("out.mcol"))
        };
        let limits = Limits { memory_bytes: 1, file_bytes: None, decoder_time_max: Duration::from_secs(1) };
        let line = serde_json::to_string(&Job::of(&sent, limits, false)).unwrap();
        let job: Job = serde_json::from_str(&line).unwrap();
        let found = job.conversion(sent.interruption.clone()).unwrap();
        assert_eq!(format!("{:?}", sorted(found)), format!("{:?}", sorted(sent)));
        let empty = Conversion::new(Path::new("a"), Path::new("b"));
        let job = Job::of(&empty, limits, true).conversion(Interruption::default()).unwrap();
        assert!(job.text.source == SourceOptions::default() && job.text.is_preview);
    }

    /// The options, with the types in an order.
    fn sorted(conversion: Conversion) -> impl std::fmt::Debug {
        let sorted = |types: &HashMap<String, ColumnType>| {
            let mut types: Vec<_> = types.clone().into_iter().collect();
            types.sort_by(|one, other| one.0.cmp(&other.0));
            types
        };
        let (types, declared) = (sorted(&conversion.text.types), sorted(&conversion.text.declared));
        let text = TextOptions { types: HashMap::new(), declared: HashMap::new(), ..conversion.text };
        (types, declared, Conversion { text, ..conversion })
    }
}
