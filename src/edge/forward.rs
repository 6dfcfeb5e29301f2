//! A request as it goes on: one canonical form, whatever form it came in.

use std::net::IpAddr;

use super::fields::is_forwarded;
use super::head::Head;
use crate::limits::edge::{CLIENT_HEADER, OUTLET_HEADER, WAITED_HEADER};
use crate::outlets::Outlet;

/// The header line that names the client on the private wire.
pub(super) fn client_line(address: IpAddr) -> Vec<u8> {
    format!("{CLIENT_HEADER}: {}\r\n", address.to_canonical()).into_bytes()
}

/// Writes request line, header lines and the name of the client; length and end follow when the body is whole.
pub(super) fn write_head(head: &Head<'_, '_>, client: &[u8], out: &mut Vec<u8>) {
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
    out.extend_from_slice(client);
}

/// Ends the head: the length of the body, where the client sent one.
pub(super) fn end_head(body_length: Option<usize>, out: &mut Vec<u8>) {
    if let Some(length) = body_length {
        out.extend_from_slice(b"Content-Length: ");
        out.extend_from_slice(itoa::Buffer::new().format(length).as_bytes());
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"\r\n");
}

/// Adds to an ended head how long the request has waited.
pub(super) fn add_wait(micros: u64, out: &mut Vec<u8>) {
    add_line(WAITED_HEADER, out, |out| out.extend_from_slice(itoa::Buffer::new().format(micros).as_bytes()));
}

/// Offers the way to the client's socket, and adds to an ended head under which name.
pub(super) fn add_offer(outlet: &Outlet, closes: bool, out: &mut Vec<u8>) {
    add_line(OUTLET_HEADER, out, |out| outlet.offer(closes, out));
}

fn add_line(name: &str, out: &mut Vec<u8>, write_value: impl FnOnce(&mut Vec<u8>)) {
    out.truncate(out.len().saturating_sub(2));
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    write_value(out);
    out.extend_from_slice(b"\r\n\r\n");
}
