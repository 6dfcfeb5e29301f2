//! Commands on logins and sessions.
//!
//! Does not depend on passwords: a hash comes in, and a token goes out.

use std::fmt::{self, Display, Formatter};

use clap::Args;
use mercato_base::words::counted;
use mercato_ledger::{AccountId, EndAllSessions, Ledger, NotAPasswordHash, PasswordHash, TokenPurpose};
use serde::{Deserialize, Serialize};

use super::command::{Command, CommandError, Context};

/// Print a token with which the owner of an account sets a new password, once and within an hour. It is printed only
/// once.
#[derive(Debug, Clone, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResetPassword {
    /// The account.
    #[arg(long, value_name = "ID")]
    pub account: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PasswordToken {
    pub account: String,
    pub email: String,
    /// In the clear: shown here and never again.
    pub token: String,
    pub expires_at: String,
}

impl Command for ResetPassword {
    type Outcome = PasswordToken;

    fn execute(&self, context: &Context<'_>) -> Result<PasswordToken, CommandError> {
        let Context { ledger, now, random, .. } = context;
        let id = context.account(&self.account)?.id();
        let issued = ledger.issue_token(id, TokenPurpose::ResetPassword, *random, *now)?;
        Ok(PasswordToken {
            account: id.to_string(),
            email: email(ledger, id),
            token: issued.plain.reveal().to_owned(),
            expires_at: issued.expires_at.rfc3339(),
        })
    }
}

impl Display for PasswordToken {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let Self { account, email, token, expires_at } = self;
        writeln!(
            out,
            "{account} {email}: a new password can be set once, until {expires_at}, with this token"
        )?;
        writeln!(out, "{token}\nThis token is shown only now. Whoever has it can take the account over.")
    }
}

/// Set the password of an account, and end its sessions.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SetPassword {
    pub account: String,
    /// The argon2id hash of the password, as a PHC string. The password itself is not sent.
    pub password_hash: String,
}

#[derive(Serialize, Deserialize)]
pub struct ChangedPassword {
    pub account: String,
    pub email: String,
}

impl Command for SetPassword {
    type Outcome = ChangedPassword;

    fn execute(&self, context: &Context<'_>) -> Result<ChangedPassword, CommandError> {
        let account = context.account(&self.account)?.id();
        let hash = PasswordHash::try_from(self.password_hash.clone());
        let password =
            hash.map_err(|error: NotAPasswordHash| CommandError::invalid("passwordHash", error.to_string()))?;
        let at = context.now;
        context.ledger.commit(&mercato_ledger::SetPassword { account, password, kept: None, at })?;
        Ok(ChangedPassword { account: account.to_string(), email: email(context.ledger, account) })
    }
}

impl Display for ChangedPassword {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        writeln!(out, "{} {}: the password is set, and all sessions have ended", self.account, self.email)
    }
}

fn email(ledger: &Ledger, account: AccountId) -> String {
    ledger.login(account).map_or_else(String::new, |login| login.email.as_str().to_owned())
}

/// List the open sessions of an account.
#[derive(Debug, Clone, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListSessions {
    /// The account.
    #[arg(long, value_name = "ID")]
    pub account: String,
}

/// The open sessions, oldest first.
#[derive(Serialize, Deserialize)]
pub struct Sessions {
    pub sessions: Vec<Session>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    pub created_at: String,
    /// To ten minutes.
    pub last_seen_at: String,
    /// When it ends, if it is not used any more.
    pub ends_at: String,
}

impl Command for ListSessions {
    type Outcome = Sessions;

    fn execute(&self, context: &Context<'_>) -> Result<Sessions, CommandError> {
        let id = context.account(&self.account)?.id();
        let sessions = context.ledger.sessions(id, context.now).into_iter().map(|session| Session {
            created_at: session.created_at.rfc3339(),
            last_seen_at: session.last_seen_at.rfc3339(),
            ends_at: session.ends_at.rfc3339(),
        });
        Ok(Sessions { sessions: sessions.collect() })
    }
}

impl Display for Sessions {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        self.sessions.iter().try_for_each(|Session { created_at, last_seen_at, ends_at }| {
            writeln!(out, "opened {created_at}  last seen {last_seen_at}  ends {ends_at}")
        })
    }
}

/// End all sessions of an account at once.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndSessions {
    pub account: String,
}

#[derive(Serialize, Deserialize)]
pub struct EndedSessions {
    pub account: String,
    /// How many.
    pub ended: u64,
}

impl Command for EndSessions {
    type Outcome = EndedSessions;

    fn execute(&self, context: &Context<'_>) -> Result<EndedSessions, CommandError> {
        let account = context.account(&self.account)?.id();
        let ended = context.ledger.commit(&EndAllSessions { account, kept: None, at: context.now })?;
        Ok(EndedSessions { account: account.to_string(), ended: ended as u64 })
    }
}

impl Display for EndedSessions {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        writeln!(out, "{}: {} ended", self.account, counted(self.ended, "session"))
    }
}
