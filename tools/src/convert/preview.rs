//! The columns that a conversion would have: names, types, nulls and examples, found without keeping a row. A column that
//! mixes types has its refusal among the warnings. Does not depend on formats.

use std::collections::{HashMap, HashSet};
use std::fmt;

use mercato_format::{ColumnKind, ColumnSpec};
use serde::{Deserialize, Serialize};

use crate::convert::Conversion;
use crate::convert::dataset::gather::{Gathering, name_of};
use crate::convert::dataset::widen::Shape;
use crate::convert::inputs::InputFile;
use crate::convert::inputs::partitions::Partition;
use crate::convert::resources;
use crate::convert::text::{PreviewColumn, TextShapes};
use crate::failure::Failure;

/// What a conversion would make of its inputs.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Preview {
    /// The input: its name, or that of the first file and the number of others.
    pub input: String,
    pub rows: u64,
    pub columns: Vec<PreviewLine>,
    /// Warnings, and refusals of columns, one sentence each.
    pub warnings: Vec<String>,
}

/// What a conversion would make of a column.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PreviewLine {
    pub name: String,
    /// The type, in the words of `--type`; `null` if the column mixes types and would be refused.
    pub r#type: Option<String>,
    /// Rows without a value; `null` for columns that are not found in values.
    pub nulls: Option<u64>,
    /// Some values, as they are written.
    pub examples: Vec<String>,
}

pub(super) fn of_files(conversion: &Conversion, files: Vec<InputFile>) -> Result<Preview, Failure> {
    resources::allow_descriptors(files.len())?;
    let input = name_of(&files);
    let folders: Vec<Partition> = files.iter().flat_map(|file| file.partitions.clone()).collect();
    let mut gathering = Gathering::new(conversion);
    // Rows of Arrow files are spilled here, into files without a name.
    let directory = std::env::temp_dir();
    let planned = gathering.plan_all(&files, &directory)?;
    let (parts, reader) = gathering.read_texts(files, planned, &directory)?;
    gathering.check_types(&input, &reader)?;
    let texts = reader.preview();
    let rows = reader.row_count() + parts.iter().map(|part| part.rows).sum::<u64>();
    let is_text = parts.is_empty();
    let shapes: TextShapes = texts
        .iter()
        .filter_map(|text| Some((text.name.clone(), text.shape.as_ref().ok()?.clone())))
        .collect();
    let mut joined = Vec::new();
    if !is_text || !shapes.is_empty() || texts.is_empty() {
        let dataset = gathering.join(input.clone(), parts, &shapes)?;
        gathering.warnings = dataset.warnings;
        joined = dataset.columns.into_iter().map(|column| column.spec).collect();
    }
    let mut warnings = std::mem::take(&mut gathering.warnings);
    warnings.extend(reader.warnings());
    warnings.extend(texts.iter().filter_map(|text| Some(text.shape.as_ref().err()?.one_line())));
    let mut columns = lines(&joined, &texts, is_text);
    if is_text {
        columns.extend(folder_lines(&gathering.partition_shapes(folders.iter()), &folders));
    }
    Ok(Preview { input, rows, columns, warnings })
}

/// The columns that were found in values, in their order, and the others behind them.
fn lines(joined: &[ColumnSpec], texts: &[PreviewColumn], is_text: bool) -> Vec<PreviewLine> {
    let by_name: HashMap<&str, &ColumnSpec> =
        joined.iter().map(|column| (column.name.as_str(), column)).collect();
    let known: HashSet<&str> = texts.iter().map(|text| text.name.as_str()).collect();
    let found = texts.iter().map(|text| PreviewLine {
        name: text.name.clone(),
        r#type: text.shape.as_ref().ok().and(by_name.get(text.name.as_str())).map(|column| form(column.kind)),
        nulls: is_text.then_some(text.nulls),
        examples: text.examples.clone(),
    });
    let others = joined.iter().filter(|column| !known.contains(column.name.as_str()));
    let others = others.map(|column| PreviewLine {
        name: column.name.clone(),
        r#type: Some(form(column.kind)),
        nulls: None,
        examples: Vec::new(),
    });
    found.chain(others).collect()
}

/// The columns out of the names of folders.
fn folder_lines(shapes: &HashMap<String, Shape>, folders: &[Partition]) -> Vec<PreviewLine> {
    let mut lines: Vec<PreviewLine> = Vec::new();
    for folder in folders {
        if lines.iter().any(|line| line.name == folder.name) {
            continue;
        }
        lines.push(PreviewLine {
            name: folder.name.clone(),
            r#type: shapes.get(&folder.name).map(|shape| form(shape.kind)),
            nulls: None,
            examples: folder.value.iter().cloned().collect(),
        });
    }
    lines
}

/// A type in the words of `--type`.
fn form(kind: ColumnKind) -> String {
    match kind {
        ColumnKind::Text => "string".into(),
        ColumnKind::Integer => "integer".into(),
        ColumnKind::Float => "number".into(),
        ColumnKind::Decimal { precision, scale } => format!("decimal({precision},{scale})"),
        ColumnKind::Boolean => "boolean".into(),
        ColumnKind::Date => "date".into(),
        ColumnKind::Timestamp { unit } => match unit.digits() {
            0 => "datetime(s)".into(),
            3 => "datetime(ms)".into(),
            6 => "datetime(us)".into(),
            _ => "datetime(ns)".into(),
        },
    }
}

impl fmt::Display for Preview {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "{:32} {:14} {:>12}  examples", "column", "type", "nulls")?;
        for line in &self.columns {
            let nulls = line.nulls.map_or_else(|| "-".to_owned(), |nulls| nulls.to_string());
            let kind = line.r#type.as_deref().unwrap_or("mixed");
            let examples = line.examples.join(" | ");
            let examples: String = examples.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
            writeln!(out, "{:32} {kind:14} {nulls:>12}  {examples}", line.name)?;
        }
        write!(out, "{}: {} rows, {} columns; nothing was written", self.input, self.rows, self.columns.len())
    }
}
