//! Finds the kind of a column from all of its texts, or says which value stands against it. Does not depend on file
//! formats.
//!
//! The result does not depend on the order of the rows: values are counted by class, with the first of each class kept
//! for the message.

use std::cmp::Reverse;

use mercato_format::{ColumnKind, TimeUnit};

use crate::convert::schema::flatten::cut;
use crate::convert::text::advice::{Tally, means_null};
use crate::convert::text::classify::{CLASSES, Class, EXACT_DIGITS, FLOAT_DIGITS};
pub use crate::convert::text::faults::{Conflict, LooksLikeValues, Spot, ValueFault};

/// Bytes of a value in a message.
const SHOWN_BYTES_MAX: usize = 60;
/// Numbers or dates of another form among texts, in per cent, of which the operator is told.
const VALUE_LIKE_PERCENT_MIN: u64 = 90;

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
    /// The first integer of which a double loses digits.
    long: Option<(Spot, String)>,
    /// The most digits of an integer.
    integer_digits: u32,
    /// Decimals that may be thousands: `1.234`.
    grouped: u64,
    /// Texts that would be values under another option, and the first of them.
    tally: Tally,
    first_tallied: Option<(Spot, String)>,
    /// Texts that usually mean null, and the first of them.
    null_words: u64,
    first_null_word: Option<(Spot, String)>,
}

impl Inference {
    pub fn note_nulls(&mut self, count: usize) {
        self.nulls += count as u64;
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
            Class::Integer { digits } => {
                self.whole_digits = self.whole_digits.max(digits);
                self.integer_digits = self.integer_digits.max(digits);
                if digits > FLOAT_DIGITS && self.long.is_none() {
                    self.long = Some((at(), cut(text.to_owned(), SHOWN_BYTES_MAX)));
                }
            }
            Class::Decimal { whole, scale } => {
                if scale == 3 && whole <= 3 && !text.trim_start_matches(['-', '+']).starts_with('0') {
                    self.grouped += 1;
                }
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
            Class::Text if !is_typed => self.note_text(text, at),
            _ => {}
        }
    }

    fn note_text(&mut self, text: &str, at: impl Fn() -> Spot) {
        let first = || Some((at(), cut(text.to_owned(), SHOWN_BYTES_MAX)));
        if means_null(text) {
            self.null_words += 1;
            self.first_null_word = self.first_null_word.take().or_else(first);
        } else if self.tally.note(text) {
            self.first_tallied = self.first_tallied.take().or_else(first);
        }
    }

    /// The texts of a column of texts, when nearly all values are numbers or dates.
    #[must_use]
    pub fn looks_like_values(&self) -> Option<LooksLikeValues> {
        let advice = self.tally.best(self.has_points())?;
        let plain = if advice.is_number { self.count_of(&NUMBERS) } else { self.count_of(&MOMENTS) };
        let values = self.counts.iter().sum::<u64>() - self.count(EMPTY) - self.null_words;
        let looking = advice.count + plain;
        let (at, found) = self.first_tallied.clone()?;
        let percent = looking.saturating_mul(100) / values.max(1);
        (percent >= VALUE_LIKE_PERCENT_MIN).then_some(LooksLikeValues { at, found, advice, percent })
    }

    /// Whether numbers have a point that is no mark of thousands.
    fn has_points(&self) -> bool {
        self.grouped < self.count(DECIMAL) || self.count(FLOAT) > 0
    }

    /// The first decimal, when all of them may as well be thousands: `1.234` beside `950`.
    #[must_use]
    pub fn ambiguous_thousands(&self) -> Option<Conflict> {
        let is_ambiguous = self.grouped > 0
            && self.grouped == self.count(DECIMAL)
            && self.count(FLOAT) == 0
            && self.integer_digits <= 3;
        let (at, found) = self.firsts.get(DECIMAL).and_then(Option::as_ref).filter(|_| is_ambiguous)?;
        Some(Conflict {
            at: at.clone(),
            expected: "a number that is a fraction or a thousand beyond doubt".into(),
            found: format!("`{found}`"),
            fault: ValueFault::Grouped,
        })
    }

    /// Whether every value was null.
    #[must_use]
    pub fn is_all_null(&self) -> bool {
        self.counts.iter().all(|count| *count == 0)
    }

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

    /// Nulls, with empty texts where the column is none of texts.
    #[must_use]
    pub fn null_count(&self) -> u64 {
        let is_text = self.resolve().is_ok_and(|kind| kind == ColumnKind::Text);
        self.nulls + if is_text { 0 } else { self.count(EMPTY) }
    }

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

    /// Whether a column with texts and other values is one of texts. Words for null do not count.
    fn may_be_texts(&self, present: &[&[usize]], texts: u64, typed: u64) -> bool {
        match present {
            // A JSON string is a string, also when it looks like a date.
            [family] if *family == MOMENTS && self.typed => true,
            _ => !self.typed && texts - self.null_words > typed,
        }
    }

    fn of_family(&self, family: &[usize]) -> Result<ColumnKind, Conflict> {
        match family {
            [BOOLEAN] => Ok(ColumnKind::Boolean),
            [LIST] => Ok(ColumnKind::Text),
            MOMENTS_SLICE if self.count(TIMESTAMP) == 0 => Ok(ColumnKind::Date),
            MOMENTS_SLICE => self.timestamp(),
            _ => self.number(),
        }
    }

    fn timestamp(&self) -> Result<ColumnKind, Conflict> {
        let unit = self.time_unit();
        match &self.far {
            Some((at, found)) if unit == TimeUnit::Nanosecond => Err(Conflict {
                at: at.clone(),
                expected: "a datetime from 1677 to 2262, because others have nanoseconds".into(),
                found: format!("`{found}`"),
                fault: ValueFault::Other,
            }),
            _ => Ok(ColumnKind::Timestamp { unit }),
        }
    }

    /// Decimals of one scale stay exact. Numbers of different scales are doubles as long as doubles keep all digits.
    fn number(&self) -> Result<ColumnKind, Conflict> {
        let has_floats = self.count(FLOAT) > 0;
        if let Some((at, found)) = self.long.as_ref().filter(|_| has_floats && !self.typed) {
            let float = self.firsts.get(FLOAT).and_then(Option::as_ref);
            let beside =
                float.map_or_else(String::new, |(spot, text)| format!(", as `{text}` on line {}", spot.line));
            return Err(Conflict {
                at: at.clone(),
                expected: format!(
                    "numbers of at most {FLOAT_DIGITS} digits beside those that are doubles{beside}"
                ),
                found: format!("`{found}`"),
                fault: ValueFault::LongInteger,
            });
        }
        let Some((least, most)) = self.scales.filter(|_| !has_floats) else {
            return Ok(if has_floats { ColumnKind::Float } else { ColumnKind::Integer });
        };
        let digits = self.whole_digits + most;
        let exact = u8::try_from(digits).ok().zip(u8::try_from(most).ok());
        let is_uniform = least == most && self.count(INTEGER) == 0;
        let floats_lose = self.decimal_digits.max(self.whole_digits) > FLOAT_DIGITS;
        Ok(match exact.filter(|_| digits <= EXACT_DIGITS && (is_uniform || floats_lose)) {
            Some((precision, scale)) => ColumnKind::Decimal { precision, scale },
            None => ColumnKind::Float,
        })
    }

    /// The first value of the rarest class, against the most frequent one.
    fn conflict(&self, present: &[&[usize]]) -> Conflict {
        let texts = [TEXT, CODE];
        let mut families: Vec<&[usize]> = present.to_vec();
        if self.count_of(&texts) > 0 {
            families.push(&texts);
        }
        let line_of = |family: &[usize]| family.iter().map(|class| self.line(*class)).min();
        // Words for null are the fault, however many they are.
        let size = |family: &[usize]| {
            self.count_of(family) - if family.contains(&TEXT) { self.null_words } else { 0 }
        };
        families.sort_by_key(|family| (size(family), !family.contains(&TEXT), Reverse(line_of(family))));
        let odd = families.first().copied().unwrap_or(&texts);
        let usual = families.last().copied().unwrap_or(&texts);
        let of_odd = odd.iter().filter(|class| self.count(**class) > 0);
        let class = of_odd.min_by_key(|class| (**class == CODE, self.line(**class))).copied();
        let like = usual.iter().copied().max_by_key(|class| self.count(*class)).unwrap_or(TEXT);
        let first = |class: usize| self.firsts.get(class).and_then(Option::as_ref);
        let (at, found) = class
            .and_then(first)
            .cloned()
            .unwrap_or_else(|| (Spot { file: "".into(), line: 0, field: None }, String::new()));
        let before = first(like)
            .map_or_else(String::new, |(spot, text)| format!(", as `{text}` on line {}", spot.line));
        Conflict {
            at,
            expected: format!("{}{before} and {} in all", Class::name(like), self.count_of(usual)),
            fault: self.fault(class, &found),
            found: format!("`{found}`"),
        }
    }

    /// What is wrong with the first value of a class that does not fit the others.
    fn fault(&self, class: Option<usize>, found: &str) -> ValueFault {
        if self.typed {
            return ValueFault::Other;
        }
        match class {
            Some(CODE) => ValueFault::Code,
            Some(TEXT) if means_null(found) => ValueFault::Null,
            _ => {
                let is_tallied = self.first_tallied.is_some() && self.count(TEXT) > 0;
                let advice = self.tally.best(self.has_points()).filter(|_| is_tallied);
                advice.map_or(ValueFault::Other, ValueFault::Form)
            }
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
const DECIMAL: usize = 3;
const FLOAT: usize = 4;
const TIMESTAMP: usize = 6;
const CODE: usize = 7;
const TEXT: usize = 8;
const LIST: usize = 9;
const NUMBERS: [usize; 3] = [INTEGER, DECIMAL, FLOAT];
const MOMENTS: [usize; 2] = [5, TIMESTAMP];
const MOMENTS_SLICE: &[usize] = &MOMENTS;

#[cfg(test)]
mod tests;
