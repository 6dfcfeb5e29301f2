//! Payments across kills: the server is killed with SIGKILL between any two steps of purchases, while the provider of the tests
//! goes on and repeats what was not acknowledged, or forgets it.
//!
//! In the end, exactly the credits that were paid and not refunded are there. `MERCATO_KILLS` sets the number of kills
//! (default 36).

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use mercato_catalog::DataDirectory;
use mercato_ledger::EntryKind;

use super::books;
use super::simulator::{Stripe, WEBHOOK_SECRET, signature, unix_now};

const PASSWORD: &str = "eleven blue horses";
/// Steps between two kills at most.
const STEPS_MAX: u64 = 12;

#[test]
fn payments_are_granted_once_across_kills() {
    let kills = std::env::var("MERCATO_KILLS").map_or(36, |kills| kills.parse().unwrap());
    let (stripe, folder) = (Stripe::start(), tempfile::tempdir().unwrap());
    let mut random = u64::from(std::process::id()) << 20 | 0x9e37;
    println!("seed {random}");
    let mut chance = move |below: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % below
    };
    let mut shop = Shop::open(&stripe, folder.path());
    for _ in 0..kills {
        let (mut child, address) = serve(&stripe, folder.path());
        let dies_at = Instant::now() + Duration::from_micros(chance(150_000));
        let killer = std::thread::spawn(move || {
            std::thread::sleep(dies_at.saturating_duration_since(Instant::now()));
            child.kill().unwrap();
            child.wait().unwrap();
        });
        for _ in 0..chance(STEPS_MAX) {
            shop.step(address, &mut chance);
        }
        killer.join().unwrap();
    }
    let (mut child, address) = serve(&stripe, folder.path());
    shop.wait_until_reconciled(address);
    child.kill().unwrap();
    child.wait().unwrap();
    check_books(&stripe, folder.path());
    let told = (stripe.sessions(), shop.paid, shop.refunded, shop.acknowledged, shop.forgotten);
    println!("{kills} kills; sessions, payments, refunds, acknowledged and forgotten events: {told:?}");
    assert!(shop.paid > 0 && shop.acknowledged > 0, "there was work between the kills: {told:?}");
}

/// A customer who buys, and a provider that tells it.
struct Shop<'s> {
    stripe: &'s Stripe,
    cookie: String,
    /// Events that were not acknowledged.
    waiting: VecDeque<String>,
    /// Sessions that are not paid.
    open: usize,
    paid: usize,
    refunded: usize,
    acknowledged: usize,
    forgotten: usize,
}

impl Shop<'_> {
    /// Signs a customer up.
    fn open<'s>(stripe: &'s Stripe, folder: &Path) -> Shop<'s> {
        let (mut child, address) = serve(stripe, folder);
        let form = format!("email=anna%40example.org&password={}", PASSWORD.replace(' ', "+"));
        assert_eq!(post(address, "/account/sign-up", &form, "").unwrap().0, 303);
        let (status, head) = post(address, "/account/sign-in", &form, "").unwrap();
        assert_eq!(status, 303);
        let cookie = head.lines().find_map(|line| line.strip_prefix("Set-Cookie: ")).unwrap();
        let cookie = format!("Cookie: {}\r\n", cookie.split(';').next().unwrap());
        child.kill().unwrap();
        child.wait().unwrap();
        let (waiting, paid, refunded) = (VecDeque::new(), 0, 0);
        Shop { stripe, cookie, waiting, open: 0, paid, refunded, acknowledged: 0, forgotten: 0 }
    }

    /// The customer buys or pays, the bank gives back, or the provider tells one event.
    fn step(&mut self, address: SocketAddr, chance: &mut impl FnMut(u64) -> u64) {
        match chance(10) {
            // A purchase that is killed may have a session that nobody sees.
            0..=2 => drop(post(address, "/account/credits", "credits=10000", &self.cookie)),
            3 | 4 if self.open < self.stripe.sessions() => {
                let event = self.stripe.pay(self.open);
                self.open += 1;
                self.paid += 1;
                self.keep(event, chance);
            }
            5 if self.open > 0 => {
                let session = chance(self.open as u64) as usize;
                if self.stripe.left(session) > 0 {
                    let amount = 1 + chance(self.stripe.left(session));
                    let event = self.stripe.refund(session, amount);
                    self.refunded += 1;
                    self.keep(event, chance);
                }
            }
            _ => self.tell(address, chance),
        }
    }

    /// Every fourth event is never told.
    fn keep(&mut self, event: String, chance: &mut impl FnMut(u64) -> u64) {
        if chance(4) == 0 {
            self.forgotten += 1;
        } else {
            self.waiting.push_back(event);
        }
    }

    fn tell(&mut self, address: SocketAddr, chance: &mut impl FnMut(u64) -> u64) {
        if self.waiting.len() > 1 && chance(2) == 0 {
            self.waiting.rotate_left(1);
        }
        let Some(event) = self.waiting.front() else { return };
        let signed = signature(WEBHOOK_SECRET, unix_now(), event);
        let header = format!("Stripe-Signature: {signed}\r\n");
        match post(address, "/payments/stripe/webhook", event, &header) {
            Some((200, _)) => {
                self.acknowledged += 1;
                let event = self.waiting.pop_front();
                // Some are repeated although they were acknowledged.
                self.waiting.extend(event.filter(|_| chance(4) == 0));
            }
            Some((status, head)) => panic!("{status}: {head}"),
            None => {}
        }
    }

    /// The comparison at the start tells everything that is left.
    fn wait_until_reconciled(&self, address: SocketAddr) {
        let end = Instant::now() + Duration::from_secs(30);
        let expected = format!("{} credits", grouped(self.stripe.credits_paid()));
        while Instant::now() < end {
            let request =
                format!("GET /account HTTP/1.1\r\nHost: test\r\n{}Connection: close\r\n\r\n", self.cookie);
            if exchange(address, &request).is_some_and(|page| page.contains(&expected)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("the balance never became {expected}");
    }
}

/// A number as pages write it.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Each payment gave once, and everything adds up.
fn check_books(stripe: &Stripe, folder: &Path) {
    let data = DataDirectory::new(folder);
    let ledger = books::open(&data);
    let report = ledger.verify().unwrap();
    assert!(report.is_balanced(), "{report:?}");
    assert_eq!(report.credits, stripe.credits_paid());
    let (entries, _) = ledger.entries(None, 1, 10_000).unwrap();
    let mut purchases: Vec<&str> = entries
        .iter()
        .filter(|entry| entry.kind == EntryKind::Purchase)
        .map(|entry| entry.request_id.as_str())
        .collect();
    let count = purchases.len();
    purchases.sort_unstable();
    purchases.dedup();
    assert_eq!(purchases.len(), count, "a payment gave twice");
}

fn serve(stripe: &Stripe, folder: &Path) -> (Child, SocketAddr) {
    super::serve_with(folder, "power", &stripe.flags(folder))
}

/// Status and head of the answer; nothing when none came.
fn post(address: SocketAddr, target: &str, body: &str, header: &str) -> Option<(u16, String)> {
    let request = format!(
        "POST {target} HTTP/1.1\r\nHost: test\r\nSec-Fetch-Site: same-origin\r\n{header}\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    let answer = exchange(address, &request)?;
    let (head, _) = answer.split_once("\r\n\r\n")?;
    let status = head.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
    Some((status, head.to_owned()))
}

fn exchange(address: SocketAddr, request: &str) -> Option<String> {
    let mut connection = TcpStream::connect(address).ok()?;
    connection.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    connection.write_all(request.as_bytes()).ok()?;
    let mut answer = Vec::new();
    drop(connection.read_to_end(&mut answer));
    Some(String::from_utf8_lossy(&answer).into_owned())
}
