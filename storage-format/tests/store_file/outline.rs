//! Outlines: an inflated one opens with the same columns, and hostile ones are refused.

use std::fs;
use std::os::unix::fs::MetadataExt;

use mercato_format::outline::inflate;
use mercato_format::writer::{Column, ColumnValues, temporary_table, write_table};
use mercato_format::{ColumnKind, Table};
use proptest::prelude::*;

use crate::random_table;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn shows_columns_rows_and_fingerprint_of_random_tables(columns in random_table::table()) {
        let whole = temporary_table(&columns).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("outline");
        assert_eq!(inflate(&whole.outline().unwrap(), &path).unwrap(), whole.file_bytes());
        let outline = Table::open(&path).unwrap();
        assert_eq!(outline.fingerprint(), whole.fingerprint());
        assert_eq!((outline.row_count(), outline.file_bytes()), (whole.row_count(), whole.file_bytes()));
        assert_eq!(outline.columns(), whole.columns());
        // The sections that are left out are found missing, and nothing of them panics.
        for column in 0..outline.columns().len() {
            let _ = outline.column(column).map(|column| column.order());
        }
    }

    #[test]
    fn refuses_damaged_outlines(place in any::<prop::sample::Index>(), bit in 0u8..8, cut in any::<bool>()) {
        let mut outline = small().outline().unwrap();
        let at = place.index(outline.len());
        if cut { outline.truncate(at) } else { outline[at] ^= 1 << bit }
        let folder = tempfile::tempdir().unwrap();
        assert!(inflate(&outline, &folder.path().join("outline")).is_err());
    }
}

fn small() -> Table {
    let values = ColumnValues::Integers((0..100).map(Some).collect());
    temporary_table(&[Column::new("id", ColumnKind::Integer, values)]).unwrap()
}

#[test]
fn holds_no_values_and_little_disk() {
    let folder = tempfile::tempdir().unwrap();
    let (store, path) = (folder.path().join("store"), folder.path().join("outline"));
    let values = (0..200_000i64).map(|row| Some(row * 7_919 % 1_000_003)).collect();
    let column = Column::new("id", ColumnKind::Integer, ColumnValues::Integers(values));
    write_table(&store, &[column]).unwrap();
    let whole = Table::open(&store).unwrap();
    let bytes = whole.outline().unwrap();
    assert!(bytes.len() < 8 * 1024, "{}", bytes.len());
    inflate(&bytes, &path).unwrap();
    let metadata = fs::metadata(&path).unwrap();
    assert_eq!(metadata.len(), whole.file_bytes());
    assert!(metadata.blocks() * 512 < 64 * 1024, "{}", metadata.blocks());
    assert!(Table::open(&path).unwrap().verify(&|_| ()).is_err(), "an outline is no sound store file");
}

#[test]
fn refuses_piece_outside_file() {
    let mut outline = small().outline().unwrap();
    let end = outline.len() - 8;
    outline[20..28].copy_from_slice(&(u64::MAX - 5).to_le_bytes());
    let sum = mercato_format::checksum::checksum(&outline[..end]).to_le_bytes();
    outline[end..].copy_from_slice(&sum);
    let folder = tempfile::tempdir().unwrap();
    let error = inflate(&outline, &folder.path().join("outline")).unwrap_err();
    assert!(error.to_string().contains("end of a piece"), "{error}");
}
