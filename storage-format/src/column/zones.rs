//! Zone maps: the smallest and largest key, nulls and NaNs of each zone of rows.

use crate::layout::{take, u32_at};

pub const ZONE_ROWS: usize = 8192;
/// Bytes of a zone record: smallest key (16), largest key (16), nulls (4), NaNs (4).
pub const ZONE_RECORD_SIZE: usize = 40;

/// The zone map entry of 8,192 rows. Keys are codes, ranks or order keys, depending on the storage of the column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Zone {
    /// Smallest key of a value that is not NaN; above `largest` when there is none.
    pub smallest: u128,
    /// Largest such key.
    pub largest: u128,
    pub null_count: u32,
    /// Rows with NaN.
    pub nan_count: u32,
}

impl Zone {
    pub(crate) const EMPTY: Zone = Zone { smallest: u128::MAX, largest: 0, null_count: 0, nan_count: 0 };

    pub(crate) fn include(&mut self, key: u128) {
        self.smallest = self.smallest.min(key);
        self.largest = self.largest.max(key);
    }

    pub(crate) fn encode(&self) -> [u8; ZONE_RECORD_SIZE] {
        let mut out = [0u8; ZONE_RECORD_SIZE];
        crate::layout::put(&mut out, 0, &self.smallest.to_le_bytes());
        crate::layout::put(&mut out, 16, &self.largest.to_le_bytes());
        crate::layout::put(&mut out, 32, &self.null_count.to_le_bytes());
        crate::layout::put(&mut out, 36, &self.nan_count.to_le_bytes());
        out
    }
}

/// The zone map of a column.
#[derive(Clone, Copy, Debug)]
pub struct Zones<'a> {
    bytes: &'a [u8],
}

impl<'a> Zones<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Zones<'a> {
        Zones { bytes }
    }

    /// The smallest and the largest key of all zones; `None` when no row has a value other than NaN.
    #[must_use]
    pub fn extremes(&self) -> Option<(u128, u128)> {
        let zones = (0..).map_while(|zone| self.get(zone)).filter(|zone| zone.smallest <= zone.largest);
        zones
            .map(|zone| (zone.smallest, zone.largest))
            .reduce(|(low, high), (smallest, largest)| (low.min(smallest), high.max(largest)))
    }

    /// Zone number `index`; `None` beyond the end.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<Zone> {
        let record = self.bytes.get(index * ZONE_RECORD_SIZE..(index + 1) * ZONE_RECORD_SIZE)?;
        Some(Zone {
            smallest: u128::from_le_bytes(take(record, 0)?),
            largest: u128::from_le_bytes(take(record, 16)?),
            null_count: u32_at(record, 32),
            nan_count: u32_at(record, 36),
        })
    }
}
