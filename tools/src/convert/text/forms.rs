//! How values are written in text files: the decimal mark, the mark between thousands, and the forms of dates. Finds
//! the class of a text and parses it, exactly. Does not depend on columns.

use std::borrow::Cow;

use mercato_catalog::{DateFormat, SourceOptions};
use mercato_format::ColumnKind;

use crate::convert::text::classify::{self, Class};
use crate::convert::text::dates;
use crate::convert::text::moments::{self, Moment};
use crate::convert::text::parse::{Parsed, parse_plain};
use crate::failure::Failure;

#[derive(Debug, Clone, Default)]
pub struct ValueForms {
    /// `None` is a point.
    decimal: Option<char>,
    thousands: Option<char>,
    dates: Vec<DateFormat>,
    /// Whether a form of dates reads `2024-02-03` otherwise than ISO 8601 does.
    hides_iso: bool,
}

impl ValueForms {
    pub fn new(options: &SourceOptions) -> Result<ValueForms, Failure> {
        let (decimal, thousands) = (options.decimal.map(|mark| mark.0), options.thousands.map(|mark| mark.0));
        if thousands.is_some() && decimal.unwrap_or('.') == thousands.unwrap_or(',') {
            return Err(Failure::Usage(format!(
                "--thousands {}: expected another mark than that of decimals; pass --decimal too",
                thousands.unwrap_or(',')
            )));
        }
        Ok(ValueForms::of(decimal.filter(|mark| *mark != '.'), thousands, options.date_format.clone()))
    }

    pub(super) fn of(decimal: Option<char>, thousands: Option<char>, dates: Vec<DateFormat>) -> ValueForms {
        let probe = "2001-02-03";
        let iso = moments::parse(probe);
        let differs = |format: &DateFormat| {
            let found = dates::parse(format, probe);
            found.is_some() && found != iso
        };
        let hides_iso = dates.iter().any(differs);
        ValueForms { decimal, thousands, dates, hides_iso }
    }

    /// Whether numbers have a point and no other mark.
    #[must_use]
    pub fn has_plain_numbers(&self) -> bool {
        self.decimal.is_none() && self.thousands.is_none()
    }

    /// The class of a CSV field that is not null.
    #[must_use]
    pub fn class_of_field(&self, text: &str) -> Class {
        if self.has_plain_numbers() && self.dates.is_empty() {
            return classify::of_field(text);
        }
        let text = text.trim_ascii();
        if let Some(moment) = self.moment(text) {
            return classify::of_moment(moment);
        }
        match self.number(text) {
            Some(number) => classify::of_number(&number).unwrap_or(Class::Text),
            // Numbers of another form, such as 1.5 beside a decimal comma, are texts.
            None if text.starts_with(|first: char| first.is_ascii_digit() || "+.".contains(first)) => {
                Class::Text
            }
            None => match classify::of_field(text) {
                class @ (Class::Empty | Class::Boolean) => class,
                Class::Float if text.ends_with(|last: char| last.is_ascii_alphabetic()) => Class::Float,
                _ => Class::Text,
            },
        }
    }

    /// The class of a JSON string or a text cell. A number in quotes is a text.
    #[must_use]
    pub fn class_of_string(&self, text: &str) -> Class {
        self.moment(text).map_or(Class::Text, classify::of_moment)
    }

    /// The value of a text in a column of `kind`; `None` if it is none.
    #[must_use]
    pub fn parse(&self, kind: ColumnKind, text: &str) -> Option<Parsed> {
        let trimmed = text.trim_ascii();
        match kind {
            ColumnKind::Text => Some(Parsed::Text),
            ColumnKind::Date => match self.moment(trimmed)? {
                Moment::Day(days) => Some(Parsed::Integer(days.into())),
                Moment::Instant { .. } => None,
            },
            ColumnKind::Timestamp { unit } => {
                self.moment(trimmed)?.units(unit).map(|units| Parsed::Integer(units.into()))
            }
            _ if self.has_plain_numbers() => parse_plain(kind, trimmed),
            _ => match self.number(trimmed) {
                Some(number) => parse_plain(kind, &number),
                None if trimmed.ends_with(|last: char| last.is_ascii_alphabetic()) => {
                    parse_plain(kind, trimmed)
                }
                None => None,
            },
        }
    }

    /// The moment that all forms agree on.
    fn moment(&self, text: &str) -> Option<Moment> {
        let mut found = if self.hides_iso { None } else { moments::parse(text) };
        for moment in self.dates.iter().filter_map(|format| dates::parse(format, text)) {
            match found {
                Some(other) if other != moment => return None,
                _ => found = Some(moment),
            }
        }
        found
    }

    /// The number with a point and without other marks; `None` if it is not written in this form.
    fn number<'t>(&self, text: &'t str) -> Option<Cow<'t, str>> {
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let sign = text.get(..text.len() - unsigned.len()).unwrap_or_default();
        let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
            Some(at) => unsigned.split_at_checked(at)?,
            None => (unsigned, ""),
        };
        let (whole, fraction) = match mantissa.split_once(self.decimal.unwrap_or('.')) {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (mantissa, None),
        };
        if !fraction.is_none_or(digits) || (whole.is_empty() && fraction.is_none_or(str::is_empty)) {
            return None;
        }
        if digits(whole) && fraction.is_none() {
            return Some(Cow::Borrowed(text));
        }
        let whole = if digits(whole) { whole.to_owned() } else { self.ungrouped(whole)? };
        let fraction = fraction.map(|fraction| format!(".{fraction}")).unwrap_or_default();
        Some(Cow::Owned(format!("{sign}{whole}{fraction}{exponent}")))
    }

    /// The digits of groups of three; the first has one to three and does not begin with 0.
    fn ungrouped(&self, whole: &str) -> Option<String> {
        let mark = self.thousands?;
        let is_mark = |letter: char| match mark {
            ' ' => matches!(letter, ' ' | '\u{a0}' | '\u{202f}'),
            '\'' | '’' => matches!(letter, '\'' | '’'),
            mark => letter == mark,
        };
        let mut out = String::with_capacity(whole.len());
        for (number, group) in whole.split(is_mark).enumerate() {
            let fits = match number {
                0 => (1..=3).contains(&group.len()) && !group.starts_with('0'),
                _ => group.len() == 3,
            };
            if !fits || !group.bytes().all(|byte| byte.is_ascii_digit()) {
                return None;
            }
            out.push_str(group);
        }
        Some(out)
    }
}

#[cfg(test)]
mod tests {
    use mercato_format::TimeUnit;

    use super::*;

    fn forms(decimal: Option<char>, thousands: Option<char>, dates: &[&str]) -> ValueForms {
        ValueForms::of(decimal, thousands, dates.iter().map(|text| text.parse().unwrap()).collect())
    }

    #[test]
    fn reads_numbers_with_their_marks_only() {
        let italian = forms(Some(','), Some('.'), &[]);
        let decimal = |whole, scale| Class::Decimal { whole, scale };
        for (text, class) in [
            ("1,50", decimal(1, 2)),
            ("-1.234,56", decimal(4, 2)),
            ("1.234.567", Class::Integer { digits: 7 }),
            ("1234,5", decimal(4, 1)),
            ("+5", Class::Integer { digits: 1 }),
            ("1,5e3", Class::Float),
            ("007", Class::Code),
            (" 12,5 ", decimal(2, 1)),
            ("NaN", Class::Float),
            ("-Infinity", Class::Float),
            ("true", Class::Boolean),
            ("2024-02-29", Class::Date),
            ("1.5", Class::Text),
            ("12.34", Class::Text),
            ("0.123", Class::Text),
            ("1.2345", Class::Text),
            ("1.234.5", Class::Text),
            (".234", Class::Text),
            ("1,5,5", Class::Text),
            ("1,2.345", Class::Text),
            (",", Class::Text),
            ("-", Class::Text),
            ("x", Class::Text),
            ("  ", Class::Empty),
        ] {
            assert_eq!(italian.class_of_field(text), class, "{text}");
        }
        let swiss = forms(None, Some('\''), &[]);
        assert_eq!(swiss.class_of_field("1'234.50"), decimal(4, 2));
        assert_eq!(swiss.class_of_field("1’234"), Class::Integer { digits: 4 });
        let french = forms(Some(','), Some(' '), &[]);
        assert_eq!(french.class_of_field("1 234\u{a0}567,5"), decimal(7, 1));
        assert_eq!(forms(Some(','), None, &[]).class_of_field("1.234"), Class::Text);
    }

    #[test]
    fn parses_what_it_classifies() {
        let italian = forms(Some(','), Some('.'), &["%d/%m/%Y"]);
        let money = ColumnKind::Decimal { precision: 12, scale: 2 };
        assert_eq!(italian.parse(money, "-1.234,5"), Some(Parsed::Integer(-123_450)));
        assert_eq!(italian.parse(ColumnKind::Float, " 1.234,5 "), Some(Parsed::Float(1234.5)));
        assert_eq!(italian.parse(ColumnKind::Integer, "1.234"), Some(Parsed::Integer(1234)));
        assert_eq!(italian.parse(ColumnKind::Float, "1.5"), None);
        assert_eq!(italian.parse(ColumnKind::Boolean, "true"), Some(Parsed::Boolean(true)));
        assert_eq!(italian.parse(ColumnKind::Date, "02/01/1970"), Some(Parsed::Integer(1)));
        assert_eq!(italian.parse(ColumnKind::Date, "1970-01-02"), Some(Parsed::Integer(1)));
        let unit = TimeUnit::Second;
        assert_eq!(
            italian.parse(ColumnKind::Timestamp { unit }, "02/01/1970"),
            Some(Parsed::Integer(86_400))
        );
    }

    #[test]
    fn date_that_two_forms_read_differently_is_a_text() {
        let both = forms(None, None, &["%d/%m/%Y", "%m/%d/%Y"]);
        assert_eq!(both.class_of_field("01/02/2024"), Class::Text);
        assert_eq!(both.class_of_field("13/02/2024"), Class::Date);
        let days_first = forms(None, None, &["%Y-%d-%m"]);
        assert_eq!(days_first.parse(ColumnKind::Date, "1970-02-01"), Some(Parsed::Integer(1)));
        assert_eq!(days_first.class_of_field("1970-01-31"), Class::Text);
    }

    #[test]
    fn same_mark_twice_is_refused() {
        let mut options = SourceOptions { thousands: Some(".".parse().unwrap()), ..SourceOptions::default() };
        assert!(ValueForms::new(&options).is_err());
        options.decimal = Some(",".parse().unwrap());
        assert!(ValueForms::new(&options).is_ok());
    }
}
