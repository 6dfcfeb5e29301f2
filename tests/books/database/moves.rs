//! Whole books from a database into files and back: the same answers, the same sums, and nothing in between that opens.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use mercato_database::DatabaseAddress;
use mercato_ledger::{
    AccountHandle, AccountId, BooksPlace, Change, ChargeRequest, ClaimKind, CloseAccount, ConfirmEmail,
    CounterNote, CounterSubject, HistoryQuery, KeyLimits, Ledger, LedgerOptions, LimitsChange, MoveError,
    MoveStep, MovedBooks, OpenError, PaidCheckout, Pending, PurchasesQuery, RedeemToken, Redeemed,
    Redemption, Relation, RelationKey, Reversed, SignUp, SignedUp, TokenPurpose, UsageQuery, inspect,
    move_books,
};
use proptest::prelude::*;

use super::{Place, run_sql};
use crate::desk::{address_of, charge, claimed, customer, download, handle, noon, page, stream};
use crate::histories::step;
use crate::logins::world::{email, password};
use crate::payments::{ask, payment_of, refunded, tell};
use crate::world::World;

fn carry(from: &BooksPlace, to: &BooksPlace) -> Result<MovedBooks, MoveError> {
    move_books(from, to, noon(), |_| ())
}

fn folder(path: &Path) -> BooksPlace {
    BooksPlace::Folder(path.join("files"))
}

fn database(address: DatabaseAddress) -> BooksPlace {
    BooksPlace::Database(Box::new(address))
}

fn open_files(place: &BooksPlace) -> Result<Ledger, OpenError> {
    let BooksPlace::Folder(path) = place else { panic!() };
    Ledger::open(path, LedgerOptions::default(), noon())
}

#[track_caller]
fn refusal(moved: Result<MovedBooks, MoveError>) -> String {
    moved.unwrap_err().to_string()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..crate::histories::histories() })]

    #[test]
    #[ignore = "needs PostgreSQL: tests/books/postgres.sh"]
    fn agrees_with_plain_model_after_moves(steps in prop::collection::vec((step(), 0..20), 1..60)) {
        let mut world = World::new();
        for (step, moves) in &steps {
            world.take(step);
            world.compare();
            if *moves == 0 {
                world.relocate(there_and_back);
                world.compare();
            }
        }
        world.relocate(there_and_back);
        world.compare();
        world.finish();
    }
}

/// Moves the books of one schema into files, and those into another schema.
fn there_and_back(from: &Path, to: &Path) {
    let between = tempfile::tempdir().unwrap();
    let out = carry(&database(address_of(from)), &folder(between.path())).unwrap();
    let back = carry(&folder(between.path()), &database(address_of(to))).unwrap();
    assert_eq!(out, back);
}

/// Books with something of every kind.
fn fill(ledger: &Ledger) {
    let now = noon();
    let [rich, poor, closed] = [1_000, 0, 50].map(|credits| customer(ledger, credits));
    let key = ledger.create_key(rich.id(), "main", [1; 32], now).unwrap();
    let gone = ledger.create_key(rich.id(), "gone", [2; 32], now).unwrap();
    ledger.revoke_key(gone.view.id, now).unwrap();
    ledger.rotate_key(key.view.id, "next", 3_600, [3; 32], now).unwrap();
    let limits = KeyLimits {
        credits_per_day: Some(500),
        datasets: ["orders".to_owned()].into(),
        ..KeyLimits::default()
    };
    let capped = ledger.create_limited_key(rich.id(), "capped", [4; 32], limits, now).unwrap();
    let change = LimitsChange { credits_per_month: Change::Set(900), ..LimitsChange::default() };
    ledger.limit_key(capped.view.id, &change, now).unwrap();
    for account in [&rich, &poor] {
        charge(ledger, account, 20, now).unwrap();
        let with_claim = ChargeRequest { claim: claimed("first", "{}"), ..page(account, 5, now) };
        ledger.charge(&with_claim).and_then(Pending::durable).unwrap();
    }
    let with_key = ChargeRequest { key: Some(capped.view.id), ..page(&rich, 30, now.plus_seconds(90_000)) };
    ledger.charge(&with_key).and_then(Pending::durable).unwrap();
    ledger.sell_part(&download(&rich, 40, now)).and_then(Pending::durable).unwrap();
    let given_back = charge(ledger, &rich, 7, now).unwrap();
    ledger.refund(given_back, now).and_then(Pending::durable).unwrap();
    let held = ledger.reserve(&stream(&rich, 100, now)).unwrap();
    held.settle(33, now).and_then(Pending::durable).unwrap();
    let SignedUp::Created(person) =
        ledger.commit(&SignUp { email: email(1), password: password(1), at: now }).unwrap()
    else {
        panic!()
    };
    ledger.commit(&ConfirmEmail { account: person, at: now }).unwrap();
    ledger.open_session(&ledger.login(person).unwrap(), [7; 32], now).unwrap();
    ledger.issue_token(person, TokenPurpose::ResetPassword, [8; 32], now).unwrap();
    let SignedUp::Created(leaver) =
        ledger.commit(&SignUp { email: email(2), password: password(2), at: now }).unwrap()
    else {
        panic!()
    };
    charge(ledger, &handle(ledger, leaver), 1, now).unwrap();
    ledger.commit(&CloseAccount { account: leaver, at: now }).unwrap();
    ledger.commit(&CloseAccount { account: closed.id(), at: now.plus_seconds(5) }).unwrap();
    let checkouts = [1_000, 2_000].map(|credits| ask(ledger, poor.id(), credits, credits / 2, now).unwrap());
    let paid = ledger.commit(&payment_of(&checkouts[0], "pi_1")).unwrap();
    assert!(matches!(paid, PaidCheckout::Granted { .. }));
    assert!(matches!(tell(ledger, "pi_1", refunded(100)), Reversed::Settled { .. }));
    assert_eq!(tell(ledger, "pi_unknown", refunded(100)), Reversed::Kept);
    for to in ["b", "c"] {
        let key = RelationKey { from: "a".to_owned(), to: to.to_owned(), relation_type: "same".to_owned() };
        ledger.add_relation(Relation { key, description: to.to_owned(), weight: 0.5, at: now }).unwrap();
    }
    ledger.remove_relations("a", "c", None, now).unwrap();
    let subjects = [CounterSubject::Key(key.view.id), CounterSubject::Address([9; 16])];
    let notes =
        subjects.map(|subject| CounterNote { subject, day: now.plus_seconds(90_000).day(), count: 77 });
    ledger.note_counters(&notes).unwrap();
}

/// Every answer that books give, as text.
fn answers(ledger: &Ledger) -> Vec<String> {
    let now = noon().plus_seconds(90_060);
    let mut answers = Vec::new();
    let mut accounts = ledger.accounts();
    accounts.sort_by_key(AccountHandle::id);
    for account in &accounts {
        let id = account.id();
        answers.push(format!("{:?}", ledger.account_view(account, now)));
        let login = ledger
            .login(id)
            .map(|login| (login.account, login.email.as_str().to_owned(), login.confirmed_at));
        answers.push(format!("{login:?} {:?}", ledger.sessions(id, now)));
        let usage = UsageQuery { account: id, days: 30, key: None, by_key: true };
        answers.push(format!("{:?}", ledger.usage(&usage, now).unwrap()));
        let history =
            HistoryQuery { account: id, created_at: noon(), only_credited: true, before: None, limit: 100 };
        answers.push(format!("{:?}", ledger.history(&history).unwrap()));
        for key in ledger.keys(id) {
            let caps = ledger.cap_standings(id, key.id, &key.limits, now).unwrap();
            answers.push(format!("{caps:?}"));
        }
        let claims: Vec<_> = claimed("first", "{}").into_iter().collect();
        answers.push(format!("{:?}", ledger.paid_among(account, ClaimKind::Rows, &claims, noon())));
    }
    answers.push(format!("{:?}", ledger.entries(None, 1, 10_000).unwrap()));
    answers.push(format!(
        "{:?}",
        ledger.purchases(&PurchasesQuery { account: None, before: None, limit: 100 }).unwrap()
    ));
    answers.push(format!("{:?}", ledger.relations().all()));
    let mut counters: Vec<String> =
        ledger.counters().unwrap().iter().map(|note| format!("{note:?}")).collect();
    counters.sort();
    answers.extend(counters);
    answers.push(format!("{:?}", ledger.verify().unwrap()));
    answers
}

#[track_caller]
fn compare(found: &[String], expected: &[String]) {
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!(found, expected);
    }
    assert_eq!(found.len(), expected.len());
}

/// Goes on where the former books ended.
fn go_on(ledger: &Ledger) {
    let now = noon().plus_seconds(90_060);
    let rich = ledger.accounts().into_iter().find(|account| account.id().number() == 1).unwrap();
    let again = ChargeRequest { claim: claimed("first", "{}"), ..page(&rich, 5, noon()) };
    assert!(ledger.charge(&again).and_then(Pending::durable).unwrap().replayed);
    let part = ledger.sell_part(&download(&rich, 40, noon())).and_then(Pending::durable).unwrap();
    assert_eq!(part.charged, 0, "the download was paid before");
    assert_eq!(
        ledger.commit(&SignUp { email: email(1), password: password(1), at: now }),
        Ok(SignedUp::EmailTaken)
    );
    let reset = Redemption::ResetPassword(password(9));
    let token = mercato_ledger::PlainToken::from_random([8; 32]).hash();
    assert!(matches!(
        ledger.commit(&RedeemToken { token, redemption: reset.clone(), at: noon() }),
        Ok(Redeemed::By(_))
    ));
    let known: Vec<AccountId> = ledger.accounts().iter().map(AccountHandle::id).collect();
    let new = customer(ledger, 10);
    assert!(!known.contains(&new.id()));
    let last = ledger.verify().unwrap().last_sequence;
    charge(ledger, &new, 10, now).unwrap();
    let report = ledger.verify().unwrap();
    assert!(report.is_balanced() && report.last_sequence > last, "{report:?}");
    let key = ledger.create_key(new.id(), "", [5; 32], now).unwrap();
    assert_eq!(ledger.find_key(&key.plain.hash()).unwrap().account().id(), new.id());
    assert_eq!(ask(ledger, new.id(), 10, 5, now).unwrap().id.number(), 3);
}

#[test]
#[ignore = "needs PostgreSQL: tests/books/postgres.sh"]
fn gives_same_answers_after_moves() {
    let (first, last) = (Place::new(), Place::new());
    let files = folder(first.path());
    let ledger = first.open();
    fill(&ledger);
    let expected = answers(&ledger);
    drop(ledger);
    let out = carry(&database(first.address()), &files).unwrap();
    let ledger = open_files(&files).unwrap();
    compare(&answers(&ledger), &expected);
    drop(ledger);
    assert_eq!(carry(&files, &database(last.address())).unwrap(), out);
    let ledger = last.open();
    compare(&answers(&ledger), &expected);
    go_on(&ledger);
    go_on(&open_files(&files).unwrap());
}

#[test]
#[ignore = "needs PostgreSQL: tests/books/postgres.sh"]
fn settles_open_reservations_of_source_first() {
    let (first, last) = (Place::new(), Place::new());
    let files = folder(first.path());
    let ledger = first.open();
    let account = customer(&ledger, 100);
    let held = ledger.reserve(&stream(&account, 80, noon())).unwrap();
    held.delivered(20, noon());
    // The process ends while the stream runs: nothing tells the books but the last note.
    std::mem::forget(held);
    drop(ledger);
    assert_eq!(carry(&database(first.address()), &files).unwrap().credits, 80);
    let ledger = open_files(&files).unwrap();
    let held = ledger.reserve(&stream(&handle(&ledger, account.id()), 80, noon())).unwrap();
    held.delivered(30, noon());
    std::mem::forget(held);
    drop(ledger);
    assert_eq!(carry(&files, &database(last.address())).unwrap().credits, 50);
    assert!(last.open().verify().unwrap().is_balanced());
}

#[test]
#[ignore = "needs PostgreSQL: tests/books/postgres.sh"]
fn keeps_numbers_of_entries_across_gaps() {
    let (first, last) = (Place::new(), Place::new());
    let files = folder(first.path());
    let ledger = first.open();
    let account = customer(&ledger, 100);
    for number in [90, 700, 90_000, 5_000_000, 5_000_040] {
        run_sql(first.path(), &format!("SELECT setval('entry_number', {number})"));
        (0..3).for_each(|_| drop(charge(&ledger, &account, 1, noon()).unwrap()));
    }
    let entries = ledger.entries(None, 1, 100).unwrap();
    drop(ledger);
    carry(&database(first.address()), &files).unwrap();
    let BooksPlace::Folder(path) = &files else { panic!() };
    // The log alone makes the books again.
    std::fs::remove_dir_all(path.join("checkpoint")).unwrap();
    assert!(inspect(path).unwrap().is_balanced());
    let ledger = open_files(&files).unwrap();
    assert_eq!(ledger.entries(None, 1, 100).unwrap(), entries);
    charge(&ledger, &handle(&ledger, account.id()), 1, noon()).unwrap();
    drop(ledger);
    carry(&files, &database(last.address())).unwrap();
    assert_eq!(last.open().entries(None, 1, 16).unwrap().0, entries.0);
}

#[test]
#[ignore = "needs PostgreSQL: tests/books/postgres.sh"]
fn refuses_places_that_are_open_or_hold_books() {
    let (first, last) = (Place::new(), Place::new());
    let (files, other) = (folder(first.path()), folder(last.path()));
    let empty = refusal(carry(&files, &database(last.address())));
    assert!(empty.contains("there are no books"), "{empty}");
    let ledger = first.open();
    let account = customer(&ledger, 10);
    let open = refusal(carry(&database(first.address()), &files));
    assert!(open.contains("are open"), "{open}");
    drop(ledger);
    let open = last.open();
    let refused = refusal(carry(&database(first.address()), &database(last.address())));
    assert!(refused.contains("are open"), "{refused}");
    drop(open);
    drop(last.open());
    carry(&database(first.address()), &files).unwrap();
    for target in [files.clone(), database(first.address())] {
        let refused = refusal(carry(&files, &target));
        assert!(refused.contains("books already"), "{refused}");
    }
    let locked = open_files(&files).unwrap();
    let refused = refusal(carry(&files, &other));
    assert!(refused.contains("another program has the books open"), "{refused}");
    drop(locked);
    assert_eq!(carry(&files, &other).unwrap().credits, 10);
    let ledger = first.open();
    charge(&ledger, &handle(&ledger, account.id()), 1, noon()).unwrap();
}

#[test]
#[ignore = "needs PostgreSQL: tests/books/postgres.sh"]
fn opens_no_target_of_interrupted_move() {
    let (first, last) = (Place::new(), Place::new());
    let files = folder(first.path());
    let ledger = first.open();
    fill(&ledger);
    drop(ledger);
    let interrupt = |from: &BooksPlace, to: &BooksPlace| {
        let stop = |step| {
            if matches!(step, MoveStep::Comparing(..)) {
                panic!("interrupted")
            }
        };
        assert!(catch_unwind(AssertUnwindSafe(|| move_books(from, to, noon(), stop))).is_err());
    };
    interrupt(&database(first.address()), &files);
    let BooksPlace::Folder(path) = &files else { panic!() };
    assert!(!path.exists() && path.with_extension("moving").is_dir());
    let out = carry(&database(first.address()), &files).unwrap();
    interrupt(&files, &database(last.address()));
    match Ledger::open_database(&last.address(), noon()) {
        Err(error @ OpenError::Unfinished) => assert!(error.to_string().contains("books move"), "{error}"),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it opened"),
    }
    assert_eq!(carry(&files, &database(last.address())).unwrap(), out);
    assert!(last.open().verify().unwrap().is_balanced());
}

#[test]
#[ignore = "needs PostgreSQL: tests/books/postgres.sh"]
fn moves_nothing_when_source_is_opened_meanwhile() {
    let first = Place::new();
    let files = folder(first.path());
    let ledger = first.open();
    let account = customer(&ledger, 10).id();
    drop(ledger);
    let spend = |step| {
        if matches!(step, MoveStep::Comparing(0, _)) {
            let ledger = first.open();
            charge(&ledger, &handle(&ledger, account), 4, noon()).unwrap();
        }
    };
    let refused = refusal(move_books(&database(first.address()), &files, noon(), spend));
    assert!(refused.contains("meanwhile"), "{refused}");
    let BooksPlace::Folder(path) = &files else { panic!() };
    assert!(!path.exists());
    assert_eq!(carry(&database(first.address()), &files).unwrap().credits, 6);
}

#[test]
#[ignore = "needs PostgreSQL: tests/books/postgres.sh"]
fn finds_copy_that_differs() {
    let (first, last) = (Place::new(), Place::new());
    let ledger = first.open();
    fill(&ledger);
    drop(ledger);
    // A trigger of the target changes what is written.
    run_sql(
        last.path(),
        "CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.rows := NEW.rows + 1; RETURN NEW; END $$; \
         CREATE TRIGGER spoil BEFORE INSERT ON usage FOR EACH ROW EXECUTE FUNCTION spoil()",
    );
    let refused = refusal(carry(&database(first.address()), &database(last.address())));
    assert!(refused.contains("records of kind `U`"), "{refused}");
    assert!(matches!(Ledger::open_database(&last.address(), noon()), Err(OpenError::Unfinished)));
}
