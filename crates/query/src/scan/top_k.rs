//! Top-k selection: a buffer of twice the wanted size, halved by selection when full, and a threshold for new items (as
//! in the top-k collectors of Lucene and tantivy).

use mercato_format::order::NAN_KEY;
use mercato_format::{ColumnData, FormatError, Table};

use crate::plan::position::{Place, Position, row_key};
use crate::plan::predicate::nan_key;
use crate::request::SortDirection;

/// Keeps the `wanted` smallest items.
struct TopBuffer<T> {
    items: Vec<T>,
    wanted: usize,
    threshold: Option<T>,
}

/// Initial capacity of a buffer.
const BUFFER_START: usize = 1024;

impl<T: Ord + Copy> TopBuffer<T> {
    fn new(wanted: usize) -> TopBuffer<T> {
        TopBuffer {
            items: Vec::with_capacity(wanted.saturating_mul(2).min(BUFFER_START)),
            wanted,
            threshold: None,
        }
    }

    #[inline]
    fn push(&mut self, item: T) {
        if self.threshold.is_some_and(|threshold| item >= threshold) {
            return;
        }
        self.items.push(item);
        if self.items.len() >= self.wanted.saturating_mul(2).max(2) {
            self.halve();
        }
    }

    fn halve(&mut self) {
        if let Some(last) = self.wanted.checked_sub(1).filter(|last| *last < self.items.len()) {
            let (_, kept, _) = self.items.select_nth_unstable(last);
            self.threshold = Some(*kept);
        }
        self.items.truncate(self.wanted);
    }

    fn into_sorted(mut self) -> Vec<T> {
        self.items.sort_unstable();
        self.items.truncate(self.wanted);
        self.items
    }
}

/// Finds the top rows in a sort order.
pub(crate) struct TopRows<'t> {
    table: &'t Table,
    column: usize,
    data: ColumnData<'t>,
    nan: Option<u128>,
    direction: SortDirection,
    position: Option<Position>,
    buffer: Buffer,
}

/// Items compare in sort order: values, NaN, nulls; ties by row.
enum Buffer {
    /// Code or rank, then row, in 64 bits.
    Narrow(TopBuffer<u64>),
    /// Order key or NaN or null, then row, in 128 bits.
    Wide(TopBuffer<u128>),
    /// For 128-bit order keys.
    Widest(TopBuffer<(bool, u128, u32)>),
}

impl<'t> TopRows<'t> {
    /// Creates a search for the first `wanted` rows after `position`.
    pub(crate) fn new(
        table: &'t Table,
        column: usize,
        direction: SortDirection,
        position: Option<Position>,
        wanted: usize,
    ) -> Result<TopRows<'t>, FormatError> {
        let data = table.column(column)?;
        let buffer = match &data {
            ColumnData::Dictionary(_) | ColumnData::Texts(_) => Buffer::Narrow(TopBuffer::new(wanted)),
            ColumnData::Numbers(numbers) if numbers.width == 8 => Buffer::Wide(TopBuffer::new(wanted)),
            ColumnData::Numbers(_) => Buffer::Widest(TopBuffer::new(wanted)),
        };
        Ok(TopRows { table, column, data, nan: nan_key(&data), direction, position, buffer })
    }

    /// Offers rows, in any order.
    pub(crate) fn offer(&mut self, rows: &[u32]) -> Result<(), FormatError> {
        let descending = self.direction == SortDirection::Descending;
        for row in rows {
            let key = row_key(&self.data, *row).ok_or_else(|| self.table.damaged(self.column))?;
            let place = Place::of_key(key, self.nan);
            if self.position.is_some_and(|position| !is_behind(&position, place, *row, descending)) {
                continue;
            }
            match &mut self.buffer {
                Buffer::Narrow(buffer) => buffer.push(narrow_item(place, *row, descending)),
                Buffer::Wide(buffer) => buffer.push(wide_item(place, *row, descending)),
                Buffer::Widest(buffer) => {
                    let directed = key.map_or(0, |key| if descending { !key } else { key });
                    buffer.push((key.is_none(), directed, *row));
                }
            }
        }
        Ok(())
    }

    /// The top rows in order, without the first `skip`.
    pub(crate) fn into_rows(self, skip: usize) -> Vec<u32> {
        #[expect(clippy::cast_possible_truncation, reason = "the row is the low 32 bits of an item")]
        match self.buffer {
            Buffer::Narrow(buffer) => {
                buffer.into_sorted().into_iter().skip(skip).map(|item| item as u32).collect()
            }
            Buffer::Wide(buffer) => {
                buffer.into_sorted().into_iter().skip(skip).map(|item| item as u32).collect()
            }
            Buffer::Widest(buffer) => {
                buffer.into_sorted().into_iter().skip(skip).map(|(_, _, row)| row).collect()
            }
        }
    }
}

/// Codes and ranks are below the row limit, so the two largest values are free for NaN and null.
#[inline]
fn narrow_item(place: Place<u128>, row: u32, descending: bool) -> u64 {
    let word = match place {
        Place::Value(key) => {
            let key = u32::try_from(key).unwrap_or(u32::MAX).min(u32::MAX - 2);
            if descending { u32::MAX - 2 - key } else { key }
        }
        Place::Nan => u32::MAX - 1,
        Place::Null => u32::MAX,
    };
    u64::from(word) << 32 | u64::from(row)
}

/// The key of NaN is above all others, also in a descending order.
#[inline]
fn wide_item(place: Place<u128>, row: u32, descending: bool) -> u128 {
    let directed = match place {
        Place::Value(key) if descending => u128::from(u64::MAX) - key,
        Place::Value(key) => key,
        Place::Nan => u128::from(NAN_KEY),
        Place::Null => 1 << 64,
    };
    directed << 32 | u128::from(row)
}

/// Whether a row comes after a position.
fn is_behind(position: &Position, place: Place<u128>, row: u32, descending: bool) -> bool {
    match (position.place, place) {
        (Place::Value(_), Place::Nan | Place::Null) | (Place::Nan, Place::Null) => true,
        (Place::Null, Place::Value(_) | Place::Nan) | (Place::Nan, Place::Value(_)) => false,
        (Place::Nan, Place::Nan) | (Place::Null, Place::Null) => row > position.row,
        (Place::Value(place), Place::Value(key)) => match place.compare(key) {
            std::cmp::Ordering::Equal => row > position.row,
            std::cmp::Ordering::Greater => !descending,
            std::cmp::Ordering::Less => descending,
        },
    }
}
