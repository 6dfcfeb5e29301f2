//! `/operator/accounts`: all accounts by id, page by page, or those whose name, address or id has some letters; and a form for
//! a new one.

use askama::Template;

use super::done::Done;
use super::execute::{FormError, execute};
use super::forms::{Forms, Refused};
use super::operator_visit::{self, ACTION, Head, OperatorVisit, Page};
use super::words::OperatorWords;
use crate::api::{App, Incoming};
use crate::limits::site::OPERATOR_LINES_PER_PAGE;
use crate::operator::CreateAccount;
use crate::site::account::form_view::FormView;
use crate::site::cache::Cache;
use crate::site::entry::whole;
use crate::site::frame::Frame;
use crate::site::words::fill;
use mercato_ledger::{AccountHandle, AccountId, Plan};
use mercato_web::{ApiError, Response};

/// Name of the parameter with the letters that are looked for.
const QUESTION: &str = "q";
/// Name of the parameter with the id behind which a page begins.
const AFTER: &str = "after";
/// Name of the field with the name of a new account.
const NAME: &str = "name";
const CREATE: &str = "create";

#[derive(Template)]
#[template(path = "operator/accounts.html")]
struct AccountsPage {
    frame: Frame,
    head: Head,
    words: &'static OperatorWords,
    question: String,
    action: String,
    count: String,
    lines: Vec<Line>,
    first: Option<String>,
    next: Option<String>,
    create: FormView,
}

struct Line {
    id: String,
    url: String,
    name: String,
    email: String,
    plan: &'static str,
    credits: String,
    created: String,
    is_closed: bool,
}

/// The list.
pub fn show(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    operator_visit::read(app, request, &[QUESTION, AFTER], |app, request, operator| {
        page(app, request, &operator, None)
    })
}

/// Creates an account.
pub fn create(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    operator_visit::change(app, request, |app, request, operator| {
        let here = operator.visit.link("/operator/accounts");
        let Some(form) = operator.form(app, request, &[NAME])? else {
            return Ok(operator.repeated(request, &here));
        };
        if form.raw(ACTION) != CREATE {
            return Err(operator_visit::no_such_action());
        }
        let command = CreateAccount { name: form.text(NAME).to_owned() };
        match execute(app, request, &command) {
            Ok(account) => {
                let to = operator.visit.link(&format!("/operator/accounts/{}", account.id));
                Ok(operator.done(request, Done::Created, &to))
            }
            Err(FormError::Refused(text)) => {
                page(app, request, &operator, Some(Refused { form: &form, text }))
            }
            Err(FormError::Failed(error)) => Err(error),
        }
    })
}

fn page(
    app: &App,
    request: &Incoming,
    operator: &OperatorVisit,
    refused: Option<Refused<'_>>,
) -> Result<Response, ApiError> {
    let words = operator.words;
    let question = operator.visit.value(QUESTION).unwrap_or_default().trim().to_owned();
    let after: Option<AccountId> = operator.visit.value(AFTER).and_then(|text| text.parse().ok());
    let all = app.ledger.accounts();
    let letters = question.to_lowercase();
    let mut found = all
        .iter()
        .filter(|account| after.is_none_or(|after| account.id() > after))
        .filter(|account| letters.is_empty() || has(app, account, &letters));
    let lines: Vec<Line> =
        found.by_ref().take(OPERATOR_LINES_PER_PAGE).map(|account| line(app, operator, account)).collect();
    let list = operator.visit.link("/operator/accounts");
    let here = if question.is_empty() { list.clone() } else { list.with(QUESTION, &question) };
    let forms = Forms::new(operator, list.clone(), refused);
    let page = AccountsPage {
        frame: operator.frame(Page::Accounts, words.accounts),
        head: operator.head(words.accounts),
        words,
        question,
        action: list.bare().to_string(),
        count: fill(words.accounts_in_all, operator.visit.numbers.integer(whole(all.len()))),
        first: after.map(|_| here.to_string()),
        next: found.next().and(lines.last()).map(|last| here.with(AFTER, &last.id).to_string()),
        lines,
        create: forms
            .form(CREATE, words.create_account)
            .input(forms.input(CREATE, NAME, "text", words.name).hint(words.name_hint).required()),
    };
    Ok(operator.visit.answer(request, &page, Cache::NoStore)?.with_status(forms.status()))
}

/// Whether the name or the address of an account has these small letters, or they are its id.
fn has(app: &App, account: &AccountHandle, letters: &str) -> bool {
    let in_address =
        || app.ledger.login(account.id()).is_some_and(|login| login.email.as_str().contains(letters));
    account.id().to_string() == letters || account.name().to_lowercase().contains(letters) || in_address()
}

fn line(app: &App, operator: &OperatorVisit, account: &AccountHandle) -> Line {
    let (id, common) = (account.id().to_string(), operator.common);
    Line {
        url: operator.visit.link(&format!("/operator/accounts/{id}")).to_string(),
        name: account.name().to_owned(),
        email: app
            .ledger
            .login(account.id())
            .map_or_else(String::new, |login| login.email.as_str().to_owned()),
        plan: if account.plan() == Plan::Free { common.plan_free } else { common.plan_prepaid },
        credits: operator.visit.numbers.integer(account.credits()),
        created: operator.visit.numbers.minute(account.created_at()),
        is_closed: account.closed_at().is_some(),
        id,
    }
}
