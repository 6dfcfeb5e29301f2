//! A posted form: its fields, each known, and given once unless it is a list.
//!
//! Does not depend on the kind of form.

use super::dataset_field::DATASETS;
use crate::api::Incoming;
use mercato_web::{ApiError, validation_error};

/// Size of a form of the account area.
const FORM_BYTES_MAX: usize = 16 * 1024;
/// Length of one field of a form; lists of datasets need the most.
const FIELD_BYTES_MAX: usize = 12 * 1024;

/// Fields that are sent once for each thing that is chosen.
const LISTS: [&str; 1] = [DATASETS];

pub struct Form(Vec<(String, String)>);

impl Form {
    /// Reads a form of these fields. A field that is unknown, repeated or too long shows that the form is not one of this
    /// site, and is refused.
    pub fn read(request: &mut Incoming, known: &[&str]) -> Result<Self, ApiError> {
        let pairs = request.read_form(FORM_BYTES_MAX)?;
        let is_wrong = |(place, (name, value)): (usize, &(String, String))| {
            let stands_before =
                !LISTS.contains(&name.as_str()) && pairs.iter().take(place).any(|(other, _)| other == name);
            !known.contains(&name.as_str()) || stands_before || value.len() > FIELD_BYTES_MAX
        };
        if pairs.iter().enumerate().any(is_wrong) {
            let message = "the form has a field that is unknown, repeated or too long";
            return Err(validation_error("BODY_INVALID", "", message, "send the form of the page"));
        }
        Ok(Self(with_lists(pairs)))
    }

    /// The typed text of a field, unchanged.
    pub fn raw(&self, name: &str) -> &str {
        self.0.iter().find(|(own, _)| own == name).map_or("", |(_, value)| value.as_str())
    }

    /// The same without spaces around it.
    pub fn text(&self, name: &str) -> &str {
        self.raw(name).trim()
    }
}

/// The fields with the values of each list on the lines of one text.
fn with_lists(pairs: Vec<(String, String)>) -> Vec<(String, String)> {
    let mut fields: Vec<(String, String)> = Vec::with_capacity(pairs.len());
    for (name, value) in pairs {
        match fields.iter_mut().find(|(own, _)| *own == name) {
            Some((_, text)) => {
                text.push('\n');
                text.push_str(&value);
            }
            None => fields.push((name, value)),
        }
    }
    fields
}
