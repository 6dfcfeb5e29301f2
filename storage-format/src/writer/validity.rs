//! The validity bitmap: one bit a row, 1 for a value.

use crate::error::FormatError;

#[derive(Default)]
pub(crate) struct Validity {
    words: Vec<u64>,
    rows: u64,
    nulls: u64,
}

impl Validity {
    #[inline]
    pub(crate) fn push(&mut self, valid: bool) {
        let bit = self.rows % 64;
        if bit == 0 {
            self.words.push(0);
        }
        if let Some(word) = self.words.last_mut() {
            *word |= u64::from(valid) << bit;
        }
        self.rows += 1;
        self.nulls += u64::from(!valid);
    }

    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    pub(crate) fn null_count(&self) -> u64 {
        self.nulls
    }

    #[inline]
    pub(crate) fn get(&self, row: u64) -> bool {
        self.nulls == 0 || self.bit(row)
    }

    #[inline]
    pub(crate) fn bit(&self, row: u64) -> bool {
        let word = usize::try_from(row / 64).ok().and_then(|word| self.words.get(word));
        word.is_some_and(|word| word >> (row % 64) & 1 == 1)
    }

    pub(crate) fn for_each_null(
        &self,
        take: &mut dyn FnMut(u32) -> Result<(), FormatError>,
    ) -> Result<(), FormatError> {
        if self.nulls == 0 {
            return Ok(());
        }
        (0..u32::try_from(self.rows).unwrap_or(u32::MAX))
            .filter(|row| !self.get(u64::from(*row)))
            .try_for_each(take)
    }

    /// The bitmap as bytes, without bits beyond the last row.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes: Vec<u8> = self.words.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.truncate(usize::try_from(self.rows.div_ceil(8)).unwrap_or(usize::MAX));
        bytes
    }
}
