//! The outcome of a form, as a word in the query of the page behind it.
//!
//! Only words of the list mean something, and each page shows only its own.

use super::words::AccountWords;
use crate::site::url::Url;
use crate::site::visit::Visit;

/// Name of the parameter.
pub const DONE: &str = "done";

/// The outcome of a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// A sign-up was sent, with either outcome.
    SignedUp,
    /// A session was ended by hand.
    SignedOut,
    /// A token set a password.
    Reset,
    /// An account was closed.
    Deleted,
    /// A key has another name.
    Renamed,
    /// A key was revoked.
    Revoked,
    /// A password was changed.
    Password,
    /// A sign-up was sent, and with it a mail.
    SignedUpByMail,
    /// An address was confirmed.
    Confirmed,
    /// A mail with another link to confirm is on its way.
    ConfirmSent,
    /// A mail with a link to set a password is on its way, if there is an account.
    ForgotSent,
    /// A key has other limits.
    Limited,
    /// Sessions were ended.
    Sessions,
    /// The page of the payment provider was left after a payment.
    Paying,
    /// It was left without one.
    Cancelled,
    /// A purchase was cancelled before it was paid.
    GivenUp,
}

impl Done {
    const fn code(self) -> &'static str {
        match self {
            Self::SignedUp => "signed-up",
            Self::SignedOut => "signed-out",
            Self::Reset => "reset",
            Self::Deleted => "deleted",
            Self::Renamed => "renamed",
            Self::Revoked => "revoked",
            Self::Password => "password",
            Self::SignedUpByMail => "mail-sent",
            Self::Confirmed => "confirmed",
            Self::ConfirmSent => "confirm-sent",
            Self::ForgotSent => "forgot-sent",
            Self::Limited => "limited",
            Self::Sessions => "sessions",
            Self::Paying => "paying",
            Self::Cancelled => "cancelled",
            Self::GivenUp => "given-up",
        }
    }

    const fn text(self, words: &'static AccountWords) -> &'static str {
        match self {
            Self::SignedUp => words.done_signed_up,
            Self::SignedOut => words.done_signed_out,
            Self::Reset => words.done_reset,
            Self::Deleted => words.done_deleted,
            Self::Renamed => words.done_renamed,
            Self::Revoked => words.done_revoked,
            Self::Password => words.done_password,
            Self::SignedUpByMail => words.done_signed_up_by_mail,
            Self::Confirmed => words.done_confirmed,
            Self::ConfirmSent => words.done_confirm_sent,
            Self::ForgotSent => words.done_forgot_sent,
            Self::Limited => words.done_limited,
            Self::Sessions => words.done_sessions,
            Self::Paying => words.done_paying,
            Self::Cancelled => words.done_cancelled,
            Self::GivenUp => words.done_given_up,
        }
    }

    /// The address of a page with this outcome.
    pub fn at(self, page: &Url) -> Url {
        page.with(DONE, self.code())
    }

    /// The text of the word in the query, if it is among `notices`.
    pub fn notice(visit: &Visit, words: &'static AccountWords, notices: &[Done]) -> Option<&'static str> {
        let code = visit.value(DONE)?;
        notices.iter().find(|done| done.code() == code).map(|done| done.text(words))
    }
}
