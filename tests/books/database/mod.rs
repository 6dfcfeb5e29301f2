//! Books on a database: several servers, lost answers, a database that goes away. Only where the tests run on a database.

mod encryption;
mod limits;
mod many;
mod moves;
mod proxy;
mod status;
mod unsettled;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mercato_database::{DatabaseAddress, migrate};
use mercato_ledger::{
    AccountId, BooksError, ChargeError, ChargeRequest, CloseAccount, EndSession, Health, Ledger, OpenError,
    PaymentId, Pending, Relation, RelationKey, SignUp, SignedUp, Unavailable,
};
use tempfile::TempDir;

use crate::desk::{address_of, charge, claimed, customer, handle, noon, page, stream};
use crate::logins::world::{email, password};
use crate::schema::url_of;
use proxy::Proxy;

/// A schema with books in it, and the address of the database behind a proxy.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Place {
        let place = Place { folder: tempfile::tempdir().unwrap() };
        migrate(&place.address()).unwrap();
        place
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn address(&self) -> DatabaseAddress {
        address_of(self.path())
    }

    fn open(&self) -> Ledger {
        Ledger::open_database(&self.address(), noon()).unwrap()
    }

    fn open_behind(&self, proxy: &Proxy) -> Ledger {
        Ledger::open_database(&address_behind(self.path(), proxy), noon()).unwrap()
    }
}

/// The database of the tests behind a proxy.
fn address_behind(folder: &Path, proxy: &Proxy) -> DatabaseAddress {
    let url = format!("postgres://mercato@127.0.0.1:{}{}", proxy.port(), socket_and_rest(folder).1);
    DatabaseAddress::parse(&url, |_| None).unwrap()
}

/// Waits until something is so; returns how long that took.
#[track_caller]
fn until(what: &str, most: Duration, is_so: impl Fn() -> bool) -> Duration {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < most, "{what}: not within {most:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
    began.elapsed()
}

/// The place of the server's socket and the rest of the address, which begins with a slash.
fn socket_and_rest(folder: &Path) -> (PathBuf, String) {
    let url = url_of(folder);
    let (_, host) = url.split_once('@').unwrap();
    let (host, rest) = host.split_once('/').unwrap();
    let (host, port) = host.split_once(':').unwrap_or((host, "5432"));
    (Path::new(&host.replace("%2F", "/")).join(format!(".s.PGSQL.{port}")), format!("/{rest}"))
}

fn socket() -> PathBuf {
    socket_and_rest(Path::new("")).0
}

/// Changes tables behind the back of the books.
pub fn run_sql(folder: &Path, text: &str) {
    postgres::Client::connect(&url_of(folder), postgres::NoTls).unwrap().batch_execute(text).unwrap();
}

const SECOND: Duration = Duration::from_secs(1);

#[test]
#[ignore = "needs PostgreSQL: tests/books/postgres.sh"]
fn shows_changes_of_one_server_on_another_within_second() {
    let place = Place::new();
    let (here, there) = (place.open(), place.open());
    let account = customer(&here, 100).id();
    until("an account", SECOND, || there.account(account).is_some_and(|account| account.credits() == 100));
    let key = here.create_key(account, "", [1; 32], noon()).unwrap();
    let seen = || there.find_key(&key.plain.hash());
    until("a key", SECOND, || seen().is_some());
    here.revoke_key(key.view.id, noon()).unwrap();
    until("a revoked key", SECOND, || seen().is_some_and(|key| key.revoked_at().is_some()));
    let key = RelationKey { from: "a".to_owned(), to: "b".to_owned(), relation_type: "same".to_owned() };
    here.add_relation(Relation { key, description: String::new(), weight: 1.0, at: noon() }).unwrap();
    until("a relation", SECOND, || there.relations().all().len() == 1);
    let SignedUp::Created(person) =
        here.commit(&SignUp { email: email(1), password: password(1), at: noon() }).unwrap()
    else {
        panic!()
    };
    until("a login", SECOND, || there.login(person).is_some());
    assert_eq!(
        there.commit(&SignUp { email: email(1), password: password(1), at: noon() }),
        Ok(SignedUp::EmailTaken)
    );
    let token = here.open_session(&here.login(person).unwrap(), [7; 32], noon()).unwrap().hash();
    until("a session", SECOND, || there.session(token, noon()).is_some());
    assert_eq!(there.commit(&EndSession { token, at: noon() }), Ok(true));
    until("an ended session", SECOND, || here.session(token, noon()).is_none());
    // A balance that is looked at follows, too, although charges tell nobody.
    charge(&here, &handle(&here, account), 30, noon()).unwrap();
    until("a balance", 2 * SECOND, || handle(&there, account).credits() == 70);
    here.commit(&CloseAccount { account, at: noon() }).unwrap();
    until("a closed account", SECOND, || handle(&there, account).closed_at().is_some());
}

#[test]
#[ignore = "needs PostgreSQL: tests/books/postgres.sh"]
fn sells_exactly_balance_on_two_servers() {
    let place = Place::new();
    let ledgers = [place.open(), place.open()];
    let account = customer(&ledgers[0], 3_000).id();
    until("an account", SECOND, || ledgers[1].account(account).is_some());
    let sold = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for client in 0..16_u64 {
            let (ledger, sold) = (&ledgers[client as usize % 2], &sold);
            scope.spawn(move || {
                let account = handle(ledger, account);
                for turn in 0..60 {
                    let taken = match (client + turn) % 3 {
                        0 => {
                            let key = format!("{client} {turn}");
                            let order =
                                ChargeRequest { claim: claimed(&key, "{}"), ..page(&account, 3, noon()) };
                            ledger.charge(&order).and_then(Pending::durable)
                        }
                        1 => ledger
                            .reserve(&stream(&account, 10, noon()))
                            .and_then(|held| held.settle(turn % 11, noon())?.durable()),
                        _ => charge(ledger, &account, 4, noon()),
                    };
                    match taken {
                        Ok(receipt) => drop(sold.fetch_add(receipt.charged, Ordering::Relaxed)),
                        Err(ChargeError::InsufficientCredits { .. }) => {}
                        Err(other) => panic!("{other}"),
                    }
                }
            });
        }
    });
    let report = ledgers[1].verify().unwrap();
    assert!(report.is_balanced(), "{report:?}");
    assert_eq!(sold.into_inner() + report.credits, 3_000);
}

#[test]
#[ignore = "needs PostgreSQL: tests/books/postgres.sh"]
fn charges_duplicates_on_two_servers_once() {
    let place = Place::new();
    let ledgers = [place.open(), place.open()];
    let account = customer(&ledgers[0], 1_000).id();
    until("an account", SECOND, || ledgers[1].account(account).is_some());
    let charged = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for client in 0..12 {
            let (ledger, charged) = (&ledgers[client % 2], &charged);
            scope.spawn(move || {
                let account = handle(ledger, account);
                let order = ChargeRequest { claim: claimed("same", "{}"), ..page(&account, 10, noon()) };
                let receipt = ledger.charge(&order).and_then(Pending::durable).unwrap();
                charged.fetch_add(receipt.charged, Ordering::Relaxed);
                let payment = PaymentId { provider: "bank".to_owned(), id: "INV-1".to_owned() };
                ledger.buy_once(account.id(), 50, None, payment, "", noon()).unwrap();
            });
        }
    });
    assert_eq!(charged.into_inner(), 10);
    assert_eq!(ledgers[0].verify().unwrap().credits, 1_000 - 10 + 50);
}

/// `MERCATO_SWALLOWED` asks for more answers than the default.
#[test]
#[ignore = "needs PostgreSQL: tests/books/postgres.sh"]
fn charges_once_when_answer_to_commit_is_lost() {
    let place = Place::new();
    let proxy = Proxy::before(socket());
    let ledger = place.open_behind(&proxy);
    let account = customer(&ledger, 1_000_000);
    let rounds = std::env::var("MERCATO_SWALLOWED").map_or(60, |rounds| rounds.parse().unwrap());
    let (mut expected, mut refunds) = (1_000_000_u64, Vec::new());
    for round in 0..rounds {
        proxy.swallow_next();
        match round % 6 {
            0 => {
                let charged = charge(&ledger, &account, 7, noon());
                expected -= charged
                    .unwrap_or_else(|error| panic!("round {round}: {error} {:?}", ledger.health()))
                    .charged;
            }
            1 => {
                let key = round.to_string();
                let order = ChargeRequest { claim: claimed(&key, "{}"), ..page(&account, 5, noon()) };
                let receipt = ledger.charge(&order).and_then(Pending::durable).unwrap();
                assert!(!receipt.replayed);
                expected -= receipt.charged;
                refunds.push(receipt);
            }
            2 => {
                let held = ledger.reserve(&stream(&account, 30, noon())).unwrap();
                proxy.swallow_next();
                expected -= held.settle(11, noon()).and_then(Pending::durable).unwrap().charged;
            }
            3 => {
                let receipt = refunds.pop().unwrap();
                expected += receipt.charged;
                ledger.refund(receipt, noon()).and_then(Pending::durable).unwrap();
            }
            4 => {
                let balance = ledger.grant(account.id(), 3, "", "", noon()).unwrap();
                expected += 3;
                assert_eq!(balance, expected);
            }
            _ => {
                let payment = PaymentId { provider: "bank".to_owned(), id: round.to_string() };
                let bought = ledger.buy_once(account.id(), 2, None, payment, "", noon()).unwrap();
                expected += 2;
                assert!(!bought.is_replayed);
            }
        }
        assert!(!proxy.is_armed(), "round {round}: a commit must have passed");
        assert_eq!(account.credits(), expected, "round {round}");
        // Where the next rare operation finds the database away, it is refused.
        until("the database", 5 * SECOND, || ledger.health() == Health::Serving);
    }
    assert!(proxy.swallowed() >= rounds, "{}", proxy.swallowed());
    let report = ledger.verify().unwrap();
    assert!(report.is_balanced(), "{report:?}");
    assert_eq!((report.credits, report.open_reservations), (expected, 0));
}

#[test]
#[ignore = "needs PostgreSQL: tests/books/postgres.sh"]
fn refuses_charges_while_database_is_away() {
    let place = Place::new();
    let proxy = Proxy::before(socket());
    let ledger = place.open_behind(&proxy);
    let account = customer(&ledger, 100);
    let held = ledger.reserve(&stream(&account, 40, noon())).unwrap();
    proxy.cut();
    until("the outage", 3 * SECOND, || ledger.health() != Health::Serving);
    let began = Instant::now();
    let down = ChargeError::from(Unavailable::Down);
    assert_eq!(charge(&ledger, &account, 1, noon()).unwrap_err(), down);
    assert_eq!(ledger.grant(account.id(), 1, "", "", noon()), Err(Unavailable::Down.into()));
    assert!(began.elapsed() < SECOND, "nobody waits for a database that is away");
    assert_eq!(account.credits(), 60, "what was read is still shown");
    held.delivered(15, noon());
    drop(held);
    proxy.mend();
    until("the database", 5 * SECOND, || ledger.health() == Health::Serving);
    charge(&ledger, &account, 1, noon()).unwrap();
    until("the settlement", 5 * SECOND, || ledger.verify().unwrap().open_reservations == 0);
    assert_eq!(account.credits(), 100 - 15 - 1);
    assert!(ledger.verify().unwrap().is_balanced());
}

#[test]
#[ignore = "needs PostgreSQL: tests/books/postgres.sh"]
fn charges_once_when_answer_to_question_for_lost_one_is_lost() {
    let place = Place::new();
    let proxy = Proxy::before(socket());
    let ledger = place.open_behind(&proxy);
    let account = customer(&ledger, 100);
    for round in 1..=3 {
        proxy.swallow_next();
        proxy.swallow_next_question();
        assert_eq!(charge(&ledger, &account, 7, noon()).unwrap().charged, 7);
        assert_eq!(proxy.swallowed(), 2 * round);
        let report = ledger.verify().unwrap();
        assert_eq!((report.is_balanced(), report.credits), (true, 100 - 7 * round as u64), "{report:?}");
    }
}

#[test]
#[ignore = "needs PostgreSQL: tests/books/postgres.sh"]
fn locks_nothing_for_server_that_says_nothing_any_more() {
    let place = Place::new();
    let proxy = Proxy::before(socket());
    let (silent, other) = (place.open_behind(&proxy), place.open());
    let account = customer(&silent, 100);
    let order = ChargeRequest { claim: claimed("key", "{}"), ..page(&account, 30, noon()) };
    until("an account", SECOND, || {
        other.account(account.id()).is_some_and(|account| account.credits() == 100)
    });
    proxy.hold_next();
    std::thread::scope(|scope| {
        let late = scope.spawn(|| silent.charge(&order).and_then(Pending::durable));
        until("the commit", 5 * SECOND, || !proxy.is_holding());
        let began = Instant::now();
        let charged = loop {
            // A request does not wait for a lock for ever.
            match charge(&other, &handle(&other, account.id()), 5, noon()) {
                Err(ChargeError::Books(BooksError::Unavailable { .. })) if began.elapsed() < 15 * SECOND => {}
                charged => break charged,
            }
        };
        // Whatever came of it, the silent one goes on.
        proxy.cut();
        proxy.mend();
        let paid = late.join().unwrap().map_or(0, |receipt| receipt.charged);
        until("the outcome", 5 * SECOND, || other.verify().unwrap().credits == 100 - 5 - paid);
        assert_eq!(charged.unwrap().charged, 5);
        assert!(other.verify().unwrap().is_balanced());
    });
}

#[test]
#[ignore = "needs PostgreSQL: tests/books/postgres.sh"]
fn settles_streams_of_server_that_is_cut_off_and_ends_them() {
    let place = Place::new();
    let proxy = Proxy::before(socket());
    let (cut_off, other) = (place.open_behind(&proxy), place.open());
    let account = customer(&cut_off, 100);
    let held = cut_off.reserve(&stream(&account, 80, noon())).unwrap();
    held.delivered(20, noon());
    std::thread::sleep(2 * SECOND);
    proxy.cut();
    held.delivered(33, noon());
    let ended = until("the end of the stream", 11 * SECOND, || held.is_over());
    assert!(
        other.verify().unwrap().open_reservations == 1,
        "ended {ended:?} after the cut, before others settle"
    );
    until("the settlement", 8 * SECOND, || other.verify().unwrap().open_reservations == 0);
    let report = other.verify().unwrap();
    assert!(report.is_balanced(), "{report:?}");
    assert_eq!(report.credits, 80, "the rows that were noted are paid, later ones are free");
    drop(held);
    proxy.mend();
    until("the database", 5 * SECOND, || cut_off.health() == Health::Serving);
    charge(&cut_off, &account, 1, noon()).unwrap();
    assert_eq!(other.verify().unwrap().credits, 79);
}

#[test]
#[ignore = "needs PostgreSQL: tests/books/postgres.sh"]
fn refuses_schema_that_it_does_not_know() {
    let folder = tempfile::tempdir().unwrap();
    let address = address_of(folder.path());
    let refusal = || match Ledger::open_database(&address, noon()) {
        Err(OpenError::Database(reason)) => reason.to_string(),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it opened"),
    };
    assert!(refusal().contains("books migrate"), "{}", refusal());
    assert_eq!(migrate(&address).unwrap().from, 0);
    let again = migrate(&address).unwrap();
    assert_eq!(again.from, again.to);
    drop(Ledger::open_database(&address, noon()).unwrap());
    run_sql(folder.path(), "INSERT INTO schema_version (version) VALUES (999)");
    assert!(refusal().contains("schema version 999"), "{}", refusal());
    assert!(migrate(&address).is_err());
}

#[test]
#[ignore = "needs PostgreSQL: tests/books/postgres.sh"]
fn migrates_once_when_many_do() {
    let folder = tempfile::tempdir().unwrap();
    let address = address_of(folder.path());
    let done = std::thread::scope(|scope| {
        let all: Vec<_> = (0..4).map(|_| scope.spawn(|| migrate(&address))).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(done.iter().all(Result::is_ok), "{done:?}");
    drop(Ledger::open_database(&address, noon()).unwrap());
}

#[test]
#[ignore = "needs PostgreSQL: tests/books/postgres.sh"]
fn refuses_backup_and_archive_by_naming_tools_of_database() {
    let place = Place::new();
    let ledger = place.open();
    assert!(ledger.backup(place.path(), noon()).unwrap_err().to_string().contains("pg_dump"));
    assert!(ledger.archive(place.path()).unwrap_err().to_string().contains("pg_dump"));
}

#[test]
#[ignore = "needs PostgreSQL: tests/books/postgres.sh"]
fn finds_damage_of_tables() {
    let place = Place::new();
    let ledger = place.open();
    let account = customer(&ledger, 100);
    charge(&ledger, &account, 10, noon()).unwrap();
    charge(&ledger, &account, 20, noon()).unwrap();
    assert!(ledger.verify().unwrap().is_balanced());
    let check = |change: &str, word: &str| {
        run_sql(place.path(), change);
        let report = ledger.verify().unwrap();
        assert!(report.differences.iter().any(|found| found.contains(word)), "{change}: {report:?}");
    };
    check("UPDATE account SET reserved = 5", "set aside");
    run_sql(place.path(), "UPDATE account SET reserved = 0");
    check("DELETE FROM entry WHERE amount = -10", "entries are there");
    check("UPDATE account SET balance = 71", "balance is 71");
    let nobody = AccountId::from_number(99);
    assert!(ledger.grant(nobody, 1, "", "", noon()) == Err(BooksError::UnknownAccount { account: nobody }));
}
