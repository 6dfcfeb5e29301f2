//! How long an append takes on this disk. Run with `--release -- --ignored --nocapture`.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use super::*;

const PAYLOAD_BYTES: usize = 200;

#[test]
#[ignore = "measures"]
fn speed() {
    let parent = std::env::var_os("LOG_SPEED_FOLDER").map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = tempfile::tempdir_in(parent).unwrap();
    let open = |name: &str| {
        let folder: Arc<dyn Folder> = Arc::new(DiskFolder::open(folder.path().join(name)).unwrap());
        Log::open(folder, &OpenOptions::default()).unwrap().log
    };
    measure_appends(&mut open("appends"));
    let started = Instant::now();
    let log = open("appends");
    println!(
        "open, the last segment {} bytes: {:?}",
        log.reader().unwrap().segments().last().unwrap().bytes,
        started.elapsed()
    );
    let started = Instant::now();
    let (count, bytes) = log
        .reader()
        .unwrap()
        .batches(1)
        .fold((0, 0), |(count, bytes), batch| (count + 1, bytes + batch.unwrap().payload.len() + 36));
    let seconds = started.elapsed().as_secs_f64();
    println!(
        "read {count} batches: {:.0} ns a batch, {:.0} MB/s",
        seconds * 1e9 / f64::from(count),
        bytes as f64 / seconds / 1e6
    );
    for threads in [1, 8, 64] {
        measure_commits(open(&format!("commits-{threads}")), threads);
    }
}

fn measure_appends(log: &mut Log) {
    const APPENDS: u32 = 300_000;
    let payload = [7; PAYLOAD_BYTES];
    let mut times = Vec::with_capacity(APPENDS as usize);
    let started = Instant::now();
    for _ in 0..APPENDS {
        let at = Instant::now();
        log.append(1, &payload).unwrap();
        times.push(at.elapsed());
    }
    let total = started.elapsed();
    times.sort_unstable();
    let (mean, half, rare) = (total / APPENDS, times[times.len() / 2], times[times.len() * 99 / 100]);
    println!("append of {PAYLOAD_BYTES} bytes: mean {mean:?}, p50 {half:?}, p99 {rare:?}");
}

fn measure_commits(log: Log, threads: usize) {
    let (commits, log) = (log.commits(), Mutex::new(log));
    let times = Mutex::new(Vec::new());
    let started = Instant::now();
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut own = Vec::new();
                while started.elapsed() < Duration::from_secs(3) {
                    let at = Instant::now();
                    let last = log.lock().unwrap().append(1, &[7; PAYLOAD_BYTES]).unwrap();
                    commits.sync(last).unwrap();
                    own.push(at.elapsed());
                }
                times.lock().unwrap().extend(own);
            });
        }
    });
    let total = started.elapsed();
    let mut times = times.into_inner().unwrap();
    times.sort_unstable();
    let (half, rare) = (times[times.len() / 2], times[times.len() * 99 / 100]);
    let rate = times.len() as f64 / total.as_secs_f64();
    println!("append + sync, {threads} threads: {rate:.0}/s, p50 {half:?}, p99 {rare:?}");
}
