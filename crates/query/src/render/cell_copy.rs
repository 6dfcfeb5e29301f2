//! The innermost loop of rendering: copies a cell and the bytes before it in few steps of fixed size.
//!
//! A step of fixed size is a load and a store; a copy of any length is a call. The next copy overwrites the excess
//! bytes of a step. Does not depend on columns or formats.

/// Padding behind the output, so that the last cells can be copied in whole steps too.
pub(crate) const PADDING_BYTES: usize = STEP + STEPPED_MAX;

const STEP: usize = 32;
/// The longest cell that is copied in steps.
const STEPPED_MAX: usize = 4 * STEP;
const HALF: usize = 16;

/// A separator around cells, padded to a whole step.
pub(crate) struct Piece {
    step: [u8; STEP],
    len: usize,
    /// All bytes of a piece that is longer than a step; short pieces need no memory of their own.
    long: Vec<u8>,
}

impl Piece {
    /// A piece with these bytes.
    pub(crate) fn of(bytes: &[u8]) -> Piece {
        let mut step = [0; STEP];
        for (target, byte) in step.iter_mut().zip(bytes) {
            *target = *byte;
        }
        let long = if bytes.len() > STEP { bytes.to_vec() } else { Vec::new() };
        Piece { step, len: bytes.len(), long }
    }

    /// Its length in bytes.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.step.get(..self.len).unwrap_or(&self.long)
    }

    /// Writes the piece and returns the offset after it.
    #[inline]
    pub(crate) fn put(&self, target: &mut [u8], at: usize) -> usize {
        let to = target.get_mut(at..).unwrap_or_default();
        match to.first_chunk_mut::<STEP>() {
            Some(to) if self.len <= STEP => *to = self.step,
            _ => copy(self.bytes(), to),
        }
        at + self.len
    }
}

/// The cells of one column and the separator before each cell.
pub(crate) struct CellColumn<'c> {
    before: &'c Piece,
    bytes: &'c [u8],
    spans: &'c [(usize, usize)],
    cells_len: usize,
}

impl<'c> CellColumn<'c> {
    /// `forms` are the bytes of the cells, the span of each cell and the total length.
    pub(crate) fn new(before: &'c Piece, forms: (&'c [u8], &'c [(usize, usize)], usize)) -> CellColumn<'c> {
        CellColumn { before, bytes: forms.0, spans: forms.1, cells_len: forms.2 }
    }

    /// Bytes of `count` cells with their separators.
    pub(crate) fn total_len(&self, count: usize) -> usize {
        self.cells_len + count * self.before.len()
    }

    /// Writes the cell `number` with its separator and returns the offset after it.
    #[inline]
    pub(crate) fn put(&self, number: usize, target: &mut [u8], at: usize) -> usize {
        let (start, end) = self.spans.get(number).copied().unwrap_or_default();
        let (before, cell) = (self.before.len, end.saturating_sub(start));
        let from = self.bytes.get(start..).unwrap_or_default();
        let to = target.get_mut(at..).unwrap_or_default();
        if !self.put_in_steps(from, cell, to) {
            let (to_before, to_cell) = to.split_at_mut_checked(before).unwrap_or_default();
            copy(self.before.bytes(), to_before);
            copy(from.get(..cell).unwrap_or_default(), to_cell);
        }
        at + before + cell
    }

    /// Writes both in steps and returns true if they fit.
    #[inline]
    fn put_in_steps(&self, from: &[u8], cell: usize, to: &mut [u8]) -> bool {
        let before = self.before.len;
        let Some(to) = to.first_chunk_mut::<PADDING_BYTES>().filter(|_| before <= STEP) else { return false };
        if let Some(head) = to.first_chunk_mut::<STEP>() {
            *head = self.before.step;
        }
        let Some(to) = to.get_mut(before..) else { return false };
        match cell {
            0..=HALF => step::<HALF>(from, to),
            17..=STEP => step::<STEP>(from, to),
            33..=STEPPED_MAX => {
                // The last step ends with the cell and overlaps the step before.
                let last = cell.saturating_sub(STEP);
                let mut step_at = |at: usize| {
                    from.get(at..).zip(to.get_mut(at..)).is_some_and(|(from, to)| step::<STEP>(from, to))
                };
                step_at(0)
                    && (last <= STEP || step_at(STEP))
                    && (last <= 2 * STEP || step_at(2 * STEP))
                    && step_at(last)
            }
            _ => false,
        }
    }
}

#[inline]
fn step<const N: usize>(from: &[u8], to: &mut [u8]) -> bool {
    let (Some(from), Some(to)) = (from.first_chunk::<N>(), to.first_chunk_mut::<N>()) else { return false };
    *to = *from;
    true
}

fn copy(from: &[u8], to: &mut [u8]) {
    if let Some(to) = to.get_mut(..from.len()) {
        to.copy_from_slice(from);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Cells and separators of all lengths, with and without bytes behind the last cell.
        #[test]
        fn copies_match_plain_concatenation(
            cells in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..150), 0..12),
            before in prop::collection::vec(any::<u8>(), 0..50),
            end in prop::collection::vec(any::<u8>(), 0..50),
            padding in 0_usize..40,
        ) {
            let mut bytes = Vec::new();
            let mut spans = Vec::new();
            let mut expected: Vec<u8> = Vec::new();
            for cell in &cells {
                spans.push((bytes.len(), bytes.len() + cell.len()));
                bytes.extend_from_slice(cell);
                expected.extend([&before, cell, &end].into_iter().flatten().copied());
            }
            bytes.extend(vec![0xAA; padding]);
            let (piece, end_piece) = (Piece::of(&before), Piece::of(&end));
            let cells_len = cells.iter().map(Vec::len).sum();
            let column = CellColumn::new(&piece, (&bytes, &spans, cells_len));
            let length = column.total_len(cells.len()) + cells.len() * end.len();
            let mut target = vec![0; length + PADDING_BYTES];
            let mut at = 0;
            for number in 0..cells.len() {
                at = column.put(number, &mut target, at);
                at = end_piece.put(&mut target, at);
            }
            prop_assert_eq!(at, length);
            prop_assert_eq!(&target[..at], &expected[..]);
        }
    }
}
