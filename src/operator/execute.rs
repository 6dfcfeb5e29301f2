//! Executes the commands of the operator on open books.

use std::path::Path;

use super::account_commands;
use super::command::OperatorCommand;
use super::key_commands::{self, Wanted, WantedChange};
use super::key_output::{CreatedKey, Key};
use super::output::{Balance, CommandOutput};
use super::payment_commands;
use super::relation_commands;
use super::report_output::{ArchivedSegment, Backup, Entries, EntryLine, Usage, UsageDay, Verification};
use mercato_base::clock::Moment;
use mercato_ledger::limits::USAGE_DAYS_MAX;
use mercato_ledger::{
    AccountHandle, AccountId, BackupError, BooksError, IdError, KEY_RANDOM_BYTES, KeyId, Ledger, LoginError,
    PaymentId, UsageQuery,
};
use mercato_payments::{Payments, ReconcileError};

/// Entries of one page.
const ENTRIES_PER_PAGE_MAX: usize = 1_000;
/// The payment provider of purchases that the operator enters.
const OPERATOR: &str = "operator";

/// The context of a command.
#[derive(Clone)]
pub struct Context<'l> {
    /// The books.
    pub ledger: &'l Ledger,
    /// The payments of the server that runs; nothing where none does.
    pub payments: Option<&'l Payments>,
    /// The current time.
    pub now: Moment,
    /// The id of the request.
    pub request_id: String,
    /// Random bytes from the operating system, for a new key or token.
    pub random: [u8; KEY_RANDOM_BYTES],
}

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// A text is not the id of an account or key.
    #[error(transparent)]
    Id(#[from] IdError),
    /// A number is out of range.
    #[error("{field}: expected {expected}, found {found}")]
    Range {
        /// The field.
        field: &'static str,
        /// The allowed range.
        expected: String,
        /// The value found.
        found: u64,
    },
    /// The books refused the operation.
    #[error(transparent)]
    Ledger(#[from] BooksError),
    /// The account has no login to change.
    #[error(transparent)]
    Login(LoginError),
    /// The books were not compared with the payment provider.
    #[error(transparent)]
    Reconcile(#[from] ReconcileError),
    /// The backup failed.
    #[error(transparent)]
    Backup(BackupError),
}

impl From<LoginError> for CommandError {
    fn from(error: LoginError) -> Self {
        match error {
            LoginError::Books(error) => Self::Ledger(error),
            other => Self::Login(other),
        }
    }
}

impl OperatorCommand {
    /// Executes the command. Its changes are on disk when this returns.
    pub fn execute(&self, context: &Context<'_>) -> Result<CommandOutput, CommandError> {
        let (ledger, now) = (context.ledger, context.now);
        Ok(match self {
            Self::CreateAccount { name } => account_commands::create(context, name)?,
            Self::ListAccounts { after, limit } => account_commands::list(context, after.as_deref(), *limit)?,
            Self::ShowAccount { account } => account_commands::show(context, account)?,
            Self::ResetPassword { account } => account_commands::reset_password(context, account)?,
            Self::SetPassword { account, password_hash } => {
                account_commands::set_password(context, account, password_hash)?
            }
            Self::ListSessions { account } => account_commands::sessions(context, account)?,
            Self::EndSessions { account } => account_commands::end_sessions(context, account)?,
            Self::CloseAccount { account } => account_commands::close(context, account)?,
            Self::BuyCredits { account, credits, cents, reference, provider, note } => {
                let payment = payment(provider, reference)?;
                buy(context, account, (*credits, *cents), payment, note)?
            }
            Self::GrantCredits { account, credits, note } => {
                let id = find(ledger, account)?.id();
                let balance = ledger.grant(id, *credits, &context.request_id, note, now)?;
                CommandOutput::Balance(Balance::granted(id, *credits, balance))
            }
            Self::CreateKey { account, label, credits_per_day, credits_per_month, datasets, expires_at } => {
                let (credits_per_day, credits_per_month) = (*credits_per_day, *credits_per_month);
                let expires_at = expires_at.as_deref();
                let wanted = Wanted { credits_per_day, credits_per_month, datasets, expires_at };
                key_commands::create_key(context, find(ledger, account)?.id(), label, &wanted)?
            }
            Self::LimitKey { key, credits_per_day, credits_per_month, datasets, expires_at } => {
                let wanted = WantedChange { credits_per_day, credits_per_month, datasets, expires_at };
                key_commands::limit_key(context, parse_key(key)?, &wanted)?
            }
            Self::ListKeys { account } => key_commands::list_keys(context, find(ledger, account)?.id()),
            Self::RevokeKey { key } => {
                CommandOutput::Key(Key::of(ledger, &ledger.revoke_key(parse_key(key)?, now)?, now))
            }
            Self::RotateKey { key, grace_seconds, label } => {
                let created =
                    ledger.rotate_key(parse_key(key)?, label, *grace_seconds, context.random, now)?;
                CommandOutput::CreatedKey(CreatedKey::of(ledger, &created, now))
            }
            Self::Usage { account, days, by_key, key } => {
                usage(context, account, *days, *by_key, key.as_deref())?
            }
            Self::ReadEntries { account, first, limit } => {
                read_entries(context, account.as_deref(), *first, *limit)?
            }
            Self::Verify {} => CommandOutput::Verification(Verification::of(&ledger.verify()?)),
            Self::Backup { directory } => {
                let summary = ledger.backup(directory, now).map_err(CommandError::Backup)?;
                CommandOutput::Backup(Backup::of(&summary))
            }
            Self::Archive { directory } => archive(ledger, directory)?,
            Self::ListPayments { account, before, limit } => {
                payment_commands::list(context, account.as_deref(), *before, *limit)?
            }
            Self::ReconcilePayments {} => payment_commands::reconcile(context)?,
            Self::AddRelation { from, to, relation_type, description, weight } => {
                relation_commands::add(context, [from, to, relation_type], description, *weight)?
            }
            Self::RemoveRelation { from, to, relation_type } => {
                relation_commands::remove(context, from, to, relation_type.as_deref())?
            }
            Self::ListRelations { dataset, offset, limit } => {
                relation_commands::list(context, dataset.as_deref(), *offset, *limit)?
            }
        })
    }
}

/// The number under which a purchase is entered once, if it has one.
fn payment(provider: &str, reference: &str) -> Result<Option<PaymentId>, CommandError> {
    let provider = match (provider, reference) {
        ("", "") => return Ok(None),
        (_, "") => {
            let rule = "stands beside a reference, which is missing".to_owned();
            return Err(BooksError::Invalid { field: "provider", rule }.into());
        }
        ("", _) => OPERATOR,
        (named, _) => named,
    };
    Ok(Some(PaymentId { provider: provider.to_owned(), id: reference.to_owned() }))
}

/// Enters a purchase: so many credits, at a price if not at the list price.
fn buy(
    context: &Context<'_>,
    account: &str,
    (credits, cents): (u64, Option<u64>),
    payment: Option<PaymentId>,
    note: &str,
) -> Result<CommandOutput, CommandError> {
    let Context { ledger, now, .. } = context;
    let id = find(ledger, account)?.id();
    let bought = match payment {
        None => ledger.buy(id, credits, cents, &context.request_id, note, *now)?,
        Some(payment) => ledger.buy_once(id, credits, cents, payment, note, *now)?,
    };
    Ok(CommandOutput::Balance(Balance::bought(id, credits, &bought)))
}

fn archive(ledger: &Ledger, directory: &Path) -> Result<CommandOutput, CommandError> {
    let moved = ledger.archive(directory)?;
    Ok(CommandOutput::Archived { segments: moved.iter().map(ArchivedSegment::of).collect() })
}

fn usage(
    context: &Context<'_>,
    account: &str,
    days: u32,
    by_key: bool,
    key: Option<&str>,
) -> Result<CommandOutput, CommandError> {
    check_range("days", u64::from(days), u64::from(USAGE_DAYS_MAX))?;
    let id = find(context.ledger, account)?.id();
    let key = key.map(parse_key).transpose()?;
    if let Some(key) = key
        && context.ledger.key_view(key)?.account != id
    {
        let rule = format!("{key} is no key of {id}");
        return Err(BooksError::Invalid { field: "key", rule }.into());
    }
    let lines = context.ledger.usage(&UsageQuery { account: id, days, key, by_key }, context.now)?;
    let usage = lines.iter().map(UsageDay::of).collect();
    Ok(CommandOutput::Usage(Usage { account: id.to_string(), days, usage }))
}

fn read_entries(
    context: &Context<'_>,
    account: Option<&str>,
    first: u64,
    limit: usize,
) -> Result<CommandOutput, CommandError> {
    check_range("limit", limit as u64, ENTRIES_PER_PAGE_MAX as u64)?;
    let account = account.map(|account| find(context.ledger, account)).transpose()?;
    let (entries, next) = context.ledger.entries(account.map(|account| account.id()), first, limit)?;
    Ok(CommandOutput::Entries(Entries { entries: entries.iter().map(EntryLine::of).collect(), next }))
}

pub(super) fn find(ledger: &Ledger, account: &str) -> Result<AccountHandle, CommandError> {
    let id: AccountId = account.parse()?;
    Ok(ledger.account(id).ok_or(BooksError::UnknownAccount { account: id })?)
}

fn parse_key(key: &str) -> Result<KeyId, CommandError> {
    Ok(key.parse()?)
}

pub(super) fn check_range(field: &'static str, found: u64, most: u64) -> Result<(), CommandError> {
    if (1..=most).contains(&found) {
        return Ok(());
    }
    Err(CommandError::Range { field, expected: format!("1 to {most}"), found })
}
