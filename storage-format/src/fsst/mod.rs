//! Texts in the compression FSST (P. Boncz, T. Neumann, V. Leis, 2020): one byte is one of at most 255 symbols of up to
//! eight bytes, or announces a byte that no symbol begins. Any text is read alone. Does not depend on columns.
//!
//! The symbols stand in our own form, and both directions are our own: a packed text is part of a file's fingerprint,
//! which a newer release of a library may not change, and the crate `fsst-rs` checks no length that comes from a file.

mod encoder;

pub(crate) use encoder::{Encoder, SAMPLE_BYTES_MAX, SAMPLE_PIECE_BYTES};

/// Most symbols of a table.
pub const SYMBOLS_MAX: usize = 255;
/// Most bytes of a symbol.
pub const SYMBOL_BYTES_MAX: usize = 8;
/// The code before a byte that stands for itself.
pub const ESCAPE: u8 = 255;
/// Most bytes of an unpacked text: 16 MiB, each byte in its longest JSON form.
pub const UNPACKED_BYTES_MAX: usize = crate::limits::TEXT_BYTES_MAX * 6;

/// Most bytes of the section `symbols`.
pub(crate) const SYMBOLS_SECTION_BYTES_MAX: u64 = (HEAD_SIZE + SYMBOLS_MAX * (1 + SYMBOL_BYTES_MAX)) as u64;

const FORM_VERSION: u8 = 1;
const HEAD_SIZE: usize = 8;
/// Codes for which room is made at once, so that a hostile text reserves little.
const PIECE_CODES: usize = 4_096;

/// The symbols of a column by code.
#[derive(Clone, PartialEq, Eq)]
pub struct Symbols {
    words: [[u8; SYMBOL_BYTES_MAX]; 256],
    /// Bytes of each symbol; 0 for codes behind the table.
    lengths: [u8; 256],
}

impl std::fmt::Debug for Symbols {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_list().entries(self.iter().map(String::from_utf8_lossy)).finish()
    }
}

impl Symbols {
    /// A table of these symbols, each of one to eight bytes; `None` for others, and for more than 255.
    pub(crate) fn new<'s>(symbols: impl IntoIterator<Item = &'s [u8]>) -> Option<Symbols> {
        let mut table = Symbols { words: [[0; SYMBOL_BYTES_MAX]; 256], lengths: [0; 256] };
        for (code, symbol) in symbols.into_iter().enumerate() {
            let fits = code < SYMBOLS_MAX && (1..=SYMBOL_BYTES_MAX).contains(&symbol.len());
            let slot = table.words.get_mut(code).filter(|_| fits)?;
            slot.get_mut(..symbol.len())?.copy_from_slice(symbol);
            *table.lengths.get_mut(code)? = u8::try_from(symbol.len()).ok()?;
        }
        Some(table)
    }

    /// Reads the section `symbols`; `None` when it is not exactly as FORMAT.md has it.
    pub(crate) fn decode(section: &[u8]) -> Option<Symbols> {
        let (head, rest) = section.split_first_chunk::<HEAD_SIZE>()?;
        let [version, count, reserved @ ..] = head;
        if *version != FORM_VERSION || reserved.iter().any(|byte| *byte != 0) {
            return None;
        }
        let (lengths, mut bytes) = rest.split_at_checked(usize::from(*count))?;
        let mut symbols = Vec::with_capacity(lengths.len());
        for length in lengths {
            let (symbol, behind) = bytes.split_at_checked(usize::from(*length))?;
            symbols.push(symbol);
            bytes = behind;
        }
        if !bytes.is_empty() {
            return None;
        }
        Symbols::new(symbols)
    }

    /// The section `symbols`.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let count = u8::try_from(self.iter().count()).unwrap_or(u8::MAX);
        let mut out = vec![FORM_VERSION, count, 0, 0, 0, 0, 0, 0];
        out.extend(self.iter().map(|symbol| u8::try_from(symbol.len()).unwrap_or(0)));
        self.iter().for_each(|symbol| out.extend_from_slice(symbol));
        out
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let pairs = self.words.iter().zip(&self.lengths).take_while(|(_, length)| **length > 0);
        pairs.map(|(word, length)| word.get(..usize::from(*length)).unwrap_or_default())
    }

    /// Writes an unpacked text at a position of a buffer, which grows as needed and is not cleared, and returns the
    /// position behind it. `None` when a code is behind the table, the last byte is an escape, or the text is too long;
    /// the written bytes are then invalid.
    ///
    /// ```text
    /// for each code: write eight bytes of its symbol, advance by its length
    /// ```
    #[inline]
    #[must_use]
    pub fn unpack(&self, packed: &[u8], out: &mut Vec<u8>, start: usize) -> Option<usize> {
        let mut at = start;
        let mut codes = packed.iter();
        while !codes.as_slice().is_empty() {
            if at - start > UNPACKED_BYTES_MAX {
                return None;
            }
            let count = codes.as_slice().len().min(PIECE_CODES);
            make_room(out, at + count * SYMBOL_BYTES_MAX);
            let (target, mut written) = (out.get_mut(at..)?, 0);
            for _ in 0..count {
                let Some(code) = codes.next() else { break };
                let (word, length) = self.symbol(*code);
                *target.get_mut(written..)?.first_chunk_mut()? = word;
                written += usize::from(length);
                if length == 0 {
                    *target.get_mut(written)? = *codes.next().filter(|_| *code == ESCAPE)?;
                    written += 1;
                }
            }
            at += written;
        }
        (at - start <= UNPACKED_BYTES_MAX).then_some(at)
    }

    /// Bytes of an unpacked text; `None` as [`Symbols::unpack`].
    #[must_use]
    pub fn unpacked_len(&self, packed: &[u8]) -> Option<usize> {
        let mut codes = packed.iter();
        let mut sum = 0_usize;
        while let Some(code) = codes.next() {
            let length = self.length(*code);
            if length == 0 {
                codes.next().filter(|_| *code == ESCAPE)?;
                sum += 1;
            }
            sum += usize::from(length);
        }
        (sum <= UNPACKED_BYTES_MAX).then_some(sum)
    }

    #[inline]
    fn symbol(&self, code: u8) -> ([u8; SYMBOL_BYTES_MAX], u8) {
        (self.words.get(usize::from(code)).copied().unwrap_or_default(), self.length(code))
    }

    #[inline]
    fn length(&self, code: u8) -> u8 {
        self.lengths.get(usize::from(code)).copied().unwrap_or(0)
    }
}

/// Makes a buffer at least that long.
#[inline]
pub(crate) fn make_room(out: &mut Vec<u8>, len: usize) {
    if out.len() < len {
        out.resize(len, 0);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The naive twin of [`Symbols::unpack`].
    fn unpack_slowly(symbols: &[Vec<u8>], packed: &[u8]) -> Option<Vec<u8>> {
        match packed {
            [] => Some(Vec::new()),
            [ESCAPE, byte, rest @ ..] => Some([vec![*byte], unpack_slowly(symbols, rest)?].concat()),
            [code, rest @ ..] => {
                Some([symbols.get(usize::from(*code))?.clone(), unpack_slowly(symbols, rest)?].concat())
            }
        }
    }

    fn unpacked(table: &Symbols, packed: &[u8]) -> Option<Vec<u8>> {
        let mut out = b"before, and bytes of a former text".to_vec();
        let found = table.unpack(packed, &mut out, 6).and_then(|end| out.get(6..end)).map(<[u8]>::to_vec);
        assert!(out.starts_with(b"before"));
        assert_eq!(found.as_ref().map(Vec::len), table.unpacked_len(packed));
        found
    }

    fn table_of(symbols: &[Vec<u8>]) -> Symbols {
        Symbols::new(symbols.iter().map(Vec::as_slice)).unwrap()
    }

    proptest! {
        #[test]
        fn unpacking_matches_naive_twin(
            symbols in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..=8), 0..=255),
            packed in prop::collection::vec(prop_oneof![0u8..9, any::<u8>(), Just(ESCAPE)], 0..40),
        ) {
            let table = table_of(&symbols);
            prop_assert_eq!(unpacked(&table, &packed), unpack_slowly(&symbols, &packed));
            prop_assert_eq!(Symbols::decode(&table.encode()), Some(table));
        }

        #[test]
        fn packed_texts_read_back(
            sample in prop::collection::vec("[a-e ]{0,30}|.{0,12}|(https://www\\.[a-c]{1,3}/){1,3}", 0..60),
            others in prop::collection::vec(".{0,40}|[a-c\\u{0}]{0,20}", 0..20),
        ) {
            let mut encoder = Encoder::train(&sample.iter().map(String::as_bytes).collect::<Vec<_>>());
            let table = encoder.symbols().clone();
            for text in sample.iter().chain(&others) {
                let mut packed = Vec::new();
                encoder.pack(text.as_bytes(), &mut packed);
                prop_assert!(packed.len() <= text.len() * 2);
                prop_assert_eq!(unpacked(&table, &packed), Some(text.as_bytes().to_vec()));
            }
        }

        #[test]
        fn hostile_tables_are_refused_or_exact(section in prop::collection::vec(0u8..12, 0..60)) {
            if let Some(table) = Symbols::decode(&section) {
                prop_assert_eq!(table.encode(), section);
            }
        }
    }

    #[test]
    fn refuses_bad_codes_and_tables() {
        let table = table_of(&[b"ab".to_vec(), b"c".to_vec()]);
        assert_eq!(unpacked(&table, &[0, 1, ESCAPE, b'x', 0]).unwrap(), b"abcxab");
        assert_eq!(unpacked(&table, &[2]), None, "a code behind the table");
        assert_eq!(unpacked(&table, &[0, ESCAPE]), None, "an escape at the end");
        let good = [1, 1, 0, 0, 0, 0, 0, 0, 2, b'a', b'b'];
        assert!(Symbols::decode(&good).is_some());
        for (at, value) in [(0, 2), (1, 0), (1, 2), (2, 1), (8, 0), (8, 1), (8, 3), (8, 9)] {
            let mut bad = good;
            bad[at] = value;
            assert_eq!(Symbols::decode(&bad), None, "{value} at {at}");
        }
        assert!(Symbols::new([b"123456789".as_slice()]).is_none());
        assert!(Symbols::new(std::iter::repeat_n(b"a".as_slice(), 256)).is_none());
    }

    #[test]
    fn long_texts_go_piece_by_piece() {
        let mut encoder = Encoder::train(&[b"abcdefgh".as_slice()]);
        let text = b"abcdefghZabc".repeat(5_000);
        let mut packed = Vec::new();
        encoder.pack(&text, &mut packed);
        assert_eq!(unpacked(encoder.symbols(), &packed).unwrap(), text);
    }
}
