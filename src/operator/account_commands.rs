//! Commands on accounts, their logins and sessions.
//!
//! Does not depend on passwords: a hash comes in, and a token goes out.

use super::account_output::{
    Account, AccountClosed, AccountCreated, AccountLine, Accounts, PasswordReset, PasswordSet, SessionLine,
    SessionsEnded,
};
use super::execute::{CommandError, Context, check_range, find};
use super::output::CommandOutput;
use mercato_base::clock::Moment;
use mercato_ledger::{
    AccountId, BooksError, CloseAccount, EndAllSessions, Ledger, NotAPasswordHash, PasswordHash, SetPassword,
    TokenPurpose,
};

/// Accounts of one page.
const ACCOUNTS_PER_PAGE_MAX: usize = 1_000;

pub(super) fn create(context: &Context<'_>, name: &str) -> Result<CommandOutput, CommandError> {
    let id = context.ledger.create_account(name, context.now)?;
    let (name, created_at) = (name.to_owned(), context.now.rfc3339());
    Ok(CommandOutput::AccountCreated(AccountCreated { id: id.to_string(), name, created_at }))
}

pub(super) fn list(
    context: &Context<'_>,
    after: Option<&str>,
    limit: Option<usize>,
) -> Result<CommandOutput, CommandError> {
    let limit = limit.unwrap_or(ACCOUNTS_PER_PAGE_MAX);
    check_range("limit", limit as u64, ACCOUNTS_PER_PAGE_MAX as u64)?;
    let after: Option<AccountId> = after.map(str::parse).transpose()?;
    let all = context.ledger.accounts();
    let mut rest = all.iter().filter(|account| after.is_none_or(|after| account.id() > after));
    let accounts: Vec<_> =
        rest.by_ref().take(limit).map(|account| AccountLine::of(context.ledger, account)).collect();
    let next_after = rest.next().and(accounts.last()).map(|account| account.id.clone());
    Ok(CommandOutput::Accounts(Accounts { accounts, total: all.len(), next_after }))
}

pub(super) fn show(context: &Context<'_>, account: &str) -> Result<CommandOutput, CommandError> {
    let Context { ledger, now, .. } = context;
    let view = ledger.account_view(&find(ledger, account)?, *now);
    Ok(CommandOutput::Account(Account::of(ledger, &view, *now)))
}

pub(super) fn reset_password(context: &Context<'_>, account: &str) -> Result<CommandOutput, CommandError> {
    let Context { ledger, now, random, .. } = context;
    let id = find(ledger, account)?.id();
    let issued = ledger.issue_token(id, TokenPurpose::ResetPassword, *random, *now)?;
    Ok(CommandOutput::PasswordReset(PasswordReset {
        account: id.to_string(),
        email: email_of(ledger, id),
        token: issued.plain.reveal().to_owned(),
        expires_at: issued.expires_at.rfc3339(),
    }))
}

pub(super) fn set_password(
    context: &Context<'_>,
    account: &str,
    hash: &str,
) -> Result<CommandOutput, CommandError> {
    let Context { ledger, now, .. } = context;
    let id = find(ledger, account)?.id();
    let hash = PasswordHash::try_from(hash.to_owned()).map_err(|error: NotAPasswordHash| {
        BooksError::Invalid { field: "passwordHash", rule: error.to_string() }
    })?;
    ledger.commit(&SetPassword { account: id, password: hash, kept: None, at: *now })?;
    Ok(CommandOutput::PasswordSet(PasswordSet { account: id.to_string(), email: email_of(ledger, id) }))
}

pub(super) fn sessions(context: &Context<'_>, account: &str) -> Result<CommandOutput, CommandError> {
    let id = find(context.ledger, account)?.id();
    let sessions = context.ledger.sessions(id, context.now);
    Ok(CommandOutput::Sessions { sessions: sessions.iter().map(SessionLine::of).collect() })
}

pub(super) fn end_sessions(context: &Context<'_>, account: &str) -> Result<CommandOutput, CommandError> {
    let id = find(context.ledger, account)?.id();
    let ended = context.ledger.commit(&EndAllSessions { account: id, kept: None, at: context.now })?;
    Ok(CommandOutput::SessionsEnded(SessionsEnded { account: id.to_string(), ended }))
}

/// A closed account stays as it was closed.
pub(super) fn close(context: &Context<'_>, account: &str) -> Result<CommandOutput, CommandError> {
    let Context { ledger, now, .. } = context;
    let id = find(ledger, account)?.id();
    ledger.commit(&CloseAccount { account: id, at: *now })?;
    let handle = find(ledger, account)?;
    Ok(CommandOutput::AccountClosed(AccountClosed {
        account: id.to_string(),
        closed_at: handle.closed_at().map(Moment::rfc3339),
        credits: handle.credits(),
    }))
}

fn email_of(ledger: &Ledger, account: AccountId) -> String {
    ledger.login(account).map_or_else(String::new, |login| login.email.as_str().to_owned())
}
