//! The datasets, relations and account of the demo, put where the servers of the cluster find them.
//!
//! Does not depend on how the parts run.

use std::fs;
use std::path::Path;
use std::time::Duration;

use mercato_base::clock::{Clock, SystemClock};
use mercato_catalog::releases::{ReleaseError, Releases, wait_for_servers};
use mercato_catalog::{DataDirectory, Slug};
use mercato_ledger::Ledger;

use super::super::open::OpenTable;
use super::super::tables::Table;
use super::super::{DemoAccount, DemoDataset, Source, VERSION, enter_books};
use super::database::Database;
use super::store::Store;
use super::{Bench, SERVERS};
use crate::commands::catalog_location::Steps;
use crate::commands::publish::{PublishRequest, publish};
use crate::convert::Conversion;
use crate::failure::Failure;
use crate::progress;

/// How long the servers may take to fetch everything.
const WAIT: Duration = Duration::from_secs(60);

pub(super) struct Published {
    pub(super) datasets: Vec<DemoDataset>,
    pub(super) customer: DemoAccount,
    /// The generation of the catalogue with all of it.
    pub(super) generation: i64,
}

/// Generates and publishes all tables, and makes the books of the demo.
pub(super) fn publish_all(
    bench: &Bench<'_>,
    database: &Database,
    store: &Store,
    scale: f64,
) -> Result<Published, Failure> {
    let work = bench.folder.join("demo");
    fs::create_dir(&work).map_err(Failure::io(&work, "create"))?;
    let releases = Releases::open(database.address()?, store.open()?)?;
    let mut published = (Vec::new(), 0);
    for table in Table::ALL {
        bench.stop.check()?;
        add(&mut published, publish_one(Source::Benchmark(table, scale), &releases, &work)?);
    }
    let bar = progress::bar("open data", OpenTable::ALL.len() as u64, "datasets");
    for table in OpenTable::ALL {
        bench.stop.check()?;
        add(&mut published, publish_one(Source::Open(table), &releases, &work)?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    let now = SystemClock.now();
    let ledger =
        Ledger::open_database(&database.address()?, now).map_err(|error| database.failure(&error))?;
    let failed = |_: &'static str| move |reason: String| database.failure(&reason);
    let customer = enter_books(&DataDirectory::new(bench.folder), &ledger, now, failed)?;
    let (datasets, generation) = published;
    Ok(Published { datasets, customer, generation })
}

fn add(published: &mut (Vec<DemoDataset>, i64), (dataset, generation): (DemoDataset, i64)) {
    published.0.push(dataset);
    published.1 = generation;
}

/// Publishes a dataset. Returns it with the generation of the catalogue.
fn publish_one(source: Source, releases: &Releases, work: &Path) -> Result<(DemoDataset, i64), Failure> {
    let name = source.slug();
    let slug = Slug::parse(&name).map_err(|error| Failure::Usage(error.to_string()))?;
    let (parquet, folder) = source.inputs(work)?;
    let copy = tempfile::tempdir_in(work).map_err(Failure::io(work, "make a folder in"))?;
    let steps = Steps::default();
    let pulled = releases.pull(&slug, copy.path(), false, &steps)?;
    let version = VERSION;
    let request = PublishRequest::new(&pulled.data, &folder, &version);
    let publication = publish(&request, Conversion::new(&parquet, Path::new("")))?;
    let pushed = releases.push(&pulled, SystemClock.now(), &steps)?;
    let dataset = DemoDataset { slug: name, new: true, rows: publication.rows, bytes: publication.bytes };
    Ok((dataset, pushed.generation))
}

/// Waits until all servers serve a generation of the catalogue.
pub(super) fn wait(database: &Database, generation: i64) -> Result<(), Failure> {
    let waited = wait_for_servers(&database.address()?, generation, WAIT).map_err(ReleaseError::from)?;
    if waited.lagging.is_empty() && waited.serving >= SERVERS as u64 {
        return Ok(());
    }
    let (seconds, serving) = (WAIT.as_secs(), waited.serving);
    Err(Failure::Cluster(format!("after {seconds} s, {serving} of {SERVERS} servers serve everything")))
}
