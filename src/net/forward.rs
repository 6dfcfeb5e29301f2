//! A request as it goes on: one canonical form, whatever form it came in.

use std::io::Write;
use std::net::IpAddr;

use super::fields::is_forwarded;
use super::head::Head;
use crate::limits::net::CLIENT_HEADER;

/// Writes request line, header lines and the address of the peer; the end follows when the request is whole.
pub(super) fn write_head(head: &Head<'_, '_>, peer: IpAddr, out: &mut Vec<u8>) {
    out.clear();
    out.extend_from_slice(head.method.as_bytes());
    out.push(b' ');
    out.extend_from_slice(head.target.as_bytes());
    out.extend_from_slice(b" HTTP/1.1\r\n");
    for header in head.headers.iter().filter(|header| is_forwarded(header.name)) {
        out.extend_from_slice(header.name.as_bytes());
        out.extend_from_slice(b": ");
        out.extend_from_slice(header.value);
        out.extend_from_slice(b"\r\n");
    }
    // Writing to a vector does not fail.
    drop(write!(out, "{CLIENT_HEADER}: {}\r\n", peer.to_canonical()));
}

/// Adds a header line to an ended head.
pub(super) fn add_line<T>(name: &str, out: &mut Vec<u8>, write_value: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    out.truncate(out.len().saturating_sub(2));
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    let value = write_value(out);
    out.extend_from_slice(b"\r\n\r\n");
    value
}
