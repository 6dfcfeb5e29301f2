//! The canonical form of a request head, in which tiny_http receives it.

use crate::limits::SLOT_HEADER;
use crate::parse::fields::is_forwarded;
use crate::parse::head::Head;

/// Writes request line and header lines; the end follows when the request is whole.
pub fn write_head(head: &Head<'_, '_>, out: &mut Vec<u8>) {
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
}

/// Adds the name of the slot where the client's socket lies to an ended head.
pub fn add_slot<T>(out: &mut Vec<u8>, write_name: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    out.truncate(out.len().saturating_sub(2));
    out.extend_from_slice(SLOT_HEADER.as_bytes());
    out.extend_from_slice(b": ");
    let name = write_name(out);
    out.extend_from_slice(b"\r\n\r\n");
    name
}
