//! A server that serves `lineitem` to a paying customer.

use std::path::Path;

use mercato_base::clock::Moment;
use mercato_catalog::DataDirectory;
use mercato_catalog::publish::publish;
use mercato_ledger::{AccountHandle, Ledger};

/// Name of the dataset.
pub const SLUG: &str = "lineitem";
const MANIFEST: &str = r#"slug = "lineitem"
license = "TPC-H"
tags = ["bench"]
[title]
en = "Lines of orders"
[description]
en = "TPC-H lineitem"
"#;
/// Credits that no bench uses up.
const CREDITS: u64 = 1_000_000_000_000;

/// Publishes a store file, without a copy of it, in a data directory on the same file system.
pub fn offer(data: &DataDirectory, store: &Path) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("dataset.toml"), MANIFEST).unwrap();
    let version = "1.0.0".parse().unwrap();
    publish(data, folder.path(), &version, |path| std::fs::hard_link(store, path)).unwrap();
}

/// An account with credits, and its key, which is the same every time.
pub fn customer(ledger: &Ledger, now: Moment) -> (AccountHandle, String) {
    let account = ledger.create_account("bench", now).unwrap();
    ledger.buy(account, CREDITS, None, "", "", now).unwrap();
    let key = ledger.create_key(account, "bench", [7; mercato_ledger::KEY_RANDOM_BYTES], now).unwrap();
    (ledger.account(account).unwrap(), key.plain.reveal().to_owned())
}

/// The bytes of a request with a key and a JSON body.
pub fn post(path: &str, key: &str, body: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: bench\r\nX-Api-Key: {key}\r\nAccept: application/json\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}
