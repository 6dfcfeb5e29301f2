//! Encodes headers and frames.
//!
//! A frame is read in two steps: first a plausible head, then the checksum over all of it. Does not depend on files.

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::PAYLOAD_BYTES_MAX;

const MAGIC: [u8; 8] = *b"MRCLOG01";
/// Length of a header.
pub const HEADER_BYTES: usize = 48;
/// Length of a frame without its payload.
pub const FRAME_HEAD_BYTES: usize = 36;
/// Length of the fields before those that the checksum covers.
const UNCOVERED_BYTES: usize = size_of::<u32>() + size_of::<u64>();
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// The beginning of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// Number of the segment.
    pub number: u64,
    /// Number of its first record.
    pub first: u64,
    /// Chain of all segments before it.
    pub chain: u64,
    /// Length of the segment before it.
    pub previous_length: u64,
}

impl Header {
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER_BYTES);
        bytes.extend_from_slice(&MAGIC);
        for field in [self.number, self.first, self.chain, self.previous_length] {
            bytes.extend_from_slice(&field.to_be_bytes());
        }
        let checksum = xxh3_64(&bytes);
        bytes.extend_from_slice(&checksum.to_be_bytes());
        bytes
    }

    /// Nothing unless the bytes begin with a whole and right header.
    pub fn decode(bytes: &[u8]) -> Option<Header> {
        let mut rest = bytes.strip_prefix(&MAGIC)?;
        let [number, first, chain, previous_length] =
            [take(&mut rest)?, take(&mut rest)?, take(&mut rest)?, take(&mut rest)?];
        let header = Header { number, first, chain, previous_length };
        let is_right = number >= 1 && first >= 1 && bytes.get(..HEADER_BYTES)? == header.encode();
        is_right.then_some(header)
    }

    /// The chain before the first frame of the segment.
    pub fn chain_start(&self) -> u64 {
        self.encode().last_chunk().map_or(0, |checksum| fold(self.chain, u64::from_be_bytes(*checksum)))
    }
}

/// The chain after one more checksum.
pub fn fold(chain: u64, checksum: u64) -> u64 {
    let mut bytes = [0; 16];
    let (before, after) = bytes.split_at_mut(size_of::<u64>());
    before.copy_from_slice(&chain.to_be_bytes());
    after.copy_from_slice(&checksum.to_be_bytes());
    xxh3_64(&bytes)
}

/// The beginning of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameHead {
    /// Length of the payload.
    pub length: usize,
    /// Checksum of the length and all that follows itself.
    pub checksum: u64,
    /// Number of the first record.
    pub first: u64,
    /// Number of the last record.
    pub last: u64,
    /// How far the log was synced when the frame was appended.
    pub synced: u64,
}

impl FrameHead {
    /// `None` unless the bytes begin with a plausible head.
    pub fn decode(bytes: &[u8]) -> Option<FrameHead> {
        let (length, mut rest) = bytes.split_first_chunk()?;
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        let [checksum, first, last, synced] =
            [take(&mut rest)?, take(&mut rest)?, take(&mut rest)?, take(&mut rest)?];
        let is_plausible = length <= PAYLOAD_BYTES_MAX
            && synced < first
            && last.checked_sub(first).is_some_and(|more| more < (FRAME_HEAD_BYTES + length) as u64);
        is_plausible.then_some(FrameHead { length, checksum, first, last, synced })
    }

    /// Length of the whole frame.
    pub const fn frame_bytes(&self) -> usize {
        FRAME_HEAD_BYTES + self.length
    }

    /// The payload, when the bytes begin with the whole frame as it was written into this segment.
    pub fn payload<'b>(&self, segment: u64, bytes: &'b [u8]) -> Option<&'b [u8]> {
        let covered = bytes.get(UNCOVERED_BYTES..self.frame_bytes())?;
        let is_right = checksum(segment, self.length, covered) == self.checksum;
        bytes.get(FRAME_HEAD_BYTES..self.frame_bytes()).filter(|_| is_right)
    }
}

/// Writes a frame, and returns its checksum. The caller has checked the length.
pub fn encode_frame(segment: u64, [first, last, synced]: [u64; 3], payload: &[u8], out: &mut Vec<u8>) -> u64 {
    out.clear();
    out.resize(UNCOVERED_BYTES, 0);
    for field in [first, last, synced] {
        out.extend_from_slice(&field.to_be_bytes());
    }
    out.extend_from_slice(payload);
    let checksum = checksum(segment, payload.len(), out.get(UNCOVERED_BYTES..).unwrap_or_default());
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX).to_be_bytes();
    for (target, source) in out.iter_mut().zip(length.into_iter().chain(checksum.to_be_bytes())) {
        *target = source;
    }
    checksum
}

fn checksum(segment: u64, length: usize, covered: &[u8]) -> u64 {
    let seed = (segment ^ SEED).wrapping_mul(SEED) ^ length as u64;
    xxh3_64_with_seed(covered, seed)
}

fn take(bytes: &mut &[u8]) -> Option<u64> {
    let (field, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u64::from_be_bytes(*field))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HEADER: Header = Header { number: 7, first: 100, chain: 5, previous_length: 4_096 };

    fn frame(payload: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode_frame(7, [10, 12, 9], payload, &mut bytes);
        bytes
    }

    #[test]
    fn round_trips_header_and_rejects_changed_bits() {
        let bytes = HEADER.encode();
        assert_eq!(bytes.len(), HEADER_BYTES);
        assert_eq!(Header::decode(&bytes), Some(HEADER));
        for bit in 0..HEADER_BYTES * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Header::decode(&changed), None, "{bit}");
        }
        for length in 0..HEADER_BYTES {
            assert_eq!(Header::decode(&bytes[..length]), None, "{length}");
        }
    }

    #[test]
    fn decodes_frame_in_its_own_segment_only() {
        let bytes = frame(b"payload");
        let head = FrameHead::decode(&bytes).unwrap();
        assert_eq!((head.first, head.last, head.synced, head.frame_bytes()), (10, 12, 9, bytes.len()));
        assert_eq!(head.payload(7, &bytes), Some(b"payload".as_slice()));
        assert_eq!(head.payload(8, &bytes), None);
    }

    #[test]
    fn rejects_every_changed_bit_of_frame() {
        let bytes = [frame(b"payload"), frame(b"what follows it")].concat();
        for bit in 0..(FRAME_HEAD_BYTES + 7) * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            let head = FrameHead::decode(&changed);
            assert_eq!(head.and_then(|head| head.payload(7, &changed)), None, "{bit}");
        }
    }

    #[test]
    fn rejects_zeros_as_frame_and_header() {
        assert_eq!(FrameHead::decode(&[0; 100]), None);
        assert_eq!(Header::decode(&[0; 100]), None);
    }

    proptest! {
        #[test]
        fn decodes_arbitrary_bytes_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            prop_assert_eq!(Header::decode(&bytes), None);
            let head = FrameHead::decode(&bytes);
            prop_assert_eq!(head.and_then(|head| head.payload(1, &bytes)), None);
        }
    }
}
