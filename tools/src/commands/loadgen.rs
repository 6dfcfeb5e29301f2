//! The command `loadgen`: parses its options, runs the load generator and prints the report.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clap::Args;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use super::{print_json, print_text};
use crate::destination::Destination;
use crate::failure::Failure;
use crate::loadgen::client::target::Target;
use crate::loadgen::requests::mix::{self, MixItem};
use crate::loadgen::requests::prepare::Preparer;
use crate::loadgen::requests::prepared_work::PreparedWork;
use crate::loadgen::requests::work_file::{self, DEPTH_COUNT_MAX, ENTRY_COUNT_MAX, WorkFile};
use crate::loadgen::results::plot::{self, PlotError};
use crate::loadgen::results::report::Report;
use crate::loadgen::{
    CONNECTION_COUNT_MAX, Load, Outcome, RATE_MAX, REQUEST_COUNT_MAX, SECONDS_MAX, THREAD_COUNT_MAX,
    run as run_load,
};

/// The environment variable for the default of `--key`.
const KEY_VARIABLE: &str = "MERCATO_API_KEY";
const KEY_LENGTH_MAX: usize = 256;
/// Default duration of a run, seconds.
const SECONDS_DEFAULT: u64 = 10;
/// The default of --work for a plot by depth.
const DEPTH_MIX: &str = "w2k,w2o";

/// Send load to a server over keep-alive connections, and print rates and latencies.
///
/// Without --rate, the loop is closed: each connection sends its next request when a response is complete. With --rate,
/// the loop is open: requests have fixed start times, and latency counts from those times, so a stall counts for every
/// request that it delays. Service time counts from the actual start of a request. A work is a named request in a work
/// file. The built-in works query the TPC-H order lines that `mercato-tools demo` publishes. Start the server with
/// --requests-per-minute 0 --requests-per-day 0 to measure it without its rate limits. Every row costs the account one
/// credit.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  export MERCATO_API_KEY=mk_…
  mercato-tools loadgen --url http://127.0.0.1:8080
  mercato-tools loadgen --url http://127.0.0.1:8080 --work w1=8,w4=2,w2k=1 --connections 16 --warm-up 2 --duration 30
  mercato-tools loadgen --url http://127.0.0.1:8080 --work w4 --rate 2000 --connections 64 --plot latency.svg --json
  mercato-tools loadgen --url http://127.0.0.1:8080 --depths 0,100000,500000 --plot-depth depth.svg
  mercato-tools loadgen --url http://127.0.0.1:8080 --work w6 --set stream_rows=100000 --requests 20
  mercato-tools loadgen --print-works > mine.toml; mercato-tools loadgen --works mine.toml --url …")]
pub struct LoadgenArguments {
    /// The server.
    #[arg(long, value_name = "http://HOST:PORT", required_unless_present = "print_works")]
    pub url: Option<String>,
    /// The API key. Default: the environment variable MERCATO_API_KEY, which process lists do not show.
    #[arg(long, value_name = "KEY")]
    pub key: Option<String>,
    /// The dataset: the same as --set dataset=SLUG.
    #[arg(long, value_name = "SLUG")]
    pub dataset: Option<String>,
    /// Works and weights: NAME, NAME=WEIGHT, or NAME@DEPTH=WEIGHT for one depth. Default: the mix of the work file.
    #[arg(long, value_name = "NAME=WEIGHT,..")]
    pub work: Option<String>,
    /// A work file instead of the built-in one.
    #[arg(long, value_name = "FILE")]
    pub works: Option<PathBuf>,
    /// Print the work file and exit.
    #[arg(long)]
    pub print_works: bool,
    /// Set a parameter of the work file. May be repeated.
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_setting)]
    pub set: Vec<(String, String)>,
    /// Depths of works that have them: rows before the page. Default: the depths of the work file.
    #[arg(long, value_name = "ROWS,..", value_delimiter = ',')]
    pub depths: Vec<u64>,
    /// Keep-alive connections.
    #[arg(long, short, value_name = "N", default_value_t = 1, value_parser = within(1, CONNECTION_COUNT_MAX as u64))]
    pub connections: u64,
    /// Threads that share the connections. One is enough for most servers on the same machine.
    #[arg(long, short, value_name = "N", default_value_t = 1, value_parser = within(1, THREAD_COUNT_MAX as u64))]
    pub threads: u64,
    /// Requests a second of an open loop. Default: a closed loop.
    #[arg(long, short, value_name = "PER_SECOND", value_parser = parse_rate)]
    pub rate: Option<f64>,
    /// Seconds of warm-up, whose requests are not counted.
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = parse_seconds)]
    pub warm_up: Duration,
    /// Seconds of measurement. Default: 10, or unlimited with --requests.
    #[arg(long, short, value_name = "SECONDS", value_parser = parse_seconds)]
    pub duration: Option<Duration>,
    /// Number of counted requests.
    #[arg(long, short = 'n', value_name = "N", value_parser = within(1, REQUEST_COUNT_MAX))]
    pub requests: Option<u64>,
    /// Timeout of a response, seconds.
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = parse_seconds)]
    pub timeout: Duration,
    /// Seed of the random choices. The same seed gives the same requests in the same order.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub seed: u64,
    /// Process of the server, to report its processor time a request and its memory.
    #[arg(long, value_name = "PID")]
    pub server_pid: Option<u32>,
    /// Plot latency by percentile, one curve a work.
    #[arg(long, value_name = "FILE.svg")]
    pub plot: Option<PathBuf>,
    /// Plot latency by depth. Without --work, the works are w2k and w2o.
    #[arg(long, value_name = "FILE.svg")]
    pub plot_depth: Option<PathBuf>,
    /// Replace existing plots.
    #[arg(long)]
    pub force: bool,
}

pub fn run(arguments: &LoadgenArguments, json: bool) -> Result<(), Failure> {
    let (source, text) = work_file::text(arguments.works.as_deref())?;
    let mut work_file = work_file::read(&source, &text)?;
    if arguments.print_works {
        return print_text(text.trim_end());
    }
    // Checked first, because the run may take an hour.
    let drawings = drawings(arguments)?;
    set_parameters(&mut work_file, arguments)?;
    let load = load(arguments)?;
    let items = items(arguments, &work_file)?;
    let key = key(arguments)?;
    let url = arguments.url.as_deref().unwrap_or_default();
    let target = Target::resolve(url).map_err(|reason| Failure::Usage(format!("--url: {reason}")))?;
    let preparation = Preparer {
        work_file: &work_file,
        target: &target,
        key: key.as_deref(),
        depths: if arguments.depths.is_empty() { &work_file.depths } else { &arguments.depths },
        timeout: arguments.timeout,
    };
    let prepared = preparation.prepare(&items)?;
    if arguments.plot_depth.is_some() && prepared.iter().all(|work| work.depth.is_none()) {
        return Err(Failure::Usage("--plot-depth: no work of --work has a depth; name w2k or w2o".into()));
    }
    let outcome = run_load(&load, target.clone(), prepared.clone(), stop_at_signals()?)?;
    let report = Report::new(&load, &target, &prepared, &outcome)
        .map_err(|error| Failure::io(Path::new("load generator"), "add up")(std::io::Error::other(error)))?;
    if json { print_json(&report) } else { print_text(&report.to_string()) }?;
    draw(arguments, drawings, &prepared, &outcome)?;
    match report.failure_summary() {
        Some(failure_summary) => Err(Failure::Load { url: url.to_owned(), failure_summary }),
        None => Ok(()),
    }
}

fn load(arguments: &LoadgenArguments) -> Result<Load, Failure> {
    if arguments.threads > arguments.connections {
        let (threads, connections) = (arguments.threads, arguments.connections);
        return Err(Failure::Usage(format!(
            "--threads {threads}: more than --connections {connections}; each thread needs one"
        )));
    }
    if arguments.timeout.is_zero() || arguments.duration.is_some_and(|duration| duration.is_zero()) {
        return Err(Failure::Usage("--timeout and --duration must be longer than 0".into()));
    }
    let default = arguments.requests.is_none().then(|| Duration::from_secs(SECONDS_DEFAULT));
    let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    Ok(Load {
        rate: arguments.rate,
        connections: count(arguments.connections),
        threads: count(arguments.threads),
        warm_up: arguments.warm_up,
        duration: arguments.duration.or(default),
        requests: arguments.requests,
        timeout: arguments.timeout,
        seed: arguments.seed,
        server_pid: arguments.server_pid,
    })
}

fn items(arguments: &LoadgenArguments, work_file: &WorkFile) -> Result<Vec<MixItem>, Failure> {
    if arguments.depths.len() > DEPTH_COUNT_MAX {
        return Err(Failure::Usage(format!("--depths: at most {DEPTH_COUNT_MAX}")));
    }
    let typed = arguments.work.as_deref();
    let typed = typed.or(arguments.plot_depth.as_ref().map(|_| DEPTH_MIX)).or(work_file.mix.as_deref());
    let first = work_file.works.first().map_or("", |work| work.name.as_str());
    mix::parse(typed.unwrap_or(first)).map_err(|reason| Failure::Usage(format!("--work: {reason}")))
}

fn set_parameters(work_file: &mut WorkFile, arguments: &LoadgenArguments) -> Result<(), Failure> {
    let dataset = arguments.dataset.iter().map(|slug| ("dataset", slug.as_str()));
    let settings: BTreeMap<&str, &str> =
        arguments.set.iter().map(|(name, value)| (name.as_str(), value.as_str())).chain(dataset).collect();
    for (name, value) in settings {
        match work_file.parameters.get_mut(name) {
            Some(parameter) => value.clone_into(parameter),
            None => {
                let names: Vec<&str> = work_file.parameters.keys().map(String::as_str).collect();
                let (source, names) = (&work_file.source, names.join(", "));
                return Err(Failure::Usage(format!(
                    "--set: no parameter `{name}` in {source}; there are {names}"
                )));
            }
        }
    }
    Ok(())
}

fn key(arguments: &LoadgenArguments) -> Result<Option<String>, Failure> {
    let key =
        arguments.key.clone().or_else(|| std::env::var(KEY_VARIABLE).ok()).filter(|key| !key.is_empty());
    let plain = |key: &String| key.len() <= KEY_LENGTH_MAX && key.chars().all(|c| ('!'..='~').contains(&c));
    if key.as_ref().is_some_and(|key| !plain(key)) {
        return Err(Failure::Usage(format!(
            "--key or {KEY_VARIABLE}: expected at most {KEY_LENGTH_MAX} visible characters of ASCII"
        )));
    }
    Ok(key)
}

/// Set by SIGINT and SIGTERM, which end the run and have it reported; a second one ends the program.
fn stop_at_signals() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        flag::register_conditional_default(signal, Arc::clone(&stop))
            .and_then(|_| flag::register(signal, Arc::clone(&stop)))
            .map_err(Failure::io(Path::new("load generator"), "wait for signals of"))?;
    }
    Ok(stop)
}

type Plotter =
    fn(&str, &[PreparedWork], &[crate::loadgen::results::tally::Tally]) -> Result<String, PlotError>;

/// A plot and its destination.
type Drawing = (Destination, Plotter);

fn drawings(arguments: &LoadgenArguments) -> Result<Vec<Drawing>, Failure> {
    let wanted: [(&Option<PathBuf>, Plotter); 2] =
        [(&arguments.plot, plot::by_percentile), (&arguments.plot_depth, plot::by_depth)];
    let named = wanted.into_iter().filter_map(|(file, plotter)| Some((file.as_deref()?, plotter)));
    named.map(|(file, plotter)| Ok((Destination::check(file, arguments.force)?, plotter))).collect()
}

fn draw(
    arguments: &LoadgenArguments,
    drawings: Vec<Drawing>,
    works: &[PreparedWork],
    outcome: &Outcome,
) -> Result<(), Failure> {
    let kind = arguments.rate.map_or("closed loop".to_owned(), |rate| format!("{rate} requests/s"));
    let url = arguments.url.as_deref().unwrap_or_default();
    let title = format!("{url}, {kind}, {} connections", arguments.connections);
    for (destination, plotter) in drawings {
        let file = destination.typed().to_owned();
        let svg = plotter(&title, works, &outcome.tallies)
            .map_err(|error| Failure::io(&file, "draw")(std::io::Error::other(error)))?;
        let mut output = destination.create()?;
        output.write_all(svg.as_bytes()).map_err(Failure::io(&file, "write"))?;
        output.finish()?;
    }
    Ok(())
}

fn within(least: u64, most: u64) -> clap::builder::RangedU64ValueParser<u64> {
    clap::value_parser!(u64).range(least..=most)
}

fn parse_setting(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    if value.len() > ENTRY_COUNT_MAX * work_file::NAME_LENGTH_MAX {
        return Err(format!("a value of at most {} bytes", ENTRY_COUNT_MAX * work_file::NAME_LENGTH_MAX));
    }
    Ok((name.to_owned(), value.to_owned()))
}

fn parse_rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if rate > 0.0 && rate <= RATE_MAX => Ok(rate),
        _ => Err(format!("expected a number above 0, at most {RATE_MAX}")),
    }
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=SECONDS_MAX as f64).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err(format!("expected seconds from 0 to {SECONDS_MAX}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_options_within_bounds() {
        assert_eq!(parse_seconds("0.25"), Ok(Duration::from_millis(250)));
        assert_eq!(parse_rate("0.5"), Ok(0.5));
        assert_eq!(parse_setting("a=b=c"), Ok(("a".into(), "b=c".into())));
        for wrong in ["-1", "x", "NaN", "1e9", ""] {
            assert!(parse_seconds(wrong).is_err() && parse_rate(wrong).is_err(), "{wrong}");
        }
        assert!(parse_rate("0").is_err() && parse_setting("a").is_err());
    }
}
