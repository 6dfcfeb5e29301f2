//! Rows of the TPC-H generators as Arrow columns. Does not depend on files.

use std::fmt::{Display, Write};
use std::sync::Arc;

use arrow_array::builder::StringViewBuilder;
use arrow_array::{
    ArrayRef, Date32Array, Decimal128Array, Int32Array, Int64Array, RecordBatch, StringViewArray,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use tpchgen::dates::TPCHDate;
use tpchgen::decimal::TPCHDecimal;
use tpchgen::generators::{Customer, LineItem, Nation, Order, Part, PartSupp, Region, Supplier};

/// Rows of a batch at most.
const BATCH_ROWS: usize = 8_000;
/// The type of amounts.
const AMOUNT: DataType = DataType::Decimal128(15, 2);

pub(super) type Batches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>;
/// Columns of a table with their names, in their order. No table has nulls.
pub(super) type Columns = Vec<(&'static str, ArrayRef)>;

pub(super) fn batches<R: 'static>(
    mut rows: impl Iterator<Item = R> + Send + 'static,
    columns: fn(&[R]) -> Columns,
) -> Batches {
    Box::new(std::iter::from_fn(move || {
        let batch: Vec<R> = rows.by_ref().take(BATCH_ROWS).collect();
        (!batch.is_empty()).then(|| {
            let columns = columns(&batch).into_iter();
            RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, false)))
        })
    }))
}

pub(super) fn schema(columns: &Columns) -> SchemaRef {
    let field =
        |(name, array): &(&'static str, ArrayRef)| Field::new(*name, array.data_type().clone(), false);
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}

pub(super) fn line_items(rows: &[LineItem<'_>]) -> Columns {
    vec![
        ("l_orderkey", longs(rows, |row| row.l_orderkey)),
        ("l_partkey", longs(rows, |row| row.l_partkey)),
        ("l_suppkey", longs(rows, |row| row.l_suppkey)),
        ("l_linenumber", integers(rows, |row| row.l_linenumber)),
        ("l_quantity", amounts(rows, |row| TPCHDecimal::new(row.l_quantity * 100))),
        ("l_extendedprice", amounts(rows, |row| row.l_extendedprice)),
        ("l_discount", amounts(rows, |row| row.l_discount)),
        ("l_tax", amounts(rows, |row| row.l_tax)),
        ("l_returnflag", texts(rows, |row| row.l_returnflag)),
        ("l_linestatus", texts(rows, |row| row.l_linestatus)),
        ("l_shipdate", days(rows, |row| row.l_shipdate)),
        ("l_commitdate", days(rows, |row| row.l_commitdate)),
        ("l_receiptdate", days(rows, |row| row.l_receiptdate)),
        ("l_shipinstruct", texts(rows, |row| row.l_shipinstruct)),
        ("l_shipmode", texts(rows, |row| row.l_shipmode)),
        ("l_comment", texts(rows, |row| row.l_comment)),
    ]
}

pub(super) fn orders(rows: &[Order<'_>]) -> Columns {
    vec![
        ("o_orderkey", longs(rows, |row| row.o_orderkey)),
        ("o_custkey", longs(rows, |row| row.o_custkey)),
        ("o_orderstatus", printed(rows, |row| row.o_orderstatus)),
        ("o_totalprice", amounts(rows, |row| row.o_totalprice)),
        ("o_orderdate", days(rows, |row| row.o_orderdate)),
        ("o_orderpriority", texts(rows, |row| row.o_orderpriority)),
        ("o_clerk", printed(rows, |row| row.o_clerk)),
        ("o_shippriority", integers(rows, |row| row.o_shippriority)),
        ("o_comment", texts(rows, |row| row.o_comment)),
    ]
}

pub(super) fn customers(rows: &[Customer<'_>]) -> Columns {
    vec![
        ("c_custkey", longs(rows, |row| row.c_custkey)),
        ("c_name", printed(rows, |row| row.c_name)),
        ("c_address", printed(rows, |row| &row.c_address)),
        ("c_nationkey", longs(rows, |row| row.c_nationkey)),
        ("c_phone", printed(rows, |row| &row.c_phone)),
        ("c_acctbal", amounts(rows, |row| row.c_acctbal)),
        ("c_mktsegment", texts(rows, |row| row.c_mktsegment)),
        ("c_comment", texts(rows, |row| row.c_comment)),
    ]
}

pub(super) fn parts(rows: &[Part<'_>]) -> Columns {
    vec![
        ("p_partkey", longs(rows, |row| row.p_partkey)),
        ("p_name", printed(rows, |row| &row.p_name)),
        ("p_mfgr", printed(rows, |row| row.p_mfgr)),
        ("p_brand", printed(rows, |row| row.p_brand)),
        ("p_type", texts(rows, |row| row.p_type)),
        ("p_size", integers(rows, |row| row.p_size)),
        ("p_container", texts(rows, |row| row.p_container)),
        ("p_retailprice", amounts(rows, |row| row.p_retailprice)),
        ("p_comment", texts(rows, |row| row.p_comment)),
    ]
}

pub(super) fn parts_of_suppliers(rows: &[PartSupp<'_>]) -> Columns {
    vec![
        ("ps_partkey", longs(rows, |row| row.ps_partkey)),
        ("ps_suppkey", longs(rows, |row| row.ps_suppkey)),
        ("ps_availqty", integers(rows, |row| row.ps_availqty)),
        ("ps_supplycost", amounts(rows, |row| row.ps_supplycost)),
        ("ps_comment", texts(rows, |row| row.ps_comment)),
    ]
}

pub(super) fn suppliers(rows: &[Supplier]) -> Columns {
    vec![
        ("s_suppkey", longs(rows, |row| row.s_suppkey)),
        ("s_name", printed(rows, |row| row.s_name)),
        ("s_address", printed(rows, |row| &row.s_address)),
        ("s_nationkey", longs(rows, |row| row.s_nationkey)),
        ("s_phone", printed(rows, |row| &row.s_phone)),
        ("s_acctbal", amounts(rows, |row| row.s_acctbal)),
        ("s_comment", texts(rows, |row| &row.s_comment)),
    ]
}

pub(super) fn nations(rows: &[Nation<'_>]) -> Columns {
    vec![
        ("n_nationkey", longs(rows, |row| row.n_nationkey)),
        ("n_name", texts(rows, |row| row.n_name)),
        ("n_regionkey", longs(rows, |row| row.n_regionkey)),
        ("n_comment", texts(rows, |row| row.n_comment)),
    ]
}

pub(super) fn regions(rows: &[Region<'_>]) -> Columns {
    vec![
        ("r_regionkey", longs(rows, |row| row.r_regionkey)),
        ("r_name", texts(rows, |row| row.r_name)),
        ("r_comment", texts(rows, |row| row.r_comment)),
    ]
}

fn longs<R>(rows: &[R], value: impl Fn(&R) -> i64) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(rows.iter().map(value)))
}

fn integers<R>(rows: &[R], value: impl Fn(&R) -> i32) -> ArrayRef {
    Arc::new(Int32Array::from_iter_values(rows.iter().map(value)))
}

fn amounts<R>(rows: &[R], value: impl Fn(&R) -> TPCHDecimal) -> ArrayRef {
    let cents = rows.iter().map(|row| i128::from(value(row).into_inner()));
    Arc::new(Decimal128Array::from_iter_values(cents).with_data_type(AMOUNT))
}

fn days<R>(rows: &[R], value: impl Fn(&R) -> TPCHDate) -> ArrayRef {
    Arc::new(Date32Array::from_iter_values(rows.iter().map(|row| value(row).to_unix_epoch())))
}

fn texts<'r, R>(rows: &'r [R], value: impl Fn(&'r R) -> &'r str) -> ArrayRef {
    Arc::new(StringViewArray::from_iter_values(rows.iter().map(value)))
}

/// Texts that the generator keeps in another form.
fn printed<'r, R, T: Display>(rows: &'r [R], value: impl Fn(&'r R) -> T) -> ArrayRef {
    let mut builder = StringViewBuilder::with_capacity(rows.len());
    let mut text = String::new();
    for row in rows {
        text.clear();
        // Writing into a String cannot fail.
        let _infallible = write!(text, "{}", value(row));
        builder.append_value(&text);
    }
    Arc::new(builder.finish())
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Date32Type, Decimal128Type, Int32Type, Int64Type};
    use tpchgen::generators::{
        CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator,
        PartSuppGenerator, RegionGenerator, SupplierGenerator,
    };

    use super::*;

    /// A value as TPC-H prints it.
    fn shown(name: &str, column: &ArrayRef, row: usize) -> String {
        match column.data_type() {
            DataType::Int64 => column.as_primitive::<Int64Type>().value(row).to_string(),
            DataType::Int32 => column.as_primitive::<Int32Type>().value(row).to_string(),
            DataType::Date32 => column.as_primitive::<Date32Type>().value_as_date(row).unwrap().to_string(),
            DataType::Utf8View => column.as_string_view().value(row).to_owned(),
            amount => {
                assert_eq!(*amount, AMOUNT);
                let text = column.as_primitive::<Decimal128Type>().value_as_string(row);
                if name == "l_quantity" { text.strip_suffix(".00").unwrap().to_owned() } else { text }
            }
        }
    }

    /// Compares columns with the lines that the generator prints itself.
    #[track_caller]
    fn check<R: Display + Clone + Send + 'static>(
        rows: impl Iterator<Item = R>,
        columns: fn(&[R]) -> Columns,
    ) {
        let rows: Vec<R> = rows.take(BATCH_ROWS + 10).collect();
        let mut lines = rows.iter().map(ToString::to_string);
        for batch in batches(rows.clone().into_iter(), columns) {
            let batch = batch.unwrap();
            assert_eq!(batch.schema(), schema(&columns(&[])));
            let fields = batch.schema();
            for row in 0..batch.num_rows() {
                let named = fields.fields().iter().zip(batch.columns());
                let line: String =
                    named.map(|(field, column)| shown(field.name(), column, row) + "|").collect();
                assert_eq!(Some(line), lines.next());
            }
        }
        assert_eq!(lines.next(), None);
    }

    #[test]
    fn fills_columns_with_values_of_generator() {
        check(LineItemGenerator::new(0.01, 1, 1).iter(), line_items);
        check(OrderGenerator::new(0.01, 1, 1).iter(), orders);
        check(CustomerGenerator::new(0.01, 1, 1).iter(), customers);
        check(PartGenerator::new(0.01, 1, 1).iter(), parts);
        check(PartSuppGenerator::new(0.01, 1, 1).iter(), parts_of_suppliers);
        check(SupplierGenerator::new(0.01, 1, 1).iter(), suppliers);
        check(NationGenerator::new(0.01, 1, 1).iter(), nations);
        check(RegionGenerator::new(0.01, 1, 1).iter(), regions);
    }
}
