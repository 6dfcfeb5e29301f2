//! Files of buggy or old writers that other readers accept, and precise errors for unsupported files.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mercato_format::FormatError;
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::file::metadata::{
    ColumnChunkMetaData, FileMetaData, ParquetMetaData, ParquetMetaDataWriter, RowGroupMetaData,
};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::SchemaDescriptor;

use crate::cli::{json, refused};
use crate::convert::raw_parquet::{Chunk, dictionary_page, encoded_page, file, file_with_leaf, page, values};
use crate::convert::read_back::{Rows, converted};

const PLAIN_DICTIONARY: i64 = 2;

fn put(folder: &Path, bytes: &[u8]) -> PathBuf {
    let path = folder.join("in.parquet");
    fs::write(&path, bytes).unwrap();
    path
}

fn column(rows: &Rows, name: &str) -> Vec<String> {
    rows.iter().map(|row| row[name].clone()).collect()
}

/// A dictionary of 10 and 20, and a page with 20, 20, 20, 10.
fn dictionary_pages() -> (Vec<u8>, usize, usize) {
    let (dictionary, header) = dictionary_page(2, &[10_i64.to_le_bytes(), 20_i64.to_le_bytes()].concat());
    let data = encoded_page(4, PLAIN_DICTIONARY, &[1, 3 << 1, 1, 1 << 1, 0], &[]);
    let data_page_offset = 4 + dictionary.len();
    ([dictionary, data].concat(), header, data_page_offset)
}

#[test]
fn reads_chunks_with_wrong_dictionary_offset() {
    let (pages, ..) = dictionary_pages();
    for offset in [Some(0), None, Some(9_999_999)] {
        let folder = tempfile::tempdir().unwrap();
        let chunk = Chunk { dictionary_page_offset: offset, ..Chunk::plain(4, pages.len()) };
        let rows = converted(&put(folder.path(), &file(&pages, &chunk)));
        assert_eq!(column(&rows, "a"), ["20", "20", "20", "10"], "{offset:?}");
    }
}

/// A table without rows as pyarrow writes it: each column has an empty dictionary, no data, and a data offset of 0.
#[test]
fn reads_empty_columns_with_dictionaries() {
    let schema = Arc::new(parse_message_type("message m { required int64 a; required int64 b; }").unwrap());
    let schema = Arc::new(SchemaDescriptor::new(schema));
    let (dictionary, _) = dictionary_page(0, &[]);
    let mut bytes = [b"PAR1".as_slice(), &dictionary, &dictionary].concat();
    let chunks = schema.columns().iter().enumerate().map(|(index, column)| {
        let length = dictionary.len() as i64;
        ColumnChunkMetaData::builder(column.clone())
            .set_dictionary_page_offset(Some(4 + index as i64 * length))
            .set_data_page_offset(0)
            .set_total_compressed_size(length)
            .set_total_uncompressed_size(length)
            .build()
            .unwrap()
    });
    let group =
        RowGroupMetaData::builder(schema.clone()).set_column_metadata(chunks.collect()).build().unwrap();
    let facts = ParquetMetaData::new(FileMetaData::new(1, 0, None, None, schema, None), vec![group]);
    ParquetMetaDataWriter::new(&mut bytes, &facts).finish().unwrap();
    let folder = tempfile::tempdir().unwrap();
    assert!(converted(&put(folder.path(), &bytes)).is_empty());
}

#[test]
fn reads_uncounted_page_header_of_old_writer() {
    let (pages, header, data_page_offset) = dictionary_pages();
    let chunk = |created_by| Chunk {
        dictionary_page_offset: Some(4),
        data_page_offset: data_page_offset as i64,
        created_by,
        ..Chunk::plain(4, pages.len() - header)
    };
    let folder = tempfile::tempdir().unwrap();
    let rows = converted(&put(folder.path(), &file(&pages, &chunk("parquet-mr version 1.2.8 (build a)"))));
    assert_eq!(column(&rows, "a"), ["20", "20", "20", "10"]);
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), &file(&pages, &chunk("parquet-mr version 1.10.0")));
    refused(folder.path(), &["convert", "in.parquet"], 1, &["in.parquet", "column `a`, row group 0"]);
}

#[test]
fn unknown_converted_type_keeps_physical_type() {
    let pages = page(3, &values(3), &[]);
    // INT64, required, `a`, converted type 24.
    let leaf = [0x15, 0x04, 0x25, 0x00, 0x18, 0x01, b'a', 0x25, 48, 0x00];
    let folder = tempfile::tempdir().unwrap();
    let path = put(folder.path(), &file_with_leaf(&pages, &Chunk::plain(3, pages.len()), &leaf));
    assert_eq!(column(&converted(&path), "a"), ["0", "1", "2"]);
}

/// Repeated fields without list annotations: at the top level, in a group, and as a group.
#[test]
fn reads_unannotated_repeated_fields_as_lists() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in.parquet");
    let schema = "message user {
        required int32 id;
        repeated int32 marks;
        optional group phoneNumbers { repeated group phone { required int64 number; optional binary kind (UTF8); } }
    }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let properties = Arc::new(WriterProperties::builder().build());
    let mut writer = SerializedFileWriter::new(fs::File::create(&path).unwrap(), schema, properties).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut leaf = group.next_column().unwrap().unwrap();
    leaf.typed::<Int32Type>().write_batch(&[1, 2, 3], None, None).unwrap();
    leaf.close().unwrap();
    let mut leaf = group.next_column().unwrap().unwrap();
    leaf.typed::<Int32Type>().write_batch(&[7, 8], Some(&[0, 1, 1, 0]), Some(&[0, 0, 1, 0])).unwrap();
    leaf.close().unwrap();
    // Row 1: no group; row 2: a group without phones; row 3: two phones.
    let mut leaf = group.next_column().unwrap().unwrap();
    leaf.typed::<Int64Type>().write_batch(&[5, 6], Some(&[0, 1, 2, 2]), Some(&[0, 0, 0, 1])).unwrap();
    leaf.close().unwrap();
    let mut leaf = group.next_column().unwrap().unwrap();
    let home = [ByteArray::from("home")];
    leaf.typed::<ByteArrayType>().write_batch(&home, Some(&[0, 1, 3, 2]), Some(&[0, 0, 0, 1])).unwrap();
    leaf.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    let rows = converted(&path);
    assert_eq!(column(&rows, "id"), ["1", "2", "3"]);
    assert_eq!(column(&rows, "marks"), ["\"[]\"", "\"[7,8]\"", "\"[]\""]);
    let phones = column(&rows, "phoneNumbers.phone");
    assert_eq!(phones[0], "null");
    assert_eq!(phones[1], "\"[]\"");
    assert_eq!(phones[2], r#""[{\"number\":5,\"kind\":\"home\"},{\"number\":6,\"kind\":null}]""#);
}

#[test]
fn wraps_utc_time_past_midnight() {
    let schema = |utc: bool| {
        format!(
            "message m {{ required int64 t (TIME(MICROS,{utc})); repeated int64 ts (TIME(MICROS,{utc})); }}"
        )
    };
    let hour = 3_600_000_000;
    let write = |folder: &Path, utc: bool, times: &[i64]| {
        let schema = Arc::new(parse_message_type(&schema(utc)).unwrap());
        let properties = Arc::new(WriterProperties::builder().build());
        let path = folder.join("in.parquet");
        let file = fs::File::create(&path).unwrap();
        let mut writer = SerializedFileWriter::new(file, schema, properties).unwrap();
        let mut group = writer.next_row_group().unwrap();
        for levels in [None, Some((vec![1_i16; times.len()], vec![0_i16; times.len()]))] {
            let (definition, repetition) = levels.unzip();
            let mut leaf = group.next_column().unwrap().unwrap();
            let typed = leaf.typed::<Int64Type>();
            typed.write_batch(times, definition.as_deref(), repetition.as_deref()).unwrap();
            leaf.close().unwrap();
        }
        group.close().unwrap();
        writer.close().unwrap();
        path
    };
    let folder = tempfile::tempdir().unwrap();
    let rows = converted(&write(folder.path(), true, &[-4 * hour, 28 * hour, 24 * hour, hour]));
    let expected = ["20:00:00.000000", "04:00:00.000000", "00:00:00.000000", "01:00:00.000000"];
    assert_eq!(column(&rows, "t"), expected.map(|time| format!("\"{time}\"")));
    assert_eq!(column(&rows, "ts"), expected.map(|time| format!("\"[\\\"{time}\\\"]\"")));
    for (utc, time) in [(true, 48 * hour), (true, -25 * hour), (false, -hour)] {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), utc, &[time]);
        refused(folder.path(), &["convert", "in.parquet"], 1, &["column `t", ", row 0", "outside the day"]);
    }
}

#[test]
fn rejects_encrypted_files_by_name() {
    let pages = page(3, &values(3), &[]);
    // Field 8: the encryption algorithm, a union with its first member set.
    let unknown = vec![0x2c, 0x1c, 0x00, 0x00];
    let plain = file(&pages, &Chunk { unknown, ..Chunk::plain(3, pages.len()) });
    let mut whole = plain.clone();
    let end = whole.len();
    whole[end - 4..].copy_from_slice(b"PARE");
    for (bytes, found) in [(plain, "encrypted columns"), (whole, "an encrypted footer")] {
        let folder = tempfile::tempdir().unwrap();
        put(folder.path(), &bytes);
        let words = ["in.parquet", "without encryption", found, "decrypt it"];
        refused(folder.path(), &["convert", "in.parquet"], 1, &words);
    }
}

#[test]
fn highly_compressed_chunk_is_not_called_damaged() {
    let pages = page(3, &values(3), &[]);
    for unfolded in [2 << 30, 200 << 30] {
        let folder = tempfile::tempdir().unwrap();
        let chunk = Chunk { unfolded, ..Chunk::plain(3, pages.len()) };
        assert_eq!(converted(&put(folder.path(), &file(&pages, &chunk))).len(), 3, "{unfolded}");
    }
}

#[test]
fn rejects_empty_group_unless_dropped() {
    let pages = page(3, &values(3), &[]);
    let group = |name: u8, children: u8| vec![0x35, 0x02, 0x18, 0x01, name, 0x15, children * 2, 0x00];
    let alone = vec![group(b'g', 0)];
    let inside = vec![group(b'h', 1), group(b'g', 0)];
    // In the second file, the root has two children, and the last one has one child.
    let folder = tempfile::tempdir().unwrap();
    let chunk = Chunk { more_elements: alone, ..Chunk::plain(3, pages.len()) };
    put(folder.path(), &file(&pages, &chunk));
    refused(folder.path(), &["convert", "in.parquet"], 1, &["in.parquet", "column `g`", "--drop g"]);
    let report = json(folder.path(), &["convert", "in.parquet", "--json", "--drop", "g"]);
    assert_eq!((&report["rows"], report["columns"].as_array().unwrap().len()), (&3.into(), 1));
    let nested = Chunk { more_elements: inside, ..Chunk::plain(3, pages.len()) };
    let mut bytes = file(&pages, &nested);
    // Three elements after the root, two of them its children.
    let root = bytes.windows(4).position(|window| window == [0x48, 0x01, b'm', 0x15]).unwrap();
    bytes[root + 4] = 4;
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), &bytes);
    refused(folder.path(), &["convert", "in.parquet"], 1, &["in.parquet", "column `h`", "--drop h"]);
    let report = json(folder.path(), &["convert", "in.parquet", "--json", "--drop", "h"]);
    assert_eq!(report["rows"], 3);
}

#[test]
fn version_0_is_not_called_newer() {
    let version = |found_major| FormatError::UnsupportedVersion {
        found_major,
        found_minor: 7,
        known_major: 1,
        known_minor: 1,
    };
    let never = version(0).to_string();
    assert!(never.contains("0.7") && never.contains("does not exist") && !never.contains("newer"), "{never}");
    assert!(version(2).to_string().contains("2.7 is newer than 1.1"));
}
