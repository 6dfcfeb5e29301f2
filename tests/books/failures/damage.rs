//! Files that were damaged, and what a crash of the store leaves behind: the right balance or a clear refusal.

use std::fs;
use std::path::{Path, PathBuf};

use mercato_ledger::{Ledger, OpenError, StoreError, inspect};

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
    let account = handle(ledger, mercato_ledger::AccountId::from_number(1));
    assert!(ledger.verify().unwrap().is_balanced());
    account.credits()
}

/// The one segment of books that are not large.
fn segment(desk: &Desk) -> PathBuf {
    desk.path().join("log").join("0000000001.log")
}

/// The file of the checkpoint in sled's folder.
fn checkpoint_file(desk: &Desk) -> PathBuf {
    desk.path().join("checkpoint").join("db")
}

#[test]
fn refuses_truncated_log() {
    let length = fs::metadata(segment(&used_books())).unwrap().len();
    for part in 0..16 {
        let desk = used_books();
        let file = fs::File::options().write(true).open(segment(&desk)).unwrap();
        file.set_len(length * part / 16).unwrap();
        assert!(
            right_balance_or_refusal(&desk),
            "the checkpoint holds more than {part} sixteenths of the log"
        );
    }
}

#[test]
fn refuses_missing_log() {
    let desk = used_books();
    fs::remove_file(segment(&desk)).unwrap();
    assert!(right_balance_or_refusal(&desk));
}

#[test]
fn refuses_changed_byte_of_log() {
    let bytes = fs::read(segment(&used_books())).unwrap();
    for place in 0..24 {
        let desk = used_books();
        let mut changed = bytes.clone();
        changed[bytes.len() * place / 24] ^= 0x5a;
        fs::write(segment(&desk), &changed).unwrap();
        assert!(right_balance_or_refusal(&desk), "byte {}", bytes.len() * place / 24);
    }
}

#[test]
fn rebuilds_truncated_checkpoint_from_log() {
    let length = fs::metadata(checkpoint_file(&used_books())).unwrap().len();
    for part in 0..8 {
        let desk = used_books();
        let file = fs::File::options().write(true).open(checkpoint_file(&desk)).unwrap();
        file.set_len(length * part / 8).unwrap();
        assert!(!right_balance_or_refusal(&desk), "{part} eighths");
    }
    let desk = used_books();
    fs::remove_dir_all(desk.path().join("checkpoint")).unwrap();
    assert!(!right_balance_or_refusal(&desk), "the log holds everything");
}

#[test]
fn tolerates_changed_bytes_of_checkpoint() {
    for place in 0..24_usize {
        let desk = used_books();
        let path = checkpoint_file(&desk);
        let mut bytes = fs::read(&path).unwrap();
        // Only where something was written: the rest of the file is free space.
        let used = bytes.iter().rposition(|byte| *byte != 0).unwrap();
        let index = used * place / 24;
        for byte in &mut bytes[index..index + 8] {
            *byte ^= 0x5a;
        }
        fs::write(&path, &bytes).unwrap();
        assert!(!right_balance_or_refusal(&desk), "byte {index}");
    }
}

#[test]
fn refuses_books_of_earlier_version_with_clear_message() {
    let desk = Desk::new();
    fs::create_dir_all(desk.path()).unwrap();
    fs::write(desk.path().join("db"), b"sled").unwrap();
    let refused = desk.try_open().err().unwrap();
    assert!(matches!(refused, OpenError::Store(StoreError::Former { .. })), "{refused}");
    assert!(refused.to_string().contains("earlier version"), "{refused}");
    assert!(!desk.path().join("log").exists(), "nothing is changed");
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
fn recovers_from_crash_during_opening() {
    let desk = used_books();
    drop(desk.open());
    let folder = desk.path().join("checkpoint");
    let snapshot = find(&folder, "snap.").expect("sled writes a snapshot when it opens");
    fs::write(folder.join("snap.00000000FFFFFFFF.generating"), b"half a snapshot").unwrap();
    assert_eq!(balance(&desk.open()), 10_000 - CHARGES);
    let snapshot = find(&folder, "snap.").unwrap_or(snapshot);
    let bytes = fs::read(&snapshot).unwrap();
    fs::write(&snapshot, &bytes[..bytes.len() / 2]).unwrap();
    assert_eq!(balance(&desk.open()), 10_000 - CHARGES, "the log has everything that a snapshot has");
}

#[test]
fn refuses_second_program_while_books_are_open() {
    let desk = Desk::new();
    let ledger = desk.open();
    let refused = desk.try_open().err().unwrap();
    assert!(matches!(refused, OpenError::Store(StoreError::Locked { .. })), "{refused}");
    drop(ledger);
    desk.try_open().unwrap();
}

#[test]
fn refuses_older_copy_of_log() {
    let desk = Desk::new();
    let ledger = desk.open();
    let account = customer(&ledger, 100);
    drop(ledger);
    let older = fs::read(segment(&desk)).unwrap();
    let ledger = desk.open();
    charge(&ledger, &handle(&ledger, account.id()), 60, noon()).unwrap();
    drop(ledger);
    fs::write(segment(&desk), older).unwrap();
    let refused = desk.try_open().err().unwrap();
    assert!(matches!(refused, OpenError::Behind { expected: 3, found: 2, .. }), "{refused}");
}

#[test]
fn replays_log_onto_older_checkpoint() {
    let desk = Desk::new();
    let ledger = desk.open();
    let account = customer(&ledger, 100);
    drop(ledger);
    let (checkpoint, copy) = (desk.path().join("checkpoint"), desk.path().with_file_name("copy"));
    copy_folder(&checkpoint, &copy);
    let ledger = desk.open();
    charge(&ledger, &handle(&ledger, account.id()), 60, noon()).unwrap();
    drop(ledger);
    fs::remove_dir_all(&checkpoint).unwrap();
    copy_folder(&copy, &checkpoint);
    assert_eq!(balance(&desk.open()), 40);
}

#[test]
fn inspects_balanced_books() {
    let report = inspect(&used_books().path()).unwrap();
    assert!(report.is_balanced(), "{report:?}");
    assert_eq!((report.entries, report.accounts, report.credits), (CHARGES + 1, 1, 10_000 - CHARGES));
}

fn find(folder: &Path, prefix: &str) -> Option<PathBuf> {
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
fn opens_books_despite_concurrent_child_processes() {
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
