//! The results of a run: counts, latencies, resource usage, the report and the plots.

pub mod plot;
pub mod process;
pub mod report;
pub mod tally;
mod text_report;
