//! Finds the symbols of a column and packs its texts. Deterministic: equal samples give equal tables.

use std::collections::HashMap;

use super::{ESCAPE, SYMBOL_BYTES_MAX, SYMBOLS_MAX, Symbols};
use crate::layout::take;

/// Bytes of the texts that symbols are found in; FSST needs few.
pub(crate) const SAMPLE_BYTES_MAX: usize = 32 * 1024;
/// Longest piece of one text in a sample, bytes.
pub(crate) const SAMPLE_PIECE_BYTES: usize = 64;
/// Rounds of packing the sample and choosing better symbols.
const ROUNDS: usize = 5;
/// How much more a symbol of one byte counts: without it, each of its bytes needs an escape.
const SINGLE_WEIGHT: u64 = 8;

/// A symbol of two or more bytes.
#[derive(Clone, Copy)]
struct LongSymbol {
    word: u64,
    mask: u64,
    length: u8,
    code: u8,
}

/// Packs texts with a table of symbols, always the longest that fits.
pub(crate) struct Encoder {
    symbols: Symbols,
    /// Symbols of two or more bytes by their first two bytes, longer ones first.
    long: Vec<LongSymbol>,
    /// Where those of each pair of first bytes begin, then the end.
    starts: Vec<u16>,
    /// The code of each symbol of one byte.
    single: [Option<u8>; 256],
    /// A text and eight zeros.
    padded: Vec<u8>,
}

impl Encoder {
    /// Chooses symbols for texts like these.
    pub(crate) fn train(sample: &[&[u8]]) -> Encoder {
        let mut encoder = Encoder::of(&[]);
        for round in 1..=ROUNDS {
            let counts = Counts::of(&mut encoder, sample, round < ROUNDS);
            encoder = Encoder::of(&counts.best_symbols(&encoder));
        }
        encoder
    }

    fn of(chosen: &[Vec<u8>]) -> Encoder {
        // Too many or too long symbols are never chosen; no symbols pack every text.
        let none = || Symbols { words: [[0; SYMBOL_BYTES_MAX]; 256], lengths: [0; 256] };
        let symbols = Symbols::new(chosen.iter().map(Vec::as_slice)).unwrap_or_else(none);
        let (mut long, mut single) = (Vec::new(), [None; 256]);
        for (symbol, code) in symbols.iter().zip(0u8..) {
            let word = word_at(symbol, 0);
            if let [byte] = symbol {
                if let Some(slot) = single.get_mut(usize::from(*byte)) {
                    *slot = Some(code);
                }
            } else {
                let length = u8::try_from(symbol.len()).unwrap_or(0);
                long.push(LongSymbol { word, mask: mask_of(length), length, code });
            }
        }
        let pair = |symbol: &LongSymbol| (symbol.word & 0xFFFF) as usize;
        long.sort_unstable_by_key(|symbol| (pair(symbol), std::cmp::Reverse(symbol.length), symbol.code));
        let mut starts = vec![0u16; (1 << 16) + 1];
        for symbol in &long {
            if let Some(count) = starts.get_mut(pair(symbol) + 1) {
                *count += 1;
            }
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        Encoder { symbols, long, starts, single, padded: Vec::new() }
    }

    pub(crate) fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    /// Appends a packed text.
    pub(crate) fn pack(&mut self, text: &[u8], out: &mut Vec<u8>) {
        self.each_code(text, |code, byte| match code {
            Some(code) => out.push(code),
            None => out.extend_from_slice(&[ESCAPE, byte]),
        });
    }

    /// Calls `take` with the code of each symbol of a text, `None` where no symbol fits, and with the byte it begins at.
    fn each_code(&mut self, text: &[u8], mut take: impl FnMut(Option<u8>, u8)) {
        let mut padded = std::mem::take(&mut self.padded);
        padded.clear();
        padded.extend_from_slice(text);
        padded.extend_from_slice(&[0; SYMBOL_BYTES_MAX]);
        let mut at = 0;
        while at < text.len() {
            let word = word_at(&padded, at);
            let [byte, ..] = word.to_le_bytes();
            let (code, length) = self.longest(word, text.len() - at);
            take(code, byte);
            at += length;
        }
        self.padded = padded;
    }

    /// The longest symbol at the start of `word`, of which `left` bytes are text, and its length.
    #[inline]
    fn longest(&self, word: u64, left: usize) -> (Option<u8>, usize) {
        let [byte, ..] = word.to_le_bytes();
        let start = |pair: usize| self.starts.get(pair).copied().map_or(0, usize::from);
        let pair = (word & 0xFFFF) as usize;
        let candidates = self.long.get(start(pair)..start(pair + 1)).unwrap_or_default();
        for symbol in candidates {
            if word & symbol.mask == symbol.word && usize::from(symbol.length) <= left {
                return (Some(symbol.code), symbol.length.into());
            }
        }
        (self.single.get(usize::from(byte)).copied().flatten(), 1)
    }
}

/// Eight bytes at `at`, with zeros behind the end.
#[inline]
fn word_at(bytes: &[u8], at: usize) -> u64 {
    take(bytes, at).map_or_else(
        || {
            let mut word = [0u8; SYMBOL_BYTES_MAX];
            word.iter_mut().zip(bytes.iter().skip(at)).for_each(|(slot, byte)| *slot = *byte);
            u64::from_le_bytes(word)
        },
        u64::from_le_bytes,
    )
}

fn mask_of(length: u8) -> u64 {
    u64::MAX.checked_shr(64_u32.saturating_sub(u32::from(length) * 8)).unwrap_or(0)
}

/// What one round saw: how often each symbol or lone byte occurs, and each pair of neighbours.
struct Counts {
    /// By [`Item`], sorted.
    items: Vec<(u16, u64)>,
    pairs: Vec<(u32, u64)>,
}

/// A lone byte, or 256 and the code of a symbol.
type Item = u16;

impl Counts {
    fn of(encoder: &mut Encoder, sample: &[&[u8]], with_pairs: bool) -> Counts {
        let (mut items, mut pairs) = (Vec::new(), Vec::new());
        let lengths = encoder.symbols.lengths;
        let length = |item: Item| {
            item.checked_sub(256)
                .map_or(1, |code| usize::from(lengths.get(usize::from(code)).copied().unwrap_or(0)))
        };
        for text in sample {
            let mut before: Option<Item> = None;
            encoder.each_code(text, |code, byte| {
                let item = code.map_or(Item::from(byte), |code| 256 + Item::from(code));
                items.push(item);
                let is_long = length(item) > 1;
                if is_long {
                    // The lone byte may be the better choice, too.
                    items.push(byte.into());
                }
                if let Some(before) = before.filter(|_| with_pairs) {
                    pairs.push(u32::from(before) << 16 | u32::from(item));
                    if is_long {
                        pairs.push(u32::from(before) << 16 | u32::from(byte));
                    }
                }
                before = Some(item);
            });
        }
        Counts { items: counted(items), pairs: counted(pairs) }
    }

    /// The symbols that save most, at most 255.
    fn best_symbols(&self, encoder: &Encoder) -> Vec<Vec<u8>> {
        let mut gains: HashMap<Vec<u8>, u64, foldhash::fast::FixedState> = HashMap::default();
        let known: Vec<&[u8]> = encoder.symbols.iter().collect();
        let bytes_of = |item: Item| match item.checked_sub(256) {
            None => vec![u8::try_from(item).unwrap_or(0)],
            Some(code) => known.get(usize::from(code)).copied().unwrap_or_default().to_vec(),
        };
        for (item, count) in &self.items {
            let symbol = bytes_of(*item);
            let weight = if symbol.len() == 1 { SINGLE_WEIGHT } else { 1 };
            *gains.entry(symbol.clone()).or_insert(0) += weight * count * symbol.len() as u64;
        }
        for (pair, count) in self.pairs.iter().filter(|(_, count)| *count > 1) {
            let [first, second] = [(*pair >> 16) as Item, (*pair & 0xFFFF) as Item];
            let mut symbol = bytes_of(first);
            if symbol.len() < SYMBOL_BYTES_MAX {
                symbol.extend(bytes_of(second));
                symbol.truncate(SYMBOL_BYTES_MAX);
                *gains.entry(symbol.clone()).or_insert(0) += count * symbol.len() as u64;
            }
        }
        let mut best: Vec<(u64, Vec<u8>)> = gains.into_iter().map(|(symbol, gain)| (gain, symbol)).collect();
        best.sort_unstable_by(|one, other| other.cmp(one));
        best.truncate(SYMBOLS_MAX);
        best.into_iter().map(|(_, symbol)| symbol).collect()
    }
}

/// Each value and how often it occurs, ascending.
fn counted<T: Ord + Copy>(mut values: Vec<T>) -> Vec<(T, u64)> {
    values.sort_unstable();
    let runs = values.chunk_by(|one, other| one == other);
    runs.filter_map(|run| Some((*run.first()?, run.len() as u64))).collect()
}
