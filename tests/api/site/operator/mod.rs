//! The operator's pages on the admin listener.

mod changes;
mod pages;
mod security;

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::harness::{Answer, Ask, Site, exchange};

use super::browser::bare_form;
use super::document::Document;
use super::read;

/// Every page, once there are an account with a key and the dataset `cities`.
const PAGES: [&str; 7] = [
    "/operator",
    "/operator/datasets",
    "/operator/datasets/cities",
    "/operator/accounts",
    "/operator/accounts/acc_1",
    "/operator/payments",
    "/operator/publications",
];

/// A browser of the operator, which keeps cookies as a browser does.
struct Operator<'s> {
    site: &'s Site,
    cookies: RefCell<BTreeMap<String, String>>,
}

impl<'s> Operator<'s> {
    fn new(site: &'s Site) -> Operator<'s> {
        Operator { site, cookies: RefCell::default() }
    }

    #[track_caller]
    fn signed_in(site: &'s Site) -> Operator<'s> {
        let operator = Operator::new(site);
        let answer = operator.sign_in(&[("token", &site.admin_token())]);
        assert_eq!(answer.status, 303, "{}", answer.text());
        operator
    }

    fn sign_in(&self, fields: &[(&str, &str)]) -> Answer {
        self.send(bare_form("/operator/sign-in", fields).header("Sec-Fetch-Site", "same-origin"))
    }

    fn send(&self, ask: Ask) -> Answer {
        let pairs: Vec<String> =
            self.cookies.borrow().iter().map(|(name, value)| format!("{name}={value}")).collect();
        let ask = if pairs.is_empty() { ask } else { ask.header("Cookie", &pairs.join("; ")) };
        let answer = exchange(self.site.admin_address(), &ask);
        for (_, set) in answer.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("Set-Cookie")) {
            let (name, value) = set.split(';').next().unwrap().split_once('=').unwrap();
            if set.contains("Max-Age=0") {
                self.cookies.borrow_mut().remove(name);
            } else {
                self.cookies.borrow_mut().insert(name.to_owned(), value.to_owned());
            }
        }
        answer
    }

    fn get(&self, target: &str) -> Answer {
        self.send(super::ask(target))
    }

    #[track_caller]
    fn open(&self, target: &str) -> Document {
        read(target, &self.get(target))
    }

    /// Fills in the form of a page and sends it.
    #[track_caller]
    fn fill_in(&self, target: &str, action: &str, fields: &[(&str, &str)]) -> Answer {
        let page = self.open(target);
        let once = once_of(&page, action);
        self.post(target, &[&[("action", action), ("once", &once)], fields].concat())
    }

    fn post(&self, target: &str, fields: &[(&str, &str)]) -> Answer {
        self.send(bare_form(target, fields).header("Sec-Fetch-Site", "same-origin"))
    }
}

/// The number of a form of a page.
#[track_caller]
fn once_of(page: &Document, action: &str) -> String {
    let numbers = page.select("main form input[name=once]");
    let mut values = numbers.iter().filter_map(|input| input.attribute("value"));
    let end = format!("-{action}");
    values.find(|value| value.ends_with(&end)).unwrap_or_else(|| panic!("no form {action}")).to_owned()
}

/// Asserts that a form came back with what is wrong.
#[track_caller]
fn check_refused(answer: &Answer, told: &str) -> Document {
    assert_eq!(answer.status, 422, "{}", answer.text());
    let page = Document::parse(&answer.text());
    assert!(page.errors.is_empty(), "{:?}", page.errors);
    let problem = page.one("main form p.problem[role=alert]").line();
    assert!(problem.contains(told), "{problem}");
    page
}

/// Asserts that a form led to a page that tells the outcome.
#[track_caller]
fn check_done(answer: &Answer, to: &str) {
    assert_eq!(answer.status, 303, "{}", answer.text());
    assert_eq!(answer.header("Location"), Some(to));
}
