//! The connection to which a body is written.

use std::io::Write;

use mercato_net::ResponseWriter;

/// A connection to a client.
pub trait Connection: Write {
    /// Bytes of the response that the socket has taken.
    fn taken(&self) -> u64;
}

impl Connection for ResponseWriter {
    fn taken(&self) -> u64 {
        ResponseWriter::taken(self)
    }
}

impl Connection for Vec<u8> {
    fn taken(&self) -> u64 {
        u64::try_from(self.len()).unwrap_or(u64::MAX)
    }
}
