//! Clients that leave in the middle: they pay for the rows that were written to their connection.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::time::Duration;

use mercato_net::limits::UNSENT_BYTES_MAX;
use rustix::net::{RecvFlags, recv};
use socket2::{Domain, Socket, Type};

use crate::harness::{Ask, MANIFEST, Site, city_columns, wait_until};

const CREDITS: u64 = 1_000_000;
const STREAM: &str = "POST /api/v1/datasets/cities/query/stream";
const DOWNLOAD: &str = "GET /api/v1/datasets/cities/download";

/// A client whose system takes little ahead of what is read.
pub struct Reader {
    stream: TcpStream,
    pub body: Vec<u8>,
}

impl Reader {
    pub fn begin(site: &Site, key: &str, line: &str, headers: &str, body: &str) -> Reader {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.set_recv_buffer_size(16 * 1024).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        socket.connect(&site.address().into()).unwrap();
        let mut stream = TcpStream::from(socket);
        let length = body.len();
        write!(
            stream,
            "{line} HTTP/1.1\r\nHost: x\r\nX-Api-Key: {key}\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
        )
        .unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        assert!(head.starts_with(b"HTTP/1.1 200 "), "{}", String::from_utf8_lossy(&head));
        Reader { stream, body: Vec::new() }
    }

    pub fn read_until(&mut self, enough: impl Fn(&[u8]) -> bool) {
        let mut piece = [0; 4096];
        while !enough(&self.body) {
            let length = self.stream.read(&mut piece).unwrap();
            assert!(length > 0, "the answer ended early");
            self.body.extend_from_slice(&piece[..length]);
        }
    }

    /// Reads on until the server ends the connection.
    pub fn read_to_the_end(&mut self) {
        let mut rest = Vec::new();
        match self.stream.read_to_end(&mut rest) {
            Ok(_) => {}
            Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
        }
        self.body.extend_from_slice(&rest);
    }

    /// The bytes that were read and that wait in the system, once their number no longer grows.
    fn arrived(&self) -> Vec<u8> {
        let mut waiting = vec![0; 1 << 20];
        let mut before = usize::MAX;
        loop {
            std::thread::sleep(Duration::from_millis(150));
            let length = recv(self.stream.as_fd(), &mut waiting[..], RecvFlags::PEEK).unwrap().0;
            if length == before {
                return [&self.body, &waiting[..length]].concat();
            }
            before = length;
        }
    }
}

fn site_with_rows(rows: i64) -> (Site, String) {
    let site = Site::with_cities();
    site.publish("cities", MANIFEST, "1.1.0", &city_columns(rows));
    let key = site.paying_key(CREDITS);
    (site, key)
}

fn charged(site: &Site) -> u64 {
    let ledger = &site.running().app().ledger;
    wait_until("the answer is settled", || ledger.stats().open_reservations == 0);
    CREDITS - ledger.accounts()[0].credits()
}

/// Whole rows in the bytes of a body, its frames among them. `end` stands at the end of each and nowhere else; the names of
/// CSV are no row.
fn rows(body: &[u8], end: &str, names: u64) -> u64 {
    (memchr::memmem::find_iter(body, end).count() as u64).saturating_sub(names)
}

/// What a client that leaves pays beyond the rows that its system has: those that the server's socket has not sent, a segment
/// among them, and the rest of one step of encoding.
fn ahead(body: &[u8], rows: u64) -> u64 {
    let row_bytes = body.len() as u64 / rows.max(1);
    (u64::from(UNSENT_BYTES_MAX) + 64 * 1024) / row_bytes + 512
}

#[track_caller]
fn check_departure(line: &str, accept: &str, end: &str, names: u64) {
    let (site, key) = site_with_rows(20_000);
    let body = if line == STREAM { r#"{"limit": 20000}"# } else { "" };
    let mut reader = Reader::begin(&site, &key, line, &format!("Accept: {accept}\r\n"), body);
    reader.read_until(|body| rows(body, end, names) >= 1_500);
    let arrived = reader.arrived();
    let most = rows(&arrived, end, names);
    drop(reader);
    let charged = charged(&site);
    let bound = most + ahead(&arrived, most);
    assert!(
        (most..=bound).contains(&charged),
        "{accept}: {most} arrived, {charged} charged, {bound} allowed"
    );
    assert!(bound < 10_000, "little is under way: {bound}");
}

#[test]
fn charges_written_rows_of_abandoned_stream() {
    check_departure(STREAM, "text/event-stream", "}\n\n", 0);
    check_departure(STREAM, "application/x-ndjson", "}\n", 0);
    check_departure(STREAM, "text/csv", "Z\r\n", 0);
}

#[test]
fn charges_written_rows_of_abandoned_download() {
    check_departure(DOWNLOAD, "text/csv", "Z\r\n", 0);
    check_departure(DOWNLOAD, "application/json", "}", 0);
    check_departure(DOWNLOAD, "application/x-ndjson", "}\n", 0);
}

/// Pieces of an encoded answer count whole.
#[test]
fn charges_written_pieces_when_encoded() {
    for (line, body) in [(STREAM, r#"{"limit": 100000}"#), (DOWNLOAD, "")] {
        let (site, key) = site_with_rows(100_000);
        let headers = "Accept: application/x-ndjson\r\nAccept-Encoding: gzip\r\n";
        let mut reader = Reader::begin(&site, &key, line, headers, body);
        reader.read_until(|body| decoded_rows(body) >= 5_000);
        let most = decoded_rows(&reader.arrived());
        drop(reader);
        let charged = charged(&site);
        assert!(charged >= most && charged < 60_000, "{charged} charged, {most} arrived");
    }
}

/// Neither a small receive buffer nor an abrupt end, however often, gives rows for nothing.
#[test]
fn sells_nothing_for_nothing_to_clients_that_read_nothing() {
    let (site, key) = site_with_rows(20_000);
    let mut had = 0;
    for _ in 0..6 {
        let reader =
            Reader::begin(&site, &key, STREAM, "Accept: application/x-ndjson\r\n", r#"{"limit": 20000}"#);
        had += rows(&reader.arrived(), "}\n", 0);
        drop(reader);
        let charged = charged(&site);
        assert!(had > 0 && charged >= had, "{had} rows were had for {charged} credits");
    }
}

#[test]
fn uses_up_free_query_of_client_that_leaves() {
    let (site, _) = site_with_rows(20_000);
    let key = site.free_key();
    let left = || {
        let answer = site.send(&Ask::get("/api/v1/account").header("X-Api-Key", &key));
        answer.json()["data"]["freeQueriesRemaining"].as_u64().unwrap()
    };
    for round in 1..=4 {
        let reader = Reader::begin(&site, &key, STREAM, "", r#"{"limit": 100}"#);
        drop(reader);
        charged(&site);
        assert_eq!(left(), 100 - round);
    }
}

/// The rows that can be had of the part of a chunked, encoded body.
fn decoded_rows(mut wire: &[u8]) -> u64 {
    let mut encoded = Vec::new();
    while let Some(at) = wire.windows(2).position(|window| window == b"\r\n") {
        let length = usize::from_str_radix(std::str::from_utf8(&wire[..at]).unwrap(), 16).unwrap();
        let content = &wire[at + 2..];
        encoded.extend_from_slice(&content[..length.min(content.len())]);
        wire = content.get(length + 2..).unwrap_or_default();
    }
    let mut plain = Vec::new();
    // It ends early, which is a failure that comes after everything that can be read.
    let _ = flate2::read::GzDecoder::new(&encoded[..]).read_to_end(&mut plain);
    rows(&plain, "}\n", 0)
}

/// The end of what a client sends is not the end of what it reads.
#[test]
fn streams_everything_to_half_closed_client() {
    // Events end with a comment that ends like a row.
    for (accept, comments) in [("application/x-ndjson", 0), ("text/event-stream", 1)] {
        let (site, key) = site_with_rows(20_000);
        let headers = format!("Accept: {accept}\r\n");
        let mut reader = Reader::begin(&site, &key, STREAM, &headers, r#"{"limit": 20000}"#);
        reader.read_until(|body| rows(body, "}\n", 0) >= 1_500);
        reader.stream.shutdown(Shutdown::Write).unwrap();
        reader.read_until(|body| body.ends_with(b"\r\n\r\n"));
        assert_eq!((rows(&reader.body, "}\n", 0), charged(&site)), (20_000 + comments, 20_000));
    }
}

/// Of an answer that arrives whole nothing is given away, however much of it the buffers took at once.
#[test]
fn charges_completed_stream_in_full() {
    let (site, key) = site_with_rows(20_000);
    let mut reader =
        Reader::begin(&site, &key, STREAM, "Accept: application/x-ndjson\r\n", r#"{"limit": 20000}"#);
    reader.read_until(|body| body.ends_with(b"\r\n\r\n"));
    assert_eq!((rows(&reader.body, "}\n", 0), charged(&site)), (20_000, 20_000));
}
