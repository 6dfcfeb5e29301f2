//! Values of conditions: as addresses hold them, and as people read and type them.
//!
//! An address holds the canonical form, which no language changes: numbers as JSON has them, days and moments as RFC 3339.
//! Only what a form sends is read in the language of its page.

use mercato_base::words::is_number;
use mercato_catalog::{ColumnKind, Language};

/// Digits of a group of thousands.
const GROUP_DIGITS: usize = 3;

/// The canonical form of a value: of one that was typed on a page in a language, else of one in an address. What cannot be read
/// stays as it is, so that it is refused in every language.
pub(super) fn canonical(value: &str, kind: ColumnKind, typed_in: Option<Language>) -> String {
    match kind {
        ColumnKind::Text | ColumnKind::Boolean => value.to_owned(),
        ColumnKind::Date | ColumnKind::Timestamp { .. } => value.trim().to_owned(),
        ColumnKind::Integer | ColumnKind::Decimal { .. } | ColumnKind::Float => {
            let value = value.trim();
            number(value, typed_in).unwrap_or_else(|| value.to_owned())
        }
    }
}

/// A canonical value as a page in a language shows it in a field, which reads it back as the same.
pub(super) fn shown(value: &str, kind: ColumnKind, language: Language) -> String {
    let is_numeric = matches!(kind, ColumnKind::Integer | ColumnKind::Decimal { .. } | ColumnKind::Float)
        && is_number(value);
    if is_numeric && language == Language::Italian { value.replace('.', ",") } else { value.to_owned() }
}

/// A number as JSON writes it: with a point, without groups, a plus sign and needless zeros.
fn number(text: &str, typed_in: Option<Language>) -> Option<String> {
    let text = text.replacen('\u{2212}', "-", 1);
    let (sign, digits) = text.strip_prefix('-').map_or(("", text.as_str()), |rest| ("-", rest));
    let digits = digits.strip_prefix('+').filter(|_| sign.is_empty()).unwrap_or(digits);
    let digits = with_point(digits, typed_in)?;
    let trimmed = digits.trim_start_matches('0');
    let digits = match trimmed.bytes().next() {
        Some(b'0'..=b'9') => trimmed.to_owned(),
        _ if trimmed.len() < digits.len() || trimmed.starts_with('.') => format!("0{trimmed}"),
        _ => trimmed.to_owned(),
    };
    Some(format!("{sign}{digits}")).filter(|number| is_number(number))
}

/// The digits with a decimal point and without groups. A single point or comma that cannot separate thousands is a decimal
/// separator in every language. One that can is read as the language has it; in an address a point is a decimal point, and such
/// a comma is refused.
fn with_point(digits: &str, typed_in: Option<Language>) -> Option<String> {
    let marks: Vec<char> = digits.chars().filter(|letter| matches!(letter, '.' | ',')).collect();
    let point = if typed_in == Some(Language::Italian) { ',' } else { '.' };
    match marks.as_slice() {
        [] => Some(digits.to_owned()),
        [mark] if *mark == point || !is_grouped(digits, *mark) => Some(digits.replace(*mark, ".")),
        [.., last] => {
            let group = if point == '.' { ',' } else { '.' };
            let (whole, fraction) = match digits.split_once(point).filter(|_| *last == point) {
                Some((whole, fraction)) => (whole, Some(fraction)),
                None => (digits, None),
            };
            if typed_in.is_none() || !is_grouped(whole, group) {
                return None;
            }
            let whole = whole.replace(group, "");
            Some(fraction.map_or(whole.clone(), |fraction| format!("{whole}.{fraction}")))
        }
    }
}

/// Whether the mark separates groups of thousands: `1.234.567`.
fn is_grouped(digits: &str, mark: char) -> bool {
    let mut groups = digits.split(mark);
    let first = groups.next().unwrap_or_default();
    let is_first = (1..=GROUP_DIGITS).contains(&first.len()) && !first.starts_with('0');
    let are_digits = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
    is_first && are_digits(first) && groups.all(|group| group.len() == GROUP_DIGITS && are_digits(group))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ENGLISH: Option<Language> = Some(Language::English);
    const ITALIAN: Option<Language> = Some(Language::Italian);

    #[track_caller]
    fn check(text: &str, typed_in: Option<Language>, expected: &str) {
        assert_eq!(canonical(text, ColumnKind::Float, typed_in), expected, "{text} {typed_in:?}");
    }

    #[test]
    fn reads_typed_number_in_language_of_page() {
        for (text, english, italian) in [
            ("5", "5", "5"),
            ("+05.50", "5.50", "5.50"),
            (".5", "0.5", "0.5"),
            (",5", "0.5", "0.5"),
            ("000", "0", "0"),
            ("\u{2212}1.5", "-1.5", "-1.5"),
            ("62,5", "62.5", "62.5"),
            ("62.5", "62.5", "62.5"),
            ("1,234", "1234", "1.234"),
            ("1.234", "1.234", "1234"),
            ("0.125", "0.125", "0.125"),
            ("1,234.5", "1234.5", "1,234.5"),
            ("-1.234.567,89", "-1.234.567,89", "-1234567.89"),
            ("1.5e3", "1.5e3", "1.5e3"),
            ("12,34,567", "12,34,567", "12,34,567"),
            ("1..5", "1..5", "1..5"),
            (" 7 ", "7", "7"),
            ("abc", "abc", "abc"),
            ("0x5", "0x5", "0x5"),
            ("5.", "5.", "5."),
        ] {
            check(text, ENGLISH, english);
            check(text, ITALIAN, italian);
        }
    }

    #[test]
    fn reads_address_without_language() {
        for (text, expected) in [
            ("62.5", "62.5"),
            ("1.234", "1.234"),
            ("62,5", "62.5"),
            ("1,234", "1,234"),
            ("1,234.5", "1,234.5"),
            ("1.234,5", "1.234,5"),
            ("0090000.50", "90000.50"),
        ] {
            check(text, None, expected);
        }
        assert_eq!(canonical(" 2024-01-31", ColumnKind::Date, ITALIAN), "2024-01-31");
        assert_eq!(canonical(" 1,5 ", ColumnKind::Text, ITALIAN), " 1,5 ");
        assert_eq!(shown("1.5", ColumnKind::Text, Language::Italian), "1.5");
        assert_eq!(shown("a.5", ColumnKind::Float, Language::Italian), "a.5");
    }

    proptest! {
        #[test]
        fn reads_shown_value_back(whole in 0_u32..10_000_000, fraction in "[0-9]{0,4}", minus in any::<bool>()) {
            let sign = if minus { "-" } else { "" };
            let point = if fraction.is_empty() { "" } else { "." };
            let number = format!("{sign}{whole}{point}{fraction}");
            for language in [Language::English, Language::Italian] {
                let field = shown(&number, ColumnKind::Float, language);
                prop_assert_eq!(canonical(&field, ColumnKind::Float, Some(language)), number.clone());
            }
            prop_assert_eq!(canonical(&number, ColumnKind::Float, None), number);
        }

        /// What one language refuses is refused by all, so a redirect never makes a faulty value a sound one.
        #[test]
        fn canonical_form_stays_as_it_is(text in "[-+]?[0-9.,e]{0,9}") {
            for typed_in in [None, ENGLISH, ITALIAN] {
                let once = canonical(&text, ColumnKind::Float, typed_in);
                prop_assert_eq!(canonical(&once, ColumnKind::Float, None), once.clone());
            }
        }
    }
}
