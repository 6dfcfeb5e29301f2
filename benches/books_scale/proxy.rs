//! A proxy in front of the database that counts what passes: statements, round trips, transactions, bytes each way.

use std::io::{self, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// Counts so far.
#[derive(Default)]
struct Counters {
    statements: AtomicU64,
    round_trips: AtomicU64,
    transactions: AtomicU64,
    sent: AtomicU64,
    received: AtomicU64,
}

/// What passed between two moments.
#[derive(Clone, Copy, Default)]
pub struct Passed {
    pub statements: f64,
    pub round_trips: f64,
    pub transactions: f64,
    /// Bytes to the database, and from it.
    pub sent: f64,
    pub received: f64,
}

/// The running proxy.
pub struct Proxy {
    counters: Arc<Counters>,
    port: u16,
}

impl Proxy {
    /// A proxy in front of the server with this socket.
    pub fn before(socket: PathBuf) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (port, counters) = (listener.local_addr().unwrap().port(), Arc::<Counters>::default());
        let of_thread = Arc::clone(&counters);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let server = UnixStream::connect(&socket).unwrap();
                client.set_nodelay(true).unwrap();
                let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                let counters = Arc::clone(&of_thread);
                thread::spawn(move || {
                    drop(questions(&from, &to, &counters));
                    drop((from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both)));
                });
                let counters = Arc::clone(&of_thread);
                thread::spawn(move || {
                    drop(answers(&server, &client, &counters));
                    drop((client.shutdown(Shutdown::Both), server.shutdown(Shutdown::Both)));
                });
            }
        });
        Proxy { counters, port }
    }

    pub const fn port(&self) -> u16 {
        self.port
    }

    /// What has passed so far.
    pub fn passed(&self) -> Passed {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed) as f64;
        let Counters { statements, round_trips, transactions, sent, received } = &*self.counters;
        Passed {
            statements: read(statements),
            round_trips: read(round_trips),
            transactions: read(transactions),
            sent: read(sent),
            received: read(received),
        }
    }
}

impl Passed {
    /// For one of `operations`, without what passes in idle seconds.
    pub fn each(self, before: Passed, operations: f64, idle: Passed, seconds: f64) -> Passed {
        let each =
            |of: fn(&Passed) -> f64| ((of(&self) - of(&before) - of(&idle) * seconds) / operations).max(0.0);
        Passed {
            statements: each(|passed| passed.statements),
            round_trips: each(|passed| passed.round_trips),
            transactions: each(|passed| passed.transactions),
            sent: each(|passed| passed.sent),
            received: each(|passed| passed.received),
        }
    }
}

fn questions(from: &TcpStream, mut to: &UnixStream, counters: &Counters) -> io::Result<()> {
    let mut from = BufReader::new(from);
    // The first message has no letter.
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let mut rest = vec![0; u32::from_be_bytes(length) as usize - 4];
    from.read_exact(&mut rest)?;
    to.write_all(&[&length, rest.as_slice()].concat())?;
    let mut together = Vec::new();
    loop {
        let message = message(&mut from)?;
        counters.sent.fetch_add(message.len() as u64, Ordering::Relaxed);
        let letter = message.first().copied().unwrap_or_default();
        counters.statements.fetch_add(u64::from(matches!(letter, b'E' | b'Q')), Ordering::Relaxed);
        counters.round_trips.fetch_add(u64::from(matches!(letter, b'S' | b'Q')), Ordering::Relaxed);
        together.extend(message);
        if matches!(letter, b'S' | b'Q' | b'H' | b'X' | b'p') {
            to.write_all(&together)?;
            together.clear();
        }
    }
}

fn answers(from: &UnixStream, mut to: &TcpStream, counters: &Counters) -> io::Result<()> {
    let mut from = BufReader::new(from);
    let mut together = Vec::new();
    loop {
        let message = message(&mut from)?;
        counters.received.fetch_add(message.len() as u64, Ordering::Relaxed);
        // Ready, and in no transaction any more.
        let ends = message.first() == Some(&b'Z') && message.last() == Some(&b'I');
        counters.transactions.fetch_add(u64::from(ends), Ordering::Relaxed);
        together.extend(message);
        if from.buffer().is_empty() {
            to.write_all(&together)?;
            together.clear();
        }
    }
}

/// A whole message, its letter first.
fn message(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = [0; 5];
    from.read_exact(&mut head)?;
    let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
    let mut message = head.to_vec();
    message.resize(length + 1, 0);
    from.read_exact(&mut message[5..])?;
    Ok(message)
}
