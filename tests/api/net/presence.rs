//! Workers learn of clients that leave, and no client holds all workers.

use std::io::Write;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use mercato_net::{NetLimits, Presence};

use super::fake::{Asked, Fake, request};
use super::raw::Raw;

/// How long a worker waits for a client that should leave.
const PATIENCE: Duration = Duration::from_secs(20);

/// What a worker saw of its client, and when.
static SEEN: Mutex<Vec<(String, Presence, Instant)>> = Mutex::new(Vec::new());

/// Waits until the client is no longer as it was, notes that, and answers.
fn watch(asked: &Asked) -> bool {
    let Some(socket) = asked.claim() else { return false };
    let (watch, began) = (socket.watch(), Instant::now());
    while watch.presence() == Presence::Connected && began.elapsed() < PATIENCE {
        thread::sleep(Duration::from_millis(1));
    }
    SEEN.lock().unwrap().push((asked.target.clone(), watch.presence(), Instant::now()));
    socket.send_page(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_vec(), 0).is_ok()
}

fn seen(target: &str) -> (Presence, Instant) {
    let began = Instant::now();
    loop {
        if let Some((_, presence, at)) = SEEN.lock().unwrap().iter().find(|(seen, ..)| seen == target) {
            return (*presence, *at);
        }
        assert!(began.elapsed() < PATIENCE, "{target} goes on");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn tells_worker_of_leaving_client() {
    let fake = Fake::start(4, NetLimits::default(), watch);
    for (target, leaves) in [("/closed", false), ("/reset", true)] {
        let raw = fake.get(target);
        thread::sleep(Duration::from_millis(50));
        if leaves {
            let socket = socket2::SockRef::from(raw.stream()).set_linger(Some(Duration::ZERO));
            socket.unwrap();
        }
        let left = Instant::now();
        drop(raw);
        let (presence, at) = seen(target);
        assert_eq!(presence, if leaves { Presence::Gone } else { Presence::HalfClosed }, "{target}");
        let took = at.saturating_duration_since(left);
        assert!(took < Duration::from_millis(500), "{target}: {took:?}");
    }
}

#[test]
fn tells_worker_of_client_that_left_before() {
    let fake = Fake::start(1, NetLimits::default(), watch);
    let first = fake.get("/first");
    let mut second = fake.get("/second");
    second.finish_sending();
    thread::sleep(Duration::from_millis(50));
    drop(first);
    assert_eq!(seen("/second").0, Presence::HalfClosed);
    assert_eq!(second.answer().body, b"ok", "it may still read");
}

/// Holds a worker until its client leaves.
fn hold(asked: &Asked) -> bool {
    if asked.target.starts_with("/quick") { asked.answer(b"quick") } else { watch(asked) }
}

#[test]
fn leaves_half_of_workers_to_other_clients() {
    let limits = NetLimits { queue_wait: Duration::from_secs(20), ..NetLimits::default() };
    let fake = Fake::start(4, limits, hold);
    let greedy: Vec<Raw> = (0..6).map(|number| fake.get(&format!("/slow{number}?client=1"))).collect();
    thread::sleep(Duration::from_millis(100));
    for client in 2..12 {
        let began = Instant::now();
        assert_eq!(fake.get(&format!("/quick?client={client}")).answer().body, b"quick");
        assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    }
    let more: Vec<Raw> = (0..2).map(|number| fake.get(&format!("/slow{number}?client=20"))).collect();
    thread::sleep(Duration::from_millis(100));
    assert_eq!((fake.sample("mercato_workers_free"), fake.sample("mercato_requests_waiting")), (0, 4));
    let mut own = fake.get("/quick?client=1");
    own.stream().set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    assert_eq!(
        std::io::Read::read(&mut own.stream(), &mut [0]).unwrap_err().kind(),
        std::io::ErrorKind::WouldBlock
    );
    drop((greedy, more));
    own.stream().set_read_timeout(Some(PATIENCE)).unwrap();
    assert_eq!(own.answer().body, b"quick");
}

#[test]
fn serves_single_client_with_single_worker() {
    let fake = Fake::start(1, NetLimits::default(), hold);
    let mut raw = Raw::connect(fake.address);
    for _ in 0..3 {
        raw.stream().write_all(request("/quick?client=1").as_bytes()).unwrap();
        assert_eq!(raw.answer().body, b"quick");
    }
}
