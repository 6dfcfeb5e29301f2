//! The client of the admin API: sends a command to a running server in one request, over TCP or a Unix socket, with the
//! token of the data directory.
//!
//! Reads a minimum of HTTP: responses with a length, in chunks, or up to the end of the connection.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mercato::operator::{Command, OperatorCommand};
use serde_json::Value;

use crate::failure::Failure;

const COMMANDS_PATH: &str = "/admin/v1/commands";
const RELOAD_PATH: &str = "/admin/v1/catalog/reload";
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const RELOAD_TIMEOUT: Duration = Duration::from_secs(30);
/// A backup or a verification of large books may take minutes.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(900);
const RESPONSE_BYTES_MAX: u64 = 64 << 20;
const TOKEN_BYTES_MAX: u64 = 4096;

/// The admin listener of a running server.
pub(super) struct AdminClient {
    address: Address,
    token: String,
}

enum Address {
    Tcp(String),
    Unix(PathBuf),
}

impl AdminClient {
    pub(super) fn new(address: &str, token_file: &Path) -> Result<AdminClient, Failure> {
        let address = match address.strip_prefix("unix:") {
            Some(path) => Address::Unix(PathBuf::from(path)),
            None => Address::Tcp(address.to_owned()),
        };
        let mut token = String::new();
        let file =
            fs::File::open(token_file).map_err(Failure::io(token_file, "open the operator's token"))?;
        file.take(TOKEN_BYTES_MAX)
            .read_to_string(&mut token)
            .map_err(Failure::io(token_file, "read the operator's token"))?;
        Ok(AdminClient { address, token: token.trim().to_owned() })
    }

    pub(super) fn execute<C: Command>(&self, command: &C) -> Result<C::Outcome, Failure> {
        let command: OperatorCommand = command.clone().into();
        let body = serde_json::to_vec(&command)
            .map_err(|error| self.failed("encode the command", error.to_string()))?;
        let response = self.exchange(COMMANDS_PATH, &body, RESPONSE_TIMEOUT).map_err(|error| {
            let remedy = "is the server running? name its admin listener with --admin";
            self.failed("reach the admin listener", format!("{error}; {remedy}"))
        })?;
        let body = body_of(&response)
            .ok_or_else(|| self.failed("read the response", "it is not complete".to_owned()))?;
        let mut envelope: Value = serde_json::from_slice(&body)
            .map_err(|error| self.failed("read the response", format!("it is not JSON: {error}")))?;
        if envelope.get("success").and_then(Value::as_bool) == Some(true) {
            let data = envelope.get_mut("data").map(Value::take).unwrap_or_default();
            return serde_json::from_value(data)
                .map_err(|error| self.failed("understand the response", error.to_string()));
        }
        let message = envelope.pointer("/error/message").and_then(Value::as_str).unwrap_or("no reason given");
        Err(self.failed("execute the command", message.to_owned()))
    }

    /// Requests a reload of the catalog and waits for it.
    pub(super) fn reload_catalog(&self) -> io::Result<()> {
        self.exchange(RELOAD_PATH, b"", RELOAD_TIMEOUT).map(drop)
    }

    fn exchange(&self, path: &str, body: &[u8], wait: Duration) -> io::Result<Vec<u8>> {
        let mut connection = self.connect(wait)?;
        let host = match &self.address {
            Address::Tcp(address) => address,
            // A socket file has no name.
            Address::Unix(_) => "localhost",
        };
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            self.token,
            body.len()
        );
        connection.write_all(&[head.as_bytes(), body].concat())?;
        connection.flush()?;
        let mut response = Vec::new();
        let ended = connection.take(RESPONSE_BYTES_MAX).read_to_end(&mut response);
        // A server that closes at once may reset the connection after a complete response.
        match ended {
            Err(error) if body_of(&response).is_none() => Err(error),
            _ => Ok(response),
        }
    }

    fn connect(&self, wait: Duration) -> io::Result<Box<dyn Connection>> {
        match &self.address {
            Address::Unix(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_read_timeout(Some(wait))?;
                Ok(Box::new(stream))
            }
            Address::Tcp(address) => {
                let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
                for address in address.to_socket_addrs()? {
                    match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
                        Ok(stream) => {
                            stream.set_read_timeout(Some(wait))?;
                            return Ok(Box::new(stream));
                        }
                        Err(error) => last = error,
                    }
                }
                Err(last)
            }
        }
    }

    fn failed(&self, action: &'static str, reason: String) -> Failure {
        let directory = match &self.address {
            Address::Tcp(address) => address.clone(),
            Address::Unix(path) => format!("unix:{}", path.display()),
        };
        Failure::Books { directory, action, reason }
    }
}

trait Connection: Read + Write {}
impl<C: Read + Write> Connection for C {}

/// The body of a complete response; `None` for a truncated one.
fn body_of(response: &[u8]) -> Option<Vec<u8>> {
    let end = response.windows(4).position(|window| window == b"\r\n\r\n")?;
    let (head, rest) = response.split_at_checked(end)?;
    let body = rest.get(4..)?;
    let head = std::str::from_utf8(head).ok()?.to_ascii_lowercase();
    let header = |name: &str| {
        let mut lines = head.split("\r\n").skip(1).filter_map(|line| line.split_once(':'));
        lines.find(|(found, _)| found.trim() == name).map(|(_, value)| value.trim().to_owned())
    };
    if header("transfer-encoding").is_some_and(|coding| coding == "chunked") {
        return join_chunks(body);
    }
    let length: usize = header("content-length")?.parse().ok()?;
    Some(body.get(..length)?.to_vec())
}

fn join_chunks(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let end = rest.windows(2).position(|window| window == b"\r\n")?;
        let (size, after) = rest.split_at_checked(end)?;
        let size = std::str::from_utf8(size).ok()?.split(';').next()?.trim();
        let size = usize::from_str_radix(size, 16).ok()?;
        let chunk = after.get(2..)?;
        if size == 0 {
            return Some(body);
        }
        body.extend_from_slice(chunk.get(..size)?);
        rest = chunk.get(size.checked_add(2)?..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::body_of;

    #[test]
    fn reads_body_by_length_or_chunks() {
        assert_eq!(body_of(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}").as_deref(), Some(&b"{}"[..]));
        let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n";
        assert_eq!(body_of(chunked).as_deref(), Some(&b"{}"[..]));
    }

    #[test]
    fn truncated_response_has_no_body() {
        let whole = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n";
        for length in 0..whole.len() {
            assert_eq!(body_of(&whole[..length]), None, "{length}");
        }
        assert_eq!(body_of(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}"), None);
    }
}
