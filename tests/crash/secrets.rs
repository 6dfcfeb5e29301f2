//! Plain API keys and tokens appear in no file, no row of a database and no log line.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};

use mercato_base::clock::{Clock, SystemClock};
use mercato_catalog::DataDirectory;
use mercato_ledger::{AccountId, Email, PasswordHash, SignUp};

use super::schema::are_in_files;
use super::{SERVER_FLAGS, books, open_account, publish_numbers};

#[test]
fn plain_key_is_never_stored_or_logged() {
    let folder = tempfile::tempdir().unwrap();
    let data = DataDirectory::new(folder.path());
    publish_numbers(&data, 1_000);
    let (_, key) = open_account(&data);
    let person = sign_up(&data);
    let mut child = Command::new(env!("CARGO_BIN_EXE_mercato"))
        .args(SERVER_FLAGS)
        .args(books::flags(folder.path()))
        .arg("--data")
        .arg(folder.path())
        .env("RUST_LOG", "trace")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut log = Vec::new();
    // The database's client has much to say before.
    let listening: serde_json::Value = loop {
        let mut line = Vec::new();
        assert!(output.read_until(b'\n', &mut line).unwrap() > 0, "the server ended before it listened");
        log.extend_from_slice(&line);
        match serde_json::from_slice::<serde_json::Value>(&line).unwrap() {
            event if event.get("admin").is_some() => break event,
            _ => {}
        }
    };
    let address = |name: &str| listening.get(name).unwrap().as_str().unwrap().parse().unwrap();
    let (public, admin): (SocketAddr, SocketAddr) = (address("address"), address("admin"));
    for (target, header) in [
        ("/api/v1/account", format!("X-Api-Key: {key}")),
        ("/api/v1/account", format!("X-Api-Key: {key}x")),
        ("/api/v1/account", format!("Authorization: Bearer {key}")),
        (format!("/api/v1/account?key={key}").as_str(), format!("X-Api-Key: {key}")),
        (format!("/api/v1/datasets/{key}").as_str(), format!("X-Api-Key: {key}")),
    ] {
        ask(public, target, &header);
    }
    let token = std::fs::read_to_string(data.admin_token()).unwrap();
    ask(admin, "/metrics", &format!("Authorization: Bearer {}", token.trim()));
    let command = format!("{{\"command\":\"resetPassword\",\"account\":\"{person}\"}}");
    let reset = execute_at(admin, token.trim(), &command);
    let reset = reset.pointer("/data/token").unwrap().as_str().unwrap();
    assert!(Command::new("kill").args(["-s", "TERM", &child.id().to_string()]).status().unwrap().success());
    output.read_to_end(&mut log).unwrap();
    child.stderr.take().unwrap().read_to_end(&mut log).unwrap();
    child.wait().unwrap();
    assert!(contains(&log, b"/api/v1/account"), "the search must find what is there");
    // Not even the part after the characters that are shown.
    let secret = &key.as_bytes()[9..25];
    assert!(!contains(&log, secret), "{}", String::from_utf8_lossy(&log));
    assert!(!contains(&log, token.trim().as_bytes()));
    assert!(!contains(&log, reset.as_bytes()));
    for secret in [secret, reset.as_bytes()] {
        assert_no_file_holds(folder.path(), secret);
        assert!(are_in_files() || !contains(books::rows(folder.path()).as_bytes(), secret));
    }
}

/// An account with a login; returns its id.
fn sign_up(data: &DataDirectory) -> AccountId {
    let now = SystemClock.now();
    let ledger = books::open(data);
    let hash = PasswordHash::try_from("$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA".to_owned()).unwrap();
    let email = Email::parse("person@example.com").unwrap();
    ledger.commit(&SignUp { email: email.clone(), password: hash.clone(), at: now }).unwrap();
    ledger.credentials(&email).unwrap().account
}

/// The answer of the operator's listener to a command.
fn execute_at(admin: SocketAddr, token: &str, command: &str) -> serde_json::Value {
    let mut connection = TcpStream::connect(admin).unwrap();
    write!(
        connection,
        "POST /admin/v1/commands HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{command}",
        command.len()
    )
    .unwrap();
    let mut answer = Vec::new();
    connection.read_to_end(&mut answer).unwrap();
    let body = answer.windows(4).position(|window| window == b"\r\n\r\n").unwrap() + 4;
    serde_json::from_slice(answer.get(body..).unwrap()).unwrap()
}

fn ask(address: SocketAddr, target: &str, header: &str) {
    let mut connection = TcpStream::connect(address).unwrap();
    write!(connection, "GET {target} HTTP/1.1\r\nHost: localhost\r\n{header}\r\nConnection: close\r\n\r\n")
        .unwrap();
    drop(connection.read_to_end(&mut Vec::new()));
}

fn assert_no_file_holds(folder: &Path, secret: &[u8]) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            assert_no_file_holds(&path, secret);
        } else if path.is_file() {
            assert!(!contains(&std::fs::read(&path).unwrap(), secret), "{}", path.display());
        }
    }
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}
