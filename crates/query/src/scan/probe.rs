//! Tests single rows in any order, for rows found by an index.

use mercato_format::ColumnData;

use crate::plan::key_set::KeySet;
use crate::plan::matcher::{LeafMatcher, Node};
use crate::plan::predicate::Test;
use crate::work_limit::SearchError;

impl Node<'_> {
    /// Keeps the rows that match, in their order.
    pub(crate) fn retain(&self, rows: &mut Vec<u32>) -> Result<(), SearchError> {
        match self {
            Node::All => Ok(()),
            Node::Nothing => {
                rows.clear();
                Ok(())
            }
            Node::And(parts) => parts.iter().try_for_each(|part| part.retain(rows)),
            Node::Leaf(leaf) => leaf.retain(rows),
            Node::Or(_) => {
                let mut mask = vec![0u8; rows.len()];
                self.mask_rows(rows, &mut mask)?;
                let mut marks = mask.iter();
                rows.retain(|_| marks.next() == Some(&1));
                Ok(())
            }
        }
    }

    /// Marks the rows that match with 1, the others with 0.
    fn mask_rows(&self, rows: &[u32], mask: &mut [u8]) -> Result<(), SearchError> {
        match self {
            Node::All => mask.fill(1),
            Node::Nothing => mask.fill(0),
            Node::Leaf(leaf) => leaf.mask_rows(rows, mask)?,
            Node::And(parts) | Node::Or(parts) => {
                let all = matches!(self, Node::And(_));
                mask.fill(all.into());
                let mut other = vec![0u8; rows.len()];
                for part in parts {
                    part.mask_rows(rows, &mut other)?;
                    let pairs = mask.iter_mut().zip(&other);
                    pairs.for_each(|(mask, other)| if all { *mask &= other } else { *mask |= other });
                }
            }
        }
        Ok(())
    }
}

impl LeafMatcher<'_> {
    fn retain(&self, rows: &mut Vec<u32>) -> Result<(), SearchError> {
        self.work.check()?;
        let kept = match (&self.test, &self.data, &self.lookup) {
            // The common case has a loop of its own, whose shifts and masks are computed once.
            (Test::Keys(_), ColumnData::Dictionary(column), Some(table)) => {
                let codes = column.codes;
                retain_rows(rows, |row| Some(table.get(codes.get(row as usize)? as usize) == Some(&1)))
            }
            _ => retain_rows(rows, |row| self.passes(row)),
        };
        kept.ok_or_else(|| self.damaged().into())
    }

    fn mask_rows(&self, rows: &[u32], mask: &mut [u8]) -> Result<(), SearchError> {
        self.work.check()?;
        let marks = rows.iter().zip(mask).try_for_each(|(row, slot)| {
            *slot = self.passes(*row)?.into();
            Some(())
        });
        marks.ok_or_else(|| self.damaged().into())
    }

    /// Whether a row passes; `None` when the file is damaged.
    #[inline]
    fn passes(&self, row: u32) -> Option<bool> {
        match &self.test {
            Test::Keys(keys) => self.key_passes(keys, row),
            Test::IsNull => self.has_value(row).map(|found| !found),
            Test::NotNull => self.has_value(row),
            Test::Text(test) => match &self.data {
                ColumnData::Texts(texts) => test.passes(&mut texts.reader(), row),
                _ => None,
            },
        }
    }

    #[inline]
    fn key_passes(&self, keys: &KeySet, row: u32) -> Option<bool> {
        Some(match &self.data {
            ColumnData::Dictionary(column) => {
                let code = column.codes.get(row as usize)?;
                match &self.lookup {
                    Some(table) => table.get(code as usize).copied() == Some(1),
                    None => keys.contains(code.into()),
                }
            }
            ColumnData::Texts(column) => keys.contains(column.ranks?.get(row as usize)?.into()),
            ColumnData::Numbers(column) => column.is_valid(row) && keys.contains(column.wide_order_key(row)?),
        })
    }

    fn has_value(&self, row: u32) -> Option<bool> {
        Some(match &self.data {
            ColumnData::Dictionary(column) => column.codes.get(row as usize)? != column.entries,
            ColumnData::Numbers(column) => {
                ((row as usize) < column.values.len()).then(|| column.is_valid(row))?
            }
            ColumnData::Texts(column) => !column.reader().is_null(row)?,
        })
    }
}

/// Keeps the rows that pass; `None` when the file is damaged.
#[inline]
fn retain_rows(rows: &mut Vec<u32>, passes: impl Fn(u32) -> Option<bool>) -> Option<()> {
    let mut damaged = false;
    rows.retain(|row| {
        passes(*row).unwrap_or_else(|| {
            damaged = true;
            false
        })
    });
    (!damaged).then_some(())
}
