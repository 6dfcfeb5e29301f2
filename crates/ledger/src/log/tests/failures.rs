//! Operations that fail while the log is in use.

use super::*;

/// Appends and syncs until something fails. Returns all batches that were tried.
fn use_until_failure(log: &mut Log) -> (Vec<Batch>, Option<LogError>) {
    let mut batches = Vec::new();
    for place in 0..24_u64 {
        let (count, length) = (1 + place % 3, place as usize * 17 % 60);
        batches.push(next_batch(log, count, length));
        let mut done = append(log, count, length).map(|_| ());
        if place % 3 == 2 {
            done = done.and_then(|()| log.commits().sync_all().map(drop));
        }
        if done.is_err() {
            return (batches, done.err());
        }
    }
    (batches, None)
}

fn acknowledged(batches: &[Batch], synced: u64) -> Vec<Batch> {
    batches.iter().take_while(|batch| batch.last <= synced).cloned().collect()
}

#[test]
fn poisons_log_on_any_failure_and_reopens_acknowledged() {
    for fault in [Fault::Nothing, Fault::Half, Fault::All] {
        for after in 0.. {
            let disk = SimulatedDisk::default();
            disk.fail(after, fault);
            let Ok(Opened { mut log, .. }) = open(&disk) else {
                assert_eq!(open(&disk).unwrap().log.next_sequence(), 1);
                continue;
            };
            let (batches, error) = use_until_failure(&mut log);
            if disk.take_fault() {
                assert!(error.is_none() && after > 30);
                break;
            }
            assert!(
                matches!(error, Some(LogError::Io { .. } | LogError::Poisoned { .. })),
                "{after} {fault:?} {error:?}"
            );
            check_poisoned(&mut log);
            let synced = log.commits().synced();
            let kept = acknowledged(&batches, synced);
            // Another process cannot know that later batches were not acknowledged.
            for state in disk.crash_states().iter().chain([&disk.fork()]) {
                crashes::check_disk(state, &batches, kept.len());
            }
            check_reopened(&disk, &kept, synced, batches.last().unwrap().last + 1);
        }
    }
}

fn check_poisoned(log: &mut Log) {
    let commits = log.commits();
    let synced = commits.synced();
    assert!(matches!(log.append(1, b"more"), Err(LogError::Poisoned { .. })));
    assert_eq!(commits.sync(synced), Ok(()));
    if commits.appended() > synced {
        assert!(matches!(commits.sync_all(), Err(LogError::Poisoned { .. })));
        assert_eq!(commits.synced(), synced);
    }
}

fn check_reopened(disk: &SimulatedDisk, kept: &[Batch], synced: u64, unused: u64) {
    let options = OpenOptions { keep_until: Some(synced), next_at_least: unused, ..options() };
    let mut log = open_log(disk.folder(), &options).unwrap().log;
    assert_eq!(read(&log), kept);
    assert_eq!(log.next_sequence(), unused);
    let safe = open(&SimulatedDisk::with_files(&disk.safe_files())).unwrap().log;
    assert_eq!((read(&safe), safe.next_sequence()), (kept.to_vec(), unused));
    let more = append(&mut log, 2, 10).unwrap();
    log.commits().sync_all().unwrap();
    let safe = open(&SimulatedDisk::with_files(&disk.safe_files())).unwrap().log;
    assert_eq!(read(&safe), [kept, &[more]].concat());
}

#[test]
fn cuts_segments_after_kept_batch_newest_first() {
    let (disk, batches) = synced_log(24);
    let segments = disk.files().len();
    for keep in 0..=batches.last().unwrap().last {
        let disk = disk.fork();
        let options = OpenOptions { keep_until: Some(keep), next_at_least: 100, ..options() };
        let opened = open_log(disk.folder(), &options).unwrap();
        let kept: Vec<Batch> = batches.iter().take_while(|batch| batch.first <= keep).cloned().collect();
        assert_eq!((read(&opened.log), opened.log.next_sequence()), (kept, 100), "{keep}");
        assert!(
            opened.cut.len() <= segments && opened.cut.is_sorted_by_key(|cut| std::cmp::Reverse(cut.segment))
        );
        for cut in &opened.cut {
            let name = cut.path.file_name().unwrap().to_str().unwrap();
            assert_eq!(disk.safe_files()[name].len() as u64, cut.bytes);
        }
    }
}

#[test]
fn rejects_oversized_and_empty_batches_without_writing() {
    let disk = SimulatedDisk::default();
    let mut log = open(&disk).unwrap().log;
    let before = disk.files();
    let (bytes, limit) = (PAYLOAD_BYTES_MAX + 1, PAYLOAD_BYTES_MAX);
    assert_eq!(log.append(1, &vec![0; bytes]), Err(LogError::TooLong { bytes, limit }));
    for count in [0, 39, u64::MAX] {
        assert_eq!(log.append(count, b"12"), Err(LogError::Records { count, limit: 38 }));
    }
    assert_eq!(disk.files(), before);
    assert_eq!(log.append(38, b"12"), Ok(38));
    assert_eq!(log.append(1, &vec![7; limit]), Ok(39));
    assert_eq!(read(&log).len(), 2);
}

#[test]
fn gives_oversized_batch_its_own_segment() {
    let disk = SimulatedDisk::default();
    let mut log = open(&disk).unwrap().log;
    let lengths = [5_000, 10, 20, 5_000];
    let batches: Vec<Batch> = lengths.iter().map(|length| append(&mut log, 1, *length).unwrap()).collect();
    assert_eq!(
        log.reader().unwrap().segments().map(|segment| segment.first).collect::<Vec<u64>>(),
        [1, 2, 4]
    );
    assert_eq!(read(&log), batches);
}

#[test]
fn stops_at_last_sequence_number() {
    let disk = SimulatedDisk::default();
    let options = OpenOptions { next_at_least: u64::MAX - 2, ..options() };
    let mut log = open_log(disk.folder(), &options).unwrap().log;
    assert_eq!(log.append(3, b""), Err(LogError::Records { count: 3, limit: 2 }));
    assert_eq!(log.append(2, b"the last"), Ok(u64::MAX - 1));
    assert_eq!(log.append(1, b""), Err(LogError::Records { count: 1, limit: 0 }));
    drop(log);
    assert_eq!(read(&open(&disk).unwrap().log).len(), 1);
}

#[test]
fn refuses_to_sync_records_not_appended() {
    let disk = SimulatedDisk::default();
    let mut log = open(&disk).unwrap().log;
    append(&mut log, 2, 5).unwrap();
    assert_eq!(log.commits().sync(3), Err(LogError::NotAppended { asked: 3, appended: 2 }));
    assert!(log.commits().sync(2).is_ok());
}
