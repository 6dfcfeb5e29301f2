//! The commands for logins and sessions: same results with and without a running server.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use mercato_base::clock::{Clock, SystemClock};
use mercato_catalog::DataDirectory;
use mercato_ledger::{
    Email, Ledger, LedgerOptions, PasswordHash, RedeemToken, Redeemed, Redemption, SignUp, TokenHash,
};
use mercato_people::Passwords;
use serde_json::Value;

use crate::books::serve;
use crate::cli::{json, refused, run};

const PASSWORD: &str = "correct horse battery";

fn open(folder: &Path) -> Ledger {
    Ledger::open(&DataDirectory::new(folder).ledger(), LedgerOptions::default(), SystemClock.now()).unwrap()
}

fn email() -> Email {
    Email::parse("anna@example.com").unwrap()
}

/// Books with `acc_1`, which a person signed up for, and two sessions of it; `acc_2` has no login.
fn books(folder: &Path) {
    let (ledger, now) = (open(folder), SystemClock.now());
    let hash = PasswordHash::try_from("$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA".to_owned()).unwrap();
    ledger.commit(&SignUp { email: email(), password: hash.clone(), at: now }).unwrap();
    let login = ledger.credentials(&email()).unwrap();
    for random in [1, 2] {
        ledger.open_session(&login, [random; 32], now).unwrap();
    }
    ledger.create_account("Acme", now).unwrap();
}

/// Runs a command with something on its standard input.
fn run_with(folder: &Path, arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_mercato-tools"))
        .current_dir(folder)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that refuses its arguments reads nothing.
    drop(child.stdin.take().unwrap().write_all(input.as_bytes()));
    child.wait_with_output().unwrap()
}

/// Runs all commands; returns the token that resets the password.
fn keep_logins(folder: &Path) -> String {
    let of = |words: &[&'static str]| [words, &["--account", "acc_1", "--data", ".", "--json"]].concat();
    let shown = json(folder, &of(&["account", "show"]));
    assert_eq!((&shown["email"], &shown["emailConfirmedAt"]), (&"anna@example.com".into(), &Value::Null));
    assert_eq!((&shown["sessions"], &shown["name"]), (&2.into(), &"".into()));
    let told = run(folder, &["account", "show", "--account", "acc_1", "--data", "."]);
    let told = String::from_utf8(told.stdout).unwrap();
    assert!(told.contains("e-mail: anna@example.com, not confirmed; 2 sessions open"), "{told}");
    let other = json(folder, &["account", "show", "--account", "acc_2", "--data", ".", "--json"]);
    assert!(other.get("email").is_none() && other.get("sessions").is_none(), "{other}");
    let listed = json(folder, &["account", "list", "--data", ".", "--json"]);
    assert_eq!(listed["accounts"][0]["email"], "anna@example.com");
    assert!(listed["accounts"][1].get("email").is_none());
    let sessions = json(folder, &of(&["account", "sessions"]));
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 2);
    let reset = json(folder, &of(&["account", "reset-password"]));
    assert_eq!((&reset["account"], &reset["email"]), (&"acc_1".into(), &"anna@example.com".into()));
    assert_eq!(json(folder, &of(&["account", "sessions", "--end"]))["ended"], 2);
    assert_eq!(json(folder, &of(&["account", "sessions"]))["sessions"], Value::Array(Vec::new()));
    let no_login = ["account", "reset-password", "--account", "acc_2", "--data", "."];
    refused(folder, &no_login, 1, &["acc_2 has no login"]);
    let made = json(folder, &["account", "create", "--name", "gone", "--data", ".", "--json"]);
    let id = made["id"].as_str().unwrap();
    refused(folder, &["account", "close", "--account", id, "--data", "."], 2, &["--yes"]);
    let close = ["account", "close", "--account", id, "--yes", "--data", ".", "--json"];
    let closed = json(folder, &close);
    assert_eq!((&closed["account"], &closed["credits"]), (&id.into(), &0.into()));
    assert_eq!(json(folder, &close)["closedAt"], closed["closedAt"], "it stays as it was closed");
    let told = run(folder, &["account", "close", "--account", id, "--yes", "--data", "."]);
    assert_eq!(String::from_utf8(told.stdout).unwrap(), format!("{id}: closed, 0 credits left on it\n"));
    reset["token"].as_str().unwrap().to_owned()
}

fn check(folder: &Path, token: &str) {
    let (ledger, now) = (open(folder), SystemClock.now());
    let hash = ledger.credentials(&email()).unwrap().password.clone();
    let token = TokenHash::of_presented(token).unwrap();
    let redeemed =
        ledger.commit(&RedeemToken { token, redemption: Redemption::ResetPassword(hash), at: now }).unwrap();
    assert!(matches!(redeemed, Redeemed::By(_)));
}

#[test]
fn resets_passwords_and_ends_sessions() {
    let alone = tempfile::tempdir().unwrap();
    books(alone.path());
    let token = keep_logins(alone.path());
    check(alone.path(), &token);
    let served = tempfile::tempdir().unwrap();
    books(served.path());
    let running = serve(served.path());
    let token = keep_logins(served.path());
    assert!(running.stop(Duration::from_secs(5)));
    check(served.path(), &token);
}

fn set_password(folder: &Path, input: &str) -> Output {
    run_with(folder, &["account", "reset-password", "--account", "acc_1", "--set", "--data", "."], input)
}

#[test]
fn sets_password_from_standard_input() {
    for is_served in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        books(folder.path());
        let running = is_served.then(|| serve(folder.path()));
        let output = set_password(folder.path(), &format!("{PASSWORD}\nanother line\n"));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let told = String::from_utf8(output.stdout).unwrap();
        assert!(told.contains("acc_1 anna@example.com: the password is set"), "{told}");
        assert!(running.is_none_or(|running| running.stop(Duration::from_secs(5))));
        let ledger = open(folder.path());
        let login = ledger.credentials(&email()).unwrap();
        assert_eq!(Passwords::default().verify(PASSWORD, Some(&login.password)), Ok(true));
        assert!(ledger.sessions(login.account, SystemClock.now()).is_empty());
    }
}

#[test]
fn refuses_weak_passwords_and_password_arguments() {
    let folder = tempfile::tempdir().unwrap();
    books(folder.path());
    for (input, word) in [("short\n", "at least 10"), ("", "at least 10"), ("password123", "common")] {
        let output = set_password(folder.path(), input);
        let reason = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{reason}");
        assert!(reason.contains(word), "{reason}");
    }
    let typed = ["account", "reset-password", "--account", "acc_1", "--set", PASSWORD, "--data", "."];
    refused(folder.path(), &typed, 2, &["unexpected argument"]);
}
