//! TPC-H `lineitem` as a store file, made straight from the generator and kept in the target folder.
//!
//! Does not depend on datasets or servers.

use std::path::{Path, PathBuf};

use mercato_format::{
    BuildOptions, ColumnBuilder, ColumnKind, ColumnSpec, Table, TableMetadata, TableWriter,
};
use mercato_query::render::append_lengths;
use tpchgen::generators::{LineItem, LineItemGenerator};

/// Path of the store file of that scale factor, with or without sort indexes; the first call makes it. 1 is
/// 6,001,215 rows.
pub fn store(scale: f64, sort_index: bool) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    std::fs::create_dir_all(&folder).unwrap();
    let version = (mercato_format::layout::VERSION_MAJOR, mercato_format::layout::VERSION_MINOR);
    let kind = if sort_index { "" } else { "-unsorted" };
    let path = folder.join(format!("tpch-lineitem-{scale}{kind}-v{}.{}.mcol", version.0, version.1));
    // A file of a former layout does not open.
    if Table::open(&path).is_err() {
        eprintln!("making {} ...", path.display());
        make(&path, scale, sort_index);
    }
    path
}

/// One value of a row.
enum Value<'a> {
    Number(i64),
    Text(&'a str),
}

type Field = (&'static str, ColumnKind, fn(&LineItem<'static>) -> Value<'static>);

fn fields() -> [Field; 16] {
    let decimal = ColumnKind::Decimal { precision: 15, scale: 2 };
    [
        ("l_orderkey", ColumnKind::Integer, |row| Value::Number(row.l_orderkey)),
        ("l_partkey", ColumnKind::Integer, |row| Value::Number(row.l_partkey)),
        ("l_suppkey", ColumnKind::Integer, |row| Value::Number(row.l_suppkey)),
        ("l_linenumber", ColumnKind::Integer, |row| Value::Number(row.l_linenumber.into())),
        ("l_quantity", decimal, |row| Value::Number(row.l_quantity * 100)),
        ("l_extendedprice", decimal, |row| Value::Number(row.l_extendedprice.0)),
        ("l_discount", decimal, |row| Value::Number(row.l_discount.0)),
        ("l_tax", decimal, |row| Value::Number(row.l_tax.0)),
        ("l_returnflag", ColumnKind::Text, |row| Value::Text(row.l_returnflag)),
        ("l_linestatus", ColumnKind::Text, |row| Value::Text(row.l_linestatus)),
        ("l_shipdate", ColumnKind::Date, |row| Value::Number(row.l_shipdate.to_unix_epoch().into())),
        ("l_commitdate", ColumnKind::Date, |row| Value::Number(row.l_commitdate.to_unix_epoch().into())),
        ("l_receiptdate", ColumnKind::Date, |row| Value::Number(row.l_receiptdate.to_unix_epoch().into())),
        ("l_shipinstruct", ColumnKind::Text, |row| Value::Text(row.l_shipinstruct)),
        ("l_shipmode", ColumnKind::Text, |row| Value::Text(row.l_shipmode)),
        ("l_comment", ColumnKind::Text, |row| Value::Text(row.l_comment)),
    ]
}

fn make(path: &Path, scale: f64, sort_index: bool) {
    let metadata =
        TableMetadata { source_schema: "TPC-H lineitem".into(), created_by: "mercato bench".into() };
    let mut writer = TableWriter::create(path, metadata).unwrap();
    // One pass of the generator a column: slower than one for all, but it needs memory for one column only.
    for (name, kind, value) in fields() {
        let spec = ColumnSpec { name: name.into(), kind, nullable: false, source_type: kind.name().into() };
        let folder = path.parent().unwrap().to_path_buf();
        let options = BuildOptions { memory_budget_bytes: 2 << 30, spill_directory: folder, sort_index };
        let mut builder = ColumnBuilder::new(spec, options);
        let generator: LineItemGenerator<'static> = LineItemGenerator::new(scale, 1, 1);
        for row in generator.iter() {
            match value(&row) {
                Value::Number(number) => builder.extend_integers(std::iter::once(Some(number))),
                Value::Text(text) => builder.extend_texts(std::iter::once(Some(text))),
            }
            .unwrap();
        }
        writer.append(builder.finish().unwrap()).unwrap();
    }
    // As the converter does, so that a download knows its length.
    writer.append_statistics().unwrap();
    append_lengths(&mut writer).unwrap();
    writer.commit(&|_| ()).unwrap();
}
