//! What the books do. A file is an operation, or what several operations of its folder share.
//!
//! Operations decide on the state (`state/`) and know neither of the stores. Those on logins stand in `people/`.

pub mod accounts;
pub mod charges;
pub mod checkouts;
pub mod keys;
pub mod relations;
#[cfg(test)]
mod tests;

use crate::error::BooksError;
use crate::limits::TEXT_BYTES_MAX;

/// Refuses a text that is too short, too long, or has control characters.
pub fn check_text(field: &'static str, text: &str, length_min: usize) -> Result<(), BooksError> {
    if text.len() < length_min || text.len() > TEXT_BYTES_MAX || text.chars().any(char::is_control) {
        let rule = format!(
            "{length_min} to {TEXT_BYTES_MAX} bytes without control characters, found {}",
            text.len()
        );
        return Err(invalid(field, rule));
    }
    Ok(())
}

pub fn invalid(field: &'static str, rule: String) -> BooksError {
    BooksError::Invalid { field, rule }
}
