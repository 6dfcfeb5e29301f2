//! Connections that sleep from one request to the next: each client gets its own answers, whoever gave the worker back.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mercato::edge::EdgeLimits;
use mercato::outlets::{ClaimWriter, put_out};

use super::fake::{Asked, Fake};
use super::raw::Raw;
use crate::harness::wait_until;

/// Longer than a connection looks at worker and client at once.
const LONGER: Duration = Duration::from_millis(200);

/// How often the guard was told that an answer to `/counted` is out.
static WORDS: AtomicUsize = AtomicUsize::new(0);

struct Counted<'a>(&'a mut UnixStream);

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        WORDS.fetch_add(1, Ordering::SeqCst);
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Answers with the target, in the way that its first part says.
fn act(asked: &Asked, back: &mut UnixStream) -> std::io::Result<()> {
    let target = asked.target.as_str();
    let page = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{target}", target.len());
    match target.split('/').nth(1).unwrap() {
        "counted" => put_out(asked.claim(), page.as_bytes(), &mut Counted(back)),
        "put" => put_out(asked.claim(), page.as_bytes(), back),
        "back" => back.write_all(page.as_bytes()),
        "slow" => {
            thread::sleep(LONGER);
            put_out(asked.claim(), page.as_bytes(), back)
        }
        "stream" => {
            let mut writer = ClaimWriter::new(asked.claim().unwrap(), Box::new(back.try_clone()?));
            for piece in page.as_bytes().chunks(20) {
                writer.write_all(piece)?;
                writer.flush()?;
            }
            writer.finish(true)
        }
        other => panic!("{other}"),
    }
}

fn request(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n")
}

#[track_caller]
fn ask(raw: &mut Raw, target: &str) {
    assert_eq!(raw.send(request(target)).answer().text(), target);
}

fn sample(fake: &Fake, name: &str) -> u64 {
    let samples = fake.guard.as_ref().unwrap().sampler()();
    samples.iter().find(|sample| sample.name == name).unwrap().value
}

#[test]
fn nobody_is_woken_to_hear_that_an_answer_is_out_but_who_has_more_to_ask() {
    let fake = Fake::start_pages(1, EdgeLimits::default(), act);
    let mut raw = Raw::connect(fake.address);
    // A worker may be done before the guard has turned to the client, so one answer without a word has to do.
    wait_until("an answer needs no word", || {
        let before = WORDS.load(Ordering::SeqCst);
        ask(&mut raw, "/counted");
        wait_until("the worker is free", || sample(&fake, "mercato_workers_free") == 1);
        WORDS.load(Ordering::SeqCst) == before
    });
    let before = WORDS.load(Ordering::SeqCst);
    raw.send(request("/counted").repeat(2));
    assert_eq!((raw.answer().text(), raw.answer().text()), ("/counted".to_owned(), "/counted".to_owned()));
    assert!(WORDS.load(Ordering::SeqCst) > before, "the second request was there already");
}

#[test]
fn what_comes_for_somebody_else_is_left_to_them() {
    let fake = Fake::start_pages(1, EdgeLimits::default(), act);
    let (mut one, mut other) = (Raw::connect(fake.address), Raw::connect(fake.address));
    for turn in 0..30 {
        for way in ["put", "back", "stream"] {
            // One private connection serves both, and who got a page looks at it still.
            ask(&mut one, &format!("/put/{turn}"));
            ask(&mut other, &format!("/{way}/{turn}/other"));
        }
    }
    ask(&mut one, "/put/last");
    assert_eq!(sample(&fake, "mercato_private_replaced_total"), 0);
}

#[test]
fn an_answer_may_take_longer_than_anybody_looks() {
    let fake = Fake::start_pages(1, EdgeLimits::default(), act);
    let mut raw = Raw::connect(fake.address);
    ask(&mut raw, "/slow/1");
    // The next one comes before the first is answered.
    raw.send(request("/slow/2"));
    thread::sleep(Duration::from_millis(50));
    raw.send(request("/put/3"));
    assert_eq!((raw.answer().text(), raw.answer().text()), ("/slow/2".to_owned(), "/put/3".to_owned()));
    thread::sleep(LONGER);
    ask(&mut raw, "/put/4");
    // Who leaves before the answer costs nobody else a worker.
    raw.send(request("/slow/5"));
    drop(raw);
    ask(&mut Raw::connect(fake.address), "/put/6");
    assert_eq!(sample(&fake, "mercato_private_replaced_total"), 0);
}

/// Both kinds of pools: in the one of long answers it is watched whether clients leave.
#[test]
fn what_was_asked_before_the_end_is_still_answered() {
    for start in [Fake::start, Fake::start_pages] {
        let mut fake = start(1, EdgeLimits::default(), act);
        let mut raw = Raw::connect(fake.address);
        ask(&mut raw, "/put/1");
        raw.send(request("/slow/2"));
        wait_until("it is worked on", || sample(&fake, "mercato_workers_free") == 0);
        let guard = fake.guard.take().unwrap();
        guard.stop_accepting();
        raw.send(request("/put/3"));
        assert_eq!((raw.answer().text(), raw.answer().text()), ("/slow/2".to_owned(), "/put/3".to_owned()));
        assert!(raw.is_over());
        let samples = guard.sampler();
        assert!(guard.drain(Instant::now() + Duration::from_secs(20)));
        for name in ["mercato_clients_gone_total", "mercato_private_replaced_total"] {
            assert_eq!(samples().iter().find(|sample| sample.name == name).unwrap().value, 0, "{name}");
        }
    }
}

#[test]
fn who_says_nothing_more_is_let_go_in_time_and_at_the_end() {
    let limits = EdgeLimits { idle_time: Duration::from_secs(1), ..EdgeLimits::default() };
    let fake = Fake::start_pages(1, limits, act);
    let mut raw = Raw::connect(fake.address);
    ask(&mut raw, "/put/1");
    assert!(raw.is_over());
    wait_until("it is counted", || sample(&fake, "mercato_connections_idle_closed_total") == 1);
    for start in [Fake::start, Fake::start_pages] {
        let mut fake = start(2, EdgeLimits::default(), act);
        let mut clients: Vec<_> = (0..20).map(|_| Raw::connect(fake.address)).collect();
        clients.iter_mut().for_each(|raw| ask(raw, "/put/1"));
        let guard = fake.guard.take().unwrap();
        let samples = guard.sampler();
        assert!(guard.drain(Instant::now() + Duration::from_secs(20)), "nobody is cut");
        assert!(clients.iter_mut().all(Raw::is_over));
        for name in ["mercato_clients_gone_total", "mercato_private_replaced_total"] {
            assert_eq!(samples().iter().find(|sample| sample.name == name).unwrap().value, 0, "{name}");
        }
    }
}

/// All ways of answering at once, few workers, many clients: every answer names its request.
#[test]
fn every_client_gets_its_own_answers() {
    let fake = Fake::start_pages(3, EdgeLimits::default(), act);
    let talk = |client: u64| {
        let mut random = (client + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut next = |below: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random % below
        };
        let mut raw = Raw::connect(fake.address);
        for number in 0..200 {
            let ways = ["put", "put", "put", "put", "back", "stream"];
            let targets: Vec<_> = (0..1 + next(3) / 2)
                .map(|part| format!("/{}/{client}/{number}/{part}", ways[next(6) as usize]))
                .collect();
            raw.send(targets.iter().map(|target| request(target)).collect::<String>());
            for target in &targets {
                assert_eq!(&raw.answer().text(), target);
            }
            match next(40) {
                0 => raw = Raw::connect(fake.address),
                1 => thread::sleep(LONGER),
                _ => {}
            }
        }
    };
    thread::scope(|scope| (0..12).for_each(|client| drop(scope.spawn(move || talk(client)))));
    wait_until("all workers are free", || sample(&fake, "mercato_workers_free") == 3);
    assert_eq!(sample(&fake, "mercato_private_replaced_total"), 0);
}
