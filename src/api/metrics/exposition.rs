//! The text form of Prometheus: families of values, each with one head.
//!
//! Does not depend on the metrics.

use std::fmt::Write;

use mercato_base::histogram::Counted;
use mercato_base::sample::Sample;

/// The type of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Counter,
    Gauge,
    Histogram,
}

/// The text as far as it is written.
#[derive(Debug, Default)]
pub struct Exposition {
    text: String,
}

impl Exposition {
    /// The head of a family; its values follow at once.
    pub fn family(&mut self, name: &str, help: &str, kind: Kind) {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        self.line(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}"));
    }

    /// One value. `labels` is `a="b",c="d"`, or empty.
    pub fn value(&mut self, name: &str, labels: &str, value: u64) {
        if labels.is_empty() {
            self.line(format_args!("{name} {value}"));
        } else {
            self.line(format_args!("{name}{{{labels}}} {value}"));
        }
    }

    /// A family of one value.
    pub fn single(&mut self, name: &str, help: &str, kind: Kind, value: u64) {
        self.family(name, help, kind);
        self.value(name, "", value);
    }

    /// A histogram of microseconds, written in seconds.
    pub fn seconds(&mut self, name: &str, labels: &str, counted: &Counted) {
        self.buckets(name, labels, counted, 1e-6);
    }

    /// A histogram of numbers.
    pub fn numbers(&mut self, name: &str, labels: &str, counted: &Counted) {
        self.buckets(name, labels, counted, 1.0);
    }

    fn buckets(&mut self, name: &str, labels: &str, counted: &Counted, unit: f64) {
        let comma = if labels.is_empty() { "" } else { "," };
        for (bound, count) in &counted.cumulative {
            let bound = scaled(*bound, unit);
            self.line(format_args!("{name}_bucket{{{labels}{comma}le=\"{bound}\"}} {count}"));
        }
        let (count, sum) = (counted.count, scaled(counted.sum, unit));
        self.line(format_args!("{name}_bucket{{{labels}{comma}le=\"+Inf\"}} {count}"));
        let braces = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
        self.line(format_args!("{name}_sum{braces} {sum}\n{name}_count{braces} {count}"));
    }

    /// Values from many places, put together by family.
    pub fn samples(&mut self, mut samples: Vec<Sample>) {
        samples.sort_by_key(|sample| sample.name);
        let mut last = "";
        for sample in &samples {
            if sample.name != last {
                let kind = if sample.is_counter { Kind::Counter } else { Kind::Gauge };
                self.family(sample.name, sample.help, kind);
                last = sample.name;
            }
            self.value(sample.name, &sample.label, sample.value);
        }
    }

    /// The whole text.
    pub fn into_text(self) -> String {
        self.text
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing into a String cannot fail, so the result carries nothing.
        let _infallible = self.text.write_fmt(line);
        self.text.push('\n');
    }
}

/// Decimal, without the noise of binary fractions: micros have six places.
#[expect(clippy::cast_precision_loss, reason = "a sum above 2^53 microseconds is 285 years")]
fn scaled(value: u64, unit: f64) -> String {
    let text = format!("{:.6}", value as f64 * unit);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
