//! Slots, claims and completions, with sockets of the loopback and without an event loop.

use std::io::Read;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread;

use crossbeam_channel::Receiver;
use mio::{Poll, Token, Waker};
use socket2::{Domain, Type};

use super::*;
use crate::budget::Budget;
use crate::counters::Counters;
use crate::limits::REMAINING_BYTES_HELD_MAX;
use crate::parse::fields::read_fields;
use crate::parse::head::Head;

/// Bytes that no socket takes at once.
const MUCH: usize = 64 << 20;

struct Desk {
    slots: Arc<Slots>,
    completions: Receiver<Completion>,
    socket: Arc<Socket>,
    _poll: Poll,
}

impl Desk {
    fn new(socket: Socket, budget: usize, write_time: Duration) -> Desk {
        let poll = Poll::new().unwrap();
        let waker = Waker::new(poll.registry(), Token(0)).unwrap();
        let counters = Arc::new(Counters::new(&[]));
        let (slots, completions) = Slots::new(1, waker, Budget::new(budget), counters, write_time);
        Desk { slots, completions, socket: Arc::new(socket), _poll: poll }
    }

    fn tcp() -> (Desk, TcpStream) {
        Desk::tcp_with(REMAINING_BYTES_HELD_MAX, Duration::from_secs(20))
    }

    fn tcp_with(budget: usize, write_time: Duration) -> (Desk, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let server = listener.accept().unwrap().0;
        (Desk::new(server.into(), budget, write_time), client)
    }

    fn assign(&self) -> String {
        let facts = RequestFacts {
            peer: Ipv4Addr::LOCALHOST.into(),
            arrived: Instant::now(),
            is_head: false,
            is_http_1_1: true,
            closes: false,
        };
        let request =
            Head { method: "GET", target: "/", headers: &[], fields: read_fields(&[], false).unwrap() };
        let head = RequestHead::new(&request, 0);
        let assignment = Assignment { socket: Arc::clone(&self.socket), facts, head, note: None, body: None };
        format!("0-{}", self.slots.assign(0, assignment, false))
    }

    fn claim(&self) -> ResponseSocket {
        self.slots.claim(&self.assign()).unwrap()
    }

    fn outcome(&self) -> Outcome {
        self.completions.try_recv().unwrap().outcome
    }
}

#[test]
fn claims_slot_once_while_offered() {
    let (desk, _client) = Desk::tcp();
    let name = desk.assign();
    assert!(desk.slots.claim(&name).is_some());
    assert!(desk.slots.claim(&name).is_none(), "it is taken");
    assert!(!desk.slots.withdraw(0), "it was claimed");
    let later = desk.assign();
    assert!(desk.slots.claim(&name).is_none(), "the former turn is over");
    assert!(desk.slots.withdraw(0), "nobody had claimed it");
    assert!(desk.slots.claim(&later).is_none(), "it was taken back");
    for nonsense in ["", "-", "0", "7-1", "0-", "0-x", "0-1-2", "-last", "18446744073709551616-1"] {
        assert!(desk.slots.claim(nonsense).is_none(), "{nonsense}");
    }
}

#[test]
fn reports_sent_and_unanswered_pages() {
    let (desk, mut client) = Desk::tcp();
    desk.claim().send_page(b"..answer".to_vec(), 2).unwrap();
    assert!(matches!(desk.outcome(), Outcome::Sent));
    let mut received = [0; 6];
    client.read_exact(&mut received).unwrap();
    assert_eq!(&received, b"answer");
    drop(desk.claim());
    assert!(matches!(desk.outcome(), Outcome::Unanswered));
}

#[test]
fn leaves_rest_of_page_after_sent_bytes() {
    let (desk, mut client) = Desk::tcp();
    let answer: Vec<u8> = (0..REMAINING_BYTES_MAX).map(|at| (at / 7).to_le_bytes()[at % 2]).collect();
    desk.claim().send_page(answer.clone(), 0).unwrap();
    let Outcome::Remaining(Remaining { bytes, sent, .. }) = desk.outcome() else { panic!("a rest") };
    assert!(sent > 0 && sent < bytes.len(), "{sent}");
    let mut received = vec![0; sent];
    client.read_exact(&mut received).unwrap();
    received.extend_from_slice(&bytes[sent..]);
    assert!(received == answer, "in order, nothing twice, nothing lost");
}

#[test]
fn aborts_unread_page_without_memory_for_its_rest() {
    let (desk, _client) = Desk::tcp_with(0, Duration::from_secs(20));
    let error = desk.claim().send_page(vec![7; REMAINING_BYTES_MAX], 0).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert!(matches!(desk.outcome(), Outcome::Aborted(AbortReason::Stalled)));
}

#[test]
fn aborts_unread_page_at_once_while_other_workers_wait() {
    let (desk, mut client) = Desk::tcp_with(0, Duration::from_secs(20));
    let places: Vec<_> = std::iter::from_fn(|| desk.slots.hurried.take(1)).collect();
    assert!(!places.is_empty());
    assert!(desk.claim().send_page(vec![7; REMAINING_BYTES_MAX], 0).is_err(), "it is not waited for");
    assert!(matches!(desk.outcome(), Outcome::Aborted(AbortReason::Stalled)));
    let reader = thread::spawn(move || client.read_to_end(&mut Vec::new()));
    assert!(desk.claim().send_page(vec![7; REMAINING_BYTES_MAX + MUCH], 0).is_ok(), "no loop could hold it");
    assert!(matches!(desk.outcome(), Outcome::Sent));
    drop(places);
    assert!(desk.claim().send_page(vec![7; REMAINING_BYTES_MAX], 0).is_ok(), "a client that reads");
    assert!(matches!(desk.outcome(), Outcome::Sent));
    drop(desk);
    reader.join().unwrap().unwrap();
}

#[test]
fn reports_cause_of_unfinished_stream() {
    let (desk, _client) = Desk::tcp_with(REMAINING_BYTES_HELD_MAX, Duration::from_millis(50));
    let mut part = desk.claim().into_writer(false);
    part.write_all(b"row").unwrap();
    part.flush().unwrap();
    drop(part);
    assert!(matches!(desk.outcome(), Outcome::Aborted(AbortReason::Worker)));
    let mut stalled = desk.claim().into_writer(false);
    while stalled.write_all(&[7; 65_536]).is_ok() {}
    drop(stalled);
    assert!(matches!(desk.outcome(), Outcome::Aborted(AbortReason::Stalled)));
}

#[test]
fn reports_whether_finished_stream_closes_connection() {
    let (desk, mut client) = Desk::tcp();
    for closes in [false, true] {
        let mut writer = desk.claim().into_writer(closes);
        writer.write_all(b"small").unwrap();
        writer.write_all(&[7; SMALL_PIECES_BYTES_MAX + 1]).unwrap();
        writer.finish().unwrap();
        let word = desk.completions.try_recv().unwrap();
        assert!(matches!(word.outcome, Outcome::Sent) && word.closes == closes);
        let mut received = vec![0; 5 + SMALL_PIECES_BYTES_MAX + 1];
        client.read_exact(&mut received).unwrap();
        assert!(received.starts_with(b"small\x07"));
    }
}

#[test]
fn counts_bytes_of_response_that_socket_took() {
    let (desk, mut client) = Desk::tcp();
    desk.claim().send_page(b"an earlier answer".to_vec(), 0).unwrap();
    let mut writer = desk.claim().into_writer(false);
    writer.write_all(b"small").unwrap();
    assert_eq!(writer.taken(), 0, "it is held back");
    writer.write_all(&[7; 2_000]).unwrap();
    writer.flush().unwrap();
    assert_eq!(writer.taken(), 2_005);
    client.read_exact(&mut [0; 17 + 2_005]).unwrap();
    drop(client);
    // The reset of the client comes after the first write.
    while writer.write_all(&[7; 2_000]).is_ok() {}
    assert_eq!(writer.taken() % 2_000, 5, "an answer that fails tells what was taken of it");
}

/// How much a client of a small receive buffer that reads nothing gets of a response.
fn taken_of_unread(write: impl FnOnce(ResponseSocket, &[u8])) -> u64 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    client.set_recv_buffer_size(16 * 1024).unwrap();
    client.connect(&listener.local_addr().unwrap().into()).unwrap();
    let server = listener.accept().unwrap().0;
    let desk = Desk::new(server.into(), REMAINING_BYTES_HELD_MAX, Duration::from_millis(200));
    write(desk.claim(), &vec![7; REMAINING_BYTES_MAX]);
    desk.slots.counters.bytes_out.load(std::sync::atomic::Ordering::Relaxed)
}

#[test]
fn bounds_unsent_bytes_of_streams_only() {
    let streamed = taken_of_unread(|socket, bytes| {
        assert!(socket.into_writer(false).write_all(bytes).is_err(), "it is not read");
    });
    // The segment that is begun below the bound, and the receive buffer.
    let most = u64::from(UNSENT_BYTES_MAX) + 64 * 1024 + 64 * 1024;
    assert!((1_000..most).contains(&streamed), "{streamed}");
    let paged = taken_of_unread(|socket, bytes| {
        let mut writer = socket.into_writer(false);
        writer.write_all(b"a stream before").unwrap();
        writer.flush().unwrap();
        writer.socket.bound_unsent(0);
        drop(writer.socket.send_now(bytes, SendFlags::empty()));
    });
    assert!(paged > most, "a page is taken at once: {paged}");
}
