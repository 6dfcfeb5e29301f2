//! Files with the maximum number of columns: every value of every column is read back.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, ListArray, StringArray, StructArray};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::Field;
use mercato_format::Table;
use mercato_tools::convert::{Conversion, SortIndex, convert};
use parquet::file::properties::WriterProperties;

use crate::convert::files;
use crate::convert::read_back::{Rows, converted};

/// The maximum number of columns, as in the README.
const COLUMNS: usize = 16_384;
/// Columns of each kind; the last kind has the remainder.
const OF_A_KIND: usize = COLUMNS / 4;
const ROWS: usize = 3;

/// A unique number for a cell. The null row depends on the column.
fn number(column: usize, row: usize) -> Option<i64> {
    (!(column + row).is_multiple_of(5)).then_some((column * ROWS + row) as i64)
}

fn integers(column: usize) -> ArrayRef {
    Arc::new(Int64Array::from_iter((0..ROWS).map(|row| number(column, row))))
}

fn texts(column: usize) -> ArrayRef {
    let text = |row| number(column, row).map(|number| format!("t{number}"));
    Arc::new(StringArray::from_iter((0..ROWS).map(text)))
}

fn field(name: &str, of: &ArrayRef) -> Arc<Field> {
    Arc::new(Field::new(name, of.data_type().clone(), true))
}

/// A struct that is null in the second row.
fn group(columns: Vec<(String, ArrayRef)>) -> ArrayRef {
    let (fields, arrays): (Vec<_>, Vec<_>) =
        columns.into_iter().map(|(name, column)| (field(&name, &column), column)).unzip();
    let nulls = NullBuffer::from((0..ROWS).map(|row| row != 1).collect::<Vec<_>>());
    Arc::new(StructArray::new(fields.into(), arrays, Some(nulls)))
}

/// Lists of one struct with two leaves each.
fn lists(column: usize) -> ArrayRef {
    let fields = |name: &str, values: ArrayRef| (field(name, &values), values);
    let shifted = Int32Array::from_iter_values((0..ROWS).map(|row| (column + row) as i32));
    let items: ArrayRef =
        Arc::new(StructArray::from(vec![fields("a", integers(column)), fields("b", Arc::new(shifted))]));
    let item = Arc::new(Field::new("item", items.data_type().clone(), true));
    Arc::new(ListArray::new(item, OffsetBuffer::from_lengths([1; ROWS]), items, None))
}

/// A quarter plain integers, a quarter texts inside one struct, a quarter integers two structs deep, and lists.
fn write(path: &Path) {
    let inner = (0..OF_A_KIND).map(|column| (format!("i{column}"), integers(column))).collect();
    let mut outer: Vec<_> = (0..OF_A_KIND).map(|column| (format!("t{column}"), texts(column))).collect();
    outer.insert(OF_A_KIND / 2, ("deep".to_owned(), group(inner)));
    let mut columns: Vec<_> = (0..OF_A_KIND).map(|column| (format!("n{column}"), integers(column))).collect();
    columns.push(("wide".to_owned(), group(outer)));
    columns.extend((0..OF_A_KIND).map(|column| (format!("l{column}"), lists(column))));
    let columns = columns.iter().map(|(name, column)| (name.as_str(), Arc::clone(column))).collect();
    let properties = WriterProperties::builder().set_dictionary_enabled(false).build();
    files::write(path, columns, properties);
}

/// The expected JSON of a cell.
fn expected(name: &str, row: usize) -> String {
    let (kind, column) = name.split_at(name.rfind(|c: char| !c.is_ascii_digit()).unwrap() + 1);
    let column: usize = column.parse().unwrap();
    let number = number(column, row);
    let plain = number.map_or("null".to_owned(), |number| number.to_string());
    match kind {
        "n" => plain,
        "wide.t" | "wide.deep.i" if row == 1 => "null".to_owned(),
        "wide.t" => number.map_or("null".to_owned(), |number| format!("\"t{number}\"")),
        "wide.deep.i" => plain,
        "l" => format!(r#""[{{\"a\":{plain},\"b\":{}}}]""#, column + row),
        other => unreachable!("{other}"),
    }
}

fn check(rows: &Rows, columns: usize) {
    assert_eq!(rows.len(), ROWS);
    for (number, row) in rows.iter().enumerate() {
        assert_eq!(row.len(), columns);
        for (name, value) in row {
            assert_eq!(*value, expected(name, number), "{name}, row {number}");
        }
    }
}

#[test]
fn keeps_every_value_of_widest_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in.parquet");
    write(&path);
    check(&converted(&path), COLUMNS);
}

#[test]
fn drops_and_sorts_thousands_of_columns() {
    let folder = tempfile::tempdir().unwrap();
    let (path, output) = (folder.path().join("in.parquet"), folder.path().join("out.mcol"));
    write(&path);
    let deep = (0..OF_A_KIND).step_by(2).map(|column| format!("wide.deep.i{column}"));
    let lists = (0..OF_A_KIND).map(|column| format!("l{column}"));
    let sorted: Vec<_> = (0..OF_A_KIND).map(|column| format!("n{column}")).collect();
    let mut conversion = Conversion::new(&path, &output);
    conversion.progress = false;
    conversion.drop = deep.chain(lists).collect();
    conversion.sort_index = SortIndex::Only(sorted.clone());
    let report = convert(&conversion).unwrap();
    assert_eq!(report.columns.len(), OF_A_KIND * 2 + OF_A_KIND / 2);
    for line in &report.columns {
        assert_eq!(
            line.sort_index == "none",
            !line.name.starts_with('n'),
            "{}: {}",
            line.name,
            line.sort_index
        );
    }
    let table = Table::open(&output).unwrap();
    assert_eq!(table.column_index("wide.deep.i0"), None);
    assert!(table.column_index("wide.deep.i1").is_some() && table.column_index("wide.t0").is_some());
}
