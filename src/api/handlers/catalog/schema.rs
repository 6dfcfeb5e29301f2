//! The columns of a dataset as a JSON Schema (2020-12) and as an ordered list.

use std::collections::HashMap;

use serde::{Serialize, Serializer};
use serde_json::json;
use serde_json::value::RawValue;

use crate::api::handlers::catalog::sample::spaced_rows;
use mercato_catalog::{
    ColumnKind, ColumnMeta, Dataset, DatasetVersion, FormatError, Language, LogicalType, Table,
};
use mercato_query::SortSupport;
use mercato_query::render::{Format, has_expanded_years, render_rows};

const DATE_PATTERN: &str = "^([0-9]{4}|[+-][0-9]{6,})-[0-9]{2}-[0-9]{2}$";
/// Rows examined for the examples of a schema.
const EXAMPLE_ROW_COUNT_MAX: u32 = 20;
const DATE_TIME_PATTERN: &str =
    "^([0-9]{4}|[+-][0-9]{6,})-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?Z$";

/// The document in `data`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SchemaDocument {
    #[serde(rename = "$schema")]
    schema: &'static str,
    title: String,
    r#type: &'static str,
    #[serde(serialize_with = "in_order")]
    properties: Vec<(String, Property)>,
    required: Vec<String>,
    additional_properties: bool,
    version: String,
    query: Offered,
    columns: Vec<ColumnLine>,
}

/// What the publisher offers to queries.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Offered {
    groups: &'static str,
    min_group_rows: u32,
}

/// One property of the JSON Schema.
#[derive(Serialize)]
struct Property {
    r#type: PropertyType,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pattern: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    examples: Option<[Box<RawValue>; 1]>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum PropertyType {
    Always(&'static str),
    OrNull([&'static str; 2]),
}

/// One column of the ordered list.
#[derive(Serialize)]
pub struct ColumnLine {
    name: String,
    r#type: &'static str,
    nullable: bool,
    sortable: bool,
    indexed: bool,
    description: Option<String>,
    example: Option<Box<RawValue>>,
}

impl SchemaDocument {
    /// The ordered list of columns.
    pub fn into_columns(self) -> Vec<ColumnLine> {
        self.columns
    }
}

impl ColumnLine {
    /// Its name and its type.
    pub fn name_and_type(&self) -> (&str, &str) {
        (&self.name, self.r#type)
    }
}

/// Describes a version; examples come from the manifest, else from the data.
pub fn document(
    dataset: &Dataset,
    version: &DatasetVersion,
    language: Option<Language>,
) -> Result<SchemaDocument, FormatError> {
    let table = &version.table;
    let columns = table.columns();
    let examples = examples(version)?;
    let mut properties = Vec::with_capacity(columns.len());
    let mut lines = Vec::with_capacity(columns.len());
    for (number, (column, found)) in columns.iter().zip(examples).enumerate() {
        let support = SortSupport::of(&version.table, number)?;
        let text = text_form(table, number, column.kind)?;
        let note = dataset.manifest.columns.get(&column.name);
        let description = note.and_then(|note| note.description.choose(language)).map(str::to_owned);
        let noted = note.and_then(|note| note.example.as_ref()).and_then(raw_example);
        let example = noted.or_else(|| RawValue::from_string(found.clone()?).ok());
        properties.push((column.name.clone(), property(column, text, description.clone(), example.clone())));
        lines.push(ColumnLine {
            name: column.name.clone(),
            r#type: column.kind.logical().name(),
            nullable: column.nullable,
            sortable: support.sortable,
            indexed: support.indexed,
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
        version: version.version.to_string(),
        query: Offered {
            groups: dataset.manifest.query.groups_word(),
            min_group_rows: dataset.manifest.query.min_group_rows,
        },
        columns: lines,
    })
}

/// A value of each column as an example, out of the data; nothing for a column without any.
pub fn examples(version: &DatasetVersion) -> Result<&[Option<String>], FormatError> {
    version.examples(examples_from_data)
}

fn property(
    column: &ColumnMeta,
    text: TextForm,
    description: Option<String>,
    example: Option<Box<RawValue>>,
) -> Property {
    let name = match column.kind.logical() {
        LogicalType::Datetime => "string",
        other => other.name(),
    };
    // Numbers that JSON cannot express print as null, so a column of doubles may hold null in any case.
    let nullable = column.nullable || matches!(column.kind, ColumnKind::Float);
    Property {
        r#type: if nullable { PropertyType::OrNull([name, "null"]) } else { PropertyType::Always(name) },
        format: text.format,
        pattern: text.pattern,
        description,
        examples: example.map(|example| [example]),
    }
}

/// Constraints on the strings of a property.
#[derive(Clone, Copy, Default)]
struct TextForm {
    format: Option<&'static str>,
    pattern: Option<&'static str>,
}

/// The formats `date` and `date-time` are those of RFC 3339, whose years have four digits. A column with a year outside
/// 0000 to 9999 gets a pattern instead, which admits the expanded years of ISO 8601.
fn text_form(table: &Table, column: usize, kind: ColumnKind) -> Result<TextForm, FormatError> {
    let (format, pattern) = match kind {
        ColumnKind::Date => ("date", DATE_PATTERN),
        ColumnKind::Timestamp { .. } => ("date-time", DATE_TIME_PATTERN),
        _ => return Ok(TextForm::default()),
    };
    Ok(if has_expanded_years(table, column)? {
        TextForm { format: None, pattern: Some(pattern) }
    } else {
        TextForm { format: Some(format), pattern: None }
    })
}

/// A JSON object whose members stand in the order of the columns.
fn in_order<S: Serializer>(properties: &[(String, Property)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(properties.iter().map(|(name, property)| (name, property)))
}

fn raw_example(example: &toml::Value) -> Option<Box<RawValue>> {
    let value = match example {
        toml::Value::Datetime(moment) => json!(moment.to_string()),
        other => serde_json::to_value(other).ok()?,
    };
    RawValue::from_string(value.to_string()).ok()
}

/// The first value of each column that is not null, among a few rows of the file, encoded as in responses.
fn examples_from_data(table: &Table) -> Result<Vec<Option<String>>, FormatError> {
    let rows = spaced_rows(table.row_count(), EXAMPLE_ROW_COUNT_MAX);
    let columns: Vec<usize> = (0..table.columns().len()).collect();
    let mut text = Vec::new();
    render_rows(Format::Json, table, &columns, &rows, &mut text)?;
    let parsed: Vec<HashMap<String, Box<RawValue>>> = serde_json::from_slice(&text).unwrap_or_default();
    let first_of = |name: &String| {
        let mut values = parsed.iter().filter_map(|row| row.get(name)).map(|value| value.get());
        values.find(|value| *value != "null").map(str::to_owned)
    };
    Ok(table.columns().iter().map(|column| first_of(&column.name)).collect())
}
