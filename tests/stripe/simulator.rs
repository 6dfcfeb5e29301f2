//! Stripe, as far as the server speaks to it: Checkout Sessions are created and listed, refunds and disputes are listed, and
//! every event is signed as Stripe documents it.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{SystemTime, UNIX_EPOCH};

use hmac::{Hmac, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

pub const KEY: &str = "sk_test_mercato";
pub const WEBHOOK_SECRET: &str = "whsec_mercato";

/// A running simulator.
#[derive(Clone)]
pub struct Stripe {
    address: SocketAddr,
    world: Arc<Mutex<World>>,
    /// The status of every answer, where it is no success.
    fails: Arc<AtomicU16>,
}

#[derive(Default)]
struct World {
    sessions: Vec<Session>,
    by_key: HashMap<String, usize>,
    refunds: Vec<(String, u64)>,
    disputes: Vec<Dispute>,
    events: u64,
    requests: Vec<String>,
}

struct Session {
    fields: HashMap<String, String>,
    is_paid: bool,
    is_expired: bool,
    refunded: u64,
    created: i64,
}

struct Dispute {
    payment: String,
    amount: u64,
    status: &'static str,
}

pub fn unix_now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64
}

/// The header with which Stripe signs a body.
pub fn signature(secret: &str, at: i64, body: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(format!("{at}.{body}").as_bytes());
    let hex: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("t={at},v1={hex},v0=0000")
}

impl Stripe {
    pub fn start() -> Stripe {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let stripe = Stripe { address, world: Arc::default(), fails: Arc::default() };
        let serving = stripe.clone();
        std::thread::spawn(move || {
            for connection in listener.incoming().map_while(Result::ok) {
                let serving = serving.clone();
                std::thread::spawn(move || drop(serving.serve(connection)));
            }
        });
        stripe
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Flags of a server that takes payments here; the secrets go into files of the folder.
    pub fn flags(&self, folder: &Path) -> Vec<String> {
        let file = |name: &str, content: &str| {
            let path = folder.join(name);
            std::fs::write(&path, format!("{content}\n")).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let (key, webhook) = (file("stripe.key", KEY), file("stripe.webhook", WEBHOOK_SECRET));
        let flags = ["--payments", "stripe", "--stripe-secret-key-file", &key];
        let more = ["--stripe-webhook-secret-file", &webhook, "--stripe-api", &self.url()];
        flags.iter().chain(&more).map(ToString::to_string).collect()
    }

    /// From now on every call is answered by this status; 0 ends that.
    pub fn fail_with(&self, status: u16) {
        self.fails.store(status, Ordering::SeqCst);
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap()
    }

    /// First lines of the requests so far.
    pub fn requests(&self) -> Vec<String> {
        self.world().requests.clone()
    }

    pub fn sessions(&self) -> usize {
        self.world().sessions.len()
    }

    /// Whether the page of a session was closed.
    pub fn is_expired(&self, session: usize) -> bool {
        self.world().sessions[session].is_expired
    }

    /// A field of a session as it was sent.
    pub fn field(&self, session: usize, name: &str) -> Option<String> {
        self.world().sessions[session].fields.get(name).cloned()
    }

    /// Changes what a session says, as an attacker with the key could.
    pub fn set_field(&self, session: usize, name: &str, value: &str) {
        self.world().sessions[session].fields.insert(name.to_owned(), value.to_owned());
    }

    /// Credits of all sessions that were paid, less what was refunded in proportion.
    pub fn credits_paid(&self) -> u64 {
        let world = self.world();
        let paid = world.sessions.iter().filter(|session| session.is_paid);
        paid.map(|session| {
            let credits: u64 = session.fields["metadata[mercato_credits]"].parse().unwrap();
            credits - credits * session.refunded / session.amount()
        })
        .sum()
    }

    /// The customer pays; the event that tells it.
    pub fn pay(&self, session: usize) -> String {
        let mut world = self.world();
        world.sessions[session].is_paid = true;
        let object = world.sessions[session].object(session);
        world.event("checkout.session.completed", &object)
    }

    /// An event about a session as it now is.
    pub fn session_event(&self, kind: &str, session: usize) -> String {
        let mut world = self.world();
        let object = world.sessions[session].object(session);
        world.event(kind, &object)
    }

    /// So much more of a payment goes back; the event that tells it.
    pub fn refund(&self, session: usize, amount: u64) -> String {
        let mut world = self.world();
        world.sessions[session].refunded += amount;
        world.refunds.push((payment(session), amount));
        let charge = world.sessions[session].charge(session);
        world.event("charge.refunded", &charge)
    }

    /// The bank asks a payment back; the event that tells it.
    pub fn dispute(&self, session: usize) -> String {
        let mut world = self.world();
        let amount = world.sessions[session].amount();
        world.disputes.push(Dispute { payment: payment(session), amount, status: "needs_response" });
        let object = world.dispute(world.disputes.len() - 1);
        world.event("charge.dispute.created", &object)
    }

    /// A dispute ends; the event that tells it.
    pub fn close_dispute(&self, dispute: usize, is_won: bool) -> String {
        let mut world = self.world();
        world.disputes[dispute].status = if is_won { "won" } else { "lost" };
        let object = world.dispute(dispute);
        world.event("charge.dispute.closed", &object)
    }

    /// Cents of a session that were not refunded.
    pub fn left(&self, session: usize) -> u64 {
        let world = self.world();
        world.sessions[session].amount() - world.sessions[session].refunded
    }

    /// Makes a session older than a comparison looks back.
    pub fn age(&self, session: usize, seconds: i64) {
        self.world().sessions[session].created -= seconds;
    }

    fn serve(&self, mut connection: TcpStream) -> std::io::Result<()> {
        let mut reader = BufReader::new(connection.try_clone()?);
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let line = line.trim_end().to_owned();
            if line.is_empty() {
                break;
            }
            head.push(line);
        }
        let header = |name: &str| {
            let mut fields = head.iter().skip(1).filter_map(|line| line.split_once(": "));
            fields.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
        };
        let length = header("Content-Length").map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let first = head.first().cloned().unwrap_or_default();
        let mut words = first.split(' ');
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let form = String::from_utf8_lossy(&body).into_owned();
        self.world().requests.push(first.clone());
        let fails = self.fails.load(Ordering::SeqCst);
        let (status, answer) = if fails > 0 {
            (fails, json!({"error": {"message": format!("refused for {KEY}"), "code": "simulated"}}))
        } else if header("Authorization") != Some(format!("Bearer {KEY}")) {
            (401, json!({"error": {"message": "wrong key"}}))
        } else {
            self.answer(method, target, &form, header("Idempotency-Key"))
        };
        let text = answer.to_string();
        write!(
            connection,
            "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
            text.len()
        )
    }

    fn answer(&self, method: &str, target: &str, form: &str, key: Option<String>) -> (u16, Value) {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let query = pairs(query);
        match (method, path) {
            ("POST", "/v1/checkout/sessions") => {
                let number = self.world().create(pairs(form), key.unwrap());
                let id = session_id(number);
                (
                    200,
                    json!({"id": id, "object": "checkout.session", "url": format!("{}/c/pay/{id}", self.url())}),
                )
            }
            ("GET", "/v1/checkout/sessions") => (200, self.world().list_sessions(&query)),
            ("POST", _) if path.ends_with("/expire") => {
                let mut world = self.world();
                let is_meant =
                    |number: &usize| path == format!("/v1/checkout/sessions/{}/expire", session_id(*number));
                match (0..world.sessions.len()).find(is_meant) {
                    Some(number) if !world.sessions[number].is_paid => {
                        world.sessions[number].is_expired = true;
                        (200, world.sessions[number].object(number))
                    }
                    _ => (400, json!({"error": {"message": "the session is not open"}})),
                }
            }
            ("GET", "/v1/refunds") => {
                assert_eq!(query.get("expand[]").map(String::as_str), Some("data.charge"));
                (200, self.world().list_refunds())
            }
            ("GET", "/v1/disputes") => (200, self.world().list_disputes()),
            _ => (404, json!({"error": {"message": "no such path"}})),
        }
    }
}

fn session_id(number: usize) -> String {
    format!("cs_test_{number}")
}

/// Stripe's id of the payment of a session.
pub fn payment(session: usize) -> String {
    format!("pi_{session}")
}

impl World {
    fn create(&mut self, fields: HashMap<String, String>, key: String) -> usize {
        let number = self.sessions.len();
        let session = Session { fields, is_paid: false, is_expired: false, refunded: 0, created: unix_now() };
        let number = *self.by_key.entry(key).or_insert(number);
        if number == self.sessions.len() {
            self.sessions.push(session);
        }
        number
    }

    fn event(&mut self, kind: &str, object: &Value) -> String {
        self.events += 1;
        let id = format!("evt_{}", self.events);
        json!({"id": id, "object": "event", "type": kind, "livemode": false, "data": {"object": object}})
            .to_string()
    }

    /// Newest first, in pages.
    fn list_sessions(&self, query: &HashMap<String, String>) -> Value {
        let since: i64 = query["created[gte]"].parse().unwrap();
        let limit: usize = query["limit"].parse().unwrap();
        let until: i64 = query.get("created[lte]").map_or(i64::MAX, |until| until.parse().unwrap());
        let is_complete = match query["status"].as_str() {
            "complete" => true,
            "open" => false,
            other => panic!("the status {other}"),
        };
        let is_listed = |session: &Session| {
            session.is_paid == is_complete
                && !session.is_expired
                && (since..=until).contains(&session.created)
        };
        let after = query.get("starting_after");
        let all = self.sessions.iter().enumerate().rev();
        let mut rest = all
            .filter(|(_, session)| is_listed(session))
            .skip_while(|(number, _)| after.is_some_and(|after| session_id(*number) != *after))
            .skip(usize::from(after.is_some()));
        // Small pages, so that there are several.
        let data: Vec<Value> =
            rest.by_ref().take(limit.min(3)).map(|(number, session)| session.object(number)).collect();
        json!({"object": "list", "data": data, "has_more": rest.next().is_some()})
    }

    fn list_refunds(&self) -> Value {
        let refund = |(number, (payment, amount)): (usize, &(String, u64))| {
            let session: usize = payment.trim_start_matches("pi_").parse().unwrap();
            let charge = self.sessions[session].charge(session);
            json!({"id": format!("re_{number}"), "object": "refund", "amount": amount, "payment_intent": payment, "charge": charge})
        };
        let data: Vec<Value> = self.refunds.iter().enumerate().map(refund).collect();
        json!({"object": "list", "data": data, "has_more": false})
    }

    fn list_disputes(&self) -> Value {
        let data: Vec<Value> = (0..self.disputes.len()).map(|number| self.dispute(number)).collect();
        json!({"object": "list", "data": data, "has_more": false})
    }

    fn dispute(&self, number: usize) -> Value {
        let Dispute { payment, amount, status } = &self.disputes[number];
        json!({"id": format!("dp_{number}"), "object": "dispute", "amount": amount, "status": status, "payment_intent": payment})
    }
}

impl Session {
    fn amount(&self) -> u64 {
        self.fields["line_items[0][price_data][unit_amount]"].parse().unwrap()
    }

    fn object(&self, number: usize) -> Value {
        let metadata = ["mercato_checkout", "mercato_account", "mercato_credits"];
        let metadata: HashMap<&str, &String> = metadata
            .into_iter()
            .filter_map(|name| Some((name, self.fields.get(&format!("metadata[{name}]"))?)))
            .collect();
        json!({
            "id": session_id(number),
            "object": "checkout.session",
            "client_reference_id": self.fields.get("client_reference_id"),
            "metadata": metadata,
            "amount_total": self.amount(),
            "currency": self.fields["line_items[0][price_data][currency]"],
            "payment_status": if self.is_paid { "paid" } else { "unpaid" },
            "status": "complete",
            "payment_intent": self.is_paid.then(|| payment(number)),
            "created": self.created,
        })
    }

    fn charge(&self, number: usize) -> Value {
        json!({
            "id": format!("ch_{number}"),
            "object": "charge",
            "amount": self.amount(),
            "amount_refunded": self.refunded,
            "payment_intent": payment(number),
        })
    }
}

/// Decodes a form or a query.
fn pairs(text: &str) -> HashMap<String, String> {
    let decoded = |part: &str| {
        let mut bytes = Vec::new();
        let mut rest = part.bytes();
        while let Some(byte) = rest.next() {
            match byte {
                b'+' => bytes.push(b' '),
                b'%' => {
                    let digits = [rest.next().unwrap(), rest.next().unwrap()];
                    bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap());
                }
                plain => bytes.push(plain),
            }
        }
        String::from_utf8(bytes).unwrap()
    };
    let parts = text.split('&').filter_map(|pair| pair.split_once('='));
    parts.map(|(name, value)| (decoded(name), decoded(value))).collect()
}
