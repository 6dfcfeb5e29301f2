//! Files that were damaged, and what a crash of the store leaves behind: the right balance or a clear refusal.

use std::fs;
use std::path::Path;

use mercato::ledger::{Ledger, OpenError, StoreError, inspect};

use crate::desk::{Desk, charge, customer, handle, noon};

const CHARGES: u64 = 400;

/// Books with a purchase of 10,000 credits and 400 charges of one, closed.
fn used_books() -> Desk {
    let desk = Desk::new();
    let ledger = desk.open();
    let account = customer(&ledger, 10_000);
    for _ in 0..CHARGES {
        charge(&ledger, &account, 1, noon()).unwrap();
    }
    drop(ledger);
    desk
}

fn balance(ledger: &Ledger) -> u64 {
    let account = handle(ledger, mercato::ledger::AccountId::from_number(1));
    assert!(ledger.verify().unwrap().is_balanced());
    account.credits()
}

#[test]
fn a_store_that_lost_its_end_is_refused() {
    let length = fs::metadata(used_books().path().join("db")).unwrap().len();
    let mut refused = 0;
    for part in 0..16 {
        let desk = used_books();
        // What it held is long overwritten in books that are in use.
        fs::remove_file(desk.path().join("journal")).unwrap();
        let file = fs::File::options().write(true).open(desk.path().join("db")).unwrap();
        file.set_len(length * part / 16).unwrap();
        refused += usize::from(right_balance_or_refusal(&desk));
    }
    assert!(refused >= 8, "{refused}: cutting half of the file away cannot go unnoticed");
}

#[test]
fn what_the_journal_still_holds_makes_up_for_a_lost_end() {
    let length = fs::metadata(used_books().path().join("db")).unwrap().len();
    let desk = used_books();
    let file = fs::File::options().write(true).open(desk.path().join("db")).unwrap();
    file.set_len(length / 2).unwrap();
    right_balance_or_refusal(&desk);
    let bytes = fs::read(desk.path().join("journal")).unwrap();
    for part in 0..16 {
        let desk = used_books();
        fs::write(desk.path().join("journal"), &bytes[..bytes.len() * part / 16]).unwrap();
        assert!(!right_balance_or_refusal(&desk), "the books hold everything without it");
    }
}

#[test]
fn a_changed_byte_is_refused_or_harmless() {
    let mut refused = 0;
    for place in 0..24_u64 {
        let desk = used_books();
        // What it held is long overwritten in books that are in use.
        fs::remove_file(desk.path().join("journal")).unwrap();
        let path = desk.path().join("db");
        let mut bytes = fs::read(&path).unwrap();
        // Only where something was written: the rest of the file is free space.
        let used = bytes.iter().rposition(|byte| *byte != 0).unwrap() as u64;
        let index = (used * place / 24) as usize;
        for byte in &mut bytes[index..index + 8] {
            *byte ^= 0x5a;
        }
        fs::write(&path, &bytes).unwrap();
        refused += usize::from(right_balance_or_refusal(&desk));
    }
    assert!(refused >= 4, "{refused}");
}

/// Whether the books were refused; if not, they must be the right ones.
fn right_balance_or_refusal(desk: &Desk) -> bool {
    match desk.try_open() {
        Ok(ledger) => {
            assert_eq!(balance(&ledger), 10_000 - CHARGES, "a wrong balance is worse than no answer");
            false
        }
        Err(error) => {
            let text = error.to_string();
            assert!(text.contains("ledger") && text.contains("restore"), "names place and remedy: {text}");
            assert!(!text.contains('\n'), "{text}");
            true
        }
    }
}

#[test]
fn what_a_crash_during_opening_leaves_behind_is_cured() {
    let desk = used_books();
    drop(desk.open());
    let snapshot = find(&desk.path(), "snap.").expect("sled writes a snapshot when it opens");
    fs::write(desk.path().join("snap.00000000FFFFFFFF.generating"), b"half a snapshot").unwrap();
    assert_eq!(balance(&desk.open()), 10_000 - CHARGES);
    let snapshot = find(&desk.path(), "snap.").unwrap_or(snapshot);
    let bytes = fs::read(&snapshot).unwrap();
    fs::write(&snapshot, &bytes[..bytes.len() / 2]).unwrap();
    assert_eq!(balance(&desk.open()), 10_000 - CHARGES, "the log has everything that a snapshot has");
}

#[test]
fn a_second_program_is_refused_while_the_books_are_open() {
    let desk = Desk::new();
    let ledger = desk.open();
    let refused = desk.try_open().err().unwrap();
    assert!(matches!(refused, OpenError::Store(StoreError::Locked { .. })), "{refused}");
    drop(ledger);
    desk.try_open().unwrap();
}

#[test]
fn an_older_copy_of_the_store_is_refused() {
    let desk = Desk::new();
    let ledger = desk.open();
    let account = customer(&ledger, 100);
    drop(ledger);
    let copy = desk.path().with_file_name("copy");
    copy_folder(&desk.path(), &copy);
    let ledger = desk.open();
    charge(&ledger, &handle(&ledger, account.id()), 60, noon()).unwrap();
    drop(ledger);
    fs::remove_file(desk.path().join("journal")).unwrap();
    for name in ["db", "conf"] {
        fs::copy(copy.join(name), desk.path().join(name)).unwrap();
    }
    for entry in fs::read_dir(desk.path()).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.file_name().unwrap().to_string_lossy().starts_with("snap.") {
            fs::remove_file(entry).unwrap();
        }
    }
    let refused = desk.try_open().err().unwrap();
    assert!(matches!(refused, OpenError::Behind { expected: 2, found: 1, .. }), "{refused}");
}

#[test]
fn an_inspection_finds_books_that_balance() {
    let report = inspect(&used_books().path()).unwrap();
    assert!(report.is_balanced(), "{report:?}");
    assert_eq!((report.entries, report.accounts, report.credits), (CHARGES + 1, 1, 10_000 - CHARGES));
}

fn find(folder: &Path, prefix: &str) -> Option<std::path::PathBuf> {
    let mut paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.find(|path| path.is_file() && path.file_name().unwrap().to_string_lossy().starts_with(prefix))
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for path in fs::read_dir(from).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file()) {
        fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
    }
}

/// Between fork and exec a child has every file of its parent open, the locked ones too.
#[test]
fn children_that_are_started_meanwhile_do_not_keep_the_books_locked() {
    let desk = Desk::new();
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                std::process::Command::new("true").status().unwrap();
            }
        });
        for _ in 0..60 {
            let opened = desk.try_open().map(drop);
            is_over.store(opened.is_err(), std::sync::atomic::Ordering::Relaxed);
            opened.unwrap();
        }
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}
