//! Finds the option under which the texts of a column would be numbers or dates, and values that mean null. Only texts
//! that are no numbers come here. Does not depend on files.

use std::sync::LazyLock;

use crate::convert::text::forms::ValueForms;

/// Bytes of the longest text that is tried.
const TRIED_BYTES_MAX: usize = 40;
/// Ways of writing a number: the option, the decimal mark, the mark of thousands.
const NUMBERS: [(&str, Option<char>, Option<char>); 7] = [
    ("--decimal ,", Some(','), None),
    ("--decimal , --thousands .", Some(','), Some('.')),
    ("--thousands ,", None, Some(',')),
    ("--decimal , --thousands ' '", Some(','), Some(' ')),
    ("--thousands ' '", None, Some(' ')),
    ("--decimal , --thousands \"'\"", Some(','), Some('\'')),
    ("--thousands \"'\"", None, Some('\'')),
];
/// Ways of writing a date.
const DATES: [&str; 9] = [
    "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%Y/%m/%d", "%Y.%m.%d", "%d/%m/%y", "%m/%d/%y",
    "%d %b %Y",
];
/// What may stand behind a date.
const TIMES: [&str; 3] = ["", " %H:%M", " %H:%M:%S"];
/// Ways in all.
const WAYS: usize = NUMBERS.len() + DATES.len() * TIMES.len();
/// The ways with a decimal comma, which numbers with a point rule out.
const WITH_COMMA: [usize; 4] = [0, 1, 3, 5];
/// Two ways that read the same text differently.
const RIVALS: [(usize, usize); 5] = [
    (0, 2),
    (NUMBERS.len(), NUMBERS.len() + 1),
    (NUMBERS.len() + DATES.len(), NUMBERS.len() + DATES.len() + 1),
    (NUMBERS.len() + 2 * DATES.len(), NUMBERS.len() + 2 * DATES.len() + 1),
    (NUMBERS.len() + 6, NUMBERS.len() + 7),
];

struct Way {
    option: String,
    forms: ValueForms,
}

static KNOWN: LazyLock<Vec<Way>> = LazyLock::new(|| {
    let numbers = NUMBERS.into_iter().map(|(option, decimal, thousands)| Way {
        option: option.to_owned(),
        forms: ValueForms::of(decimal, thousands, Vec::new()),
    });
    let dates = TIMES.into_iter().flat_map(|time| DATES.into_iter().map(move |date| format!("{date}{time}")));
    let dates = dates.filter_map(|text| {
        let option = if text.contains(' ') { format!("'{text}'") } else { text.clone() };
        let forms = ValueForms::of(None, None, vec![text.parse().ok()?]);
        Some(Way { option: format!("--date-format {option}"), forms })
    });
    numbers.chain(dates).collect()
});

/// How many texts of a column would be values under each way.
#[derive(Debug)]
pub struct Tally {
    fitting: [u64; WAYS],
}

impl Default for Tally {
    fn default() -> Tally {
        Tally { fitting: [0; WAYS] }
    }
}

/// An option that would help a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advice {
    /// The option, or two of them where the values do not tell which.
    pub option: String,
    /// Texts that it would make values.
    pub count: u64,
    pub is_number: bool,
}

impl Tally {
    /// Counts a text that is neither number nor date. Returns whether it would be one under some way.
    pub fn note(&mut self, text: &str) -> bool {
        if !may_be_value(text) {
            return false;
        }
        let mut fits = false;
        for (count, way) in self.fitting.iter_mut().zip(KNOWN.iter()) {
            let class = way.forms.class_of_field(text);
            if class.is_value() {
                *count += 1;
                fits = true;
            }
        }
        fits
    }

    /// The option that helps the most texts. `has_points` says that other values are numbers with a point.
    #[must_use]
    pub fn best(&self, has_points: bool) -> Option<Advice> {
        let is_out = |at: usize| has_points && WITH_COMMA.contains(&at);
        let count = |at: usize| self.fitting.get(at).copied().filter(|_| !is_out(at)).unwrap_or(0);
        // The first of equals, which is the one with the fewest options.
        let best = (0..WAYS).rev().max_by_key(|at| count(*at)).filter(|at| count(*at) > 0)?;
        let name = |at: usize| KNOWN.get(at).map(|way| way.option.clone());
        let rival = RIVALS.iter().find(|(one, other)| *one == best && count(*other) == count(best));
        let option = match rival.and_then(|(_, other)| name(*other)) {
            Some(other) => format!("{} (or {other}, if that is meant)", name(best)?),
            None => name(best)?,
        };
        Some(Advice { option, count: count(best), is_number: best < NUMBERS.len() })
    }
}

/// Whether a text has the characters of a number or a date at all.
fn may_be_value(text: &str) -> bool {
    let text = text.trim_ascii();
    let has_form = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.,/: '".contains(&byte) || byte >= 0x80;
    let begins = text.as_bytes().first().is_some_and(|byte| byte.is_ascii_digit() || b"+-.,".contains(byte));
    begins
        && text.len() <= TRIED_BYTES_MAX
        && text.bytes().all(has_form)
        && text.bytes().any(|byte| byte.is_ascii_digit())
}

/// Whether a text usually means that there is no value.
#[must_use]
pub fn means_null(text: &str) -> bool {
    const KNOWN: [&str; 19] = [
        "n/a", "na", "n.a.", "n.d.", "n/d", "nd", "null", "none", "nil", "nan", "-", "--", "---", "?", ".",
        "..", "...", "\\n", "*",
    ];
    let text = text.trim_ascii();
    let text = text.strip_prefix('#').unwrap_or(text);
    let begins = text.as_bytes().first().is_some_and(|byte| b"nN-?.\\*".contains(byte));
    begins && text.len() <= 5 && KNOWN.iter().any(|known| known.eq_ignore_ascii_case(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best(texts: &[&str]) -> Option<String> {
        let mut tally = Tally::default();
        for text in texts {
            tally.note(text);
        }
        tally.best(false).map(|advice| advice.option)
    }

    #[test]
    fn names_option_that_reads_the_values() {
        for (texts, option) in [
            (&["1,5", "12,25"][..], "--decimal ,"),
            (&["1,5", "1.234,25"], "--decimal , --thousands ."),
            (&["1.234.567"], "--decimal , --thousands ."),
            (&["1,234", "2,345,678"], "--thousands ,"),
            (&["1,234"], "--decimal , (or --thousands ,, if that is meant)"),
            (&["1 234,5"], "--decimal , --thousands ' '"),
            (&["1 234"], "--decimal , --thousands ' '"),
            (&["1'234.5"], "--thousands \"'\""),
            (&["31/12/2024"], "--date-format %d/%m/%Y"),
            (&["12/31/2024", "01/02/2024"], "--date-format %m/%d/%Y"),
            (&["01/02/2024"], "--date-format %d/%m/%Y (or --date-format %m/%d/%Y, if that is meant)"),
            (&["31.12.2024 10:30"], "--date-format '%d.%m.%Y %H:%M'"),
        ] {
            assert_eq!(best(texts).as_deref(), Some(option), "{texts:?}");
        }
        for texts in [&["x"][..], &["12 Main Street"], &["1.2.3"], &["192.168.0.1"], &["12:30"], &["5%"]] {
            assert_eq!(best(texts), None, "{texts:?}");
        }
    }

    #[test]
    fn knows_spellings_of_null() {
        for text in ["n/a", "NA", "NULL", "-", "#N/A", "#N/D", "\\N", "NaN", "..", " n.d. "] {
            assert!(means_null(text), "{text}");
        }
        for text in ["", "0", "Napoli", "no", "x", "-1"] {
            assert!(!means_null(text), "{text}");
        }
    }
}
