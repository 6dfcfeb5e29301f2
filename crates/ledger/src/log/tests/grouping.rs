//! One sync for many.

use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

use super::super::commits::SYNC_WAIT;
use super::*;

/// Appends from many threads. Each looks at the disk when its sync returns.
fn append_from_threads(segment_bytes: u64) -> (u64, u64) {
    const THREADS: usize = 16;
    const APPENDS: usize = 30;
    let disk = SimulatedDisk::default();
    let log = open_log(disk.folder(), &OpenOptions { segment_bytes, ..OpenOptions::default() }).unwrap().log;
    let (commits, log, start) = (log.commits(), Mutex::new(log), Barrier::new(THREADS));
    disk.set_sync_time(Duration::from_millis(1));
    let before = disk.syncs();
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                start.wait();
                for length in 0..APPENDS {
                    let mut guard = log.lock().unwrap();
                    let last = append(&mut guard, 1, length).unwrap().last;
                    let segment = guard.reader().unwrap().segments().last().unwrap();
                    drop(guard);
                    commits.sync(last).unwrap();
                    assert!(commits.synced() >= last);
                    let safe = disk.safe_files();
                    assert!(safe[&segment::file_name(segment.number)].len() as u64 >= segment.bytes);
                }
            });
        }
    });
    assert_eq!(read(&log.into_inner().unwrap()).len(), THREADS * APPENDS);
    ((THREADS * APPENDS) as u64, disk.syncs() - before)
}

#[test]
fn shares_syncs_and_returns_after_them() {
    let (appends, syncs) = append_from_threads(SEGMENT_BYTES);
    assert!(syncs * 2 < appends, "{syncs} syncs for {appends} appends");
}

#[test]
fn waits_for_sync_while_segments_change() {
    append_from_threads(2_000);
}

#[test]
fn reports_failed_sync_to_all_without_retry() {
    let disk = SimulatedDisk::default();
    let mut log = open(&disk).unwrap().log;
    let last = append(&mut log, 8, 8).unwrap().last;
    let commits = log.commits();
    disk.set_sync_time(Duration::from_millis(20));
    disk.fail(0, Fault::Nothing);
    let before = disk.syncs();
    let answers: Vec<_> = thread::scope(|scope| {
        let waiting: Vec<_> = (1..=last).map(|record| (record, scope.spawn(|| commits.sync_all()))).collect();
        waiting.into_iter().map(|(_, thread)| thread.join().unwrap()).collect()
    });
    let poisoned = |answer: &Result<(), LogError>| matches!(answer, Err(LogError::Poisoned { .. }));
    assert!(answers.iter().all(poisoned), "{answers:?}");
    assert_eq!((disk.syncs() - before, commits.synced()), (1, 0));
}

#[test]
fn syncs_nothing_after_failed_append() {
    let disk = SimulatedDisk::default();
    let mut log = open(&disk).unwrap().log;
    append(&mut log, 1, 8).unwrap();
    let commits = log.commits();
    disk.set_sync_time(Duration::from_millis(40));
    thread::scope(|scope| {
        let before = disk.syncs();
        let syncing = scope.spawn(|| commits.sync_all());
        while disk.syncs() == before {
            thread::yield_now();
        }
        disk.fail(0, Fault::Half);
        assert!(append(&mut log, 1, 8).is_err());
        assert!(matches!(syncing.join().unwrap(), Err(LogError::Poisoned { .. })));
    });
    assert_eq!(commits.synced(), 0);
}

#[test]
fn runs_continuation_once_after_its_sync() {
    const THREADS: usize = 4;
    const APPENDS: usize = 200;
    let disk = SimulatedDisk::default();
    let log = open(&disk).unwrap().log;
    let (commits, log) = (log.commits(), Mutex::new(log));
    disk.set_sync_time(Duration::from_micros(300));
    let (ran, before) = (Arc::new(Mutex::new(Vec::new())), disk.syncs());
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..APPENDS {
                    let last = append(&mut log.lock().unwrap(), 1, 8).unwrap().last;
                    let (observed, ran) = (Arc::clone(&commits), Arc::clone(&ran));
                    let next = move |outcome: Result<(), LogError>| {
                        outcome.unwrap();
                        assert!(observed.synced() >= last);
                        ran.lock().unwrap().push(last);
                    };
                    commits.when_synced(last, Box::new(next));
                }
            });
        }
    });
    // Each thread leads before it ends, or another one leads for it.
    let mut ran = ran.lock().unwrap().clone();
    ran.sort_unstable();
    assert_eq!(ran, (1..=(THREADS * APPENDS) as u64).collect::<Vec<_>>());
    assert!(disk.syncs() - before < (THREADS * APPENDS) as u64);
}

#[test]
fn passes_failed_sync_to_every_continuation() {
    let disk = SimulatedDisk::default();
    let mut log = open(&disk).unwrap().log;
    let commits = log.commits();
    let outcomes = Arc::new(Mutex::new(Vec::new()));
    disk.set_sync_time(Duration::from_millis(40));
    let before = disk.syncs();
    thread::scope(|scope| {
        let leave = |last| {
            let outcomes = Arc::clone(&outcomes);
            commits.when_synced(last, Box::new(move |outcome| outcomes.lock().unwrap().push(outcome)));
        };
        let first = append(&mut log, 1, 8).unwrap().last;
        let leading = scope.spawn(move || leave(first));
        while disk.syncs() == before {
            thread::yield_now();
        }
        let second = append(&mut log, 1, 8).unwrap().last;
        disk.fail(0, Fault::Nothing);
        let outcomes = Arc::clone(&outcomes);
        commits.when_synced(second, Box::new(move |outcome| outcomes.lock().unwrap().push(outcome)));
        leading.join().unwrap();
    });
    let outcomes = outcomes.lock().unwrap();
    assert_eq!(outcomes.len(), 2);
    assert!(matches!(outcomes.last(), Some(Err(LogError::Poisoned { .. }))), "{outcomes:?}");
    assert!(matches!(commits.sync_all(), Err(LogError::Poisoned { .. })));
}

#[test]
fn fails_overdue_continuation_while_sync_hangs() {
    let disk = SimulatedDisk::default();
    let mut log = open(&disk).unwrap().log;
    let (commits, before) = (log.commits(), disk.syncs());
    let first = append(&mut log, 1, 8).unwrap().last;
    disk.set_sync_time(SYNC_WAIT + Duration::from_secs(2));
    thread::scope(|scope| {
        let leading = scope.spawn(|| commits.sync(first));
        while disk.syncs() == before {
            thread::yield_now();
        }
        let (sender, receiver) = std::sync::mpsc::channel();
        commits.when_synced(first, Box::new(move |outcome| sender.send(outcome).unwrap()));
        thread::sleep(SYNC_WAIT);
        // Any thread that comes by, as the leader itself hangs.
        commits.lead();
        assert_eq!(receiver.try_recv(), Ok(Err(LogError::Stalled)));
        assert_eq!(leading.join().unwrap(), Ok(()));
    });
}
