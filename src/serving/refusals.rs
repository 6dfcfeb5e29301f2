//! Refusals of the event loop, in the form of the API.

use crate::limits::api::RETRY_AFTER_BUSY_SECONDS;
use mercato_net::{HeadError, Refusal};
use mercato_web::{ApiError, ErrorKind};

/// The answer to a refusal.
pub(super) fn meaning(refusal: &Refusal) -> ApiError {
    let (kind, reason, hint) = words(refusal);
    let error = ApiError::new(kind, refusal.to_string()).with_reason(reason, hint);
    match kind {
        ErrorKind::Unavailable | ErrorKind::RateLimited => {
            error.with_header("Retry-After", RETRY_AFTER_BUSY_SECONDS.to_string())
        }
        _ => error,
    }
}

fn words(refusal: &Refusal) -> (ErrorKind, &'static str, &'static str) {
    match refusal {
        Refusal::Head(error) => of_head(error),
        Refusal::Body(_) => (ErrorKind::BadRequest, "BODY_MALFORMED", "see RFC 9112, section 7.1"),
        Refusal::BodyTooLarge { .. } => {
            (ErrorKind::PayloadTooLarge, "BODY_TOO_LARGE", "split long IN lists over several requests")
        }
        Refusal::BodiesFull | Refusal::Busy | Refusal::ConnectionsFull => {
            (ErrorKind::Unavailable, "BUSY", "try again after Retry-After seconds")
        }
        Refusal::NoAnswer => (ErrorKind::Unavailable, "NO_ANSWER", "try again after Retry-After seconds"),
        Refusal::HeadTimeout => (ErrorKind::RequestTimeout, "HEAD_TIMEOUT", "send the head in one piece"),
        Refusal::BodyTimeout => (ErrorKind::RequestTimeout, "BODY_TIMEOUT", "send the body without pauses"),
        Refusal::AddressFull => {
            (ErrorKind::RateLimited, "TOO_MANY_CONNECTIONS", "use fewer connections and keep them open")
        }
    }
}

fn of_head(error: &HeadError) -> (ErrorKind, &'static str, &'static str) {
    match error {
        HeadError::Version => (ErrorKind::VersionUnsupported, "VERSION_UNSUPPORTED", "use HTTP/1.1"),
        HeadError::CodingUnknown => {
            (ErrorKind::NotImplemented, "TRANSFER_ENCODING", "send the body with Content-Length")
        }
        HeadError::Expectation => (ErrorKind::ExpectationFailed, "EXPECTATION", "drop the Expect header"),
        HeadError::RequestLineTooLong { .. } => {
            (ErrorKind::TargetTooLong, "REQUEST_LINE_TOO_LONG", "send a query as the body of a POST")
        }
        HeadError::HeaderTooLarge { .. } | HeadError::TooManyHeaders { .. } => {
            (ErrorKind::HeadersTooLarge, "HEADERS_TOO_LARGE", "send fewer or shorter headers")
        }
        HeadError::LengthTooLarge => {
            (ErrorKind::PayloadTooLarge, "BODY_TOO_LARGE", "split long IN lists over several requests")
        }
        _ => (ErrorKind::BadRequest, "REQUEST_MALFORMED", "see RFC 9112 for the form of a request"),
    }
}
