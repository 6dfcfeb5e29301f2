//! Books on a database for benches: a schema of their own, accounts with credits, and plain charges.

use std::time::Duration;

use mercato_base::clock::{Clock, SystemClock};
use mercato_database::{DatabaseAddress, migrate};
use mercato_ledger::{AccountHandle, AccountId, ChargeRequest, Ledger};
use postgres::{Client, NoTls};

/// Names the database of the tests.
const DATABASE_VARIABLE: &str = "MERCATO_TEST_POSTGRES";
const CREDITS: u64 = 1_000_000_000;
/// Rows of a charge.
pub const ROWS: u64 = 10;

/// The address of the database, where there is one.
pub fn url() -> Option<String> {
    std::env::var(DATABASE_VARIABLE).ok()
}

/// Milliseconds since 1970.
pub fn now() -> i64 {
    SystemClock.now().unix_millis()
}

/// A plain charge.
pub fn order(account: &AccountHandle) -> ChargeRequest {
    let (dataset, request_id) = ("orders".to_owned(), "request".to_owned());
    let (account, at) = (account.clone(), SystemClock.now());
    ChargeRequest {
        account,
        key: None,
        rows: ROWS,
        free_queries: 0,
        dataset,
        request_id,
        claim: None,
        view: None,
        at,
    }
}

/// The database, in a schema that is made anew.
pub struct Place {
    url: String,
}

impl Place {
    pub fn new(url: &str, schema: &str) -> Place {
        let mut client = Client::connect(url, NoTls).unwrap();
        client.batch_execute(&format!("DROP SCHEMA IF EXISTS {schema} CASCADE")).unwrap();
        let place = Place {
            url: format!("{url}?options=-c%20search_path%3D{schema}%20-c%20track_wal_io_timing%3Don"),
        };
        migrate(&place.address()).unwrap();
        place
    }

    pub fn address(&self) -> DatabaseAddress {
        DatabaseAddress::parse(&self.url, |_| None).unwrap()
    }

    pub fn client(&self) -> Client {
        Client::connect(&self.url, NoTls).unwrap()
    }

    pub fn open(&self) -> Ledger {
        Ledger::open_database(&self.address(), SystemClock.now()).unwrap()
    }

    pub fn setting(&self, name: &str) -> String {
        self.client().query_one(&format!("SHOW {name}"), &[]).unwrap().get(0)
    }

    /// So many accounts with credits, as each of the servers has them.
    pub fn accounts(&self, ledgers: &[Ledger], count: usize) -> Vec<Vec<AccountHandle>> {
        let first = ledgers.first().unwrap();
        let ids: Vec<AccountId> = (0..count)
            .map(|_| {
                let id = first.create_account("bench", SystemClock.now()).unwrap();
                first.buy(id, CREDITS, None, "", "", SystemClock.now()).unwrap();
                id
            })
            .collect();
        ledgers.iter().map(|ledger| ids.iter().map(|id| known(ledger, *id)).collect()).collect()
    }
}

/// An account with credits, once a server has heard of it. That takes half a second.
fn known(ledger: &Ledger, id: AccountId) -> AccountHandle {
    loop {
        match ledger.account(id).filter(|account| account.credits() > 0) {
            Some(account) => return account,
            None => std::thread::sleep(Duration::from_millis(10)),
        }
    }
}
