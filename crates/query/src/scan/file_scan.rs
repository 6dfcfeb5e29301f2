//! Scans a table in file order or in reverse, zone by zone, and stops when enough rows are found.

use mercato_format::column::ZONE_ROWS;

use crate::plan::key_set::Coverage;
use crate::plan::matcher::Node;
use crate::request::SortDirection;
use crate::work_limit::SearchError;

/// A resumable scan in file order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileScan {
    direction: SortDirection,
    /// The remaining rows: from here on, or up to here in reverse.
    start: u32,
    end: u32,
}

impl FileScan {
    /// A scan over rows `0..rows` behind the row `after` in a direction.
    pub(crate) fn new(rows: u32, direction: SortDirection, after: Option<u32>) -> FileScan {
        let (start, end) = match (direction, after) {
            (_, None) => (0, rows),
            (SortDirection::Ascending, Some(after)) => (after.saturating_add(1).min(rows), rows),
            (SortDirection::Descending, Some(after)) => (0, after.min(rows)),
        };
        FileScan { direction, start, end }
    }

    /// Skips rows, matching or not.
    pub(crate) fn skip_rows(&mut self, count: u64) {
        let count = u32::try_from(count).unwrap_or(u32::MAX).min(self.end - self.start);
        match self.direction {
            SortDirection::Ascending => self.start += count,
            SortDirection::Descending => self.end -= count,
        }
    }

    /// Appends up to `max` rows without a filter.
    pub(crate) fn fill_all(&mut self, max: usize, rows: &mut Vec<u32>) {
        let count = u32::try_from(max).unwrap_or(u32::MAX).min(self.end - self.start);
        match self.direction {
            SortDirection::Ascending => rows.extend(self.start..self.start + count),
            SortDirection::Descending => rows.extend((self.end - count..self.end).rev()),
        }
        self.skip_rows(count.into());
    }

    /// Appends up to `max` matching rows of the next `zones` zones.
    pub(crate) fn fill(
        &mut self,
        filter: &Node<'_>,
        max: usize,
        zones: usize,
        rows: &mut Vec<u32>,
    ) -> Result<(), SearchError> {
        let wanted = rows.len().saturating_add(max);
        let mut mask = [0u8; ZONE_ROWS];
        for _ in 0..zones {
            if rows.len() >= wanted || self.is_over() {
                break;
            }
            self.visit_zone(filter, wanted, &mut mask, rows)?;
        }
        Ok(())
    }

    /// Whether the scan is at its end.
    pub(crate) fn is_over(&self) -> bool {
        self.start >= self.end
    }

    /// Scans the remaining part of the next zone.
    fn visit_zone(
        &mut self,
        filter: &Node<'_>,
        wanted: usize,
        mask: &mut [u8; ZONE_ROWS],
        rows: &mut Vec<u32>,
    ) -> Result<(), SearchError> {
        let ascending = self.direction == SortDirection::Ascending;
        let zone = if ascending { self.start as usize } else { self.end as usize - 1 } / ZONE_ROWS;
        let zone_start = u32::try_from(zone * ZONE_ROWS).unwrap_or(u32::MAX);
        let (from, to) =
            (self.start.max(zone_start), self.end.min(zone_start.saturating_add(ZONE_ROWS as u32)));
        // The mask covers the zone up to the last remaining row; only the last zone of a table may be short.
        let mask = mask.get_mut(..filter.zone_rows(zone)).unwrap_or_default();
        match filter.zone(zone, mask)? {
            Coverage::None => self.skip_rows(u64::from(to - from)),
            Coverage::All => {
                let max = (wanted - rows.len()).min((to - from) as usize);
                self.fill_all(max, rows);
            }
            Coverage::Some if ascending => {
                let marks =
                    mask.get((from - zone_start) as usize..(to - zone_start) as usize).unwrap_or_default();
                for (row, mark) in (from..to).zip(marks) {
                    if *mark == 1 {
                        rows.push(row);
                        if rows.len() == wanted {
                            self.start = row + 1;
                            return Ok(());
                        }
                    }
                }
                self.start = to;
            }
            Coverage::Some => {
                let marks =
                    mask.get((from - zone_start) as usize..(to - zone_start) as usize).unwrap_or_default();
                for (row, mark) in (from..to).zip(marks).rev() {
                    if *mark == 1 {
                        rows.push(row);
                        if rows.len() == wanted {
                            self.end = row;
                            return Ok(());
                        }
                    }
                }
                self.end = from;
            }
        }
        Ok(())
    }
}

impl Node<'_> {
    /// Rows of a zone of the filter's table.
    fn zone_rows(&self, zone: usize) -> usize {
        let rows = match self {
            Node::All | Node::Nothing => return ZONE_ROWS,
            Node::Leaf(leaf) => leaf.table.row_count() as usize,
            Node::And(parts) | Node::Or(parts) => {
                return parts.iter().map(|part| part.zone_rows(zone)).min().unwrap_or(ZONE_ROWS);
            }
        };
        rows.saturating_sub(zone * ZONE_ROWS).min(ZONE_ROWS)
    }
}
