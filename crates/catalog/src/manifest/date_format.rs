//! The form of dates and datetimes in a source file, as in `strptime`: `%d/%m/%Y %H:%M`. Does not depend on values.

use std::fmt;
use std::str::FromStr;

/// Longest form, bytes.
const FORMAT_BYTES_MAX: usize = 64;

/// A piece of a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DateToken {
    /// A character as it is.
    Literal(char),
    /// `%Y`: a year of four digits.
    Year,
    /// `%y`: a year of two digits: 69 to 99 are 1969 to 1999, 00 to 68 are 2000 to 2068.
    ShortYear,
    /// `%m`.
    Month,
    /// `%b`: the name of a month in English or Italian, whole or its first three letters.
    MonthName,
    /// `%d`.
    Day,
    /// `%H`: 0 to 23.
    Hour,
    /// `%I`: 1 to 12.
    HalfDayHour,
    /// `%p`: AM or PM.
    HalfDay,
    /// `%M`.
    Minute,
    /// `%S`.
    Second,
    /// `%f`: one to nine digits of a fraction of a second.
    Fraction,
    /// `%z`: `Z`, `+01:00`, `+0100` or `+01`.
    Zone,
}

impl DateToken {
    /// Whether digits stand here.
    #[must_use]
    pub fn is_digits(self) -> bool {
        !matches!(self, Self::Literal(_) | Self::MonthName | Self::HalfDay | Self::Zone)
    }
}

/// The form of a date or a datetime.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(try_from = "String")]
pub struct DateFormat {
    text: String,
    tokens: Vec<DateToken>,
}

impl DateFormat {
    /// The pieces, in order.
    #[must_use]
    pub fn tokens(&self) -> &[DateToken] {
        &self.tokens
    }

    /// Whether it has a time of day.
    #[must_use]
    pub fn has_time(&self) -> bool {
        self.tokens.iter().any(|token| matches!(token, DateToken::Hour | DateToken::HalfDayHour))
    }
}

impl fmt::Display for DateFormat {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

impl FromStr for DateFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.len() > FORMAT_BYTES_MAX {
            return Err(format!("expected a form of at most {FORMAT_BYTES_MAX} bytes"));
        }
        let (mut tokens, mut letters) = (Vec::new(), text.chars());
        while let Some(letter) = letters.next() {
            let token = if letter == '%' { token(letters.next())? } else { DateToken::Literal(letter) };
            if !matches!(token, DateToken::Literal(_)) && tokens.contains(&token) {
                return Err(format!("`{text}`: expected every part once"));
            }
            tokens.push(token);
        }
        check(text, &tokens)?;
        Ok(Self { text: text.to_owned(), tokens })
    }
}

fn token(letter: Option<char>) -> Result<DateToken, String> {
    Ok(match letter {
        Some('Y') => DateToken::Year,
        Some('y') => DateToken::ShortYear,
        Some('m') => DateToken::Month,
        Some('b' | 'B') => DateToken::MonthName,
        Some('d') => DateToken::Day,
        Some('H') => DateToken::Hour,
        Some('I') => DateToken::HalfDayHour,
        Some('p') => DateToken::HalfDay,
        Some('M') => DateToken::Minute,
        Some('S') => DateToken::Second,
        Some('f') => DateToken::Fraction,
        Some('z') => DateToken::Zone,
        Some('%') => DateToken::Literal('%'),
        other => {
            let found = other.map_or_else(String::new, |letter| letter.to_string());
            return Err(format!("`%{found}`: expected %Y %y %m %b %d %H %I %p %M %S %f or %z"));
        }
    })
}

fn check(text: &str, tokens: &[DateToken]) -> Result<(), String> {
    let count = |wanted: &[DateToken]| tokens.iter().filter(|token| wanted.contains(token)).count();
    let years = count(&[DateToken::Year, DateToken::ShortYear]);
    let (months, days) = (count(&[DateToken::Month, DateToken::MonthName]), count(&[DateToken::Day]));
    if (years, months, days) != (1, 1, 1) {
        return Err(format!("`{text}`: expected one year (%Y or %y), one month (%m or %b) and one day (%d)"));
    }
    let (hours, half_days) = (count(&[DateToken::Hour]), count(&[DateToken::HalfDay]));
    let half_hours = count(&[DateToken::HalfDayHour]);
    let (minutes, seconds) = (count(&[DateToken::Minute]), count(&[DateToken::Second]));
    let smaller = minutes + seconds + count(&[DateToken::Fraction]) + count(&[DateToken::Zone]);
    if hours + half_hours > 1 || half_hours != half_days || (smaller > 0 && hours + half_hours == 0) {
        return Err(format!("`{text}`: expected an hour for minutes: %H, or %I with %p"));
    }
    if (seconds > 0 && minutes == 0) || (count(&[DateToken::Fraction]) > 0 && seconds == 0) {
        return Err(format!("`{text}`: expected %M before %S, and %S before %f"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_forms_of_one_whole_date() {
        for text in ["%d/%m/%Y", "%Y%m%d", "%d %b %y", "%m/%d/%Y %I:%M %p", "%d.%m.%Y %H:%M:%S.%f%z"] {
            let format: DateFormat = text.parse().unwrap();
            assert_eq!((format.to_string().as_str(), format.has_time()), (text, text.contains(':')));
        }
        for wrong in [
            "",
            "%d/%m",
            "%d/%m/%Y %Y",
            "%d/%m/%Y %y",
            "%q",
            "%d/%m/%Y %M",
            "%d/%m/%Y %I",
            "%d/%m/%Y %H:%S",
            "%",
        ] {
            assert!(wrong.parse::<DateFormat>().is_err(), "{wrong}");
        }
    }
}
