//! Evaluates a filter over one zone of 8,192 rows: first by the zone map, then value by value into a byte mask. One
//! plain loop over slices for each width.

use mercato_format::array::UintArray;
use mercato_format::column::ZONE_ROWS;
use mercato_format::lanes::{Lane, Lanes};
use mercato_format::{ColumnData, Numbers, Texts, Zone, with_lane};

use crate::plan::key_set::{Coverage, KeySet};
use crate::plan::matcher::{LeafMatcher, Node};
use crate::plan::predicate::{Test, TextTest};
use crate::work_limit::{SearchError, VALUES_PER_CHECK};

/// One byte per row: 1 for a match.
pub(crate) type Mask = [u8];

impl Node<'_> {
    /// Returns whether none, all or some rows of a zone match; `mask` marks some. It has one byte per row.
    pub(crate) fn zone(&self, zone: usize, mask: &mut Mask) -> Result<Coverage, SearchError> {
        match self {
            Node::All => Ok(Coverage::All),
            Node::Nothing => Ok(Coverage::None),
            Node::Leaf(leaf) => leaf.zone(zone, mask),
            Node::And(parts) => combine(parts, zone, mask, Coverage::None, |mask, other| *mask &= other),
            Node::Or(parts) => combine(parts, zone, mask, Coverage::All, |mask, other| *mask |= other),
        }
    }
}

/// Evaluates parts until one decides the zone, and combines the masks of the others.
fn combine(
    parts: &[Node<'_>],
    zone: usize,
    mask: &mut Mask,
    decisive: Coverage,
    fold: impl Fn(&mut u8, u8),
) -> Result<Coverage, SearchError> {
    let neutral = if decisive == Coverage::None { Coverage::All } else { Coverage::None };
    let mut marked = false;
    let mut other = [0u8; ZONE_ROWS];
    for part in parts {
        let target = if marked { other.get_mut(..mask.len()).unwrap_or_default() } else { &mut *mask };
        let coverage = part.zone(zone, target)?;
        if coverage == decisive {
            return Ok(decisive);
        }
        if coverage == Coverage::Some {
            if marked {
                mask.iter_mut().zip(&other).for_each(|(mask, other)| fold(mask, *other));
            }
            marked = true;
        }
    }
    Ok(if marked { Coverage::Some } else { neutral })
}

impl LeafMatcher<'_> {
    fn zone(&self, zone: usize, mask: &mut Mask) -> Result<Coverage, SearchError> {
        let facts = self.data.zones().get(zone).ok_or_else(|| self.damaged())?;
        let start = zone * ZONE_ROWS;
        let coverage = self.classify(&facts, mask.len());
        if coverage != Coverage::Some {
            return Ok(coverage);
        }
        self.work.check()?;
        match &self.test {
            Test::Keys(keys) => self.keys_mask(keys, start, mask),
            Test::IsNull => self.null_mask(start, mask, 0),
            Test::NotNull => self.null_mask(start, mask, 1),
            Test::Text(test) => {
                let ColumnData::Texts(texts) = &self.data else { return Err(self.damaged().into()) };
                return self.text_mask(texts, test, start, mask).map(|()| Coverage::Some);
            }
        }
        .map(|()| Coverage::Some)
        .ok_or_else(|| self.damaged().into())
    }

    /// Texts may be long, so there are further checks inside a zone.
    fn text_mask(
        &self,
        texts: &Texts<'_>,
        test: &TextTest,
        start: usize,
        mask: &mut Mask,
    ) -> Result<(), SearchError> {
        for (number, part) in mask.chunks_mut(VALUES_PER_CHECK).enumerate() {
            self.work.check()?;
            let mut reader = texts.reader();
            let marked = (start + number * VALUES_PER_CHECK..).zip(part).try_for_each(|(row, slot)| {
                *slot = test.passes(&mut reader, u32::try_from(row).ok()?)?.into();
                Some(())
            });
            marked.ok_or_else(|| self.damaged())?;
        }
        Ok(())
    }

    /// The coverage according to the zone map alone.
    fn classify(&self, facts: &Zone, rows: usize) -> Coverage {
        let nulls = facts.null_count as usize;
        match &self.test {
            Test::Keys(keys) => {
                let all_or_none = |all: bool| if all { Coverage::All } else { Coverage::None };
                let numbers = facts.smallest <= facts.largest;
                let parts = [
                    numbers.then(|| keys.covers(facts.smallest, facts.largest)),
                    (facts.nan_count > 0).then(|| all_or_none(self.takes_nan)),
                    (nulls > 0).then_some(Coverage::None),
                ];
                let mut parts = parts.into_iter().flatten();
                let first = parts.next().unwrap_or(Coverage::None);
                if parts.all(|part| part == first) { first } else { Coverage::Some }
            }
            Test::Text(_) => {
                if nulls == rows {
                    Coverage::None
                } else {
                    Coverage::Some
                }
            }
            Test::IsNull if nulls == 0 => Coverage::None,
            Test::IsNull if nulls == rows => Coverage::All,
            Test::NotNull if nulls == 0 => Coverage::All,
            Test::NotNull if nulls == rows => Coverage::None,
            Test::IsNull | Test::NotNull => Coverage::Some,
        }
    }

    fn keys_mask(&self, keys: &KeySet, start: usize, mask: &mut Mask) -> Option<()> {
        match &self.data {
            ColumnData::Dictionary(column) => {
                codes_mask(&column.codes, keys, self.lookup.as_deref(), start, mask)
            }
            ColumnData::Texts(column) => codes_mask(&column.ranks?, keys, None, start, mask),
            ColumnData::Numbers(column) => {
                numbers_mask(column, keys, start, mask)?;
                if column.validity().is_some() {
                    (start..).zip(mask.iter_mut()).for_each(|(row, slot)| {
                        *slot &= u8::from(u32::try_from(row).is_ok_and(|row| column.is_valid(row)));
                    });
                }
                Some(())
            }
        }
    }

    fn null_mask(&self, start: usize, mask: &mut Mask, valid_marks: u8) -> Option<()> {
        for (row, slot) in (start..).zip(mask.iter_mut()) {
            let row = u32::try_from(row).ok()?;
            let valid = match &self.data {
                ColumnData::Dictionary(column) => column.codes.get(row as usize)? != column.entries,
                ColumnData::Numbers(column) => column.is_valid(row),
                ColumnData::Texts(column) => !column.reader().is_null(row)?,
            };
            *slot = u8::from(valid) ^ valid_marks ^ 1;
        }
        Some(())
    }
}

/// Marks codes in the set; the code of null is the largest.
fn codes_mask(
    codes: &UintArray<'_>,
    keys: &KeySet,
    lookup: Option<&[u8]>,
    start: usize,
    mask: &mut Mask,
) -> Option<()> {
    match (lookup, keys.ranges()) {
        (_, [(low, high)]) => range_mask(codes.lanes(), start, *low, *high, mask),
        (Some(table), _) => each_item(codes.lanes(), start, mask, |code| {
            usize::try_from(code).ok().and_then(|code| table.get(code)).copied().unwrap_or(0)
        }),
        (None, _) => each_item(codes.lanes(), start, mask, |code| keys.contains(code).into()),
    }
}

/// `low <= item <= high` for every item, as one unsigned comparison of words.
fn range_mask(lanes: &Lanes<'_>, start: usize, low: u128, high: u128, mask: &mut Mask) -> Option<()> {
    with_lane!(lanes.width(), Word => {
        let largest = Lane::wide(Word::MAX);
        if low > largest {
            mask.fill(0);
            return Some(());
        }
        let (low, span) = (Word::truncated(low), Word::truncated(high.min(largest) - low));
        each_word(lanes, start, mask, |item: Word| u8::from(item.wrapping_sub(low) <= span))
    })
}

fn each_item(lanes: &Lanes<'_>, start: usize, mask: &mut Mask, test: impl Fn(u128) -> u8) -> Option<()> {
    with_lane!(lanes.width(), Word => each_word(lanes, start, mask, |item: Word| test(Lane::wide(item))))
}

fn each_word<T: Lane>(
    lanes: &Lanes<'_>,
    start: usize,
    mask: &mut Mask,
    test: impl Fn(T) -> u8,
) -> Option<()> {
    let mut rest = &mut *mask;
    lanes.each(start, rest.len(), |items: &[T]| {
        let slots = rest.split_off_mut(..items.len()).unwrap_or_default();
        items.iter().zip(slots).for_each(|(item, slot)| *slot = test(*item));
    })
}

/// Marks numbers with a key in the set. Packed integers are compared as deltas.
fn numbers_mask(column: &Numbers<'_>, keys: &KeySet, start: usize, mask: &mut Mask) -> Option<()> {
    let (frame, deltas) = column.values.zone(start / ZONE_ROWS)?;
    if let (false, 8, [(low, high)]) = (column.is_float(), column.width, keys.ranges()) {
        let value =
            |key: u128| i128::from(mercato_format::order::integer_of(u64::try_from(key).unwrap_or(u64::MAX)));
        let delta = |key: u128| value(key).saturating_sub(frame.base);
        return match (u128::try_from(delta(*low).max(0)), u128::try_from(delta(*high))) {
            (Ok(low), Ok(high)) => range_mask(&deltas, start % ZONE_ROWS, low, high, mask),
            _ => {
                mask.fill(0);
                Some(())
            }
        };
    }
    if column.width == 16 {
        for (row, slot) in (start..).zip(mask.iter_mut()) {
            *slot = keys.contains(column.wide_order_key(u32::try_from(row).ok()?)?).into();
        }
        return Some(());
    }
    let mut values = Vec::with_capacity(mask.len());
    if !column.values.copy_range(start, mask.len(), &mut values) {
        return None;
    }
    values
        .iter()
        .zip(mask)
        .for_each(|(value, slot)| *slot = keys.contains(column.key_of(*value).into()).into());
    Some(())
}
