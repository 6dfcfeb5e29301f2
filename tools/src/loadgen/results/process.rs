//! Measures processor time and memory of a process through /proc.

use std::fs;

/// Clock ticks a second in /proc, the same on every Linux machine.
const TICKS_PER_SECOND: f64 = 100.0;
/// Largest file read from /proc, bytes.
const FILE_BYTES_MAX: usize = 64 * 1024;

/// Resource usage of a process during a run.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessUse {
    /// Processor time, to 0.01 s.
    pub cpu_seconds: f64,
    /// Largest sample of resident memory with mapped files, bytes.
    pub resident_bytes: u64,
    /// Largest sample of resident memory without files, bytes.
    pub anonymous_bytes: u64,
}

#[derive(Debug)]
pub struct ProcessMonitor {
    process: u32,
    began: Option<f64>,
    ended: Option<f64>,
    resident: u64,
    anonymous: u64,
}

impl ProcessMonitor {
    /// Monitors a process; `None` if it does not exist.
    pub fn new(process: u32) -> Option<ProcessMonitor> {
        cpu_seconds(process)?;
        Some(ProcessMonitor { process, began: None, ended: None, resident: 0, anonymous: 0 })
    }

    pub fn begin(&mut self) {
        self.began = cpu_seconds(self.process);
        (self.resident, self.anonymous) = (0, 0);
    }

    pub fn sample(&mut self) {
        let status = read(self.process, "status").unwrap_or_default();
        self.resident = self.resident.max(kilobytes(&status, "VmRSS:"));
        self.anonymous = self.anonymous.max(kilobytes(&status, "RssAnon:"));
    }

    pub fn finish(&mut self) {
        self.sample();
        self.ended = cpu_seconds(self.process);
    }

    /// The resource usage; `None` when the process or the run ended before the measurement.
    pub fn used(&self) -> Option<ProcessUse> {
        let cpu_seconds = self.ended? - self.began?;
        Some(ProcessUse { cpu_seconds, resident_bytes: self.resident, anonymous_bytes: self.anonymous })
    }
}

fn cpu_seconds(process: u32) -> Option<f64> {
    let stat = read(process, "stat")?;
    ticks(&stat).map(|ticks| ticks as f64 / TICKS_PER_SECOND)
}

/// User and system time, fields 14 and 15. Field 2 is a name that may contain spaces, so fields are counted from its
/// end.
fn ticks(stat: &str) -> Option<u64> {
    let (_, behind) = stat.rsplit_once(')')?;
    let mut fields = behind.split_ascii_whitespace().skip(11);
    let mut next = || fields.next()?.parse::<u64>().ok();
    next()?.checked_add(next()?)
}

fn kilobytes(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok()).unwrap_or(0) * 1024
}

fn read(process: u32, name: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{process}/{name}")).ok()?;
    (text.len() <= FILE_BYTES_MAX).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_cpu_time_behind_any_process_name() {
        let stat = "7 (a) b) R 1 2 3 4 5 6 7 8 9 10 250 50 0 0 20 0 1 0 9 9 9";
        assert_eq!(ticks(stat), Some(300));
        assert_eq!(ticks("7 (a"), None);
        assert_eq!(kilobytes("VmRSS:\t     12 kB\n", "VmRSS:"), 12 * 1024);
    }

    #[test]
    fn monitors_existing_processes_only() {
        let mut watch = ProcessMonitor::new(std::process::id()).unwrap();
        assert_eq!(watch.used(), None);
        watch.begin();
        watch.finish();
        let used = watch.used().unwrap();
        assert!(
            used.cpu_seconds >= 0.0
                && used.resident_bytes >= used.anonymous_bytes
                && used.anonymous_bytes > 0
        );
        assert!(ProcessMonitor::new(u32::MAX).is_none());
    }
}
