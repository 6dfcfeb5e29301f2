//! Mail of the account area: confirmation, password reset, what a mail tells and what it does not, and a server of mail that
//! fails.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::time::Duration;

use mercato_ledger::{ConfirmEmail, TOKEN_RANDOM_BYTES, TokenPurpose};

use crate::harness::{Answer, Site, exchange, now, wait_until};
use crate::site::browser::{Browser, EMAIL, PASSWORD, bare_form, check_refused};
use crate::site::{UNLIMITED, read};
use crate::smtp::{Mood, SmtpServer};

fn site_with(server: &SmtpServer, more: &[&str]) -> Site {
    let mail = server.flags();
    let mail: Vec<&str> = mail.iter().map(String::as_str).collect();
    Site::empty(&[&UNLIMITED[..], &mail, more].concat())
}

fn sign_up(browser: &Browser<'_>, email: &str) -> Answer {
    browser.post("/account/sign-up", &[("email", email), ("password", PASSWORD)])
}

fn token(site: &Site, purpose: TokenPurpose, seconds_ago: i64) -> String {
    let ledger = &site.running().app().ledger;
    let mut random = [0; TOKEN_RANDOM_BYTES];
    getrandom::fill(&mut random).unwrap();
    let at = now().plus_seconds(-seconds_ago);
    let issued = ledger.issue_token(ledger.accounts()[0].id(), purpose, random, at);
    issued.unwrap().plain.reveal().to_owned()
}

#[test]
fn confirms_address_once_and_opens_free_plan() {
    let server = SmtpServer::start(Mood::Kind);
    let site = site_with(&server, &[]);
    let browser = Browser::signed_in_unconfirmed(&site, EMAIL);
    let stranger = Browser::new(&site);
    let signed_up = sign_up(&stranger, "mona@example.org");
    assert_eq!(signed_up.header("Location"), Some("/account/sign-in?done=mail-sent"));
    let page = stranger.open("/account/sign-in?done=mail-sent");
    assert!(page.one("main .notice[role=status]").line().starts_with("We have sent you an e-mail"));
    let mail = server.mail(0);
    assert_eq!(mail.receivers, [EMAIL]);
    assert!(mail.sender.contains("<noreply@mercato.test>"), "{}", mail.sender);
    assert_eq!(mail.header("Subject"), "Confirm your address at mercato");
    assert_eq!(
        (mail.header("To"), mail.header("Auto-Submitted")),
        (EMAIL.to_owned(), "auto-generated".to_owned())
    );
    let (link, token) = mail.link();
    assert_eq!(link, format!("http://mercato.test/account/confirm?token={token}"));

    for target in ["/account", "/account/keys", "/account/settings"] {
        let page = browser.open(target);
        assert!(
            page.one("main .notice.warn").line().starts_with("Please confirm your e-mail address first"),
            "{target}"
        );
    }
    assert!(browser.open("/account/keys").select("main input[name=label]").is_empty());
    let refused = browser.post("/account/keys", &[("label", "early")]);
    assert_eq!(refused.status, 403, "{}", refused.text());
    let ledger = &site.running().app().ledger;
    assert!(ledger.keys(ledger.accounts()[0].id()).is_empty());

    let target = format!("/account/confirm?token={token}");
    for _ in 0..2 {
        assert_eq!(
            browser.open(&target).one("main form.form input").attribute("value"),
            Some(token.as_str())
        );
    }
    assert_eq!(
        browser.open("/account").select("main .notice.warn").len(),
        1,
        "opening the link confirms nothing"
    );
    let confirmed = browser.post("/account/confirm", &[("token", &token)]);
    assert_eq!(confirmed.header("Location"), Some("/account?done=confirmed"));
    let page = browser.open("/account?done=confirmed");
    assert_eq!(page.select("main .notice.warn").len(), 0);
    assert_eq!(page.one("main .notice[role=status]").line(), "Your address is confirmed.");
    browser.new_key(&[("label", "first")]);
    Browser::new(&site).sign_in(EMAIL, PASSWORD);
    let again = browser.post("/account/confirm", &[("token", &token)]);
    assert_eq!(again.status, 422, "a token works once");
    assert_eq!(stranger.post("/account/confirm", &[("token", &token)]).status, 422);
}

#[test]
fn sends_mail_in_language_of_visitor_with_public_address() {
    let server = SmtpServer::start(Mood::Kind);
    let smtp = format!("smtp://{}", server.address);
    let flags = ["--smtp", &smtp, "--mail-from", "n@data.test", "--public-url", "https://data.test/market"];
    let site = Site::empty(&[&UNLIMITED[..], &flags].concat());
    let form = bare_form("/account/sign-up", &[("email", EMAIL), ("password", PASSWORD)]);
    // The harness sends another Host than the public address.
    let answer = site.send(&form.header("Sec-Fetch-Site", "same-origin").header("Accept-Language", "it"));
    assert_eq!(answer.status, 303, "{}", answer.text());
    let mail = server.mail(0);
    assert_eq!(mail.header("Subject"), "Conferma il tuo indirizzo su mercato");
    assert!(mail.text.starts_with("Qualcuno si è registrato su mercato"), "{}", mail.text);
    assert!(mail.link().0.starts_with("https://data.test/market/account/confirm?token="));
    assert!(!mail.raw.contains("mercato.test"), "{}", mail.raw);
}

#[test]
fn resets_password_by_mail_once() {
    let server = SmtpServer::start(Mood::Kind);
    let site = site_with(&server, &[]);
    let browser = Browser::signed_in_unconfirmed(&site, EMAIL);
    let confirming = server.mail(0).link().1;
    let stranger = Browser::new(&site);
    let sign_in = stranger.open("/account/sign-in");
    assert!(sign_in.select("main a[href=/account/forgot]").len() == 1);
    check_refused(&stranger.post("/account/forgot", &[("email", "anna")]), 422, &["forgot-email"]);
    let sent = stranger.post("/account/forgot", &[("email", " ANNA@example.org ")]);
    assert_eq!(sent.header("Location"), Some("/account/sign-in?done=forgot-sent"));
    let mail = server.mail(1);
    assert_eq!((mail.header("Subject").as_str(), mail.receivers.len()), ("Set a new password at mercato", 1));
    let (link, token) = mail.link();
    assert!(link.starts_with("http://mercato.test/account/reset?token="));
    let reset = |token: &str| {
        stranger.post("/account/reset", &[("token", token), ("password", "a password by mail")])
    };
    check_refused(&reset(&confirming), 422, &["reset-token"]);
    assert_eq!(stranger.post("/account/confirm", &[("token", &token)]).status, 422, "each has one purpose");
    assert_eq!(reset(&token).header("Location"), Some("/account/sign-in?done=reset"));
    assert_eq!(browser.get("/account").status, 303, "all sessions have ended");
    check_refused(&reset(&token), 422, &["reset-token"]);
    browser.sign_in(EMAIL, "a password by mail");
}

#[test]
fn refuses_expired_tokens_and_confirms_owner_only() {
    let server = SmtpServer::start(Mood::Kind);
    let site = site_with(&server, &[]);
    let owner = Browser::signed_in_unconfirmed(&site, EMAIL);
    let other = Browser::signed_in_unconfirmed(&site, "berta@example.org");
    let late = token(&site, TokenPurpose::ConfirmEmail, 2 * 86_400);
    assert_eq!(owner.post("/account/confirm", &[("token", &late)]).status, 422);
    let late = token(&site, TokenPurpose::ResetPassword, 3_600);
    let fields = [("token", late.as_str()), ("password", "another long password")];
    check_refused(&owner.post("/account/reset", &fields), 422, &["reset-token"]);
    // A token confirms the address that it was sent to, whoever is signed in.
    let of_owner = server.mail(0).link().1;
    assert_eq!(other.post("/account/confirm", &[("token", &of_owner)]).status, 303);
    assert_eq!(other.open("/account").select("main .notice.warn").len(), 1);
    assert_eq!(owner.open("/account").select("main .notice.warn").len(), 0);
    for wrong in ["", "x", "\"><script>alert(1)</script>", &"a".repeat(5_000)] {
        assert_eq!(owner.post("/account/confirm", &[("token", wrong)]).status, 422);
    }
    for _ in 0..50 {
        owner.post("/account/confirm", &[("token", &"a".repeat(43))]);
    }
    let throttled = owner.post("/account/confirm", &[("token", &"a".repeat(43))]);
    assert!(throttled.status == 429 && throttled.header("Retry-After").is_some());
}

/// Status, headers and text of an answer, without the parts that differ between any two.
fn told(answer: &Answer, email: &str) -> (u16, Vec<(String, String)>, String) {
    let differs = ["date", "x-request-id", "ratelimit"];
    let headers =
        answer.headers.iter().filter(|(name, _)| !differs.contains(&name.to_ascii_lowercase().as_str()));
    (answer.status, headers.cloned().collect(), answer.text().replace(email, "EMAIL"))
}

#[test]
fn conceals_existence_of_account() {
    let server = SmtpServer::start(Mood::Kind);
    let site = site_with(&server, &[]);
    Browser::signed_in_unconfirmed(&site, EMAIL);
    server.mail(0);
    let browser = Browser::new(&site);
    let (known, unknown) = (EMAIL, "mona@example.org");
    let computed = || site.running().app().sign_ins.passwords().computed();
    let before = computed();
    let forgot = |email: &str| told(&browser.post("/account/forgot", &[("email", email)]), email);
    let answered = forgot(unknown);
    assert_eq!(answered, forgot(known));
    assert_eq!((answered.0, computed()), (303, before));
    // Mails are written in their order, so nothing was sent to the address without an account.
    assert_eq!(server.mail(1).receivers, [known]);
    let signed_up = |email: &str| told(&sign_up(&browser, email), email);
    assert_eq!(signed_up(known), signed_up(unknown));
    assert_eq!(computed(), before + 2);
    let taken = server.mail(2);
    assert_eq!(
        (taken.receivers.as_slice(), taken.header("Subject").as_str()),
        ([known.to_owned()].as_slice(), "You already have an account at mercato")
    );
    assert!(taken.text.contains("http://mercato.test/account/forgot") && !taken.text.contains("token"));
    assert_eq!(server.mail(3).receivers, [unknown]);
    assert_eq!(server.mail(3).header("Subject"), "Confirm your address at mercato");
}

#[test]
fn conceals_account_from_who_signs_up_and_then_in() {
    let server = SmtpServer::start(Mood::Kind);
    let site = site_with(&server, &[]);
    Browser::signed_in_unconfirmed(&site, EMAIL);
    // Nothing is written to an address that is confirmed meanwhile.
    server.mail(0);
    let ledger = &site.running().app().ledger;
    ledger.commit(&ConfirmEmail { account: ledger.accounts()[0].id(), at: now() }).unwrap();
    let (known, unknown, chosen) = (EMAIL, "mona@example.org", "a password of a guest");
    let stranger = Browser::new(&site);
    let ask = |target: &str, email: &str| {
        told(&stranger.post(target, &[("email", email), ("password", chosen)]), email)
    };
    assert_eq!(ask("/account/sign-up", known), ask("/account/sign-up", unknown));
    for _ in 0..10 {
        let answered = ask("/account/sign-in", known);
        assert_eq!(answered, ask("/account/sign-in", unknown));
        assert_eq!(answered.0, 422);
    }
    let (refused, of_unknown) = (ask("/account/sign-in", known), ask("/account/sign-in", unknown));
    assert_eq!((refused.0, of_unknown.0), (429, 429), "both count alike");
    // Who chose the password and reads the mail gets in.
    server.mail(8);
    let confirms =
        |mail: &crate::smtp::Mail| mail.receivers == [unknown] && mail.text.contains("/account/confirm");
    let (link, token) = server.mails().iter().rfind(|mail| confirms(mail)).unwrap().link();
    assert!(link.contains("/account/confirm"), "{link}");
    assert_eq!(stranger.post("/account/confirm", &[("token", &token)]).status, 303);
    let owner = Browser::new(&site);
    let from_elsewhere = bare_form("/account/sign-in", &[("email", unknown), ("password", chosen)]);
    assert_eq!(
        owner.send(from_elsewhere.header("Sec-Fetch-Site", "same-origin")).status,
        429,
        "from this address"
    );
}

#[test]
fn tells_owner_of_changed_and_of_guessed_password() {
    let server = SmtpServer::start(Mood::Kind);
    let site = site_with(&server, &["--trusted-proxy", "127.0.0.1"]);
    let browser = Browser::signed_in_unconfirmed(&site, EMAIL);
    server.mail(0);
    let ledger = &site.running().app().ledger;
    ledger.commit(&ConfirmEmail { account: ledger.accounts()[0].id(), at: now() }).unwrap();
    let fields = [("action", "password"), ("present", PASSWORD), ("password", "another long password")];
    assert_eq!(browser.post("/account/settings", &fields).status, 303);
    let changed = server.mail(1);
    assert_eq!(changed.header("Subject"), "Your password at mercato was changed");
    assert!(changed.text.contains("http://mercato.test/account/forgot"), "{}", changed.text);

    let sign_in = |password: &str, from: &str, device: Option<&str>| {
        let form = bare_form("/account/sign-in", &[("email", EMAIL), ("password", password)]);
        let form = form.header("Sec-Fetch-Site", "same-origin").header("X-Forwarded-For", from);
        let mark = device.map(|mark| format!("device={mark}"));
        site.send(&mark.map_or(form.clone(), |mark| form.header("Cookie", &mark))).status
    };
    for _ in 0..10 {
        assert_eq!(sign_in("not the password", "9.9.9.9", None), 422);
    }
    for _ in 0..3 {
        assert_eq!(sign_in("another long password", "9.9.9.9", None), 429);
    }
    let guessed = server.mail(2);
    assert_eq!(guessed.header("Subject"), "Wrong passwords for your account at mercato");
    assert_eq!(sign_in("another long password", "8.8.8.8", None), 303, "others are not held up");
    let mark = browser.cookies.borrow()["device"].clone();
    assert_eq!(
        sign_in("another long password", "9.9.9.9", Some(&mark)),
        303,
        "a known device is not, either"
    );
    assert_eq!(sign_in("another long password", "9.9.9.9", Some(&mark.replace('0', "1"))), 429);
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(server.mails().len(), 3, "the owner is told once");
}

#[test]
fn limits_mails_per_address_and_client() {
    let server = SmtpServer::start(Mood::Kind);
    let site = site_with(&server, &["--trusted-proxy", "127.0.0.1"]);
    let forgot = |email: &str, from: &str| {
        let form = bare_form("/account/forgot", &[("email", email)]).header("Sec-Fetch-Site", "same-origin");
        site.send(&form.header("X-Forwarded-For", from))
    };
    let signed_up = sign_up(&Browser::new(&site), EMAIL);
    assert_eq!(signed_up.status, 303);
    for number in 0..4 {
        assert_eq!(forgot(EMAIL, &format!("9.9.{number}.1")).status, 303);
    }
    for number in 0..5 {
        assert_eq!(forgot("nobody@example.org", &format!("9.8.{number}.1")).status, 303);
    }
    for email in [EMAIL, "nobody@example.org"] {
        let refused = forgot(email, "9.9.99.1");
        check_refused(&refused, 429, &[]);
        assert!(refused.header("Retry-After").unwrap().parse::<u64>().unwrap() > 80_000);
    }
    for number in 0..20 {
        assert_eq!(forgot(&format!("x{number}@example.org"), "8.8.8.8").status, 303);
    }
    check_refused(&forgot("y@example.org", "8.8.8.8"), 429, &[]);
    let again = sign_up(&Browser::new(&site), EMAIL);
    assert_eq!(again.status, 303, "a sign-up goes on without its mail");
    forgot("last@example.org", "7.7.7.7");
    server.mail(4);
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(server.mails().len(), 5);
}

#[test]
fn sends_confirmation_again_to_signed_in_owner_only() {
    let server = SmtpServer::start(Mood::Kind);
    let site = site_with(&server, &[]);
    let stranger = Browser::new(&site);
    let led = stranger.post("/account/confirm/send", &[]);
    assert!(led.header("Location").unwrap().starts_with("/account/sign-in?next="));
    let browser = Browser::signed_in_unconfirmed(&site, EMAIL);
    let sent = browser.post("/account/confirm/send", &[]);
    assert_eq!(sent.header("Location"), Some("/account?done=confirm-sent"));
    let (first, second) = (server.mail(0).link().1, server.mail(1).link().1);
    assert_ne!(first, second);
    for _ in 0..3 {
        assert_eq!(browser.post("/account/confirm/send", &[]).status, 303);
    }
    assert_eq!(browser.post("/account/confirm/send", &[]).status, 429);
    assert_eq!(browser.post("/account/confirm", &[("token", &second)]).status, 303);
    assert_eq!(
        browser.post("/account/confirm", &[("token", &first)]).status,
        422,
        "one confirmation ends all links"
    );
}

#[test]
fn lets_paying_account_make_keys_unconfirmed() {
    let server = SmtpServer::start(Mood::Kind);
    let site = site_with(&server, &[]);
    let browser = Browser::signed_in_unconfirmed(&site, EMAIL);
    let ledger = &site.running().app().ledger;
    ledger.buy(ledger.accounts()[0].id(), 10, None, "1", "", now()).unwrap();
    assert_eq!(browser.open("/account").select("main .notice.warn").len(), 0);
    browser.new_key(&[("label", "paid")]);
}

#[test]
fn rejects_address_that_would_add_headers() {
    let server = SmtpServer::start(Mood::Kind);
    let site = site_with(&server, &[]);
    let browser = Browser::new(&site);
    for wrong in [
        "a@b.it\r\nBcc: c@d.it",
        "a@b.it\nBcc: c@d.it",
        "a@b.it, c@d.it",
        "\"a\r\nBcc: c@d.it\"@b.it",
        "a@b.it\0",
    ] {
        assert_eq!(sign_up(&browser, wrong).status, 422, "{wrong:?}");
        assert_eq!(browser.post("/account/forgot", &[("email", wrong)]).status, 422, "{wrong:?}");
    }
    sign_up(&browser, EMAIL);
    let mail = server.mail(0);
    assert_eq!((server.mails().len(), mail.receivers.len(), mail.header("Bcc").as_str()), (1, 1, ""));
}

#[test]
fn drops_and_counts_mails_beyond_queue() {
    let server = SmtpServer::start(Mood::Silent);
    let site = site_with(&server, &["--trusted-proxy", "127.0.0.1"]);
    assert_eq!(sign_up(&Browser::new(&site), EMAIL).status, 303);
    wait_until("the first mail is on its way", || server.connections() == 1);
    for number in 0..260 {
        let email = format!("x{number}@example.org");
        let form = bare_form("/account/forgot", &[("email", &email)]).header("Sec-Fetch-Site", "same-origin");
        let answer =
            site.send(&form.header("X-Forwarded-For", &format!("9.{}.{}.1", number / 200, number % 200)));
        assert_eq!(answer.status, 303, "nobody is told, and nobody waits");
    }
    site.wait_for_metrics(&["mercato_mails_total{outcome=\"dropped\"} 4", "mercato_mails_waiting 257"]);
}

#[test]
fn tries_again_where_mail_is_put_off_and_gives_up_where_refused() {
    let server = SmtpServer::start(Mood::Later(1));
    let site = site_with(&server, &[]);
    sign_up(&Browser::new(&site), EMAIL);
    assert_eq!(server.mail(0).receivers, [EMAIL]);
    site.wait_for_metrics(&["mercato_mails_total{outcome=\"sent\"} 1", "mercato_mails_waiting 0"]);
    let server = SmtpServer::start(Mood::Never);
    let site = site_with(&server, &[]);
    sign_up(&Browser::new(&site), EMAIL);
    site.wait_for_metrics(&["mercato_mails_total{outcome=\"failed\"} 1", "mercato_mails_waiting 0"]);
    assert_eq!(server.connections(), 1);
}

#[test]
fn goes_on_without_server_of_mail() {
    let flags =
        ["--smtp", "smtp://127.0.0.1:1", "--mail-from", "n@a.test", "--public-url", "http://mercato.test"];
    let site = Site::empty(&[&UNLIMITED[..], &flags].concat());
    let browser = Browser::signed_in_unconfirmed(&site, EMAIL);
    assert_eq!(browser.post("/account/forgot", &[("email", EMAIL)]).status, 303);
    assert_eq!(browser.open("/account").one("main p.balance").line(), "0 credits");
    site.wait_for_metrics(&["mercato_mails_total{outcome=\"sent\"} 0"]);
}

#[test]
fn signs_in_with_password_of_file_and_demands_tls() {
    let server = SmtpServer::start(Mood::Kind);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("password");
    std::fs::write(&file, "s3cret word\n").unwrap();
    let flags = |url: &str| {
        let file = file.to_str().unwrap();
        let fixed = ["--smtp", url, "--mail-from", "n@a.test", "--public-url", "http://mercato.test"];
        Site::empty(&[&UNLIMITED[..], &fixed, &["--smtp-password-file", file]].concat())
    };
    let site = flags(&format!("smtp://anna@{}", server.address));
    sign_up(&Browser::new(&site), EMAIL);
    server.mail(0);
    assert_eq!(server.logins(), ["\0anna\0s3cret word"]);
    let site = flags(&format!("smtp+starttls://anna@{}", server.address));
    sign_up(&Browser::new(&site), EMAIL);
    wait_until("the server is asked for TLS", || server.connections() >= 2);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!((server.mails().len(), server.logins().len()), (1, 1), "nothing is sent in the clear");
}

#[test]
fn writes_no_mail_into_log() {
    let server = SmtpServer::start(Mood::Never);
    let folder = tempfile::tempdir().unwrap();
    let smtp = format!("smtp://anna:s3cret@{}", server.address);
    let mut child = Command::new(env!("CARGO_BIN_EXE_mercato"))
        .args(["serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--smtp", &smtp])
        .args(["--mail-from", "n@a.test", "--public-url", "http://mercato.test", "--data"])
        .arg(folder.path())
        .env("MERCATO_LOG", "trace")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = String::new();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    output.read_line(&mut log).unwrap();
    let listening: serde_json::Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
    let address = listening["address"].as_str().unwrap().parse().unwrap();
    let form = bare_form("/account/sign-up", &[("email", EMAIL), ("password", PASSWORD)]);
    assert_eq!(exchange(address, &form.header("Sec-Fetch-Site", "same-origin")).status, 303);
    while !log.contains("a mail is given up") {
        assert!(output.read_line(&mut log).unwrap() > 0, "{log}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    output.read_to_string(&mut log).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
    assert!(log.contains("the server refused the mail (550)"), "{log}");
    for secret in ["anna", "example.org", "s3cret", "Confirm", "token=", PASSWORD] {
        assert!(!log.contains(secret), "{secret}: {log}");
    }
}

#[test]
fn leads_to_operator_where_sign_up_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("site.toml"), "contact = \"data@example.org\"\n").unwrap();
    let site = Site::over(folder, &[&UNLIMITED[..], &["--sign-up", "closed"]].concat());
    let browser = Browser::new(&site);
    let page = browser.open("/account/sign-up");
    assert!(page.select("main form.form").is_empty());
    assert!(page.one("main a[href=mailto:data@example.org]").line().contains("data@example.org"));
    let sign_in = browser.open("/account/sign-in");
    assert!(sign_in.select("main a[href=/account/sign-up]").is_empty());
    let refused = sign_up(&browser, EMAIL);
    assert_eq!(refused.status, 403);
    assert!(read_any(&refused).contains("Ask data@example.org for an account"));
    assert!(site.running().app().ledger.accounts().is_empty());
    let bare = Site::empty(&[&UNLIMITED[..], &["--sign-up", "closed"]].concat());
    let page = read("/account/sign-up", &Browser::new(&bare).get("/account/sign-up"));
    assert!(page.one("main").line().contains("the operator of this site"));
}

fn read_any(answer: &Answer) -> String {
    crate::site::Document::parse(&answer.text()).one("main").line()
}
