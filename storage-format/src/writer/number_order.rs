//! Writes the order of a number column: permutation and fences.

use crate::column::FENCE_RANKS;
use crate::column::bits::bit_width;
use crate::column_record::{ColumnMeta, SortIndex};
use crate::error::FormatError;
use crate::section::SectionKind;
use crate::writer::number_column::NumberSource;
use crate::writer::segment::{BitWriter, SectionSet};
use crate::writer::sort::{KeyRange, OrderKey, visit_sorted};

/// Writes the permutation (unless the file order is sorted) and the fences, and counts distinct values.
pub(super) fn write_order(
    set: &mut SectionSet<'_>,
    meta: &mut ColumnMeta,
    source: &NumberSource<'_>,
    sort_memory: u64,
) -> Result<(), FormatError> {
    let rows = source.validity.rows();
    let mut order = OrderWriter::new(set, source, rows);
    if source.stats.in_file_order {
        meta.sort_index = SortIndex::FileOrder;
        source.read(|value| value.map_or(Ok(()), |value| order.run(source.key(value), 1)))?;
    } else {
        meta.sort_index = SortIndex::Permutation;
        if source.width == 16 {
            sort_rows::<u128>(source, sort_memory, &mut order)?;
        } else {
            sort_rows::<u64>(source, sort_memory, &mut order)?;
        }
        source.validity.for_each_null(&mut |row| order.rows.push(row))?;
    }
    meta.distinct = Some(order.distinct);
    let fence_width = u16::try_from(source.width).unwrap_or(8);
    set.add_bytes(
        SectionKind::Fences,
        fence_width,
        order.fences.len() as u64 / source.width as u64,
        &order.fences,
    )?;
    if meta.sort_index == SortIndex::Permutation {
        let rows = order.rows.finish()?;
        set.add(SectionKind::Permutation, 0, rows.items, rows.spool);
    }
    Ok(())
}

struct OrderWriter {
    rows: BitWriter,
    fences: Vec<u8>,
    key_width: usize,
    rank: u64,
    last: Option<u128>,
    distinct: u64,
}

impl OrderWriter {
    fn new(set: &SectionSet<'_>, source: &NumberSource<'_>, rows: u64) -> OrderWriter {
        let largest = u32::try_from(rows.saturating_sub(1)).unwrap_or(u32::MAX);
        let rows = BitWriter::new(set.spool(), bit_width(largest));
        OrderWriter { rows, fences: Vec::new(), key_width: source.width, rank: 0, last: None, distinct: 0 }
    }

    /// Adds a run of `count` ranks with one key.
    fn run(&mut self, key: u128, count: usize) -> Result<(), FormatError> {
        self.distinct += u64::from(self.last != Some(key));
        self.last = Some(key);
        let end = self.rank + count as u64;
        let mut fence = self.rank.next_multiple_of(u64::from(FENCE_RANKS));
        while fence < end {
            self.fences.extend_from_slice(key.to_le_bytes().get(..self.key_width).unwrap_or_default());
            fence += u64::from(FENCE_RANKS);
        }
        self.rank = end;
        Ok(())
    }
}

fn sort_rows<K: OrderKey + TryFrom<u128> + Into<u128>>(
    source: &NumberSource<'_>,
    sort_memory: u64,
    order: &mut OrderWriter,
) -> Result<(), FormatError> {
    let narrow = |key: u128| K::try_from(key).map_err(|_| ());
    let (Ok(low), Ok(high)) =
        (narrow(source.stats.smallest), narrow(source.stats.largest.max(source.stats.smallest)))
    else {
        return Ok(());
    };
    let pair_bytes = if source.width == 16 { 32 } else { 16 };
    let weight = (source.validity.rows() - source.validity.null_count()) * pair_bytes;
    let scan = |take: &mut dyn FnMut(u32, K, u64)| {
        let mut row = 0u32;
        source.read(|value| {
            if let Some(value) = value
                && let Ok(key) = narrow(source.key(value))
            {
                take(row, key, pair_bytes);
            }
            row += 1;
            Ok(())
        })
    };
    visit_sorted(&scan, KeyRange { low, high, weight }, sort_memory, &mut |key, rows| {
        order.run(key.into(), rows.len())?;
        order.rows.push_all(rows)
    })
}
