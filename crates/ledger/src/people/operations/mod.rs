//! The operations on logins, sessions and one-time tokens. They handle only hashes of passwords and tokens.

mod close_account;
mod confirm_email;
mod end_all_sessions;
mod end_session;
mod issue_token;
mod open_session;
mod redeem_token;
mod set_password;
mod sign_up;

pub use close_account::CloseAccount;
pub use confirm_email::ConfirmEmail;
pub use end_all_sessions::EndAllSessions;
pub use end_session::EndSession;
pub use issue_token::IssueToken;
pub use open_session::OpenSession;
pub use redeem_token::{RedeemToken, Redeemed, Redemption};
pub use set_password::SetPassword;
pub use sign_up::{SignUp, SignedUp};

use crate::codec::Record;
use crate::error::LoginError;
use crate::id::AccountId;
use crate::key_space;
use crate::login::Login;
use crate::one_time_token::TokenPurpose;
use crate::state::State;
use crate::token::{TokenHash, TokenRecord};
use mercato_base::clock::Moment;

/// The login of an account as it now is.
fn login_of(books: &State, account: AccountId) -> Result<Login, LoginError> {
    books.open(account)?;
    let login = books.logins.of(account).map(|login| Login::clone(login));
    login.ok_or(LoginError::NoLogin { account })
}

fn put_login(books: &mut State, login: Login) {
    books.written.changes.put(key_space::login(login.account), login.encode());
    books.logins.put(login);
}

/// Ends a session. Returns whether it was open.
fn end_session(books: &mut State, token: &TokenHash, now: Moment) -> bool {
    let Some(ended) = books.logins.remove_session(token) else { return false };
    books.written.changes.remove(key_space::session(token));
    now < ended.ends_at()
}

fn remove_token(books: &mut State, token: &TokenHash) {
    if books.logins.tokens.remove(token).is_some() {
        books.written.changes.remove(key_space::one_time_token(token));
    }
}

fn remove_tokens(books: &mut State, account: AccountId, is_meant: impl Fn(TokenPurpose) -> bool) {
    let of_account = books.logins.tokens.of(account);
    let meant = of_account.filter(|token| is_meant(token.purpose)).map(TokenRecord::token);
    for token in meant.collect::<Vec<_>>() {
        remove_token(books, &token);
    }
}

fn check_new(books: &State, token: &TokenHash) -> Result<(), LoginError> {
    if books.logins.sessions().get(token).is_some() || books.logins.tokens.get(token).is_some() {
        return Err(LoginError::TokenUsed);
    }
    Ok(())
}
