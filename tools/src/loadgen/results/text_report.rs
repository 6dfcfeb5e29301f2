//! Formats a report as text: a table of works, the failures, and the resource usage. Computes no figures.

use std::fmt::{self, Display, Formatter};

use crate::loadgen::results::report::{Report, WorkSummary};
use crate::loadgen::results::tally::Percentiles;

/// Share of its processor time above which the report calls the load generator the bottleneck.
const BUSY_SHARE: f64 = 0.9;

impl Display for Report {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        self.write_head(out)?;
        write_header(out, self.kind == "open")?;
        for line in &self.works {
            write_line(out, line, self.kind == "open")?;
        }
        if self.works.len() > 1 {
            write_line(out, &self.total, self.kind == "open")?;
        }
        self.write_failures(out)?;
        self.write_use(out)
    }
}

impl Report {
    fn write_head(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let plural =
            |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        let (connections, threads) = (plural(self.connections, "connection"), plural(self.threads, "thread"));
        write!(out, "{}: {} loop", self.url, self.kind)?;
        if let Some(rate) = self.intended_rate {
            write!(out, " at {rate} requests/s")?;
        }
        writeln!(
            out,
            ", {connections}, {threads}, {:.2} s after {:.2} s of warm-up\n",
            self.seconds, self.warm_up_seconds
        )
    }

    fn write_failures(&self, out: &mut Formatter<'_>) -> fmt::Result {
        for line in self.works.iter().filter(|line| line.errors.total > 0) {
            let kinds: Vec<String> =
                line.errors.present().map(|(kind, count)| format!("{count} {}", kind.name())).collect();
            write!(
                out,
                "\n{}: {} of {} failed: {}",
                line.name,
                line.errors.total,
                line.requests,
                kinds.join(", ")
            )?;
            for sample in &line.samples {
                let status = sample.status.map_or(String::new(), |status| format!(" {status}"));
                let wait = sample
                    .retry_after_seconds
                    .map_or(String::new(), |wait| format!(", Retry-After {wait} s"));
                write!(out, "\n  first {}{status}{wait}: {}", sample.kind.name(), sample.found)?;
            }
        }
        if self.unsent > 0 {
            let unsent = self.unsent;
            write!(
                out,
                "\n{unsent} requests were due and found no free connection until the end; the latencies above lack them. \
                 Offer a lower --rate or more --connections"
            )?;
        }
        Ok(())
    }

    fn write_use(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let mebibytes = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        if let Some(server) = &self.server {
            write!(
                out,
                "\nserver: {:.2} s of processor time, {} µs a request, {:.0} MiB resident, {:.0} MiB without files",
                server.used.cpu_seconds,
                server.cpu_micros_per_request.map_or("-".to_owned(), |micros| format!("{micros:.1}")),
                mebibytes(server.used.resident_bytes),
                mebibytes(server.used.anonymous_bytes)
            )?;
        }
        if let Some(own) = &self.generator {
            write!(
                out,
                "\nload generator: {:.2} s of processor time, {:.0} % of the time of its threads",
                own.used.cpu_seconds,
                own.busy * 100.0
            )?;
            if own.busy > BUSY_SHARE && self.kind == "closed" {
                write!(out, "; it limits the measurement, try more --threads")?;
            }
        }
        Ok(())
    }
}

fn write_header(out: &mut Formatter<'_>, open: bool) -> fmt::Result {
    let service = if open { format!(" {:>9} {:>9}", "service50", "service99") } else { String::new() };
    write!(
        out,
        "{:<16} {:>9} {:>7} {:>10} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}{service}",
        "work",
        "requests",
        "errors",
        "good/s",
        "MB/s",
        "1st byte",
        "mean ms",
        "p50",
        "p90",
        "p99",
        "p99.9",
        "max"
    )
}

fn write_line(out: &mut Formatter<'_>, line: &WorkSummary, open: bool) -> fmt::Result {
    let shown = |times: &Option<Percentiles>, pick: fn(&Percentiles) -> f64| {
        times.as_ref().map_or("-".to_owned(), |times| significant(pick(times)))
    };
    let latency = |pick| shown(&line.latency_milliseconds, pick);
    write!(
        out,
        "\n{:<16} {:>9} {:>7} {:>10.1} {:>9.1} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}",
        line.name,
        line.requests,
        line.errors.total,
        line.rate_per_second,
        line.bytes_per_second / 1e6,
        shown(&line.first_byte_milliseconds, |times| times.p50),
        latency(|times| times.mean),
        latency(|times| times.p50),
        latency(|times| times.p90),
        latency(|times| times.p99),
        latency(|times| times.p999),
        latency(|times| times.max),
    )?;
    if open {
        let service = |pick| shown(&line.service_milliseconds, pick);
        write!(out, " {:>9} {:>9}", service(|times| times.p50), service(|times| times.p99))?;
    }
    Ok(())
}

/// Formats milliseconds with their significant digits.
fn significant(milliseconds: f64) -> String {
    match milliseconds {
        few if few < 10.0 => format!("{few:.3}"),
        some if some < 100.0 => format!("{some:.2}"),
        many => format!("{many:.1}"),
    }
}

#[cfg(test)]
mod tests {
    use super::significant;

    #[test]
    fn formats_times_with_leading_digits() {
        assert_eq!([0.0561, 12.345, 1234.56].map(significant), ["0.056", "12.35", "1234.6"]);
    }
}
