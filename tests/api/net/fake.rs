//! An event loop in front of workers that do what a test says, without tiny_http.

use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use mercato_base::sample::Sample;
use mercato_net::{
    Bound, ClassPlan, Classified, Client, Head, ListenAddress, NetLimits, NetParts, NetServer,
    PrivateAddress, Refusal, ResponseSocket, Slots,
};

use super::raw::Raw;

/// A worker's action on a request; returns whether its private connection goes on.
pub type Act = fn(&Asked) -> bool;

/// A request as far as a worker here looks at it.
pub struct Asked {
    pub target: String,
    slot: String,
    slots: Arc<Slots>,
}

impl Asked {
    /// Takes the socket of the client.
    pub fn claim(&self) -> Option<ResponseSocket> {
        self.slots.claim(&self.slot)
    }

    /// Answers with the body of the request.
    pub fn echo(&self) -> bool {
        let mut socket = self.claim().unwrap();
        let body = socket.take_body().unwrap().bytes;
        socket.send_page(page(&body), 0).is_ok()
    }

    /// Answers with a page.
    pub fn answer(&self, body: &[u8]) -> bool {
        self.claim().is_some_and(|socket| socket.send_page(page(body), 0).is_ok())
    }
}

/// An answer with a length.
fn page(body: &[u8]) -> Vec<u8> {
    [format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).as_bytes(), body].concat()
}

/// An event loop whose workers do what the test says.
pub struct Fake {
    pub net: Option<NetServer>,
    pub address: SocketAddr,
}

impl Fake {
    pub fn start(workers: usize, limits: NetLimits, act: Act) -> Fake {
        let mut random = [0; 8];
        getrandom::fill(&mut random).unwrap();
        let (listener, upstream) = PrivateAddress::open(u64::from_le_bytes(random)).unwrap();
        let address = ListenAddress::Tcp(SocketAddr::from(([127, 0, 0, 1], 0)));
        let bound = Bound::new(&address, limits, vec![ClassPlan { name: "fake", workers }]).unwrap();
        serve(listener, Arc::clone(bound.slots()), act);
        let net = bound
            .start(NetParts {
                upstream,
                classifier: Arc::new(|head: &Head<'_, '_>, _| Classified::new(0, client_of(head))),
                refuse: Arc::new(|refusal: &Refusal, _, _| {
                    let body = refusal.label();
                    format!("HTTP/1.1 503 No\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
                }),
                counted_as: Arc::new(|_| None),
            })
            .unwrap();
        let ListenAddress::Tcp(address) = net.address().clone() else { panic!("it listens on TCP") };
        Fake { net: Some(net), address }
    }

    pub fn get(&self, target: &str) -> Raw {
        let mut raw = Raw::connect(self.address);
        raw.send(request(target));
        raw
    }

    /// The value of a metric.
    #[track_caller]
    pub fn sample(&self, name: &str) -> u64 {
        value(&self.net.as_ref().unwrap().sampler()(), name)
    }

    /// Ends it with nobody cut, given up or replaced.
    #[track_caller]
    pub fn end_in_order(mut self) {
        let net = self.net.take().unwrap();
        let samples = net.sampler();
        assert!(net.drain(Instant::now() + Duration::from_secs(20)).0, "nobody is cut");
        for name in ["mercato_clients_gone_total", "mercato_private_replaced_total"] {
            assert_eq!(value(&samples(), name), 0, "{name}");
        }
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        if let Some(net) = self.net.take() {
            net.drain(Instant::now());
        }
    }
}

pub fn request(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n")
}

#[track_caller]
fn value(samples: &[Sample], name: &str) -> u64 {
    samples.iter().find(|sample| sample.name == name).unwrap().value
}

/// Targets `/…?client=N` come from the account `N`.
fn client_of(head: &Head<'_, '_>) -> Client {
    match head.target.split_once("client=").and_then(|(_, number)| number.parse().ok()) {
        Some(number) => Client::Account(number),
        None => Client::Address(IpAddr::V4(Ipv4Addr::LOCALHOST)),
    }
}

fn serve(listener: UnixListener, slots: Arc<Slots>, act: Act) {
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, slots) = (stream.unwrap(), Arc::clone(&slots));
            thread::spawn(move || read_requests(stream, &slots, act));
        }
    });
}

/// Has `act` answer, each request on a thread of its own.
fn read_requests(mut stream: UnixStream, slots: &Arc<Slots>, act: Act) {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        while let Some(asked) = take_request(&mut bytes, slots) {
            if asked.target == "/break-the-lane" {
                return;
            } else {
                thread::spawn(move || act(&asked));
            }
        }
        match stream.read(&mut piece) {
            Ok(length) if length > 0 => bytes.extend_from_slice(&piece[..length]),
            _ => return,
        }
    }
}

fn take_request(bytes: &mut Vec<u8>, slots: &Arc<Slots>) -> Option<Asked> {
    let head = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let text = String::from_utf8(bytes[..head].to_vec()).unwrap();
    let slot = text.split(' ').nth(1).unwrap()[1..].to_owned();
    bytes.drain(..head);
    Some(Asked { target: slots.target_of(&slot).unwrap_or_default(), slot, slots: Arc::clone(slots) })
}
