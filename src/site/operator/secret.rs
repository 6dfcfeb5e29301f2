//! A page with a secret, which is shown there and nowhere else.

use askama::Template;

use super::operator_visit::{Head, OperatorVisit, Page};
use super::words::OperatorWords;
use crate::api::Incoming;
use crate::site::account::words::AccountWords;
use crate::site::cache::Cache;
use crate::site::frame::Frame;
use crate::site::url::Url;
use mercato_web::{ApiError, Response};

#[derive(Template)]
#[template(path = "operator/secret.html")]
struct SecretPage {
    frame: Frame,
    head: Head,
    words: &'static OperatorWords,
    common: &'static AccountWords,
    secret: Secret,
    back: String,
}

/// Something that is shown once.
pub struct Secret {
    pub notice: &'static str,
    /// The name of the key, or the address of the login.
    pub name: String,
    pub text: String,
    pub link: Option<String>,
}

impl Secret {
    /// The page. `back` leads on.
    pub fn answer(
        self,
        request: &Incoming,
        operator: &OperatorVisit,
        back: &Url,
    ) -> Result<Response, ApiError> {
        let (words, accounts) = (operator.words, operator.visit.link("/operator/accounts"));
        let page = SecretPage {
            frame: operator.frame(Page::Accounts, words.secret),
            head: operator.head_below(words.secret, words.accounts, &accounts),
            words,
            common: operator.common,
            secret: self,
            back: back.to_string(),
        };
        operator.visit.answer(request, &page, Cache::NoStore)
    }
}
