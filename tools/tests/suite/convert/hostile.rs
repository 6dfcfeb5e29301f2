//! Files that demand excessive time: rejected at once, and interrupted by a signal at any moment.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use mercato_tools::convert::convert;

use crate::cli::{names, refused};
use crate::convert::corrupt::step;
use crate::convert::files::isolated;
use crate::convert::raw_parquet::{Chunk, dictionary_page, encoded_page, file, page, values};
use crate::convert::read_back::{converted, refusal};

/// 2^31 - 1 as a count.
const MOST: [u8; 5] = [0xff, 0xff, 0xff, 0xff, 0x07];
/// A decoder that trusts a count of 2^31 - 1 elements needs minutes.
const AT_ONCE: Duration = Duration::from_secs(20);

fn refused_at_once(what: &str, bytes: &[u8], words: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in.parquet");
    fs::write(&path, bytes).unwrap();
    let begun = Instant::now();
    let reason = refusal(&path);
    assert!(begun.elapsed() < AT_ONCE, "{what}: {:?}", begun.elapsed());
    for word in words {
        assert!(reason.contains(word), "{what}: `{word}` is not in: {reason}");
    }
}

fn with_unknown_field(unknown: &[u8]) -> Vec<u8> {
    let pages = page(3, &values(3), unknown);
    file(&pages, &Chunk::plain(3, pages.len()))
}

#[test]
fn reads_files_with_unknown_fields() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in.parquet");
    // Field 15: a list of three doubles; a text; a map of numbers to texts.
    let list = [[0xa9, 0x37].as_slice(), &[0; 24]].concat();
    for unknown in [&[][..], &list, &[0xa8, 2, b'h', b'i'], &[0xab, 1, 0x58, 2, 1, b'x']] {
        fs::write(&path, with_unknown_field(unknown)).unwrap();
        let rows = converted(&path);
        assert_eq!((rows.len(), rows[2]["a"].as_str()), (3, "2"), "{unknown:?}");
    }
}

#[test]
fn rejects_oversized_dictionary_at_once() {
    let entries = [10_i64.to_le_bytes(), 20_i64.to_le_bytes()].concat();
    for claimed in [3, 1 << 24, i64::from(i32::MAX)] {
        let (dictionary, _) = dictionary_page(claimed, &entries);
        let pages = [dictionary, encoded_page(3, 2, &[1, 3 << 1, 1], &[])].concat();
        let bytes = file(&pages, &Chunk::plain(3, pages.len()));
        refused_at_once(&claimed.to_string(), &bytes, &["in.parquet", "column `a`"]);
    }
}

#[test]
fn rejects_page_header_with_huge_list_at_once() {
    for (what, head) in [("doubles", 0xf7), ("texts", 0xf8), ("structs", 0xfc), ("bytes", 0xf3)] {
        let unknown = [[0xa9, head].as_slice(), &MOST].concat();
        refused_at_once(what, &with_unknown_field(&unknown), &["in.parquet", "column `a`"]);
    }
    let map = [[0xab].as_slice(), &MOST, &[0x77]].concat();
    refused_at_once("map", &with_unknown_field(&map), &["in.parquet", "column `a`"]);
}

#[test]
fn rejects_footer_with_huge_list_at_once() {
    let pages = page(3, &values(3), &[]);
    for (what, head) in [("doubles", 0xf7), ("lists", 0xf9)] {
        let unknown = [[0xa9, head].as_slice(), &MOST].concat();
        let bytes = file(&pages, &Chunk { unknown, ..Chunk::plain(3, pages.len()) });
        refused_at_once(what, &bytes, &["in.parquet", "Parquet footer"]);
    }
    refused_at_once("lists of booleans", &endless_footer(), &["Parquet footer", "does not return"]);
}

/// They take no byte, so that the library may pass over any number of them.
#[test]
fn huge_lists_of_booleans_end_in_time() {
    let unknown = [[0xa9, 0xf1].as_slice(), &MOST].concat();
    let pages = page(3, &values(3), &[]);
    let footer = file(&pages, &Chunk { unknown: unknown.clone(), ..Chunk::plain(3, pages.len()) });
    for bytes in [with_unknown_field(&unknown), footer] {
        let folder = tempfile::tempdir().unwrap();
        let (input, output) = (folder.path().join("in.parquet"), folder.path().join("out.mcol"));
        fs::write(&input, bytes).unwrap();
        let begun = Instant::now();
        let outcome = convert(&isolated(&input, &output));
        assert!(begun.elapsed() < AT_ONCE, "{:?}", begun.elapsed());
        assert_eq!(names(folder.path()).len(), if outcome.is_ok() { 2 } else { 1 }, "{outcome:?}");
    }
}

#[test]
fn rejects_page_beyond_its_chunk() {
    let pages = page(3, &values(3), &[]);
    let bytes = file(&pages, &Chunk::plain(3, pages.len() - 8));
    refused_at_once("short chunk", &bytes, &["column `a`, row group 0"]);
    let bytes = file(&pages, &Chunk::plain(3, 9));
    refused_at_once("cut header", &bytes, &["column `a`, row group 0"]);
}

/// Many lists of booleans. The library loops over each claimed count without reading a byte.
pub fn endless_footer() -> Vec<u8> {
    let pages = page(3, &values(3), &[]);
    let one = [[0xf1].as_slice(), &MOST].concat();
    let unknown = [vec![0xa9, 0xf9, 60], one.repeat(60)].concat();
    file(&pages, &Chunk { unknown, ..Chunk::plain(3, pages.len()) })
}

/// Fragments of Thrift: headers of fields and lists, large counts, stops.
const PIECES: [&[u8]; 14] = [
    &[0x15],
    &[0x16],
    &[0x17],
    &[0x18],
    &[0x19],
    &[0x1b],
    &[0x1c],
    &[0xf1],
    &[0xf7],
    &[0xf8],
    &[0xfc],
    &[0xff, 0xff, 0x7f],
    &MOST,
    &[0x00],
];

/// Mutates a few places: flips a bit, replaces a byte, inserts or overwrites a fragment, removes a range.
fn mutate(bytes: &mut Vec<u8>, random: &mut u64) {
    let mut next = |bound: usize| {
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        (*random % bound.max(1) as u64) as usize
    };
    for _ in 0..=next(4) {
        let at = next(bytes.len());
        let end = bytes.len().min(at + 1 + next(6));
        let piece = PIECES[next(PIECES.len())];
        match next(5) {
            0 if at < bytes.len() => bytes[at] ^= 1 << next(8),
            1 if at < bytes.len() => bytes[at] = next(256) as u8,
            2 => drop(bytes.splice(at..at, piece.iter().copied())),
            3 => drop(bytes.splice(at..bytes.len().min(at + piece.len()), piece.iter().copied())),
            _ => drop(bytes.drain(at..end)),
        }
    }
}

#[test]
fn handles_mutated_page_headers_at_once() {
    let mutations = 3_000 / step() as u64;
    let list = [[0xa9, 0x37].as_slice(), &[0; 24]].concat();
    let seeds = [&[][..], &list, &[0xab, 1, 0x58, 2, 1, b'x'], &[0xac, 0x15, 2, 0x18, 1, b'a', 0]];
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in.parquet"), folder.path().join("out.mcol"));
    let mut refused = 0;
    for number in 0..mutations {
        let mut pages = page(3, &values(3), seeds[number as usize % seeds.len()]);
        let mut random = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mutate(&mut pages, &mut random);
        fs::write(&input, file(&pages, &Chunk::plain(3, pages.len()))).unwrap();
        let begun = Instant::now();
        match convert(&isolated(&input, &output)) {
            Ok(_) => fs::remove_file(&output).unwrap(),
            Err(_) => refused += 1,
        }
        assert!(begun.elapsed() < AT_ONCE, "mutation {number} took {:?}: {pages:02x?}", begun.elapsed());
        assert_eq!(names(folder.path()), ["in.parquet"], "mutation {number}");
    }
    assert!(0 < refused && refused < mutations, "{refused} of {mutations} refused");
}

/// Whether a process has handlers of SIGINT and SIGTERM, or has ended.
fn catches_signals(process: u32) -> bool {
    const BOTH: u64 = 1 << (2 - 1) | 1 << (15 - 1);
    let Ok(status) = fs::read_to_string(format!("/proc/{process}/status")) else { return true };
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    caught.is_none_or(|mask| u64::from_str_radix(mask.trim(), 16).unwrap() & BOTH == BOTH)
}

#[test]
fn signal_ends_conversion_at_any_moment() {
    let folder = tempfile::tempdir().unwrap();
    let pages: Vec<u8> = (0..400).flat_map(|_| page(20_000, &values(20_000), &[])).collect();
    fs::write(folder.path().join("in.parquet"), file(&pages, &Chunk::plain(8_000_000, pages.len()))).unwrap();
    for (signal, wait) in [("-TERM", 0), ("-INT", 200), ("-TERM", 900), ("-INT", 2_000), ("-TERM", 4_000)] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mercato-tools"));
        command.current_dir(folder.path()).args(["convert", "in.parquet", "--threads", "1"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        while !catches_signals(child.id()) {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(wait));
        if child.try_wait().unwrap().is_some() {
            // A fast machine finished before the signal.
            let _ = fs::remove_file(folder.path().join("in.mcol"));
            continue;
        }
        let sent = Instant::now();
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
        let output = child.wait_with_output().unwrap();
        assert!(sent.elapsed() < Duration::from_secs(5), "{signal} after {wait} ms: {:?}", sent.elapsed());
        if output.status.success() {
            // It ended between the look and the signal.
            let _ = fs::remove_file(folder.path().join("in.mcol"));
            continue;
        }
        assert_eq!(output.status.code(), Some(1), "{signal} after {wait} ms");
        assert!(String::from_utf8(output.stderr).unwrap().contains("ended by a signal"));
        assert_eq!(names(folder.path()), ["in.parquet"], "{signal} after {wait} ms");
    }
}

#[test]
fn error_names_file_and_column_of_hostile_page() {
    let folder = tempfile::tempdir().unwrap();
    let unknown = [[0xa9, 0xf7].as_slice(), &MOST].concat();
    fs::write(folder.path().join("in.parquet"), with_unknown_field(&unknown)).unwrap();
    refused(folder.path(), &["convert", "in.parquet"], 1, &["in.parquet", "column `a`, row group 0"]);
}
