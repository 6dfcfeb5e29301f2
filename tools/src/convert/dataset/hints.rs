//! The types of columns that Parquet, Arrow and store files have, which texts beside them take over. Does not depend on
//! texts.

use std::collections::HashMap;

use crate::convert::dataset::gather::Planned;
use crate::convert::dataset::widen::{Shape, TextForm};

/// The types of columns in files that are no texts.
pub(super) fn hints(planned: &[Option<Planned>]) -> HashMap<String, Shape> {
    let mut hints = HashMap::new();
    for planned in planned.iter().flatten() {
        match planned {
            Planned::Parquet(part) => {
                for column in part.plan.columns.iter().filter(|column| column.form != TextForm::Null) {
                    hints.entry(column.spec.name.clone()).or_insert_with(|| column.shape());
                }
            }
            Planned::Store(part) => {
                for column in part.table.columns() {
                    let shape = || Shape::of_store(column.kind, &column.source_type);
                    hints.entry(column.name.clone()).or_insert_with(shape);
                }
            }
        }
    }
    hints
}
