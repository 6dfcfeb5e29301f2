//! Looks at the first records of a file and refuses what was not meant: another delimiter, a title above the header, no
//! header at all. Each refusal names the option that helps. Does not depend on how records are read.

use mercato_catalog::Delimiter;

use crate::convert::text::advice::Tally;
use crate::convert::text::classify::Class;
use crate::convert::text::forms::ValueForms;
use crate::failure::Failure;

/// Bytes of a file that are looked at.
pub const HEAD_BYTES: usize = 64 * 1024;
/// Records that are looked at.
pub const HEAD_RECORDS_MAX: usize = 50;
/// Records that have the usual number of fields, in per cent, before a file counts as one with this delimiter.
const USUAL_PERCENT_MIN: usize = 70;
/// Delimiters that are tried.
const DELIMITERS: [u8; 4] = *b";\t|,";
/// Years that may be names of columns.
const YEARS: std::ops::RangeInclusive<u32> = 1800..=2199;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeadRecord {
    /// Its line, counted from 1.
    pub line: u64,
    pub fields: Vec<String>,
}

/// What is known about a file before its head is checked.
pub struct Head<'a> {
    pub file: &'a str,
    /// Its first records, blank lines left out.
    pub records: Vec<HeadRecord>,
    /// Whether there is no header; `None` where nobody said.
    pub no_header: Option<bool>,
    pub forms: &'a ValueForms,
}

impl Head<'_> {
    /// Refuses a file that is split better by another delimiter. `split` splits the head by it. `is_chosen` says that the
    /// operator named the delimiter.
    ///
    /// # Errors
    /// A refusal that names the delimiter.
    pub fn check_delimiter(
        &self,
        delimiter: u8,
        is_chosen: bool,
        split: impl Fn(u8) -> Vec<HeadRecord>,
    ) -> Result<(), Failure> {
        let usual = usual_count(&self.records).filter(|count| *count > 1);
        if usual.is_some() && usual == self.records.first().map(|record| record.fields.len()) {
            return Ok(());
        }
        for other in DELIMITERS.into_iter().filter(|other| *other != delimiter) {
            let records = split(other);
            let Some(count) = usual_count(&records).filter(|count| *count > 1) else { continue };
            let header =
                records.iter().find(|record| record.fields.len() == count).map_or(1, |record| record.line);
            let first = records.first().map_or(1, |record| record.line);
            if is_chosen && header != first {
                continue;
            }
            let skip = if header > first { format!(" --skip-lines {}", header - 1) } else { String::new() };
            return Err(self.refuse(
                header,
                format!("fields with {} between them", shown(delimiter)),
                format!("{count} fields with {} between them", shown(other)),
                format!("pass --delimiter {}{skip}", Delimiter(other)),
            ));
        }
        Ok(())
    }

    /// Refuses a title above the header, and values in the place of a header.
    ///
    /// # Errors
    /// A refusal that names the option.
    pub fn check_header(&self) -> Result<(), Failure> {
        let Some((first, others)) = self.records.split_first() else { return Ok(()) };
        self.check_title(first, others)?;
        if self.no_header.is_some() {
            return Ok(());
        }
        let is_quoted = |name: &String| name.len() > 1 && name.starts_with('\'') && name.ends_with('\'');
        if first.fields.iter().all(is_quoted) {
            let expected = "double quotes around fields, as in RFC 4180".to_owned();
            let remedy =
                "write double quotes, or pass --no-header=false if the quotes belong to the names".to_owned();
            return Err(self.refuse(first.line, expected, "single quotes".into(), remedy));
        }
        for (at, name) in first.fields.iter().enumerate() {
            let values = others.iter().filter_map(|record| record.fields.get(at)).map(String::as_str);
            if self.is_value_of(name, values) {
                let name = name.trim();
                return Err(self.refuse(
                    first.line,
                    "a header with the names of the columns".into(),
                    format!("`{name}` in column {}, which looks like a value", at + 1),
                    "pass --no-header if the file has none, or --no-header=false if these are names".into(),
                ));
            }
        }
        Ok(())
    }

    fn check_title(&self, first: &HeadRecord, others: &[HeadRecord]) -> Result<(), Failure> {
        let usual = usual_count(others).unwrap_or(0);
        let is_short = first.fields.len() < usual;
        let is_lonely =
            first.fields.len() > 1 && first.fields.iter().skip(1).all(|field| field.trim().is_empty());
        if !is_short && !is_lonely {
            return Ok(());
        }
        let header = others.iter().find(|record| {
            record.fields.len() >= usual.max(2)
                && record.fields.iter().filter(|field| !field.trim().is_empty()).count() > 1
        });
        let skipped = header.map_or(first.line, |record| record.line - 1);
        let found = if is_short { format!("{} fields", first.fields.len()) } else { "one name".to_owned() };
        Err(self.refuse(
            first.line,
            format!("a header with the names of {} columns", usual.max(first.fields.len())),
            found,
            format!(
                "pass --skip-lines {skipped} if that is a title above the header; for a header without all names pass \
                 --skip-lines {} --no-header",
                first.line
            ),
        ))
    }

    /// Whether a name of the header looks like the values below it.
    fn is_value_of<'v>(&self, name: &str, values: impl Iterator<Item = &'v str>) -> bool {
        let Some(kind) = self.kind(name) else { return false };
        let values: Vec<&str> = values.filter(|value| !value.trim().is_empty()).collect();
        let is_alike = |value: &&&str| match kind {
            Kind::Year => self.kind(value) == Some(Kind::Year),
            Kind::Number => matches!(self.kind(value), Some(Kind::Year | Kind::Number)),
            kind => self.kind(value) == Some(kind),
        };
        let alike = values.iter().filter(is_alike).count();
        alike * 2 >= values.len() && (alike > 0 || kind != Kind::Year)
    }

    fn kind(&self, text: &str) -> Option<Kind> {
        match self.forms.class_of_field(text) {
            Class::Integer { .. } if text.trim().parse().is_ok_and(|year: u32| YEARS.contains(&year)) => {
                Some(Kind::Year)
            }
            Class::Integer { .. } | Class::Decimal { .. } | Class::Float | Class::Code => Some(Kind::Number),
            Class::Date | Class::Timestamp { .. } => Some(Kind::Moment),
            Class::Boolean => Some(Kind::Boolean),
            Class::Text => {
                let mut tally = Tally::default();
                tally.note(text);
                let advice = tally.best(false)?;
                Some(if advice.is_number { Kind::Number } else { Kind::Moment })
            }
            Class::Empty | Class::List => None,
        }
    }

    fn refuse(&self, line: u64, expected: String, found: String, remedy: String) -> Failure {
        Failure::refused(self.file, format!("line {line}, header"), expected, found, remedy)
    }
}

/// A kind of values, for comparing a header with what is below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Year,
    Number,
    Moment,
    Boolean,
}

/// The number of fields that nearly all records have.
fn usual_count(records: &[HeadRecord]) -> Option<usize> {
    let with = |count: usize| records.iter().filter(|record| record.fields.len() == count).count();
    let usual =
        records.iter().map(|record| record.fields.len()).max_by_key(|count| (with(*count), *count))?;
    let is_all_but_one = with(usual) > 1 && records.len() - with(usual) == 1;
    (is_all_but_one || with(usual) * 100 >= records.len() * USUAL_PERCENT_MIN).then_some(usual)
}

fn shown(delimiter: u8) -> String {
    if delimiter == b'\t' { "tabs".into() } else { format!("`{}`", char::from(delimiter)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(text: &str, delimiter: char) -> Vec<HeadRecord> {
        let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.is_empty());
        lines
            .map(|(line, text)| HeadRecord {
                line,
                fields: text.split(delimiter).map(str::to_owned).collect(),
            })
            .collect()
    }

    fn refusal(text: &str, delimiter: char) -> Option<String> {
        let forms = ValueForms::default();
        let head = Head { file: "f", records: records(text, delimiter), no_header: None, forms: &forms };
        let delimiter = u8::try_from(delimiter).unwrap();
        let split = |other| records(text, char::from(other));
        let checked = head.check_delimiter(delimiter, false, split).and_then(|()| head.check_header());
        checked.err().map(|failure| failure.one_line())
    }

    #[test]
    fn refusal_names_option_that_helps() {
        for (text, option) in [
            ("a;b\n1;2\n3;4\n", "--delimiter ';'"),
            ("a;b;c\n1,5;2,5;x\n3,5;4,5;y\n", "--delimiter ';'"),
            ("a;b\n1;x, y\n2;x, z\n", "--delimiter ';'"),
            ("Title\n\na;b\n1;2\n3;4\n", "--delimiter ';' --skip-lines 2"),
            ("Title\na,b\n1,2\n3,4\n", "--skip-lines 1 if"),
            ("Title, 2023\n\na,b,c\n1,2,3\n3,4,5\n", "--skip-lines 2 if"),
            ("Title,,\na,b,c\n1,2,3\n", "--skip-lines 1 if"),
            ("Roma,1,5\nMilano,2,6\n", "--no-header"),
            ("2024-01-01,x\n2024-01-02,y\n", "--no-header"),
            ("31/12/2024,x\n30/12/2024,y\n", "--no-header"),
            ("Roma,1980\nMilano,1990\n", "--no-header"),
            ("'a','b'\n'1','2'\n", "double quotes"),
        ] {
            let refusal = refusal(text, ',').unwrap_or_else(|| panic!("{text}"));
            assert!(refusal.contains(option), "{text}: {refusal}");
        }
    }

    #[test]
    fn ordinary_heads_pass() {
        for text in [
            "a,b\n1,2\n",
            "a\nx;y\nz\n",
            "a\nx;y\n",
            "comune,2020\n",
            "comune,2020,2021\nRoma,123,456\n",
            "voce,31/12/2022\nricavi,100\n",
            "a,b\n",
            "name\nx\ny\n",
            "",
        ] {
            assert_eq!(refusal(text, ','), None, "{text}");
        }
    }
}
