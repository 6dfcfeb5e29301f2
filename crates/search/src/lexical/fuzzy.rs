//! Fuzzy matching: known words near an unknown one, by typos, prefixes or joined words.
//!
//! A filter by letter pairs selects candidates, an edit distance decides. Does not depend on documents.

use std::collections::HashMap;
use std::sync::Arc;

use strsim::osa_distance;

/// Limit of known words that replace an unknown word.
const NEIGHBOURS_MAX: usize = 8;

/// Shortest word that is compared.
const COMPARED_CHARS_MIN: usize = 4;
/// Shortest word in which two errors are forgiven.
const TWO_ERRORS_CHARS_MIN: usize = 8;
/// Pairs that one error can change: a swap of neighbours changes three.
const PAIRS_PER_ERROR: usize = 3;
/// Shortest part of a word that was written together with another.
const PART_CHARS_MIN: usize = 3;

/// How alike a word with one error, with two errors, and one that only begins so is: 1 would be the same word.
const ONE_ERROR: f32 = 0.8;
const TWO_ERRORS: f32 = 0.6;
const BEGINS_SO: f32 = 0.7;

/// A known word that may be meant.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Neighbour {
    pub word: Arc<str>,
    /// 0 to 1.
    pub likeness: f32,
}

/// The known words with an index by letter pairs.
#[derive(Debug, Default)]
pub(super) struct Neighbours {
    /// Sorted.
    words: Vec<Arc<str>>,
    lengths: Vec<usize>,
    by_pair: HashMap<(char, char), Vec<u32>>,
}

impl Neighbours {
    /// Over some words; short ones and those with digits are left out.
    pub(super) fn new(words: impl Iterator<Item = Arc<str>>) -> Self {
        let mut words: Vec<Arc<str>> = words.filter(|word| is_compared(word)).collect();
        words.sort_unstable();
        words.dedup();
        let mut by_pair: HashMap<(char, char), Vec<u32>> = HashMap::new();
        for (number, word) in (0..).zip(&words) {
            for pair in pairs(word) {
                by_pair.entry(pair).or_default().push(number);
            }
        }
        let lengths = words.iter().map(|word| word.chars().count()).collect();
        Self { words, lengths, by_pair }
    }

    /// The words nearest to `word`, most alike first; equally alike ones by name.
    pub(super) fn near(&self, word: &str) -> Vec<Neighbour> {
        if !is_compared(word) {
            return Vec::new();
        }
        let length = word.chars().count();
        let errors_max = errors_forgiven(length);
        let mut near: Vec<Neighbour> = self
            .candidates(word, errors_max)
            .filter(|(_, other_length)| other_length.abs_diff(length) <= errors_max)
            .filter_map(|(other, _)| {
                let likeness = match osa_distance(word, other) {
                    1 => ONE_ERROR,
                    2 if errors_max >= 2 => TWO_ERRORS,
                    _ => return None,
                };
                Some(Neighbour { word: Arc::clone(other), likeness })
            })
            .collect();
        near.extend(self.beginning_with(word));
        near.sort_by(|a, b| b.likeness.total_cmp(&a.likeness).then_with(|| a.word.cmp(&b.word)));
        near.dedup_by(|later, first| later.word == first.word);
        near.truncate(NEIGHBOURS_MAX);
        near
    }

    /// Both halves of a word that is two known words without a space, the longest first half first.
    pub(super) fn halves(word: &str, is_known: impl Fn(&str) -> bool) -> Option<(&str, &str)> {
        let places: Vec<usize> = word.char_indices().map(|(at, _)| at).collect();
        let inner = places.get(PART_CHARS_MIN..places.len().checked_sub(PART_CHARS_MIN - 1)?)?;
        inner
            .iter()
            .rev()
            .filter_map(|at| word.split_at_checked(*at))
            .find(|(first, second)| is_known(first) && is_known(second))
    }

    /// Words that share enough pairs of letters to be within that many errors.
    fn candidates(&self, word: &str, errors_max: usize) -> impl Iterator<Item = (&Arc<str>, usize)> {
        let wanted = pairs(word);
        let shared_min = wanted.len().saturating_sub(errors_max.saturating_mul(PAIRS_PER_ERROR));
        let mut shared = vec![0_u8; self.words.len()];
        for number in wanted.iter().filter_map(|pair| self.by_pair.get(pair)).flatten() {
            if let Some(count) = usize::try_from(*number).ok().and_then(|number| shared.get_mut(number)) {
                *count = count.saturating_add(1);
            }
        }
        let words = self.words.iter().zip(self.lengths.iter().copied());
        words.zip(shared).filter(move |(_, shared)| usize::from(*shared) >= shared_min).map(|(word, _)| word)
    }

    fn beginning_with<'s>(&'s self, word: &'s str) -> impl Iterator<Item = Neighbour> + 's {
        let start = self.words.partition_point(|known| known.as_ref() < word);
        let same = self.words.iter().skip(start).take_while(move |known| known.starts_with(word));
        let mut same: Vec<&Arc<str>> = same.collect();
        same.sort_by_key(|known| known.len());
        let nearest = same.into_iter().take(NEIGHBOURS_MAX);
        nearest.map(|word| Neighbour { word: Arc::clone(word), likeness: BEGINS_SO })
    }
}

/// Accepted typos in a word of a length.
fn errors_forgiven(length: usize) -> usize {
    if length >= TWO_ERRORS_CHARS_MIN { 2 } else { 1 }
}

fn is_compared(word: &str) -> bool {
    word.chars().count() >= COMPARED_CHARS_MIN && !word.bytes().any(|byte| byte.is_ascii_digit())
}

/// Distinct pairs of neighbouring letters, padded by a space at both ends.
fn pairs(word: &str) -> Vec<(char, char)> {
    let framed: Vec<char> = std::iter::once(' ').chain(word.chars()).chain(std::iter::once(' ')).collect();
    let mut pairs: Vec<(char, char)> =
        framed.windows(2).filter_map(|two| Some((*two.first()?, *two.get(1)?))).collect();
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn over(words: &[&str]) -> Neighbours {
        Neighbours::new(words.iter().map(|word| Arc::from(*word)))
    }

    #[track_caller]
    fn check(word: &str, expected: &[(&str, f32)]) {
        let known =
            over(&["hospital", "hospitals", "hotel", "school", "schools", "road", "roads", "no2", "air"]);
        let near = known.near(word);
        let near: Vec<(&str, f32)> = near.iter().map(|near| (near.word.as_ref(), near.likeness)).collect();
        assert_eq!(near, expected, "{word}");
    }

    #[test]
    fn tolerates_typos_by_length() {
        check("hosptial", &[("hospital", ONE_ERROR), ("hospitals", TWO_ERRORS)]);
        check("hspitall", &[("hospital", TWO_ERRORS), ("hospitals", TWO_ERRORS)]);
        check("shcool", &[("school", ONE_ERROR)]);
        check("raod", &[("road", ONE_ERROR)]);
        check("rod", &[]);
        check("no3", &[]);
        check("hosp", &[("hospital", BEGINS_SO), ("hospitals", BEGINS_SO)]);
        check("zzzzzz", &[]);
    }

    #[test]
    fn splits_joined_words() {
        let known = |word: &str| ["air", "quality", "airq"].contains(&word);
        assert_eq!(Neighbours::halves("airquality", known), Some(("air", "quality")));
        assert_eq!(Neighbours::halves("airair", known), Some(("air", "air")));
        assert_eq!(Neighbours::halves("airx", known), None);
        assert_eq!(Neighbours::halves("è", known), None);
    }

    proptest! {
        #[test]
        fn pair_filter_loses_no_near_word(
            words in proptest::collection::vec("[abè]{4,10}", 0..40),
            word in "[abè]{4,10}",
        ) {
            let known = Neighbours::new(words.iter().map(|word| Arc::from(word.as_str())));
            let errors_max = errors_forgiven(word.chars().count());
            let passed: Vec<&str> = known.candidates(&word, errors_max).map(|(word, _)| word.as_ref()).collect();
            for other in words.iter().filter(|other| osa_distance(&word, other) <= errors_max) {
                prop_assert!(passed.contains(&other.as_str()), "{} is near {}", other, word);
            }
        }
    }
}
