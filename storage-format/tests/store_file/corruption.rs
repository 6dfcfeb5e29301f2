//! Damaged files: every read gives a value or an error, never a panic, and verification detects all damage.

use mercato_format::writer::{Column, ColumnValues, TableWriter, write_table_and};
use mercato_format::{ColumnData, ColumnKind, ExportFormat, FormatError, RenderedLengths, Table, TimeUnit};

/// A small file with every kind of section but constant codes.
pub fn full_file() -> Vec<u8> {
    let lengths = |start, end, total| RenderedLengths::new(1, 1_024, 5, &[start, end], total).unwrap();
    written(&small_columns(), |writer| {
        writer.append_statistics()?;
        writer.append_rendered_lengths(&[lengths(50, 324, 324), lengths(1, 637, 638), lengths(0, 637, 637)])
    })
}

/// The same without what follows from the columns.
pub fn plain_file() -> Vec<u8> {
    written(&small_columns(), |_| Ok(()))
}

/// A file with constant columns, which have no codes.
pub fn constant_file() -> Vec<u8> {
    let columns = [
        Column::new("text", ColumnKind::Text, ColumnValues::Texts(vec![Some("a,b".into()); 65])),
        Column::new("number", ColumnKind::Integer, ColumnValues::Integers(vec![Some(-7); 65])),
        Column::new("nothing", ColumnKind::Float, ColumnValues::Floats(vec![None; 65])),
    ];
    written(&columns, TableWriter::append_statistics)
}

pub fn written(
    columns: &[Column],
    derive: impl FnOnce(&mut TableWriter) -> Result<(), FormatError>,
) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("small.mcol");
    write_table_and(&path, columns, derive).unwrap();
    std::fs::read(path).unwrap()
}

/// Every storage, with and without nulls.
pub fn small_columns() -> [Column; 7] {
    let texts = |values: &[Option<&str>]| {
        ColumnValues::Texts(values.iter().map(|value| value.map(String::from)).collect())
    };
    [
        Column::new(
            "plain text",
            ColumnKind::Text,
            texts(&[Some("b\"1"), Some("a,2"), None, Some("c"), Some("d")]),
        ),
        Column::new(
            "repeated",
            ColumnKind::Text,
            texts(&[Some("x,y"), Some("x,y"), Some("z"), Some("z"), None]),
        ),
        Column::new(
            "integer",
            ColumnKind::Integer,
            ColumnValues::Integers(vec![Some(5), None, Some(-3), Some(900), Some(7)]),
        ),
        Column::new(
            "float",
            ColumnKind::Float,
            ColumnValues::Floats(vec![Some(0.5), Some(f64::NAN), Some(-0.0), Some(2.0), None]),
        ),
        Column::new(
            "flag",
            ColumnKind::Boolean,
            ColumnValues::Booleans(vec![Some(true), Some(false), None, Some(true), Some(true)]),
        ),
        Column::new(
            "wide",
            ColumnKind::Decimal { precision: 38, scale: 2 },
            ColumnValues::Wide(vec![Some(i128::MAX), Some(1), Some(2), None, Some(3)]),
        ),
        Column::new(
            "time",
            ColumnKind::Timestamp { unit: TimeUnit::Millisecond },
            ColumnValues::Integers(vec![Some(1), Some(2), Some(3), Some(4), Some(5)]),
        ),
    ]
}

/// Reads every value, every rank and every zone.
pub fn read_everything(table: &Table) -> usize {
    let rows = table.row_count();
    let mut touched = 0;
    for format in ExportFormat::ALL {
        let Some(lengths) = table.rendered_lengths(format) else { continue };
        touched += (0..lengths.chunk_count().saturating_add(3).min(9))
            .filter(|chunk| lengths.offset_of_chunk(*chunk).is_some())
            .count();
        touched += usize::from(lengths.chunk_at(lengths.total_bytes() / 2).is_some());
    }
    for column in 0..table.columns().len() {
        touched += usize::from(table.statistics(column).is_ok_and(|statistics| statistics.is_some()));
        let Ok(data) = table.column(column) else { continue };
        for row in 0..rows + 2 {
            touched += usize::from(data.order().row_at(row).is_some());
            touched += usize::from(data.zones().get(row as usize).is_some());
            touched += match &data {
                ColumnData::Dictionary(data) => {
                    let code = data.codes.get(row as usize).unwrap_or(u32::MAX - 5);
                    let texts =
                        data.json.get(code).is_some() || data.csv.is_some_and(|csv| csv.get(code).is_some());
                    usize::from(texts)
                        + usize::from(data.number_key(code).is_some())
                        + usize::from(data.ranks(0..code).is_some())
                }
                ColumnData::Numbers(data) => {
                    let key = data.wide_order_key(row).unwrap_or(0);
                    usize::from(data.lower_bound(key, row).is_some()) + usize::from(data.is_valid(row))
                }
                ColumnData::Texts(data) => {
                    usize::from(data.json(row).is_some())
                        + usize::from(data.lower_bound(b"c", false).is_some())
                }
            };
        }
    }
    touched
}

#[test]
fn verifies_sound_files() {
    for bytes in [full_file(), constant_file()] {
        let table = Table::from_bytes(bytes).unwrap();
        let report = table.verify(&|_| ()).unwrap();
        assert_eq!(report.columns, table.columns().len() as u64);
        assert!(read_everything(&table) > 50);
    }
}

#[test]
fn detects_every_flipped_byte() {
    let bytes = full_file();
    for at in 0..bytes.len() {
        for pattern in [0xFFu8, 0x01] {
            let mut damaged = bytes.clone();
            damaged[at] ^= pattern;
            let found = Table::from_bytes(damaged).and_then(|table| {
                read_everything(&table);
                table.verify(&|_| ())
            });
            assert!(found.is_err(), "a flip at byte {at} was not found");
        }
    }
}

#[test]
fn rejects_truncated_and_extended_files() {
    let bytes = full_file();
    for length in 0..bytes.len() {
        assert!(Table::from_bytes(bytes[..length].to_vec()).is_err(), "cut at {length}");
    }
    let mut longer = bytes;
    longer.push(0);
    assert!(matches!(Table::from_bytes(longer), Err(FormatError::WrongLength { .. })));
}

/// Recomputes all checksums after damage, so that only bounds and invariants can detect it.
pub fn reseal(bytes: &mut [u8]) {
    use mercato_format::checksum::{BLOCK_SIZE_BYTES, checksum, fingerprint, section_checksum};
    let word = |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let count = u32::from_le_bytes(bytes[36..40].try_into().unwrap()) as usize;
    let directory = word(bytes, 40);
    let records: Vec<usize> = (0..count).map(|record| directory + record * 64).collect();
    let table = records
        .iter()
        .find(|at| bytes[**at] == 4 && bytes[**at + 1] == 0)
        .map(|at| word(bytes, at + 16))
        .unwrap();
    for at in &records {
        if bytes[*at] != 51 {
            continue;
        }
        let column = bytes[at + 4..at + 8].to_vec();
        let places = records.iter().find(|at| bytes[**at] == 52 && bytes[**at + 4..**at + 8] == *column);
        let (blocks, len) = (word(bytes, at + 16), word(bytes, at + 24));
        let Some((places, count)) = places.map(|at| (word(bytes, at + 16), word(bytes, at + 24) / 8)) else {
            continue;
        };
        for number in 1..count {
            let start = word(bytes, places + (number - 1) * 8);
            let end = word(bytes, places + number * 8);
            if start <= len && end <= len && start.checked_add(8).is_some_and(|body| body <= end) {
                let sum = checksum(&bytes[blocks + start + 8..blocks + end]);
                let first = u32::from_le_bytes(column.as_slice().try_into().unwrap()) as usize;
                let sum = sum ^ mercato_format::blocks::block_salt(first, number as u32 - 1);
                bytes[blocks + start..blocks + start + 8].copy_from_slice(&sum.to_le_bytes());
            }
        }
    }
    for pass in [false, true] {
        for at in &records {
            if (bytes[*at] == 4) != pass {
                continue;
            }
            let (offset, len, first) = (word(bytes, at + 16), word(bytes, at + 24), word(bytes, at + 48));
            let blocks: Vec<u64> =
                bytes[offset..offset + len].chunks(BLOCK_SIZE_BYTES).map(checksum).collect();
            for (number, block) in blocks.iter().enumerate().filter(|_| !pass) {
                let slot = table + (first + number) * 8;
                bytes[slot..slot + 8].copy_from_slice(&block.to_le_bytes());
            }
            bytes[at + 40..at + 48].copy_from_slice(&section_checksum(&blocks).to_le_bytes());
        }
    }
    let end = bytes.len() - 64;
    let sum = checksum(&bytes[directory..end]);
    let print = fingerprint(&bytes[directory..end]);
    bytes[56..64].copy_from_slice(&sum.to_le_bytes());
    bytes[64..80].copy_from_slice(&print);
    let header = checksum(&bytes[..4088]);
    bytes[4088..4096].copy_from_slice(&header.to_le_bytes());
    bytes[end + 24..end + 32].copy_from_slice(&sum.to_le_bytes());
    bytes[end + 32..end + 48].copy_from_slice(&print);
    let trailer = checksum(&bytes[end..end + 56]);
    bytes[end + 56..end + 64].copy_from_slice(&trailer.to_le_bytes());
}

#[test]
fn resealing_sound_file_changes_nothing() {
    let mut bytes = full_file();
    reseal(&mut bytes);
    assert_eq!(bytes, full_file());
}

#[test]
fn survives_damage_under_valid_checksums() {
    let bytes = full_file();
    let sections: Vec<_> = Table::from_bytes(bytes.clone()).unwrap().sections().collect();
    let mut accepted = std::collections::BTreeMap::new();
    // Resealing recomputes the block checksums, so damage to them disappears.
    for section in sections.iter().filter(|section| section.kind != "block_checksums") {
        for at in section.offset as usize..(section.offset + section.len) as usize {
            for value in [0xFFu8, 0x80, bytes[at].wrapping_add(1), 0] {
                let mut lie = bytes.clone();
                lie[at] = value;
                reseal(&mut lie);
                let Ok(table) = Table::from_bytes(lie) else { continue };
                read_everything(&table);
                if value != bytes[at] && table.verify(&|_| ()).is_ok() {
                    *accepted.entry(section.kind).or_insert(0u32) += 1;
                }
            }
        }
    }
    // Names and values are arbitrary; derived data are not.
    let free = [
        "strings",
        "columns",
        "symbols",
        "row_blocks",
        "json_bytes",
        "values",
        "frames",
        "dictionary_values",
        "source_schema",
        // The format does not know how rows are rendered.
        "rendered_lengths",
    ];
    assert!(accepted.keys().all(|kind| free.contains(kind)), "{accepted:?}");
    assert!(accepted.values().sum::<u32>() < 900, "{accepted:?}");
}

#[test]
fn detects_damaged_statistics() {
    let bytes = full_file();
    let sections: Vec<_> = Table::from_bytes(bytes.clone()).unwrap().sections().collect();
    let (mut read, mut verified) = (0, 0);
    for section in sections.iter().filter(|section| section.kind == "statistics") {
        for at in section.offset as usize..(section.offset + section.len) as usize {
            let mut lie = bytes.clone();
            lie[at] ^= 0x55;
            reseal(&mut lie);
            let table = Table::from_bytes(lie).unwrap();
            match table.statistics(section.column.unwrap() as usize) {
                Err(error) => read += usize::from(error.to_string().contains("section statistics of column")),
                Ok(_) => verified += 1,
            }
            assert!(table.verify(&|_| ()).is_err(), "byte {at}");
        }
    }
    assert!(read > 300 && verified > 50, "{read} when read, {verified} when verified");
}

#[test]
fn rejects_duplicate_rendered_lengths() {
    let bytes = full_file();
    let directory = u64::from_le_bytes(bytes[40..48].try_into().unwrap()) as usize;
    let count = u32::from_le_bytes(bytes[36..40].try_into().unwrap()) as usize;
    let schema = (0..count).map(|record| directory + record * 64).find(|at| bytes[*at] == 33).unwrap();
    let mut lie = bytes;
    lie[schema] = 5;
    lie[schema + 4..schema + 8].copy_from_slice(&[0xFF; 4]);
    reseal(&mut lie);
    assert!(Table::from_bytes(lie).unwrap_err().to_string().contains("number of such sections"));
}
