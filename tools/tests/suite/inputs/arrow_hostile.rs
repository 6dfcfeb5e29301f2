//! Hostile Arrow inputs: cut and changed bytes, bombs, too many columns, wrong offsets. Each is refused, or converted, in
//! bounded memory, without a panic and without a file left.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use arrow_array::types::Int8Type;
use arrow_array::{ArrayRef, DictionaryArray, Int8Array, Int64Array, NullArray, RecordBatch, StringArray};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{DataType, Field, Schema};
use mercato_tools::convert::convert;

use super::arrow::{batch, file, numbers, packed, stream};
use super::{check_refusal, conversion, put, refused};
use crate::convert::memory::{MARGIN, MEBIBYTE, peaks};

const LIMIT: [&str; 2] = ["--memory-limit", "64MiB"];

#[test]
fn cut_inputs_are_refused() {
    let batches = [numbers(0..40), numbers(40..90)];
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in [
        ("a.arrow", file(packed(Some(CompressionType::LZ4_FRAME)), &batches)),
        ("a.arrows", stream(packed(None), &batches)),
    ] {
        for length in (0..bytes.len()).step_by(7) {
            put(folder.path(), name, &bytes[..length]);
            check_refusal(&conversion(folder.path(), &[name]), &[name]);
        }
    }
    let whole = stream(packed(None), &batches);
    refused("a.arrows", &whole[..whole.len() - 8], &["end", "mark of the end", "was cut"]);
    refused("a.arrows", [whole.clone(), whole].concat(), &["bytes behind the stream"]);
    refused("a.feather", b"FEA1....FEA1", &["Feather V1", "write_feather"]);
    refused("a.arrow", b"PAR1....PAR1", &["a.arrow"]);
}

/// A changed byte is found or changes a value; it never ends the program.
#[test]
fn changed_bytes_are_refused_or_read() {
    let folder = tempfile::tempdir().unwrap();
    let entries = Arc::new(StringArray::from(vec!["one", "two", "three"]));
    let keys = Int8Array::from_iter((0..50).map(|row| Some((row % 3) as i8)));
    let keyed: ArrayRef = Arc::new(DictionaryArray::<Int8Type>::try_new(keys, entries).unwrap());
    let plain = numbers(0..50);
    let [n, t] = plain.columns() else { panic!() };
    let one = batch(vec![("n", n.clone()), ("t", t.clone()), ("d", keyed)]);
    for (name, bytes) in [
        ("a.arrow", file(packed(None), std::slice::from_ref(&one))),
        ("b.arrow", file(packed(Some(CompressionType::ZSTD)), std::slice::from_ref(&one))),
        ("a.arrows", stream(packed(Some(CompressionType::LZ4_FRAME)), std::slice::from_ref(&one))),
    ] {
        let mut refusals = 0;
        for at in (0..bytes.len()).step_by(5) {
            let mut changed = bytes.clone();
            changed[at] ^= if at % 2 == 0 { 0xff } else { 0x10 };
            put(folder.path(), name, &changed);
            if let Err(failure) = convert(&conversion(folder.path(), &[name])) {
                assert!(failure.one_line().contains(name), "{}", failure.one_line());
                refusals += 1;
            }
        }
        assert!(refusals > 10, "{name}: {refusals}");
    }
}

/// Replaces the only place of `from` by `to`.
fn patched(mut bytes: Vec<u8>, from: &[u8], to: &[u8]) -> Vec<u8> {
    let places: Vec<usize> =
        bytes.windows(from.len()).enumerate().filter(|(_, w)| *w == from).map(|(at, _)| at).collect();
    assert_eq!(places.len(), 1, "{from:?}");
    bytes[places[0]..][..to.len()].copy_from_slice(to);
    bytes
}

#[test]
fn wrong_texts_keys_and_offsets_are_refused() {
    let text = stream(packed(None), &[batch(vec![("t", Arc::new(StringArray::from(vec!["unique text"])))])]);
    refused(
        "a.arrows",
        patched(text.clone(), b"unique text", b"\xff\xffique text"),
        &["record batch 0", "UTF"],
    );
    let offsets = [0_i32.to_le_bytes(), 11_i32.to_le_bytes()].concat();
    let wrong = [0_i32.to_le_bytes(), 90_i32.to_le_bytes()].concat();
    let at = text.windows(8).rposition(|window| window == offsets).unwrap();
    let mut changed = text;
    changed[at..at + 8].copy_from_slice(&wrong);
    refused("a.arrows", changed, &["a.arrows", "record batch 0"]);
    let keys = DictionaryArray::<Int8Type>::try_new(
        Int8Array::from(vec![1, 0, 1, 0, 1, 1, 0, 0]),
        Arc::new(StringArray::from(vec!["a", "b"])),
    );
    let bytes = stream(packed(None), &[batch(vec![("d", Arc::new(keys.unwrap()))])]);
    let wrong = patched(bytes, &[1, 0, 1, 0, 1, 1, 0, 0], &[1, 0, 1, 99, 1, 1, 0, 0]);
    refused("a.arrows", wrong, &["a.arrows", "record batch 0"]);
}

/// Checks that a file is refused with these words, in 64 MiB.
fn check_refusal_within_limit(folder: &Path, name: &str, words: &[&str]) {
    let (succeeded, own, _) = peaks(folder, &[&[name][..], &LIMIT].concat());
    assert!(!succeeded && own <= 64 * MEBIBYTE + MARGIN, "{name}: {own} bytes");
    let mut conversion = conversion(folder, &[name]);
    conversion.memory_limit = 64 * MEBIBYTE;
    check_refusal(&conversion, words);
}

#[test]
fn announced_sizes_do_not_reserve_memory() {
    let folder = tempfile::tempdir().unwrap();
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![5; 8_191]));
    let bytes = stream(packed(Some(CompressionType::ZSTD)), &[batch(vec![("n", numbers)])]);
    let length = (8_191_i64 * 8).to_le_bytes();
    put(folder.path(), "a.arrows", patched(bytes, &length, &(1_i64 << 40).to_le_bytes()));
    let many = batch(vec![("n", Arc::new(NullArray::new(4_000_000_000)))]);
    put(folder.path(), "b.arrow", file(packed(None), &[many.clone(), many]));
    let mut metadata = vec![0xff, 0xff, 0xff, 0xff];
    metadata.extend_from_slice(&0x7fff_fff8_i32.to_le_bytes());
    put(folder.path(), "c.arrows", metadata);
    for (name, words) in [
        ("a.arrows", ["record batch 0", "under this --memory-limit"]),
        ("b.arrow", ["b.arrow", "expected at most"]),
        ("c.arrows", ["message at byte 0", "metadata of 1 to"]),
    ] {
        check_refusal_within_limit(folder.path(), name, &words);
    }
}

/// One long text that a million keys repeat.
#[test]
fn dictionary_bomb_is_refused_within_limit() {
    let folder = tempfile::tempdir().unwrap();
    let entries = Arc::new(StringArray::from(vec!["x".repeat(1_000_000)]));
    let keys = Int8Array::from(vec![0; 1_000_000]);
    let keyed = DictionaryArray::<Int8Type>::try_new(keys, entries).unwrap();
    put(folder.path(), "a.arrow", file(packed(None), &[batch(vec![("d", Arc::new(keyed))])]));
    let (succeeded, own, _) = peaks(folder.path(), &["a.arrow", LIMIT[0], LIMIT[1]]);
    assert!(!succeeded && own <= 64 * MEBIBYTE + MARGIN, "{own} bytes");
    check_refusal(&conversion(folder.path(), &["a.arrow"]), &["a.arrow", "bomb"]);
}

#[test]
fn too_many_columns_are_refused_within_limit() {
    let folder = tempfile::tempdir().unwrap();
    for (name, count, words) in [
        ("a.arrows", 200_000, ["schema", "at most 16384 columns"]),
        ("b.arrows", 16_384, ["schema", "1 to 2048 columns under this --memory-limit"]),
    ] {
        let fields: Vec<Field> =
            (0..count).map(|n| Field::new(format!("c{n}"), DataType::Int8, true)).collect();
        let mut writer = StreamWriter::try_new(Vec::new(), &Schema::new(fields)).unwrap();
        writer.finish().unwrap();
        put(folder.path(), name, writer.into_inner().unwrap());
        check_refusal_within_limit(folder.path(), name, &words);
    }
}

#[test]
fn long_inputs_fit_limit_and_long_batches_say_what_they_need() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, rows: usize, batches: usize| {
        let mut schema = None;
        let file = File::create(folder.path().join(name)).unwrap();
        let mut file = Some(file);
        for number in 0..batches {
            let texts = (0..rows).map(|row| Some(format!("text {} of many", number * rows + row)));
            let one: RecordBatch = batch(vec![("t", Arc::new(StringArray::from_iter(texts)))]);
            let writer = schema
                .get_or_insert_with(|| StreamWriter::try_new(file.take().unwrap(), &one.schema()).unwrap());
            writer.write(&one).unwrap();
        }
        let mut writer = schema.unwrap();
        writer.finish().unwrap();
        writer.into_inner().unwrap().flush().unwrap();
    };
    write("a.arrows", 60_000, 40);
    let (succeeded, own, _) = peaks(folder.path(), &["a.arrows", LIMIT[0], LIMIT[1]]);
    assert!(succeeded && own <= 64 * MEBIBYTE + MARGIN, "{own} bytes");
    write("b.arrows", 1_000_000, 1);
    let mut conversion = conversion(folder.path(), &["b.arrows"]);
    conversion.memory_limit = 64 * MEBIBYTE;
    check_refusal(&conversion, &["message at byte", "pass --memory-limit", "fewer rows a batch"]);
}
