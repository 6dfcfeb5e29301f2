//! Figures of the kernel about this process, from `/proc/self/status`.

/// `/proc/self/status` of one moment.
pub struct ProcessStatus(String);

impl ProcessStatus {
    /// Reads it; without any field where the system has no such file.
    pub fn read() -> Self {
        Self(std::fs::read_to_string("/proc/self/status").unwrap_or_default())
    }

    /// The number of a field.
    pub fn field(&self, name: &str) -> Option<u64> {
        let line = self.0.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim_start_matches(':').split_whitespace().next()?.parse().ok()
    }

    /// A field in KiB, in bytes.
    pub fn bytes(&self, name: &str) -> Option<u64> {
        self.field(name).map(|kibibytes| kibibytes.saturating_mul(1024))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_numbers_of_fields() {
        let status = ProcessStatus("Name:\tmercato\nVmRSS:\t    2048 kB\nThreads:\t7\n".to_owned());
        assert_eq!((status.bytes("VmRSS"), status.field("Threads")), (Some(2_097_152), Some(7)));
        assert_eq!((status.field("Name"), status.field("RssAnon")), (None, None));
    }
}
