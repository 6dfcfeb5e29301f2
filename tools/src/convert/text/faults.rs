//! Faults of values: a value that does not fit the others of its column, and a column of texts that look like values.
//! Says where, what was expected, what was found, and which option helps. Does not depend on how they are found.

use crate::convert::schema::flatten::cut;
use crate::convert::text::advice::Advice;
use crate::failure::Failure;

/// Bytes of a name in a message.
const NAME_SHOWN_BYTES: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spot {
    pub file: std::sync::Arc<str>,
    /// The line, counted from 1.
    pub line: u64,
    /// The number of the field, counted from 1; `None` where fields have names only.
    pub field: Option<usize>,
}

/// A value that does not fit the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    pub at: Spot,
    pub expected: String,
    pub found: String,
    /// What is wrong with it.
    pub fault: ValueFault,
}

/// What is wrong with a value that does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueFault {
    /// It may be a number, and may be a name of digits.
    Code,
    /// It would be a value under another option.
    Form(Advice),
    /// It usually stands for null.
    Null,
    /// Groups of three digits look like fractions.
    Grouped,
    /// A double would lose digits of it.
    LongInteger,
    Other,
}

/// A column of texts that look like numbers or dates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LooksLikeValues {
    pub at: Spot,
    pub found: String,
    pub advice: Advice,
    /// Values of this look, in per cent.
    pub percent: u64,
}

impl Conflict {
    /// The refusal of a column with this conflict.
    #[must_use]
    pub fn refuse(self, name: &str) -> Failure {
        let name = cut(name.to_owned(), NAME_SHOWN_BYTES);
        let (section, remedy) = (self.at.section(&name), self.remedy(&name));
        Failure::refused(self.at.file.to_string(), section, self.expected, self.found, remedy)
    }

    fn remedy(&self, name: &str) -> String {
        let as_text = format!(
            "`type = \"string\"` under [columns.{name}] in dataset.toml, or {}",
            declaration(name, "string")
        );
        match &self.fault {
            ValueFault::Code => format!(
                "correct the value, or declare the column: {} reads numbers, also with leading zeros, with a plus, and \
                 beyond the largest double as infinite; {} keeps every digit as text",
                declaration(name, "number"),
                declaration(name, "string")
            ),
            ValueFault::Form(advice) => {
                format!("pass {}; or correct the value, or declare the column: {as_text}", advice.option)
            }
            ValueFault::Null => format!(
                "pass --null-text {} if it stands for null, or declare the column: {as_text}",
                quoted(self.found.trim_matches('`'))
            ),
            ValueFault::Grouped => {
                "pass --decimal , --thousands . if it is a thousand, or --decimal . if it is a fraction"
                    .to_owned()
            }
            ValueFault::LongInteger => format!(
                "declare the column: {} if digits may be lost, {} keeps every digit as text",
                declaration(name, "number"),
                declaration(name, "string")
            ),
            ValueFault::Other => format!(
                "correct the value, pass --null-text if it stands for null, or declare the column: {as_text}"
            ),
        }
    }
}

impl LooksLikeValues {
    /// The warning, in one sentence.
    #[must_use]
    pub fn warning(&self, name: &str) -> String {
        let name = cut(name.to_owned(), NAME_SHOWN_BYTES);
        let what = if self.advice.is_number { "numbers" } else { "dates" };
        format!(
            "column `{name}` is text, although {} % of its values are {what} in another form, the first is `{}` on line \
             {} of {}; pass {}, or {} if texts are meant",
            self.percent,
            self.found,
            self.at.line,
            self.at.file,
            self.advice.option,
            declaration(&name, "string")
        )
    }
}

impl Spot {
    #[must_use]
    pub fn section(&self, name: &str) -> String {
        match self.field {
            Some(field) => format!("line {}, column {field} (`{name}`)", self.line),
            None => format!("line {}, column `{name}`", self.line),
        }
    }
}

/// The option that declares the type of a column, as it is typed into a shell.
fn declaration(name: &str, kind: &str) -> String {
    format!("--type {}", quoted(&format!("{name}={kind}")))
}

/// A text as it is typed into a shell.
fn quoted(text: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "=_-./,:".contains(letter);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}
