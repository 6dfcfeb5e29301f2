//! Golden files, which every later version must open.

use std::path::Path;

use mercato_format::{ExportFormat, SortIndex, Table};

use crate::corruption::{constant_file, full_file, read_everything};
use crate::orders::postings_file;

fn golden(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden").join(name)
}

#[test]
fn opens_and_verifies_version_1() {
    let table = Table::open(&golden("v1.mcol")).unwrap();
    table.verify(&|_| ()).unwrap();
    assert_eq!(table.row_count(), 5);
    assert_eq!(table.columns()[0].name, "plain text");
    assert!(read_everything(&table) > 50);
    let totals = ExportFormat::ALL.map(|format| table.rendered_lengths(format).unwrap().total_bytes());
    assert_eq!(totals, [324, 638, 637]);
    let integer = table.statistics(2).unwrap().unwrap().numbers.unwrap();
    assert_eq!((integer.smallest, integer.largest, integer.sum), (-3, 900, Some(909)));
    assert_eq!(integer.quantiles, Some([-3, -3, 5, 7, 900]));
    let text = table.statistics(0).unwrap().unwrap();
    assert_eq!((text.summarised, text.texts), (4, Some((1, 4))));
}

#[test]
fn opens_constant_columns_of_version_1() {
    let table = Table::open(&golden("v1_constant.mcol")).unwrap();
    table.verify(&|_| ()).unwrap();
    assert!(read_everything(&table) > 50);
    assert_eq!(table.row_count(), 65);
    let constant = table.sections().filter(|section| section.kind == "codes");
    assert_eq!(
        constant.map(|section| (section.len, section.column)).collect::<Vec<_>>(),
        [(0, Some(0)), (0, Some(1)), (0, Some(2))]
    );
}

#[test]
fn opens_posting_lists_of_version_1() {
    let table = Table::open(&golden("v1_postings.mcol")).unwrap();
    table.verify(&|_| ()).unwrap();
    assert_eq!((table.row_count(), table.columns()[0].sort_index), (20_000, SortIndex::Postings));
}

#[test]
fn writer_reproduces_version_1_bytes() {
    assert_eq!(std::fs::read(golden("v1.mcol")).unwrap(), full_file());
    assert_eq!(std::fs::read(golden("v1_constant.mcol")).unwrap(), constant_file());
    assert_eq!(std::fs::read(golden("v1_postings.mcol")).unwrap(), postings_file());
}
