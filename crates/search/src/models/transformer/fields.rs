//! Validated access to the fields of an untrusted JSON file; errors name the field.
//!
//! Does not depend on the meaning of fields.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use serde_json::Value;

use crate::models::error::ModelError;

/// Longest excerpt of a wrong value in an error, in characters.
const FOUND_CHARS_MAX: usize = 80;

/// A JSON document and the file that it is from.
#[derive(Debug)]
pub struct Fields {
    path: PathBuf,
    value: Value,
}

impl Fields {
    pub fn new(path: PathBuf, value: Value) -> Self {
        Self { path, value }
    }

    pub fn whole(&self) -> &Value {
        &self.value
    }

    /// A field that is present and not `null`.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.value.get(name).filter(|value| !value.is_null())
    }

    /// A whole number within a range that must be there.
    pub fn count(&self, name: &str, accepted: RangeInclusive<usize>) -> Result<usize, ModelError> {
        self.optional_count(name, accepted.clone())?.ok_or_else(|| {
            self.wrong(name, &format!("a whole number from {} to {}", accepted.start(), accepted.end()))
        })
    }

    /// A whole number within a range that may be absent.
    pub fn optional_count(
        &self,
        name: &str,
        accepted: RangeInclusive<usize>,
    ) -> Result<Option<usize>, ModelError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let number = value.as_u64().and_then(|number| usize::try_from(number).ok());
        match number.filter(|number| accepted.contains(number)) {
            Some(number) => Ok(Some(number)),
            None => {
                Err(self
                    .wrong(name, &format!("a whole number from {} to {}", accepted.start(), accepted.end())))
            }
        }
    }

    /// A text that may be absent.
    pub fn optional_text(&self, name: &str) -> Result<Option<&str>, ModelError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        value.as_str().map(Some).ok_or_else(|| self.wrong(name, "a text"))
    }

    /// A boolean, or `default` if absent.
    pub fn flag(&self, name: &str, default: bool) -> Result<bool, ModelError> {
        let Some(value) = self.get(name) else { return Ok(default) };
        value.as_bool().ok_or_else(|| self.wrong(name, "true or false"))
    }

    /// The error of a field that is not as it should be.
    pub fn wrong(&self, name: &str, expected: &str) -> ModelError {
        let found = self.value.get(name).map_or_else(|| "nothing".to_owned(), excerpt);
        self.error(name, expected, &found)
    }

    /// A error in the file.
    pub fn error(&self, field: &str, expected: &str, found: &str) -> ModelError {
        ModelError::Field {
            path: self.path.clone(),
            field: field.to_owned(),
            expected: expected.to_owned(),
            found: found.to_owned(),
        }
    }
}

/// The beginning of a value as JSON.
pub fn excerpt(value: &Value) -> String {
    let text = value.to_string();
    let mut short: String = text.chars().take(FOUND_CHARS_MAX).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
