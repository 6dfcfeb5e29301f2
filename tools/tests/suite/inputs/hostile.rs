//! Hostile text inputs: bombs, a million columns, endless lines, deep JSON, many names. Each is refused, or converted, in
//! bounded memory and without a file left.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::{check_refusal, conversion, converted, put, refused};
use crate::convert::memory::{MARGIN, MEBIBYTE, peaks};

const LIMIT: [&str; 2] = ["--memory-limit", "64MiB"];

/// Converts with the program. Returns success; its own memory stays inside the limit.
fn within_limit(folder: &Path, name: &str) -> bool {
    let arguments = [&[name][..], &LIMIT].concat();
    let (succeeded, own, _) = peaks(folder, &arguments);
    eprintln!("{name}: own memory {} MiB", own / MEBIBYTE);
    assert!(own <= 64 * MEBIBYTE + MARGIN, "{name}: {own} bytes");
    succeeded
}

/// A gzip file of `mebibytes` of one piece.
fn packed(path: &Path, piece: &[u8], mebibytes: usize) {
    let mut gzip = GzEncoder::new(File::create(path).unwrap(), Compression::fast());
    let block = piece.repeat((MEBIBYTE as usize).div_ceil(piece.len()));
    (0..mebibytes).for_each(|_| gzip.write_all(&block).unwrap());
    gzip.finish().unwrap();
}

#[test]
fn gigabyte_of_zeros_is_refused_within_limit() {
    let folder = tempfile::tempdir().unwrap();
    packed(&folder.path().join("a.csv.gz"), &[0], 1_024);
    packed(&folder.path().join("b.ndjson.gz"), &[0], 1_024);
    assert!(!within_limit(folder.path(), "a.csv.gz") && !within_limit(folder.path(), "b.ndjson.gz"));
    assert_eq!(crate::cli::names(folder.path()), ["a.csv.gz", "b.ndjson.gz"]);
    check_refusal(&conversion(folder.path(), &["a.csv.gz"]), &["a.csv.gz", "line 1", "a record of at most"]);
    check_refusal(
        &conversion(folder.path(), &["b.ndjson.gz"]),
        &["b.ndjson.gz", "line 1", "a line of at most"],
    );
}

#[test]
fn zstd_beyond_ratio_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut zstd = zstd::Encoder::new(Vec::new(), 1).unwrap();
    zstd.write_all(b"{\"a\":1}\n").unwrap();
    let mut blank = vec![b' '; MEBIBYTE as usize];
    blank[MEBIBYTE as usize - 1] = b'\n';
    (0..1_100).for_each(|_| zstd.write_all(&blank).unwrap());
    put(folder.path(), "b.ndjson.zst", zstd.finish().unwrap());
    check_refusal(
        &conversion(folder.path(), &["b.ndjson.zst"]),
        &["b.ndjson.zst", "decompressed size", "bomb"],
    );
}

#[test]
fn million_columns_are_refused_within_limit() {
    let folder = tempfile::tempdir().unwrap();
    let names: String = (0..1_000_000).map(|n| format!("c{n},")).collect();
    put(folder.path(), "a.csv", format!("{names}x\n"));
    put(folder.path(), "b.csv", format!("a,b\n{}\n", ",".repeat(1_000_000)));
    let members: Vec<String> = (0..200_000).map(|n| format!("\"c{n}\":1")).collect();
    put(folder.path(), "c.ndjson", format!("{{{}}}\n", members.join(",")));
    let lines: String = (0..40_000).map(|n| format!("{{\"c{n}\":1}}\n")).collect();
    put(folder.path(), "d.ndjson", lines);
    let lines: String = (0..40_000).map(|n| format!("{{\"c{n}\":{{}}}}\n")).collect();
    put(folder.path(), "e.ndjson", lines);
    for (name, words) in [
        ("a.csv", ["line 1", "at most 16384"]),
        ("b.csv", ["line 2", "at most 2 fields"]),
        ("c.ndjson", ["line 1", "more than 16384 members"]),
        ("d.ndjson", ["line 2049", "at most 2048 columns"]),
        ("e.ndjson", ["line 16385", "at most 16384 names"]),
    ] {
        assert!(!within_limit(folder.path(), name));
        let mut conversion = conversion(folder.path(), &[name]);
        conversion.memory_limit = 64 * MEBIBYTE;
        check_refusal(&conversion, &words);
    }
}

#[test]
fn endless_lines_and_quotes_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    packed(&folder.path().join("a.csv.gz"), b"a,\"b\"\n\"", 1);
    packed(&folder.path().join("b.csv.gz"), b"x", 100);
    let lines = "\"never closed ".repeat(4) + &"and on\n".repeat(10_000_000);
    put(folder.path(), "c.csv", format!("a\n{lines}"));
    for name in ["a.csv.gz", "b.csv.gz", "c.csv"] {
        assert!(!within_limit(folder.path(), name), "{name}");
    }
    check_refusal(&conversion(folder.path(), &["c.csv"]), &["c.csv", "line"]);
}

#[test]
fn deep_json_is_refused() {
    let open = "[".repeat(100_000);
    refused(
        "a.ndjson",
        format!("{{\"a\":{open}{}}}\n", "]".repeat(100_000)),
        &["line 1", "at most 64 objects and arrays"],
    );
    refused(
        "a.ndjson",
        format!("{}1{}\n", "{\"a\":".repeat(65), "}".repeat(65)),
        &["line 1", "at most 64 objects"],
    );
    refused("a.ndjson", format!("{{\"a\":{open}\n"), &["line 1", "at byte"]);
    let fits = format!("{}1{}\n", "{\"a\":".repeat(64), "}".repeat(64));
    assert_eq!(converted("a.ndjson", fits).unwrap().1.len(), 1);
}

#[test]
fn cut_and_damaged_archives_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv.gz");
    packed(&path, b"1,2\n", 1);
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    check_refusal(&conversion(folder.path(), &["a.csv.gz"]), &["a.csv.gz"]);
    put(folder.path(), "b.csv.zst", [0x28, 0xb5, 0x2f, 0xfd, 9, 9, 9, 9]);
    check_refusal(&conversion(folder.path(), &["b.csv.zst"]), &["b.csv.zst", "read to its end"]);
}

#[test]
fn long_tables_and_wide_tables_fit_limit() {
    let folder = tempfile::tempdir().unwrap();
    let long: String = (0..1_500_000).map(|n| format!("{n},{},text {}\n", n * 7, n % 1_000)).collect();
    put(folder.path(), "long.csv", format!("a,b,c\n{long}"));
    let header: Vec<String> = (0..2_000).map(|n| format!("c{n}")).collect();
    let row: Vec<String> = (0..2_000).map(|n| format!("{n}")).collect();
    let wide = format!("{}\n{}", header.join(","), format!("{}\n", row.join(",")).repeat(300));
    put(folder.path(), "wide.csv", wide);
    assert!(within_limit(folder.path(), "long.csv") && within_limit(folder.path(), "wide.csv"));
}

#[test]
fn closed_pipe_of_endless_lines_ends() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_mercato-tools"));
    command
        .current_dir(folder.path())
        .args(["convert", "-", "--input-format", "ndjson", "-o", "x.mcol"])
        .args(LIMIT);
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let block = vec![b'x'; MEBIBYTE as usize];
    let written = (0..1_000).take_while(|_| input.write_all(&block).is_ok()).count();
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert!(written < 1_000 && !output.status.success(), "{written}");
    assert!(String::from_utf8(output.stderr).unwrap().contains("standard input: line 1"));
}
