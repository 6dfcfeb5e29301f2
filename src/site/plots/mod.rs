//! Plots as SVG, drawn on the server out of exact figures.
//!
//! Does not depend on datasets or languages. An element has attributes and classes and no style of its own, because the
//! policy of the pages lets none through. Every plot stands beside the same figures as text.

mod histogram;
mod line;
mod neighbours;

pub use histogram::{Bin, Histogram};
pub use line::{Labels, Line, Point};
pub use neighbours::{Neighbours, Spoke};

use std::fmt;

/// A coordinate in tenths of a unit, written without a needless zero: `12`, `12.3`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tenths(u32);

impl Tenths {
    /// A length in tenths.
    pub const fn new(tenths: u32) -> Self {
        Self(tenths)
    }

    /// `part` of `whole`, where `whole` is as long as `length` tenths: rounded to the nearest, and visible where `part` is
    /// not 0.
    pub fn share(part: u64, whole: u64, length: u32) -> Self {
        if part == 0 || whole == 0 {
            return Self(0);
        }
        let (part, whole) = (u128::from(part.min(whole)), u128::from(whole));
        let scaled = (part * u128::from(length) + whole / 2) / whole;
        let least = VISIBLE_TENTHS_MIN.min(length);
        Self(u32::try_from(scaled).unwrap_or(length).clamp(least, length))
    }

    pub const fn tenths(self) -> u32 {
        self.0
    }
}

/// The smallest length of a bar that stands for something, in tenths.
const VISIBLE_TENTHS_MIN: u32 = 10;

impl fmt::Display for Tenths {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0 / 10, self.0 % 10) {
            (whole, 0) => write!(out, "{whole}"),
            (whole, tenth) => write!(out, "{whole}.{tenth}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_share_and_keeps_it_visible() {
        for (part, whole, length, expected) in [
            (0, 10, 1000, "0"),
            (1, 0, 1000, "0"),
            (10, 10, 1000, "100"),
            (1, 3, 1000, "33.3"),
            (2, 3, 1000, "66.7"),
            (1, 1_000_000, 1000, "1"),
            (20, 10, 1000, "100"),
            (u64::MAX, u64::MAX, 1000, "100"),
            (1, u64::MAX, 5, "0.5"),
        ] {
            assert_eq!(Tenths::share(part, whole, length).to_string(), expected, "{part}/{whole}");
        }
    }
}
