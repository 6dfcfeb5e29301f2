//! The forms of an account, as commands: credits, keys, password, sessions, end.

use askama::Template;

use super::{BUY, CLOSE, GRANT, KEY, RESET, SESSIONS, of_path, page};
use crate::api::{App, Incoming};
use crate::operator::{CommandOutput, OperatorCommand};
use crate::site::account::form::Form;
use crate::site::account::words::AccountWords;
use crate::site::cache::Cache;
use crate::site::frame::Frame;
use crate::site::operator::done::Done;
use crate::site::operator::forms::{Refused, confirmed, number, optional_number};
use crate::site::operator::key::typed_limits;
use crate::site::operator::operator_visit::{self, ACTION, Head, OperatorVisit, Page};
use crate::site::operator::words::OperatorWords;
use crate::site::url::Url;
use mercato_web::{ApiError, Response};

const FIELDS: [&str; 9] =
    ["credits", "cents", "reference", "note", "label", "day", "month", "datasets", "end"];

/// A page with a secret, which is shown here and nowhere else.
#[derive(Template)]
#[template(path = "operator/secret.html")]
struct SecretPage {
    frame: Frame,
    head: Head,
    words: &'static OperatorWords,
    common: &'static AccountWords,
    said: &'static str,
    name: String,
    secret: String,
    link: Option<String>,
    back: String,
}

/// Executes the command of a form of the page.
pub fn change(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    operator_visit::change(app, request, |app, request, operator| {
        let account = of_path(app, request)?;
        let here = operator.visit.link(&format!("/operator/accounts/{}", account.id()));
        let Some(form) = operator.form(app, request, &FIELDS)? else {
            return Ok(operator.repeated(request, &here));
        };
        let refuse =
            |text: String| page(app, request, &operator, &account, Some(Refused { form: &form, text }));
        let command = match command(&operator, &form, account.id().to_string())? {
            Ok(command) => command,
            Err(text) => return refuse(text),
        };
        match operator_visit::execute(app, request, &command)? {
            Ok(output) => outcome(app, request, &operator, (&here, form.raw(ACTION)), &output),
            Err(text) => refuse(text),
        }
    })
}

/// The command of a form, or the fault of the form.
fn command(
    operator: &OperatorVisit,
    form: &Form,
    account: String,
) -> Result<Result<OperatorCommand, String>, ApiError> {
    Ok(match form.raw(ACTION) {
        GRANT => number(operator, form.text("credits")).map(|credits| OperatorCommand::GrantCredits {
            account,
            credits,
            note: form.text("note").to_owned(),
        }),
        BUY => purchase(operator, form, account),
        KEY => typed_limits(operator, form).map(|limits| OperatorCommand::CreateKey {
            account,
            label: form.text("label").to_owned(),
            credits_per_day: limits.credits_per_day,
            credits_per_month: limits.credits_per_month,
            datasets: limits.datasets,
            expires_at: limits.expires_at,
        }),
        RESET => Ok(OperatorCommand::ResetPassword { account }),
        SESSIONS => Ok(OperatorCommand::EndSessions { account }),
        CLOSE => confirmed(operator, form).map(|()| OperatorCommand::CloseAccount { account }),
        _ => return Err(operator_visit::no_such_action()),
    })
}

fn purchase(operator: &OperatorVisit, form: &Form, account: String) -> Result<OperatorCommand, String> {
    Ok(OperatorCommand::BuyCredits {
        account,
        credits: number(operator, form.text("credits"))?,
        cents: optional_number(operator, form.text("cents"))?,
        reference: form.text("reference").to_owned(),
        provider: String::new(),
        note: form.text("note").to_owned(),
    })
}

/// The answer to an executed form: a redirect to the page with its outcome, or a page with a secret.
fn outcome(
    app: &App,
    request: &Incoming,
    operator: &OperatorVisit,
    (here, action): (&Url, &str),
    output: &CommandOutput,
) -> Result<Response, ApiError> {
    let done = match output {
        CommandOutput::CreatedKey(created) => {
            let name = if created.about.label.is_empty() { &created.about.id } else { &created.about.label };
            return secret(request, operator, here, &Secret::key(operator, name, &created.key));
        }
        CommandOutput::PasswordReset(reset) => {
            let path = format!("/account/reset?token={}", reset.token);
            let link = app.documents.link(&path);
            let secret_of_reset = Secret {
                said: operator.words.reset_said,
                name: &reset.email,
                secret: &reset.token,
                link: Some(link),
            };
            return secret(request, operator, here, &secret_of_reset);
        }
        CommandOutput::Balance(balance) if balance.replayed => Done::BoughtBefore,
        CommandOutput::Balance(_) if action == BUY => Done::Bought,
        CommandOutput::Balance(_) => Done::Granted,
        CommandOutput::SessionsEnded(_) => Done::SessionsEnded,
        CommandOutput::AccountClosed(_) => Done::Closed,
        _ => return Err(operator_visit::unexpected()),
    };
    Ok(operator.done(request, done, here))
}

/// Something that is shown once.
pub struct Secret<'s> {
    said: &'static str,
    name: &'s str,
    secret: &'s str,
    link: Option<String>,
}

impl<'s> Secret<'s> {
    pub fn key(operator: &OperatorVisit, name: &'s str, key: &'s str) -> Self {
        Self { said: operator.words.key_said, name, secret: key, link: None }
    }
}

/// The page of a secret. `back` leads on.
pub fn secret(
    request: &Incoming,
    operator: &OperatorVisit,
    back: &Url,
    secret: &Secret<'_>,
) -> Result<Response, ApiError> {
    let page = SecretPage {
        frame: operator.frame(Page::Accounts, operator.words.secret),
        head: operator.head_below(
            operator.words.secret,
            operator.words.accounts,
            &operator.visit.link("/operator/accounts"),
        ),
        words: operator.words,
        common: operator.common,
        said: secret.said,
        name: secret.name.to_owned(),
        secret: secret.secret.to_owned(),
        link: secret.link.clone(),
        back: back.to_string(),
    };
    operator.visit.answer(request, &page, Cache::NoStore)
}
