//! The body of a form that a browser sends.
//!
//! Does not depend on fields or pages.

use crate::errors::{ApiError, ErrorKind};
use crate::incoming::{Incoming, unsupported, validation_error};
use crate::target::{Target, TargetError};

/// Media type of forms.
const FORM: &str = "application/x-www-form-urlencoded";

impl<C> Incoming<C> {
    /// The body of a form that a browser sends, as names and values: refuses other media types with 415, and bodies above
    /// `bytes_max` with 413.
    pub fn read_form(&mut self, bytes_max: usize) -> Result<Vec<(String, String)>, ApiError> {
        let content_type = self.header("Content-Type").unwrap_or_default();
        let essence = content_type.split(';').next().unwrap_or_default().trim();
        let is_plain = self.header("Content-Encoding").is_none();
        if !essence.eq_ignore_ascii_case(FORM) || !is_plain {
            let message = "a form is read here, as a browser sends it";
            return Err(unsupported(
                "MEDIA_TYPE",
                message,
                "send `Content-Type: application/x-www-form-urlencoded`",
            ));
        }
        let body = self.read_body()?;
        if body.len() > bytes_max {
            let message = format!("the form is larger than {bytes_max} bytes");
            return Err(ApiError::new(ErrorKind::PayloadTooLarge, message)
                .with_reason("BODY_TOO_LARGE", "send less")
                .with_fact("limit", bytes_max));
        }
        let text = std::str::from_utf8(&body).map_err(|_| TargetError::Encoding);
        text.and_then(Target::parse_pairs).map_err(|_| {
            validation_error("BODY_INVALID", "", "the form cannot be read", "percent-encode it as UTF-8")
        })
    }
}
