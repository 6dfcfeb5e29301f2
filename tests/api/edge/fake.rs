//! A guard in front of workers that do what a test says.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use mercato::edge::{EdgeLimits, Guard, GuardParts, ListenAddress, PoolPlan, PrivateDoor};
use mercato::outlets::{Claim, Outlets};

use super::raw::Raw;

/// What a worker does with a request.
pub type Act = fn(&Asked, &mut UnixStream) -> std::io::Result<()>;

/// A request as far as a worker here looks at it.
pub struct Asked {
    pub target: String,
    offer: Option<String>,
    outlets: Arc<Outlets>,
}

impl Asked {
    /// Takes the way that the guard offers.
    pub fn claim(&self) -> Option<Claim> {
        self.outlets.claim(self.offer.as_deref()?)
    }
}

/// A guard whose workers do what the test says.
pub struct Fake {
    pub guard: Option<Guard>,
    pub address: SocketAddr,
}

impl Fake {
    /// Workers whose answers may take long.
    pub fn start(workers: usize, limits: EdgeLimits, act: Act) -> Fake {
        Fake::start_as(true, workers, limits, act)
    }

    /// Workers whose answers are pages.
    pub fn start_pages(workers: usize, limits: EdgeLimits, act: Act) -> Fake {
        Fake::start_as(false, workers, limits, act)
    }

    fn start_as(is_long: bool, workers: usize, limits: EdgeLimits, act: Act) -> Fake {
        let mut random = [0; 8];
        getrandom::fill(&mut random).unwrap();
        let (listener, door) = PrivateDoor::open(u64::from_le_bytes(random)).unwrap();
        let outlets = Arc::<Outlets>::default();
        let offered = Arc::clone(&outlets);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, offered) = (stream.unwrap(), Arc::clone(&offered));
                thread::spawn(move || work(stream, &offered, act));
            }
        });
        let guard = Guard::start(GuardParts {
            address: ListenAddress::Tcp(SocketAddr::from(([127, 0, 0, 1], 0))),
            limits,
            pools: vec![PoolPlan { name: "fake", door: Arc::new(door), workers, is_long }],
            chooser: Arc::new(|_, _| 0),
            refuse: Arc::new(|refusal, _, _| {
                let body = refusal.label();
                format!("HTTP/1.1 503 No\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
            }),
            outlets,
            is_exempt: Arc::new(|_| true),
            strangers_niceness: 0,
        })
        .unwrap();
        let ListenAddress::Tcp(address) = guard.address().clone() else { panic!("it listens on TCP") };
        Fake { guard: Some(guard), address }
    }

    pub fn get(&self, target: &str) -> Raw {
        let mut raw = Raw::connect(self.address);
        raw.send(format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n"));
        raw
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        if let Some(guard) = self.guard.take() {
            guard.drain(Instant::now());
        }
    }
}

/// Answers proofs by itself, and has `act` answer the rest.
fn work(mut stream: UnixStream, outlets: &Arc<Outlets>, act: Act) {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    while let Ok(length) = stream.read(&mut piece)
        && length > 0
    {
        bytes.extend_from_slice(&piece[..length]);
        if !bytes.ends_with(b"\r\n\r\n") {
            continue;
        }
        let request = String::from_utf8(std::mem::take(&mut bytes)).unwrap();
        let line = request.lines().find_map(|line| line.strip_prefix("X-Edge-Outlet: "));
        let asked = Asked {
            target: request.split(' ').nth(1).unwrap().to_owned(),
            offer: line.map(str::to_owned),
            outlets: Arc::clone(outlets),
        };
        let acted = if request.contains("X-Edge-Probe") {
            stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n")
        } else {
            act(&asked, &mut stream)
        };
        if acted.is_err() {
            return;
        }
    }
}
