//! Logins and open sessions for all threads: in memory, changed only after the log was appended to.
//!
//! A part of the [`Directory`](super::Directory). Does not depend on passwords or the store.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use parking_lot::RwLock;

use crate::email::Email;
use crate::id::AccountId;
use crate::limits::SESSION_SEEN_GRAIN_SECONDS;
use crate::login::Login;
use crate::session_record::{SessionRecord, end_of_session};
use crate::token::TokenHash;
use mercato_base::clock::Moment;

/// All logins and sessions.
#[derive(Default)]
pub struct LoginDirectory {
    tables: RwLock<Tables>,
}

#[derive(Default)]
struct Tables {
    by_email: HashMap<Email, Arc<Login>>,
    by_account: HashMap<AccountId, Arc<Login>>,
    sessions: HashMap<TokenHash, SessionHandle>,
    sessions_of: HashMap<AccountId, Vec<SessionHandle>>,
}

impl LoginDirectory {
    pub fn by_email(&self, email: &Email) -> Option<Arc<Login>> {
        self.tables.read().by_email.get(email).cloned()
    }

    pub fn of(&self, account: AccountId) -> Option<Arc<Login>> {
        self.tables.read().by_account.get(&account).cloned()
    }

    /// A session that has not been ended; it may be over.
    pub fn session(&self, token: &TokenHash) -> Option<SessionHandle> {
        self.tables.read().sessions.get(token).cloned()
    }

    /// The sessions of an account that have not been ended, in no order.
    pub fn sessions_of(&self, account: AccountId) -> Vec<SessionView> {
        let tables = self.tables.read();
        tables.sessions_of.get(&account).into_iter().flatten().map(SessionHandle::view).collect()
    }

    /// Shows the login of an account as it now is, or that there is none.
    pub fn publish_login(&self, account: AccountId, login: Option<&Arc<Login>>) {
        let mut tables = self.tables.write();
        if let Some(before) = tables.by_account.remove(&account) {
            tables.by_email.remove(&before.email);
        }
        if let Some(login) = login {
            tables.by_email.insert(login.email.clone(), Arc::clone(login));
            tables.by_account.insert(account, Arc::clone(login));
        }
    }

    /// Publishes an open session. A published one already holds a later moment of its last use.
    pub fn publish_session(&self, record: &SessionRecord) {
        let mut tables = self.tables.write();
        if let Some(shown) = tables.sessions.get(&record.token) {
            shown.0.last_seen_at.fetch_max(record.last_seen_at.unix_millis(), Ordering::Relaxed);
            return;
        }
        let session = SessionHandle::new(record);
        tables.sessions_of.entry(record.account).or_default().push(session.clone());
        tables.sessions.insert(record.token, session);
    }

    /// How many sessions are shown.
    pub fn open_sessions(&self) -> usize {
        self.tables.read().sessions.len()
    }

    /// Ends a session for all readers.
    pub fn forget_session(&self, token: &TokenHash) {
        let mut tables = self.tables.write();
        let Some(ended) = tables.sessions.remove(token) else { return };
        let account = ended.account();
        if let Some(others) = tables.sessions_of.get_mut(&account) {
            others.retain(|session| session.token() != *token);
            if others.is_empty() {
                tables.sessions_of.remove(&account);
            }
        }
    }

    /// Forgets logins and sessions that the books do not know, after they were opened again.
    pub fn keep_only(&self, is_login: impl Fn(AccountId) -> bool, is_session: impl Fn(&TokenHash) -> bool) {
        let mut tables = self.tables.write();
        tables.by_account.retain(|account, _| is_login(*account));
        tables.by_email.retain(|_, login| is_login(login.account));
        tables.sessions.retain(|token, _| is_session(token));
        tables.sessions_of.retain(|_, sessions| {
            sessions.retain(|session| is_session(&session.token()));
            !sessions.is_empty()
        });
    }
}

/// An open session, as a request holds it. Cheap to clone. Ask for it with every request: whether it was ended, the books say.
#[derive(Clone)]
pub struct SessionHandle(Arc<SessionCell>);

struct SessionCell {
    token: TokenHash,
    account: AccountId,
    created_at: Moment,
    expires_at: Moment,
    /// In milliseconds.
    last_seen_at: AtomicI64,
}

/// A session as its owner may see it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SessionView {
    /// By which it is ended; no secret.
    pub token: TokenHash,
    /// When it was opened.
    pub created_at: Moment,
    /// When it was last seen, up to `SESSION_SEEN_GRAIN_SECONDS` earlier than it was.
    pub last_seen_at: Moment,
    /// When it ends, if it is not used any more.
    pub ends_at: Moment,
}

impl SessionHandle {
    fn new(record: &SessionRecord) -> SessionHandle {
        let SessionRecord { token, account, created_at, expires_at, last_seen_at } = *record;
        let last_seen_at = AtomicI64::new(last_seen_at.unix_millis());
        SessionHandle(Arc::new(SessionCell { token, account, created_at, expires_at, last_seen_at }))
    }

    /// The hash of its token.
    pub fn token(&self) -> TokenHash {
        self.0.token
    }

    /// The account that is signed in.
    pub fn account(&self) -> AccountId {
        self.0.account
    }

    /// The fields that its owner may see.
    pub fn view(&self) -> SessionView {
        let SessionCell { token, created_at, .. } = *self.0;
        SessionView { token, created_at, last_seen_at: self.last_seen_at(), ends_at: self.ends_at() }
    }

    /// When it ends, if it is not used any more.
    pub fn ends_at(&self) -> Moment {
        end_of_session(self.last_seen_at(), self.0.expires_at)
    }

    fn last_seen_at(&self) -> Moment {
        Moment::from_unix_millis(self.0.last_seen_at.load(Ordering::Relaxed))
    }

    /// Notes a use. Returns whether to write it: true for one of many threads, once a grain.
    pub fn is_seen(&self, now: Moment) -> bool {
        let before = self.0.last_seen_at.load(Ordering::Relaxed);
        let grain = SESSION_SEEN_GRAIN_SECONDS.saturating_mul(1_000);
        let seen = &self.0.last_seen_at;
        now.unix_millis().saturating_sub(before) >= grain
            && seen.compare_exchange(before, now.unix_millis(), Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}
