//! What the guard costs: the same answers from tiny_http alone and from tiny_http behind the guard.
//!
//! Client and server share the process, so CPU times hold both; the difference between two lines is the guard.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a measurement may fail loudly")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use mercato::edge::{EdgeLimits, Guard, GuardParts, ListenAddress, PoolPlan, PrivateDoor};
use mercato::limits::edge::OUTLET_HEADER;
use mercato::outlets::{ClaimWriter, Outlets, put_out};
use socket2::{Domain, Socket, Type};

const WORKERS: usize = 64;
const REQUESTS: usize = 40_000;
const LARGE_BODY_BYTES: usize = 2 << 30;

fn main() {
    let alone = start_alone();
    let (guard, guarded) = start_guarded();
    println!("| answer | connections | server | p50 µs | p99 µs | requests/s | CPU µs/request |");
    println!("|---|---|---|---|---|---|---|");
    for target in ["/200", "/36000"] {
        for connections in [1, 16, 64] {
            for (name, address) in [("tiny_http", alone), ("guard", guarded)] {
                let line = measure(address, target, connections);
                println!("| {target} B | {connections} | {name} | {line} |");
            }
        }
    }
    for (name, address) in [("tiny_http", alone), ("guard", guarded)] {
        println!("a body of 2 GiB from {name}: {:.0} MB/s", download(address));
    }
    guard.drain(Instant::now() + Duration::from_secs(1));
}

/// Workers that answer like those of the server: what has a claim goes to the client, the rest back where it came from.
fn serve(server: &Arc<tiny_http::Server>, outlets: &Arc<Outlets>) {
    for _ in 0..WORKERS {
        let (server, outlets) = (Arc::clone(server), Arc::clone(outlets));
        thread::spawn(move || {
            while let Ok(request) = server.recv() {
                let length: usize = request.url()[1..].parse().unwrap_or(0);
                let is_proof = request.url() == "/";
                let offer = request.headers().iter().find(|header| header.field.equiv(OUTLET_HEADER));
                let claim = offer.and_then(|offer| outlets.claim(offer.value.as_str()));
                let mut writer = request.into_writer();
                if is_proof {
                    drop(writer.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").and_then(|()| writer.flush()));
                    continue;
                }
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
                let piece = vec![b'a'; length.min(256 * 1024)];
                let first = [head.as_bytes(), &piece].concat();
                if first.len() > length {
                    drop(put_out(claim, &first, writer.as_mut()));
                    continue;
                }
                let Some(claim) = claim else {
                    drop(repeat(writer.as_mut(), &first, &piece, length - piece.len()));
                    continue;
                };
                let mut writer = ClaimWriter::new(claim, writer);
                let sent = repeat(&mut writer, &first, &piece, length - piece.len());
                drop(writer.finish(sent.is_ok()));
            }
        });
    }
}

fn repeat(writer: &mut dyn Write, first: &[u8], piece: &[u8], mut left: usize) -> std::io::Result<()> {
    writer.write_all(first)?;
    while left > 0 {
        writer.write_all(&piece[..piece.len().min(left)])?;
        left -= piece.len().min(left);
    }
    writer.flush()
}

fn start_alone() -> SocketAddr {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_tcp_nodelay(true).unwrap();
    socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    socket.listen(1024).unwrap();
    let address = socket.local_addr().unwrap().as_socket().unwrap();
    let listener = std::net::TcpListener::from(socket);
    serve(&Arc::new(tiny_http::Server::from_listener(listener, None).unwrap()), &Arc::default());
    address
}

fn start_guarded() -> (Guard, SocketAddr) {
    let (listener, door) = PrivateDoor::open(std::process::id().into()).unwrap();
    let outlets = Arc::default();
    serve(&Arc::new(tiny_http::Server::from_listener(listener, None).unwrap()), &outlets);
    let guard = Guard::start(GuardParts {
        address: ListenAddress::Tcp(SocketAddr::from(([127, 0, 0, 1], 0))),
        limits: EdgeLimits::default(),
        pools: vec![PoolPlan { name: "bench", door: Arc::new(door), workers: WORKERS, is_long: false }],
        chooser: Arc::new(|_, _| 0),
        refuse: Arc::new(|_, _, _| b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n".to_vec()),
        outlets,
        is_exempt: Arc::new(|_| true),
        strangers_niceness: 0,
    })
    .unwrap();
    let ListenAddress::Tcp(address) = guard.address().clone() else { unreachable!() };
    (guard, address)
}

fn request(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: bench\r\nAccept: */*\r\nUser-Agent: bench\r\n\r\n")
}

fn measure(address: SocketAddr, target: &str, connections: usize) -> String {
    let each = REQUESTS / connections;
    let (cpu, began) = (cpu_micros(), Instant::now());
    let clients: Vec<_> = (0..connections)
        .map(|_| {
            let request = request(target);
            thread::spawn(move || run(address, &request, each))
        })
        .collect();
    let mut latencies: Vec<u64> = clients.into_iter().flat_map(|client| client.join().unwrap()).collect();
    let (elapsed, cpu) = (began.elapsed(), cpu_micros() - cpu);
    latencies.sort_unstable();
    let at = |share: usize| latencies[latencies.len() * share / 100] / 1000;
    let (count, rate) = (latencies.len() as u64, latencies.len() as f64 / elapsed.as_secs_f64());
    format!("{} | {} | {rate:.0} | {}", at(50), at(99), cpu / count)
}

fn run(address: SocketAddr, request: &str, count: usize) -> Vec<u64> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    // tiny_http alone may leave a connection without an answer; then this client ends early.
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut buffer = vec![0; 64 * 1024];
    let mut latencies = Vec::with_capacity(count);
    for _ in 0..count {
        let began = Instant::now();
        stream.write_all(request.as_bytes()).unwrap();
        let mut filled = 0;
        let total = loop {
            let Ok(length) = stream.read(&mut buffer[filled..]) else { return latencies };
            filled += length;
            if let Some(total) = total(&buffer[..filled]) {
                break total;
            }
        };
        while filled < total {
            filled += stream.read(&mut buffer[filled..]).unwrap();
        }
        latencies.push(u64::try_from(began.elapsed().as_nanos()).unwrap());
    }
    latencies
}

/// Length of head and body, once the head is there.
fn total(bytes: &[u8]) -> Option<usize> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let head = std::str::from_utf8(&bytes[..end]).ok()?;
    let length = head.split("Content-Length: ").nth(1)?.split("\r\n").next()?;
    Some(end + length.parse::<usize>().ok()?)
}

fn download(address: SocketAddr) -> f64 {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request(&format!("/{LARGE_BODY_BYTES}")).as_bytes()).unwrap();
    let mut buffer = vec![0; 1 << 20];
    let began = Instant::now();
    let mut received = 0;
    while received < LARGE_BODY_BYTES {
        let length = stream.read(&mut buffer).unwrap();
        assert!(length > 0, "the body broke off");
        received += length;
    }
    received as f64 / 1e6 / began.elapsed().as_secs_f64()
}

/// User and system time of this process.
fn cpu_micros() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    ticks * 10_000
}
