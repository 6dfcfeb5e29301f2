//! Old segments in another folder.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::*;

/// A log of several segments on a real disk, below the folder `log`.
fn disk_log(folder: &Path) -> (Log, Vec<Batch>) {
    let live: Arc<dyn Folder> = Arc::new(DiskFolder::open(folder.join("log")).unwrap());
    let mut log = open_log(live, &options()).unwrap().log;
    let batches = (0..24).map(|place| append(&mut log, 1, place).unwrap()).collect();
    log.commits().sync_all().unwrap();
    (log, batches)
}

fn over_both(folder: &Path) -> Result<Vec<Batch>, LogError> {
    let folders = ["log", "old"]
        .map(|name| -> Arc<dyn Folder> { Arc::new(DiskFolder::open(folder.join(name)).unwrap()) });
    read_from(&LogReader::over(&folders)?, 1)
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn archives_old_segments_and_reads_both_folders() {
    let folder = tempfile::tempdir().unwrap();
    let (log, batches) = disk_log(folder.path());
    let (live, old) = (folder.path().join("log"), folder.path().join("old"));
    let before = log.reader().unwrap();
    let segments: Vec<Segment> = before.segments().collect();
    assert!(segments.len() > 4);
    // The third segment ends with the record before the fourth; one below does not suffice for it.
    for (below, count) in
        [(0, 0), (segments[3].first - 2, 2), (segments[3].first - 1, 1), (u64::MAX, segments.len() - 4)]
    {
        let moved = archive(&live, &old, below).unwrap();
        assert_eq!(moved.len(), count, "{below}");
        assert!(moved.iter().all(|(_, last, path)| *last <= below && path.is_file()));
        assert_eq!(over_both(folder.path()).unwrap(), batches);
    }
    assert_eq!(names(&live).len(), 1);
    assert_eq!(archive(&live, &old, u64::MAX), Ok(vec![]));
    let reader = log.reader().unwrap();
    assert_eq!(reader.first_sequence(), segments.last().unwrap().first);
    let later: Vec<Batch> =
        batches.iter().filter(|batch| batch.first >= reader.first_sequence()).cloned().collect();
    assert_eq!(read_from(&reader, 1).unwrap(), later);
    let gone = before.batches(1).next().unwrap();
    assert!(matches!(gone, Err(LogError::Missing { .. })), "{gone:?}");
    drop(log);
    let live: Arc<dyn Folder> = Arc::new(DiskFolder::open(&live).unwrap());
    let mut log = open_log(live, &options()).unwrap().log;
    append(&mut log, 1, 100).unwrap();
    assert_eq!(over_both(folder.path()).unwrap().len(), batches.len() + 1);
}

#[test]
fn detects_damaged_or_missing_archived_segment() {
    let folder = tempfile::tempdir().unwrap();
    let (_log, _) = disk_log(folder.path());
    let old = folder.path().join("old");
    archive(&folder.path().join("log"), &old, u64::MAX).unwrap();
    for name in names(&old) {
        let bytes = fs::read(old.join(&name)).unwrap();
        for place in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[place] ^= 0x20;
            fs::write(old.join(&name), changed).unwrap();
            assert!(matches!(over_both(folder.path()), Err(LogError::Corrupt { .. })), "{name} {place}");
        }
        fs::write(old.join(&name), bytes).unwrap();
    }
    fs::remove_file(old.join(segment::file_name(2))).unwrap();
    let error = over_both(folder.path()).unwrap_err();
    assert!(error.to_string().contains("0000000002.log: the segment is missing; put it back"), "{error}");
}

#[test]
fn keeps_damaged_segment_out_of_archive() {
    let folder = tempfile::tempdir().unwrap();
    let (_log, _) = disk_log(folder.path());
    let (live, old) = (folder.path().join("log"), folder.path().join("old"));
    let damaged = live.join(segment::file_name(2));
    let mut bytes = fs::read(&damaged).unwrap();
    bytes[60] ^= 1;
    fs::write(&damaged, &bytes).unwrap();
    assert!(matches!(archive(&live, &old, u64::MAX), Err(LogError::Corrupt { .. })));
    assert_eq!(names(&old), [segment::file_name(1)]);
    assert_eq!(fs::read(&damaged).unwrap(), bytes);
}

#[test]
fn repeats_interrupted_archiving() {
    let folder = tempfile::tempdir().unwrap();
    let (_log, batches) = disk_log(folder.path());
    let (live, old) = (folder.path().join("log"), folder.path().join("old"));
    fs::create_dir(&old).unwrap();
    // The first was copied and not removed, the copy of the second was interrupted.
    fs::copy(live.join(segment::file_name(1)), old.join(segment::file_name(1))).unwrap();
    fs::write(old.join("0000000002.log.part"), b"MRCLOG01").unwrap();
    assert_eq!(over_both(folder.path()).unwrap(), batches);
    let moved = archive(&live, &old, u64::MAX).unwrap();
    assert_eq!(moved.iter().map(|(segment, ..)| segment.number).take(2).collect::<Vec<u64>>(), [1, 2]);
    assert_eq!(over_both(folder.path()).unwrap(), batches);
    assert!(names(&old).iter().all(|name| name.ends_with(".log")));
}

#[test]
fn keeps_other_files_in_archive() {
    let folder = tempfile::tempdir().unwrap();
    let (_log, batches) = disk_log(folder.path());
    let (live, old) = (folder.path().join("log"), folder.path().join("old"));
    fs::create_dir(&old).unwrap();
    fs::write(old.join(segment::file_name(1)), b"another").unwrap();
    assert!(matches!(archive(&live, &old, u64::MAX), Err(LogError::Differs { .. })));
    assert_eq!(fs::read(old.join(segment::file_name(1))).unwrap(), b"another");
    // A link to the segment is no copy of it.
    fs::remove_file(old.join(segment::file_name(1))).unwrap();
    std::os::unix::fs::symlink(live.join(segment::file_name(1)), old.join(segment::file_name(1))).unwrap();
    assert!(matches!(archive(&live, &old, u64::MAX), Err(LogError::Differs { .. })));
    fs::remove_file(old.join(segment::file_name(1))).unwrap();
    assert_eq!(over_both(folder.path()).unwrap(), batches);
}

#[test]
fn rejects_log_folder_as_archive() {
    let folder = tempfile::tempdir().unwrap();
    let (_log, batches) = disk_log(folder.path());
    let live = folder.path().join("log");
    std::os::unix::fs::symlink(&live, folder.path().join("link")).unwrap();
    for to in [live.clone(), folder.path().join("link")] {
        assert!(matches!(archive(&live, &to, u64::MAX), Err(LogError::Io { .. })));
    }
    assert!(archive(&folder.path().join("absent"), &folder.path().join("old"), 9).is_err());
    assert_eq!(over_both(folder.path()).unwrap(), batches);
}
