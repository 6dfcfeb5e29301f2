//! A server of our own with one dataset and one customer, and the requests that it is sent.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mercato::config::Settings;
use mercato::logging::{self, LogGuard};
use mercato::serving::{self, Running};
use mercato_base::clock::{Clock, SystemClock};
use mercato_catalog::DataDirectory;
use tempfile::TempDir;

use crate::site;

/// A running server and its customer's key.
pub struct Server {
    running: Running,
    key: String,
    address: SocketAddr,
    _log: LogGuard,
    _data: TempDir,
}

impl Server {
    /// Serves one store file without request limits; the log goes nowhere.
    pub fn start(store: &Path) -> Server {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        site::offer(&DataDirectory::new(folder.path()), store);
        let log = logging::start(std::io::sink()).unwrap();
        let data = folder.path().to_str().unwrap();
        let words = ["mercato", "serve", "--data", data, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"];
        let limits =
            ["--requests-per-minute", "0", "--requests-per-day", "0", "--charge-durability", "process"];
        let settings = Settings::read(words.iter().chain(&limits).copied()).unwrap();
        let running = serving::start(&settings, Arc::new(SystemClock)).unwrap();
        let (_, key) = site::customer(&running.app().ledger, SystemClock.now());
        let address = running.public_socket().unwrap();
        Server { running, key, address, _log: log, _data: folder }
    }

    /// The address of its public listener.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A request to a path of the dataset that takes a query.
    pub fn query(&self, path: &str, body: &str) -> String {
        site::post(&format!("/api/v1/datasets/{}/{path}", site::SLUG), &self.key, body)
    }

    /// A request for the whole file.
    pub fn download(&self, format: &str) -> String {
        let (slug, key) = (site::SLUG, &self.key);
        format!(
            "GET /api/v1/datasets/{slug}/download?format={format} HTTP/1.1\r\nHost: bench\r\nX-Api-Key: {key}\r\n\
             Accept: application/json\r\n\r\n"
        )
    }

    /// The request with another `Accept`, after which the connection ends.
    pub fn closing(&self, request: &str, accept: &str) -> String {
        request.replacen("Accept: application/json", &format!("Accept: {accept}\r\nConnection: close"), 1)
    }

    /// Ends it.
    pub fn stop(self) {
        assert!(self.running.stop(Duration::from_secs(10)), "something still ran");
    }
}
