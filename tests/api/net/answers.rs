//! The event loop in front of workers that misbehave: what the client sees is whole, or is seen not to be, and belongs to
//! its request.

use std::io::{Read, Write};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use mercato_net::{NetLimits, ResponseSocket};

use super::fake::{Asked, Fake, request};
use super::raw::Raw;
use crate::harness::{chance, wait_until};

const LARGE: usize = 12_000_000;

/// Holds a worker until the test lets it go on.
struct Gate(Mutex<Option<Receiver<()>>>);

impl Gate {
    const fn new() -> Gate {
        Gate(Mutex::new(None))
    }

    fn key(&self) -> Sender<()> {
        let (key, lock) = channel();
        *self.0.lock().unwrap() = Some(lock);
        key
    }

    fn wait(&self) {
        self.0.lock().unwrap().as_ref().unwrap().recv_timeout(Duration::from_secs(30)).unwrap();
    }
}

fn letters(length: usize) -> Vec<u8> {
    (0..length).map(|number| b'a' + (number / 7 % 26) as u8).collect()
}

fn chunks(socket: ResponseSocket, end: &[u8], pause: Duration) -> bool {
    let old = !socket.facts().is_http_1_1;
    let mut writer = socket.into_writer(old);
    let head = if old { "Connection: close" } else { "Transfer-Encoding: chunked" };
    writer.write_all(format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n").as_bytes()).unwrap();
    for _ in 0..3 {
        writer.write_all(if old { b"row" } else { b"3\r\nrow\r\n" }).unwrap();
        writer.flush().unwrap();
        thread::sleep(pause);
    }
    if end.is_empty() {
        return false;
    }
    writer.write_all(if old { b"" } else { end }).unwrap();
    writer.finish().is_ok()
}

static LATE: Gate = Gate::new();

fn act(asked: &Asked) -> bool {
    let target = asked.target.split('?').next().unwrap();
    match target.split('/').nth(1).unwrap() {
        "good" => asked.answer(b"good"),
        "name" => asked.answer(asked.target.as_bytes()),
        "body" => asked.echo(),
        "slow" => {
            thread::sleep(Duration::from_millis(200));
            asked.answer(asked.target.as_bytes())
        }
        "large" => asked.answer(&letters(LARGE)),
        "empty" => asked.claim().unwrap().send_page(b"HTTP/1.1 204 No Content\r\n\r\n".to_vec(), 0).is_ok(),
        "chunks" => chunks(asked.claim().unwrap(), b"0\r\n\r\n", Duration::from_millis(5)),
        "cut" => chunks(asked.claim().unwrap(), b"", Duration::ZERO),
        "short" => {
            let mut writer = asked.claim().unwrap().into_writer(false);
            let begun = writer.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 900000\r\n\r\nabc");
            begun.and_then(|()| writer.flush()).is_ok()
        }
        "silent" => asked.claim().is_none(),
        "endless" => {
            let mut writer = asked.claim().unwrap().into_writer(false);
            (0..1_000_000).try_for_each(|_| writer.write_all(&[b'x'; 65_536])).is_ok()
        }
        "late" => {
            LATE.wait();
            assert!(asked.claim().is_none(), "the client was told already that there is no answer");
            true
        }
        other => panic!("{other}"),
    }
}

/// Hazard 14: an answer that broke off ends the connection before its own end.
#[test]
fn breaks_connection_of_incomplete_response() {
    let fake = Fake::start(2, NetLimits::default(), act);
    for _ in 0..5 {
        let short = fake.get("/short").rest();
        assert!(short.starts_with(b"HTTP/1.1 200 OK\r\nContent-Length: 900000\r\n") && short.len() < 1000);
        let cut = fake.get("/cut").rest();
        assert!(cut.starts_with(b"HTTP/1.1 200 OK\r\n") && !cut.ends_with(b"0\r\n\r\n"));
        // Nothing has gone out yet: the client is told.
        assert_eq!(fake.get("/silent").answer().text(), "no_answer");
        assert_eq!(fake.get("/good").answer().text(), "good");
    }
}

#[test]
fn resets_http_1_0_client_on_incomplete_response() {
    let fake = Fake::start(1, NetLimits::default(), act);
    let mut raw = Raw::connect(fake.address);
    raw.send("GET /cut HTTP/1.0\r\n\r\n");
    let ended = raw.stream().read_to_end(&mut Vec::new());
    assert_eq!(ended.unwrap_err().kind(), std::io::ErrorKind::ConnectionReset);
    let mut raw = Raw::connect(fake.address);
    raw.send("GET /chunks HTTP/1.0\r\n\r\n");
    let whole = String::from_utf8(raw.rest()).unwrap();
    assert_eq!(whole, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nrowrowrow");
}

#[test]
fn keeps_connection_after_every_kind_of_response() {
    let fake = Fake::start(1, NetLimits::default(), act);
    let mut raw = Raw::connect(fake.address);
    for _ in 0..3 {
        for target in ["/name", "/chunks", "/empty", "/name", "/large", "/silent"] {
            let answer = raw.send(request(target)).answer();
            let expected = match target {
                "/name" => b"/name".to_vec(),
                "/large" => letters(LARGE),
                "/chunks" => b"rowrowrow".to_vec(),
                "/silent" => b"no_answer".to_vec(),
                _ => Vec::new(),
            };
            assert!(answer.body == expected, "{target}: {} bytes", answer.body.len());
        }
    }
    // Several requests in one write are answered in their order.
    raw.send([request("/name/1"), request("/chunks")].concat().repeat(50));
    for _ in 0..50 {
        assert_eq!(
            (raw.answer().text(), raw.answer().text()),
            ("/name/1".to_owned(), "rowrowrow".to_owned())
        );
    }
    fake.end_in_order();
}

/// Bodies lie beside the private connection, so none holds up another.
#[test]
fn delivers_bodies_of_every_size() {
    let fake = Fake::start(16, NetLimits::default(), act);
    thread::scope(|scope| {
        for client in 0..12 {
            let fake = &fake;
            scope.spawn(move || {
                let mut raw = Raw::connect(fake.address);
                for length in [0, 1, 1023, 1024, 1025, 70_000, 1_000_000, 3] {
                    let body = letters(length + client);
                    let head =
                        format!("POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n", body.len());
                    let answer = raw.send([head.as_bytes(), &body].concat()).answer();
                    assert!(answer.body == body, "{length} bytes");
                }
            });
        }
    });
    fake.end_in_order();
}

#[test]
fn frees_worker_of_slowly_read_page() {
    let fake = Fake::start(1, NetLimits::default(), act);
    let mut slow = fake.get("/large");
    slow.stream().peek(&mut [0]).unwrap();
    for _ in 0..3 {
        assert_eq!(fake.get("/good").answer().text(), "good");
    }
    assert!(slow.answer().body == letters(LARGE));
}

#[test]
fn stops_work_for_departed_or_stalled_client() {
    let limits = NetLimits { write_time: Duration::from_millis(300), ..NetLimits::default() };
    let fake = Fake::start(1, limits, act);
    let leaving = fake.get("/endless");
    leaving.stream().read_exact(&mut [0; 100]).unwrap();
    drop(leaving);
    wait_until("it is seen that the client left", || fake.sample("mercato_clients_gone_total") == 1);
    let stalled = fake.get("/endless");
    wait_until("it is seen that the client does not read", || fake.sample("mercato_slow_readers_total") == 1);
    assert_eq!(fake.sample("mercato_answers_cut_total"), 0, "it was not the worker's fault");
    drop(stalled);
    assert_eq!(fake.get("/good").answer().text(), "good");
}

#[test]
fn survives_clients_that_leave_before_page() {
    let limits = NetLimits { queue_wait: Duration::from_secs(30), ..NetLimits::default() };
    let fake = Fake::start(1, limits, act);
    for _ in 0..20 {
        drop(fake.get("/name"));
        drop(fake.get("/large"));
    }
    assert_eq!(fake.get("/good").answer().text(), "good");
    assert_eq!(fake.sample("mercato_private_replaced_total"), 0);
}

/// An answer that comes when the client was told that there is none must not be taken for the answer to its next request.
#[test]
fn discards_late_response() {
    let key = LATE.key();
    let limits = NetLimits { answer_wait: Duration::from_millis(200), ..NetLimits::default() };
    let fake = Fake::start(2, limits, act);
    let mut raw = fake.get("/late");
    assert_eq!(raw.answer().text(), "no_answer");
    for turn in 0..3 {
        assert_eq!(raw.send(request("/good")).answer().text(), "good", "{turn}");
        if turn == 0 {
            key.send(()).unwrap();
        }
    }
}

static LINE: Gate = Gate::new();

fn wait_in_line(asked: &Asked) -> bool {
    if asked.target.starts_with("/hold") {
        LINE.wait();
    }
    asked.answer(asked.target.as_bytes())
}

/// Hazard 27: what waits for a worker is bounded in number; who is refused may try again on the same connection.
#[test]
fn queues_requests_up_to_bound() {
    let key = LINE.key();
    let limits = NetLimits { queue_wait: Duration::from_secs(20), queue_length: 2, ..NetLimits::default() };
    let fake = Fake::start(1, limits, wait_in_line);
    let mut running = fake.get("/hold");
    wait_until("the worker is busy", || fake.sample("mercato_workers_free") == 0);
    let mut waiting = [fake.get("/quick"), fake.get("/quick")];
    wait_until("two wait", || fake.sample("mercato_requests_waiting") == 2);
    let mut refused = fake.get("/quick");
    assert_eq!(refused.answer().text(), "busy");
    key.send(()).unwrap();
    assert_eq!(running.answer().text(), "/hold");
    for raw in &mut waiting {
        assert_eq!(raw.answer().text(), "/quick");
    }
    assert_eq!(refused.send(request("/quick")).answer().text(), "/quick");
}

#[test]
fn refuses_request_after_queue_wait() {
    let key = LINE.key();
    let limits = NetLimits { queue_wait: Duration::from_millis(100), ..NetLimits::default() };
    let fake = Fake::start(1, limits, wait_in_line);
    let mut running = fake.get("/hold");
    wait_until("the worker is busy", || fake.sample("mercato_workers_free") == 0);
    let mut late = fake.get("/quick");
    assert_eq!(late.answer().text(), "busy");
    key.send(()).unwrap();
    assert_eq!(running.answer().text(), "/hold");
    assert_eq!(late.send(request("/quick")).answer().text(), "/quick");
}

static FAIR: Gate = Gate::new();
static ORDER: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn note_the_order(asked: &Asked) -> bool {
    if asked.target.starts_with("/hold") {
        FAIR.wait();
    }
    ORDER.lock().unwrap().push(asked.target.clone());
    asked.answer(b"ok")
}

/// However many connections a client has, another one waits for one of its requests at most.
#[test]
fn alternates_workers_between_clients() {
    let key = FAIR.key();
    let fake = Fake::start(1, NetLimits::default(), note_the_order);
    let mut held = fake.get("/hold?client=9");
    wait_until("the worker is busy", || fake.sample("mercato_workers_free") == 0);
    let mut greedy: Vec<Raw> = (0..20).map(|_| fake.get("/greedy?client=1")).collect();
    wait_until("the crowd waits", || fake.sample("mercato_requests_waiting") == 20);
    let mut modest = fake.get("/modest?client=2");
    wait_until("all wait", || fake.sample("mercato_requests_waiting") == 21);
    key.send(()).unwrap();
    held.answer();
    modest.answer();
    greedy.iter_mut().for_each(|raw| drop(raw.answer()));
    let order = ORDER.lock().unwrap();
    let place = order.iter().position(|target| target.starts_with("/modest")).unwrap();
    assert!(place <= 2, "{order:?}");
}

/// A request that no worker has taken up goes out again over another private connection.
#[test]
fn resends_requests_over_new_private_connection() {
    let fake = Fake::start(4, NetLimits { answer_wait: Duration::from_secs(2), ..NetLimits::default() }, act);
    let mut kept = fake.get("/slow/1");
    thread::sleep(Duration::from_millis(50));
    let mut broken = fake.get("/break-the-lane");
    wait_until("it is replaced", || fake.sample("mercato_private_replaced_total") >= 1);
    assert_eq!(kept.answer().text(), "/slow/1");
    for turn in 0..20 {
        let name = format!("/name/{turn}");
        assert_eq!(fake.get(&name).answer().text(), name);
    }
    // This one breaks every lane it goes over, until its time is over.
    assert_eq!(broken.answer().text(), "no_answer");
}

#[test]
fn answers_received_requests_before_end() {
    let fake = Fake::start(1, NetLimits::default(), act);
    let mut raw = fake.get("/name/1");
    assert_eq!(raw.answer().text(), "/name/1");
    raw.send(request("/slow/2"));
    wait_until("it is worked on", || fake.sample("mercato_workers_free") == 0);
    raw.send(request("/name/3"));
    fake.net.as_ref().unwrap().stop_accepting();
    assert_eq!((raw.answer().text(), raw.answer().text()), ("/slow/2".to_owned(), "/name/3".to_owned()));
    assert!(raw.is_over());
    fake.end_in_order();
}

/// A proxy keeps connections, and sends a POST only once: one that meets the end of the server must not be lost.
#[test]
fn answers_request_that_arrives_on_kept_connection_at_end() {
    let fake = Fake::start(1, NetLimits::default(), act);
    let mut kept = fake.get("/name/1");
    assert_eq!(kept.answer().text(), "/name/1");
    let mut unused = fake.get("/name/2");
    assert_eq!(unused.answer().text(), "/name/2");
    let mut busy = fake.get("/slow/3");
    wait_until("it is worked on", || fake.sample("mercato_workers_free") == 0);
    let began = Instant::now();
    fake.net.as_ref().unwrap().stop_accepting();
    wait_until("nobody is accepted", || std::net::TcpStream::connect(fake.address).is_err());
    kept.send(request("/name/4"));
    assert_eq!(busy.answer().text(), "/slow/3");
    assert_eq!(kept.answer().text(), "/name/4");
    assert!(kept.is_over(), "its answer was the last");
    assert!(unused.is_over() && began.elapsed() >= Duration::from_millis(900), "{:?}", began.elapsed());
    fake.end_in_order();
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

#[test]
fn closes_idle_clients_in_time_and_at_end() {
    let limits = NetLimits { idle_time: Duration::from_secs(1), ..NetLimits::default() };
    let fake = Fake::start(1, limits, act);
    let mut raw = fake.get("/good");
    raw.answer();
    assert!(raw.is_over());
    wait_until("it is counted", || fake.sample("mercato_connections_idle_closed_total") == 1);
    let fake = Fake::start(2, NetLimits::default(), act);
    let mut clients: Vec<_> = (0..20).map(|_| fake.get("/good")).collect();
    clients.iter_mut().for_each(|raw| drop(raw.answer()));
    let began = Instant::now();
    fake.end_in_order();
    assert!(clients.iter_mut().all(Raw::is_over) && began.elapsed() < Duration::from_secs(10));
}

/// All ways of answering at once, few workers, many clients: every answer names its request.
#[test]
fn returns_own_responses_to_every_client() {
    let fake = Fake::start(3, NetLimits::default(), act);
    let talk = |client: u64| {
        let mut next = chance((client + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let mut raw = Raw::connect(fake.address);
        for turn in 0..60 {
            let count = 1 + next() % 3;
            let targets: Vec<String> = (0..count)
                .map(|place| {
                    let way = ["name", "chunks", "name", "slow"][usize::try_from(next() % 40).unwrap() / 13];
                    format!("/{way}/{client}/{turn}/{place}")
                })
                .collect();
            raw.send(targets.iter().map(|target| request(target)).collect::<String>());
            for target in targets {
                let answer = raw.answer().text();
                let expected = if target.starts_with("/chunks") { "rowrowrow" } else { target.as_str() };
                assert_eq!(answer, expected);
            }
            if next().is_multiple_of(16) {
                raw.send(request("/name/left"));
                raw = Raw::connect(fake.address);
            }
        }
    };
    thread::scope(|scope| (0..12).for_each(|client| drop(scope.spawn(move || talk(client)))));
}
