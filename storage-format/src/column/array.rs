//! Packed unsigned integers of one to four bytes, read in place. Does not depend on sections.

use crate::layout::take;

/// Bytes that must follow the last item, so that one four-byte load reads any item.
pub const ARRAY_PADDING: usize = 4;

/// The width in bytes that holds every value up to `largest`: 1, 2, 3 or 4.
#[must_use]
pub fn width_for(largest: u32) -> u8 {
    match largest {
        0..=0xFF => 1,
        0x100..=0xFFFF => 2,
        0x1_0000..=0xFF_FFFF => 3,
        _ => 4,
    }
}

/// Unsigned integers of one width, little-endian.
#[derive(Clone, Copy, Debug)]
pub struct UintArray<'a> {
    bytes: &'a [u8],
    mask: u32,
    width: usize,
    len: usize,
}

impl<'a> UintArray<'a> {
    /// An array of `len` items of `width` bytes; `None` when the width is not 1 to 4, or the bytes with padding are too
    /// short.
    #[must_use]
    pub fn new(padded: &'a [u8], width: u16, len: usize) -> Option<UintArray<'a>> {
        let width = usize::from(width);
        let mask = match width {
            1 => 0xFF,
            2 => 0xFFFF,
            3 => 0xFF_FFFF,
            4 => u32::MAX,
            _ => return None,
        };
        let needed = len.checked_mul(width)?.checked_add(ARRAY_PADDING)?;
        Some(UintArray { bytes: padded.get(..needed)?, mask, width, len })
    }

    /// An array of `len` zeros, which takes no bytes and has width 0.
    #[must_use]
    pub fn zeros(len: usize) -> UintArray<'a> {
        UintArray { bytes: &[0; ARRAY_PADDING], mask: 0, width: 0, len }
    }

    /// Number of items.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the array is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of one item, 0 for [`UintArray::zeros`].
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// The item at `index`, or `None` beyond the end.
    #[inline]
    #[must_use]
    pub fn get(&self, index: usize) -> Option<u32> {
        if index >= self.len {
            return None;
        }
        take(self.bytes, index * self.width).map(|word| u32::from_le_bytes(word) & self.mask)
    }

    /// The bytes of items `start..start + count`, without padding.
    #[must_use]
    pub fn raw(&self, start: usize, count: usize) -> Option<&'a [u8]> {
        let end = start.checked_add(count).filter(|end| *end <= self.len)?;
        self.bytes.get(start * self.width..end * self.width)
    }

    /// Appends items `start..start + count`. Returns false when they exceed the end.
    #[must_use]
    pub fn copy_range(&self, start: usize, count: usize, out: &mut Vec<u32>) -> bool {
        let Some(raw) = self.raw(start, count) else {
            return false;
        };
        match self.width {
            0 => out.extend(std::iter::repeat_n(0, count)),
            1 => out.extend(raw.iter().map(|byte| u32::from(*byte))),
            2 => out.extend(raw.as_chunks::<2>().0.iter().map(|pair| u32::from(u16::from_le_bytes(*pair)))),
            3 => {
                out.extend(raw.as_chunks::<3>().0.iter().map(|[a, b, c]| u32::from_le_bytes([*a, *b, *c, 0])))
            }
            _ => out.extend(raw.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word))),
        }
        true
    }

    /// Appends the items at `rows`. Returns false when one of them is beyond the end; the appended items are then
    /// invalid.
    #[must_use]
    pub fn gather(&self, rows: &[u32], out: &mut Vec<u32>) -> bool {
        let mut complete = true;
        out.extend(rows.iter().map(|row| {
            self.get(*row as usize).unwrap_or_else(|| {
                complete = false;
                0
            })
        }));
        complete
    }
}

/// Appends the low `width` bytes of `value`.
#[inline]
pub(crate) fn push_uint(out: &mut Vec<u8>, value: u32, width: u8) {
    let [a, b, c, d] = value.to_le_bytes();
    match width {
        1 => out.push(a),
        2 => out.extend_from_slice(&[a, b]),
        3 => out.extend_from_slice(&[a, b, c]),
        _ => out.extend_from_slice(&[a, b, c, d]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_back_every_width() {
        for largest in [7u32, 0xFF, 0x100, 0xFFFF, 0x1_0000, 0xFF_FFFF, 0x100_0000, u32::MAX] {
            let width = width_for(largest);
            let values = [0, largest / 3, largest, 1, largest - 1];
            let mut bytes = Vec::new();
            values.iter().for_each(|value| push_uint(&mut bytes, *value, width));
            bytes.extend_from_slice(&[0xEE; ARRAY_PADDING]);
            let array = UintArray::new(&bytes, u16::from(width), values.len()).unwrap();
            assert_eq!((0..5).map(|i| array.get(i).unwrap()).collect::<Vec<_>>(), values);
            assert_eq!(array.get(5), None);
            let mut copied = Vec::new();
            assert!(array.copy_range(1, 3, &mut copied));
            assert_eq!(copied, values[1..4]);
            assert!(!array.copy_range(3, 3, &mut copied));
        }
    }

    #[test]
    fn reads_zeros_of_given_length() {
        let array = UintArray::zeros(5);
        assert_eq!((array.len(), array.width(), array.get(4), array.get(5)), (5, 0, Some(0), None));
        let mut copied = Vec::new();
        assert!(array.copy_range(2, 3, &mut copied) && array.gather(&[4, 0], &mut copied));
        assert_eq!(copied, [0; 5]);
        assert!(!array.copy_range(3, 3, &mut copied) && !array.gather(&[5], &mut copied));
    }

    #[test]
    fn rejects_array_without_padding() {
        assert!(UintArray::new(&[0; 7], 1, 4).is_none());
        assert!(UintArray::new(&[0; 8], 1, 4).is_some());
        assert!(UintArray::new(&[0; 64], 5, 4).is_none());
    }
}
