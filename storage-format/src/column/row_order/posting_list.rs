//! The list of a run: its form, how it is encoded, and how it is read. Which form a list has follows from the rows of the
//! run and of the table, so the file does not say it.

use super::elias_fano::{self, EliasFano, Shape};
use super::equal_codes::EqualCodes;
use crate::array::UintArray;
use crate::column::ZONE_ROWS;
use crate::column::bits::{BITS_PADDING, BitArray, bit_width, pack};
use crate::column::partition_point;
use crate::layout::take;

/// A run with at least one of so many rows is counted by zone. FORMAT.md section 11.1 has what was measured, also for the
/// other threshold.
const COUNTED_PART: u64 = 32;
/// A shorter run is a plain list of rows.
const PLAIN_ROWS_MAX: u32 = 63;
/// Lists and their parts are filled up to words.
pub(crate) const WORD_BYTES: usize = 8;

/// Words that hold a number of bits.
pub(super) fn words(bits: u64) -> u64 {
    bits.div_ceil(64)
}

/// Fills up to a whole word. `out` begins at one.
pub(super) fn fill_word(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(WORD_BYTES), 0);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListForm {
    Empty,
    /// For each zone, the rows of the run before it.
    Counts {
        zones: u32,
    },
    /// Rows of some bits each.
    Plain {
        width: u32,
    },
    EliasFano(Shape),
}

impl ListForm {
    /// The form for a run of `count` rows in a table of `rows`.
    pub(crate) fn of(count: u32, rows: u32) -> ListForm {
        if count == 0 {
            ListForm::Empty
        } else if u64::from(count) * COUNTED_PART >= u64::from(rows) {
            ListForm::Counts { zones: rows.div_ceil(ZONE_ROWS as u32) }
        } else if count <= PLAIN_ROWS_MAX {
            ListForm::Plain { width: bit_width(rows.saturating_sub(1)) }
        } else {
            ListForm::EliasFano(Shape::of(count, rows))
        }
    }

    /// Words of the list of `count` rows.
    pub(crate) fn words(&self, count: u32) -> u64 {
        match self {
            ListForm::Empty => 0,
            ListForm::Counts { zones } => words(u64::from(*zones) * 32),
            ListForm::Plain { width } => words(u64::from(count) * u64::from(*width)),
            ListForm::EliasFano(shape) => shape.words(),
        }
    }
}

/// Appends the list of a counted run: `in_zones` has its rows in each zone.
pub(crate) fn encode_counts(in_zones: &[u32], out: &mut Vec<u8>) {
    let mut before = 0u32;
    for count in in_zones {
        out.extend_from_slice(&before.to_le_bytes());
        before = before.saturating_add(*count);
    }
    fill_word(out);
}

/// Appends the list of ascending rows in a form other than counts.
pub(crate) fn encode_rows(form: &ListForm, rows: &[u32], out: &mut Vec<u8>) {
    match form {
        ListForm::Empty | ListForm::Counts { .. } => (),
        ListForm::Plain { width } => {
            pack(rows.iter().map(|row| u64::from(*row)), *width, out);
            fill_word(out);
        }
        ListForm::EliasFano(shape) => elias_fano::encode(shape, rows, out),
    }
}

/// The list of one code, as it stands in the file.
pub(super) enum PostingList<'a> {
    Empty,
    Counts(CountedRun<'a>),
    Plain(BitArray<'a>),
    EliasFano(EliasFano<'a>),
}

/// A run that is found by scans of the codes.
pub(super) struct CountedRun<'a> {
    pub(super) codes: UintArray<'a>,
    pub(super) code: u32,
    counts: &'a [u8],
    zones: u32,
}

impl<'a> PostingList<'a> {
    /// The list of `count` rows of `code` in `padded`, behind which [`BITS_PADDING`] bytes can be read.
    pub(super) fn new(
        form: ListForm,
        padded: &'a [u8],
        codes: UintArray<'a>,
        code: u32,
        count: u32,
    ) -> Option<PostingList<'a>> {
        let bytes = padded.get(..padded.len().checked_sub(BITS_PADDING)?)?;
        Some(match form {
            ListForm::Empty => PostingList::Empty,
            ListForm::Counts { zones } => {
                PostingList::Counts(CountedRun { codes, code, counts: bytes, zones })
            }
            ListForm::Plain { width } => PostingList::Plain(BitArray::new(padded, width, count as usize)?),
            ListForm::EliasFano(shape) => PostingList::EliasFano(EliasFano::new(shape, bytes)?),
        })
    }

    /// The row at a place of the list.
    pub(super) fn get(&self, place: u32) -> Option<u32> {
        match self {
            PostingList::Empty => None,
            PostingList::Counts(run) => {
                let mut row = Vec::with_capacity(1);
                run.copy(place, 1, &mut row)?;
                row.first().copied()
            }
            PostingList::Plain(rows) => rows.get(place as usize),
            PostingList::EliasFano(rows) => rows.get(place),
        }
    }

    /// Appends the rows at `count` places from `first` on.
    pub(super) fn copy(&self, first: u32, count: u32, out: &mut Vec<u32>) -> Option<()> {
        match self {
            PostingList::Empty => (count == 0).then_some(()),
            PostingList::Counts(run) => run.copy(first, count, out),
            PostingList::Plain(rows) => rows.copy_range(first as usize, count as usize, out).then_some(()),
            PostingList::EliasFano(rows) => rows.copy(first, count, out),
        }
    }

    /// The number of rows up to and with `row`. `count` is the length of the list.
    pub(super) fn rows_through(&self, row: u32, count: u32) -> Option<u32> {
        match self {
            PostingList::Counts(run) => run.rows_through(row, count),
            _ => partition_point(0..count, |place| Some(self.get(place)? <= row)),
        }
    }
}

impl CountedRun<'_> {
    /// Rows of the run before a zone.
    fn before(&self, zone: u32) -> Option<u32> {
        take(self.counts, zone as usize * 4).map(u32::from_le_bytes)
    }

    fn copy(&self, first: u32, count: u32, out: &mut Vec<u32>) -> Option<()> {
        if count == 0 {
            return Some(());
        }
        let zone =
            partition_point(0..self.zones, |zone| Some(self.before(zone)? <= first))?.checked_sub(1)?;
        let start = zone as usize * ZONE_ROWS;
        let skipped = first - self.before(zone)?;
        EqualCodes::new(&self.codes, self.code, start)?.take(skipped, count, out)
    }

    fn rows_through(&self, row: u32, count: u32) -> Option<u32> {
        let zone = row / ZONE_ROWS as u32;
        if zone >= self.zones {
            return Some(count);
        }
        let start = zone as usize * ZONE_ROWS;
        let end = (row as usize + 1).min(self.codes.len());
        self.before(zone)?.checked_add(EqualCodes::new(&self.codes, self.code, start)?.count_until(end)?)
    }
}
