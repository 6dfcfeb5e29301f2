//! The eight TPC-H tables as Parquet files. Does not depend on store files or datasets.

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use arrow_schema::SchemaRef;
use indicatif::ProgressBar;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator,
    RegionGenerator, SupplierGenerator,
};

use super::tpch::{self, Batches};
use crate::failure::Failure;

/// Rows of a row group.
const ROW_GROUP_ROWS: usize = 1_000_000;
/// Most batches that wait for the Parquet writer.
const BATCHES_WAITING_MAX: usize = 16;
/// Order lines of an order, on average.
const LINES_OF_AN_ORDER: u64 = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    LineItem,
    Orders,
    DemoAccount,
    Part,
    PartSupp,
    Supplier,
    Nation,
    Region,
}

impl Table {
    /// All tables, the largest first.
    pub const ALL: [Table; 8] = [
        Table::LineItem,
        Table::Orders,
        Table::DemoAccount,
        Table::Part,
        Table::PartSupp,
        Table::Supplier,
        Table::Nation,
        Table::Region,
    ];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Table::LineItem => "lineitem",
            Table::Orders => "orders",
            Table::DemoAccount => "customer",
            Table::Part => "part",
            Table::PartSupp => "partsupp",
            Table::Supplier => "supplier",
            Table::Nation => "nation",
            Table::Region => "region",
        }
    }

    /// Rows at a scale factor; approximate for order lines.
    #[must_use]
    pub fn rows(self, scale: f64) -> u64 {
        let count = |rows: i64| rows.unsigned_abs();
        match self {
            Table::LineItem => count(OrderGenerator::calculate_row_count(scale, 1, 1)) * LINES_OF_AN_ORDER,
            Table::Orders => count(OrderGenerator::calculate_row_count(scale, 1, 1)),
            Table::DemoAccount => count(CustomerGenerator::calculate_row_count(scale, 1, 1)),
            Table::Part => count(PartGenerator::calculate_row_count(scale, 1, 1)),
            Table::PartSupp => count(PartSuppGenerator::calculate_row_count(scale, 1, 1)),
            Table::Supplier => count(SupplierGenerator::calculate_row_count(scale, 1, 1)),
            Table::Nation => 25,
            Table::Region => 5,
        }
    }

    #[must_use]
    pub fn schema(self) -> SchemaRef {
        match self {
            Table::LineItem => tpch::schema(&tpch::line_items(&[])),
            Table::Orders => tpch::schema(&tpch::orders(&[])),
            Table::DemoAccount => tpch::schema(&tpch::customers(&[])),
            Table::Part => tpch::schema(&tpch::parts(&[])),
            Table::PartSupp => tpch::schema(&tpch::parts_of_suppliers(&[])),
            Table::Supplier => tpch::schema(&tpch::suppliers(&[])),
            Table::Nation => tpch::schema(&tpch::nations(&[])),
            Table::Region => tpch::schema(&tpch::regions(&[])),
        }
    }

    fn batches(self, scale: f64) -> Batches {
        match self {
            Table::LineItem => tpch::batches(LineItemGenerator::new(scale, 1, 1).iter(), tpch::line_items),
            Table::Orders => tpch::batches(OrderGenerator::new(scale, 1, 1).iter(), tpch::orders),
            Table::DemoAccount => tpch::batches(CustomerGenerator::new(scale, 1, 1).iter(), tpch::customers),
            Table::Part => tpch::batches(PartGenerator::new(scale, 1, 1).iter(), tpch::parts),
            Table::PartSupp => {
                tpch::batches(PartSuppGenerator::new(scale, 1, 1).iter(), tpch::parts_of_suppliers)
            }
            Table::Supplier => tpch::batches(SupplierGenerator::new(scale, 1, 1).iter(), tpch::suppliers),
            Table::Nation => tpch::batches(NationGenerator::new(scale, 1, 1).iter(), tpch::nations),
            Table::Region => tpch::batches(RegionGenerator::new(scale, 1, 1).iter(), tpch::regions),
        }
    }
}

/// Writes a table as Parquet with ZSTD. A rename puts the complete file at `path`.
pub fn write(table: Table, scale: f64, path: &Path, bar: &ProgressBar) -> Result<(), Failure> {
    let mut batches = table.batches(scale);
    let schema = table.schema();
    let (sender, receiver) = sync_channel(BATCHES_WAITING_MAX);
    write_whole(path, |file| {
        std::thread::scope(|scope| {
            // The generator runs ahead of the writer, and stops when the writer ends.
            scope.spawn(move || batches.try_for_each(|batch| sender.send(batch)));
            write_batches(file, &schema, receiver.into_iter(), bar)
        })
    })
}

/// Writes one batch as Parquet.
pub fn write_batch(batch: RecordBatch, path: &Path, bar: &ProgressBar) -> Result<(), Failure> {
    let schema = batch.schema();
    write_whole(path, |file| write_batches(file, &schema, std::iter::once(Ok(batch)), bar))
}

fn write_whole(path: &Path, write: impl FnOnce(&File) -> io::Result<()>) -> Result<(), Failure> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    let builder = builder.permissions(Permissions::from_mode(0o644));
    let file = builder.tempfile_in(folder).map_err(Failure::io(folder, "create a file in"))?;
    write(file.as_file()).map_err(Failure::io(path, "write"))?;
    file.as_file().sync_all().map_err(Failure::io(path, "sync"))?;
    file.persist(path).map_err(|error| Failure::io(path, "put into place")(error.error))?;
    Ok(())
}

fn write_batches(
    file: &File,
    schema: &SchemaRef,
    batches: impl Iterator<Item = Result<RecordBatch, ArrowError>>,
    bar: &ProgressBar,
) -> io::Result<()> {
    let compression = Compression::ZSTD(ZstdLevel::try_new(3).map_err(as_io)?);
    let properties = WriterProperties::builder()
        .set_compression(compression)
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .build();
    let mut writer = ArrowWriter::try_new(file, Arc::clone(schema), Some(properties)).map_err(as_io)?;
    for batch in batches {
        let batch = batch.map_err(io::Error::other)?;
        writer.write(&batch).map_err(as_io)?;
        bar.inc(batch.num_rows() as u64);
    }
    writer.close().map_err(as_io)?;
    Ok(())
}

fn as_io(error: ParquetError) -> io::Error {
    io::Error::other(error)
}
