//! Operations on accounts with a login: sign-up, password, e-mail address, closing.
//!
//! Handles only hashes of passwords. Does not depend on mail.

use super::super::State;
use super::super::operating::invalid;
use crate::claim::Remembered;
use crate::closing::Closing;
use crate::codec::Record;
use crate::email::Email;
use crate::error::ChargeError;
use crate::id::AccountId;
use crate::key_space;
use crate::login::Login;
use crate::one_time_token::TokenPurpose;
use crate::password_hash::PasswordHash;
use crate::request::SignUp;
use crate::token::{TokenHash, TokenRecord};
use mercato_base::clock::Moment;

impl State {
    /// Opens an account on the free plan, with a login.
    pub fn sign_up(
        &mut self,
        email: &Email,
        password: &PasswordHash,
        now: Moment,
    ) -> Result<SignUp, ChargeError> {
        if self.logins.is_taken(email) {
            return Ok(SignUp::EmailTaken);
        }
        let free_used = self.free_used_before(email, now)?;
        let account = self.open_account(String::new(), now)?;
        if let Some(opened) = self.accounts.get_mut(&account) {
            opened.record.balance.free_used = free_used;
        }
        let (email, password) = (email.clone(), password.clone());
        self.put_login(Login { account, email, password, created_at: now, confirmed_at: None });
        Ok(SignUp::Created(account))
    }

    /// Changes a password. Ends all sessions but one, and the outstanding tokens that could reset it.
    pub fn set_password(
        &mut self,
        account: AccountId,
        password: &PasswordHash,
        kept: Option<TokenHash>,
        now: Moment,
    ) -> Result<(), ChargeError> {
        let login = self.login(account)?;
        self.latest = self.latest.max(now);
        self.put_login(Login { password: password.clone(), ..login });
        self.end_all_sessions(account, kept, now);
        self.remove_tokens(account, |purpose| purpose == TokenPurpose::ResetPassword);
        Ok(())
    }

    /// Notes that mail to the address of an account arrives.
    pub fn confirm_email(&mut self, account: AccountId, now: Moment) -> Result<(), ChargeError> {
        let login = self.login(account)?;
        self.latest = self.latest.max(now);
        if login.confirmed_at.is_none() {
            self.put_login(Login { confirmed_at: Some(now), ..login });
        }
        self.remove_tokens(account, |purpose| purpose == TokenPurpose::ConfirmEmail);
        Ok(())
    }

    /// Closes an account, for ever.
    pub fn close_account(&mut self, id: AccountId, now: Moment) -> Result<(), ChargeError> {
        let account = self.account(id)?;
        if account.closed_at.is_some() {
            return Ok(());
        }
        self.latest = self.latest.max(now);
        self.keep_free_used(id, now);
        if let Some(account) = self.accounts.get_mut(&id) {
            account.closed_at = Some(now);
        }
        self.changed_accounts.insert(id);
        let closing = Closing { account: id, at: now };
        self.written.changes.put(key_space::closing(id), closing.encode());
        for key in self.directory.keys_of(id) {
            self.revoke_key(key.id(), now)?;
        }
        self.end_all_sessions(id, None, now);
        self.remove_tokens(id, |_| true);
        if self.logins.remove(id).is_some() {
            self.written.changes.remove(key_space::login(id));
        }
        Ok(())
    }

    /// The login of an account as it now is.
    pub fn login(&self, account: AccountId) -> Result<Login, ChargeError> {
        self.open(account)?;
        let login = self.logins.of(account).map(|login| Login::clone(login));
        login.ok_or_else(|| {
            invalid(
                "account",
                format!("{account} has no login: nobody signed up for it with an e-mail address"),
            )
        })
    }

    fn put_login(&mut self, login: Login) {
        self.written.changes.put(key_space::login(login.account), login.encode());
        self.logins.put(login);
    }

    fn remove_tokens(&mut self, account: AccountId, is_meant: impl Fn(TokenPurpose) -> bool) {
        let of_account = self.logins.tokens.of(account);
        let meant = of_account.filter(|token| is_meant(token.purpose)).map(TokenRecord::token);
        for token in meant.collect::<Vec<_>>() {
            self.remove_token(&token);
        }
    }

    /// Carries the used free queries over to a later sign-up with the same address in the same month.
    fn keep_free_used(&mut self, id: AccountId, now: Moment) {
        let (Some(login), Some(account)) = (self.logins.of(id), self.accounts.get(&id)) else { return };
        let balance = &account.record.balance;
        let month = balance.month_at(now);
        if month != balance.free_month || balance.free_used == 0 {
            return;
        }
        let key = key_space::free_used(&login.email.digest());
        let used =
            Remembered { until: month.end(), hash: [0; 16], paid_rows: Some(balance.free_used.into()) };
        self.keep(&key, used);
    }

    fn free_used_before(&mut self, email: &Email, now: Moment) -> Result<u32, ChargeError> {
        let used = self.read::<Remembered>(&key_space::free_used(&email.digest()))?;
        let used = used.filter(|used| now < used.until).and_then(|used| used.paid_rows);
        Ok(used.map_or(0, |used| u32::try_from(used).unwrap_or(u32::MAX)))
    }
}
