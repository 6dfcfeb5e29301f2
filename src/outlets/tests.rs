//! Offers, claims and words, with sockets of the loopback and a way back that can be read.

use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::sync::Mutex;
use std::time::Duration;

use super::*;

/// A way back that the test can read.
#[derive(Clone, Default)]
struct Back(Arc<Mutex<Vec<u8>>>);

impl Back {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Back {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn open() -> (Arc<Outlets>, Arc<Outlet>, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let outlets = Arc::<Outlets>::default();
    let outlet = outlets.open(listener.accept().unwrap().0.into(), Arc::default(), None);
    (outlets, outlet, client)
}

fn offer(outlet: &Outlet, closes: bool) -> String {
    let mut name = Vec::new();
    outlet.offer(closes, &mut name);
    String::from_utf8(name).unwrap()
}

#[test]
fn an_offer_is_claimed_once_and_only_while_it_stands() {
    let (outlets, outlet, _client) = open();
    let name = offer(&outlet, false);
    assert!(outlets.claim(&name).is_some() && outlet.is_claimed());
    assert!(outlets.claim(&name).is_none(), "it is taken");
    assert!(outlet.withdraw() && !outlet.is_claimed());
    let later = offer(&outlet, true);
    assert!(outlets.claim(&name).is_none(), "the former one is over");
    assert!(outlets.claim(&later).is_some_and(|claim| claim.closes()));
    outlet.withdraw();
    let withdrawn = offer(&outlet, false);
    assert!(!outlet.withdraw());
    assert!(outlets.claim(&withdrawn).is_none(), "it was taken back");
    for nonsense in ["", "-", "0", "7-1", "0-", "0-x", "0-1-2", "-last"] {
        assert!(outlets.claim(nonsense).is_none(), "{nonsense}");
    }
    let name = offer(&outlet, false);
    drop(outlet);
    assert!(outlets.claim(&name).is_none(), "the connection is gone");
    assert!(outlets.lock().outlets.is_empty());
}

#[test]
fn without_a_claim_everything_goes_back_and_with_one_only_word_does() {
    let (outlets, outlet, _client) = open();
    let mut back = Back::default();
    put_out(None, b"answer", &mut back).unwrap();
    assert_eq!(back.text(), "answer");
    let mut back = Back::default();
    put_out(outlets.claim(&offer(&outlet, false)), b"answer", &mut back).unwrap();
    assert_eq!(back.text(), "HTTP/1.1 200 Sent\r\nContent-Length: 0\r\n\r\n");
    assert_eq!((outlet.sent(), outlet.broken()), (6, None));
}

#[derive(Debug, Default)]
struct Content(AtomicBool, AtomicU64);

impl Owner for Content {
    fn answered(&self) -> bool {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.load(Ordering::SeqCst)
    }
}

#[test]
fn an_owner_that_needs_no_word_gets_none_unless_something_is_left() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (outlets, owner) = (Arc::<Outlets>::default(), Arc::<Content>::default());
    let same: Arc<dyn Owner> = Arc::clone(&owner) as _;
    let outlet = outlets.open(listener.accept().unwrap().0.into(), Arc::default(), Some(same));
    let said = |answer: &[u8]| {
        let mut back = Back::default();
        put_out(outlets.claim(&offer(&outlet, false)), answer, &mut back).unwrap();
        back.text()
    };
    let streamed = |whole: bool| {
        let back = Back::default();
        let claim = outlets.claim(&offer(&outlet, false)).unwrap();
        ClaimWriter::new(claim, Box::new(back.clone())).finish(whole).unwrap();
        back.text()
    };
    assert_eq!(said(b"answer"), "HTTP/1.1 200 Sent\r\nContent-Length: 0\r\n\r\n");
    owner.0.store(true, Ordering::SeqCst);
    assert_eq!((said(b"answer"), streamed(true)), (String::new(), String::new()));
    assert_eq!(owner.1.load(Ordering::SeqCst), 3);
    assert_eq!(streamed(false), "cut\r\n\r\n");
    let mut back = Back::default();
    let late = outlets.claim(&offer(&outlet, false));
    let _next = (outlet.withdraw(), offer(&outlet, false));
    put_out(late, b"answer", &mut back).unwrap();
    assert!(back.text().starts_with("HTTP/1.1 200 Sent"), "this answer is no longer waited for");
    assert!(said(&vec![7; PROMPT_PIECE_BYTES * 200]).starts_with("HTTP/1.1 200 Sent"), "some did not go out");
    assert_eq!(owner.1.load(Ordering::SeqCst), 3, "nobody was told anything else");
}

#[test]
fn what_a_client_does_not_take_goes_back_behind_what_it_took() {
    let (outlets, outlet, mut client) = open();
    let answer: Vec<u8> = (0..PROMPT_PIECE_BYTES * 200).map(|at| (at / 7).to_le_bytes()[at % 2]).collect();
    let mut back = Back::default();
    put_out(outlets.claim(&offer(&outlet, false)), &answer, &mut back).unwrap();
    let taken = usize::try_from(outlet.sent()).unwrap();
    assert!(taken > PROMPT_PIECE_BYTES && taken < answer.len(), "{taken}");
    let back = back.0.lock().unwrap().clone();
    let word = format!("HTTP/1.1 200 Sent\r\nContent-Length: {}\r\n\r\n", answer.len() - taken);
    let rest = back.strip_prefix(word.as_bytes()).expect("the word");
    let mut received = vec![0; taken];
    client.read_exact(&mut received).unwrap();
    received.extend_from_slice(rest);
    assert!(received == answer, "in order, nothing twice, nothing lost");
}

#[test]
fn a_stream_that_broke_off_says_so_unless_it_was_the_client() {
    let (outlets, outlet, client) = open();
    let writer = |back: &Back| {
        outlet.withdraw();
        ClaimWriter::new(outlets.claim(&offer(&outlet, false)).unwrap(), Box::new(back.clone()))
    };
    let back = Back::default();
    let mut part = writer(&back);
    part.write_all(b"row").unwrap();
    part.finish(false).unwrap();
    assert_eq!((back.text().as_str(), outlet.sent()), ("cut\r\n\r\n", 3));
    let back = Back::default();
    outlet.socket().set_write_timeout(Some(Duration::from_millis(20))).unwrap();
    let mut stalled = writer(&back);
    while stalled.write_all(&[7; 65_536]).is_ok() {}
    assert_eq!(outlet.broken(), Some(Broken::Stalled));
    stalled.finish(false).unwrap();
    assert!(back.text().starts_with("HTTP/1.1 200 Sent"), "{}", back.text());
    drop(client);
}

/// A claimed way of a client that has asked for something.
fn asked() -> (Claim, Arc<Outlet>, TcpStream) {
    let (outlets, outlet, mut client) = open();
    client.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let mut request = [0; 18];
    (&mut outlet.socket()).read_exact(&mut request).unwrap();
    (outlets.claim(&offer(&outlet, false)).unwrap(), outlet, client)
}

#[test]
fn what_a_client_acknowledges_counts_from_the_beginning_of_its_answer() {
    let (claim, outlet, mut client) = asked();
    outlet.send_all(b"an earlier answer", false).unwrap();
    let mut earlier = [0; 17];
    client.read_exact(&mut earlier).unwrap();
    let settled = || Acknowledged::begin(Arc::clone(&outlet), 0).bytes();
    assert_eq!(settled(), Some(0));
    let acknowledged = claim.acknowledged();
    assert_eq!(acknowledged.bytes(), Some(0));
    outlet.send_all(&[7; 1_000], false).unwrap();
    acknowledged.wait(1_000).unwrap();
    assert_eq!(acknowledged.bytes(), Some(1_000), "nothing of it was read");
}

#[test]
fn what_a_client_has_not_acknowledged_never_reaches_it_once_it_is_given_up() {
    let (claim, outlet, mut client) = asked();
    let acknowledged = claim.acknowledged();
    let sent = outlet.send_what_is_taken(&vec![7; 64 << 20]).unwrap() as u64;
    thread::sleep(Duration::from_millis(200));
    let arrived = acknowledged.bytes().unwrap();
    assert!(arrived > 0 && arrived < sent, "{arrived} of {sent}");
    acknowledged.end();
    let mut received = Vec::new();
    let outcome = client.read_to_end(&mut received);
    assert!(received.len() as u64 <= arrived && outcome.is_err(), "{} of {arrived}", received.len());
}

#[test]
fn waiting_for_a_client_that_left_or_does_not_read_ends() {
    let (claim, outlet, client) = asked();
    let acknowledged = claim.acknowledged();
    let sent = outlet.send_what_is_taken(&vec![7; 64 << 20]).unwrap() as u64;
    drop(client);
    assert_eq!(acknowledged.wait(sent).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    let (claim, outlet, _client) = asked();
    let acknowledged = claim.acknowledged();
    outlet.socket().set_write_timeout(Some(Duration::from_millis(100))).unwrap();
    let sent = outlet.send_what_is_taken(&vec![7; 64 << 20]).unwrap() as u64;
    assert_eq!(acknowledged.wait(sent).unwrap_err().kind(), io::ErrorKind::TimedOut);
    assert_eq!(outlet.broken(), Some(Broken::Stalled));
    let (claim, outlet, _client) = asked();
    let acknowledged = claim.acknowledged();
    let sent = outlet.send_what_is_taken(&vec![7; 64 << 20]).unwrap() as u64;
    outlet.withdraw();
    assert!(acknowledged.wait(sent).is_err(), "the owner has taken the way back");
}

#[test]
fn nobody_knows_what_is_acknowledged_over_a_unix_socket() {
    let (server, _client) = std::os::unix::net::UnixStream::pair().unwrap();
    let outlets = Arc::<Outlets>::default();
    let outlet = outlets.open(server.into(), Arc::default(), None);
    let acknowledged = outlets.claim(&offer(&outlet, false)).unwrap().acknowledged();
    assert_eq!(acknowledged.bytes(), None);
    acknowledged.wait(1_000).unwrap();
}
