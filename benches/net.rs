//! Cost of the event loop: the same answers from tiny_http alone and from tiny_http behind it.
//!
//! Client and server share the process, so CPU times hold both; the difference between two lines is the event loop.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a measurement may fail loudly")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use mercato_net::{
    Bound, ClassPlan, Classified, Client, Head, ListenAddress, NetLimits, NetParts, NetServer,
    PrivateAddress, Slots,
};
use socket2::{Domain, Socket, Type};

const WORKERS: usize = 8;
const REQUESTS: usize = 40_000;
const LARGE_BODY_BYTES: usize = 2 << 30;

fn main() {
    let alone = start_alone();
    let (net, behind) = start_behind();
    println!("| answer | connections | server | p50 µs | p99 µs | requests/s | CPU µs/request |");
    println!("|---|---|---|---|---|---|---|");
    for target in ["/200", "/36000"] {
        for connections in [1, 16, 64] {
            for (name, address) in [("tiny_http", alone), ("event loop", behind)] {
                let line = measure(address, target, connections);
                println!("| {target} B | {connections} | {name} | {line} |");
            }
        }
    }
    for (name, address) in [("tiny_http", alone), ("event loop", behind)] {
        println!("a body of 2 GiB from {name}: {:.0} MB/s", download(address));
    }
    net.drain(Instant::now() + Duration::from_secs(1));
}

/// Workers that answer through the sockets in `slots`, or, where there are none, back where the request came from.
fn serve(server: &Arc<tiny_http::Server>, slots: Option<&Arc<Slots>>) {
    for _ in 0..WORKERS {
        let (server, slots) = (Arc::clone(server), slots.cloned());
        thread::spawn(move || {
            while let Ok(request) = server.recv() {
                let socket = slots.as_ref().and_then(|slots| slots.claim(&request.url()[1..]));
                let target = socket.as_ref().map_or(request.url(), |socket| socket.head().target());
                let length: usize = target[1..].parse().unwrap_or(0);
                let mut writer = request.into_writer();
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
                let piece = vec![b'a'; length.min(256 * 1024)];
                let first = [head.as_bytes(), &piece].concat();
                let left = length - piece.len();
                match socket {
                    Some(socket) if left == 0 => drop(socket.send_page(first, 0)),
                    Some(socket) => {
                        let mut writer = socket.into_writer(false);
                        if repeat(&mut writer, &first, &piece, left).is_ok() {
                            drop(writer.finish());
                        }
                    }
                    None => drop(repeat(writer.as_mut(), &first, &piece, left)),
                }
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
    serve(&Arc::new(tiny_http::Server::from_listener(listener, None).unwrap()), None);
    address
}

fn start_behind() -> (NetServer, SocketAddr) {
    let (listener, upstream) = PrivateAddress::open(std::process::id().into()).unwrap();
    let address = ListenAddress::Tcp(SocketAddr::from(([127, 0, 0, 1], 0)));
    let classes = vec![ClassPlan { name: "bench", workers: WORKERS }];
    let bound = Bound::new(&address, NetLimits::default(), classes).unwrap();
    serve(&Arc::new(tiny_http::Server::from_listener(listener, None).unwrap()), Some(bound.slots()));
    let parts = NetParts {
        upstream,
        classifier: Arc::new(|_: &Head<'_, '_>, peer| Classified::new(0, Client::Address(peer))),
        refuse: Arc::new(|_, _, _| b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n".to_vec()),
        counted_as: Arc::new(|_| None),
    };
    let net = bound.start(parts).unwrap();
    let ListenAddress::Tcp(address) = net.address().clone() else { unreachable!() };
    (net, address)
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
