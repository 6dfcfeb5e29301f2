//! Deflates the XML of a batch piece by piece and counts it. Batches end at a whole byte and refer to nothing before
//! them, so one behind the other they are one deflated stream. Does not depend on cells.

use crc32fast::Hasher;
use flate2::{Compress, Compression, FlushCompress};

use crate::render::xlsx::Packed;

/// XML that waits to be deflated, bytes.
const WAITING_BYTES: usize = 64 * 1024;
/// Room for deflated bytes that is made at once.
const ROOM_BYTES: usize = 16 * 1024;
/// The empty block with which a deflated stream ends.
pub(super) const LAST_BLOCK: [u8; 2] = [0x03, 0x00];

/// Collects and deflates XML.
pub(super) struct Deflater {
    compress: Compress,
    waiting: Vec<u8>,
    crc: Hasher,
    /// Bytes of XML so far, without those that wait.
    plain: u64,
    deflated: u64,
}

impl Deflater {
    pub(super) fn new() -> Deflater {
        let compress = Compress::new(Compression::fast(), false);
        Deflater { compress, waiting: Vec::new(), crc: Hasher::new(), plain: 0, deflated: 0 }
    }

    /// The XML that waits. What is appended is deflated later.
    pub(super) fn text(&mut self) -> &mut Vec<u8> {
        &mut self.waiting
    }

    pub(super) fn push(&mut self, xml: &[u8]) {
        self.waiting.extend_from_slice(xml);
    }

    /// Bytes of XML so far.
    pub(super) fn bytes(&self) -> u64 {
        self.plain.saturating_add(self.waiting.len() as u64)
    }

    pub(super) fn drain_if_full(&mut self, out: &mut Vec<u8>) {
        if self.waiting.len() >= WAITING_BYTES {
            self.drain(out, FlushCompress::None);
        }
    }

    /// Deflates the rest and ends at a whole byte.
    pub(super) fn finish(mut self, out: &mut Vec<u8>) -> Packed {
        self.drain(out, FlushCompress::Sync);
        Packed { crc: self.crc.finalize(), plain: self.plain, deflated: self.deflated }
    }

    fn drain(&mut self, out: &mut Vec<u8>, flush: FlushCompress) {
        self.crc.update(&self.waiting);
        let (start, mut taken) = (out.len(), 0);
        loop {
            out.reserve(ROOM_BYTES);
            let before = self.compress.total_in();
            let rest = self.waiting.get(taken..).unwrap_or_default();
            // It fails only when it can do nothing, which the room rules out.
            let status = self.compress.compress_vec(rest, out, flush);
            let used = self.compress.total_in().saturating_sub(before);
            taken = taken.saturating_add(usize::try_from(used).unwrap_or(usize::MAX));
            // A flush is complete when room is left behind it.
            if status.is_err() || (taken >= self.waiting.len() && out.len() < out.capacity()) {
                break;
            }
        }
        self.plain = self.plain.saturating_add(self.waiting.len() as u64);
        self.deflated = self.deflated.saturating_add(out.len().saturating_sub(start) as u64);
        self.waiting.clear();
    }
}
