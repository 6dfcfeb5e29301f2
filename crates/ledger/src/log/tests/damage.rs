//! Damage of what was safe.

use super::super::format::{HEADER_BYTES, Header, encode_frame};
use super::*;

/// Each frame: its segment, its range, its first number, and the last number that it calls synced.
fn frames(files: &Files) -> Vec<(String, std::ops::Range<usize>, u64, u64)> {
    let mut frames = Vec::new();
    for (name, bytes) in files.iter().filter(|(name, _)| segment::parse_name(name).is_some()) {
        let mut at = HEADER_BYTES;
        while at < bytes.len() {
            let head = format::FrameHead::decode(&bytes[at..]).unwrap();
            frames.push((name.clone(), at..at + head.frame_bytes(), head.first, head.synced));
            at += head.frame_bytes();
        }
    }
    frames
}

/// Opens and reads a damaged log; nothing when it is refused.
fn accepted(files: &Files) -> Option<Vec<Batch>> {
    let disk = SimulatedDisk::with_files(files);
    let found = open(&disk).and_then(|opened| read_from(&opened.log.reader()?, 1));
    match found {
        Ok(found) => Some(found),
        Err(LogError::Corrupt { .. } | LogError::Missing { .. }) => None,
        Err(error) => panic!("{error}"),
    }
}

/// Frames whose end nothing behind proves synced look torn when they are damaged: the log cannot know better. All others
/// are refused, in each bit.
#[test]
fn refuses_changed_bit_or_cuts_unsynced_frames() {
    let (disk, batches) = synced_log(20);
    let files = disk.files();
    let frames = frames(&files);
    let last = last_name(&files);
    let (mut refused, mut cut) = (0, 0);
    for (name, bytes) in &files {
        for bit in 0..bytes.len() * 8 {
            let mut changed = files.clone();
            changed.get_mut(name).unwrap()[bit / 8] ^= 1 << (bit % 8);
            let Some(found) = accepted(&changed) else {
                refused += 1;
                continue;
            };
            cut += 1;
            assert_eq!(Some(found.as_slice()), batches.get(..found.len()), "{name} {bit}");
            assert_eq!(*name, last, "{bit}");
            let hit =
                frames.iter().position(|(in_name, range, ..)| in_name == name && range.contains(&(bit / 8)));
            let hit = hit.unwrap();
            assert_eq!(found.len(), hit, "{name} {bit}");
            assert!(frames[hit + 1..].iter().all(|(.., synced)| *synced < frames[hit].2), "{name} {bit}");
        }
    }
    let last_frame = frames.last().unwrap().1.len();
    assert_eq!(
        cut,
        last_frame * 8,
        "only bits of the last frame pass for a torn tail; {refused} were refused"
    );
}

#[test]
fn refuses_truncated_segment_unless_last() {
    let (disk, batches) = synced_log(20);
    let files = disk.files();
    for (name, bytes) in &files {
        for length in 0..bytes.len() {
            let mut changed = files.clone();
            changed.get_mut(name).unwrap().truncate(length);
            match accepted(&changed) {
                Some(found) => assert!(*name == last_name(&files) && batches.starts_with(&found)),
                None => assert!(*name != last_name(&files), "{length}"),
            }
        }
    }
}

#[test]
fn names_missing_segment_and_accepts_absent_old_ones() {
    let (disk, batches) = synced_log(20);
    let files = disk.files();
    let names: Vec<String> = files.keys().cloned().collect();
    for name in &names[1..names.len() - 1] {
        let mut changed = files.clone();
        changed.remove(name);
        let error = open(&SimulatedDisk::with_files(&changed)).err();
        assert_eq!(error, Some(LogError::Missing { path: disk.describe(name) }));
    }
    let mut changed = files.clone();
    changed.remove(&names[0]);
    let log = open(&SimulatedDisk::with_files(&changed)).unwrap().log;
    let reader = log.reader().unwrap();
    assert_eq!(reader.first_sequence(), reader.segments().next().unwrap().first);
    let later: Vec<Batch> =
        batches.iter().filter(|batch| batch.first >= reader.first_sequence()).cloned().collect();
    assert_eq!(read(&log), later);
    assert!(later.len() < batches.len());
}

/// A segment of crafted frames with these numbers, one byte each.
fn crafted(numbers: &[[u64; 3]]) -> (Files, Vec<std::ops::Range<usize>>) {
    let mut bytes = Header { number: 1, first: 1, chain: 0, previous_length: 0 }.encode();
    let mut ranges = Vec::new();
    for numbers in numbers {
        let mut frame = Vec::new();
        encode_frame(1, *numbers, b"p", &mut frame);
        ranges.push(bytes.len()..bytes.len() + frame.len());
        bytes.extend(frame);
    }
    (Files::from([(segment::file_name(1), bytes)]), ranges)
}

fn chain_after(bytes: &[u8], ranges: &[std::ops::Range<usize>]) -> u64 {
    ranges.iter().fold(Header::decode(bytes).unwrap().chain_start(), |chain, range| {
        format::fold(chain, format::FrameHead::decode(&bytes[range.clone()]).unwrap().checksum)
    })
}

#[test]
fn rejects_gap_and_repetition_of_numbers() {
    for numbers in [[[1, 2, 0], [4, 4, 0]], [[1, 2, 0], [2, 2, 0]], [[2, 2, 0], [3, 3, 0]]] {
        let error = open(&SimulatedDisk::with_files(&crafted(&numbers).0)).err();
        assert!(matches!(error, Some(LogError::Corrupt { .. })), "{numbers:?}: {error:?}");
    }
}

#[test]
fn judges_hole_by_later_frames() {
    let hole_after = |numbers: &[[u64; 3]], hole: usize| {
        let (mut files, ranges) = crafted(numbers);
        files.get_mut(&segment::file_name(1)).unwrap()[ranges[hole].clone()].fill(0);
        accepted(&files).map(|found| found.len())
    };
    // Nothing was synced: the disk may have written the third frame first.
    assert_eq!(hole_after(&[[1, 1, 0], [2, 2, 0], [3, 3, 0]], 1), Some(1));
    // The first was synced, the second was not.
    assert_eq!(hole_after(&[[1, 1, 0], [2, 2, 1], [3, 3, 1]], 1), Some(1));
    assert_eq!(hole_after(&[[1, 1, 0], [2, 2, 0], [3, 3, 1]], 0), None);
    // The second was synced before the fourth was appended.
    assert_eq!(hole_after(&[[1, 1, 0], [2, 2, 1], [3, 3, 1], [4, 4, 2]], 1), None);
    assert_eq!(hole_after(&[[1, 1, 0], [2, 2, 1], [3, 3, 1], [4, 4, 2]], 2), Some(2));
}

#[test]
fn leaves_refused_log_unchanged() {
    let (disk, _) = synced_log(20);
    let mut files = disk.files();
    let last = last_name(&files);
    files.get_mut(&last).unwrap()[60] ^= 1;
    let disk = SimulatedDisk::with_files(&files);
    let error = open(&disk).err().unwrap();
    assert_eq!(disk.files(), files);
    let text = error.to_string();
    assert!(
        text.contains(&last) && text.contains("at byte 48") && text.contains("mercato-tools restore"),
        "{text}"
    );
}

#[test]
fn refuses_renamed_and_foreign_segments() {
    let (disk, _) = synced_log(20);
    let files = disk.files();
    let mut renamed = files.clone();
    let second = renamed[&segment::file_name(2)].clone();
    renamed.insert(segment::file_name(3), second);
    assert_eq!(accepted(&renamed), None);
    // Another log of the same shape, in which one batch has another payload.
    let other = SimulatedDisk::default();
    let mut log = open(&other).unwrap().log;
    for place in 0..20 {
        let payload = vec![u8::from(place == 1); place * 13 % 40];
        log.append(1 + place as u64 % 3, &payload).unwrap();
    }
    for (name, bytes) in other.files() {
        let mut mixed = files.clone();
        mixed.insert(name.clone(), bytes);
        assert!(name == last_name(&files) || accepted(&mixed).is_none(), "{name}");
    }
}

/// Opens the files, and reads them without opening. Both refuse.
fn check_refused(files: &Files, what: &str) {
    let disk = SimulatedDisk::with_files(files);
    assert_eq!(accepted(files), None, "{what}");
    let read = LogReader::over(&[disk.folder()]).and_then(|reader| read_from(&reader, 1));
    assert!(matches!(read, Err(LogError::Corrupt { .. })), "{what}: {read:?}");
}

#[test]
fn refuses_header_contradicting_earlier_segment() {
    let (mut files, ranges) = crafted(&[[1, 2, 0], [3, 5, 0]]);
    let first = &files[&segment::file_name(1)];
    let chain = chain_after(first, &ranges);
    let right = Header { number: 2, first: 6, chain, previous_length: first.len() as u64 };
    let wrong = [
        ("number", Header { number: 3, ..right }),
        ("first of the one before", Header { first: 1, ..right }),
        ("first within the one before", Header { first: 5, ..right }),
        ("chain", Header { chain: chain ^ 1, ..right }),
        ("longer", Header { previous_length: right.previous_length + 1, ..right }),
        ("shorter", Header { previous_length: right.previous_length - 1, ..right }),
    ];
    for (what, header) in wrong {
        files.insert(segment::file_name(2), header.encode());
        check_refused(&files, what);
    }
    for header in [right, Header { first: 60, ..right }] {
        files.insert(segment::file_name(2), header.encode());
        assert_eq!(accepted(&files).unwrap().len(), 2);
    }
}

#[test]
fn refuses_gap_in_closed_segment() {
    let (mut files, ranges) = crafted(&[[1, 2, 0], [4, 4, 0]]);
    let first = &files[&segment::file_name(1)];
    let chain = chain_after(first, &ranges);
    let next = Header { number: 2, first: 5, chain, previous_length: first.len() as u64 };
    files.insert(segment::file_name(2), next.encode());
    check_refused(&files, "gap");
    let reader = LogReader::over(&[SimulatedDisk::with_files(&files).folder()]).unwrap();
    let found: Vec<bool> = reader.batches(1).map(|batch| batch.is_ok()).collect();
    assert_eq!(found, [true, false], "after an error there is no more");
}

/// The bound on numbers that spares checksums must not hide a frame full of records.
#[test]
fn detects_damage_of_full_frame() {
    let (mut files, ranges) = crafted(&[[1, 37, 0], [38, 74, 0], [75, 75, 37]]);
    files.get_mut(&segment::file_name(1)).unwrap()[ranges[0].start] ^= 1;
    assert_eq!(accepted(&files), None);
}
