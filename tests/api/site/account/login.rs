//! Sign-up, sign-in and password reset: refusals, limits of attempts, and answers that conceal accounts.

use mercato_ledger::{TOKEN_RANDOM_BYTES, TokenPurpose};

use crate::harness::{Answer, Site, now};
use crate::site::browser::{Browser, EMAIL, PASSWORD, bare_form, check_refused};
use crate::site::{UNLIMITED, read};

fn computed(site: &Site) -> u64 {
    site.running().app().sign_ins.passwords().computed()
}

/// Status, headers and text of an answer, without the parts that differ between any two.
fn told(answer: &Answer) -> (u16, Vec<(String, String)>, String) {
    let differs = ["date", "x-request-id", "ratelimit"];
    let headers =
        answer.headers.iter().filter(|(name, _)| !differs.contains(&name.to_ascii_lowercase().as_str()));
    (answer.status, headers.cloned().collect(), answer.text())
}

#[test]
fn conceals_existence_of_account() {
    let site = Site::empty(&UNLIMITED);
    Browser::signed_in(&site, EMAIL);
    let browser = Browser::new(&site);
    let ask = |target: &str, email: &str, password: &str| {
        let before = computed(&site);
        let answer = browser.post(target, &[("email", email), ("password", password)]);
        let text = told(&answer).2.replace(email, "EMAIL");
        ((told(&answer).0, told(&answer).1, text), computed(&site) - before)
    };
    let (known, unknown) = (EMAIL, "mona@example.org");
    assert_eq!(known.len(), unknown.len());
    let wrong = "this is not the password";
    let sign_in = ask("/account/sign-in", known, wrong);
    assert_eq!(sign_in, ask("/account/sign-in", unknown, wrong));
    assert_eq!((sign_in.0.0, sign_in.1), (422, 1));
    let malformed = ask("/account/sign-in", "no address", wrong);
    assert_eq!((malformed.0.0, malformed.1), (422, 1));
    let sign_up = ask("/account/sign-up", known, "another long password");
    assert_eq!(sign_up, ask("/account/sign-up", unknown, "another long password"));
    assert_eq!((sign_up.0.0, sign_up.1), (303, 1));
    assert_eq!(site.running().app().ledger.accounts().len(), 2);
    browser.sign_in(known, PASSWORD);
    browser.sign_in(unknown, "another long password");
}

#[test]
fn returns_faulty_sign_up_filled_in_without_hash() {
    let site = Site::empty(&UNLIMITED);
    let browser = Browser::new(&site);
    let long = "x".repeat(129);
    for (email, password, faults) in [
        ("anna", PASSWORD, vec!["sign-up-email"]),
        (EMAIL, "ninechars", vec!["sign-up-password"]),
        (EMAIL, "Password123", vec!["sign-up-password"]),
        (EMAIL, long.as_str(), vec!["sign-up-password"]),
        ("a@b\r\nBcc: c@d.test", "", vec!["sign-up-email", "sign-up-password"]),
        ("", "", vec!["sign-up-email", "sign-up-password"]),
    ] {
        let answer = browser.post("/account/sign-up", &[("email", email), ("password", password)]);
        let page = check_refused(&answer, 422, &faults);
        if !email.contains('\r') {
            assert_eq!(page.one("main input[name=email]").attribute("value").unwrap_or_default(), email);
        }
        assert!(password.len() < 9 || !answer.text().contains(password), "{password}");
    }
    assert_eq!((computed(&site), site.running().app().ledger.accounts().len()), (0, 0));
    for right in ["ten chars!", "ünïcödé ñ", &"x".repeat(128)] {
        let right = format!("{right:0<10}");
        let email = format!("a{}@example.org", right.len());
        let answer = browser.post("/account/sign-up", &[("email", &email), ("password", &right)]);
        assert_eq!(answer.status, 303, "{right}");
        browser.sign_in(&email, &right);
    }
}

#[test]
fn refuses_own_address_as_password() {
    let site = Site::empty(&UNLIMITED);
    let browser = Browser::new(&site);
    let email = "anna.bianchi@example.org";
    for password in ["Anna.Bianchi@Example.org", "anna.bianchi"] {
        let answer = browser.post("/account/sign-up", &[("email", email), ("password", password)]);
        let page = check_refused(&answer, 422, &["sign-up-password"]);
        assert!(page.one("main").line().contains("the part before the @, cannot be your password"));
    }
    let browser = Browser::signed_in(&site, email);
    let fields = [("action", "password"), ("present", PASSWORD), ("password", "anna.bianchi")];
    check_refused(&browser.post("/account/settings", &fields), 422, &["password-password"]);
    let token = token(&site, TokenPurpose::ResetPassword);
    let answer = browser.post("/account/reset", &[("token", &token), ("password", email)]);
    check_refused(&answer, 422, &["reset-password"]);
}

#[test]
fn limits_sign_ups_per_client_and_day() {
    let site = Site::empty(&[&UNLIMITED[..], &["--trusted-proxy", "127.0.0.1"]].concat());
    let sign_up = |number: usize, from: &str| {
        let email = format!("a{number}@example.org");
        let ask = bare_form("/account/sign-up", &[("email", &email), ("password", PASSWORD)]);
        site.send(&ask.header("Sec-Fetch-Site", "same-origin").header("X-Forwarded-For", from))
    };
    for number in 0..5 {
        assert_eq!(sign_up(number, "9.9.9.1").status, 303);
    }
    let before = computed(&site);
    let refused = sign_up(5, "9.9.9.1");
    let page = check_refused(&refused, 429, &[]);
    assert!(page.one("main p.problem[role=alert]").line().starts_with("Too many attempts."));
    assert!(refused.header("Retry-After").unwrap().parse::<u64>().unwrap() > 80_000);
    assert_eq!((computed(&site), site.running().app().ledger.accounts().len()), (before, 5));
    assert_eq!(sign_up(5, "9.9.9.2").status, 303, "others are counted apart");
}

#[test]
fn limits_failed_sign_ins_per_address_and_client() {
    let site = Site::empty(&[&UNLIMITED[..], &["--trusted-proxy", "127.0.0.1"]].concat());
    Browser::signed_in(&site, EMAIL);
    let sign_in = |email: &str, password: &str, from: &str| {
        let ask = bare_form("/account/sign-in", &[("email", email), ("password", password)]);
        site.send(&ask.header("Sec-Fetch-Site", "same-origin").header("X-Forwarded-For", from))
    };
    for _ in 0..10 {
        assert_eq!(sign_in(EMAIL, "not the password", "9.9.9.1").status, 422);
    }
    assert_eq!(sign_in(EMAIL, PASSWORD, "9.9.99.1").status, 303, "the owner is not locked out");
    let before = computed(&site);
    let refused = sign_in(EMAIL, PASSWORD, "9.9.9.1");
    check_refused(&refused, 429, &[]);
    assert!(refused.header("Retry-After").is_some());
    assert_eq!(computed(&site), before, "a refused attempt costs nothing");
    for number in 0..50 {
        assert_eq!(sign_in(&format!("x{number}@example.org"), "not the password", "8.8.8.8").status, 422);
    }
    check_refused(&sign_in("y@example.org", PASSWORD, "8.8.8.8"), 429, &[]);
}

fn token(site: &Site, purpose: TokenPurpose) -> String {
    let ledger = &site.running().app().ledger;
    let mut random = [0; TOKEN_RANDOM_BYTES];
    getrandom::fill(&mut random).unwrap();
    let issued = ledger.issue_token(ledger.accounts()[0].id(), purpose, random, now());
    issued.unwrap().plain.reveal().to_owned()
}

#[test]
fn accepts_reset_token_once() {
    let site = Site::empty(&UNLIMITED);
    let browser = Browser::signed_in(&site, EMAIL);
    let confirming = token(&site, TokenPurpose::ConfirmEmail);
    let (token, new) = (token(&site, TokenPurpose::ResetPassword), "a password by token");
    let link = format!("/account/reset?token={token}");
    let stranger = Browser::new(&site);
    for _ in 0..3 {
        let page = stranger.open(&link);
        assert_eq!(page.one("main input[name=token]").attribute("value"), Some(token.as_str()));
    }
    let reset = |token: &str, password: &str| {
        stranger.post("/account/reset", &[("token", token), ("password", password)])
    };
    check_refused(&reset(&confirming, new), 422, &["reset-token"]);
    let short = check_refused(&reset(&token, "short"), 422, &["reset-password"]);
    assert_eq!(short.one("main input[name=token]").attribute("value"), Some(token.as_str()));
    let done = reset(&format!(" {token}\r\n"), new);
    assert_eq!(done.header("Location"), Some("/account/sign-in?done=reset"));
    assert_eq!(browser.get("/account").status, 303, "all sessions have ended");
    check_refused(&reset(&token, "another password yet"), 422, &["reset-token"]);
    check_refused(&browser.post("/account/sign-in", &[("email", EMAIL), ("password", PASSWORD)]), 422, &[]);
    browser.sign_in(EMAIL, new);
}

#[test]
fn refuses_and_counts_wrong_tokens() {
    let site = Site::empty(&UNLIMITED);
    Browser::signed_in(&site, EMAIL);
    let browser = Browser::new(&site);
    let before = computed(&site);
    let reset = |token: &str| browser.post("/account/reset", &[("token", token), ("password", PASSWORD)]);
    for wrong in ["", "x", "\"><script>alert(1)</script>", &"é".repeat(43), &"a".repeat(5_000)] {
        check_refused(&reset(wrong), 422, &["reset-token"]);
    }
    assert_eq!(computed(&site), before, "what is no token costs no hash");
    for _ in 0..50 {
        check_refused(&reset(&"a".repeat(43)), 422, &["reset-token"]);
    }
    check_refused(&reset(&"a".repeat(43)), 429, &[]);
}

#[test]
fn redirects_signed_in_visitor_past_sign_in() {
    let site = Site::empty(&UNLIMITED);
    let browser = Browser::signed_in(&site, EMAIL);
    assert_eq!(browser.get("/account/sign-in").header("Location"), Some("/account"));
    let next = browser.get("/account/sign-in?next=%2Faccount%2Fkeys");
    assert_eq!((next.status, next.header("Location")), (303, Some("/account/keys")));
    let page = read("/account/sign-up", &browser.get("/account/sign-up"));
    assert_eq!(page.one("h1").line(), "Sign up");
}
