//! The columns of a dataset as a JSON Schema (2020-12) and as an ordered list.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::sample::spaced_rows;
use crate::catalog::{ColumnKind, ColumnMeta, Dataset, DatasetVersion, FormatError, LogicalType};
use crate::limits::http::EXAMPLE_ROW_COUNT_MAX;
use crate::render::{Format, render_rows};

/// The document that is answered as `data`.
#[derive(Serialize)]
pub(super) struct SchemaDocument {
    #[serde(rename = "$schema")]
    schema: &'static str,
    title: String,
    r#type: &'static str,
    properties: Map<String, Value>,
    required: Vec<String>,
    #[serde(rename = "additionalProperties")]
    additional_properties: bool,
    version: String,
    columns: Vec<ColumnLine>,
}

#[derive(Serialize)]
struct ColumnLine {
    name: String,
    r#type: &'static str,
    nullable: bool,
    description: Option<String>,
    example: Option<Box<RawValue>>,
}

/// Describes the current version; examples come from the manifest, else from the data.
pub(super) fn document(dataset: &Dataset) -> Result<SchemaDocument, FormatError> {
    let columns = dataset.current.table.columns();
    let examples = examples_from_data(&dataset.current)?;
    let mut properties = Map::new();
    let mut lines = Vec::with_capacity(columns.len());
    for column in columns {
        let note = dataset.manifest.columns.get(&column.name);
        let description = note.and_then(|note| note.description.clone());
        let noted = note.and_then(|note| note.example.as_ref()).and_then(raw_example);
        let example = noted.or_else(|| examples.get(&column.name).cloned());
        properties.insert(column.name.clone(), property(column, description.as_deref(), example.as_deref()));
        lines.push(ColumnLine {
            name: column.name.clone(),
            r#type: column.kind.logical().name(),
            nullable: column.nullable,
            description,
            example,
        });
    }
    Ok(SchemaDocument {
        schema: "https://json-schema.org/draft/2020-12/schema",
        title: dataset.slug().to_owned(),
        r#type: "object",
        required: columns.iter().map(|column| column.name.clone()).collect(),
        properties,
        additional_properties: false,
        version: dataset.current.version.to_string(),
        columns: lines,
    })
}

fn property(column: &ColumnMeta, description: Option<&str>, example: Option<&RawValue>) -> Value {
    let logical = column.kind.logical();
    let name = match logical {
        LogicalType::Datetime => "string",
        other => other.name(),
    };
    // Numbers that JSON cannot express print as null, so a column of doubles may hold null in any case.
    let nullable = column.nullable || matches!(column.kind, ColumnKind::Float);
    let mut property = Map::new();
    property.insert("type".to_owned(), if nullable { json!([name, "null"]) } else { json!(name) });
    match column.kind {
        ColumnKind::Date => drop(property.insert("format".to_owned(), json!("date"))),
        ColumnKind::Timestamp { .. } => drop(property.insert("format".to_owned(), json!("date-time"))),
        _ => {}
    }
    if let Some(description) = description {
        property.insert("description".to_owned(), json!(description));
    }
    if let Some(example) = example.and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok()) {
        property.insert("examples".to_owned(), json!([example]));
    }
    Value::Object(property)
}

fn raw_example(example: &toml::Value) -> Option<Box<RawValue>> {
    let value = match example {
        toml::Value::Datetime(moment) => json!(moment.to_string()),
        other => serde_json::to_value(other).ok()?,
    };
    RawValue::from_string(value.to_string()).ok()
}

/// The first value of each column that is not null, among a few rows of the file, spelled as answers spell it.
fn examples_from_data(version: &DatasetVersion) -> Result<HashMap<String, Box<RawValue>>, FormatError> {
    let table = &version.table;
    let rows = spaced_rows(table.row_count(), EXAMPLE_ROW_COUNT_MAX);
    let columns: Vec<usize> = (0..table.columns().len()).collect();
    let mut text = Vec::new();
    render_rows(Format::Json, table, &columns, &rows, &mut text)?;
    let parsed: Vec<HashMap<String, Box<RawValue>>> = serde_json::from_slice(&text).unwrap_or_default();
    let mut examples = HashMap::with_capacity(columns.len());
    for (name, value) in parsed.into_iter().flatten() {
        if value.get() != "null" {
            examples.entry(name).or_insert(value);
        }
    }
    Ok(examples)
}
