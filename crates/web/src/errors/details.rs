//! The structured part of a refusal: its faults, each with reason, place, message and remedy.
//!
//! Does not depend on statuses or handlers.

use serde::Serialize;
use serde_json::{Map, Value};

/// Faults of one response at most.
pub const FAULT_COUNT_MAX: usize = 100;
/// Bytes of the faults of one response, except the first one.
const FAULTS_BYTES_MAX: usize = 64 * 1024;

/// One fault of a request, in the shape of `details.errors[]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ValidationErrorBody {
    /// A stable code for programs.
    pub reason: String,
    /// RFC 6901 into the body, or the name of the parameter.
    pub pointer: String,
    /// A message for people.
    pub message: String,
    /// A remedy.
    pub hint: String,
    /// The accepted values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<String>,
    /// The nearest accepted name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
}

impl ValidationErrorBody {
    /// A fault of a query parameter or header.
    pub fn parameter(reason: &str, name: &str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            reason: reason.to_owned(),
            pointer: name.to_owned(),
            message: message.into(),
            hint: hint.into(),
            ..Self::default()
        }
    }

    /// Suggests the nearest name, if one is near.
    pub fn suggest(&mut self, name: Option<String>) {
        if let Some(name) = &name {
            self.hint = format!("did you mean `{name}`?");
        }
        self.suggestion = name;
    }
}

/// `error.details`: the first fault spread out, facts of the case, then the faults.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Details {
    pub(super) reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pointer: Option<String>,
    pub(super) hint: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) allowed: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) suggestion: Option<String>,
    #[serde(flatten)]
    pub(super) facts: Map<String, Value>,
    pub(super) errors: Vec<ValidationErrorBody>,
}

impl Details {
    /// A stable code for programs.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// The remedy.
    pub fn hint(&self) -> &str {
        &self.hint
    }

    /// The accepted values, where they are few.
    pub fn allowed(&self) -> &[String] {
        &self.allowed
    }

    /// Every fault of the request.
    pub fn faults(&self) -> &[ValidationErrorBody] {
        &self.errors
    }

    /// The nearest name that would have been accepted.
    pub fn suggestion(&self) -> Option<&str> {
        self.suggestion.as_deref()
    }
}

/// The number of reported errors: the first one, and further ones that fit.
pub(super) fn reported_count(faults: &[ValidationErrorBody]) -> usize {
    let mut bytes = 0_usize;
    let fits = |fault: &&ValidationErrorBody| {
        let length = serde_json::to_vec(fault).map_or(0, |text| text.len());
        bytes = bytes.saturating_add(length);
        bytes <= FAULTS_BYTES_MAX
    };
    faults.iter().take(FAULT_COUNT_MAX).take_while(fits).count().max(1)
}
