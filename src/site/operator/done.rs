//! The outcome of a form, as a word in the query of the page behind it. Only words of the list mean something.

use super::words::OperatorWords;
use crate::site::url::Url;
use crate::site::visit::Visit;

/// Name of the parameter.
pub const DONE: &str = "done";

/// The outcome of a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// An account was created.
    Created,
    /// Credits were granted.
    Granted,
    /// A purchase was entered.
    Bought,
    /// The purchase was entered before.
    BoughtBefore,
    /// A key has other limits.
    Limited,
    /// A key was revoked.
    Revoked,
    SessionsEnded,
    /// An account was closed.
    Closed,
    /// Another version is served.
    RolledBack,
    /// A dataset was withdrawn.
    Withdrawn,
    /// A withdrawn dataset is published again.
    Republished,
    /// The folders were scanned.
    Scanned,
    /// The form was sent before, and nothing was done.
    Repeated,
    /// The operator signed out.
    SignedOut,
}

const ALL: [Done; 14] = [
    Done::Created,
    Done::Granted,
    Done::Bought,
    Done::BoughtBefore,
    Done::Limited,
    Done::Revoked,
    Done::SessionsEnded,
    Done::Closed,
    Done::RolledBack,
    Done::Withdrawn,
    Done::Republished,
    Done::Scanned,
    Done::Repeated,
    Done::SignedOut,
];

impl Done {
    const fn code(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Granted => "granted",
            Self::Bought => "bought",
            Self::BoughtBefore => "bought-before",
            Self::Limited => "limited",
            Self::Revoked => "revoked",
            Self::SessionsEnded => "sessions-ended",
            Self::Closed => "closed",
            Self::RolledBack => "rolled-back",
            Self::Withdrawn => "withdrawn",
            Self::Republished => "republished",
            Self::Scanned => "scanned",
            Self::Repeated => "repeated",
            Self::SignedOut => "signed-out",
        }
    }

    const fn text(self, words: &'static OperatorWords) -> &'static str {
        match self {
            Self::Created => words.done_created,
            Self::Granted => words.done_granted,
            Self::Bought => words.done_bought,
            Self::BoughtBefore => words.done_bought_before,
            Self::Limited => words.done_limited,
            Self::Revoked => words.done_revoked,
            Self::SessionsEnded => words.done_sessions_ended,
            Self::Closed => words.done_closed,
            Self::RolledBack => words.done_rolled_back,
            Self::Withdrawn => words.done_withdrawn,
            Self::Republished => words.done_republished,
            Self::Scanned => words.done_scanned,
            Self::Repeated => words.done_repeated,
            Self::SignedOut => words.done_signed_out,
        }
    }

    /// The address of a page with this outcome.
    pub fn at(self, page: &Url) -> Url {
        page.with(DONE, self.code())
    }

    /// The text of the word in the query.
    pub fn notice(visit: &Visit, words: &'static OperatorWords) -> Option<&'static str> {
        let code = visit.value(DONE)?;
        ALL.iter().find(|done| done.code() == code).map(|done| done.text(words))
    }
}
