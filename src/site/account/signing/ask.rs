//! A sentence that names the contact of the site, with a link where it has one; and the ways that lead to it.

use super::next::linking_on;
use crate::api::App;
use crate::site::account::words::AccountWords;
use crate::site::frame::Link;
use crate::site::visit::Visit;

/// The sentence.
pub struct Ask {
    /// Before the link.
    pub before: String,
    /// The contact.
    pub link: Option<Link>,
    pub behind: String,
}

impl Ask {
    /// The first text names the contact of the place in its gap; the second is for a place without one.
    pub fn new(visit: &Visit, named: &str, unnamed: impl Into<String>) -> Self {
        let Some(contact) = visit.branding.contact.as_ref() else {
            return Self { before: unnamed.into(), link: None, behind: String::new() };
        };
        let (before, behind) = named.split_once("{}").unwrap_or((named, ""));
        let link = Link { text: contact.text.clone(), url: contact.address.clone() };
        Self { before: before.to_owned(), link: Some(link), behind: behind.to_owned() }
    }
}

/// The way of somebody who forgot the password.
pub enum LostWay {
    /// A page that has a link sent.
    Mail(String),
    /// The operator hands one out.
    Ask(Ask),
}

impl LostWay {
    /// The way of this place.
    pub fn of(app: &App, visit: &Visit, words: &'static AccountWords) -> Self {
        match &app.mailer {
            Some(_) => Self::Mail(visit.link("/account/forgot").to_string()),
            None => Self::Ask(Ask::new(visit, words.lost, words.lost_operator)),
        }
    }
}

/// The way of somebody without an account.
pub enum SignUpWay {
    /// A page that opens one.
    Here(String),
    /// The operator opens it.
    Ask(Ask),
}

impl SignUpWay {
    /// The way of this place, which leads on to the page behind the sign-in.
    pub fn of(app: &App, visit: &Visit, words: &'static AccountWords, next: &str) -> Self {
        if app.takes_sign_ups {
            return Self::Here(linking_on(&visit.link("/account/sign-up"), next).to_string());
        }
        Self::Ask(Ask::new(visit, words.closed, words.closed_operator))
    }
}
