//! The guarantees of the log, over a simulated and over a real disk.

use super::opening::Opened;
use super::simulated::{Fault, Files, SimulatedDisk};
use super::*;

mod archiving;
mod crashes;
mod damage;
mod failures;
mod grouping;
mod reading;

/// So small that a few batches fill a segment.
const SMALL_SEGMENT_BYTES: u64 = 300;

fn options() -> OpenOptions {
    OpenOptions { segment_bytes: SMALL_SEGMENT_BYTES, ..OpenOptions::default() }
}

fn open(disk: &SimulatedDisk) -> Result<Opened, LogError> {
    open_log(disk.folder(), &options())
}

/// The next batch of a log, with a payload that tells it from any other.
fn next_batch(log: &Log, count: u64, length: usize) -> Batch {
    let first = log.next_sequence();
    let payload = (0..length as u64).map(|place| (first * 31 + place * 7) as u8).collect();
    Batch { first, last: first + count - 1, payload }
}

fn append(log: &mut Log, count: u64, length: usize) -> Result<Batch, LogError> {
    let batch = next_batch(log, count, length);
    assert_eq!(log.append(count, &batch.payload)?, batch.last);
    Ok(batch)
}

fn read_from(reader: &LogReader, from: u64) -> Result<Vec<Batch>, LogError> {
    reader.batches(from).collect()
}

fn read(log: &Log) -> Vec<Batch> {
    read_from(&log.reader().unwrap(), 1).unwrap()
}

/// The same log without the zeros behind its last frame, which an opening cuts.
fn without_room(disk: &SimulatedDisk) -> SimulatedDisk {
    let cut = disk.fork();
    assert!(open(&cut).unwrap().cut.is_empty());
    cut
}

/// A log of several segments with `count` batches, all of it safe. Each batch calls the one before it synced.
fn synced_log(count: usize) -> (SimulatedDisk, Vec<Batch>) {
    let disk = SimulatedDisk::default();
    let mut log = open(&disk).unwrap().log;
    let mut batches = Vec::new();
    for place in 0..count {
        batches.push(append(&mut log, 1 + place as u64 % 3, place * 13 % 40).unwrap());
        log.commits().sync_all().unwrap();
    }
    drop(log);
    (without_room(&disk), batches)
}

fn last_name(files: &Files) -> String {
    files.keys().rfind(|name| segment::parse_name(name).is_some()).unwrap().clone()
}
