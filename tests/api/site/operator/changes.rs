//! The operator's forms change the same as the commands.

use serde_json::{Value, json};

use super::super::browser::{Browser, EMAIL, PASSWORD};
use super::{Document, Operator, check_done, check_refused, once_of};
use crate::harness::{Ask, MANIFEST, Site, city_columns, exchange};

const ACCOUNT: &str = "/operator/accounts/acc_1";

/// The answer to a command over the admin listener.
#[track_caller]
fn command(site: &Site, command: &Value) -> Value {
    let token = format!("Bearer {}", site.admin_token());
    let ask = Ask::post("/admin/v1/commands", &command.to_string()).header("Authorization", &token);
    let answer = exchange(site.admin_address(), &ask);
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["data"].clone()
}

/// The entries of the books, without what differs between two of the same.
fn entries(site: &Site) -> Vec<Value> {
    let all = command(site, &json!({"command": "readEntries", "first": 1, "limit": 1000}));
    let mut entries = all["entries"].as_array().unwrap().clone();
    for entry in &mut entries {
        for differing in ["sequence", "at", "balance"] {
            entry.as_object_mut().unwrap().remove(differing);
        }
    }
    entries
}

#[test]
fn leaves_same_entries_as_commands() {
    let site = Site::with_cities();
    let operator = Operator::signed_in(&site);
    let created = operator.fill_in("/operator/accounts", "create", &[("name", "By page")]);
    check_done(&created, "/operator/accounts/acc_1?done=created");
    command(&site, &json!({"command": "createAccount", "name": "By page"}));
    let accounts = command(&site, &json!({"command": "listAccounts"}))["accounts"].clone();
    assert_eq!((&accounts[0]["name"], &accounts[1]["name"]), (&"By page".into(), &"By page".into()));

    let granted = operator.fill_in(ACCOUNT, "grant", &[("credits", "70"), ("note", "welcome")]);
    check_done(&granted, "/operator/accounts/acc_1?done=granted");
    let bought = operator.fill_in(
        ACCOUNT,
        "buy",
        &[("credits", "1000"), ("cents", "450"), ("reference", "INV-7"), ("note", "bank")],
    );
    check_done(&bought, "/operator/accounts/acc_1?done=bought");
    check_done(
        &operator.fill_in(ACCOUNT, "buy", &[("credits", "3")]),
        "/operator/accounts/acc_1?done=bought",
    );
    command(&site, &json!({"command": "grantCredits", "account": "acc_2", "credits": 70, "note": "welcome"}));
    let invoice = json!({"command": "buyCredits", "account": "acc_2", "credits": 1000, "cents": 450,
        "reference": "INV-8", "note": "bank"});
    command(&site, &invoice);
    command(&site, &json!({"command": "buyCredits", "account": "acc_2", "credits": 3}));
    let (by_page, by_command): (Vec<Value>, Vec<Value>) =
        entries(&site).into_iter().partition(|entry| entry["account"] == "acc_1");
    let plain = |entry: &Value| {
        let mut entry = entry.clone();
        entry.as_object_mut().unwrap().remove("account");
        // A request has a number of its own; a reference is what was typed.
        let id = entry.as_object_mut().unwrap().remove("requestId").unwrap();
        (entry, id.as_str().unwrap().starts_with("INV-"))
    };
    assert_eq!(
        by_page.iter().map(plain).collect::<Vec<_>>(),
        by_command.iter().map(plain).collect::<Vec<_>>()
    );
    assert_eq!((by_page.len(), &by_page[1]["requestId"]), (3, &"INV-7".into()));

    let again = operator.fill_in(
        ACCOUNT,
        "buy",
        &[("credits", "1000"), ("cents", "450"), ("reference", "INV-7"), ("note", "bank")],
    );
    check_done(&again, "/operator/accounts/acc_1?done=bought-before");
    let taken = operator.fill_in(ACCOUNT, "buy", &[("credits", "9"), ("reference", "INV-7")]);
    check_refused(&taken, "INV-7 was entered before");
    assert_eq!(site.running().app().ledger.accounts()[0].credits(), 1_073);
    let page = operator.open(ACCOUNT);
    assert_eq!(page.one("main p.balance").line(), "1,073 credits");
    assert!(
        page.rows("main tbody tr")[0].contains("purchase +3 1,073 €0.02"),
        "{:?}",
        page.rows("main tbody tr")
    );
}

#[test]
fn does_each_form_once() {
    let site = Site::with_cities();
    site.paying_key(10);
    let operator = Operator::signed_in(&site);
    let once = once_of(&operator.open(ACCOUNT), "grant");
    let fields = [("action", "grant"), ("once", &once), ("credits", "5")];
    check_done(&operator.post(ACCOUNT, &fields), "/operator/accounts/acc_1?done=granted");
    check_done(&operator.post(ACCOUNT, &fields), "/operator/accounts/acc_1?done=repeated");
    let more = [("action", "grant"), ("once", once.as_str()), ("credits", "500")];
    check_done(&operator.post(ACCOUNT, &more), "/operator/accounts/acc_1?done=repeated");
    let told = operator.open("/operator/accounts/acc_1?done=repeated");
    assert!(told.one("main .notice[role=status]").line().contains("already been sent"));
    assert_eq!(site.running().app().ledger.accounts()[0].credits(), 15);
    for once in ["", &"x".repeat(65)] {
        let answer = operator.post(ACCOUNT, &[("action", "grant"), ("once", once), ("credits", "5")]);
        assert_eq!(answer.status, 400, "{once}");
    }
    assert_eq!(operator.post(ACCOUNT, &[("action", "burn"), ("once", "a")]).status, 400);
    assert_eq!(site.running().app().ledger.accounts()[0].credits(), 15);
}

#[test]
fn returns_refused_form_with_typed_values() {
    let site = Site::with_cities();
    site.paying_key(10);
    let operator = Operator::signed_in(&site);
    let long = "x".repeat(201);
    for (action, fields, told) in [
        ("grant", vec![("credits", "abc"), ("note", "kept")], "“abc” is not a whole number"),
        ("grant", vec![("credits", "-5")], "“-5” is not"),
        ("grant", vec![("credits", "")], "is not a whole number"),
        ("grant", vec![("credits", "0")], "credits"),
        ("grant", vec![("credits", "99999999999999")], "credits"),
        ("grant", vec![("credits", "5"), ("note", &long)], "note"),
        ("buy", vec![("credits", "5"), ("cents", "4.5")], "“4.5” is not"),
        ("key", vec![("label", &long)], "label"),
        ("key", vec![("end", "tomorrow"), ("label", "kept")], "expiresAt"),
        ("key", vec![("day", "+1")], "“+1” is not"),
    ] {
        let page = check_refused(&operator.fill_in(ACCOUNT, action, &fields), told);
        for (name, value) in fields.iter().filter(|(_, value)| !value.is_empty()) {
            let field = page.one(&format!("main input#{action}-{name}"));
            assert_eq!(field.attribute("value"), Some(*value), "{action}");
        }
    }
    check_refused(&operator.fill_in("/operator/accounts", "create", &[("name", &long)]), "name");
    let ledger = &site.running().app().ledger;
    let account = &ledger.accounts()[0];
    assert_eq!((ledger.accounts().len(), account.credits(), ledger.keys(account.id()).len()), (1, 10, 1));
}

#[test]
fn creates_limits_rotates_and_revokes_keys() {
    let site = Site::with_cities();
    site.paying_key(1_000);
    let operator = Operator::signed_in(&site);
    let fields = [("label", "etl"), ("day", "6"), ("datasets", "cities\r\ntowns"), ("end", "2999-12-31")];
    let made = super::read(ACCOUNT, &operator.fill_in(ACCOUNT, "key", &fields));
    let key = made.one("main pre#secret").text.clone();
    assert!(key.starts_with("mk_") && key.len() == 52, "{key}");
    assert!(!operator.get(ACCOUNT).text().contains(&key), "it is shown once");
    assert_eq!(site.query("cities", &key, "{}").status, 200);
    assert_eq!(site.query("cities", &key, "{}").refusal().2, "KEY_CAP_REACHED");

    let page = operator.open("/operator/keys/key_2");
    let present =
        |name: &str| page.one(&format!("main input#limit-{name}")).attribute("value").map(str::to_owned);
    assert_eq!(present("day").as_deref(), Some("6"));
    assert_eq!(present("end").as_deref(), Some("3000-01-01T00:00:00.000Z"));
    let boxes = page.select("main fieldset#limit-datasets input[type=checkbox]");
    let ticked: Vec<_> = boxes.iter().filter(|one| one.attribute("checked").is_some()).collect();
    assert_eq!(
        ticked.iter().map(|one| one.attribute("value").unwrap()).collect::<Vec<_>>(),
        ["cities", "towns"]
    );
    let end = present("end").unwrap();
    let limits = [("day", ""), ("month", "500"), ("datasets", "cities"), ("end", end.as_str())];
    check_done(
        &operator.fill_in("/operator/keys/key_2", "limit", &limits),
        "/operator/keys/key_2?done=limited",
    );
    let shown = command(&site, &json!({"command": "listKeys", "account": "acc_1"}))["keys"][1].clone();
    assert_eq!(
        shown["limits"],
        json!({"creditsPerDay": null, "creditsPerMonth": 500, "datasets": ["cities"]})
    );
    assert_eq!(shown["expiresAt"], "3000-01-01T00:00:00.000Z");
    assert_eq!(site.query("cities", &key, "{}").status, 200);
    check_refused(&operator.fill_in("/operator/keys/key_2", "limit", &[("end", "never")]), "expiresAt");

    let rotated = operator.fill_in("/operator/keys/key_2", "rotate", &[("grace", "0")]);
    let new = super::read("rotated", &rotated).one("main pre#secret").text.clone();
    assert_eq!(site.query("cities", &key, "{}").status, 401);
    assert_eq!(site.query("cities", &new, "{}").status, 200);
    assert!(operator.open("/operator/keys/key_2").select("main form.form").is_empty(), "it has ended");

    let unticked = operator.fill_in("/operator/keys/key_3", "revoke", &[]);
    check_refused(&unticked, "Tick the box");
    assert_eq!(site.query("cities", &new, "{}").status, 200);
    let revoked = operator.fill_in("/operator/keys/key_3", "revoke", &[("confirm", "yes")]);
    check_done(&revoked, "/operator/keys/key_3?done=revoked");
    assert_eq!(site.query("cities", &new, "{}").refusal().2, "API_KEY_REVOKED");
    for target in
        ["/operator/keys/key_9", "/operator/keys/x", "/operator/accounts/acc_9", "/operator/accounts/x"]
    {
        assert_eq!(operator.get(target).status, 404, "{target}");
        assert_eq!(operator.post(target, &[("action", "revoke"), ("once", "a")]).status, 404, "{target}");
    }
}

#[test]
fn resets_password_ends_sessions_and_closes_account() {
    let site = Site::with_cities();
    let customer = Browser::signed_in(&site, EMAIL);
    let key = customer.new_key(&[("label", "own")]);
    let operator = Operator::signed_in(&site);
    let page = operator.open(ACCOUNT);
    assert_eq!(page.one("h1").line(), EMAIL);
    let made = super::read(ACCOUNT, &operator.fill_in(ACCOUNT, "reset", &[]));
    let token = made.one("main pre#secret").text.clone();
    assert_eq!(made.one("main pre#link").text, format!("/account/reset?token={token}"));
    let password = "seven green goats";
    let reset = customer.post("/account/reset", &[("token", &token), ("password", password)]);
    assert_eq!(reset.status, 303, "{}", reset.text());
    assert_eq!(customer.get("/account").status, 303, "a new password ends the sessions");

    customer.sign_in(EMAIL, password);
    assert_eq!(customer.get("/account").status, 200);
    let ended = operator.fill_in(ACCOUNT, "sessions", &[]);
    check_done(&ended, "/operator/accounts/acc_1?done=sessions-ended");
    assert_eq!(customer.get("/account").status, 303);
    assert!(operator.open(ACCOUNT).one("main").line().contains("Nobody is signed in."));

    check_refused(&operator.fill_in(ACCOUNT, "close", &[]), "Tick the box");
    assert_eq!(site.query("cities", &key, "{}").status, 200);
    let closed = operator.fill_in(ACCOUNT, "close", &[("confirm", "yes")]);
    check_done(&closed, "/operator/accounts/acc_1?done=closed");
    assert_eq!(site.query("cities", &key, "{}").refusal().2, "API_KEY_REVOKED");
    let refused = customer.post("/account/sign-in", &[("email", EMAIL), ("password", PASSWORD)]);
    assert_eq!(refused.status, 422);
    let page = operator.open(ACCOUNT);
    assert!(page.one("main").line().contains("This account is closed"));
    assert!(page.select("main form.form").is_empty());
    let late = operator.post(ACCOUNT, &[("action", "key"), ("once", "late"), ("label", "late")]);
    assert_eq!(late.status, 422, "{}", late.text());
    assert!(Document::parse(&late.text()).one("main p.problem[role=alert]").line().contains("closed"));
    let ledger = &site.running().app().ledger;
    assert_eq!(ledger.keys(ledger.accounts()[0].id()).len(), 1);
}

#[test]
fn refuses_password_reset_without_login() {
    let site = Site::with_cities();
    site.paying_key(10);
    let operator = Operator::signed_in(&site);
    assert!(
        operator
            .open(ACCOUNT)
            .select("main form input[name=once]")
            .iter()
            .all(|input| { !input.attribute("value").unwrap().ends_with("-reset") })
    );
    let answer = operator.post(ACCOUNT, &[("action", "reset"), ("once", "a")]);
    assert_eq!(answer.status, 422);
    assert!(Document::parse(&answer.text()).one("main p.problem[role=alert]").line().contains("no login"));
}

#[test]
fn serves_other_version_and_withdraws_dataset() {
    let site = Site::with_cities();
    site.publish("cities", MANIFEST, "1.1.0", &city_columns(9));
    let operator = Operator::signed_in(&site);
    let target = "/operator/datasets/cities";
    check_refused(&operator.fill_in(target, "rollback", &[("version", "one")]), "Enter a version");
    check_refused(&operator.fill_in(target, "rollback", &[("version", "3.0.0")]), "3.0.0");
    let back = operator.fill_in(target, "rollback", &[("version", "1.0.0")]);
    check_done(&back, "/operator/datasets/cities?done=rolled-back");
    assert!(site.serves("cities", "1.0.0"), "at once");
    check_refused(&operator.fill_in(target, "withdraw", &[]), "Tick the box");
    assert!(site.serves("cities", "1.0.0"));
    let gone = operator.fill_in(target, "withdraw", &[("confirm", "yes")]);
    check_done(&gone, "/operator/datasets?done=withdrawn");
    assert_eq!(site.get("/api/v1/datasets/cities").status, 404);
    let page = operator.open("/operator/publications");
    assert!(page.one("main ul.unpublished li").line().starts_with("cities: unpublished by the operator"));
    let back = operator.fill_in("/operator/publications", "republish", &[("dataset", "cities")]);
    check_done(&back, "/operator/publications?done=republished");
    assert!(site.serves("cities", "1.0.0"), "as before, at once");
    let target = "/operator/publications";
    let unknown = [("action", "republish"), ("once", "x-republish"), ("dataset", "rivers")];
    let refused = operator.post(target, &unknown);
    let problem = Document::parse(&refused.text()).one("main p.problem[role=alert]").line();
    assert!(refused.status == 422 && problem.contains("rivers"), "{problem}");
}
