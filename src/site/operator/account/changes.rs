//! The forms of an account, as commands: credits, keys, password, sessions, end.

use super::{BUY, CLOSE, GRANT, KEY, RESET, SESSIONS, of_path, page};
use crate::api::{App, Incoming};
use crate::operator::{BuyCredits, CloseAccount, CreateKey, EndSessions, GrantCredits, ResetPassword};
use crate::site::account::form::Form;
use crate::site::operator::done::Done;
use crate::site::operator::execute::{FormError, FormOutcome, execute};
use crate::site::operator::forms::{Refused, confirmed, number, optional_number};
use crate::site::operator::limits;
use crate::site::operator::operator_visit::{self, ACTION, OperatorVisit};
use crate::site::operator::secret::Secret;
use mercato_web::{ApiError, Response};

const FIELDS: [&str; 9] =
    ["credits", "cents", "reference", "note", "label", "day", "month", "datasets", "end"];

/// Executes the command of a form of the page.
pub fn change(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    operator_visit::change(app, request, |app, request, operator| {
        let account = of_path(app, request)?;
        let here = operator.visit.link(&format!("/operator/accounts/{}", account.id()));
        let Some(form) = operator.form(app, request, &FIELDS)? else {
            return Ok(operator.repeated(request, &here));
        };
        match submit(app, request, &operator, &form, account.id().to_string()) {
            Ok(outcome) => outcome.answer(request, &operator, &here, &here),
            Err(FormError::Refused(text)) => {
                page(app, request, &operator, &account, Some(Refused { form: &form, text }))
            }
            Err(FormError::Failed(error)) => Err(error),
        }
    })
}

fn submit(
    app: &App,
    request: &Incoming,
    operator: &OperatorVisit,
    form: &Form,
    account: String,
) -> Result<FormOutcome, FormError> {
    let text = |name| form.text(name).to_owned();
    let done = match form.raw(ACTION) {
        GRANT => {
            let credits = number(operator, form.text("credits"))?;
            execute(app, request, &GrantCredits { account, credits, note: text("note") })?;
            Done::Granted
        }
        BUY => {
            let purchase = BuyCredits {
                account,
                credits: number(operator, form.text("credits"))?,
                cents: optional_number(operator, form.text("cents"))?,
                reference: text("reference"),
                provider: String::new(),
                note: text("note"),
            };
            if execute(app, request, &purchase)?.replayed { Done::BoughtBefore } else { Done::Bought }
        }
        KEY => {
            let limits = limits::read(operator, form)?;
            let created = execute(app, request, &CreateKey { account, label: text("label"), limits })?;
            let name = if created.about.label.is_empty() { created.about.id } else { created.about.label };
            let notice = operator.words.key_text;
            return Ok(FormOutcome::Secret(Secret { notice, name, text: created.key, link: None }));
        }
        RESET => {
            let issued = execute(app, request, &ResetPassword { account })?;
            let link = Some(app.documents.link(&format!("/account/reset?token={}", issued.token)));
            let notice = operator.words.reset_text;
            return Ok(FormOutcome::Secret(Secret { notice, name: issued.email, text: issued.token, link }));
        }
        SESSIONS => {
            execute(app, request, &EndSessions { account })?;
            Done::SessionsEnded
        }
        CLOSE => {
            confirmed(operator, form)?;
            execute(app, request, &CloseAccount { account })?;
            Done::Closed
        }
        _ => return Err(operator_visit::no_such_action().into()),
    };
    Ok(FormOutcome::Done(done))
}
