//! Checksums: XXH3 of 64 bits for every block of 1 MiB, and of the block checksums for a section. XXH3
//! (<https://github.com/Cyan4973/xxHash>) detects damage, not forgery.

use xxhash_rust::xxh3::{Xxh3Default, xxh3_64, xxh3_128};

/// Largest block of one checksum, bytes.
pub const BLOCK_SIZE_BYTES: usize = 1024 * 1024;

/// The checksum of a run of bytes.
#[must_use]
pub fn checksum(bytes: &[u8]) -> u64 {
    xxh3_64(bytes)
}

/// The content fingerprint of a directory, 128 bits.
#[must_use]
pub fn fingerprint(bytes: &[u8]) -> [u8; 16] {
    xxh3_128(bytes).to_le_bytes()
}

/// The number of blocks of a section of `len` bytes.
#[must_use]
pub fn block_count(len: u64) -> u64 {
    len.div_ceil(BLOCK_SIZE_BYTES as u64)
}

/// Computes block checksums while a section is written or verified.
#[derive(Default)]
pub struct BlockHasher {
    current: Xxh3Default,
    filled: usize,
    blocks: Vec<u64>,
}

impl BlockHasher {
    /// Adds the next bytes of the section.
    pub fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let take = bytes.len().min(BLOCK_SIZE_BYTES - self.filled);
            let (now, later) = bytes.split_at(take);
            self.current.update(now);
            self.filled += take;
            bytes = later;
            if self.filled == BLOCK_SIZE_BYTES {
                self.close_block();
            }
        }
    }

    /// The block checksums, and the section checksum over them.
    #[must_use]
    pub fn finish(mut self) -> (Vec<u64>, u64) {
        if self.filled > 0 {
            self.close_block();
        }
        let section = section_checksum(&self.blocks);
        (self.blocks, section)
    }

    fn close_block(&mut self) {
        self.blocks.push(self.current.digest());
        self.current.reset();
        self.filled = 0;
    }
}

/// The checksum of a section: XXH3 of its block checksums, each as eight little-endian bytes.
#[must_use]
pub fn section_checksum(blocks: &[u64]) -> u64 {
    let mut hasher = Xxh3Default::new();
    for block in blocks {
        hasher.update(&block.to_le_bytes());
    }
    hasher.digest()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_do_not_depend_on_piece_size() {
        let bytes: Vec<u8> = (0..3 * BLOCK_SIZE_BYTES + 17).map(|i| (i * 31 % 251) as u8).collect();
        let mut whole = BlockHasher::default();
        whole.update(&bytes);
        let mut pieces = BlockHasher::default();
        bytes.chunks(100_003).for_each(|piece| pieces.update(piece));
        assert_eq!(whole.finish(), pieces.finish());
    }

    #[test]
    fn block_checksum_is_xxh3_of_its_bytes() {
        let mut hasher = BlockHasher::default();
        hasher.update(b"mercato");
        assert_eq!(hasher.finish().0, vec![checksum(b"mercato")]);
    }
}
