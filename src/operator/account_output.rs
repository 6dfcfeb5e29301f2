//! The output of commands on accounts and logins in JSON.

use serde::Serialize;

use super::key_output::Key;
use mercato_base::clock::Moment;

/// A new account.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountCreated {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The time.
    pub created_at: String,
}

/// A page of accounts.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Accounts {
    /// Accounts by id.
    pub accounts: Vec<AccountLine>,
    /// The number of all accounts.
    pub total: usize,
    /// The id after which the next page begins, if any.
    pub next_after: Option<String>,
}

/// An account in a list.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountLine {
    /// Its id.
    pub id: String,
    /// Its name; empty for an account opened by sign-up.
    pub name: String,
    /// The e-mail address of its login, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// Its plan.
    pub plan: &'static str,
    /// Credits available.
    pub credits: u64,
    /// When it was created.
    pub created_at: String,
    /// When it was closed, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<String>,
}

impl AccountLine {
    pub(super) fn of(books: &mercato_ledger::Ledger, account: &mercato_ledger::AccountHandle) -> AccountLine {
        AccountLine {
            id: account.id().to_string(),
            name: account.name().to_owned(),
            email: books.login(account.id()).map(|login| login.email.as_str().to_owned()),
            plan: account.plan().as_str(),
            credits: account.credits(),
            created_at: account.created_at().rfc3339(),
            closed_at: account.closed_at().map(Moment::rfc3339),
        }
    }
}

/// An account with its keys.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Account {
    /// Its id.
    pub id: String,
    /// Its name; empty for an account opened by sign-up.
    pub name: String,
    /// Its login, if it has one.
    #[serde(flatten)]
    pub login: Option<LoginOfAccount>,
    /// Its plan.
    pub plan: &'static str,
    /// Credits available.
    pub credits: u64,
    /// Credits reserved by running streams.
    pub reserved: u64,
    /// Free queries left this month; null on a prepaid account.
    pub free_queries_remaining: u32,
    /// When the free queries reset; null on a prepaid account.
    pub free_queries_reset_at: String,
    /// When it was created.
    pub created_at: String,
    /// When it was closed, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<String>,
    /// The keys, oldest first.
    pub keys: Vec<Key>,
}

/// The login of an account.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LoginOfAccount {
    /// The e-mail address.
    pub email: String,
    /// When its owner showed that mail to it arrives; null before.
    pub email_confirmed_at: Option<String>,
    /// Open sessions.
    pub sessions: usize,
}

impl LoginOfAccount {
    fn of(
        books: &mercato_ledger::Ledger,
        account: mercato_ledger::AccountId,
        now: Moment,
    ) -> Option<LoginOfAccount> {
        let login = books.login(account)?;
        Some(LoginOfAccount {
            email: login.email.as_str().to_owned(),
            email_confirmed_at: login.confirmed_at.map(Moment::rfc3339),
            sessions: books.sessions(account, now).len(),
        })
    }
}

impl Account {
    pub(super) fn of(
        books: &mercato_ledger::Ledger,
        view: &mercato_ledger::AccountView,
        now: Moment,
    ) -> Account {
        Account {
            id: view.id.to_string(),
            name: view.name.clone(),
            login: LoginOfAccount::of(books, view.id, now),
            plan: view.plan.as_str(),
            credits: view.credits,
            reserved: view.reserved,
            free_queries_remaining: view.free_queries_remaining,
            free_queries_reset_at: view.free_queries_reset_at.rfc3339(),
            created_at: view.created_at.rfc3339(),
            closed_at: view.closed_at.map(Moment::rfc3339),
            keys: view.keys.iter().map(|key| Key::of(books, key, now)).collect(),
        }
    }
}

/// A one-time token that resets a password.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PasswordReset {
    /// The account.
    pub account: String,
    /// The e-mail address of its login.
    pub email: String,
    /// The token in the clear: shown here and never again.
    pub token: String,
    /// When it expires.
    pub expires_at: String,
}

/// A password that was set.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PasswordSet {
    /// The account.
    pub account: String,
    /// The e-mail address of its login.
    pub email: String,
}

/// An open session.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionLine {
    /// When it was opened.
    pub created_at: String,
    /// When it was last seen, to ten minutes.
    pub last_seen_at: String,
    /// When it ends, if it is not used any more.
    pub ends_at: String,
}

impl SessionLine {
    pub(super) fn of(session: &mercato_ledger::SessionView) -> SessionLine {
        SessionLine {
            created_at: session.created_at.rfc3339(),
            last_seen_at: session.last_seen_at.rfc3339(),
            ends_at: session.ends_at.rfc3339(),
        }
    }
}

/// An account that was closed.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountClosed {
    /// The account.
    pub account: String,
    /// When it was closed.
    pub closed_at: Option<String>,
    /// The remaining balance. It can no longer be spent.
    pub credits: u64,
}

/// Sessions that were ended.
#[derive(Serialize)]
pub struct SessionsEnded {
    /// The account.
    pub account: String,
    /// How many.
    pub ended: usize,
}
