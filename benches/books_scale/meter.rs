//! Processor time: of the processes of the database, and of the threads of this one. Linux, database on this machine.

use std::collections::HashMap;
use std::fs;

use postgres::Client;

/// Beginning of the names of the threads that send batches.
const BATCHER: &str = "books-batch";

/// Processor time so far, in nanoseconds, by process and by thread.
pub struct Look {
    database: HashMap<String, u64>,
    threads: HashMap<String, (bool, u64)>,
    /// Seconds of all processors of the machine.
    machine: f64,
    /// Flushes of the log, and their seconds.
    flushes: (f64, f64),
}

/// Processor seconds between two looks. Processes and threads that ended in between are not counted.
#[derive(Clone, Copy, Default)]
pub struct Spent {
    pub database: f64,
    pub batchers: f64,
    /// All other threads of this process.
    pub others: f64,
    /// Other programs.
    pub elsewhere: f64,
    /// Seconds of one flush of the log; zero where there was none.
    pub flush: f64,
}

/// Looks at the present times.
pub fn look(client: &mut Client) -> Look {
    let rows = client.query("SELECT pid FROM pg_stat_activity", &[]).unwrap();
    let pids = rows.iter().map(|row| row.get::<_, i32>(0).to_string());
    let database =
        pids.filter_map(|pid| Some((pid.clone(), nanos(&format!("/proc/{pid}/schedstat"))?))).collect();
    let tasks = fs::read_dir("/proc/self/task").unwrap().map_while(Result::ok);
    let threads = tasks.filter_map(|task| {
        let (folder, number) = (task.path(), task.file_name().to_string_lossy().into_owned());
        let is_batcher = fs::read_to_string(folder.join("comm")).ok()?.starts_with(BATCHER);
        Some((number, (is_batcher, nanos(folder.join("schedstat").to_str()?)?)))
    });
    let threads = threads.collect();
    Look { database, threads, machine: machine(), flushes: flushes(client) }
}

/// Busy seconds of all processors: everything of the first line but idle and waiting for a disk, in hundredths.
fn machine() -> f64 {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    let numbers = text.lines().next().unwrap_or_default().split_whitespace().skip(1).take(8);
    let busy = numbers.enumerate().filter(|(place, _)| !matches!(place, 3 | 4));
    busy.filter_map(|(_, number)| number.parse::<f64>().ok()).sum::<f64>() / 100.0
}

fn flushes(client: &mut Client) -> (f64, f64) {
    let row =
        client.query_one("SELECT wal_sync::float8, wal_sync_time / 1000 FROM pg_stat_wal", &[]).unwrap();
    (row.get(0), row.get(1))
}

fn nanos(file: &str) -> Option<u64> {
    fs::read_to_string(file).ok()?.split(' ').next()?.parse().ok()
}

impl Look {
    /// What was spent since an earlier look.
    pub fn since(&self, before: &Look) -> Spent {
        let mut spent = Spent::default();
        for (pid, nanos) in &self.database {
            spent.database += seconds(nanos.saturating_sub(before.database.get(pid).copied().unwrap_or(0)));
        }
        for (thread, (is_batcher, nanos)) in &self.threads {
            let earlier = before.threads.get(thread).map_or(0, |(_, nanos)| *nanos);
            let sum = if *is_batcher { &mut spent.batchers } else { &mut spent.others };
            *sum += seconds(nanos.saturating_sub(earlier));
        }
        let ours = spent.database + spent.batchers + spent.others;
        spent.elsewhere = (self.machine - before.machine - ours).max(0.0);
        let flushes = self.flushes.0 - before.flushes.0;
        spent.flush = if flushes > 0.0 { (self.flushes.1 - before.flushes.1) / flushes } else { 0.0 };
        spent
    }
}

fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}
