//! A stub server whose responses a test defines.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// The response to one request.
pub struct Answer {
    /// Delay before the response.
    pub delay: Duration,
    /// The bytes to send.
    pub bytes: Vec<u8>,
    /// Whether the connection closes afterwards.
    pub then_close: bool,
}

/// A good response.
pub fn ok() -> Answer {
    let bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_vec();
    Answer { delay: Duration::ZERO, bytes, then_close: false }
}

/// The stub server, which ends with the process.
pub struct Stub(String);

impl Stub {
    /// Starts a server that calls `answer` for every request. Requests are numbered across all connections.
    pub fn start(answer: impl Fn(u64) -> Answer + Send + Sync + 'static) -> Stub {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (answer, number) = (Arc::new(answer), Arc::new(AtomicU64::new(0)));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (answer, number) = (Arc::clone(&answer), Arc::clone(&number));
                thread::spawn(move || serve(stream.unwrap(), &*answer, &number));
            }
        });
        Stub(url)
    }

    /// An address without a listener.
    pub fn dead() -> Stub {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        Stub(format!("http://{}", listener.local_addr().unwrap()))
    }

    pub fn url(&self) -> &str {
        &self.0
    }
}

fn serve(mut stream: TcpStream, answer: &(dyn Fn(u64) -> Answer + Send + Sync), number: &AtomicU64) {
    stream.set_nodelay(true).unwrap();
    let mut request = Vec::new();
    let mut byte = [0];
    while stream.read(&mut byte).is_ok_and(|count| count == 1) {
        request.push(byte[0]);
        if !request.ends_with(b"\r\n\r\n") {
            continue;
        }
        request.clear();
        let answer = answer(number.fetch_add(1, Ordering::SeqCst));
        thread::sleep(answer.delay);
        if stream.write_all(&answer.bytes).is_err() || answer.then_close {
            return;
        }
    }
}
