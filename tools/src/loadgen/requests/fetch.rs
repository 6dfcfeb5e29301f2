//! Sends one request before the run, and reads its response: for cursors and lists of values.
//!
//! Does not depend on templates.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::value::RawValue;

use crate::loadgen::client::response::{Keep, Progress, ResponseReader};
use crate::loadgen::client::target::Target;
use crate::loadgen::results::tally::one_line_text;

/// Largest response with cursors or values, bytes.
pub const RESPONSE_SIZE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Bytes of a refusal in an error message.
const SHOWN_BYTES_MAX: usize = 300;
const READ_BYTES: usize = 64 * 1024;

/// Sends a request over a new connection. Returns the status and the body of the response.
pub(super) fn exchange(target: &Target, timeout: Duration, request: &[u8]) -> Result<(u16, Vec<u8>), String> {
    let until = Instant::now() + timeout;
    let text = |error: std::io::Error| error.to_string();
    let mut stream = TcpStream::connect_timeout(&target.address, timeout).map_err(text)?;
    stream.set_write_timeout(Some(timeout)).map_err(text)?;
    stream.write_all(request).map_err(text)?;
    let mut reader = ResponseReader::new(Keep::Every(RESPONSE_SIZE_BYTES_MAX));
    let mut buffer = vec![0; READ_BYTES];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(format!("no complete response within {timeout:?}"));
        }
        stream.set_read_timeout(Some(left)).map_err(text)?;
        let count = match stream.read(&mut buffer) {
            Ok(0) if reader.end() => break,
            Ok(0) => return Err("the connection ended within the response".to_owned()),
            Ok(count) => count,
            // The remaining time is computed again.
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                continue;
            }
            Err(error) => return Err(text(error)),
        };
        let fed = reader.feed(buffer.get(..count).unwrap_or_default()).map_err(|error| error.to_string())?;
        if reader.body_bytes() > RESPONSE_SIZE_BYTES_MAX as u64 {
            return Err(format!("a response of more than {RESPONSE_SIZE_BYTES_MAX} bytes"));
        }
        if matches!(fed, Progress::Whole(_)) {
            break;
        }
    }
    Ok((reader.head().status, reader.kept().to_vec()))
}

/// The JSON text at a JSON pointer (RFC 6901).
pub(super) fn json_pointer<'a>(text: &'a str, pointer: &str) -> Option<&'a RawValue> {
    let mut value: &RawValue = serde_json::from_str(text).ok()?;
    for token in pointer.split('/').skip(1) {
        let token = token.replace("~1", "/").replace("~0", "~");
        value = match token.parse::<usize>() {
            Ok(index) if value.get().starts_with('[') => {
                serde_json::from_str::<Vec<&RawValue>>(value.get()).ok()?.get(index).copied()?
            }
            _ => {
                serde_json::from_str::<BTreeMap<String, &RawValue>>(value.get()).ok()?.get(&token).copied()?
            }
        };
    }
    Some(value)
}

pub(super) fn excerpt(response: &[u8]) -> String {
    one_line_text(response.get(..SHOWN_BYTES_MAX).unwrap_or(response))
}
