//! A connection whose every byte the test decides, and which knows where an answer ends.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use crate::harness::{Answer, parse};

/// Guards against hanging only.
const PATIENCE: Duration = Duration::from_secs(30);

pub struct Raw {
    stream: TcpStream,
    bytes: Vec<u8>,
}

impl Raw {
    pub fn connect(address: SocketAddr) -> Raw {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Raw { stream, bytes: Vec::new() }
    }

    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Sends; a server that has closed already is no fault of the client.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> &mut Raw {
        let _ = self.stream.write_all(bytes.as_ref());
        self
    }

    pub fn finish_sending(&mut self) -> &mut Raw {
        self.stream.shutdown(Shutdown::Write).unwrap();
        self
    }

    /// Reads one answer and leaves what follows it.
    #[track_caller]
    pub fn answer(&mut self) -> Answer {
        self.read_answer(true).expect("an answer")
    }

    /// The answer to a `HEAD`.
    #[track_caller]
    pub fn head_answer(&mut self) -> Answer {
        self.read_answer(false).expect("an answer")
    }

    /// Whether nothing follows but the end.
    #[track_caller]
    pub fn is_over(&mut self) -> bool {
        while self.bytes.is_empty() {
            if !self.more() {
                return true;
            }
        }
        false
    }

    /// Everything up to the end, as it is.
    pub fn rest(&mut self) -> Vec<u8> {
        while self.more() {}
        std::mem::take(&mut self.bytes)
    }

    fn read_answer(&mut self, with_body: bool) -> Option<Answer> {
        let head = loop {
            if let Some(at) = self.bytes.windows(4).position(|window| window == b"\r\n\r\n") {
                break at + 4;
            }
            if !self.more() {
                return None;
            }
        };
        let text = String::from_utf8(self.bytes[..head].to_vec()).unwrap();
        let value = |name: &str| {
            let line =
                text.lines().find(|line| line.to_ascii_lowercase().starts_with(&format!("{name}:")))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        };
        let with_body = with_body && !text.starts_with("HTTP/1.1 204 ") && !text.starts_with("HTTP/1.1 304 ");
        let length = match (with_body, value("content-length"), value("transfer-encoding")) {
            (true, Some(length), _) => head + length.parse::<usize>().unwrap(),
            (true, None, Some(_)) => {
                let mut at = head;
                loop {
                    match end_of_chunks(&self.bytes, &mut at) {
                        Some(end) => break end,
                        None => assert!(self.more(), "the chunks broke off"),
                    }
                }
            }
            _ => head,
        };
        while self.bytes.len() < length {
            assert!(self.more(), "the body broke off");
        }
        let wire: Vec<u8> = self.bytes.drain(..length).collect();
        Some(parse(&wire))
    }

    /// Reads once; says whether anything came.
    fn more(&mut self) -> bool {
        let mut piece = [0; 16 * 1024];
        match self.stream.read(&mut piece) {
            Ok(0) => false,
            Ok(length) => {
                self.bytes.extend_from_slice(&piece[..length]);
                true
            }
            Err(error) if error.kind() == ErrorKind::ConnectionReset => false,
            Err(error) => panic!("{error}"),
        }
    }
}

/// Goes from chunk to chunk, as far as they are there, and gives the end of the last one.
fn end_of_chunks(bytes: &[u8], at: &mut usize) -> Option<usize> {
    loop {
        let line = *at + bytes.get(*at..)?.windows(2).position(|window| window == b"\r\n")?;
        let text = std::str::from_utf8(&bytes[*at..line]).unwrap();
        let length = usize::from_str_radix(text, 16).expect("the length of a chunk");
        if length == 0 {
            // An empty line ends the trailer fields, and with them the body.
            let trailer = bytes.get(line..)?.windows(4).position(|window| window == b"\r\n\r\n")?;
            return Some(line + trailer + 4);
        }
        let end = line + 2 + length + 2;
        if bytes.len() < end {
            return None;
        }
        *at = end;
    }
}

/// Sends bytes on a connection of their own and gives the first answer, and whether the connection ended after it.
#[track_caller]
pub fn ask(address: SocketAddr, bytes: impl AsRef<[u8]>) -> (Answer, bool) {
    let mut raw = Raw::connect(address);
    let answer = raw.send(bytes).answer();
    let closes = answer.header("Connection") == Some("close");
    if closes {
        assert!(raw.is_over(), "something follows the last answer");
    }
    (answer, closes)
}
