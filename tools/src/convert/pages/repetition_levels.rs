//! Decodes the levels of one page to find the starts of rows, which have repetition level 0, and levels above the
//! maximum. The layout is the RLE/bit-packing hybrid of "Encodings" in the Parquet format. Does not depend on values.

use bytes::Bytes;

/// The levels of one page, consumed from the front.
#[derive(Clone, Debug)]
pub struct RowStarts {
    left: u64,
    runs: Option<Runs>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    pub rows: u64,
    /// Levels. Each stands for a value or a null.
    pub levels: u64,
}

impl RowStarts {
    /// A page of `count` levels without repetition. Each level is a row.
    #[must_use]
    pub fn flat(count: u64) -> RowStarts {
        RowStarts { left: count, runs: None }
    }

    /// A page of `count` levels of at most `level_max`.
    #[must_use]
    pub fn repeated(count: u64, level_max: i16, encoded: Bytes) -> RowStarts {
        RowStarts { left: count, runs: Some(Runs::new(encoded, level_max)) }
    }

    /// Whether all levels are consumed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.left == 0
    }

    /// Consumes the rest of the row that started before, then `rows` more rows, up to the end of the page.
    pub fn take(&mut self, rows: u64) -> Taken {
        let Some(runs) = &mut self.runs else {
            let levels = rows.min(self.left);
            self.left -= levels;
            return Taken { rows: levels, levels };
        };
        let mut taken = Taken::default();
        while self.left > 0 {
            // Unreadable levels start no row. The decoder reports their error.
            let (starts, count) = runs.peek().unwrap_or((false, self.left));
            let count = count.min(self.left);
            let now = if starts { count.min(rows - taken.rows) } else { count };
            if now == 0 {
                break;
            }
            runs.advance(now);
            self.left -= now;
            taken.levels += now;
            taken.rows += if starts { now } else { 0 };
        }
        taken
    }
}

/// Whether one of `count` levels is above `level_max`. Unreadable levels are not: the decoder reports their error.
#[must_use]
pub fn exceeds(encoded: &Bytes, count: u64, level_max: i16) -> bool {
    let most = u64::from(level_max.unsigned_abs());
    let mut runs = Runs::new(encoded.clone(), level_max);
    // A packed level has just the bits of the maximum.
    let is_any_packed_in_range = (most + 1).is_power_of_two();
    let mut left = count;
    while left > 0 {
        let Some(run) = runs.next_run() else { return false };
        let now = run.left.min(left);
        left -= now;
        let is_above = match run.level {
            Level::Same(level) => now > 0 && level > most,
            Level::Packed(_) if is_any_packed_in_range => false,
            Level::Packed(start) => {
                let places = (start..).step_by(runs.width as usize).zip(0..now);
                places.map_while(|(bit, _)| runs.packed(bit)).any(|level| level > most)
            }
        };
        if is_above {
            return true;
        }
    }
    false
}

#[derive(Clone, Debug)]
struct Runs {
    encoded: Bytes,
    position: usize,
    width: u32,
    run: Run,
}

#[derive(Clone, Debug, Default)]
struct Run {
    left: u64,
    /// The repeated level, or the bit offset of the packed levels.
    level: Level,
}

#[derive(Clone, Debug)]
enum Level {
    Same(u64),
    Packed(usize),
}

impl Default for Level {
    fn default() -> Level {
        Level::Same(0)
    }
}

impl Runs {
    fn new(encoded: Bytes, level_max: i16) -> Runs {
        let width = u16::BITS - level_max.unsigned_abs().leading_zeros();
        Runs { encoded, position: 0, width, run: Run::default() }
    }

    /// Whether the next levels start rows, and how many levels are equal.
    fn peek(&mut self) -> Option<(bool, u64)> {
        while self.run.left == 0 {
            self.run = self.next_run()?;
        }
        match self.run.level {
            Level::Same(level) => Some((level == 0, self.run.left)),
            Level::Packed(bit) => Some((self.packed(bit)? == 0, 1)),
        }
    }

    fn advance(&mut self, count: u64) {
        // Unreadable levels are taken without a run.
        self.run.left = self.run.left.saturating_sub(count);
        if let Level::Packed(bit) = &mut self.run.level {
            *bit += self.width as usize;
        }
    }

    fn next_run(&mut self) -> Option<Run> {
        let mut head = 0_u64;
        for shift in (0..63).step_by(7) {
            let byte = *self.encoded.get(self.position)?;
            self.position += 1;
            head |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        if head & 1 == 1 {
            let groups = usize::try_from(head >> 1).ok()?;
            let level = Level::Packed(self.position.checked_mul(8)?);
            self.position = self.position.checked_add(groups.checked_mul(self.width as usize)?)?;
            return Some(Run { left: (groups as u64).saturating_mul(8), level });
        }
        let bytes = self.width.div_ceil(8) as usize;
        let level = self.encoded.get(self.position..self.position + bytes)?;
        let level = level.iter().rev().fold(0, |level, byte| level << 8 | u64::from(*byte));
        self.position += bytes;
        Some(Run { left: head >> 1, level: Level::Same(level) })
    }

    fn packed(&self, bit: usize) -> Option<u64> {
        (0..self.width as usize).try_fold(0, |level, at| {
            let byte = self.encoded.get((bit + at) / 8)?;
            Some(level | u64::from(byte >> ((bit + at) % 8) & 1) << at)
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Encodes eight or more equal levels as a run, and others in packed groups.
    fn encode(levels: &[u64], width: u32) -> Bytes {
        let mut out = Vec::new();
        let mut rest = levels;
        while let Some(first) = rest.first() {
            let same = rest.iter().take_while(|level| *level == first).count();
            if same >= 8 || rest.len() < 8 {
                let mut head = (same as u64) << 1;
                while head >= 0x80 {
                    out.push((head & 0x7f) as u8 | 0x80);
                    head >>= 7;
                }
                out.push(head as u8);
                out.extend_from_slice(&first.to_le_bytes()[..width.div_ceil(8) as usize]);
                rest = &rest[same..];
            } else {
                out.push(3);
                let packed =
                    rest[..8].iter().rev().fold(0_u128, |bits, level| bits << width | u128::from(*level));
                out.extend_from_slice(&packed.to_le_bytes()[..width as usize]);
                rest = &rest[8..];
            }
        }
        out.into()
    }

    /// The naive twin: looks at each level.
    fn naive(levels: &mut &[u64], rows: u64) -> Taken {
        let mut taken = Taken::default();
        while let Some((first, rest)) = levels.split_first() {
            if *first == 0 && taken.rows == rows {
                break;
            }
            taken.rows += u64::from(*first == 0);
            taken.levels += 1;
            *levels = rest;
        }
        taken
    }

    proptest! {
        #[test]
        fn finds_same_rows_as_naive_decoder(
            runs in prop::collection::vec((0_u64..4, 1_usize..40), 0..60),
            level_max in prop_oneof![Just(3_i16), Just(7), Just(300)],
            steps in prop::collection::vec(0_u64..30, 1..80),
        ) {
            let levels: Vec<u64> = runs.iter().flat_map(|(level, count)| vec![*level; *count]).collect();
            let width = 64 - (level_max as u64).leading_zeros();
            let mut starts = RowStarts::repeated(levels.len() as u64, level_max, encode(&levels, width));
            let mut rest = levels.as_slice();
            for rows in steps {
                prop_assert_eq!(starts.take(rows), naive(&mut rest, rows));
                prop_assert_eq!(starts.is_empty(), rest.is_empty());
            }
        }

        #[test]
        fn finds_level_above_maximum(
            runs in prop::collection::vec((0_u64..8, 1_usize..40), 0..40),
            level_max in prop_oneof![Just(1_i16), Just(2), Just(4), Just(5), Just(7)],
        ) {
            let width = 64 - (level_max as u64).leading_zeros();
            let levels: Vec<u64> =
                runs.iter().flat_map(|(level, count)| vec![*level & ((1 << width) - 1); *count]).collect();
            let is_above = levels.iter().any(|level| *level > level_max as u64);
            prop_assert_eq!(exceeds(&encode(&levels, width), levels.len() as u64, level_max), is_above);
        }

        #[test]
        fn consumes_arbitrary_bytes_to_their_end(bytes in prop::collection::vec(any::<u8>(), 0..60), count in 0_u64..5_000) {
            let mut starts = RowStarts::repeated(count, 1, bytes.into());
            let taken = starts.take(u64::MAX);
            prop_assert_eq!(taken.levels, count);
        }
    }

    #[test]
    fn finds_run_above_maximum_of_all_bits() {
        // Eight levels of 1, then eight of 2 in a byte, for a maximum of 1.
        let bytes: Bytes = vec![16, 1, 16, 2].into();
        assert!(exceeds(&bytes, 16, 1));
        assert!(!exceeds(&bytes, 8, 1), "beyond the page");
        assert!(!exceeds(&bytes, 16, 2) && !exceeds(&bytes, 99, 2));
    }

    #[test]
    fn caps_overlong_run_at_level_count() {
        // Nine bytes of a head: 2^62 - 1 groups of eight levels.
        let bytes = [[0xff; 8].as_slice(), &[0x7f, 0, 0]].concat();
        let taken = RowStarts::repeated(5, 1, bytes.into()).take(u64::MAX);
        assert_eq!(taken.levels, 5);
    }

    #[test]
    fn consumes_levels_that_are_missing() {
        let mut starts = RowStarts::repeated(5, 1, Bytes::new());
        assert_eq!(starts.take(u64::MAX), Taken { rows: 0, levels: 5 });
        assert!(starts.is_empty());
    }

    #[test]
    fn counts_each_level_as_row_without_repetition() {
        let mut starts = RowStarts::flat(10);
        assert_eq!(starts.take(7), Taken { rows: 7, levels: 7 });
        assert_eq!(starts.take(7), Taken { rows: 3, levels: 3 });
        assert!(starts.is_empty());
    }
}
