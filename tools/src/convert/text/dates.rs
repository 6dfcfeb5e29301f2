//! Reads dates and datetimes in a form such as `%d/%m/%Y %H:%M`. Strict: every character of the text has its place in
//! the form. Does not depend on columns.

use mercato_catalog::{DateFormat, DateToken};

use crate::convert::text::moments::{Civil, Moment, Rest};

/// Months in English and Italian. Three letters are enough.
const MONTHS: [[&str; 2]; 12] = [
    ["january", "gennaio"],
    ["february", "febbraio"],
    ["march", "marzo"],
    ["april", "aprile"],
    ["may", "maggio"],
    ["june", "giugno"],
    ["july", "luglio"],
    ["august", "agosto"],
    ["september", "settembre"],
    ["october", "ottobre"],
    ["november", "novembre"],
    ["december", "dicembre"],
];
/// Letters of the shortest name of a month.
const MONTH_LETTERS_MIN: usize = 3;

/// The moment that `text` names in this form.
#[must_use]
pub fn parse(format: &DateFormat, text: &str) -> Option<Moment> {
    let mut rest = Rest(text.as_bytes());
    let (mut civil, mut half_day) = (Civil::default(), None);
    let tokens = format.tokens();
    for (at, token) in tokens.iter().enumerate() {
        let touches = |other: Option<usize>| {
            other.and_then(|other| tokens.get(other)).is_some_and(|other| other.is_digits())
        };
        // Digits beside other digits have their full number; elsewhere a leading zero may be missing.
        let is_full = touches(at.checked_sub(1)) || touches(Some(at + 1));
        let mut short = || if is_full { rest.number(2) } else { rest.one_or_two_digits() };
        match token {
            DateToken::Literal(letter) => rest.letter(*letter)?,
            DateToken::Year => civil.year = rest.number(4)?,
            DateToken::ShortYear => {
                let year = rest.number(2)?;
                civil.year = if year < 69 { 2000 + year } else { 1900 + year };
            }
            DateToken::Month => civil.month = short()?,
            DateToken::MonthName => civil.month = month(&mut rest)?,
            DateToken::Day => civil.day = short()?,
            DateToken::Hour | DateToken::HalfDayHour => civil.hour = short()?,
            DateToken::HalfDay => {
                half_day = Some(matches!(rest.one_of(b"AaPp")?, b'P' | b'p'));
                rest.one_of(b"Mm")?;
            }
            DateToken::Minute => civil.minute = rest.number(2)?,
            DateToken::Second => civil.second = rest.number(2)?,
            DateToken::Fraction => (civil.nanoseconds, civil.digits) = rest.fraction()?,
            DateToken::Zone => civil.offset = rest.zone()?,
        }
    }
    if let Some(is_afternoon) = half_day {
        civil.hour =
            (1..=12).contains(&civil.hour).then_some(civil.hour % 12 + if is_afternoon { 12 } else { 0 })?;
    }
    if !rest.0.is_empty() {
        return None;
    }
    if format.has_time() { civil.instant() } else { civil.days().map(Moment::Day) }
}

/// The name of a month at the start of `rest`, whole or its first letters.
fn month(rest: &mut Rest<'_>) -> Option<i64> {
    let length = rest.0.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let (name, after) = rest.0.split_at_checked(length).filter(|_| length >= MONTH_LETTERS_MIN)?;
    let is_month = |known: &&str| {
        let known = known.as_bytes();
        let is_short = length == MONTH_LETTERS_MIN || length == known.len();
        is_short && known.get(..length).is_some_and(|start| start.eq_ignore_ascii_case(name))
    };
    let found = MONTHS.iter().position(|names| names.iter().any(is_month))?;
    rest.0 = after;
    i64::try_from(found + 1).ok()
}

#[cfg(test)]
mod tests {
    use mercato_format::TimeUnit;

    use super::*;
    use crate::convert::text::moments;

    #[test]
    fn reads_dates_in_their_form() {
        for (format, text, iso) in [
            ("%d/%m/%Y", "29/02/2024", "2024-02-29"),
            ("%d/%m/%Y", "1/2/2024", "2024-02-01"),
            ("%Y%m%d", "20240229", "2024-02-29"),
            ("%d.%m.%y", "01.02.68", "2068-02-01"),
            ("%d.%m.%y", "01.02.69", "1969-02-01"),
            ("%d %b %Y", "3 mag 2024", "2024-05-03"),
            ("%B %d, %Y", "September 3, 2024", "2024-09-03"),
            ("%d/%m/%Y %H:%M", "29/02/2024 7:05", "2024-02-29T07:05:00Z"),
            ("%m/%d/%Y %I:%M %p", "02/29/2024 12:30 AM", "2024-02-29T00:30:00Z"),
            ("%m/%d/%Y %I:%M %p", "02/29/2024 12:30 pm", "2024-02-29T12:30:00Z"),
            ("%d/%m/%Y %H:%M:%S%z", "29/02/2024 07:05:09+01:00", "2024-02-29T06:05:09Z"),
        ] {
            let found = parse(&format.parse().unwrap(), text).unwrap_or_else(|| panic!("{text}"));
            let expected = moments::parse(iso).unwrap();
            assert_eq!(found.units(TimeUnit::Second), expected.units(TimeUnit::Second), "{text}");
        }
    }

    #[test]
    fn refuses_what_the_form_does_not_say() {
        for (format, text) in [
            ("%d/%m/%Y", "29/02/2023"),
            ("%d/%m/%Y", "01/02/24"),
            ("%d/%m/%Y", "01/13/2024"),
            ("%d/%m/%Y", " 01/02/2024"),
            ("%d/%m/%Y", "01/02/2024 "),
            ("%d/%m/%Y", "01-02-2024"),
            ("%d/%m/%Y", "001/02/2024"),
            ("%Y%m%d", "2024022"),
            ("%d %b %Y", "3 ma 2024"),
            ("%d %b %Y", "3 magg 2024"),
            ("%d/%m/%Y %H:%M", "01/02/2024 24:00"),
            ("%d/%m/%Y %I:%M %p", "01/02/2024 13:00 PM"),
            ("%d/%m/%Y %I:%M %p", "01/02/2024 0:00 PM"),
        ] {
            assert_eq!(parse(&format.parse().unwrap(), text), None, "{format}: {text}");
        }
    }
}
