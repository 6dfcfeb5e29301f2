//! Real data to try everything with: generated, converted, published and served. What an earlier run left in the
//! data directory is used again.

mod customer;
mod folders;
pub mod tables;

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mercato::catalog::{DataDirectory, Slug};
use mercato::clock::SystemClock;
use mercato::config::{Settings, TypedFlags};
use mercato::serving;
use semver::Version;

use crate::commands::publish::publish;
use crate::convert::Conversion;
use crate::failure::Failure;
use crate::progress;
pub use customer::Customer;
use tables::Table;

/// The version that the demo publishes.
const VERSION: Version = Version::new(1, 0, 0);
const SCALE_FILE: &str = "scale";

/// A dataset that the demo made or found.
#[derive(Debug, Clone, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Offered {
    /// Name of the dataset.
    pub slug: String,
    /// Whether this run made it; an earlier one did otherwise.
    pub new: bool,
    /// Rows.
    pub rows: u32,
    /// Bytes of the store file.
    pub bytes: u64,
}

/// Makes and publishes all eight tables, and an account with credits and a key.
///
/// # Errors
/// When a file cannot be written, or the directory holds a demo of another scale.
pub fn prepare(data: &Path, scale: f64) -> Result<(Vec<Offered>, Customer), Failure> {
    let work = data.join("demo");
    fs::create_dir_all(&work).map_err(Failure::io(&work, "create"))?;
    check_scale(&work, scale)?;
    let directory = DataDirectory::new(data);
    let offered = Table::ALL.iter().map(|table| offer(*table, scale, &directory, &work));
    let offered = offered.collect::<Result<Vec<_>, _>>()?;
    let customer = customer::find_or_create(&directory)?;
    Ok((offered, customer))
}

/// One data directory has tables of one scale, since a published version never changes.
fn check_scale(work: &Path, scale: f64) -> Result<(), Failure> {
    let path = work.join(SCALE_FILE);
    match fs::read_to_string(&path) {
        Ok(found) if found.trim() == scale.to_string() => Ok(()),
        Ok(found) => Err(Failure::Refused {
            file: path.display().to_string(),
            section: "scale of the demo".into(),
            expected: scale.to_string(),
            found: found.trim().to_owned(),
            remedy: format!("name another --data directory, or ask for --scale {}", found.trim()),
        }),
        Err(_) => fs::write(&path, format!("{scale}\n")).map_err(Failure::io(&path, "write")),
    }
}

fn offer(table: Table, scale: f64, data: &DataDirectory, work: &Path) -> Result<Offered, Failure> {
    let name = format!("tpch-{}", table.name());
    let slug = Slug::parse(&name).map_err(|error| Failure::Usage(error.to_string()))?;
    let store = data.dataset(&slug).store(&VERSION);
    if store.exists() {
        let found = mercato_format::Table::open(&store).map_err(Failure::store(&store))?;
        return Ok(Offered { slug: name, new: false, rows: found.row_count(), bytes: found.file_bytes() });
    }
    let parquet = work.join(format!("{}.parquet", table.name()));
    if !parquet.exists() {
        let bar = progress::bar(&format!("generate {}", table.name()), table.rows(scale), "rows");
        tables::write(table, scale, &parquet, &bar)?;
        bar.finish_and_clear();
    }
    let folder = work.join(table.name());
    folders::write(table, scale, &folder)?;
    let publication = publish(data, &folder, &VERSION, Conversion::new(&parquet, Path::new("")))?;
    Ok(Offered { slug: name, new: true, rows: publication.rows, bytes: publication.bytes })
}

/// Starts the server on the prepared directory, inside this process.
///
/// # Errors
/// When an address cannot be had or the directory cannot be read.
pub fn start(data: PathBuf, listen: SocketAddr, admin: &str) -> Result<serving::Running, Failure> {
    let flags = TypedFlags {
        data: Some(data),
        listen: Some(listen),
        admin: Some(admin.to_owned()),
        ..TypedFlags::default()
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let settings = Settings::resolve(flags, cores).map_err(|error| Failure::Usage(error.to_string()))?;
    serving::start(&settings, Arc::new(SystemClock)).map_err(|error| Failure::Start(error.to_string()))
}
