//! A plain model of logins, sessions and one-time tokens, with the simplest storage. Does not depend on the ledger.

use std::collections::HashMap;

use mercato_base::clock::Moment;
use mercato_ledger::{AccountId, KeyHash, TokenHash, TokenPurpose};

const DAY: i64 = 86_400;
const SESSIONS_MAX: usize = 16;
const TOKENS_MAX: usize = 4;

/// The expected state. E-mail addresses and passwords are numbers.
#[derive(Default)]
pub struct Model {
    pub logins: HashMap<u8, ModelLogin>,
    pub sessions: Vec<ModelSession>,
    pub tokens: Vec<ModelToken>,
    pub closed: Vec<ModelClosed>,
    /// By e-mail address and month.
    pub free_used: HashMap<(u8, i32), u32>,
}

pub struct ModelLogin {
    pub account: AccountId,
    pub password: u32,
    pub confirmed_at: Option<Moment>,
    pub keys: Vec<KeyHash>,
}

pub struct ModelClosed {
    pub account: AccountId,
    pub at: Moment,
    pub keys: Vec<KeyHash>,
}

pub struct ModelSession {
    pub token: TokenHash,
    pub account: AccountId,
    pub created_at: Moment,
    pub seen_at: Moment,
}

pub struct ModelToken {
    pub token: TokenHash,
    pub account: AccountId,
    pub purpose: TokenPurpose,
    pub created_at: Moment,
}

impl ModelSession {
    pub fn is_open(&self, now: Moment) -> bool {
        now < self.created_at.plus_seconds(30 * DAY) && now < self.seen_at.plus_seconds(7 * DAY)
    }
}

impl ModelToken {
    pub fn is_valid(&self, now: Moment) -> bool {
        let seconds = match self.purpose {
            TokenPurpose::ConfirmEmail => 2 * DAY,
            TokenPurpose::ResetPassword => 3_600,
        };
        now < self.created_at.plus_seconds(seconds)
    }
}

impl Model {
    pub fn email_of(&self, account: AccountId) -> Option<u8> {
        self.logins.iter().find(|(_, login)| login.account == account).map(|(email, _)| *email)
    }

    /// The open sessions of an account, oldest first.
    pub fn sessions_of(&self, account: AccountId, now: Moment) -> Vec<&ModelSession> {
        let of_account = |session: &&ModelSession| session.account == account && session.is_open(now);
        let mut found: Vec<_> = self.sessions.iter().filter(of_account).collect();
        found.sort_by_key(|session| (session.created_at, session.token));
        found
    }

    pub fn open_session(&mut self, account: AccountId, token: TokenHash, now: Moment) {
        self.sessions.retain(|session| session.account != account || session.is_open(now));
        let open = self.sessions_of(account, now);
        let gone = (open.len() >= SESSIONS_MAX).then(|| open[0].token);
        self.sessions.retain(|session| Some(session.token) != gone);
        self.sessions.push(ModelSession { token, account, created_at: now, seen_at: now });
    }

    /// Ends the sessions of an account but one; returns how many were open.
    pub fn end_all(&mut self, account: AccountId, kept: Option<TokenHash>, now: Moment) -> usize {
        let open = self.sessions_of(account, now);
        let ended = open.iter().filter(|session| Some(session.token) != kept).count();
        self.sessions.retain(|session| session.account != account || Some(session.token) == kept);
        ended
    }

    pub fn issue(&mut self, account: AccountId, purpose: TokenPurpose, token: TokenHash, now: Moment) {
        self.tokens.retain(|token| token.account != account || token.is_valid(now));
        let mut waiting: Vec<_> = self.tokens.iter().filter(|token| token.account == account).collect();
        waiting.sort_by_key(|token| (token.created_at, token.token));
        let gone = (waiting.len() >= TOKENS_MAX).then(|| waiting[0].token);
        self.tokens.retain(|token| Some(token.token) != gone);
        self.tokens.push(ModelToken { token, account, purpose, created_at: now });
    }

    pub fn use_up(&mut self, account: AccountId, purpose: TokenPurpose) {
        self.tokens.retain(|token| token.account != account || token.purpose != purpose);
    }

    pub fn close(&mut self, email: u8, at: Moment) {
        let Some(login) = self.logins.remove(&email) else { return };
        let ModelLogin { account, keys, .. } = login;
        self.sessions.retain(|session| session.account != account);
        self.tokens.retain(|token| token.account != account);
        self.closed.push(ModelClosed { account, at, keys });
    }
}
