//! Downloads across server crashes: the server is killed repeatedly, and the client resumes after each restart.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use mercato_catalog::DataDirectory;

use crate::{CREDITS, books, open_account, publish_numbers, serve};

const ROWS: i64 = 1_000_000;
/// Much more than the buffers between the server and a client that does not read.
const READ_BYTES: usize = 3_000_000;

#[test]
fn download_resumes_and_is_charged_once_across_kills() {
    let folder = tempfile::tempdir().unwrap();
    let data = DataDirectory::new(folder.path());
    publish_numbers(&data, ROWS);
    let (account, key) = open_account(&data);
    let expected: String = std::iter::once("number\r\n".to_owned())
        .chain((0..ROWS).map(|number| format!("{number}\r\n")))
        .collect();
    let mut got = Vec::new();
    let mut kills = 0;
    while got.len() < expected.len() {
        let durability = if kills % 2 == 0 { "power" } else { "process" };
        let (mut child, address) = serve(folder.path(), durability);
        read_some(address, &key, &mut got);
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
        let ledger = books::open_settled(&data);
        let report = ledger.verify().unwrap();
        assert!(report.is_balanced() && report.open_reservations == 0, "{report:?}");
        let paid = CREDITS - ledger.account(account).unwrap().credits();
        assert!(paid <= ROWS as u64, "{paid}");
    }
    assert!(got == expected.as_bytes() && kills > 1, "{kills} kills");
    let ledger = books::open(&data);
    assert_eq!(CREDITS - ledger.account(account).unwrap().credits(), ROWS as u64);
}

/// Reads on where the client stopped, for some megabytes.
fn read_some(address: SocketAddr, key: &str, got: &mut Vec<u8>) {
    let mut connection = TcpStream::connect(address).unwrap();
    connection.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let range = if got.is_empty() { String::new() } else { format!("Range: bytes={}-\r\n", got.len()) };
    let path = "/api/v1/datasets/numbers/download?format=csv";
    write!(connection, "GET {path} HTTP/1.1\r\nHost: test\r\nX-Api-Key: {key}\r\n{range}\r\n").unwrap();
    let mut wire = Vec::new();
    let mut piece = vec![0; 64 * 1024];
    let head_end = loop {
        let length = connection.read(&mut piece).unwrap();
        assert!(length > 0, "{}", String::from_utf8_lossy(&wire));
        wire.extend_from_slice(piece.get(..length).unwrap());
        if let Some(end) = wire.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
    };
    let head = String::from_utf8_lossy(wire.get(..head_end).unwrap()).into_owned();
    assert!(head.starts_with("HTTP/1.1 20"), "{head}");
    let length: usize =
        head.split("Content-Length: ").nth(1).unwrap().split("\r\n").next().unwrap().parse().unwrap();
    got.extend_from_slice(wire.get(head_end..).unwrap());
    let mut read = wire.len() - head_end;
    while read < length.min(READ_BYTES) {
        let more = connection.read(&mut piece).unwrap();
        assert!(more > 0, "the server broke off before it was killed");
        got.extend_from_slice(piece.get(..more).unwrap());
        read += more;
    }
}
