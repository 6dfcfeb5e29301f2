//! One request and its answer, byte by byte.

use std::net::SocketAddr;

use serde_json::Value;

use crate::net::raw::Raw;

/// One request.
#[derive(Debug, Clone)]
pub struct Ask {
    pub method: String,
    pub target: String,
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
}

impl Ask {
    pub fn new(method: &str, target: &str) -> Ask {
        Ask { method: method.to_owned(), target: target.to_owned(), headers: Vec::new(), body: None }
    }

    pub fn get(target: &str) -> Ask {
        Ask::new("GET", target)
    }

    pub fn post(target: &str, body: &str) -> Ask {
        Ask::new("POST", target).header("Content-Type", "application/json").body(body.as_bytes())
    }

    pub fn header(mut self, name: &str, value: &str) -> Ask {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn without_header(mut self, name: &str) -> Ask {
        self.headers.retain(|(present, _)| !present.eq_ignore_ascii_case(name));
        self
    }

    pub fn body(mut self, body: &[u8]) -> Ask {
        self.body = Some(body.to_vec());
        self
    }

    /// The request as a client of HTTP/1.0 sends it.
    pub fn old_bytes(&self) -> Vec<u8> {
        let bytes = String::from_utf8(self.bytes()).unwrap();
        bytes.replacen(" HTTP/1.1\r\n", " HTTP/1.0\r\n", 1).into_bytes()
    }

    /// Whether the answer has no body.
    pub fn is_head(&self) -> bool {
        self.method == "HEAD"
    }

    /// The bytes of the request.
    pub fn bytes(&self) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        if value_of(&self.headers, "Host").is_none() {
            head.push_str("Host: mercato.test\r\n");
        }
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if let Some(body) = &self.body {
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        head.push_str("\r\n");
        [head.as_bytes(), self.body.as_deref().unwrap_or_default()].concat()
    }
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Fields behind the last chunk.
    pub trailers: Vec<(String, String)>,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        value_of(&self.headers, name)
    }

    pub fn trailer(&self, name: &str) -> Option<&str> {
        value_of(&self.trailers, name)
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// The body as JSON; null where it is something else.
    pub fn json_or_null(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The refusal's code and, where details carry one, its reason.
    #[track_caller]
    pub fn refusal(&self) -> (u16, String, String) {
        let json = self.json();
        assert_eq!(json["success"], false);
        assert!(json["data"].is_null());
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        (self.status, word(&json["error"]["code"]), word(&json["error"]["details"]["reason"]))
    }
}

/// Sends one request on a connection of its own and reads the answer.
#[track_caller]
pub fn exchange(address: SocketAddr, ask: &Ask) -> Answer {
    let mut raw = Raw::connect(address);
    raw.send(ask.bytes());
    if ask.is_head() { raw.head_answer() } else { raw.answer() }
}

/// Splits an answer and puts chunks together.
pub fn parse(wire: &[u8]) -> Answer {
    let split = wire.windows(4).position(|window| window == b"\r\n\r\n").expect("an answer with a head");
    let head = std::str::from_utf8(&wire[..split]).unwrap();
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers = fields(lines);
    let chunked = headers.iter().any(|(name, value)| name == "Transfer-Encoding" && value == "chunked");
    let rest = &wire[split + 4..];
    let (body, trailers) = if chunked { join_chunks(rest) } else { (rest.to_vec(), Vec::new()) };
    Answer { status, headers, body, trailers }
}

fn fields<'t>(lines: impl Iterator<Item = &'t str>) -> Vec<(String, String)> {
    let fields = lines.map(|line| line.split_once(": ").unwrap());
    fields.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn value_of<'t>(fields: &'t [(String, String)], name: &str) -> Option<&'t str> {
    let found = fields.iter().find(|(present, _)| present.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.as_str())
}

fn join_chunks(mut rest: &[u8]) -> (Vec<u8>, Vec<(String, String)>) {
    let mut body = Vec::new();
    while let Some(end) = rest.windows(2).position(|window| window == b"\r\n") {
        let Ok(length) = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16) else { break };
        if length == 0 {
            let trailers = std::str::from_utf8(&rest[end + 2..]).unwrap().strip_suffix("\r\n").unwrap();
            return (body, fields(trailers.lines()));
        }
        body.extend_from_slice(&rest[end + 2..end + 2 + length]);
        rest = &rest[end + 2 + length + 2..];
    }
    panic!("the body broke off after {} bytes", body.len());
}
