//! Charges in doubt whose clients were refused before the server died: what the next one makes of them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use mercato_ledger::{
    AccountHandle, ChargeError, ChargeRequest, EntryKind, Ledger, Pending, Receipt, Unavailable,
};

use super::proxy::{Fate, Proxy};
use super::{Place, SECOND, address_behind, socket, until};
use crate::desk::{charge, claimed, claimed_download, customer, handle, noon, page};

/// How one charge is asked for.
type Sell = fn(&Ledger, &AccountHandle) -> Result<Receipt, ChargeError>;

/// A server behind a proxy, with a customer.
struct World {
    place: Place,
    proxy: Proxy,
    ledger: Ledger,
    account: AccountHandle,
}

impl World {
    /// A customer with no credits is on the free plan.
    fn new(credits: u64) -> World {
        let place = Place::new();
        let proxy = Proxy::before(socket());
        let address = address_behind(place.path(), &proxy);
        let ledger = Ledger::open_server(&address, &journals(&place), noon()).unwrap();
        let account = customer(&ledger, credits);
        // The batcher has its connection from now on.
        charge(&ledger, &account, 1, noon()).unwrap();
        World { place, proxy, ledger, account }
    }

    /// Asks for a charge whose commit has this fate, and which nobody can ask for until the proxy is mended.
    #[track_caller]
    fn refuse(&self, fate: Fate, sell: Sell) {
        self.proxy.hold_back(fate);
        let stalled = ChargeError::from(Unavailable::Stalled);
        assert_eq!(sell(&self.ledger, &self.account).unwrap_err(), stalled);
        assert_eq!(files(&journals(&self.place)).len(), 1, "it is noted before it is refused");
    }
}

fn journals(place: &Place) -> PathBuf {
    place.path().join("unsettled-charges")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// A server with the journals of another one.
fn open_again(place: &Place) -> Ledger {
    let ledger = Ledger::open_server(&place.address(), &journals(place), noon()).unwrap();
    until("settled charges", 5 * SECOND, || files(&journals(place)).is_empty());
    ledger
}

/// Credits and free queries of an account, and how many charges were taken back.
fn standing(ledger: &Ledger, account: &AccountHandle) -> (u64, u32, usize) {
    let account = handle(ledger, account.id());
    let (entries, _) = ledger.entries(None, 1, 1_000).unwrap();
    let refunds = entries.iter().filter(|entry| entry.kind == EntryKind::Refund).count();
    let free = ledger.free_queries_remaining(&account, noon());
    (account.credits(), free, refunds)
}

fn plain(ledger: &Ledger, account: &AccountHandle) -> Result<Receipt, ChargeError> {
    charge(ledger, account, 7, noon())
}

fn keyed(ledger: &Ledger, account: &AccountHandle) -> Result<Receipt, ChargeError> {
    let order = ChargeRequest { claim: claimed("key", "{}"), ..page(account, 7, noon()) };
    ledger.charge(&order).and_then(Pending::durable)
}

fn part(ledger: &Ledger, account: &AccountHandle) -> Result<Receipt, ChargeError> {
    let order = claimed_download(account, 7, noon(), claimed("file", "{}"));
    ledger.sell_part(&order).and_then(Pending::durable)
}

/// The server stops without having learned of the outcome; so does one that is killed, whose journal is the same.
#[track_caller]
fn check(credits: u64, fate: Fate, sell: Sell, refunds: usize) {
    let world = World::new(credits);
    let (left, free, _) = standing(&world.ledger, &world.account);
    world.refuse(fate, sell);
    let World { ledger, place, account, .. } = world;
    let journal = files(&journals(&place)).remove(0);
    drop(ledger);
    let whole = std::fs::read(&journal).expect("the journal stays");
    let torn = [&whole, &whole[..whole.len() / 2]].concat();
    std::fs::write(&journal, torn).unwrap();
    let ledger = open_again(&place);
    let expected = (left, free, refunds);
    until("the refund", 5 * SECOND, || standing(&ledger, &account) == expected);
    drop(ledger);
    // As if it had died after the refund, and before the line was removed.
    std::fs::write(&journal, whole).unwrap();
    for _ in 0..2 {
        let ledger = open_again(&place);
        std::thread::sleep(Duration::from_millis(1_500));
        assert_eq!(standing(&ledger, &account), expected, "a charge is taken back once");
        let report = ledger.verify().unwrap();
        assert!(report.is_balanced(), "{report:?}");
    }
}

#[test]
#[ignore = "needs PostgreSQL: tests/books/postgres.sh"]
fn takes_back_once_what_dead_server_refused_and_database_applied() {
    let cases: [(u64, Fate, Sell, usize); 6] = [
        (100, Fate::Swallowed, plain, 1),
        // A free query.
        (0, Fate::Swallowed, plain, 0),
        (100, Fate::Swallowed, keyed, 1),
        (100, Fate::Swallowed, part, 1),
        (100, Fate::Lost, plain, 0),
        (100, Fate::Lost, keyed, 0),
    ];
    // All that they do is to wait.
    std::thread::scope(|scope| {
        for (credits, fate, sell, refunds) in cases {
            scope.spawn(move || check(credits, fate, sell, refunds));
        }
    });
}

#[test]
#[ignore = "needs PostgreSQL: tests/books/postgres.sh"]
fn keeps_charge_of_dead_server_that_repetition_got_rows_for() {
    let world = World::new(100);
    world.refuse(Fate::Swallowed, keyed);
    let World { ledger, place, account, .. } = world;
    drop(ledger);
    let other = place.open();
    let repeated = keyed(&other, &handle(&other, account.id())).unwrap();
    assert!(repeated.replayed);
    let ledger = open_again(&place);
    assert_eq!(standing(&ledger, &account), (100 - 1 - 7, 100, 0));
    let again = keyed(&ledger, &handle(&ledger, account.id())).unwrap();
    assert!(again.replayed);
}

#[test]
#[ignore = "needs PostgreSQL: tests/books/postgres.sh"]
fn takes_charge_back_and_leaves_no_journal_when_database_is_back() {
    let world = World::new(100);
    world.refuse(Fate::Swallowed, plain);
    world.proxy.mend();
    until("the refund", 5 * SECOND, || standing(&world.ledger, &world.account) == (99, 100, 1));
    until("no journal", SECOND, || files(&journals(&world.place)).is_empty());
    assert!(world.ledger.verify().unwrap().is_balanced());
}

#[test]
#[ignore = "needs PostgreSQL: tests/books/postgres.sh"]
fn notes_nothing_of_charge_that_was_never_sent() {
    let world = World::new(100);
    world.proxy.hold_back(Fate::Swallowed);
    std::thread::scope(|scope| {
        let first = scope.spawn(|| plain(&world.ledger, &world.account));
        std::thread::sleep(SECOND);
        // It waits behind the first one.
        let second = ChargeRequest { request_id: "second".to_owned(), ..page(&world.account, 7, noon()) };
        let second = world.ledger.charge(&second).and_then(Pending::durable);
        assert!(first.join().unwrap().is_err() && second.is_err());
    });
    let journal = std::fs::read_to_string(&files(&journals(&world.place))[0]).unwrap();
    assert_eq!((journal.lines().count(), journal.contains("second")), (1, false));
    world.proxy.mend();
    until("the refund", 5 * SECOND, || standing(&world.ledger, &world.account) == (99, 100, 1));
}

#[test]
#[ignore = "needs PostgreSQL: tests/books/postgres.sh"]
fn leaves_journals_of_other_books_and_of_living_servers_alone() {
    let world = World::new(100);
    world.refuse(Fate::Swallowed, plain);
    let journal = files(&journals(&world.place)).remove(0);
    let foreign = journals(&world.place).join("1-1");
    std::fs::copy(&journal, &foreign).unwrap();
    let other = Ledger::open_server(&world.place.address(), &journals(&world.place), noon()).unwrap();
    std::thread::sleep(Duration::from_millis(1_500));
    assert_eq!(standing(&other, &world.account), (100 - 1 - 7, 100, 0));
    assert!(journal.exists() && foreign.exists());
}
