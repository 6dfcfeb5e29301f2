//! Credits in responses and refusals, and the wait for a charge.

use super::books_errors::from_books;
use mercato_web::{ApiError, Durable, Response};

/// Puts the credits of this answer into `meta` and into the headers of query answers.
#[must_use]
pub fn with_credits(response: Response, charged: u64, remaining: u64) -> Response {
    response
        .with_meta(format!(r#""credits":{{"charged":{charged},"remaining":{remaining}}}"#))
        .with_header("X-Credits-Charged", charged.to_string())
        .with_header("X-Credits-Remaining", remaining.to_string())
}

/// Tells a caller with an account that nothing was charged, and its remaining credits.
#[must_use]
pub fn uncharged(refusal: ApiError, credits: u64) -> ApiError {
    refusal.with_header("X-Credits-Charged", "0").with_header("X-Credits-Remaining", credits.to_string())
}

/// A charge that must be durable before its response is sent.
pub struct Charged(pub mercato_ledger::Durable);

impl Durable for Charged {
    fn is_done(&self) -> bool {
        self.0.is_done()
    }

    fn wait(self: Box<Self>) -> Result<(), ApiError> {
        self.0.wait().map_err(from_books)
    }

    fn then(self: Box<Self>, next: Box<dyn FnOnce(Result<(), ApiError>) + Send>) {
        self.0.then(move |outcome| next(outcome.map_err(from_books)));
    }
}
