//! The failure that stands for the death of a worker: what it read, what it took, and what helps.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use rustix::process::Signal;

use super::Limits;
use crate::convert::Conversion;
use crate::failure::Failure;

/// The exit code of a worker whose decoder was stuck.
pub const STUCK_EXIT_CODE: i32 = 75;
const DAMAGED: &str = "get the file again from its source, or leave the column out with --drop";

pub struct Reading {
    pub file: String,
    pub section: String,
}

/// The inputs, for messages.
pub fn name_of(conversion: &Conversion) -> String {
    match conversion.inputs.as_slice() {
        [] => String::new(),
        [only] => only.display().to_string(),
        [first, others @ ..] => format!("{} and {} more", first.display(), others.len()),
    }
}

pub fn failure(
    status: ExitStatus,
    words: &str,
    conversion: &Conversion,
    limits: Limits,
    reading: &BTreeMap<u64, Reading>,
) -> Failure {
    let (expected, found, remedy) = cause(status, words, conversion, limits);
    let mut files: Vec<&str> = reading.values().map(|reading| reading.file.as_str()).collect();
    files.dedup();
    let sections: Vec<&str> = reading.values().map(|reading| reading.section.as_str()).collect();
    Failure::refused(
        if let [file] = files.as_slice() { (*file).to_owned() } else { name_of(conversion) },
        if sections.is_empty() { "conversion".to_owned() } else { sections.join(" or ") },
        expected,
        found,
        remedy,
    )
}

fn cause(
    status: ExitStatus,
    words: &str,
    conversion: &Conversion,
    limits: Limits,
) -> (String, String, String) {
    let texts = |expected: String, found: &str, remedy: &str| (expected, found.to_owned(), remedy.to_owned());
    let killed = |signal: Signal| status.signal() == Some(signal.as_raw());
    if words.contains("memory allocation of") {
        let (limit, bytes) = (conversion.memory_limit >> 20, limits.memory_bytes);
        let expected = format!("values that fit into {bytes} bytes under --memory-limit {limit}MiB");
        let remedy = "raise --memory-limit if the file is genuine, else get it again from its source";
        return texts(expected, "a decoder that asks for more", remedy);
    }
    if words.contains("overflowed its stack") {
        return texts(
            "values that are not nested so deeply".into(),
            "a stack overflow of the decoder",
            DAMAGED,
        );
    }
    if status.code() == Some(STUCK_EXIT_CODE) {
        let seconds = limits.decoder_time_max.as_secs();
        return texts(format!("progress within {seconds} s"), "a decoder that does not return", DAMAGED);
    }
    if killed(Signal::XFSZ) {
        let expected = format!("files of at most {} bytes", limits.file_bytes.unwrap_or(0));
        return texts(expected, "more", "split the file, or leave columns out with --drop");
    }
    if killed(Signal::KILL) {
        let remedy = "free memory, or pass a lower --memory-limit";
        return texts("a conversion to its end".into(), "one that the system killed", remedy);
    }
    let found = match (status.signal(), status.code()) {
        (Some(signal), _) => format!("a decoder that crashed (signal {signal})"),
        (None, code) => format!("no outcome (exit code {})", code.unwrap_or(0)),
    };
    ("a file that can be converted".into(), found, DAMAGED.into())
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use super::*;

    #[test]
    fn every_death_has_a_cause_and_a_remedy() {
        let conversion = Conversion::new(Path::new("a.parquet"), Path::new("b"));
        let limits = Limits {
            memory_bytes: 7_000,
            file_bytes: Some(9_000),
            decoder_time_max: Duration::from_secs(60),
        };
        let reading = |sections: &[&str]| -> BTreeMap<u64, Reading> {
            let reading = sections
                .iter()
                .map(|section| Reading { file: "a.parquet".into(), section: (*section).into() });
            (0..).zip(reading).collect()
        };
        for (status, words, expected) in [
            (6, "memory allocation of 99 bytes failed", "7000 bytes under --memory-limit 2048MiB"),
            (6, "thread 'main' has overflowed its stack", "stack overflow"),
            (STUCK_EXIT_CODE << 8, "", "within 60 s"),
            (25, "", "at most 9000 bytes"),
            (9, "", "the system killed"),
            (11, "", "crashed (signal 11)"),
            (3 << 8, "", "exit code 3"),
        ] {
            let status = ExitStatus::from_raw(status);
            let line = failure(status, words, &conversion, limits, &reading(&["column `x`"])).one_line();
            assert!(
                line.starts_with("a.parquet: column `x`: expected ") && line.contains(expected),
                "{line}"
            );
            let line = failure(status, words, &conversion, limits, &reading(&["p", "q"])).one_line();
            assert!(line.starts_with("a.parquet: p or q: "), "{line}");
            let line = failure(status, words, &conversion, limits, &reading(&[])).one_line();
            assert!(line.starts_with("a.parquet: conversion: "), "{line}");
        }
    }
}
