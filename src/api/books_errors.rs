//! Errors of the books and of authentication, as API errors.
//!
//! The only place where a refusal of theirs meets a status.

use crate::limits::api::RETRY_AFTER_BUSY_SECONDS;
use mercato_base::words::{counted, grouped};
use mercato_ledger::{BooksError, CapStanding, ChargeError, LoginError, Unavailable};
use mercato_people::{KeyRefusal, RateRefusal};
use mercato_web::{ApiError, ErrorKind};

/// An error of the books or of access, as clients get it.
pub trait Refusal {
    fn refusal(self) -> ApiError;
}

/// The refusal of a request.
pub fn from_books(error: impl Refusal) -> ApiError {
    error.refusal()
}

impl Refusal for ChargeError {
    fn refusal(self) -> ApiError {
        match self {
            ChargeError::InsufficientCredits { required, available } => {
                let (cost, left) = (counted(required, "credit"), counted(available, "credit"));
                let message = format!("this costs {cost} and the account has {left}");
                ApiError::new(ErrorKind::NoCredits, message)
                    .with_reason("INSUFFICIENT_CREDITS", "lower `limit`, narrow the filters, or buy credits")
                    .with_fact("required", required)
                    .with_fact("available", available)
                    .with_fact("shortfall", required.saturating_sub(available))
            }
            ChargeError::FreePlanExhausted { allowance, resets_at } => {
                let message = format!("the {allowance} free queries of this month are used up");
                ApiError::new(ErrorKind::NoCredits, message)
                    .with_reason("FREE_PLAN_EXHAUSTED", "buy credits, or wait until resetAt")
                    .with_fact("required", 1)
                    .with_fact("available", 0)
                    .with_fact("shortfall", 1)
                    .with_fact("allowance", allowance)
                    .with_fact("resetAt", resets_at.rfc3339())
            }
            ChargeError::FreeRowsExceeded { limit, requested } => {
                let (most, wanted) = (counted(limit, "row"), grouped(requested));
                let message = format!(
                    "a free query asks for at most {most}, this one asks for {wanted}, and the account has no credits"
                );
                let hint = format!("set `limit` to {limit} or less, or buy credits");
                ApiError::new(ErrorKind::NoCredits, message)
                    .with_reason("FREE_PLAN_ROWS", hint)
                    .with_fact("required", requested)
                    .with_fact("allowed", limit)
            }
            ChargeError::KeyCapReached { required, standing } => cap_reached(required, &standing),
            ChargeError::IdempotencyMismatch => {
                let message = "this Idempotency-Key was used with another request within the last 24 hours";
                ApiError::new(ErrorKind::Unprocessable, message)
                    .with_reason(
                        "IDEMPOTENCY_KEY_REUSED",
                        "use a new key for each distinct request, and for the same one once the version that it read is gone",
                    )
            }
            ChargeError::IdempotencyInUse => {
                let message = "the request of this Idempotency-Key is still being answered";
                ApiError::new(ErrorKind::Conflict, message)
                    .with_reason("IDEMPOTENCY_KEY_IN_USE", "wait until that answer has ended, then try again")
                    .with_header("Retry-After", RETRY_AFTER_BUSY_SECONDS.to_string())
            }
            ChargeError::Books(error) => error.refusal(),
        }
    }
}

impl Refusal for BooksError {
    fn refusal(self) -> ApiError {
        match self {
            // Its keys are revoked; the request was let in before that.
            BooksError::AccountClosed { .. } => KeyRefusal::Revoked.refusal(),
            BooksError::Unavailable { reason } => reason.refusal(),
            other => ApiError::new(ErrorKind::NotFound, other.to_string()),
        }
    }
}

impl Refusal for Unavailable {
    fn refusal(self) -> ApiError {
        let message = format!("the books cannot be kept right now: {self}");
        ApiError::unavailable(message, RETRY_AFTER_BUSY_SECONDS)
            .with_reason("BOOKS_UNAVAILABLE", "nothing was answered; try again")
    }
}

impl Refusal for LoginError {
    fn refusal(self) -> ApiError {
        match self {
            LoginError::Books(error) => error.refusal(),
            other => ApiError::new(ErrorKind::NotFound, other.to_string()),
        }
    }
}

fn cap_reached(required: u64, standing: &CapStanding) -> ApiError {
    let CapStanding { period, cap, spent, resets_at } = standing;
    let message = format!(
        "this costs {}, and the key has spent {} of the {} that it may spend in a {}",
        counted(required, "credit"),
        grouped(*spent),
        grouped(*cap),
        period.as_str()
    );
    let hint = "lower `limit`, wait until resetsAt, or have the cap of the key raised";
    ApiError::new(ErrorKind::NoCredits, message)
        .with_reason("KEY_CAP_REACHED", hint)
        .with_fact("required", required)
        .with_fact("cap", *cap)
        .with_fact("spent", *spent)
        .with_fact("period", period.as_str())
        .with_fact("resetsAt", resets_at.rfc3339())
}

impl Refusal for KeyRefusal {
    fn refusal(self) -> ApiError {
        let (reason, message) = match self {
            KeyRefusal::Missing => ("API_KEY_MISSING", "this path needs an API key in the header X-Api-Key"),
            KeyRefusal::Malformed => ("API_KEY_MALFORMED", "the header X-Api-Key does not hold an API key"),
            KeyRefusal::Mistyped => (
                "API_KEY_MISTYPED",
                "the API key has a typing error: its last characters do not fit the others",
            ),
            KeyRefusal::Unknown => ("API_KEY_UNKNOWN", "the API key is not known"),
            KeyRefusal::Revoked => ("API_KEY_REVOKED", "the API key was revoked"),
            KeyRefusal::Expired => (
                "API_KEY_EXPIRED",
                "the API key has expired: it was replaced by another one, or made for a time",
            ),
        };
        ApiError::new(ErrorKind::Unauthorized, message)
            .with_reason(reason, "send a valid key as `X-Api-Key: mk_…`")
            .with_header("WWW-Authenticate", "ApiKey realm=\"mercato\", header=\"X-Api-Key\"")
    }
}

impl Refusal for &RateRefusal {
    fn refusal(self) -> ApiError {
        let seconds = self.retry_after_seconds;
        let message = format!(
            "more than {} {}; a request will succeed in {seconds} s",
            counted(self.limit.into(), "request"),
            if self.reason.as_str() == "DAILY_QUOTA_EXCEEDED" {
                "in this UTC day"
            } else {
                "within a minute"
            },
        );
        ApiError::new(ErrorKind::RateLimited, message)
            .with_reason(self.reason.as_str(), "wait for Retry-After seconds before the next request")
            .with_fact("limit", self.limit)
            .with_fact("resetAt", self.reset_at.rfc3339())
            .with_fact("retryAfterSeconds", seconds)
            .with_fact("scope", self.scope.as_str())
            .with_header("Retry-After", seconds.to_string())
    }
}
