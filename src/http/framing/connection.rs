//! The connection to which a body is written, and its knowledge of acknowledged bytes.

use std::io::{self, Write};

use crate::net::ResponseWriter;

/// A connection to a client.
pub(in crate::http) trait Connection: Write {
    /// Bytes of the response that the client's kernel has acknowledged; `None` if that is unknown.
    fn acknowledged(&self) -> Option<u64> {
        None
    }

    /// Waits until so many bytes of the response are acknowledged. Returns at once if that is unknown.
    fn await_acknowledged(&mut self, bytes: u64) -> io::Result<()> {
        let _ = bytes;
        Ok(())
    }

    /// Closes the connection. Written bytes that are still on their way are discarded.
    fn disconnect(&mut self) {}
}

impl Connection for ResponseWriter {
    fn acknowledged(&self) -> Option<u64> {
        ResponseWriter::acknowledged(self)
    }

    fn await_acknowledged(&mut self, bytes: u64) -> io::Result<()> {
        ResponseWriter::await_acknowledged(self, bytes)
    }

    fn disconnect(&mut self) {
        ResponseWriter::disconnect(self);
    }
}

#[cfg(test)]
impl Connection for Vec<u8> {}
