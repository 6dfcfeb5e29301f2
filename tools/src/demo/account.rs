//! The demo account: created once, with credits and a key. The key is stored beside the data, so that a second run
//! prints the same commands. Does not depend on datasets.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use mercato::catalog::DataDirectory;
use mercato::clock::Moment;
use mercato::ledger::{KEY_RANDOM_BYTES, KeyHash, Ledger};
use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// Credits of the demo account.
const CREDITS: u64 = 100_000_000;
const NAME: &str = "Demo customer";
const FILE: &str = "demo/account.json";

/// The account and its key.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct DemoAccount {
    /// Id of the account.
    pub account: String,
    /// The plain key, which only opens demo data.
    pub key: String,
}

/// Returns the account of an earlier run if its key is still valid, or else a new one.
///
/// # Errors
/// When the books or the key file cannot be written.
pub fn find_or_create(data: &DataDirectory, ledger: &Ledger, now: Moment) -> Result<DemoAccount, Failure> {
    let path = data.root().join(FILE);
    let known = read(&path).filter(|customer| is_known(ledger, customer));
    let customer = match known {
        Some(customer) => customer,
        None => {
            let customer = create(ledger, now).map_err(|reason| Failure::Books {
                directory: data.ledger().display().to_string(),
                action: "create an account in them",
                reason,
            })?;
            keep(&path, &customer)?;
            customer
        }
    };
    Ok(customer)
}

fn read(path: &Path) -> Option<DemoAccount> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

fn is_known(ledger: &Ledger, customer: &DemoAccount) -> bool {
    KeyHash::of_presented(&customer.key).is_ok()
        && ledger.accounts().iter().any(|account| account.id().to_string() == customer.account)
}

fn create(ledger: &Ledger, now: Moment) -> Result<DemoAccount, String> {
    let mut random = [0; KEY_RANDOM_BYTES];
    getrandom::fill(&mut random).map_err(|error| error.to_string())?;
    let account = ledger.create_account(NAME, now).map_err(|error| error.to_string())?;
    ledger
        .buy(account, CREDITS, Some(0), "demo", "credits to try with", now)
        .map_err(|error| error.to_string())?;
    let key = ledger.create_key(account, "demo", random, now).map_err(|error| error.to_string())?;
    Ok(DemoAccount { account: account.to_string(), key: key.plain.reveal().to_owned() })
}

/// Stores the key in a file that only its owner can read.
fn keep(path: &Path, customer: &DemoAccount) -> Result<(), Failure> {
    let text =
        serde_json::to_vec_pretty(customer).map_err(|error| Failure::io(path, "write")(error.into()))?;
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(&text)).map_err(Failure::io(path, "write"))
}
