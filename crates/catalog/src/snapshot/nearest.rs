//! Suggests the published slug nearest to an unknown one.
//!
//! Depends on spelling only.

use crate::slug::SLUG_SIZE_BYTES_MAX;

/// Accepted typing errors: one for every three letters, at least one, and at most this many.
const EDITS_MAX: usize = 4;
/// Limit of edit-distance computations. A letter count filters the other slugs.
const COMPARED_MAX: usize = 1_000;

/// The first slug with the smallest distance to `typed`. If none is near, the only slug with `typed` as a hyphenated
/// part. Computes at most `COMPARED_MAX` distances, however many slugs there are.
pub fn nearest_slug<'s>(typed: &str, slugs: impl Iterator<Item = &'s str> + Clone) -> Option<&'s str> {
    if typed.is_empty() || typed.len() > SLUG_SIZE_BYTES_MAX.saturating_add(EDITS_MAX) {
        return None;
    }
    let typed = typed.to_lowercase().replace(['_', '.', ' '], "-");
    nearest_by_letters(&typed, slugs.clone()).or_else(|| only_one_with(&typed, slugs))
}

fn nearest_by_letters<'s>(typed: &str, slugs: impl Iterator<Item = &'s str>) -> Option<&'s str> {
    let letters = LetterCounts::of(typed);
    let mut best = None;
    let mut compared = 0_usize;
    let mut edits_max = (typed.len() / 3).clamp(1, EDITS_MAX);
    for slug in slugs {
        if letters.fewest_edits(slug) > edits_max {
            continue;
        }
        compared = compared.saturating_add(1);
        let edits = strsim::osa_distance(typed, slug);
        if edits <= edits_max {
            best = Some(slug);
            match edits.checked_sub(1) {
                Some(fewer) => edits_max = fewer,
                None => break,
            }
        }
        if compared == COMPARED_MAX {
            break;
        }
    }
    best
}

fn only_one_with<'s>(typed: &str, slugs: impl Iterator<Item = &'s str>) -> Option<&'s str> {
    let part = format!("-{typed}-");
    let mut having = slugs.filter(|slug| format!("-{slug}-").contains(&part));
    let first = having.next();
    first.filter(|_| having.next().is_none())
}

/// Byte counts of a text.
struct LetterCounts {
    length: usize,
    counts: [u8; 256],
}

impl LetterCounts {
    fn of(text: &str) -> Self {
        let mut counts = [0_u8; 256];
        for byte in text.bytes() {
            if let Some(count) = counts.get_mut(usize::from(byte)) {
                *count = count.saturating_add(1);
            }
        }
        Self { length: text.len(), counts }
    }

    /// A lower bound of the edit distance: each edit adds at most one common letter.
    fn fewest_edits(&self, other: &str) -> usize {
        if self.length.abs_diff(other.len()) > EDITS_MAX {
            return usize::MAX;
        }
        let mut left = self.counts;
        let mut common = 0_usize;
        for byte in other.bytes() {
            if let Some(count) = left.get_mut(usize::from(byte)).filter(|count| **count > 0) {
                *count = count.saturating_sub(1);
                common = common.saturating_add(1);
            }
        }
        self.length.max(other.len()).saturating_sub(common)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(typed: &str, expected: Option<&str>) {
        let slugs = ["tpch-lineitem", "tpch-orders", "weather-daily", "a", "rainfall-hourly"];
        assert_eq!(nearest_slug(typed, slugs.into_iter()), expected, "{typed}");
    }

    #[test]
    fn suggests_slug_despite_typing_errors() {
        check("tpch-linetiem", Some("tpch-lineitem"));
        check("tpch_lineitem", Some("tpch-lineitem"));
        check("TPCH-Orders", Some("tpch-orders"));
        check("wether-daly", Some("weather-daily"));
        check("lineitem", Some("tpch-lineitem"));
        check("rainfall", Some("rainfall-hourly"));
        check("tpch", None);
        check("daily-weather-of-all-towns", None);
        check("", None);
        check(&"x".repeat(70_000), None);
    }

    #[test]
    fn bounds_comparisons_of_similar_slugs() {
        let slugs: Vec<String> = (0..10_000).map(|number| format!("{number:064}")).collect();
        let typed = format!("{:0>64}", "987654321z");
        let began = std::time::Instant::now();
        let _found = nearest_slug(&typed, slugs.iter().map(String::as_str));
        assert!(began.elapsed() < std::time::Duration::from_millis(500), "{:?}", began.elapsed());
    }

    /// The naive twin: the first slug with the fewest edits, comparing all.
    fn naive<'s>(typed: &str, slugs: &'s [String]) -> Option<&'s str> {
        let edits = |slug: &String| strsim::osa_distance(typed, slug);
        let best = slugs.iter().min_by_key(|slug| edits(slug))?;
        (edits(best) <= (typed.len() / 3).clamp(1, EDITS_MAX)).then_some(best.as_str())
    }

    proptest! {
        #[test]
        fn letter_filter_matches_naive_search(
            typed in "[ab-c]{1,12}",
            slugs in proptest::collection::vec("[ab-c]{1,12}", 0..20),
        ) {
            let found = nearest_by_letters(&typed, slugs.iter().map(String::as_str));
            prop_assert_eq!(found, naive(&typed, &slugs));
        }
    }
}
