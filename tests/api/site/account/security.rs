//! Attacks on the account area: forms and redirects of other sites, markup in texts, planted sessions, and answers kept in
//! a cache.

use super::PAGES;
use crate::harness::{Answer, Ask, Site, now};
use crate::site::browser::{Browser, EMAIL, PASSWORD, bare_form, encoded};
use crate::site::document::Document;
use crate::site::security::check_harmless;
use crate::site::{BROWSER, UNLIMITED, ask};

/// Every form, with fields that would do something.
const FORMS: [(&str, &[(&str, &str)]); 14] = [
    ("/account/sign-up", &[("email", "new@example.org"), ("password", PASSWORD)]),
    ("/account/sign-in", &[("email", EMAIL), ("password", PASSWORD)]),
    ("/account/sign-out", &[]),
    ("/account/reset", &[("token", "x"), ("password", PASSWORD)]),
    ("/account/forgot", &[("email", EMAIL)]),
    ("/account/confirm", &[("token", "x")]),
    ("/account/confirm/send", &[]),
    ("/account/keys", &[("label", "foreign")]),
    ("/account/keys/key_1", &[("action", "rename"), ("label", "foreign")]),
    ("/account/keys/key_1", &[("action", "limit"), ("day", "0")]),
    ("/account/keys/key_1", &[("action", "rotate"), ("grace", "none")]),
    ("/account/keys/key_1", &[("action", "revoke")]),
    ("/account/settings", &[("action", "sessions")]),
    ("/account/settings", &[("action", "delete"), ("present", PASSWORD)]),
];

#[test]
fn refuses_cross_site_forms_without_effect() {
    let site = Site::with_cities();
    let browser = Browser::signed_in(&site, EMAIL);
    let key = browser.new_key(&[("label", "own")]);
    let foreign: [&[(&str, &str)]; 12] = [
        &[],
        &[("Sec-Fetch-Site", "cross-site")],
        &[("Sec-Fetch-Site", "same-site")],
        &[("Sec-Fetch-Site", "cross-site"), ("Origin", "http://mercato.test")],
        &[("Sec-Fetch-Site", "")],
        &[("Sec-Fetch-Site", "same-origin"), ("Sec-Fetch-Site", "cross-site")],
        &[("Origin", "http://evil.test")],
        &[("Origin", "null")],
        &[("Origin", "https://mercato.test")],
        &[("Origin", "http://mercato.test:8080")],
        &[("Origin", "http://mercato.test.evil.test")],
        &[("Referer", "http://mercato.test/account")],
    ];
    for (target, fields) in FORMS {
        for headers in foreign {
            let form = bare_form(target, fields);
            let form = headers.iter().fold(form, |form, (name, value)| form.header(name, value));
            let answer = browser.send(form);
            assert_eq!(answer.status, 403, "{target} {headers:?}: {}", answer.text());
            assert_eq!(answer.header("Set-Cookie"), None, "{target} {headers:?}");
            assert_eq!(answer.header("Cache-Control"), Some("no-store"));
            let page = Document::parse(&answer.text());
            assert!(page.one("main").line().contains("not sent from this site"), "{target}");
        }
    }
    let ledger = &site.running().app().ledger;
    let account = ledger.accounts()[0].id();
    assert_eq!((ledger.accounts().len(), ledger.keys(account).len()), (1, 1));
    assert_eq!(ledger.keys(account)[0].label, "own");
    assert_eq!((site.query("cities", &key, "{}").status, browser.get("/account").status), (200, 200));
}

#[test]
fn accepts_same_site_forms_of_new_and_old_browsers() {
    let site = Site::with_cities();
    let browser = Browser::signed_in(&site, EMAIL);
    let own: [&[(&str, &str)]; 4] = [
        &[("Sec-Fetch-Site", "same-origin"), ("Origin", "http://mercato.test")],
        &[("Sec-Fetch-Site", "none")],
        &[("Origin", "http://mercato.test")],
        &[("Origin", "http://mercato.test:80")],
    ];
    for headers in own {
        let form = bare_form("/account/keys", &[("label", "x")]);
        let form = headers.iter().fold(form, |form, (name, value)| form.header(name, value));
        assert_eq!(browser.send(form).status, 200, "{headers:?}");
    }
    let behind = Site::empty(&[&UNLIMITED[..], &["--public-url", "https://data.test/market"]].concat());
    for (origin, status) in
        [("https://data.test", 303), ("http://mercato.test", 403), ("http://data.test", 403)]
    {
        let email = format!("a{status}{}@example.org", origin.len());
        let form = bare_form("/account/sign-up", &[("email", &email), ("password", PASSWORD)]);
        assert_eq!(behind.send(&form.header("Origin", origin)).status, status, "{origin}");
    }
}

#[test]
fn changes_nothing_without_posted_form() {
    let site = Site::with_cities();
    let browser = Browser::signed_in(&site, EMAIL);
    browser.new_key(&[("label", "own")]);
    for method in ["GET", "HEAD", "PUT", "DELETE", "PATCH"] {
        for (target, fields) in FORMS {
            let ask = Ask::new(method, &format!("{target}?{}", encoded(fields))).header("Accept", BROWSER);
            let answer = browser.send(ask.header("Sec-Fetch-Site", "same-origin"));
            assert!(answer.status != 500 && answer.status != 201, "{method} {target}");
        }
    }
    let out = browser.get("/account/sign-out");
    assert_eq!((out.status, out.header("Allow")), (405, Some("POST, OPTIONS")));
    let ledger = &site.running().app().ledger;
    let keys = ledger.keys(ledger.accounts()[0].id());
    assert_eq!((ledger.accounts().len(), keys.len(), keys[0].label.as_str()), (1, 1, "own"));
    assert!(keys[0].revoked_at.is_none() && browser.get("/account").status == 200);
}

#[test]
fn invalidates_session_planted_before_sign_in() {
    let site = Site::empty(&UNLIMITED);
    Browser::signed_in(&site, EMAIL);
    let attacker = Browser::signed_in(&site, "eve@example.org");
    let planted = attacker.session().unwrap();
    let victim = Browser::new(&site);
    for fixed in [planted.clone(), "0".repeat(43), String::new(), "x".repeat(3_000)] {
        victim.cookies.borrow_mut().insert("session".to_owned(), fixed.clone());
        victim.sign_in(EMAIL, PASSWORD);
        let own = victim.session().unwrap();
        assert_ne!(own, fixed);
        assert!(victim.open("/account").one("main").line().contains(EMAIL));
        attacker.cookies.borrow_mut().insert("session".to_owned(), fixed);
        assert_eq!(attacker.get("/account").status, 303, "the planted one has ended");
    }
}

#[test]
fn redirects_to_own_pages_only() {
    let site = Site::empty(&UNLIMITED);
    Browser::signed_in(&site, EMAIL);
    let long = format!("/{}", "a".repeat(mercato::limits::site::NEXT_BYTES_MAX));
    for (next, expected) in [
        ("", "/account"),
        ("/account/keys", "/account/keys"),
        ("/datasets?q=a+b&tag=%26", "/datasets?q=a%20b&tag=%26"),
        ("/account/keys#x", "/account/keys"),
        ("//evil.test", "/account"),
        ("///evil.test", "/account"),
        ("/\\evil.test", "/account"),
        ("\\\\evil.test", "/account"),
        ("/..//evil.test", "/account"),
        ("/.//evil.test", "/account"),
        ("/a//b", "/account"),
        ("/%2Fevil.test", "/%2Fevil.test"),
        ("/%5Cevil.test", "/%5Cevil.test"),
        ("/%2E%2E/%2E", "/account"),
        ("/\t/evil.test", "/account"),
        ("/\r\nSet-Cookie: a=b", "/account"),
        ("/%0d%0aSet-Cookie:%20a=b", "/%0D%0ASet-Cookie%3A%20a%3Db"),
        ("https://evil.test/", "/account"),
        ("http:/evil.test", "/account"),
        ("javascript:alert(1)", "/account"),
        ("evil.test", "/account"),
        (" /account/keys", "/account/keys"),
        ("@evil.test", "/account"),
        (long.as_str(), "/account"),
    ] {
        let browser = Browser::new(&site);
        let fields = [("email", EMAIL), ("password", PASSWORD), ("next", next)];
        let answer = browser.post("/account/sign-in", &fields);
        assert_eq!((answer.status, answer.header("Location")), (303, Some(expected)), "{next:?}");
        let page = browser.get(&format!("/account/sign-in?{}", encoded(&[("next", next)])));
        let location = page.header("Location").unwrap();
        assert!(location.starts_with('/') && !location.starts_with("//"), "{next:?}: {location}");
    }
    let prefixed = Site::empty(&[&UNLIMITED[..], &["--public-url", "https://data.test/market"]].concat());
    let browser = Browser::signed_in(&prefixed, EMAIL);
    let led = browser.get("/account/sign-in?next=%2Faccount%2Fkeys");
    assert_eq!(led.header("Location"), Some("/market/account/keys"));
}

const ATTACK: &str = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>{{7*7}}&lt;";

#[test]
fn escapes_texts_of_customers_and_visitors() {
    let site = Site::with_cities();
    let email = "'{}/**/`$a@example.org";
    let browser = Browser::signed_in(&site, email);
    let key = browser.new_key(&[("label", ATTACK)]);
    assert_eq!(site.query("cities", &key, "{}").status, 200);
    let ledger = &site.running().app().ledger;
    ledger.grant(ledger.accounts()[0].id(), 5, ATTACK, ATTACK, now()).unwrap();
    let mut targets: Vec<String> = PAGES.iter().map(ToString::to_string).collect();
    targets.push("/account/keys/key_1".to_owned());
    for name in ["done", "next", "token", "days", "kind", "before", "lang", "other"] {
        for page in [
            "/account/sign-in",
            "/account/keys",
            "/account/reset",
            "/account/confirm",
            "/account/credits",
            "/account/usage",
        ] {
            targets.push(format!("{page}?{}", encoded(&[(name, ATTACK)])));
        }
    }
    let stranger = Browser::new(&site);
    for target in &targets {
        for answer in [browser.get(target), stranger.get(target)] {
            let page = Document::parse(&answer.text());
            if answer.status == 200 {
                assert!(page.errors.is_empty(), "{target}: {:?}", page.errors);
                check_harmless(target, &page);
            }
            let location = answer.header("Location").unwrap_or("/");
            assert!(
                location.starts_with('/') && !location.contains(['<', '"', '\'', ' ']),
                "{target}: {location}"
            );
        }
    }
    assert!(browser.open("/account/keys").one("main tbody th").line().contains("<script>alert(1)</script>"));
    for (target, fields) in [
        ("/account/sign-in", vec![("email", ATTACK), ("password", PASSWORD), ("next", ATTACK)]),
        ("/account/sign-up", vec![("email", ATTACK), ("password", PASSWORD)]),
        ("/account/reset", vec![("token", ATTACK), ("password", PASSWORD)]),
        ("/account/confirm", vec![("token", ATTACK)]),
        ("/account/forgot", vec![("email", ATTACK)]),
        (
            "/account/keys/key_1",
            vec![("action", "limit"), ("day", ATTACK), ("datasets", ATTACK), ("end", ATTACK)],
        ),
        ("/account/keys", vec![("label", ATTACK), ("day", ATTACK), ("datasets", ATTACK), ("end", ATTACK)]),
        ("/account/keys", vec![("datasets", "</textarea><script>alert(1)</script>")]),
    ] {
        let answer = browser.post(target, &fields);
        assert_eq!(answer.status, 422, "{target}");
        let page = Document::parse(&answer.text());
        assert!(page.errors.is_empty(), "{target}: {:?}", page.errors);
        check_harmless(target, &page);
    }
    assert!(!browser.get("/account/usage.csv").text().contains("script"));
}

#[track_caller]
fn check_private(what: &str, answer: &Answer) {
    assert_eq!(answer.header("Cache-Control"), Some("no-store"), "{what}");
    assert_eq!(answer.header("ETag"), None, "{what}");
    assert_eq!(answer.header("X-Frame-Options"), Some("DENY"), "{what}");
    assert_eq!(answer.header("Referrer-Policy"), Some("same-origin"), "{what}");
    assert_eq!(answer.header("X-Content-Type-Options"), Some("nosniff"), "{what}");
    assert_eq!(answer.header("Access-Control-Allow-Credentials"), None, "{what}");
    let policy = answer.header("Content-Security-Policy").unwrap_or_else(|| panic!("{what} has no policy"));
    assert!(policy.contains("frame-ancestors 'none'") && policy.contains("form-action 'self'"), "{what}");
}

#[test]
fn forbids_caching_and_framing_of_account_area() {
    let site = Site::with_cities();
    let browser = Browser::signed_in(&site, EMAIL);
    browser.new_key(&[("label", "own")]);
    let stranger = Browser::new(&site);
    let further = ["/account/keys/key_1", "/account/keys/key_9", "/account/usage.csv", "/account/nowhere"];
    let open = ["/account/sign-in", "/account/sign-up", "/account/reset?token=x", "/account/sign-out"];
    for target in PAGES.into_iter().chain(further).chain(open) {
        check_private(target, &browser.get(target));
        check_private(target, &stranger.get(target));
        check_private(target, &browser.send(Ask::new("HEAD", target).header("Accept", BROWSER)));
    }
    for (target, fields) in FORMS {
        check_private(target, &stranger.post(target, fields));
        check_private(target, &browser.send(bare_form(target, fields)));
    }
    for (target, fields) in FORMS {
        check_private(target, &browser.post(target, fields));
    }
}

#[test]
fn sets_every_applicable_cookie_flag() {
    for (flags, name, secure) in [
        (&UNLIMITED[..], "session", false),
        (&[&UNLIMITED[..], &["--public-url", "http://data.test"]].concat()[..], "session", false),
        (
            &[&UNLIMITED[..], &["--public-url", "https://data.test/market"]].concat()[..],
            "__Host-session",
            true,
        ),
    ] {
        let site = Site::empty(flags);
        let browser = Browser::signed_in(&site, EMAIL);
        let again = browser.post("/account/sign-in", &[("email", EMAIL), ("password", PASSWORD)]);
        let cookie = again.header("Set-Cookie").unwrap();
        let (pair, rest) = cookie.split_once("; ").unwrap();
        let (own, value) = pair.split_once('=').unwrap();
        assert_eq!(own, name);
        assert!(value.len() == 43 && value.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        let expected = format!(
            "Path=/; Max-Age=2592000; HttpOnly; SameSite=Lax{}",
            if secure { "; Secure" } else { "" }
        );
        assert_eq!(rest, expected);
        assert_eq!(browser.get("/account").status, 200);
        let out = browser.post("/account/sign-out", &[]);
        let cleared = out.header("Set-Cookie").unwrap();
        assert!(
            cleared.starts_with(&format!("{name}=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax")),
            "{cleared}"
        );
        assert_eq!(cleared.contains("Secure"), secure);
    }
    let site = Site::empty(&[&UNLIMITED[..], &["--public-url", "https://data.test"]].concat());
    let browser = Browser::signed_in(&site, EMAIL);
    let plain = ask("/account").header("Cookie", &format!("session={}", browser.session().unwrap()));
    assert_eq!(site.send(&plain).status, 303, "a name that other hosts can set is not believed");
}

#[test]
fn rejects_oversized_malformed_and_unknown_forms() {
    let site = Site::empty(&UNLIMITED);
    Browser::signed_in(&site, EMAIL);
    let send = |content_type: &str, body: &[u8]| {
        let ask = Ask::new("POST", "/account/sign-in")
            .header("Accept", BROWSER)
            .header("Sec-Fetch-Site", "same-origin");
        site.send(&ask.header("Content-Type", content_type).body(body)).status
    };
    let form = "application/x-www-form-urlencoded";
    let right = encoded(&[("email", EMAIL), ("password", PASSWORD)]);
    assert_eq!(send(form, right.as_bytes()), 303);
    assert_eq!(send(&format!("{form}; charset=UTF-8"), right.as_bytes()), 303);
    for other in ["application/json", "multipart/form-data; boundary=x", "text/plain", ""] {
        assert_eq!(send(other, right.as_bytes()), 415, "{other}");
    }
    assert_eq!(send(form, format!("{right}&next={}", "a".repeat(16 * 1024)).as_bytes()), 413);
    assert_eq!(send(form, &vec![b'a'; 2 * 1024 * 1024]), 413);
    for wrong in [
        format!("{right}&email=eve%40example.org"),
        format!("{right}&admin=1"),
        format!("{right}&next={}", "a".repeat(13 * 1024)),
        format!("{right}&next=%ff"),
        format!("{right}&next=%zz"),
        format!("{right}&next=a b"),
        format!("{right}&next=é"),
        format!("{right}{}", "&x=1".repeat(100)),
    ] {
        assert_eq!(
            send(form, wrong.as_bytes()),
            400,
            "{}",
            &wrong[right.len()..wrong.len().min(right.len() + 40)]
        );
    }
    let coded =
        Ask::new("POST", "/account/sign-in").header("Content-Encoding", "gzip").header("Content-Type", form);
    assert_eq!(site.send(&coded.header("Sec-Fetch-Site", "same-origin").body(right.as_bytes())).status, 415);
    assert_eq!(send(form, b""), 422, "an empty form is an empty form");
}

#[test]
fn counts_account_area_against_request_limits() {
    let site = Site::empty(&["--requests-per-minute", "4", "--requests-per-day", "0"]);
    let browser = Browser::new(&site);
    for _ in 0..4 {
        assert_eq!(browser.get("/account/sign-in").status, 200);
    }
    let refused = browser.post("/account/sign-in", &[("email", EMAIL), ("password", PASSWORD)]);
    assert_eq!(refused.status, 429);
    assert!(refused.header("Retry-After").is_some() && refused.text().contains("Too many requests"));
    assert_eq!(site.running().app().sign_ins.passwords().computed(), 0);
}
