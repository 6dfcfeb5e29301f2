//! A browser with a jar of cookies, for tests of the account area.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::document::Document;
use super::{BROWSER, read};
use crate::harness::{Answer, Ask, Site};

pub const EMAIL: &str = "anna@example.org";
pub const PASSWORD: &str = "eleven blue horses";

pub struct Browser<'s> {
    site: &'s Site,
    pub cookies: RefCell<BTreeMap<String, String>>,
}

/// A form as a browser writes it.
pub fn encoded(fields: &[(&str, &str)]) -> String {
    let mut text = String::new();
    for (name, value) in fields {
        text.push_str(if text.is_empty() { "" } else { "&" });
        for (place, part) in [name, value].into_iter().enumerate() {
            text.push_str(if place == 1 { "=" } else { "" });
            for byte in part.bytes() {
                match byte {
                    b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'*' => {
                        text.push(byte.into())
                    }
                    b' ' => text.push('+'),
                    other => text.push_str(&format!("%{other:02X}")),
                }
            }
        }
    }
    text
}

/// A form without a word about where it comes from.
pub fn bare_form(target: &str, fields: &[(&str, &str)]) -> Ask {
    Ask::new("POST", target)
        .header("Accept", BROWSER)
        .header("Content-Type", "application/x-www-form-urlencoded")
        .body(encoded(fields).as_bytes())
}

impl<'s> Browser<'s> {
    pub fn new(site: &'s Site) -> Browser<'s> {
        Browser { site, cookies: RefCell::default() }
    }

    /// A browser in which a new account is signed in.
    #[track_caller]
    pub fn signed_in(site: &'s Site, email: &str) -> Browser<'s> {
        let browser = Browser::new(site);
        let answer = browser.post("/account/sign-up", &[("email", email), ("password", PASSWORD)]);
        assert_eq!(answer.status, 303, "{}", answer.text());
        browser.sign_in(email, PASSWORD);
        browser
    }

    /// A browser with a session that is older than the mail of the site: the address of its new account is not confirmed.
    #[track_caller]
    pub fn signed_in_unconfirmed(site: &'s Site, email: &str) -> Browser<'s> {
        let browser = Browser::new(site);
        let answer = browser.post("/account/sign-up", &[("email", email), ("password", PASSWORD)]);
        assert_eq!(answer.status, 303, "{}", answer.text());
        let ledger = &site.running().app().ledger;
        let login = ledger.credentials(&mercato_ledger::Email::parse(email).unwrap()).unwrap();
        let mut random = [0; mercato_ledger::TOKEN_RANDOM_BYTES];
        getrandom::fill(&mut random).unwrap();
        let token = ledger.open_session(&login, random, crate::harness::now()).unwrap();
        browser.cookies.borrow_mut().insert("session".to_owned(), token.reveal().to_owned());
        browser
    }

    #[track_caller]
    pub fn sign_in(&self, email: &str, password: &str) {
        let answer = self.post("/account/sign-in", &[("email", email), ("password", password)]);
        assert_eq!(answer.status, 303, "{}", answer.text());
    }

    /// Sends the cookies of the jar, and keeps those of the answer.
    pub fn send(&self, ask: Ask) -> Answer {
        let pairs: Vec<String> =
            self.cookies.borrow().iter().map(|(name, value)| format!("{name}={value}")).collect();
        let ask = if pairs.is_empty() { ask } else { ask.header("Cookie", &pairs.join("; ")) };
        let answer = self.site.send(&ask);
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

    pub fn get(&self, target: &str) -> Answer {
        self.send(super::ask(target))
    }

    /// Sends a form from a page of the site.
    pub fn post(&self, target: &str, fields: &[(&str, &str)]) -> Answer {
        self.send(bare_form(target, fields).header("Sec-Fetch-Site", "same-origin"))
    }

    #[track_caller]
    pub fn open(&self, target: &str) -> Document {
        read(target, &self.get(target))
    }

    /// Makes a key and reads it off its page.
    #[track_caller]
    pub fn new_key(&self, fields: &[(&str, &str)]) -> String {
        let page = read("/account/keys", &self.post("/account/keys", fields));
        let key = page.one("main pre#key").text.clone();
        assert!(key.starts_with("mk_") && key.len() == 52, "{key}");
        key
    }

    /// The number of the session, as it stands in the jar.
    pub fn session(&self) -> Option<String> {
        let cookies = self.cookies.borrow();
        cookies.get("session").or_else(|| cookies.get("__Host-session")).cloned()
    }
}

/// Asserts that a form came back: filled in, with its faults, and without a password.
#[track_caller]
pub fn check_refused(answer: &Answer, status: u16, faults: &[&str]) -> Document {
    assert_eq!(answer.status, status, "{}", answer.text());
    assert_eq!(answer.header("Cache-Control"), Some("no-store"));
    let page = Document::parse(&answer.text());
    assert!(page.errors.is_empty(), "{:?}", page.errors);
    let invalid = page.select("main [aria-invalid=true]");
    let ids: Vec<_> = invalid.iter().map(|input| input.attribute("id").unwrap()).collect();
    assert_eq!(ids, faults);
    for input in invalid {
        let described = input.attribute("aria-describedby").unwrap();
        let fault = described.split(' ').next().unwrap();
        assert!(!page.one(&format!("p.problem#{fault}")).line().is_empty());
    }
    assert!(!page.select("main p.problem").is_empty(), "it says what is wrong");
    for password in page.select("input[type=password]") {
        assert_eq!(password.attribute("value"), None);
    }
    page
}
