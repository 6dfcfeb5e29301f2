//! The columns that a page shows: their places in one parameter of the address, such as `1-4,7`.
//!
//! Places instead of names keep an address short however many columns are picked. Does not depend on the dataset.

use std::collections::BTreeSet;
use std::fmt::Write;

/// The columns that are shown, by number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Picked {
    shown: BTreeSet<usize>,
    of: usize,
    shown_max: usize,
}

impl Picked {
    /// Reads a parameter for a table of `of` columns. Places that it has not are left out. Without any place, the first
    /// `shown_max` are shown; more are never shown at once.
    pub(super) fn read(parameter: Option<&str>, of: usize, shown_max: usize) -> Self {
        let mut shown = BTreeSet::new();
        for part in parameter.unwrap_or_default().split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (Ok(first), Ok(last)) = (first.parse::<usize>(), last.parse::<usize>()) else { continue };
            let room = shown_max.saturating_sub(shown.len());
            shown.extend((first.max(1)..=last.min(of)).take(room).map(|place| place.saturating_sub(1)));
        }
        if shown.is_empty() {
            shown = (0..of.min(shown_max)).collect();
        }
        Self { shown, of, shown_max }
    }

    /// The numbers of the columns in the order of the table.
    pub(super) fn numbers(&self) -> Vec<usize> {
        self.shown.iter().copied().collect()
    }

    /// Whether a column is shown.
    pub(super) fn has(&self, column: usize) -> bool {
        self.shown.contains(&column)
    }

    /// Whether all columns of the table are shown.
    pub(super) fn is_all(&self) -> bool {
        self.shown.len() == self.of
    }

    /// The parameter with one column turned: shown where it is hidden, and hidden where it is shown. Nothing where that
    /// cannot be: the last column stays, and there is a bound on those shown at once.
    pub(super) fn turned(&self, column: usize) -> Option<String> {
        let mut turned = self.clone();
        if !turned.shown.remove(&column) {
            turned.shown.insert(column);
        }
        (1..=self.shown_max).contains(&turned.shown.len()).then(|| turned.parameter())
    }

    /// The parameter that [`Picked::read`] reads again.
    pub(super) fn parameter(&self) -> String {
        let mut text = String::new();
        let mut numbers = self.shown.iter().copied().peekable();
        while let Some(first) = numbers.next() {
            let mut last = first;
            while let Some(next) = numbers.next_if(|next| *next == last.saturating_add(1)) {
                last = next;
            }
            let comma = if text.is_empty() { "" } else { "," };
            let (first, last) = (first.saturating_add(1), last.saturating_add(1));
            // Writing into a String cannot fail.
            let _infallible = if first == last {
                write!(text, "{comma}{first}")
            } else {
                write!(text, "{comma}{first}-{last}")
            };
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(parameter: &str, of: usize, expected: &[usize]) {
        assert_eq!(Picked::read(Some(parameter), of, 5).numbers(), expected, "{parameter}");
    }

    #[test]
    fn reads_places_within_table_and_bound() {
        check("1-3,7", 9, &[0, 1, 2, 6]);
        check("7,1", 9, &[0, 6]);
        check("", 3, &[0, 1, 2]);
        check("", 9, &[0, 1, 2, 3, 4]);
        check("0,99,x,-,3-2", 3, &[0, 1, 2]);
        check("1-18446744073709551615", 100, &[0, 1, 2, 3, 4]);
        check("2,2,2", 3, &[1]);
        assert!(Picked::read(None, 0, 5).numbers().is_empty());
    }

    #[test]
    fn toggles_columns_except_last_one() {
        let picked = Picked::read(Some("1-2"), 9, 3);
        assert_eq!((picked.turned(0), picked.turned(4)), (Some("2".to_owned()), Some("1-2,5".to_owned())));
        assert_eq!(Picked::read(Some("3"), 9, 3).turned(2), None);
        assert_eq!(Picked::read(Some("1-3"), 9, 3).turned(5), None);
    }

    proptest! {
        #[test]
        fn round_trips_parameter(places in proptest::collection::btree_set(0_usize..60, 1..50)) {
            let picked = Picked { shown: places, of: 60, shown_max: 60 };
            prop_assert_eq!(Picked::read(Some(&picked.parameter()), 60, 60), picked);
        }
    }
}
