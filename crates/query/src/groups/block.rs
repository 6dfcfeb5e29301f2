//! Blocks of rows, and the values of a block. Everything is read through ranges where rows are close together.

use mercato_format::array::UintArray;
use mercato_format::packed_numbers::PackedNumbers;

/// Rows of a block at most: their values stay in the caches.
pub(super) const BLOCK_ROWS: usize = 4096;
/// A range is read and picked from where one row in so many is wanted.
const PICKED_SHARE: usize = 4;
/// A range is read and its other rows are passed over where one row in so many is wanted.
const DENSE_SHARE: usize = 2;

/// Rows in file order.
#[derive(Debug, Clone, Copy)]
pub(super) enum Block<'r> {
    Range { start: u32, count: usize },
    Rows(&'r [u32]),
}

impl Block<'_> {
    pub(super) fn len(&self) -> usize {
        match self {
            Block::Range { count, .. } => *count,
            Block::Rows(rows) => rows.len(),
        }
    }

    /// The rows in order.
    pub(super) fn rows(&self) -> impl Iterator<Item = u32> {
        let (range, rows) = match self {
            Block::Range { start, count } => {
                (*start..start.saturating_add(u32::try_from(*count).unwrap_or(u32::MAX)), &[][..])
            }
            Block::Rows(rows) => (0..0, *rows),
        };
        range.chain(rows.iter().copied())
    }

    /// The range around rows that are close together: reading the others too costs less than picking.
    pub(super) fn dense_range(&self) -> Option<Block<'static>> {
        let Block::Rows(rows) = self else { return None };
        let (start, last) = (*rows.first()?, *rows.last()?);
        let count = last.checked_sub(start)? as usize + 1;
        (count <= rows.len().saturating_mul(DENSE_SHARE)).then_some(Block::Range { start, count })
    }

    /// The range to read instead of single rows.
    fn range(&self) -> Option<(usize, usize)> {
        match self {
            Block::Range { start, count } => Some((*start as usize, *count)),
            Block::Rows(rows) => {
                let (first, last) = (*rows.first()? as usize, *rows.last()? as usize);
                let count = last.checked_sub(first)?.checked_add(1)?;
                (count <= rows.len().saturating_mul(PICKED_SHARE)).then_some((first, count))
            }
        }
    }

    /// Keeps the wanted rows of a range.
    fn pick<T: Copy>(&self, first: usize, values: &mut Vec<T>) {
        let Block::Rows(rows) = self else { return };
        for (to, row) in rows.iter().enumerate() {
            let Some(value) = values.get((*row as usize).wrapping_sub(first)).copied() else { continue };
            if let Some(slot) = values.get_mut(to) {
                *slot = value;
            }
        }
        values.truncate(rows.len());
    }

    /// Replaces `out` by codes or ranks of the rows; `None` when the file is damaged.
    pub(super) fn codes(&self, codes: &UintArray<'_>, out: &mut Vec<u32>) -> Option<()> {
        out.clear();
        match (self.range(), self) {
            (Some((first, count)), _) => {
                codes.copy_range(first, count, out).then_some(())?;
                self.pick(first, out);
                Some(())
            }
            (None, Block::Rows(rows)) => codes.gather(rows, out).then_some(()),
            (None, Block::Range { .. }) => None,
        }
    }

    /// Replaces `out` by the 64-bit numbers of the rows; `None` when the file is damaged.
    pub(super) fn numbers(&self, numbers: &PackedNumbers<'_>, out: &mut Vec<i64>) -> Option<()> {
        out.clear();
        if let Some((first, count)) = self.range() {
            numbers.copy_range(first, count, out).then_some(())?;
            self.pick(first, out);
            return Some(());
        }
        for row in self.rows() {
            out.push(numbers.get(row as usize)?);
        }
        Some(())
    }

    /// Replaces `out` by the 128-bit numbers of the rows; `None` when the file is damaged.
    pub(super) fn wide_numbers(&self, numbers: &PackedNumbers<'_>, out: &mut Vec<i128>) -> Option<()> {
        out.clear();
        for row in self.rows() {
            out.push(numbers.get_wide(row as usize)?);
        }
        Some(())
    }
}
