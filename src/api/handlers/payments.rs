//! `POST /payments/stripe/webhook`: Stripe reports payments, refunds and disputes.
//!
//! The raw bytes are verified before anything of them is parsed. The response is a success only when the effect of the
//! notification is durable, so Stripe repeats a lost one. Does not depend on the form of notifications.

use crate::api::books_errors::from_books;
use serde::Serialize;

use crate::api::app::App;
use crate::api::context::Incoming;
use crate::api::handlers::discovery::unknown_path;
use crate::api::route::{Guard, Route};
use mercato_payments::{Applied, NotificationError};
use mercato_web::{ApiError, ErrorKind, Method, Response};

/// Largest notification of a provider; those of Stripe have a few KiB.
const NOTIFICATION_BYTES_MAX: usize = 256 * 1024;

/// Paths of this file. Stripe alone uses them, so they stand in no document.
pub const ROUTES: &[Route] =
    &[Route::new(Method::Post, "/payments/stripe/webhook", Guard::Uncounted, stripe)];

/// The provider whose path this is.
const STRIPE: &str = "stripe";
const REMEDY: &str = "see docs/OPERATIONS.md, \"Payments\"";

#[derive(Serialize)]
struct Received {
    received: bool,
}

fn stripe(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    let provider = app.payments.provider().filter(|provider| provider.name() == STRIPE);
    let provider = provider.ok_or_else(|| unknown_path(app))?;
    let body = request.read_body()?;
    if body.len() > NOTIFICATION_BYTES_MAX {
        let message = format!("a notification has at most {NOTIFICATION_BYTES_MAX} bytes");
        return Err(ApiError::new(ErrorKind::PayloadTooLarge, message).with_reason("BODY_TOO_LARGE", REMEDY));
    }
    let signature = request.header("Stripe-Signature");
    let news =
        provider.read_notification(signature, &body, request.now()).map_err(|error| refusal(&error))?;
    if let Some(news) = news
        && let Applied::Refused(contradiction) = news.apply(&app.ledger).map_err(from_books)?
    {
        let message = format!("the payment is not what was asked for: {contradiction}");
        return Err(ApiError::new(ErrorKind::Conflict, message).with_reason("PAYMENT_CONTRADICTS", REMEDY));
    }
    Response::data(&Received { received: true })
}

fn refusal(error: &NotificationError) -> ApiError {
    let reason = match error {
        NotificationError::NoneSent | NotificationError::Malformed => "SIGNATURE_MALFORMED",
        NotificationError::Forged => "SIGNATURE_WRONG",
        NotificationError::Untimely { .. } => "SIGNATURE_UNTIMELY",
        NotificationError::Unreadable(_) => "NOTIFICATION_UNREADABLE",
    };
    tracing::warn!(%error, "a notification of the payment provider is refused");
    ApiError::new(ErrorKind::BadRequest, error.to_string()).with_reason(reason, REMEDY)
}
