//! The actions on a view for a visitor: sign in, or buy rows of it at the stated price.

use crate::api::{from_books, viewed};
use crate::limits::api::{QUERY_LIMIT_MAX, STREAM_LIMIT_MAX};
use crate::limits::site::VIEW_ROWS_PER_PAGE;
use crate::site::account::Customer;
use crate::site::dataset::Opened;
use crate::site::dataset::head::counted;
use crate::site::words::fill;
use mercato_ledger::{Spending, ViewRows};

use super::view::{Count, View};
use mercato_web::ApiError;

/// The actions that a visitor may take.
pub(super) enum Running {
    /// There is nothing to run.
    Nothing,
    /// Sign in first, or open an account where the place opens any, at these addresses.
    SignIn(String, Option<String>),
    /// Confirm the e-mail address first, at this address.
    Confirm(String),
    /// Buy rows.
    Offers(Vec<Offer>),
}

/// Rows that can be bought by a form.
pub(super) struct Offer {
    /// The name of the form.
    pub(super) name: String,
    pub(super) action: String,
    pub(super) hidden: Vec<(&'static str, String)>,
    pub(super) price: String,
    /// The page that sells credits, if there are too few.
    pub(super) buy: Option<String>,
    pub(super) buttons: Vec<Button>,
}

/// A button that sends the form.
pub(super) struct Button {
    /// The format that it asks for, if the form has several.
    pub(super) format: Option<&'static str>,
    pub(super) text: String,
}

impl Running {
    /// The actions of this visitor on a view of so many rows.
    pub(super) fn of(
        opened: &Opened<'_>,
        customer: Option<&Customer>,
        view: Option<&View>,
        count: Option<Count>,
    ) -> Result<Self, ApiError> {
        let Some(count) = count.filter(|count| *count != Count::Exact(0)) else { return Ok(Self::Nothing) };
        let visit = opened.visit;
        let Some(customer) = customer else {
            let to = |page: &str| visit.link(page).with("next", visit.here().absolute("")).to_string();
            let sign_up = opened.app.takes_sign_ups.then(|| to("/account/sign-up"));
            return Ok(Self::SignIn(to("/account/sign-in"), sign_up));
        };
        if customer.must_confirm(opened.app) {
            return Ok(Self::Confirm(visit.link("/account").to_string()));
        }
        let paid = paid(opened, customer, view)?;
        let mut offers = vec![page(opened, customer, count, paid)?];
        match count {
            Count::Exact(rows) => {
                let sold = rows.min(STREAM_LIMIT_MAX);
                let price = price(opened, customer, sold, sold, paid)?;
                offers.push(file(opened, rows, price));
            }
            Count::Many { at_most, .. } => offers.push(long_file(opened, customer, at_most, paid)?),
            Count::Unbounded => {}
        }
        Ok(Self::Offers(offers))
    }
}

/// Rows of a view that the customer has paid for within a day.
#[derive(Clone, Copy)]
enum PaidRows {
    All,
    /// So many of them.
    Some(u64),
}

impl PaidRows {
    /// Of all rows of the view, which are so many.
    const fn of(self, rows: u64) -> u64 {
        match self {
            Self::All => rows,
            Self::Some(paid) => paid,
        }
    }
}

fn paid(opened: &Opened<'_>, customer: &Customer, view: Option<&View>) -> Result<PaidRows, ApiError> {
    let Some(filters) = view.and_then(View::filter_text) else { return Ok(PaidRows::Some(0)) };
    let (dataset, now) = (&opened.dataset, opened.request.now());
    let viewed = viewed(dataset.slug(), &dataset.current, &filters, ViewRows::All);
    let paid =
        opened.app.ledger.paid_before(&customer.account, &viewed, u64::MAX, now).map_err(from_books)?;
    Ok(if paid == u64::MAX { PaidRows::All } else { PaidRows::Some(paid) })
}

/// The first rows, on a page.
fn page(opened: &Opened<'_>, customer: &Customer, count: Count, paid: PaidRows) -> Result<Offer, ApiError> {
    let (words, numbers) = (opened.words, opened.visit.numbers);
    let (rows, text) = match count {
        Count::Exact(rows) if rows <= VIEW_ROWS_PER_PAGE => {
            (rows, counted(words.run_show_one, words.run_show_all, rows, &numbers.integer(rows)))
        }
        _ => (VIEW_ROWS_PER_PAGE, fill(words.run_show_first, numbers.integer(VIEW_ROWS_PER_PAGE))),
    };
    let (price, buy) = match paid {
        PaidRows::Some(1..) => up_to(opened, customer, rows)?,
        _ => price(opened, customer, rows, VIEW_ROWS_PER_PAGE, paid)?,
    };
    let hidden = vec![("version", opened.dataset.current.version.to_string())];
    let buttons = vec![Button { format: None, text }];
    Ok(Offer { name: words.run.to_owned(), action: action(opened, "query"), hidden, price, buy, buttons })
}

/// The whole view as a file, where it is not counted. It costs what is sent, and ends where the credits end.
fn long_file(
    opened: &Opened<'_>,
    customer: &Customer,
    at_most: u64,
    paid: PaidRows,
) -> Result<Offer, ApiError> {
    let (words, numbers) = (opened.words, opened.visit.numbers);
    let (longest, credits) = (at_most.min(STREAM_LIMIT_MAX), customer.account.credits());
    if let PaidRows::All = paid {
        return Ok(file(opened, longest, price(opened, customer, longest, longest, paid)?));
    }
    let rows = if credits > QUERY_LIMIT_MAX { longest.min(credits) } else { longest };
    let (_, buy) = price(opened, customer, rows, rows, PaidRows::Some(0))?;
    let mut text = fill(&fill(words.run_costs_at_most, numbers.integer(rows)), numbers.integer(credits));
    if rows < longest {
        text = format!("{text} {}", fill(words.run_ends, numbers.integer(rows)));
    }
    Ok(file(opened, rows, (text, buy)))
}

/// The whole view, as a file.
fn file(opened: &Opened<'_>, rows: u64, (price, buy): (String, Option<String>)) -> Offer {
    let hidden = vec![("version", opened.dataset.current.version.to_string()), ("rows", rows.to_string())];
    let formats: &[(&'static str, &str)] = match rows {
        ..=QUERY_LIMIT_MAX => &[("csv", "CSV"), ("xlsx", "Excel"), ("ndjson", "NDJSON"), ("json", "JSON")],
        _ => &[("csv", "CSV"), ("xlsx", "Excel"), ("ndjson", "NDJSON")],
    };
    let button = |(format, name): &(&'static str, &str)| Button {
        format: Some(*format),
        text: fill(opened.words.run_download_as, name),
    };
    Offer {
        name: opened.words.run_download.to_owned(),
        action: action(opened, "download"),
        hidden,
        price,
        buy,
        buttons: formats.iter().map(button).collect(),
    }
}

/// The price of a page of which some rows may be paid: nobody knows before they are found.
fn up_to(opened: &Opened<'_>, customer: &Customer, rows: u64) -> Result<(String, Option<String>), ApiError> {
    let (words, numbers) = (opened.words, opened.visit.numbers);
    let (text, _) = price(opened, customer, rows, VIEW_ROWS_PER_PAGE, PaidRows::Some(0))?;
    if opened.app.ledger.free_queries_remaining(&customer.account, opened.request.now()) > 0 {
        return Ok((text, None));
    }
    let credits = numbers.integer(customer.account.credits());
    // What is paid may be shown without any credit.
    Ok((fill(&fill(words.run_costs_up_to, numbers.integer(rows)), credits), None))
}

/// The price of so many rows, of which some are paid, asked for with this limit, in words; and where credits are bought if there
/// are too few of them.
fn price(
    opened: &Opened<'_>,
    customer: &Customer,
    rows: u64,
    limit: u64,
    paid: PaidRows,
) -> Result<(String, Option<String>), ApiError> {
    let (words, numbers, account) = (opened.words, opened.visit.numbers, &customer.account);
    let (ledger, now) = (&opened.app.ledger, opened.request.now());
    let paid = paid.of(rows);
    if paid > 0 && paid >= rows {
        return Ok((words.run_paid.to_owned(), None));
    }
    let rows = rows.saturating_sub(paid);
    let estimate = ledger.estimate(account, None, rows, Spending::Rows { limit }, now).map_err(from_books)?;
    if estimate.credits_required == 0 {
        let left = ledger.free_queries_remaining(account, now);
        return Ok((fill(words.run_free, numbers.integer(left.into())), None));
    }
    let required = estimate.credits_required;
    let costs = counted(words.run_costs_one, words.run_costs, required, &numbers.integer(required));
    let mut text = fill(&costs, numbers.integer(estimate.credits_available));
    if paid > 0 {
        text = format!("{text} {}", fill(words.run_paid_some, numbers.integer(paid)));
    }
    let buy = (!estimate.affordable).then(|| opened.visit.link("/account/credits").to_string());
    Ok((text, buy))
}

/// The address of a form: that of the view, at another path.
pub(super) fn action(opened: &Opened<'_>, part: &str) -> String {
    let path = format!("/datasets/{}/explore/{part}", opened.dataset.slug());
    let pairs = opened.visit.here().pairs().iter();
    pairs.fold(opened.visit.link(&path).bare(), |url, (name, value)| url.and(name, value)).to_string()
}
