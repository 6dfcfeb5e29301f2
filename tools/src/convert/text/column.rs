//! A column of texts while rows are collected: its values, the types that they allow, and a few examples. Does not depend
//! on other columns.

use arrow_array::builder::{ArrayBuilder, StringBuilder};
use mercato_catalog::ColumnType;

use crate::convert::schema::flatten::cut;
use crate::convert::text::classify::Class;
use crate::convert::text::forms::ValueForms;
use crate::convert::text::infer::Inference;
use crate::failure::Failure;

/// Examples of a column in a preview.
const EXAMPLES_MAX: usize = 3;
/// Bytes of a value in a message.
const VALUE_SHOWN_BYTES: usize = 64;

pub struct TextColumn {
    pub name: String,
    pub declared: Option<ColumnType>,
    pub inference: Inference,
    /// The format of the file in which it appeared first.
    pub format: &'static str,
    /// The first values that differ, in a preview.
    pub examples: Vec<String>,
    pub(super) is_dropped: bool,
    pub(super) values: StringBuilder,
}

/// A value that was refused, without its place.
pub enum RowError {
    Value {
        expected: String,
        found: String,
        remedy: String,
    },
    /// The spilled file could not be written.
    Failure(Failure),
}

impl From<Failure> for RowError {
    fn from(failure: Failure) -> RowError {
        RowError::Failure(failure)
    }
}

impl TextColumn {
    /// Adds nulls up to `row`.
    pub(super) fn pad(&mut self, row: usize) {
        let missing = row.saturating_sub(self.values.len());
        if missing > 0 {
            self.inference.note_nulls(missing);
            self.values.append_nulls(missing);
        }
    }

    /// Keeps a few values of a batch, and lets go of the others.
    pub(super) fn keep_examples(&mut self, rows: usize) {
        self.pad(rows);
        let values = self.values.finish();
        for value in values.iter().flatten() {
            if self.examples.len() == EXAMPLES_MAX {
                break;
            }
            let value = cut(value.to_owned(), VALUE_SHOWN_BYTES);
            if !self.examples.contains(&value) {
                self.examples.push(value);
            }
        }
    }

    pub(super) fn check_declared(
        &self,
        forms: &ValueForms,
        class: Class,
        text: &str,
    ) -> Result<(), RowError> {
        let Some(declared) = self.declared else { return Ok(()) };
        let fits = match (declared, class) {
            (ColumnType::Kind(mercato_format::ColumnKind::Text), _) | (_, Class::Empty) => true,
            (_, Class::List) => false,
            (ColumnType::Datetime, class) => matches!(class, Class::Date | Class::Timestamp { .. }),
            (ColumnType::Kind(kind), _) => forms.parse(kind, text).is_some(),
        };
        if fits {
            return Ok(());
        }
        Err(RowError::Value {
            expected: format!("a value of the declared type {}", type_name(declared)),
            found: format!("`{}`", cut(text.to_owned(), VALUE_SHOWN_BYTES)),
            remedy: "correct the value, or the declared type".into(),
        })
    }
}

#[must_use]
pub fn type_name(declared: ColumnType) -> String {
    use mercato_format::ColumnKind;
    match declared {
        ColumnType::Datetime => "datetime".into(),
        ColumnType::Kind(ColumnKind::Decimal { precision, scale }) => format!("decimal({precision},{scale})"),
        ColumnType::Kind(ColumnKind::Timestamp { unit }) => format!("datetime of {} digits", unit.digits()),
        ColumnType::Kind(kind) => kind.logical().name().into(),
    }
}
