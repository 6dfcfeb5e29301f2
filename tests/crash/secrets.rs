//! Plain API keys appear in no file and in no log line.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};

use mercato::catalog::DataDirectory;

use super::{SERVER_FLAGS, open_account, publish_numbers};

#[test]
fn plain_key_is_never_stored_or_logged() {
    let folder = tempfile::tempdir().unwrap();
    let data = DataDirectory::new(folder.path());
    publish_numbers(&data, 1_000);
    let (_, key) = open_account(&data);
    let mut child = Command::new(env!("CARGO_BIN_EXE_mercato"))
        .args(SERVER_FLAGS)
        .arg("--data")
        .arg(folder.path())
        .env("RUST_LOG", "trace")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut log = Vec::new();
    output.read_until(b'\n', &mut log).unwrap();
    let listening: serde_json::Value = serde_json::from_slice(&log).unwrap();
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
    assert!(Command::new("kill").args(["-s", "TERM", &child.id().to_string()]).status().unwrap().success());
    output.read_to_end(&mut log).unwrap();
    child.stderr.take().unwrap().read_to_end(&mut log).unwrap();
    child.wait().unwrap();
    assert!(contains(&log, b"/api/v1/account"), "the search must find what is there");
    // Not even the part after the characters that are shown.
    let secret = &key.as_bytes()[9..25];
    assert!(!contains(&log, secret), "{}", String::from_utf8_lossy(&log));
    assert!(!contains(&log, token.trim().as_bytes()));
    assert_no_file_holds(folder.path(), secret);
}

fn ask(address: SocketAddr, target: &str, header: &str) {
    let mut connection = TcpStream::connect(address).unwrap();
    write!(connection, "GET {target} HTTP/1.1\r\nHost: test\r\n{header}\r\nConnection: close\r\n\r\n")
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
