//! Tests of `--memory-limit`: the peak memory of the program stays below the limit for all kinds of rows. An error
//! names the sufficient limit, which then works.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use arrow_array::{
    Array, ArrayRef, BinaryArray, Float64Array, ListArray, RecordBatch, StringArray, StructArray,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::data_type::{Int96, Int96Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use crate::cli::{json, refused};

pub const MEBIBYTE: u64 = 1 << 20;
/// Memory of the program itself: code, stacks, allocator overhead.
pub const MARGIN: u64 = 24 * MEBIBYTE;

/// Writes batches of one column `v`.
fn write(path: &Path, properties: WriterProperties, batches: impl Iterator<Item = ArrayRef>) {
    let mut writer = None;
    let mut properties = Some(properties);
    for values in batches {
        let batch = RecordBatch::try_from_iter_with_nullable([("v", values, true)]).unwrap();
        let writer = writer.get_or_insert_with(|| {
            ArrowWriter::try_new(fs::File::create(path).unwrap(), batch.schema(), properties.take()).unwrap()
        });
        writer.write(&batch).unwrap();
    }
    writer.unwrap().close().unwrap();
}

/// Lists of doubles with the given lengths. No two rows share a value.
fn lists(first: usize, lengths: &[usize]) -> ArrayRef {
    let count = lengths.iter().sum::<usize>();
    let values = (0..count).map(|at| ((first * 7_919 + at) as f64).sqrt());
    let field = Arc::new(Field::new("item", DataType::Float64, true));
    let offsets = OffsetBuffer::from_lengths(lengths.iter().copied());
    Arc::new(ListArray::new(field, offsets, Arc::new(Float64Array::from_iter_values(values)), None))
}

fn plain() -> WriterProperties {
    WriterProperties::builder().set_dictionary_enabled(false).build()
}

/// The processes that a process has started.
pub fn children(process: u32) -> Vec<u32> {
    let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap_or_default();
    children.split_whitespace().map(|id| id.parse().unwrap()).collect()
}

/// Converts with the binary. Returns success, and of its worker the peak private memory, and that with mapped files.
pub fn peaks(folder: &Path, arguments: &[&str]) -> (bool, u64, u64) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mercato-tools"));
    command.current_dir(folder).arg("convert").args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let (mut own, mut all) = (0, 0);
    while child.try_wait().unwrap().is_none() {
        let worker = children(child.id()).first().copied().unwrap_or(child.id());
        let status = fs::read_to_string(format!("/proc/{worker}/status")).unwrap_or_default();
        if status.starts_with("Name:\tmercato-tools\n") {
            let line = |name: &str| {
                let line = status.lines().find_map(|line| line.strip_prefix(name));
                line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok()).unwrap_or(0) * 1024
            };
            own = own.max(line("RssAnon:"));
            all = all.max(line("VmHWM:"));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    (child.wait().unwrap().success(), own, all)
}

fn check(path: &Path, mebibytes: u64) {
    let folder = path.parent().unwrap();
    let limit = format!("{mebibytes}MiB");
    let (succeeded, own, all) = peaks(folder, &["v.parquet", "--memory-limit", &limit]);
    assert!(succeeded, "{limit}");
    eprintln!("own memory {} MiB, with mapped files {} MiB of {limit}", own / MEBIBYTE, all / MEBIBYTE);
    assert!((1..=mebibytes * MEBIBYTE + MARGIN).contains(&own), "{own} bytes at {limit}");
}

#[test]
fn embeddings_fit_smallest_limit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v.parquet");
    write(&path, plain(), (0..16).map(|batch| lists(batch, &[1_536; 500])));
    check(&path, 64);
}

#[test]
fn long_lists_fit_limit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v.parquet");
    write(&path, plain(), (0..15).map(|batch| lists(batch, &[300_000; 4])));
    check(&path, 128);
}

#[test]
fn single_long_list_fits_limit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v.parquet");
    let mut lengths = vec![3; 20_000];
    (lengths[9_000], lengths[9_001], lengths[19_999]) = (290_000, 280_000, 250_000);
    write(&path, plain(), (0..3).map(|batch| lists(batch, &lengths)));
    check(&path, 64);
    let report =
        json(folder.path(), &["convert", "v.parquet", "--json", "--memory-limit", "64MiB", "-o", "b.mcol"]);
    let whole = json(folder.path(), &["convert", "v.parquet", "--json", "-o", "c.mcol"]);
    assert_eq!((&report["rows"], &report["fingerprint"]), (&whole["rows"], &whole["fingerprint"]));
}

#[test]
fn structs_in_lists_fit_limit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v.parquet");
    let batch = |number: usize| -> ArrayRef {
        let count = 40_000;
        let texts = StringArray::from_iter_values((0..count).map(|at| format!("{at:0200}")));
        let bytes = BinaryArray::from_iter_values((0..count).map(|at| vec![(at * number) as u8; 100]));
        let item = StructArray::from(vec![
            (Arc::new(Field::new("t", DataType::Utf8, true)), Arc::new(texts) as ArrayRef),
            (Arc::new(Field::new("b", DataType::Binary, true)), Arc::new(bytes) as ArrayRef),
        ]);
        let field = Arc::new(Field::new("item", item.data_type().clone(), true));
        Arc::new(ListArray::new(field, OffsetBuffer::from_lengths([2_000; 20]), Arc::new(item), None))
    };
    write(&path, plain(), (0..8).map(batch));
    check(&path, 64);
}

#[test]
fn long_texts_fit_limit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v.parquet");
    let text = |row: usize| format!("{row:09}").repeat(20_000);
    let batch = |number: usize| -> ArrayRef {
        Arc::new(StringArray::from_iter_values((0..100).map(|row| text(number * 100 + row))))
    };
    write(&path, plain(), (0..10).map(batch));
    check(&path, 64);
}

/// Puts all values into one page, which compresses to a few kilobytes if all values are equal.
fn one_page() -> WriterProperties {
    WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_compression(Compression::ZSTD(Default::default()))
        .set_data_page_size_limit(usize::MAX)
        .set_data_page_row_count_limit(usize::MAX)
        .set_write_batch_size(20_000_000)
        .set_max_row_group_row_count(None)
        .build()
}

/// A page of a few kilobytes that expands to 100 MB.
fn bomb(path: &Path) {
    write(path, one_page(), std::iter::once(Arc::new(Float64Array::from(vec![0.0; 12_500_000])) as ArrayRef));
}

#[test]
fn rejects_oversized_page_with_sufficient_limit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v.parquet");
    bomb(&path);
    let words = ["v.parquet", "column `v`", "one page", "--drop v"];
    check_remedy(folder.path(), &words);
}

/// INT96 values are read for the plan, so the memory of their pages is checked before that.
#[test]
fn rejects_oversized_int96_page_before_reading() {
    let folder = tempfile::tempdir().unwrap();
    let schema = Arc::new(parse_message_type("message m { required int96 v; }").unwrap());
    let properties = Arc::new(one_page());
    let file = fs::File::create(folder.path().join("v.parquet")).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, properties).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let mut value = Int96::new();
    value.set_data(0, 0, 2_440_588);
    column.typed::<Int96Type>().write_batch(&vec![value; 12_000_000], None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    let arguments = ["v.parquet", "--memory-limit", "64MiB"];
    let (succeeded, own, _) = peaks(folder.path(), &arguments);
    assert!(!succeeded && own < 64 * MEBIBYTE, "{own} bytes");
    refused(
        folder.path(),
        &["convert", "v.parquet", "--memory-limit", "64MiB"],
        1,
        &["column `v`", "one page"],
    );
}

#[test]
fn rejects_oversized_value_with_sufficient_limit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v.parquet");
    write(&path, plain(), std::iter::once(lists(0, &[3, 3, 3, 700_000, 3])));
    check_remedy(folder.path(), &["v.parquet", "column `v`, row 3", "--drop v"]);
}

/// Expects an error at 64 MiB, and a conversion within the limit that the error names.
pub fn check_remedy(folder: &Path, words: &[&str]) {
    let arguments = ["convert", "v.parquet", "--memory-limit", "64MiB"];
    refused(folder, &arguments, 1, words);
    assert_eq!(crate::cli::names(folder), ["v.parquet"]);
    let output = crate::cli::run(folder, &arguments);
    let reason = String::from_utf8(output.stderr).unwrap();
    let named = reason.split("pass --memory-limit ").nth(1).and_then(|rest| rest.split("MiB").next());
    let named: u64 = named.and_then(|number| number.parse().ok()).unwrap();
    assert!(named > 64, "{reason}");
    check(&folder.join("v.parquet"), named);
}
