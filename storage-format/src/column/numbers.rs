//! Number columns: packed numbers, validity, and fence keys over the sort order.

use crate::column::row_order::StoredOrder;
use crate::column::{RowOrder, Zones, partition_point};
use crate::layout::take;
use crate::order::{float_key, integer_key, wide_key};
use crate::packed_numbers::PackedNumbers;
use crate::schema::ColumnKind;

/// A column of packed numbers.
#[derive(Clone, Copy, Debug)]
pub struct Numbers<'a> {
    /// The values. A value behind a null is arbitrary.
    pub values: PackedNumbers<'a>,
    /// Bytes of a number: 8 or 16.
    pub width: u8,
    pub null_count: u32,
    pub(crate) kind: ColumnKind,
    pub(crate) validity: Option<&'a [u8]>,
    pub(crate) fences: &'a [u8],
    pub(crate) order: StoredOrder<'a>,
    pub(crate) zones: Zones<'a>,
}

/// Distance of fence keys, in ranks.
pub const FENCE_RANKS: u32 = 1024;

impl<'a> Numbers<'a> {
    /// Whether the row has a value.
    #[inline]
    #[must_use]
    pub fn is_valid(&self, row: u32) -> bool {
        let Some(bits) = self.validity else { return true };
        bits.get(row as usize / 8).is_some_and(|byte| byte >> (row % 8) & 1 == 1)
    }

    /// The validity bitmap, one bit a row from the lowest; `None` when every row has a value.
    #[must_use]
    pub fn validity(&self) -> Option<&'a [u8]> {
        self.validity
    }

    /// Whether the numbers are doubles.
    #[must_use]
    pub fn is_float(&self) -> bool {
        self.kind == ColumnKind::Float
    }

    /// The order key of a row's 64-bit number, valid or not.
    #[inline]
    #[must_use]
    pub fn key(&self, row: u32) -> Option<u64> {
        self.values.get(row as usize).map(|value| self.key_of(value))
    }

    /// The order key of a stored 64-bit number.
    #[inline]
    #[must_use]
    pub fn key_of(&self, stored: i64) -> u64 {
        if self.is_float() { float_key(f64::from_bits(stored.cast_unsigned())) } else { integer_key(stored) }
    }

    /// The order key of a row's number, as a 128-bit key.
    #[must_use]
    pub fn wide_order_key(&self, row: u32) -> Option<u128> {
        if self.width == 16 {
            self.values.get_wide(row as usize).map(wide_key)
        } else {
            self.key(row).map(u128::from)
        }
    }

    /// The key at rank `number` × 1,024.
    #[must_use]
    pub fn fence(&self, number: u32) -> Option<u128> {
        let at = number as usize * usize::from(self.width);
        match self.width {
            16 => take(self.fences, at).map(u128::from_le_bytes),
            _ => take(self.fences, at).map(|bytes| u64::from_le_bytes(bytes).into()),
        }
    }

    /// Number of ranks with a value.
    #[must_use]
    pub fn valid_ranks(&self) -> u32 {
        u32::try_from(self.values.len()).unwrap_or(u32::MAX).saturating_sub(self.null_count)
    }

    /// The first rank whose (key, row) is not below `(key, row)`. Searches the fences, then the ranks between two
    /// fences. `None` without a sort index, or when the file is damaged.
    #[must_use]
    pub fn lower_bound(&self, key: u128, row: u32) -> Option<u32> {
        let ranks = self.valid_ranks();
        let order = self.order();
        let fences = ranks.div_ceil(FENCE_RANKS);
        let after = partition_point(0..fences, |fence| Some(self.fence(fence)? < key))?;
        let from = after.saturating_sub(1) * FENCE_RANKS;
        partition_point(from..ranks, |rank| {
            let at = order.row_at(rank)?;
            Some((self.wide_order_key(at)?, at) < (key, row))
        })
    }

    #[must_use]
    pub fn order(&self) -> RowOrder<'a> {
        self.order.of(u32::try_from(self.values.len()).unwrap_or(u32::MAX), None)
    }
}
