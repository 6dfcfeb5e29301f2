//! Finds the kind of a column from all of its texts, or says which value stands against it. Does not depend on file
//! formats.
//!
//! The result does not depend on the order of the rows: values are counted by class, with the first of each class kept
//! for the message.

use std::cmp::Reverse;

use mercato_format::{ColumnKind, TimeUnit};

use crate::convert::schema::flatten::cut;
use crate::convert::text::classify::{CLASSES, Class, EXACT_DIGITS, FLOAT_DIGITS};

/// Bytes of a value in a message.
const SHOWN_BYTES_MAX: usize = 60;

/// The place of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spot {
    /// The file.
    pub file: std::sync::Arc<str>,
    /// The line, counted from 1.
    pub line: u64,
    /// The number of the field, counted from 1; `None` where fields have names only.
    pub field: Option<usize>,
}

/// A value that does not fit the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The place of the value.
    pub at: Spot,
    /// The expected value.
    pub expected: String,
    /// The value found.
    pub found: String,
}

/// Counts of the classes of a column's values, out of which its type is inferred.
#[derive(Debug, Default)]
pub struct Inference {
    counts: [u64; CLASSES],
    firsts: [Option<(Spot, String)>; CLASSES],
    nulls: u64,
    /// Whether a value came from JSON, where the type is written down.
    typed: bool,
    whole_digits: u32,
    decimal_digits: u32,
    scales: Option<(u32, u32)>,
    second_digits: u32,
    /// The first timestamp that nanoseconds do not hold.
    far: Option<(Spot, String)>,
}

impl Inference {
    /// Counts a null.
    pub fn note_null(&mut self) {
        self.nulls += 1;
    }

    /// Counts a value. `is_typed` says that the source distinguishes texts from numbers.
    pub fn note(&mut self, class: Class, text: &str, is_typed: bool, at: impl Fn() -> Spot) {
        self.typed |= is_typed;
        let number = class.number();
        if let Some(count) = self.counts.get_mut(number) {
            *count += 1;
        }
        if let Some(first @ None) = self.firsts.get_mut(number) {
            *first = Some((at(), cut(text.to_owned(), SHOWN_BYTES_MAX)));
        }
        match class {
            Class::Integer { digits } => self.whole_digits = self.whole_digits.max(digits),
            Class::Decimal { whole, scale } => {
                self.whole_digits = self.whole_digits.max(whole);
                self.decimal_digits = self.decimal_digits.max(whole + scale);
                let (least, most) = self.scales.unwrap_or((scale, scale));
                self.scales = Some((least.min(scale), most.max(scale)));
            }
            Class::Timestamp { digits, fits_nanoseconds } => {
                self.second_digits = self.second_digits.max(digits);
                if !fits_nanoseconds && self.far.is_none() {
                    self.far = Some((at(), cut(text.to_owned(), SHOWN_BYTES_MAX)));
                }
            }
            _ => {}
        }
    }

    /// Whether every value was null.
    #[must_use]
    pub fn is_all_null(&self) -> bool {
        self.counts.iter().all(|count| *count == 0)
    }

    /// Whether a value was a list.
    #[must_use]
    pub fn has_lists(&self) -> bool {
        self.count(LIST) > 0
    }

    /// Whether a column of `kind` has nulls: null values, and empty texts in a column of another kind.
    #[must_use]
    pub fn has_nulls(&self, kind: ColumnKind) -> bool {
        let empty = kind != ColumnKind::Text && self.count(EMPTY) > 0;
        self.nulls > 0 || empty || self.is_all_null()
    }

    /// The place of any value.
    #[must_use]
    pub fn first(&self) -> Option<&Spot> {
        self.firsts.iter().flatten().map(|(spot, _)| spot).next()
    }

    /// The digits of seconds that timestamps need, as a unit.
    #[must_use]
    pub fn time_unit(&self) -> TimeUnit {
        match self.second_digits {
            0 => TimeUnit::Second,
            1..=3 => TimeUnit::Millisecond,
            4..=6 => TimeUnit::Microsecond,
            _ => TimeUnit::Nanosecond,
        }
    }

    /// The kind that holds every value.
    ///
    /// # Errors
    /// When values of two types are mixed.
    pub fn resolve(&self) -> Result<ColumnKind, Conflict> {
        let (texts, lists) = (self.count(TEXT) + self.count(CODE), self.count(LIST));
        let families = [&[BOOLEAN][..], &NUMBERS, &MOMENTS, &[LIST]];
        let present: Vec<&[usize]> =
            families.into_iter().filter(|family| self.count_of(family) > 0).collect();
        let typed: u64 = present.iter().map(|family| self.count_of(family)).sum();
        match present.as_slice() {
            [] => return Ok(ColumnKind::Text),
            _ if lists == 0 && texts > 0 && self.may_be_texts(&present, texts, typed) => {
                return Ok(ColumnKind::Text);
            }
            [family] if texts == 0 => return self.of_family(family),
            _ => {}
        }
        Err(self.conflict(&present))
    }

    /// Whether a column with texts and other values is one of texts.
    fn may_be_texts(&self, present: &[&[usize]], texts: u64, typed: u64) -> bool {
        match present {
            // Digits with a leading zero make a column of codes out of numbers.
            [family] if *family == NUMBERS && self.count(TEXT) == 0 => true,
            // A JSON string is a string, also when it looks like a date.
            [family] if *family == MOMENTS && self.typed => true,
            _ => !self.typed && texts > typed,
        }
    }

    fn of_family(&self, family: &[usize]) -> Result<ColumnKind, Conflict> {
        match family {
            [BOOLEAN] => Ok(ColumnKind::Boolean),
            [LIST] => Ok(ColumnKind::Text),
            MOMENTS_SLICE if self.count(TIMESTAMP) == 0 => Ok(ColumnKind::Date),
            MOMENTS_SLICE => self.timestamp(),
            _ => Ok(self.number()),
        }
    }

    fn timestamp(&self) -> Result<ColumnKind, Conflict> {
        let unit = self.time_unit();
        match &self.far {
            Some((at, found)) if unit == TimeUnit::Nanosecond => Err(Conflict {
                at: at.clone(),
                expected: "a datetime from 1677 to 2262, because others have nanoseconds".into(),
                found: format!("`{found}`"),
            }),
            _ => Ok(ColumnKind::Timestamp { unit }),
        }
    }

    /// Decimals of one scale stay exact. Numbers of different scales are doubles as long as doubles keep all digits.
    fn number(&self) -> ColumnKind {
        let has_floats = self.count(FLOAT) > 0;
        let Some((least, most)) = self.scales.filter(|_| !has_floats) else {
            return if has_floats { ColumnKind::Float } else { ColumnKind::Integer };
        };
        let digits = self.whole_digits + most;
        let exact = u8::try_from(digits).ok().zip(u8::try_from(most).ok());
        let is_uniform = least == most && self.count(INTEGER) == 0;
        let floats_lose = self.decimal_digits.max(self.whole_digits) > FLOAT_DIGITS;
        match exact.filter(|_| digits <= EXACT_DIGITS && (is_uniform || floats_lose)) {
            Some((precision, scale)) => ColumnKind::Decimal { precision, scale },
            None => ColumnKind::Float,
        }
    }

    /// The first value of the rarest class, against the most frequent one.
    fn conflict(&self, present: &[&[usize]]) -> Conflict {
        let texts = [TEXT, CODE];
        let mut families: Vec<&[usize]> = present.to_vec();
        if self.count_of(&texts) > 0 {
            families.push(&texts);
        }
        let line_of = |family: &[usize]| family.iter().map(|class| self.line(*class)).min();
        families
            .sort_by_key(|family| (self.count_of(family), !family.contains(&TEXT), Reverse(line_of(family))));
        let odd = families.first().copied().unwrap_or(&texts);
        let usual = families.last().copied().unwrap_or(&texts);
        let of_odd = odd.iter().filter(|class| self.count(**class) > 0);
        let class = of_odd.min_by_key(|class| (**class == CODE, self.line(**class)));
        let like = usual.iter().copied().max_by_key(|class| self.count(*class)).unwrap_or(TEXT);
        let first = |class: usize| self.firsts.get(class).and_then(Option::as_ref);
        let (at, found) = class
            .and_then(|class| first(*class))
            .cloned()
            .unwrap_or_else(|| (Spot { file: "".into(), line: 0, field: None }, String::new()));
        let before = first(like)
            .map_or_else(String::new, |(spot, text)| format!(", as `{text}` on line {}", spot.line));
        Conflict {
            at,
            expected: format!("{}{before} and {} in all", Class::name(like), self.count_of(usual)),
            found: format!("`{found}`"),
        }
    }

    fn line(&self, class: usize) -> u64 {
        self.firsts.get(class).and_then(Option::as_ref).map_or(u64::MAX, |(spot, _)| spot.line)
    }

    fn count(&self, class: usize) -> u64 {
        self.counts.get(class).copied().unwrap_or(0)
    }

    fn count_of(&self, family: &[usize]) -> u64 {
        family.iter().map(|class| self.count(*class)).sum()
    }
}

// The numbers of the classes, as `Class::number` gives them.
const EMPTY: usize = 0;
const BOOLEAN: usize = 1;
const INTEGER: usize = 2;
const FLOAT: usize = 4;
const TIMESTAMP: usize = 6;
const CODE: usize = 7;
const TEXT: usize = 8;
const LIST: usize = 9;
const NUMBERS: [usize; 3] = [INTEGER, 3, FLOAT];
const MOMENTS: [usize; 2] = [5, TIMESTAMP];
const MOMENTS_SLICE: &[usize] = &MOMENTS;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convert::text::classify;

    fn inferred(texts: &[&str]) -> Result<ColumnKind, Conflict> {
        let mut inference = Inference::default();
        for (line, text) in (2..).zip(texts) {
            let spot = || Spot { file: "f".into(), line, field: Some(1) };
            inference.note(classify::of_field(text), text, false, spot);
        }
        inference.resolve()
    }

    const fn decimal(precision: u8, scale: u8) -> ColumnKind {
        ColumnKind::Decimal { precision, scale }
    }

    #[test]
    fn finds_kind_that_keeps_every_value() {
        let at = |unit| ColumnKind::Timestamp { unit };
        let cases: [(&[&str], ColumnKind); 18] = [
            (&[], ColumnKind::Text),
            (&["1", "-2"], ColumnKind::Integer),
            (&["1", "99999999999999999999999999999999999999"], ColumnKind::Integer),
            (&["1", "007"], ColumnKind::Text),
            (&["1.50", "20.25"], decimal(4, 2)),
            (&["1.5", "20.25"], ColumnKind::Float),
            (&["1.5", "2"], ColumnKind::Float),
            (&["1.5", "1e3"], ColumnKind::Float),
            (&["1.5", "12345678901234567890"], decimal(21, 1)),
            (&["0.1234567890123456789", "1.5"], decimal(20, 19)),
            (&["NaN", "1"], ColumnKind::Float),
            (&["true", "False"], ColumnKind::Boolean),
            (&["2024-01-01"], ColumnKind::Date),
            (&["2024-01-01", "2024-01-01T00:00:00Z"], at(TimeUnit::Second)),
            (&["2024-01-01T00:00:00.1Z", "2024-01-01T00:00:00.0001Z"], at(TimeUnit::Microsecond)),
            (&["1984", "Ulysses", "Emma"], ColumnKind::Text),
            (&["", "1"], ColumnKind::Integer),
            (&["", "x"], ColumnKind::Text),
        ];
        for (texts, expected) in cases {
            assert_eq!(inferred(texts).unwrap(), expected, "{texts:?}");
        }
    }

    #[test]
    fn names_value_that_stands_against_the_others() {
        let conflict = inferred(&["1", "2", "n/a"]).unwrap_err();
        assert_eq!((conflict.at.line, conflict.found.as_str()), (4, "`n/a`"));
        assert_eq!(conflict.expected, "an integer, as `1` on line 2 and 2 in all");
        let cases: [(&[&str], u64); 6] = [
            (&["x", "1"], 2),
            (&["true", "1", "0"], 2),
            (&["1", "2", "2024-01-01"], 4),
            (&["2024-01-01", "soon"], 3),
            (&["2024-01-01T00:00:00.123456789Z", "9999-01-01T00:00:00Z"], 3),
            (&["1.5", "007", "x", "2.5", "3"], 4),
        ];
        for (texts, line) in cases {
            assert_eq!(inferred(texts).unwrap_err().at.line, line, "{texts:?}");
        }
    }
}
