//! One file of each format version, made once, opened for ever.

use std::path::Path;

use mercato_format::Table;

use crate::corruption::{read_everything, small_file};

fn golden(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden").join(name)
}

#[test]
fn the_file_of_version_1_opens_and_verifies() {
    let table = Table::open(&golden("v1.mcol")).unwrap();
    table.verify(&|_| ()).unwrap();
    assert_eq!(table.row_count(), 5);
    assert_eq!(table.columns()[0].name, "plain text");
    assert!(read_everything(&table) > 50);
}

#[test]
fn todays_writer_still_makes_the_bytes_of_version_1() {
    assert_eq!(std::fs::read(golden("v1.mcol")).unwrap(), small_file());
}
