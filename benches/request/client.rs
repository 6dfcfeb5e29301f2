//! A client that does no more than it must: it writes a request and reads until the answer is whole.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// The longest silence of a server.
const SILENCE_MAX: Duration = Duration::from_secs(30);
const BUFFER_BYTES: usize = 1 << 20;

/// A kept connection.
pub struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Client {
    pub fn connect(address: SocketAddr) -> Client {
        Client { stream: connect(address), buffer: vec![0; BUFFER_BYTES] }
    }

    /// Sends a request and reads its answer, which has a length and is a success. Gives the length of all of it.
    pub fn exchange(&mut self, request: &str) -> usize {
        self.stream.write_all(request.as_bytes()).unwrap();
        let (mut filled, mut total) = (0, None);
        while total.is_none_or(|total| filled < total) {
            let length = self.stream.read(self.buffer.get_mut(filled..).unwrap()).unwrap();
            assert!(length > 0, "the server hung up");
            filled += length;
            total = total.or_else(|| whole_length(self.buffer.get(..filled).unwrap()));
        }
        filled
    }
}

/// Sends a request on a connection of its own and reads to its end. Gives the bytes that came.
pub fn drain(address: SocketAddr, request: &str) -> u64 {
    let mut stream = connect(address);
    stream.write_all(request.as_bytes()).unwrap();
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut bytes = 0;
    loop {
        let length = stream.read(&mut buffer).unwrap();
        if bytes == 0 {
            let head = String::from_utf8_lossy(buffer.get(..length.min(64)).unwrap());
            assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        }
        if length == 0 {
            return bytes;
        }
        bytes += length as u64;
    }
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(SILENCE_MAX)).unwrap();
    stream
}

/// Length of head and body, once the head is there.
fn whole_length(bytes: &[u8]) -> Option<usize> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let head = std::str::from_utf8(bytes.get(..end)?).unwrap();
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    let length = head.split("Content-Length: ").nth(1).expect("a length").split("\r\n").next()?;
    Some(end + length.parse::<usize>().unwrap())
}
