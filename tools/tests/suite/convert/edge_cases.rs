//! Files that other readers take or that only look sound: levels above their maximum, delta lengths, LZO, counts that
//! disagree.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::Encoding;
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use crate::cli::{json, refused, run};
use crate::convert::memory::check_remedy;
use crate::convert::raw_parquet::{Chunk, encoded_page, file, file_with_leaf, page, values};
use crate::convert::read_back::{converted, refusal};

fn plain() -> WriterPropertiesBuilder {
    WriterProperties::builder().set_dictionary_enabled(false)
}

/// Eight rows of an optional group with a repeated number. `levels` are definition and repetition levels.
fn nested(path: &Path, version: WriterVersion, levels: [&[i16]; 2]) -> Vec<u8> {
    let schema = "message m { optional group g { repeated int64 n; } }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let properties = Arc::new(plain().set_writer_version(version).build());
    let mut writer = SerializedFileWriter::new(fs::File::create(path).unwrap(), schema, properties).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut leaf = group.next_column().unwrap().unwrap();
    let count = levels[0].iter().filter(|level| **level == 2).count();
    let numbers: Vec<i64> = (0..count as i64).map(|n| n * 0x0101_0101_0101).collect();
    leaf.typed::<Int64Type>().write_batch(&numbers, Some(levels[0]), Some(levels[1])).unwrap();
    leaf.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    fs::read(path).unwrap()
}

/// Replaces the only place of `from` by `to`.
fn patched(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let places: Vec<usize> =
        bytes.windows(from.len()).enumerate().filter(|(_, part)| *part == from).map(|(at, _)| at).collect();
    assert_eq!(places.len(), 1, "{from:?} in {bytes:02x?}");
    let mut bytes = bytes.to_vec();
    bytes[places[0]..places[0] + to.len()].copy_from_slice(to);
    bytes
}

#[test]
fn rejects_levels_above_their_maximum() {
    let full = [&[2; 8][..], &[0; 8]];
    // 2, 1, 2, 0 and again, two bits each.
    let mixed = [&[2, 1, 2, 0, 2, 1, 2, 0][..], &[0; 8]];
    let (definition, repetition) =
        ("definition level above the maximum of 2", "repetition level above the maximum of 1");
    for (levels, from, to, word) in [
        (full, &[2, 0, 0, 0, 16, 2][..], &[2, 0, 0, 0, 16, 3][..], definition),
        (full, &[2, 0, 0, 0, 16, 2], &[2, 0, 0, 0, 16, 7], definition),
        (full, &[2, 0, 0, 0, 16, 0], &[2, 0, 0, 0, 16, 2], repetition),
        (mixed, &[3, 0x26, 0x26], &[3, 0x26, 0x36], definition),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("in.parquet");
        let bytes = nested(&path, WriterVersion::PARQUET_1_0, levels);
        assert_eq!(converted(&path).len(), 8);
        fs::remove_file(path.with_extension("mcol")).unwrap();
        fs::write(&path, patched(&bytes, from, to)).unwrap();
        let reason = refusal(&path);
        for word in ["in.parquet", "column `g.n`, row group 0", word] {
            assert!(reason.contains(word), "{word}: {reason}");
        }
    }
    // Pages of version 2 have no lengths before their levels: repetition, then definition.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in.parquet");
    let bytes = nested(&path, WriterVersion::PARQUET_2_0, full);
    fs::write(&path, patched(&bytes, &[16, 0, 16, 2], &[16, 0, 16, 3])).unwrap();
    assert!(refusal(&path).contains(definition));
}

/// Repetition levels for three of five values.
#[test]
fn rejects_page_with_too_few_levels() {
    let repeated = [0x15, 0x04, 0x25, 0x04, 0x18, 0x01, b'a', 0x00];
    let three = [[2, 0, 0, 0, 6, 0].as_slice(), &[2, 0, 0, 0, 6, 1], &values(3)].concat();
    for (count, is_sound) in [(3, true), (5, false)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("in.parquet");
        let pages = encoded_page(count, 0, &three, &[]);
        let chunk = Chunk::plain(count, pages.len());
        fs::write(&path, file_with_leaf(&pages, &chunk, &repeated)).unwrap();
        if is_sound {
            assert_eq!(converted(&path).len(), 3);
            continue;
        }
        let reason = refusal(&path);
        for word in ["in.parquet", "column `a`, row group 0", "the file is damaged"] {
            assert!(reason.contains(word), "{word}: {reason}");
        }
    }
}

/// The footer counts five values and rows, the page three, or the other way round.
#[test]
fn says_how_counts_disagree() {
    for (footer, found, word) in [(5, 3, "found 2 fewer"), (3, 5, "found more")] {
        let pages = page(found, &values(found), &[]);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("in.parquet");
        fs::write(&path, file(&pages, &Chunk::plain(footer, pages.len()))).unwrap();
        let reason = refusal(&path);
        for word in ["column `a`, row group 0", &format!("expected {footer} rows"), word] {
            assert!(reason.contains(word), "{word}: {reason}");
        }
    }
}

#[test]
fn rejects_lzo_by_name_unless_dropped() {
    let pages = page(3, &values(3), &[]);
    let bytes = file(&pages, &Chunk::plain(3, pages.len()));
    // The codec follows the path of the column.
    let bytes = patched(&bytes, &[0x18, 1, b'a', 0x15, 0], &[0x18, 1, b'a', 0x15, 6]);
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("in.parquet"), bytes).unwrap();
    let words = [
        "column `a`, row group 0",
        "Snappy",
        "LZO, which is not supported",
        "write the file again",
        "--drop a",
    ];
    refused(folder.path(), &["convert", "in.parquet"], 1, &words);
}

/// One page of texts without a dictionary.
fn texts(path: &Path, encoding: Encoding, texts: &[String]) {
    let schema = Arc::new(parse_message_type("message m { required binary v (UTF8); }").unwrap());
    let properties = plain()
        .set_encoding(encoding)
        .set_writer_version(WriterVersion::PARQUET_2_0)
        .set_data_page_size_limit(usize::MAX)
        .set_data_page_row_count_limit(usize::MAX)
        .set_write_batch_size(texts.len())
        .build();
    let file = fs::File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties)).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut leaf = group.next_column().unwrap().unwrap();
    let texts: Vec<ByteArray> = texts.iter().map(|text| text.as_str().into()).collect();
    leaf.typed::<ByteArrayType>().write_batch(&texts, None, None).unwrap();
    leaf.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
}

/// A page that is longer than a batch may be, of texts that are short.
#[test]
fn short_texts_of_long_delta_page_fit_limit() {
    let many: Vec<String> = (0..12_000).map(|row| format!("{row:09}").repeat(100)).collect();
    for encoding in [Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BYTE_ARRAY, Encoding::PLAIN] {
        let folder = tempfile::tempdir().unwrap();
        texts(&folder.path().join("v.parquet"), encoding, &many);
        let arguments = ["convert", "v.parquet", "--json", "--memory-limit", "64MiB"];
        let report = json(folder.path(), &arguments);
        assert_eq!(report["rows"], 12_000, "{encoding}");
        let whole = json(folder.path(), &["convert", "v.parquet", "--json", "-o", "whole.mcol"]);
        assert_eq!(report["fingerprint"], whole["fingerprint"], "{encoding}");
    }
}

#[test]
fn advised_limit_holds_long_text_of_delta_page() {
    let long: Vec<String> = ["x1y2z3".repeat(1_500_000), "short".to_owned()].into();
    for encoding in [Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BYTE_ARRAY] {
        let folder = tempfile::tempdir().unwrap();
        texts(&folder.path().join("v.parquet"), encoding, &long);
        check_remedy(folder.path(), &["v.parquet", "column `v`, row 0", "--drop v"]);
    }
}

#[test]
fn warns_of_names_that_differ_by_case() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.csv"), "Città,n,CITTÀ,m\nRoma,1,Milano,2\n").unwrap();
    let word = "columns `Città` and `CITTÀ` differ only by case";
    for preview in [&[][..], &["--preview"]] {
        let arguments = [&["convert", "a.csv", "--json"], preview].concat();
        let output = run(folder.path(), &arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let warnings = report["warnings"].as_array().unwrap();
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(said.contains(word) && warnings[0].as_str().unwrap().contains(word), "{said}");
    }
    let dropped = json(folder.path(), &["convert", "a.csv", "--json", "--drop", "CITTÀ", "-o", "b.mcol"]);
    assert_eq!(dropped["warnings"].as_array().unwrap().len(), 0);
}
