//! The page that shows a new key, the only time that it is shown.

use crate::api::Incoming;
use askama::Template;

use super::key_view::name;
use crate::site::account::area::{Area, Head, Tab};
use crate::site::account::words::AccountWords;
use crate::site::cache::Cache;
use crate::site::frame::Frame;
use mercato_ledger::CreatedKey;
use mercato_web::{ApiError, Response};

#[derive(Template)]
#[template(path = "account/created.html")]
struct CreatedPage {
    frame: Frame,
    head: Head,
    words: &'static AccountWords,
    name: String,
    key: String,
    command: String,
    keys: String,
}

pub fn page(request: &Incoming, area: &Area, created: &CreatedKey) -> Result<Response, ApiError> {
    let key = created.plain.reveal();
    let page = CreatedPage {
        frame: area.frame(area.words.new_key),
        head: area.head(Tab::Keys, area.words.new_key, &[]),
        words: area.words,
        name: name(&created.view),
        key: key.to_owned(),
        command: format!("curl -H 'X-Api-Key: {key}' {}/api/v1/account", area.visit.base()),
        keys: area.visit.link("/account/keys").to_string(),
    };
    area.visit.answer(request, &page, Cache::NoStore)
}
