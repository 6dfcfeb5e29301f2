//! The options that say how a source file is written. One description serves the command line and `[source]` in
//! dataset.toml. Does not depend on the files.

use std::fmt;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use serde::{Deserialize, Deserializer};

pub use super::date_format::{DateFormat, DateToken};

/// The options of CSV, TSV, JSON and Excel files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table such as { delimiter = \";\", decimal = \",\" }")]
pub struct SourceOptions {
    /// Between two fields of CSV: one character, or `tab`. Default: that of a first line `sep=;`, else a comma; a tab in
    /// TSV.
    #[arg(long, value_name = "CHAR")]
    pub delimiter: Option<Delimiter>,
    /// An unquoted field of CSV, or a text cell of Excel, that is null, as the empty one is. May be repeated.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    #[serde(alias = "null-text", deserialize_with = "one_or_more")]
    pub null_text: Vec<String>,
    /// Decimal mark of CSV: `,` or `.`. Default: a point.
    #[arg(long, value_name = ",|.")]
    pub decimal: Option<DecimalMark>,
    /// Mark between groups of three digits in CSV: `.`, `,`, `'`, or a space. Default: none.
    #[arg(long, value_name = "MARK")]
    pub thousands: Option<ThousandsMark>,
    /// Form of dates and datetimes beside ISO 8601: `%d/%m/%Y`, `%m/%d/%Y %I:%M %p`, with %Y %y %m %b %d %H %I %p %M %S
    /// %f %z. May be repeated.
    #[arg(long, value_name = "FORMAT")]
    #[serde(alias = "date-format", deserialize_with = "one_or_more")]
    pub date_format: Vec<DateFormat>,
    /// Encoding of text files. Default: UTF-8; a byte order mark tells UTF-16.
    #[arg(long, value_enum, value_name = "NAME")]
    pub encoding: Option<TextEncoding>,
    /// Lines above the header that are passed over; rows in Excel. Default: 0.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=i64::from(SKIP_LINES_MAX)))]
    #[serde(alias = "skip-lines", deserialize_with = "skipped_lines")]
    pub skip_lines: Option<u32>,
    /// The file has no header: its columns are `column1`, `column2` and so on. `--no-header=false` says that the first
    /// line is a header, although it looks like values.
    #[arg(long, value_name = "true|false", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    #[serde(alias = "no-header")]
    pub no_header: Option<bool>,
    /// Sheet of an Excel file. Default: the first visible one.
    #[arg(long, value_name = "NAME")]
    pub sheet: Option<String>,
}

/// Lines above a header.
pub const SKIP_LINES_MAX: u32 = 1_000_000;

impl SourceOptions {
    /// These options; those of `other` where there is none.
    #[must_use]
    pub fn or(self, other: &SourceOptions) -> SourceOptions {
        fn first<T: Clone>(own: Vec<T>, other: &[T]) -> Vec<T> {
            if own.is_empty() { other.to_vec() } else { own }
        }
        SourceOptions {
            delimiter: self.delimiter.or(other.delimiter),
            null_text: first(self.null_text, &other.null_text),
            decimal: self.decimal.or(other.decimal),
            thousands: self.thousands.or(other.thousands),
            date_format: first(self.date_format, &other.date_format),
            encoding: self.encoding.or(other.encoding),
            skip_lines: self.skip_lines.or(other.skip_lines),
            no_header: self.no_header.or(other.no_header),
            sheet: self.sheet.or_else(|| other.sheet.clone()),
        }
    }
}

/// The character between two fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Delimiter(pub u8);

/// The mark before the fraction of a number: a comma or a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct DecimalMark(pub char);

/// The mark between groups of three digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct ThousandsMark(pub char);

/// The encoding of a text file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TextEncoding {
    /// UTF-8.
    #[value(name = "utf-8")]
    #[serde(rename = "utf-8")]
    Utf8,
    /// ISO 8859-1, which browsers and this program read as windows-1252.
    Latin1,
    /// Western European Windows.
    #[value(name = "windows-1252")]
    #[serde(rename = "windows-1252")]
    Windows1252,
    /// UTF-16; the byte order by its mark, else by the first character.
    #[value(name = "utf-16")]
    #[serde(rename = "utf-16")]
    Utf16,
}

impl FromStr for Delimiter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.as_bytes() {
            b"tab" | b"\\t" => Ok(Self(b'\t')),
            [one] if one.is_ascii() && !matches!(one, b'"' | b'\r' | b'\n') => Ok(Self(*one)),
            _ => Err("expected one ASCII character that is no quote and no line break, or `tab`".into()),
        }
    }
}

impl fmt::Display for Delimiter {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            b'\t' => out.write_str("tab"),
            b',' => out.write_str(","),
            other => write!(out, "'{}'", char::from(other)),
        }
    }
}

impl FromStr for DecimalMark {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "," => Ok(Self(',')),
            "." => Ok(Self('.')),
            _ => Err("expected a comma or a point".into()),
        }
    }
}

impl FromStr for ThousandsMark {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut letters = text.chars();
        match (letters.next(), letters.next()) {
            (Some(mark @ ('.' | ',' | '\'' | '’' | ' ' | '_')), None) => Ok(Self(mark)),
            (Some('\u{a0}' | '\u{202f}'), None) => Ok(Self(' ')),
            _ => Err("expected a point, a comma, an apostrophe, an underscore or a space".into()),
        }
    }
}

macro_rules! from_text {
    ($($name:ident),+) => {$(
        impl TryFrom<String> for $name {
            type Error = String;

            fn try_from(text: String) -> Result<Self, String> {
                text.parse()
            }
        }
    )+};
}

from_text!(Delimiter, DecimalMark, ThousandsMark, DateFormat);

/// One value, or a list of them.
fn one_or_more<'de, D: Deserializer<'de>, T: TryFrom<String, Error: fmt::Display>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "a text, or a list of texts")]
    enum OneOrMore {
        One(String),
        More(Vec<String>),
    }
    let texts = match OneOrMore::deserialize(deserializer)? {
        OneOrMore::One(text) => vec![text],
        OneOrMore::More(texts) => texts,
    };
    texts.into_iter().map(|text| T::try_from(text).map_err(serde::de::Error::custom)).collect()
}

fn skipped_lines<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    let lines = u32::deserialize(deserializer)?;
    if lines > SKIP_LINES_MAX {
        let message = format!("skip_lines: expected at most {SKIP_LINES_MAX}, found {lines}");
        return Err(serde::de::Error::custom(message));
    }
    Ok(Some(lines))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<SourceOptions, String> {
        toml::from_str(text).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn names_are_those_of_the_options() {
        let text = "delimiter = \";\"\ndecimal = \",\"\nthousands = \".\"\ndate_format = \"%d/%m/%Y\"\n\
                    null_text = [\"n/a\", \"-\"]\nencoding = \"windows-1252\"\nskip_lines = 2\nno_header = true\n\
                    sheet = \"Dati\"\n";
        let options = parse(text).unwrap();
        assert_eq!((options.delimiter, options.decimal), (Some(Delimiter(b';')), Some(DecimalMark(','))));
        assert_eq!((options.thousands, options.skip_lines), (Some(ThousandsMark('.')), Some(2)));
        assert_eq!(options.date_format, ["%d/%m/%Y".parse().unwrap()]);
        assert_eq!(options.null_text, ["n/a", "-"]);
        assert_eq!((options.encoding, options.no_header), (Some(TextEncoding::Windows1252), Some(true)));
        let typed = ["null_text", "date_format", "skip_lines", "no_header"];
        let dashes =
            typed.iter().fold(text.to_owned(), |text, name| text.replace(name, &name.replace('_', "-")));
        assert_eq!(parse(&dashes).unwrap(), options);
        for name in ["utf-8", "latin1", "windows-1252", "utf-16"] {
            assert!(parse(&format!("encoding = \"{name}\"")).is_ok(), "{name}");
            assert!(TextEncoding::from_str(name, false).is_ok(), "{name}");
        }
    }

    #[test]
    fn typed_options_beat_those_of_the_manifest() {
        let typed = SourceOptions { delimiter: Some(Delimiter(b'\t')), ..SourceOptions::default() };
        let manifest = parse("delimiter = \";\"\nnull-text = \"x\"\n").unwrap();
        let both = typed.or(&manifest);
        assert_eq!((both.delimiter, both.null_text), (Some(Delimiter(b'\t')), vec!["x".to_owned()]));
    }

    #[test]
    fn refuses_what_is_no_option() {
        for (text, words) in [
            ("delimiter = \"ab\"", "one ASCII character"),
            ("decimal = \";\"", "a comma or a point"),
            ("thousands = \"1\"", "a point, a comma"),
            ("date_format = \"%d/%m\"", "%Y"),
            ("encoding = \"ebcdic\"", "utf-16"),
            ("skip_lines = 1000001", "at most 1000000"),
            ("quote = \"'\"", "unknown field"),
        ] {
            let message = parse(text).unwrap_err();
            assert!(message.contains(words), "{text}: {message}");
        }
        for wrong in ["", "\"", "ab", "\n", "è"] {
            assert!(wrong.parse::<Delimiter>().is_err(), "{wrong}");
        }
        assert_eq!(("tab".parse(), ";".parse()), (Ok(Delimiter(b'\t')), Ok(Delimiter(b';'))));
    }
}
