//! `/account/settings`: the password, the open sessions, and the deletion of the account.
//!
//! Changing the password and deleting the account require the present password; attempts count like sign-ins.

use askama::Template;

use super::area::{self, Area, Head, Tab};
use super::device;
use super::done::{DONE, Done};
use super::form::Form;
use super::form_view::{FormView, Input};
use super::mails::{self, Purpose};
use super::password::{self, Refused};
use super::session;
use super::sign_in::with_status;
use super::words::AccountWords;
use crate::api::{App, Incoming, from_books};
use crate::site::cache::Cache;
use crate::site::frame::Frame;
use crate::site::url::Url;
use crate::site::words::fill;
use mercato_ledger::{CloseAccount, EndAllSessions, EndSession, SessionView, SetPassword};
use mercato_web::{ApiError, Response, validation_error};

#[derive(Template)]
#[template(path = "account/settings.html")]
struct SettingsPage {
    frame: Frame,
    head: Head,
    words: &'static AccountWords,
    password: FormView,
    action: String,
    sessions: Vec<SessionLine>,
    has_others: bool,
    delete: FormView,
}

struct SessionLine {
    /// By which it is ended: the millisecond in which it was opened.
    id: i64,
    opened: String,
    last_seen: String,
    ends_at: String,
    end: String,
    is_this: bool,
}

/// The faults of the forms.
#[derive(Default)]
struct Faults {
    present: Option<String>,
    new: Option<String>,
    delete: Option<String>,
    status: Option<(u16, Option<u64>)>,
}

/// The page.
pub fn show(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    area::read(app, request, &[DONE], |app, request, area| page(app, request, &area, Faults::default()))
}

/// Changes the password, ends sessions, or deletes the account.
pub fn change(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    area::change(app, request, |app, request, area| {
        let form = Form::read(request, &["action", "present", "password", "session"])?;
        match form.raw("action") {
            "password" => change_password(app, request, &area, &form),
            "session" => end_session(app, request, &area, form.raw("session")),
            "sessions" => {
                let (account, kept) = (area.account.id(), area.session.token());
                app.ledger
                    .commit(&EndAllSessions { account, kept: Some(kept), at: request.now() })
                    .map_err(from_books)?;
                Ok(area.visit.redirect(request, &Done::Sessions.at(&here(&area))))
            }
            "delete" => delete(app, request, &area, form.raw("present")),
            _ => {
                Err(validation_error("BODY_INVALID", "action", "no such action", "send the form of the page"))
            }
        }
    })
}

fn change_password(app: &App, request: &Incoming, area: &Area, form: &Form) -> Result<Response, ApiError> {
    let typed = form.raw("password");
    if let Some(fault) = password::fault(area.words, typed, Some(&area.login.email)) {
        let faults = Faults { new: Some(fault), status: Some((422, None)), ..Faults::default() };
        return page(app, request, area, faults);
    }
    let refuse = |refused: Refused| {
        let status = Some((refused.status, refused.retry_after_seconds));
        page(app, request, area, Faults { present: Some(refused.text), status, ..Faults::default() })
    };
    if let Some(refused) = confirm(app, request, area, form.raw("present"))? {
        return refuse(refused);
    }
    let hash = match password::hash(app, area.words, typed, Some(&area.login.email))? {
        Ok(hash) => hash,
        Err(refused) => return refuse(refused),
    };
    app.ledger
        .commit(&SetPassword {
            account: area.account.id(),
            password: hash,
            kept: Some(area.session.token()),
            at: request.now(),
        })
        .map_err(from_books)?;
    mails::send(app, &area.visit, Purpose::Changed, &area.login.email);
    let response = area.visit.redirect(request, &Done::Password.at(&here(area)));
    let login = app.ledger.login(area.account.id());
    let cookie = login.map_or(Ok(None), |login| device::remembered(&area.visit, &login))?;
    Ok(match cookie {
        Some(cookie) => response.with_header("Set-Cookie", cookie),
        None => response,
    })
}

fn end_session(app: &App, request: &Incoming, area: &Area, id: &str) -> Result<Response, ApiError> {
    let opened: Option<i64> = id.parse().ok();
    for session in app.ledger.sessions(area.account.id(), request.now()) {
        let is_meant = Some(session.created_at.unix_millis()) == opened;
        if is_meant && session.token != area.session.token() {
            app.ledger.commit(&EndSession { token: session.token, at: request.now() }).map_err(from_books)?;
        }
    }
    Ok(area.visit.redirect(request, &Done::Sessions.at(&here(area))))
}

fn delete(app: &App, request: &Incoming, area: &Area, present: &str) -> Result<Response, ApiError> {
    if let Some(refused) = confirm(app, request, area, present)? {
        let status = Some((refused.status, refused.retry_after_seconds));
        return page(app, request, area, Faults { delete: Some(refused.text), status, ..Faults::default() });
    }
    app.ledger.commit(&CloseAccount { account: area.account.id(), at: request.now() }).map_err(from_books)?;
    let to = Done::Deleted.at(&area.visit.link("/account/sign-in"));
    Ok(area.visit.redirect(request, &to).with_header("Set-Cookie", session::ended(&area.visit)))
}

/// Whether the present password was typed: nothing, if so.
fn confirm(app: &App, request: &Incoming, area: &Area, present: &str) -> Result<Option<Refused>, ApiError> {
    let address = request.context.address;
    let mark = device::of(request, &area.visit);
    let checked = app.sign_ins.check(area.login.email.as_str(), present, address, mark, request.now());
    match checked {
        Ok(login) if login.account == area.account.id() => Ok(None),
        Ok(_) => Ok(Some(Refused::unprocessable(area.words.password_wrong))),
        Err(refusal) => Refused::of_sign_in(area.words, refusal, area.words.password_wrong).map(Some),
    }
}

fn here(area: &Area) -> Url {
    area.visit.link("/account/settings")
}

fn page(app: &App, request: &Incoming, area: &Area, faults: Faults) -> Result<Response, ApiError> {
    let (words, here) = (area.words, here(area));
    let sessions = app.ledger.sessions(area.account.id(), request.now());
    let (status, retry) = faults.status.unwrap_or((200, None));
    let present = |form: &str| {
        Input::new(form, "present", "password", words.present_password)
            .autocomplete("current-password")
            .required()
    };
    let password = FormView::new(&here, words.change_password)
        .hidden("action", "password")
        .input(present("password").fault(faults.present))
        .input(password::new_input("password", words.new_password, words, faults.new));
    let delete = FormView::new(&here, words.delete_account)
        .hidden("action", "delete")
        .input(present("delete").fault(faults.delete))
        .dangerous();
    let page = SettingsPage {
        frame: area.frame(words.settings),
        head: area.head(Tab::Settings, words.settings, &[Done::Password, Done::Sessions]),
        words,
        password,
        action: here.to_string(),
        has_others: sessions.len() > 1,
        sessions: sessions.iter().rev().map(|session| SessionLine::of(area, session)).collect(),
        delete,
    };
    Ok(with_status(area.visit.answer(request, &page, Cache::NoStore)?, status, retry))
}

impl SessionLine {
    fn of(area: &Area, session: &SessionView) -> Self {
        let numbers = area.visit.numbers;
        let opened = numbers.minute(session.created_at);
        Self {
            id: session.created_at.unix_millis(),
            end: fill(area.words.end_session_of, &opened),
            opened,
            last_seen: numbers.minute(session.last_seen_at),
            ends_at: numbers.day(session.ends_at),
            is_this: session.token == area.session.token(),
        }
    }
}
