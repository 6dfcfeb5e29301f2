//! TPC-H `lineitem` as a store file, made straight from the generator, and a request run from bytes to bytes.

use std::path::PathBuf;

use mercato::query::{QueryRequest, Selections, execute, plan};
use mercato::render::{Format, render_rows};
use mercato_format::{
    BuildOptions, ColumnBuilder, ColumnKind, ColumnSpec, Table, TableMetadata, TableWriter,
};
use tpchgen::generators::{LineItem, LineItemGenerator};

/// Where the store file lies.
pub fn path() -> PathBuf {
    let scale: f64 =
        std::env::var("MERCATO_BENCH_SCALE").map_or(1.0, |scale| scale.parse().expect("a number"));
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    std::fs::create_dir_all(&folder).unwrap();
    let version = (mercato_format::layout::VERSION_MAJOR, mercato_format::layout::VERSION_MINOR);
    let path = folder.join(format!("lineitem-{scale}-v{}.{}.mcol", version.0, version.1));
    if !path.exists() {
        eprintln!("making {} ...", path.display());
        make(&path, scale);
    }
    path
}

/// The open table.
pub fn lineitem() -> Table {
    Table::open(&path()).unwrap()
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

fn make(path: &std::path::Path, scale: f64) {
    let metadata =
        TableMetadata { source_schema: "TPC-H lineitem".into(), created_by: "mercato bench".into() };
    let mut writer = TableWriter::create(path, metadata).unwrap();
    // One pass of the generator a column: slower than one for all, but it needs memory for one column only.
    for (name, kind, value) in fields() {
        let spec = ColumnSpec { name: name.into(), kind, nullable: false, source_type: kind.name().into() };
        let folder = path.parent().unwrap().to_path_buf();
        let options =
            BuildOptions { memory_budget_bytes: 2 << 30, spill_directory: folder, sort_index: true };
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
    writer.commit(&|_| ()).unwrap();
}

/// Runs a request from the bytes of its body to the bytes of its rows; gives the next cursor.
pub fn run(table: &Table, body: &str, selections: &dyn Selections, out: &mut Vec<u8>) -> Option<String> {
    out.clear();
    let request = QueryRequest::from_json(body.as_bytes(), 1_000_000).unwrap();
    let plan = plan(&request, table, "lineitem@1.0.0").unwrap();
    let page = execute(&plan, selections).unwrap();
    render_rows(Format::Json, table, plan.columns(), &page.rows, out).unwrap();
    page.next_cursor
}
