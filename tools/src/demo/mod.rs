//! The demo: generates, converts, publishes, relates and serves datasets. Data of an earlier run is reused.

mod account;
pub mod cluster;
mod dataset_folders;
pub mod open;
mod relations;
pub mod tables;
mod tpch;

use std::ffi::OsString;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mercato::config::Settings;
use mercato::serving;
use mercato_base::clock::{Clock, Moment, SystemClock};
use mercato_catalog::{DataDirectory, Slug};
use mercato_ledger::{Ledger, LedgerOptions};
use semver::Version;

use crate::commands::publish::{PublishRequest, publish};
use crate::convert::Conversion;
use crate::failure::Failure;
use crate::progress;
pub use account::DemoAccount;
use open::OpenTable;
use tables::Table;

/// The version that the demo publishes.
const VERSION: Version = Version::new(1, 0, 0);
const SCALE_FILE: &str = "scale";

#[derive(Debug, Clone, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DemoDataset {
    pub slug: String,
    /// Whether this run created it, not an earlier one.
    pub new: bool,
    pub rows: u32,
    pub bytes: u64,
}

/// Generates and publishes all tables, adds their relations, and creates an account with credits and a key.
pub fn prepare(data: &Path, scale: f64) -> Result<(Vec<DemoDataset>, DemoAccount), Failure> {
    let work = data.join("demo");
    fs::create_dir_all(&work).map_err(Failure::io(&work, "create"))?;
    check_scale(&work, scale)?;
    let directory = DataDirectory::new(data);
    let mut offered = Vec::new();
    for table in Table::ALL {
        offered.push(offer(Source::Benchmark(table, scale), &directory, &work)?);
    }
    let bar = progress::bar("open data", OpenTable::ALL.len() as u64, "datasets");
    for table in OpenTable::ALL {
        offered.push(offer(Source::Open(table), &directory, &work)?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    let customer = set_up_books(&directory)?;
    Ok((offered, customer))
}

/// Adds the relations and the account of the demo to the books of a directory.
fn set_up_books(data: &DataDirectory) -> Result<DemoAccount, Failure> {
    let (now, folder) = (SystemClock.now(), data.ledger());
    let failed = |action: &'static str| {
        let directory = folder.display().to_string();
        move |reason: String| Failure::Books { directory, action, reason }
    };
    let ledger = Ledger::open(&folder, LedgerOptions::default(), now)
        .map_err(|error| failed("open them")(error.to_string()))?;
    enter_books(data, &ledger, now, failed)
}

/// Adds the relations and the account of the demo to books, and closes them.
fn enter_books<F: FnOnce(String) -> Failure>(
    data: &DataDirectory,
    ledger: &Ledger,
    now: Moment,
    failed: impl Fn(&'static str) -> F,
) -> Result<DemoAccount, Failure> {
    relations::enter(ledger, now).map_err(failed("enter relations in them"))?;
    let customer = account::find_or_create(data, ledger, now)?;
    ledger.shutdown();
    Ok(customer)
}

#[derive(Clone, Copy)]
enum Source {
    /// A TPC-H table at a scale factor.
    Benchmark(Table, f64),
    Open(OpenTable),
}

impl Source {
    fn slug(self) -> String {
        match self {
            Source::Benchmark(table, _) => format!("tpch-{}", table.name()),
            Source::Open(table) => table.slug.to_owned(),
        }
    }

    /// The Parquet file and the folder that `publish` takes, written below `work`.
    fn inputs(self, work: &Path) -> Result<(PathBuf, PathBuf), Failure> {
        let name = self.slug();
        let short = name.strip_prefix("tpch-").unwrap_or(&name);
        let (parquet, folder) = (work.join(format!("{short}.parquet")), work.join(short));
        self.make(&parquet, &folder)?;
        Ok((parquet, folder))
    }

    fn make(self, parquet: &Path, folder: &Path) -> Result<(), Failure> {
        match self {
            Source::Benchmark(table, scale) => {
                if !parquet.exists() {
                    let bar = progress::bar(&format!("generate {}", table.name()), table.rows(scale), "rows");
                    tables::write(table, scale, parquet, &bar)?;
                    bar.finish_and_clear();
                }
                dataset_folders::write(table, scale, folder)
            }
            Source::Open(table) => {
                let batch = table
                    .batch()
                    .map_err(|error| Failure::io(parquet, "write")(std::io::Error::other(error)))?;
                let rows = batch.num_rows();
                tables::write_batch(batch, parquet, &indicatif::ProgressBar::hidden())?;
                dataset_folders::write_open(&table, rows, folder)
            }
        }
    }
}

/// Checks the scale: a data directory has tables of one scale, because a published version never changes.
fn check_scale(work: &Path, scale: f64) -> Result<(), Failure> {
    let path = work.join(SCALE_FILE);
    match fs::read_to_string(&path) {
        Ok(found) if found.trim() == scale.to_string() => Ok(()),
        Ok(found) => Err(Failure::refused(
            path.display().to_string(),
            "scale of the demo",
            scale.to_string(),
            found.trim(),
            format!("name another --data directory, or ask for --scale {}", found.trim()),
        )),
        Err(_) => fs::write(&path, format!("{scale}\n")).map_err(Failure::io(&path, "write")),
    }
}

fn offer(source: Source, data: &DataDirectory, work: &Path) -> Result<DemoDataset, Failure> {
    let name = source.slug();
    let slug = Slug::parse(&name).map_err(|error| Failure::Usage(error.to_string()))?;
    let store = data.dataset(&slug).store(&VERSION);
    if store.exists() {
        let found = mercato_format::Table::open(&store).map_err(Failure::store(&store))?;
        return Ok(DemoDataset {
            slug: name,
            new: false,
            rows: found.row_count(),
            bytes: found.file_bytes(),
        });
    }
    let (parquet, folder) = source.inputs(work)?;
    let publication =
        publish(&PublishRequest::new(data, &folder, &VERSION), Conversion::new(&parquet, Path::new("")))?;
    Ok(DemoDataset { slug: name, new: true, rows: publication.rows, bytes: publication.bytes })
}

/// How customers of the demo pay: by a click where nobody else reaches the server, else not at all.
pub fn payments(listen: SocketAddr) -> &'static str {
    if listen.ip().is_loopback() { "demo" } else { "none" }
}

/// Starts the server on the prepared directory, inside this process.
pub fn start(data: PathBuf, listen: SocketAddr, admin: &str) -> Result<serving::Running, Failure> {
    let mut words: Vec<OsString> = vec!["mercato".into(), "serve".into(), "--data".into(), data.into()];
    words.extend(["--listen".into(), listen.to_string().into(), "--admin".into(), admin.into()]);
    words.extend(["--payments".into(), payments(listen).into()]);
    let settings = Settings::read(words).map_err(|error| Failure::Usage(error.to_string()))?;
    serving::start(&settings, Arc::new(SystemClock)).map_err(|error| Failure::Start(error.to_string()))
}
