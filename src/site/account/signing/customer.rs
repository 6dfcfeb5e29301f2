//! The signed-in customer of a request, for the account area and for pages outside it.

use std::sync::Arc;

use super::session;
use crate::api::{App, Incoming};
use crate::site::visit::Visit;
use mercato_ledger::{AccountHandle, Login, Plan, SessionHandle};

/// A signed-in customer.
pub struct Customer {
    /// By which they are signed in.
    pub session: SessionHandle,
    pub account: AccountHandle,
    pub login: Arc<Login>,
}

impl Customer {
    /// The customer of a request, from memory; nothing without an open session.
    pub fn of(app: &App, request: &Incoming, visit: &Visit) -> Option<Self> {
        let session = session::of(app, request, visit)?;
        let account = app.ledger.account(session.account())?;
        let login = app.ledger.login(session.account())?;
        Some(Self { session, account, login })
    }

    /// Whether the free plan waits for the confirmation of the address. Nobody can confirm one where no mail is sent, and
    /// nobody who has bought credits has to.
    pub fn must_confirm(&self, app: &App) -> bool {
        awaits_confirmation(app, &self.login)
    }
}

/// Whether nobody signs in with a login before its address is confirmed.
pub fn awaits_confirmation(app: &App, login: &Login) -> bool {
    let is_free = || app.ledger.account(login.account).is_none_or(|account| account.plan() == Plan::Free);
    app.mailer.is_some() && login.confirmed_at.is_none() && is_free()
}
