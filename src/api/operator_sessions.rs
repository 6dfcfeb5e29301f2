//! Browsers that are signed in to the operator's pages.
//!
//! In memory only: a start ends them all. A browser holds a token of its own instead of the operator's, because a cookie is
//! sent to every port of a host. Does not depend on pages.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use crate::limits::operator::SIGN_IN_SECONDS;
use mercato_base::clock::Moment;
use mercato_ledger::{PlainToken, TOKEN_RANDOM_BYTES, TokenHash};

/// Browsers that are signed in to the operator's pages at one time; one more ends the oldest.
const SIGN_INS_MAX: usize = 16;
/// Sent forms that one sign-in remembers, so that none is done twice.
const FORMS_REMEMBERED_MAX: usize = 256;

/// The open sign-ins, oldest first.
#[derive(Default)]
pub(super) struct OperatorSessions(Mutex<Vec<Session>>);

struct Session {
    token: TokenHash,
    ends_at: Moment,
    /// Numbers of forms that were sent, oldest first.
    sent: VecDeque<String>,
}

impl OperatorSessions {
    /// Signs a browser in.
    pub(super) fn open(&self, random: [u8; TOKEN_RANDOM_BYTES], now: Moment) -> PlainToken {
        let plain = PlainToken::from_random(random);
        let session = Session {
            token: plain.hash(),
            ends_at: now.plus_seconds(SIGN_IN_SECONDS),
            sent: VecDeque::new(),
        };
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|session| now < session.ends_at);
        while open.len() >= SIGN_INS_MAX {
            open.remove(0);
        }
        open.push(session);
        plain
    }

    /// Whether a token is that of an open sign-in.
    pub(super) fn is_open(&self, token: TokenHash, now: Moment) -> bool {
        let open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.iter().any(|session| session.token == token && now < session.ends_at)
    }

    /// Signs a browser out.
    pub(super) fn end(&self, token: TokenHash) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|session| session.token != token);
    }

    /// Notes that a form was sent. False if it was sent before, or nobody is signed in by that token.
    pub(super) fn is_first(&self, token: TokenHash, form: &str) -> bool {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(session) = open.iter_mut().find(|session| session.token == token) else { return false };
        if session.sent.iter().any(|sent| sent == form) {
            return false;
        }
        while session.sent.len() >= FORMS_REMEMBERED_MAX {
            session.sent.pop_front();
        }
        session.sent.push_back(form.to_owned());
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Moment = Moment::from_unix_millis(1_800_000_000_000);

    fn random(number: u8) -> [u8; TOKEN_RANDOM_BYTES] {
        [number; TOKEN_RANDOM_BYTES]
    }

    #[test]
    fn ends_sign_in_by_time_by_hand_and_by_newer_ones() {
        let sessions = OperatorSessions::default();
        let first = sessions.open(random(1), NOW).hash();
        let later = NOW.plus_seconds(SIGN_IN_SECONDS);
        assert!(sessions.is_open(first, NOW) && sessions.is_open(first, later.plus_millis(-1)));
        assert!(!sessions.is_open(first, later));
        let second = sessions.open(random(2), NOW).hash();
        sessions.end(second);
        assert!(!sessions.is_open(second, NOW) && sessions.is_open(first, NOW));
        for number in 3..=17 {
            sessions.open(random(number), NOW);
        }
        assert!(sessions.is_open(first, NOW), "16 fit");
        let newest = sessions.open(random(18), NOW).hash();
        assert!(!sessions.is_open(first, NOW) && sessions.is_open(newest, NOW));
    }

    #[test]
    fn takes_each_form_once() {
        let sessions = OperatorSessions::default();
        let (first, second) = (sessions.open(random(1), NOW).hash(), sessions.open(random(2), NOW).hash());
        assert!(
            sessions.is_first(first, "a") && sessions.is_first(first, "b") && sessions.is_first(second, "a")
        );
        assert!(!sessions.is_first(first, "a") && !sessions.is_first(first, "b"));
        for number in 0..FORMS_REMEMBERED_MAX {
            assert!(sessions.is_first(first, &number.to_string()));
        }
        assert!(!sessions.is_first(first, "0"));
        sessions.end(first);
        assert!(!sessions.is_first(first, "new"));
    }
}
