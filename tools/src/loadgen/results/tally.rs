//! Counts the results of requests by work: one tally a thread, added at the end. Does not depend on sockets.

use hdrhistogram::Histogram;

/// Largest value of the histograms, nanoseconds: an hour.
const TIME_NANOS_MAX: u64 = 3_600_000_000_000;
/// Significant decimal digits of the histograms.
const TIME_DIGITS: u8 = 3;
/// Bytes of a refusal that a sample keeps.
pub const SAMPLE_SIZE_BYTES_MAX: usize = 512;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub enum FailureKind {
    Status,
    Connect,
    /// No complete response within the timeout.
    Timeout,
    Cut,
    /// More bytes came than the response announced.
    Length,
    /// The response is not HTTP/1.1.
    Malformed,
}

impl FailureKind {
    /// All kinds, in the order of their counters.
    pub const ALL: [FailureKind; 6] = [
        FailureKind::Status,
        FailureKind::Connect,
        FailureKind::Timeout,
        FailureKind::Cut,
        FailureKind::Length,
        FailureKind::Malformed,
    ];

    /// The kind in a word or two.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            FailureKind::Status => "status",
            FailureKind::Connect => "connect",
            FailureKind::Timeout => "time-out",
            FailureKind::Cut => "cut",
            FailureKind::Length => "wrong length",
            FailureKind::Malformed => "malformed",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FailureSample {
    pub kind: FailureKind,
    /// The status of the response, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The value of `Retry-After`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_seconds: Option<u32>,
    /// The start of the body, or the error.
    pub found: String,
}

/// The times of a good response, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// From the intended start to the last byte.
    pub latency: u64,
    /// From the first byte sent to the last byte received.
    pub service: u64,
    /// From the first byte sent to the first byte received.
    pub first_byte: u64,
}

#[derive(Debug, Clone)]
pub struct Tally {
    pub good: u64,
    /// Failures, in the order of [`FailureKind::ALL`].
    pub failed: [u64; 6],
    /// Body bytes of good responses.
    pub bytes: u64,
    /// Nanoseconds from the intended start.
    pub latency: Histogram<u64>,
    /// Nanoseconds from the actual start.
    pub service: Histogram<u64>,
    /// Nanoseconds to the first byte.
    pub first_byte: Histogram<u64>,
    pub samples: Vec<FailureSample>,
}

impl Tally {
    pub fn new() -> Result<Tally, hdrhistogram::CreationError> {
        let empty = || Histogram::new_with_bounds(1, TIME_NANOS_MAX, TIME_DIGITS);
        Ok(Tally {
            good: 0,
            failed: [0; 6],
            bytes: 0,
            latency: empty()?,
            service: empty()?,
            first_byte: empty()?,
            samples: Vec::new(),
        })
    }

    pub fn succeed(&mut self, bytes: u64, times: Times) {
        self.good += 1;
        self.bytes += bytes;
        self.latency.saturating_record(times.latency.max(1));
        self.service.saturating_record(times.service.max(1));
        self.first_byte.saturating_record(times.first_byte.max(1));
    }

    /// Counts a failure. `sample` is called for the first failure of a kind only.
    pub fn fail(&mut self, kind: FailureKind, sample: impl FnOnce() -> FailureSample) {
        let counts = FailureKind::ALL.iter().zip(&mut self.failed);
        counts.filter(|(one, _)| **one == kind).for_each(|(_, count)| *count += 1);
        if !self.samples.iter().any(|known| known.kind == kind) {
            self.samples.push(sample());
        }
    }

    #[must_use]
    pub fn failures(&self) -> u64 {
        self.failed.iter().sum()
    }

    /// Adds the counts of another tally.
    pub fn add(&mut self, other: &Tally) -> Result<(), hdrhistogram::AdditionError> {
        self.good += other.good;
        self.bytes += other.bytes;
        self.failed.iter_mut().zip(&other.failed).for_each(|(sum, count)| *sum += count);
        self.latency.add(&other.latency)?;
        self.service.add(&other.service)?;
        self.first_byte.add(&other.first_byte)?;
        for sample in &other.samples {
            if !self.samples.iter().any(|known| known.kind == sample.kind) {
                self.samples.push(sample.clone());
            }
        }
        Ok(())
    }
}

/// Percentiles in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Percentiles {
    /// The smallest.
    pub min: f64,
    pub mean: f64,
    pub p50: f64,
    /// 90 % are at most this.
    pub p90: f64,
    /// 99 % are at most this.
    pub p99: f64,
    /// 99.9 % are at most this.
    pub p999: f64,
    /// The largest.
    pub max: f64,
}

impl Percentiles {
    /// The percentiles of a histogram of nanoseconds; `None` when it is empty.
    #[must_use]
    pub fn of(times: &Histogram<u64>) -> Option<Percentiles> {
        let at = |quantile| milliseconds(times.value_at_quantile(quantile).min(times.max()));
        (!times.is_empty()).then(|| Percentiles {
            min: milliseconds(times.min()),
            mean: times.mean() / 1e6,
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            max: milliseconds(times.max()),
        })
    }
}

/// Nanoseconds as milliseconds.
#[must_use]
pub fn milliseconds(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}

/// Formats bytes from a server as one line.
#[must_use]
pub fn one_line_text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(nanos: u64) -> Times {
        Times { latency: nanos, service: nanos, first_byte: nanos }
    }

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() <= expected / 1_000.0, "{found}, expected {expected}");
    }

    #[test]
    fn percentiles_match_sorted_list() {
        let mut tally = Tally::new().unwrap();
        assert_eq!(Percentiles::of(&tally.latency), None);
        // 1 to 10,000 microseconds, unsorted.
        for step in 0..10_000_u64 {
            tally.succeed(3, times((step * 7_919 % 10_000 + 1) * 1_000));
        }
        let found = Percentiles::of(&tally.latency).unwrap();
        let expected = [
            (found.min, 0.001),
            (found.p50, 5.0),
            (found.p90, 9.0),
            (found.p99, 9.9),
            (found.p999, 9.99),
            (found.max, 10.0),
            (found.mean, 5.0005),
        ];
        expected.into_iter().for_each(|(found, expected)| near(found, expected));
        assert_eq!((tally.good, tally.bytes), (10_000, 30_000));
    }

    #[test]
    fn adds_tallies_of_threads() {
        let (mut one, mut other) = (Tally::new().unwrap(), Tally::new().unwrap());
        one.succeed(10, times(1_000_000));
        other.succeed(20, times(3_000_000));
        let sample = |found: &str| FailureSample {
            kind: FailureKind::Cut,
            status: None,
            retry_after_seconds: None,
            found: found.to_owned(),
        };
        one.fail(FailureKind::Cut, || sample("first"));
        other.fail(FailureKind::Cut, || sample("second"));
        other.fail(FailureKind::Cut, || panic!("only the first is asked for"));
        one.add(&other).unwrap();
        assert_eq!((one.good, one.bytes, one.failures(), one.failed[3]), (2, 30, 3, 3));
        assert_eq!(one.samples, [sample("first")]);
        near(Percentiles::of(&one.latency).unwrap().mean, 2.0);
    }

    #[test]
    fn clamps_times_to_histogram_maximum() {
        let mut tally = Tally::new().unwrap();
        tally.succeed(0, times(u64::MAX));
        near(Percentiles::of(&tally.latency).unwrap().max, 3_600_000.0);
    }

    #[test]
    fn formats_server_bytes_in_one_line() {
        assert_eq!(one_line_text(b"{\r\n\"a\":1}\n\x1b[31m\xff"), "{  \"a\":1}  [31m\u{fffd}");
    }
}
