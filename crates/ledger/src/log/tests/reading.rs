//! Reading the log.

use proptest::prelude::*;

use super::*;

/// Parses all files from the front, and verifies nothing.
fn read_naively(files: &Files) -> Vec<Batch> {
    let number = |bytes: &[u8]| u64::from_be_bytes(bytes.try_into().unwrap());
    let mut batches = Vec::new();
    for bytes in files.values() {
        let mut rest = &bytes[48..];
        while !rest.is_empty() {
            let end = 36 + u32::from_be_bytes(rest[..4].try_into().unwrap()) as usize;
            let (first, last) = (number(&rest[12..20]), number(&rest[20..28]));
            batches.push(Batch { first, last, payload: rest[36..end].to_vec() });
            rest = &rest[end..];
        }
    }
    batches
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn reads_same_batches_as_naive_parser(
        lengths in prop::collection::vec((1_u64..5, 0_usize..200), 0..40),
        skips in prop::collection::vec(0_usize..40, 0..3),
        from in any::<prop::sample::Index>(),
    ) {
        let disk = SimulatedDisk::default();
        let mut log = open(&disk).unwrap().log;
        for (place, (count, length)) in lengths.iter().enumerate() {
            if skips.contains(&place) {
                let options = OpenOptions { next_at_least: log.next_sequence() + 5, ..options() };
                log = open_log(disk.folder(), &options).unwrap().log;
            }
            append(&mut log, *count, *length).unwrap();
        }
        let expected = read_naively(&without_room(&disk).files());
        prop_assert_eq!(expected.len(), lengths.len());
        let reader = log.reader().unwrap();
        prop_assert_eq!(&read_from(&reader, 0).unwrap(), &expected);
        prop_assert_eq!(&read_from(&LogReader::over(&[disk.folder()]).unwrap(), 0).unwrap(), &expected);
        let from = from.index(log.next_sequence() as usize + 2) as u64;
        let later: Vec<Batch> = expected.into_iter().filter(|batch| batch.last >= from).collect();
        prop_assert_eq!(read_from(&reader, from).unwrap(), later);
    }

    #[test]
    fn opens_arbitrary_bytes_without_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..300), at in 0_usize..300, cut in 0_usize..300,
    ) {
        let (disk, _) = synced_log(6);
        let mut files = disk.files();
        let name = last_name(&files);
        let file = files.get_mut(&name).unwrap();
        file.truncate(cut);
        file.resize(file.len().max(at), 0);
        file.splice(at.min(file.len()).., bytes);
        let disk = SimulatedDisk::with_files(&files);
        if let Ok(opened) = open(&disk) {
            read(&opened.log);
        }
    }
}

#[test]
fn ends_reader_where_log_ended_at_its_creation() {
    let disk = SimulatedDisk::default();
    let mut log = open(&disk).unwrap().log;
    let mut expected = vec![append(&mut log, 1, 10).unwrap()];
    let reader = log.reader().unwrap();
    let mut batches = reader.batches(1);
    for _ in 0..30 {
        append(&mut log, 1, 30).unwrap();
    }
    assert_eq!(batches.next(), expected.pop().map(Ok));
    assert_eq!(batches.next(), None);
    assert_eq!((reader.last_sequence(), reader.segments().count()), (1, 1));
}

#[test]
fn reads_batches_longer_than_buffer() {
    let disk = SimulatedDisk::default();
    let mut log = open_log(disk.folder(), &OpenOptions::default()).unwrap().log;
    let lengths = [0, BUFFER_BYTES - 36, BUFFER_BYTES, 1, BUFFER_BYTES * 3 + 17, 5];
    let expected: Vec<Batch> = lengths.iter().map(|length| append(&mut log, 1, *length).unwrap()).collect();
    assert_eq!(read(&log), expected);
    drop(log);
    assert_eq!(read(&open(&disk).unwrap().log), expected);
}

#[test]
fn copies_segment_up_to_end_of_reader() {
    let (disk, _) = synced_log(12);
    let mut log = open(&disk).unwrap().log;
    let (reader, files) = (log.reader().unwrap(), disk.files());
    append(&mut log, 1, 1).unwrap();
    let mut copies = Files::new();
    for segment in reader.segments() {
        let mut copy = Vec::new();
        reader.copy_segment(segment.number, &mut copy).unwrap();
        copies.insert(segment::file_name(segment.number), copy);
    }
    assert_eq!(copies, files);
    assert!(matches!(reader.copy_segment(99, &mut Vec::new()), Err(LogError::Missing { .. })));
}

#[test]
fn ignores_other_files_in_folder() {
    let (disk, batches) = synced_log(6);
    let mut files = disk.files();
    for name in ["lock", "0000000001.log.48.broken", "9.log", "0000000009.log.part"] {
        files.insert(name.to_owned(), b"other".to_vec());
    }
    let disk = SimulatedDisk::with_files(&files);
    assert_eq!(read(&open(&disk).unwrap().log), batches);
    assert_eq!(disk.files(), files);
}
