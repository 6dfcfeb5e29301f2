//! One value of a metric, as the part that counts hands it over.
//!
//! Does not depend on text forms or particular metrics.

/// Upper bounds of the buckets for durations, in seconds.
pub const DURATION_SECONDS: [f64; 14] =
    [0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.25, 1.0, 10.0, 60.0];

/// One value of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Name of the metric.
    pub name: &'static str,
    /// The meaning of the metric.
    pub help: &'static str,
    /// Whether it only ever grows.
    pub is_counter: bool,
    /// A label and its value.
    pub label: Option<(&'static str, &'static str)>,
    pub value: u64,
}

impl Sample {
    /// A value that only ever grows.
    pub fn counter(name: &'static str, help: &'static str, value: u64) -> Self {
        Self { name, help, is_counter: true, label: None, value }
    }

    /// A value that may fall.
    pub fn gauge(name: &'static str, help: &'static str, value: u64) -> Self {
        Self { is_counter: false, ..Self::counter(name, help, value) }
    }

    /// The same with a label.
    #[must_use]
    pub fn labelled(self, name: &'static str, value: &'static str) -> Self {
        Self { label: Some((name, value)), ..self }
    }
}
