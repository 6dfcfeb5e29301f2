//! A server of our own on a free port over a fresh data directory, and a client that shows every byte.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mercato::config::Settings;
use mercato::serving::{self, Running};
use mercato_base::clock::{Moment, SystemClock};
use mercato_catalog::publish::publish;
use mercato_catalog::{DataDirectory, Slug};
use mercato_database::{DatabaseAddress, migrate};
use mercato_format::writer::{Column, ColumnValues, TableWriter, write_table_and};
use mercato_format::{ColumnKind, FormatError, TimeUnit};
use mercato_ledger::ChargeRequest;
use mercato_net::ListenAddress;
use mercato_query::render::append_lengths;
use tempfile::TempDir;

pub use crate::exchange::{Answer, Ask, exchange, parse};
use crate::openapi::check_answer;
use crate::schema::{are_in_files, url_of};

/// The manifest of the test dataset.
pub const MANIFEST: &str = r#"slug = "cities"
license = "CC-BY-4.0"
license_url = "https://creativecommons.org/licenses/by/4.0/"
tags = ["geo", "towns"]
[title]
en = "Cities"
it = "Città"
[description]
en = "Some cities"
[columns.name]
description = "Name of the city"
example = "Roma"
"#;

/// Flags that lift the limits of requests.
const NO_LIMITS: [&str; 4] = ["--requests-per-minute", "0", "--requests-per-day", "0"];

/// A running server with its data directory.
pub struct Site {
    running: Option<Running>,
    folder: PathBuf,
    /// Removed with the site, unless the test keeps it.
    _own: Option<TempDir>,
    address: SocketAddr,
}

impl Site {
    /// A site without request limits and with the dataset `cities`.
    pub fn with_cities() -> Site {
        let site = Site::empty(&NO_LIMITS);
        site.publish("cities", MANIFEST, "1.0.0", &city_columns(6));
        site
    }

    /// A site without datasets.
    pub fn empty(flags: &[&str]) -> Site {
        Site::over(tempfile::tempdir().unwrap(), flags)
    }

    /// A site over a folder, without limits of requests, with changes to settings that have no flag.
    pub fn tuned(folder: TempDir, flags: &[&str], tune: impl Fn(&mut Settings)) -> Site {
        let mut site = Site::start(folder.path(), folder.path(), &[&NO_LIMITS, flags].concat(), tune);
        site._own = Some(folder);
        site
    }

    /// A site over a folder that exists.
    pub fn over(folder: TempDir, flags: &[&str]) -> Site {
        let mut site = Site::at(folder.path(), flags);
        site._own = Some(folder);
        site
    }

    /// Why no server starts over a folder.
    pub fn refusal_to_start(folder: &Path) -> String {
        Site::refusal_with(folder, &[])
    }

    /// The same with further flags.
    pub fn refusal_with(folder: &Path, flags: &[&str]) -> String {
        let data = folder.to_str().unwrap().to_owned();
        let fixed = ["--data", &data, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"];
        match serving::start(&settings(fixed.iter().chain(flags)), Arc::new(SystemClock)) {
            Ok(_) => panic!("the server started"),
            Err(error) => error.to_string(),
        }
    }

    /// A site over a folder that stays when the site has gone.
    pub fn at(folder: &Path, flags: &[&str]) -> Site {
        Site::beside(folder, folder, flags)
    }

    /// A site over a folder, with the books of another one where they are in a database.
    pub fn beside(with_books: &Path, folder: &Path, flags: &[&str]) -> Site {
        Site::start(with_books, folder, flags, |_| ())
    }

    /// The same with settings that have no flag.
    pub fn start(with_books: &Path, folder: &Path, flags: &[&str], tune: impl Fn(&mut Settings)) -> Site {
        let data = folder.to_str().unwrap().to_owned();
        let fixed = ["--data", &data, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--workers", "8"];
        let process =
            ["--charge-durability", "process", "--drain-seconds", "5", "--admin-host", "mercato.test"];
        let books = books_of(with_books);
        let books: Vec<&str> = books.iter().map(String::as_str).collect();
        let mut settings = settings(fixed.iter().chain(&process).chain(&books).chain(flags));
        tune(&mut settings);
        let running = serving::start(&settings, Arc::new(SystemClock)).unwrap();
        let address = running.public_socket().unwrap();
        Site { running: Some(running), folder: folder.to_owned(), _own: None, address }
    }

    pub fn running(&self) -> &Running {
        self.running.as_ref().unwrap()
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn admin_address(&self) -> SocketAddr {
        match self.running().admin_address() {
            ListenAddress::Tcp(address) => *address,
            ListenAddress::Unix(_) => panic!("the harness listens on TCP"),
        }
    }

    /// Waits until `/metrics` shows these lines: an answer is counted once it is out, and by then its client may have it.
    #[track_caller]
    pub fn wait_for_metrics(&self, lines: &[&str]) {
        for line in lines {
            wait_until(line, || {
                exchange(self.admin_address(), &Ask::get("/metrics"))
                    .text()
                    .lines()
                    .any(|shown| shown == *line)
            });
        }
    }

    pub fn admin_token(&self) -> String {
        std::fs::read_to_string(self.data().admin_token()).unwrap().trim().to_owned()
    }

    pub fn data(&self) -> DataDirectory {
        DataDirectory::new(&self.folder)
    }

    /// Publishes a version and waits until the server serves it.
    pub fn publish(&self, slug: &str, manifest: &str, version: &str, columns: &[Column]) {
        publish_files(&self.data(), manifest, version, columns, &[]);
        wait_until("the publication is served", || self.serves(slug, version));
    }

    pub fn serves(&self, slug: &str, version: &str) -> bool {
        let answer = self.get(&format!("/api/v1/datasets/{slug}"));
        answer.status == 200 && answer.json()["data"]["currentVersion"] == version
    }

    /// An account that bought credits and has no free query left this month, and its key.
    pub fn paying_key(&self, credits: u64) -> String {
        let (account, key) = self.account();
        self.running().app().ledger.buy(account, credits, None, "test", "test", now()).unwrap();
        self.use_up_free_queries(account);
        key
    }

    /// Uses the free queries of this month, so that what follows takes credits. They stand in the usage of the account.
    pub fn use_up_free_queries(&self, account: mercato_ledger::AccountId) {
        let ledger = &self.running().app().ledger;
        let free_queries = ledger.free_plan().queries_per_month;
        let (account, dataset) = (ledger.account(account).unwrap(), "cities".to_owned());
        let (key, claim, request_id, at, rows) = (None, None, "test".to_owned(), now(), 0);
        let request =
            ChargeRequest { account, key, rows, free_queries, dataset, request_id, claim, view: None, at };
        let used: Vec<_> = (0..free_queries).map(|_| ledger.charge(&request).unwrap()).collect();
        used.into_iter().for_each(|one| drop(one.durable().unwrap()));
    }

    /// An account that never bought credits, and its key.
    pub fn free_key(&self) -> String {
        self.account().1
    }

    fn account(&self) -> (mercato_ledger::AccountId, String) {
        let ledger = &self.running().app().ledger;
        let account = ledger.create_account("tester", now()).unwrap();
        let mut random = [0; mercato_ledger::KEY_RANDOM_BYTES];
        getrandom::fill(&mut random).unwrap();
        let key = ledger.create_key(account, "test", random, now()).unwrap();
        (account, key.plain.reveal().to_owned())
    }

    #[track_caller]
    pub fn get(&self, target: &str) -> Answer {
        self.send(&Ask::get(target))
    }

    /// Sends a request, and checks that the OpenAPI document allows the answer.
    #[track_caller]
    pub fn send(&self, ask: &Ask) -> Answer {
        let answer = exchange(self.address, ask);
        check_answer(&ask.method, &ask.target, &answer);
        answer
    }

    /// Posts a JSON body with a key.
    #[track_caller]
    pub fn query(&self, slug: &str, key: &str, body: &str) -> Answer {
        self.send(&Ask::post(&format!("/api/v1/datasets/{slug}/query"), body).header("X-Api-Key", key))
    }
}

impl Site {
    /// Ends the server. Says whether everything that ran was finished in time.
    pub fn stop(&mut self) -> bool {
        self.running.take().is_none_or(|running| running.stop(Duration::from_secs(20)))
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            running.stop(Duration::from_secs(5));
        }
    }
}

/// Flags for books in a database, where the tests run on one.
fn books_of(folder: &Path) -> Vec<String> {
    if are_in_files() {
        return Vec::new();
    }
    let url = url_of(folder);
    migrate(&DatabaseAddress::parse(&url, |_| None).unwrap()).unwrap();
    vec!["--books".to_owned(), url]
}

fn settings<'a>(flags: impl Iterator<Item = &'a &'a str>) -> Settings {
    Settings::read(["mercato", "serve"].into_iter().chain(flags.copied())).unwrap()
}

pub fn now() -> Moment {
    use mercato_base::clock::Clock;
    SystemClock.now()
}

/// Publishes without a server; `texts` are further files of the folder.
pub fn publish_files(
    data: &DataDirectory,
    manifest: &str,
    version: &str,
    columns: &[Column],
    texts: &[(&str, &str)],
) {
    publish_files_and(data, manifest, version, columns, texts, None);
}

/// The same with a Parquet file, into which no server looks.
pub fn publish_files_and(
    data: &DataDirectory,
    manifest: &str,
    version: &str,
    columns: &[Column],
    texts: &[(&str, &str)],
    parquet: Option<&[u8]>,
) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("dataset.toml"), manifest).unwrap();
    for (name, text) in texts {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let version = semver::Version::parse(version).unwrap();
    let write = |path: &Path| {
        if let Some(bytes) = parquet {
            std::fs::write(path.with_extension("parquet"), bytes).unwrap();
        }
        write_table_and(path, columns, complete).map(drop)
    };
    publish(data, folder.path(), &version, write).unwrap();
}

/// Adds statistics and lengths, as the converter does.
fn complete(writer: &mut TableWriter) -> Result<(), FormatError> {
    writer.append_statistics()?;
    append_lengths(writer)
}

/// Path of the store file of a version.
pub fn store_path(data: &DataDirectory, slug: &str, version: &str) -> PathBuf {
    data.dataset(&Slug::parse(slug).unwrap()).store(&semver::Version::parse(version).unwrap())
}

/// A small table with one column of each kind: `id`, `name`, `area`, `height`, `capital`, `founded`, `seen`.
pub fn city_columns(rows: i64) -> Vec<Column> {
    let names = ["Roma", "Milano", "Napoli", "Torino", "Palermo", "Genova"];
    let name = |row: i64| names[usize::try_from(row).unwrap() % names.len()];
    let integers =
        |value: &dyn Fn(i64) -> Option<i64>| ColumnValues::Integers((0..rows).map(value).collect());
    let height = |row: i64| match row {
        1 => Some(f64::NAN),
        2 => None,
        _ => Some(row as f64 + 0.5),
    };
    vec![
        Column::new("id", ColumnKind::Integer, integers(&|row| Some(row + 1))),
        Column::new(
            "name",
            ColumnKind::Text,
            ColumnValues::Texts((0..rows).map(|row| Some(name(row).to_owned())).collect()),
        ),
        Column::new(
            "area",
            ColumnKind::Decimal { precision: 15, scale: 2 },
            integers(&|row| Some(90_100 - row)),
        ),
        Column::new("height", ColumnKind::Float, ColumnValues::Floats((0..rows).map(height).collect())),
        Column::new(
            "capital",
            ColumnKind::Boolean,
            ColumnValues::Booleans((0..rows).map(|row| Some(row == 0)).collect()),
        ),
        Column::new("founded", ColumnKind::Date, integers(&|row| (row != 3).then_some(row))),
        Column::new(
            "seen",
            ColumnKind::Timestamp { unit: TimeUnit::Millisecond },
            integers(&|row| Some(1_700_000_000_123 + row * 1000)),
        ),
    ]
}

/// Waits for something that another thread does.
#[track_caller]
pub fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !done() {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Numbers without a pattern, the same at every run: xorshift (Marsaglia, 2003). `seed` is not 0.
pub fn chance(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    }
}
