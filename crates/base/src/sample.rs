//! One value of a metric, as the part that counts hands it over.
//!
//! Does not depend on text forms or particular metrics.

/// One value of a metric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// Name of the metric.
    pub name: &'static str,
    /// The meaning of the metric.
    pub help: &'static str,
    /// Whether it only ever grows.
    pub is_counter: bool,
    /// `name="value"`, or empty.
    pub label: String,
    pub value: u64,
}

impl Sample {
    /// A value that only ever grows.
    pub fn counter(name: &'static str, help: &'static str, value: u64) -> Self {
        Self { name, help, is_counter: true, label: String::new(), value }
    }

    /// A value that may fall.
    pub fn gauge(name: &'static str, help: &'static str, value: u64) -> Self {
        Self { is_counter: false, ..Self::counter(name, help, value) }
    }

    /// The same with a label.
    #[must_use]
    pub fn labelled(self, name: &str, value: &str) -> Self {
        Self { label: format!("{name}=\"{value}\""), ..self }
    }
}
