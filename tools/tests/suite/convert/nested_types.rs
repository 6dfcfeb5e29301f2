//! Types with long names: lists of wide structs, deep structs, maps of structs. Only the name is truncated.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int32Array, ListArray, MapArray, StringArray, StructArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field};
use mercato_format::Table;
use mercato_format::limits::NAME_BYTES_MAX;
use parquet::file::properties::WriterProperties;

use crate::cli::refused;
use crate::convert::files;
use crate::convert::read_back::{converted, refusal};

/// A struct of `width` texts of one row, whose fields have long names.
fn wide(width: usize) -> ArrayRef {
    let field = |number: usize| {
        let name = format!("a_field_with_a_long_name_of_number_{number:03}");
        let value: ArrayRef = Arc::new(StringArray::from(vec![format!("value {number}")]));
        (Arc::new(Field::new(name, DataType::Utf8, true)), value)
    };
    Arc::new(StructArray::from((0..width).map(field).collect::<Vec<_>>()))
}

fn list_of(item: ArrayRef) -> ArrayRef {
    let field = Arc::new(Field::new("item", item.data_type().clone(), true));
    let offsets = OffsetBuffer::from_lengths([item.len()]);
    Arc::new(ListArray::new(field, offsets, item, None))
}

fn map_to(value: ArrayRef) -> ArrayRef {
    let key: ArrayRef = Arc::new(StringArray::from(vec!["k"]));
    let entries = StructArray::from(vec![
        (Arc::new(Field::new("key", DataType::Utf8, false)), key),
        (Arc::new(Field::new("value", value.data_type().clone(), true)), value),
    ]);
    let field = Arc::new(Field::new("entries", entries.data_type().clone(), false));
    Arc::new(MapArray::new(field, OffsetBuffer::from_lengths([1]), entries, None, false))
}

/// Twenty nested structs below a list.
fn deep() -> ArrayRef {
    let mut inner: ArrayRef = Arc::new(Int32Array::from(vec![7]));
    for level in 0..20 {
        let name = format!("level_{level:02}_of_a_type_that_goes_deeper_than_its_readers_expect");
        let field = Arc::new(Field::new(name, inner.data_type().clone(), true));
        inner = Arc::new(StructArray::from(vec![(field, inner)]));
    }
    list_of(inner)
}

fn check(name: &str, column: ArrayRef, part: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in.parquet");
    files::write(&path, vec![(name, column)], WriterProperties::builder().build());
    let rows = converted(&path);
    assert!(rows[0][name].contains(part), "{name}: {}", rows[0][name]);
    let table = Table::open(&path.with_extension("mcol")).unwrap();
    let source_type = &table.columns()[0].source_type;
    assert!(source_type.len() <= NAME_BYTES_MAX && source_type.ends_with('…'), "{name}: {source_type}");
    let begins = ["list<struct<", "list<map<", "map<"].iter().any(|start| source_type.starts_with(start));
    assert!(begins, "{name}: {source_type}");
}

#[test]
fn truncates_long_type_names() {
    check("wide", list_of(wide(30)), "a_field_with_a_long_name_of_number_029");
    check("deep", deep(), "level_00_of_a_type");
    check("map", map_to(wide(40)), "value 39");
    check("maps", list_of(map_to(list_of(wide(40)))), "value 39");
}

fn write_long_name(folder: &Path, name: &str) {
    let columns: Vec<(&str, ArrayRef)> =
        vec![(name, Arc::new(Int32Array::from(vec![1]))), ("b", Arc::new(Int32Array::from(vec![2])))];
    files::write(&folder.join("in.parquet"), columns, WriterProperties::builder().build());
}

#[test]
fn rejects_too_long_column_name() {
    let folder = tempfile::tempdir().unwrap();
    let name = "n".repeat(NAME_BYTES_MAX + 1);
    write_long_name(folder.path(), &name);
    let reason = refusal(&folder.path().join("in.parquet"));
    for word in ["in.parquet", "column `nnnnnn", "1024 bytes", "1025 bytes", "--drop"] {
        assert!(reason.contains(word), "`{word}` is not in: {reason}");
    }
    let words = ["in.parquet", "column `nnnnnn"];
    refused(folder.path(), &["convert", "in.parquet", "--sort-index", "b"], 1, &words);
    let dropped = crate::cli::json(folder.path(), &["convert", "in.parquet", "--json", "--drop", &name]);
    assert_eq!(dropped["columns"].as_array().unwrap().len(), 1);
}

#[test]
fn accepts_longest_column_name() {
    let folder = tempfile::tempdir().unwrap();
    let name = "n".repeat(NAME_BYTES_MAX);
    write_long_name(folder.path(), &name);
    assert_eq!(converted(&folder.path().join("in.parquet"))[0][&name], "1");
}
