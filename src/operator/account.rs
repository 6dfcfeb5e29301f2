//! Commands on accounts.

use std::fmt::{self, Display, Formatter};

use clap::Args;
use mercato_base::clock::Moment;
use mercato_base::words::counted;
use mercato_ledger::{AccountHandle, AccountId, Ledger};
use serde::{Deserialize, Serialize};

use super::command::{Command, CommandError, Context, check_range};
use super::key::Key;

const ACCOUNTS_PER_PAGE_MAX: usize = 1_000;

/// Create an account without credits.
#[derive(Debug, Clone, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CreateAccount {
    /// Its name.
    #[arg(long)]
    pub name: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreatedAccount {
    pub id: String,
    pub name: String,
    pub created_at: String,
}

impl Command for CreateAccount {
    type Outcome = CreatedAccount;

    fn execute(&self, context: &Context<'_>) -> Result<CreatedAccount, CommandError> {
        let id = context.ledger.create_account(&self.name, context.now)?;
        let (name, created_at) = (self.name.clone(), context.now.rfc3339());
        Ok(CreatedAccount { id: id.to_string(), name, created_at })
    }
}

impl Display for CreatedAccount {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        writeln!(out, "account {} created: {}", self.id, self.name)
    }
}

/// List all accounts.
#[derive(Debug, Clone, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListAccounts {
    /// The page begins after this id.
    #[arg(skip)]
    pub after: Option<String>,
    /// Accounts on the page.
    #[arg(skip)]
    pub limit: Option<usize>,
}

/// Accounts by id.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountPage {
    pub accounts: Vec<AccountLine>,
    /// The number of all accounts.
    pub total: usize,
    /// The id after which the next page begins, if any.
    pub next_after: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountLine {
    pub id: String,
    /// Empty for an account opened by sign-up.
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    pub plan: String,
    pub credits: u64,
    pub created_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<String>,
}

impl Command for ListAccounts {
    type Outcome = AccountPage;

    fn execute(&self, context: &Context<'_>) -> Result<AccountPage, CommandError> {
        let limit = self.limit.unwrap_or(ACCOUNTS_PER_PAGE_MAX);
        check_range("limit", limit as u64, ACCOUNTS_PER_PAGE_MAX as u64)?;
        let after: Option<AccountId> = self.after.as_deref().map(str::parse).transpose()?;
        let all = context.ledger.accounts();
        let mut rest = all.iter().filter(|account| after.is_none_or(|after| account.id() > after));
        let accounts: Vec<_> =
            rest.by_ref().take(limit).map(|account| AccountLine::new(context.ledger, account)).collect();
        let next_after = rest.next().and(accounts.last()).map(|account| account.id.clone());
        Ok(AccountPage { accounts, total: all.len(), next_after })
    }
}

impl AccountLine {
    fn new(ledger: &Ledger, account: &AccountHandle) -> Self {
        Self {
            id: account.id().to_string(),
            name: account.name().to_owned(),
            email: ledger.login(account.id()).map(|login| login.email.as_str().to_owned()),
            plan: account.plan().as_str().to_owned(),
            credits: account.credits(),
            created_at: account.created_at().rfc3339(),
            closed_at: account.closed_at().map(Moment::rfc3339),
        }
    }

    /// The name or the e-mail address, and whether the account is closed.
    fn title(&self) -> String {
        let name = if self.name.is_empty() { self.email.as_deref().unwrap_or_default() } else { &self.name };
        match &self.closed_at {
            Some(at) if name.is_empty() => format!("closed {at}"),
            Some(at) => format!("{name}, closed {at}"),
            None => name.to_owned(),
        }
    }
}

impl Display for AccountPage {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        self.accounts.iter().try_for_each(|account| {
            let AccountLine { id, plan, credits, .. } = account;
            writeln!(out, "{id:12} {plan:8} {credits:>16} credits  {}", account.title())
        })
    }
}

/// Show one account with its login and its keys.
#[derive(Debug, Clone, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShowAccount {
    /// The account.
    #[arg(long, value_name = "ID")]
    pub account: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Account {
    #[serde(flatten)]
    pub line: AccountLine,
    #[serde(flatten)]
    pub login: Option<Login>,
    /// Credits reserved by running streams.
    pub reserved: u64,
    pub free_queries_remaining: u32,
    pub free_queries_reset_at: String,
    /// Oldest first.
    pub keys: Vec<Key>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Login {
    /// When its owner showed that mail to it arrives; null before.
    pub email_confirmed_at: Option<String>,
    /// Open sessions.
    pub sessions: u64,
}

impl Command for ShowAccount {
    type Outcome = Account;

    fn execute(&self, context: &Context<'_>) -> Result<Account, CommandError> {
        let Context { ledger, now, .. } = context;
        let account = context.account(&self.account)?;
        let view = ledger.account_view(&account, *now);
        Ok(Account {
            line: AccountLine::new(ledger, &account),
            login: ledger.login(account.id()).map(|login| Login {
                email_confirmed_at: login.confirmed_at.map(Moment::rfc3339),
                sessions: ledger.sessions(account.id(), *now).len() as u64,
            }),
            reserved: view.reserved,
            free_queries_remaining: view.free_queries_remaining,
            free_queries_reset_at: view.free_queries_reset_at.rfc3339(),
            keys: view.keys.iter().map(|key| Key::new(ledger, key, *now)).collect(),
        })
    }
}

impl Display for Account {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let AccountLine { id, plan, credits, email, .. } = &self.line;
        writeln!(out, "{id} {} ({plan})", self.line.title())?;
        writeln!(out, "credits: {credits}, reserved: {}", self.reserved)?;
        if let (Some(email), Some(login)) = (email, &self.login) {
            let confirmed = login.email_confirmed_at.as_ref();
            let confirmed =
                confirmed.map_or_else(|| "not confirmed".to_owned(), |at| format!("confirmed {at}"));
            writeln!(out, "e-mail: {email}, {confirmed}; {} open", counted(login.sessions, "session"))?;
        }
        let (left, reset) = (self.free_queries_remaining, &self.free_queries_reset_at);
        writeln!(out, "free queries left: {left}, begin anew at {reset}")?;
        self.keys.iter().try_for_each(|key| key.write_line(out))
    }
}

/// Close an account for ever: its login and sessions go, and its keys are revoked. Entries and balance stay in the books.
#[derive(Debug, Clone, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CloseAccount {
    /// The account.
    #[arg(long, value_name = "ID")]
    pub account: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClosedAccount {
    pub account: String,
    pub closed_at: Option<String>,
    /// The remaining balance. It can no longer be spent.
    pub credits: u64,
}

impl Command for CloseAccount {
    type Outcome = ClosedAccount;

    /// A closed account stays as it was closed.
    fn execute(&self, context: &Context<'_>) -> Result<ClosedAccount, CommandError> {
        let id = context.account(&self.account)?.id();
        context.ledger.commit(&mercato_ledger::CloseAccount { account: id, at: context.now })?;
        let account = context.account(&self.account)?;
        Ok(ClosedAccount {
            account: id.to_string(),
            closed_at: account.closed_at().map(Moment::rfc3339),
            credits: account.credits(),
        })
    }
}

impl Display for ClosedAccount {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        writeln!(out, "{}: closed, {} left on it", self.account, counted(self.credits, "credit"))
    }
}
