//! Attacks on the operator's pages: from the public listener, from other sites, with stolen or planted cookies, and by texts of
//! publishers and customers.

use super::super::browser::{Browser, bare_form, encoded};
use super::super::security::check_harmless;
use super::super::{BROWSER, UNLIMITED};
use super::pages::{begin_checkout, pay};
use super::{Document, Operator, PAGES, once_of};
use crate::harness::{Ask, Site, city_columns, exchange, now, publish_files, wait_until};

/// Every form, with fields that would do something.
const FORMS: [(&str, &[(&str, &str)]); 12] = [
    ("/operator/accounts", &[("action", "create"), ("name", "foreign")]),
    ("/operator/accounts/acc_1", &[("action", "grant"), ("credits", "5")]),
    ("/operator/accounts/acc_1", &[("action", "buy"), ("credits", "5")]),
    ("/operator/accounts/acc_1", &[("action", "key"), ("label", "foreign")]),
    ("/operator/accounts/acc_1", &[("action", "reset")]),
    ("/operator/accounts/acc_1", &[("action", "sessions")]),
    ("/operator/accounts/acc_1", &[("action", "close"), ("confirm", "yes")]),
    ("/operator/keys/key_1", &[("action", "limit"), ("day", "1")]),
    ("/operator/keys/key_1", &[("action", "rotate"), ("grace", "0")]),
    ("/operator/keys/key_1", &[("action", "revoke"), ("confirm", "yes")]),
    ("/operator/datasets/cities", &[("action", "withdraw"), ("confirm", "yes")]),
    ("/operator/publications", &[("action", "scan")]),
];

/// The form with a number of its own.
fn form(place: usize, fields: &[(&str, &str)]) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> =
        fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    all.push(("once".to_owned(), format!("number-{place}")));
    all
}

fn borrowed(fields: &[(String, String)]) -> Vec<(&str, &str)> {
    fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

/// Asserts that none of the forms has done anything.
#[track_caller]
fn check_unchanged(site: &Site, key: &str) {
    let ledger = &site.running().app().ledger;
    let accounts = ledger.accounts();
    let keys = ledger.keys(accounts[0].id());
    assert_eq!((accounts.len(), keys.len(), accounts[0].credits()), (1, 1, 1_000));
    assert!(keys[0].revoked_at.is_none() && !keys[0].limits.has_caps() && accounts[0].closed_at().is_none());
    assert!(site.serves("cities", "1.0.0"));
    assert_eq!(site.send(&Ask::get("/api/v1/account").header("X-Api-Key", key)).status, 200);
}

#[test]
fn serves_pages_on_admin_listener_only() {
    let site = Site::with_cities();
    let key = site.paying_key(1_000);
    let operator = Operator::signed_in(&site);
    let cookie = format!("operator={}", operator.cookies.borrow()["operator"]);
    let bearer = format!("Bearer {}", site.admin_token());
    let further =
        ["/operator/sign-in", "/operator/sign-out", "/operator/keys/key_1", "/operator/", "//operator"];
    for target in PAGES.into_iter().chain(further) {
        for method in ["GET", "HEAD", "POST", "PUT", "DELETE"] {
            let ask = Ask::new(method, target)
                .header("Accept", BROWSER)
                .header("Cookie", &cookie)
                .header("Authorization", &bearer)
                .header("Sec-Fetch-Site", "same-origin")
                .header("Content-Type", "application/x-www-form-urlencoded");
            let ask = if method == "POST" { ask.body(b"action=grant&once=a&credits=5") } else { ask };
            let answer = exchange(site.address(), &ask);
            assert_eq!(answer.status, 404, "{method} {target}");
            assert!(!answer.text().contains("account-bar"), "{method} {target}");
        }
    }
    let sign_in = bare_form("/operator/sign-in", &[("token", &site.admin_token())]);
    let answer = exchange(site.address(), &sign_in.header("Sec-Fetch-Site", "same-origin"));
    assert_eq!((answer.status, answer.header("Set-Cookie")), (404, None));
    for page in ["/", "/datasets", "/status", "/pricing", "/account/sign-in", "/robots.txt", "/sitemap.xml"] {
        assert!(!site.get(page).text().contains("operator/"), "{page} leads to the operator's pages");
    }
    check_unchanged(&site, &key);
}

#[test]
fn requires_sign_in_for_every_page_and_form() {
    let site = Site::with_cities();
    let key = site.paying_key(1_000);
    let operator = Operator::signed_in(&site);
    let own = operator.cookies.borrow()["operator"].clone();
    let token = site.admin_token();
    assert_ne!(own, token, "the cookie is not the token");
    let cookies = [
        String::new(),
        format!("operator={token}"),
        format!("operator={}", "A".repeat(43)),
        format!("session={own}"),
        format!("Operator={own}"),
        format!("operator={}", &own[..42]),
    ];
    for cookie in &cookies {
        for target in PAGES.into_iter().chain(["/operator/keys/key_1", "/operator/accounts/acc_77"]) {
            let ask = Ask::get(target).header("Accept", BROWSER).header("Cookie", cookie);
            let answer = exchange(site.admin_address(), &ask);
            let expected = format!("/operator/sign-in?next={}", target.replace('/', "%2F"));
            assert_eq!(
                (answer.status, answer.header("Location")),
                (303, Some(expected.as_str())),
                "{cookie}"
            );
            assert!(answer.body.is_empty());
        }
        for (place, (target, fields)) in FORMS.into_iter().enumerate() {
            let fields = form(place, fields);
            let ask = bare_form(target, &borrowed(&fields)).header("Sec-Fetch-Site", "same-origin");
            let answer = exchange(site.admin_address(), &ask.header("Cookie", cookie));
            assert_eq!(answer.status, 303, "{target}");
            assert!(answer.header("Location").unwrap().starts_with("/operator/sign-in?"), "{target}");
        }
    }
    let bearer = Ask::get("/operator").header("Authorization", &format!("Bearer {token}"));
    assert_eq!(exchange(site.admin_address(), &bearer).status, 303, "pages know the cookie alone");
    let admin = Ask::new("POST", "/admin/v1/catalog/reload").body(b"");
    for header in [("Cookie", format!("operator={own}")), ("Authorization", format!("Bearer {own}"))] {
        let answer = exchange(site.admin_address(), &admin.clone().header(header.0, &header.1));
        assert_eq!(answer.status, 401, "the cookie opens pages alone");
    }
    check_unchanged(&site, &key);
}

#[test]
fn refuses_cross_site_forms_without_effect() {
    let site = Site::with_cities();
    let key = site.paying_key(1_000);
    let operator = Operator::signed_in(&site);
    let foreign: [&[(&str, &str)]; 9] = [
        &[],
        &[("Sec-Fetch-Site", "cross-site")],
        // Another port of this host is of the same site, and cookies reach it.
        &[("Sec-Fetch-Site", "same-site")],
        &[("Sec-Fetch-Site", "cross-site"), ("Origin", "http://mercato.test")],
        &[("Sec-Fetch-Site", "same-origin"), ("Sec-Fetch-Site", "cross-site")],
        &[("Origin", "http://evil.test")],
        &[("Origin", "null")],
        &[("Origin", "http://mercato.test:8080")],
        &[("Referer", "http://mercato.test/operator")],
    ];
    let token = site.admin_token();
    let sign_in = [("/operator/sign-in", vec![("token", token.as_str())]), ("/operator/sign-out", vec![])];
    for headers in foreign {
        for (place, (target, fields)) in FORMS.into_iter().enumerate() {
            let fields = form(place, fields);
            let ask = bare_form(target, &borrowed(&fields));
            let ask = headers.iter().fold(ask, |ask, (name, value)| ask.header(name, value));
            let answer = operator.send(ask);
            assert_eq!(answer.status, 403, "{target} {headers:?}");
            let page = Document::parse(&answer.text());
            assert!(page.one("main").line().contains("not sent from this site"), "{target}");
        }
        for (target, fields) in &sign_in {
            let ask = bare_form(target, fields);
            let ask = headers.iter().fold(ask, |ask, (name, value)| ask.header(name, value));
            let answer = operator.send(ask);
            assert_eq!((answer.status, answer.header("Set-Cookie")), (403, None), "{target} {headers:?}");
        }
    }
    check_unchanged(&site, &key);
    assert_eq!(operator.get("/operator").status, 200, "nobody signed it out");
    let own: [&[(&str, &str)]; 3] = [
        &[("Sec-Fetch-Site", "none")],
        &[("Origin", "http://mercato.test")],
        &[("Origin", "http://mercato.test:80")],
    ];
    for (place, headers) in own.into_iter().enumerate() {
        let fields = form(place, &[("action", "scan")]);
        let ask = bare_form("/operator/publications", &borrowed(&fields));
        let ask = headers.iter().fold(ask, |ask, (name, value)| ask.header(name, value));
        assert_eq!(operator.send(ask).status, 303, "{headers:?}");
    }
}

#[test]
fn changes_nothing_without_posted_form() {
    let site = Site::with_cities();
    let key = site.paying_key(1_000);
    let operator = Operator::signed_in(&site);
    for method in ["GET", "HEAD", "PUT", "DELETE", "PATCH"] {
        for (place, (target, fields)) in FORMS.into_iter().enumerate() {
            let fields = form(place, fields);
            let ask = Ask::new(method, &format!("{target}?{}", encoded(&borrowed(&fields))));
            let answer = operator.send(ask.header("Accept", BROWSER).header("Sec-Fetch-Site", "same-origin"));
            assert!([200, 405, 501].contains(&answer.status), "{method} {target}: {}", answer.status);
        }
    }
    check_unchanged(&site, &key);
    assert_eq!(operator.get("/operator/sign-out").status, 405);
}

#[test]
fn sets_strict_cookie_and_ends_it_with_sign_out_and_restart() {
    let mut site = Site::over(tempfile::tempdir().unwrap(), &["--public-url", "https://data.test/market"]);
    let operator = Operator::new(&site);
    let answer = operator.sign_in(&[("token", &format!(" {}\n", site.admin_token()))]);
    // The public address, its path and its TLS are those of the other listener.
    assert_eq!((answer.status, answer.header("Location")), (303, Some("/operator")));
    let cookie = answer.header("Set-Cookie").unwrap();
    let (pair, rest) = cookie.split_once("; ").unwrap();
    assert_eq!(rest, "Path=/operator; Max-Age=28800; HttpOnly; SameSite=Strict");
    assert_eq!(pair.len(), "operator=".len() + 43);
    assert!(
        operator
            .open("/operator")
            .one("link[rel=stylesheet]")
            .attribute("href")
            .unwrap()
            .starts_with("/assets/")
    );
    let again = operator.sign_in(&[("token", &site.admin_token())]);
    assert_ne!(again.header("Set-Cookie"), Some(cookie));
    let old = Ask::get("/operator").header("Cookie", pair);
    assert_eq!(exchange(site.admin_address(), &old).status, 303, "a new sign-in ends the one before");
    let kept = operator.cookies.borrow().clone();
    let out = operator.post("/operator/sign-out", &[]);
    assert_eq!(out.header("Location"), Some("/operator/sign-in?done=signed-out"));
    assert_eq!(
        out.header("Set-Cookie"),
        Some("operator=; Path=/operator; Max-Age=0; HttpOnly; SameSite=Strict")
    );
    *operator.cookies.borrow_mut() = kept;
    assert_eq!(operator.get("/operator").status, 303, "the server knows that it has ended");
    assert_eq!(operator.sign_in(&[("token", &site.admin_token())]).status, 303);
    let pair = format!("operator={}", operator.cookies.borrow()["operator"]);
    drop(operator);
    let folder = site.data().root().to_owned();
    assert!(site.stop());
    let restarted = Site::at(&folder, &UNLIMITED);
    let ask = Ask::get("/operator").header("Cookie", &pair);
    assert_eq!(exchange(restarted.admin_address(), &ask).status, 303, "a start ends all of them");
}

#[test]
fn rejects_wrong_tokens_and_leads_to_own_pages_only() {
    let site = Site::with_cities();
    let token = site.admin_token();
    for wrong in
        ["", "x", &token[..token.len() - 1], &format!("{token}x"), &token.to_uppercase(), &"x".repeat(9_000)]
    {
        let operator = Operator::new(&site);
        let answer = operator.sign_in(&[("token", wrong)]);
        assert_eq!((answer.status, answer.header("Set-Cookie")), (422, None), "{wrong}");
        let page = Document::parse(&answer.text());
        assert_eq!(page.one("main input[type=password]").attribute("value"), None);
        assert!(page.one("main p.problem").line().contains("admin.token"));
        assert!(!answer.text().contains(&token[..20]));
    }
    for (next, expected) in [
        ("", "/operator"),
        ("/operator/accounts?q=a+b", "/operator/accounts?q=a%20b"),
        ("//evil.test", "/operator"),
        ("/operator/../..//evil.test", "/operator"),
        ("/operator\\@evil.test", "/operator"),
        ("https://evil.test/operator", "/operator"),
        ("/metrics", "/operator"),
    ] {
        let operator = Operator::new(&site);
        let answer = operator.sign_in(&[("token", &token), ("next", next)]);
        assert_eq!((answer.status, answer.header("Location")), (303, Some(expected)), "{next}");
        let shown = operator.get(&format!("/operator/sign-in?{}", encoded(&[("next", next)])));
        assert_eq!(shown.header("Location"), Some(expected), "{next}");
    }
}

const ATTACK: &str = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>{{7*7}}&lt;";

#[test]
fn escapes_texts_of_customers_publishers_and_addresses() {
    let site = Site::empty(&UNLIMITED);
    let escaped = ATTACK.replace('"', "\\\"");
    let titled = format!("slug = \"cities\"\n[title]\nen = \"{escaped}\"\nit = \"{escaped}\"\n");
    publish_files(&site.data(), &titled, "1.0.0", &city_columns(6), &[]);
    let broken = site.data().datasets().join("broken");
    std::fs::create_dir_all(broken.join("versions")).unwrap();
    std::fs::write(broken.join("versions/1.0.0.mcol"), "x").unwrap();
    std::fs::write(broken.join("versions/.<b>x"), "x").unwrap();
    std::fs::write(broken.join("dataset.toml"), format!("slug = \"{escaped}\"")).unwrap();
    wait_until("it is served", || site.serves("cities", "1.0.0"));
    let customer = Browser::signed_in(&site, "'{}/**/`$a@example.org");
    let key = customer.new_key(&[("label", ATTACK)]);
    assert_eq!(site.query("cities", &key, "{}").status, 200);
    let ledger = &site.running().app().ledger;
    let named = ledger.create_account(ATTACK, now()).unwrap();
    ledger.buy(named, 5, None, ATTACK, ATTACK, now()).unwrap();
    pay(ledger, &begin_checkout(ledger, named, 100, 50), ATTACK);
    ledger.grant(ledger.accounts()[0].id(), 5, ATTACK, ATTACK, now()).unwrap();
    let operator = Operator::signed_in(&site);
    let stranger = Operator::new(&site);
    wait_until("the broken one is found", || operator.get("/operator/datasets/broken").status == 200);
    let mut targets: Vec<String> = PAGES.iter().map(ToString::to_string).collect();
    let further = ["/operator/accounts/acc_2", "/operator/keys/key_1", "/operator/datasets/broken"];
    targets.extend(further.map(str::to_owned));
    for name in ["q", "which", "page", "after", "before", "kind", "done", "next", "lang", "other"] {
        for page in PAGES {
            targets.push(format!("{page}?{}", encoded(&[(name, ATTACK)])));
        }
        targets.push(format!("/operator/sign-in?{}", encoded(&[(name, ATTACK)])));
    }
    targets.push(format!("/operator/{}", ATTACK.replace(['<', '>', ' ', '"', '{', '}'], "%3C")));
    for target in &targets {
        for answer in [operator.get(target), stranger.get(target)] {
            let page = Document::parse(&answer.text());
            if answer.status != 303 {
                assert!(page.errors.is_empty(), "{target}: {:?}", page.errors);
                check_harmless(target, &page);
            }
            let location = answer.header("Location").unwrap_or("/");
            assert!(location.starts_with('/') && !location.contains(['<', '"', '\'', ' ']), "{location}");
        }
    }
    for (target, shown) in [
        ("/operator/datasets", "<script>alert(1)"),
        ("/operator/datasets/cities", "<script>alert(1)"),
        ("/operator/accounts", "<script>alert(1)"),
        ("/operator/accounts/acc_1", "<script>alert(1)"),
        ("/operator/accounts/acc_2?kind=purchases", "<script>alert(1)"),
        ("/operator/payments", "<script>alert(1)"),
        ("/operator/publications", ".<b>x"),
    ] {
        assert!(operator.open(target).one("main").text.contains(shown), "{target}: shown as it is written");
    }
    for (target, action, fields) in [
        ("/operator/accounts/acc_2", "grant", vec![("credits", ATTACK), ("note", ATTACK)]),
        (
            "/operator/accounts/acc_2",
            "key",
            vec![("end", ATTACK), ("datasets", "</textarea><script>alert(1)</script>")],
        ),
        ("/operator/datasets/cities", "rollback", vec![("version", ATTACK)]),
    ] {
        let answer = operator.fill_in(target, action, &fields);
        assert_eq!(answer.status, 422, "{target}");
        let page = Document::parse(&answer.text());
        assert!(page.errors.is_empty(), "{target}: {:?}", page.errors);
        check_harmless(target, &page);
    }
    let made = operator.fill_in("/operator/accounts/acc_2", "key", &[("label", ATTACK)]);
    check_harmless("a new key", &Document::parse(&made.text()));
}

#[test]
fn forbids_caching_and_framing_of_every_answer() {
    let site = Site::with_cities();
    site.paying_key(1_000);
    let operator = Operator::signed_in(&site);
    let stranger = Operator::new(&site);
    let once = once_of(&operator.open("/operator/accounts/acc_1"), "key");
    let secret = operator.post("/operator/accounts/acc_1", &[("action", "key"), ("once", &once)]);
    assert_eq!(secret.status, 200);
    let refused = stranger.sign_in(&[("token", "x")]);
    let mut answers = vec![secret, refused, operator.get("/operator/nowhere"), operator.get("/")];
    answers.extend(PAGES.iter().flat_map(|target| [operator.get(target), stranger.get(target)]));
    for answer in answers {
        assert_eq!(answer.header("Cache-Control"), Some("no-store"));
        assert_eq!((answer.header("ETag"), answer.header("X-Frame-Options")), (None, Some("DENY")));
        assert_eq!(answer.header("X-Content-Type-Options"), Some("nosniff"));
        assert_eq!(answer.header("Referrer-Policy"), Some("same-origin"));
        assert_eq!(answer.header("Access-Control-Allow-Origin"), None);
        let policy = answer.header("Content-Security-Policy").unwrap();
        assert!(policy.contains("frame-ancestors 'none'") && policy.contains("form-action 'self'"));
    }
}
