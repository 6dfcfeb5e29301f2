//! Runs third-party code and converts its panics into errors.
//!
//! Does not depend on that code.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `work`; a panic inside it is returned as its message.
pub(super) fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    // State that the work touches is dropped on the error path or never changed by the work.
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| message(payload.as_ref()))
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned())
}

#[cfg(test)]
mod tests {
    use super::guarded;

    #[test]
    fn converts_panic_to_message() {
        assert_eq!(guarded(|| 3), Ok(3));
        assert_eq!(guarded(|| -> u8 { panic!("row {}", 7) }), Err("row 7".to_owned()));
    }
}
