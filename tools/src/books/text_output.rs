//! Prints responses about the books as text.
//!
//! Depends on the fields of responses. JSON output is elsewhere.

use mercato_base::words::counted;
use serde_json::Value;

use crate::commands::print_text;
use crate::failure::Failure;

pub(super) fn created_account(response: &Value) -> Result<(), Failure> {
    print_text(&format!("account {} created: {}", text(response, "id"), text(response, "name")))
}

pub(super) fn accounts(response: &Value) -> Result<(), Failure> {
    list(response, "accounts").try_for_each(|account| {
        let (id, plan) = (text(account, "id"), text(account, "plan"));
        let (credits, name) = (text(account, "credits"), named(account));
        print_text(&format!("{id:12} {plan:8} {credits:>16} credits  {name}"))
    })
}

pub(super) fn account(response: &Value) -> Result<(), Failure> {
    print_text(&format!("{} {} ({})", text(response, "id"), named(response), text(response, "plan")))?;
    print_text(&format!("credits: {}, reserved: {}", text(response, "credits"), text(response, "reserved")))?;
    if is_set(response, "email") {
        let confirmed = match response.get("emailConfirmedAt").and_then(Value::as_str) {
            Some(at) => format!("confirmed {at}"),
            None => "not confirmed".to_owned(),
        };
        let sessions = counted(response.get("sessions").and_then(Value::as_u64).unwrap_or(0), "session");
        print_text(&format!("e-mail: {}, {confirmed}; {sessions} open", text(response, "email")))?;
    }
    if response.get("freeQueriesRemaining").is_some_and(|value| !value.is_null()) {
        let (left, reset) = (text(response, "freeQueriesRemaining"), text(response, "freeQueriesResetAt"));
        print_text(&format!("free queries left: {left}, begin anew at {reset}"))?;
    }
    keys(response)
}

/// The name of an account or its e-mail address, and whether it is closed.
fn named(account: &Value) -> String {
    let name = text(account, "name");
    let name = if name.is_empty() { text(account, "email") } else { name };
    match account.get("closedAt").and_then(Value::as_str) {
        Some(at) => format!("{name}, closed {at}").trim_start_matches(", ").to_owned(),
        None => name,
    }
}

pub(super) fn password_reset(response: &Value) -> Result<(), Failure> {
    let (account, email) = (text(response, "account"), text(response, "email"));
    let (token, end) = (text(response, "token"), text(response, "expiresAt"));
    print_text(&format!("{account} {email}: a new password can be set once, until {end}, with this token"))?;
    print_text(&format!("{token}\nThis token is shown only now. Whoever has it can take the account over."))
}

pub(super) fn password_set(response: &Value) -> Result<(), Failure> {
    let (account, email) = (text(response, "account"), text(response, "email"));
    print_text(&format!("{account} {email}: the password is set, and all sessions have ended"))
}

pub(super) fn sessions(response: &Value) -> Result<(), Failure> {
    list(response, "sessions").try_for_each(|session| {
        let (opened, seen) = (text(session, "createdAt"), text(session, "lastSeenAt"));
        print_text(&format!("opened {opened}  last seen {seen}  ends {}", text(session, "endsAt")))
    })
}

pub(super) fn ended_sessions(response: &Value) -> Result<(), Failure> {
    let ended = counted(response.get("ended").and_then(Value::as_u64).unwrap_or(0), "session");
    print_text(&format!("{}: {ended} ended", text(response, "account")))
}

pub(super) fn closed_account(response: &Value) -> Result<(), Failure> {
    let left = counted(response.get("credits").and_then(Value::as_u64).unwrap_or(0), "credit");
    print_text(&format!("{}: closed, {left} left on it", text(response, "account")))
}

pub(super) fn balance(response: &Value) -> Result<(), Failure> {
    let (account, balance) = (text(response, "account"), text(response, "balance"));
    let credits = counted(response.get("credits").and_then(Value::as_u64).unwrap_or(0), "credit");
    let cents = response.get("cents").and_then(Value::as_u64).unwrap_or(0);
    let price = match cents {
        0 => String::new(),
        cents => format!(" for {}.{:02} EUR without VAT", cents / 100, cents % 100),
    };
    if response.get("replayed").and_then(Value::as_bool) == Some(true) {
        return print_text(&format!("{account}: this purchase was entered before, balance {balance}"));
    }
    print_text(&format!("{account}: {credits} added{price}, balance {balance}"))
}

pub(super) fn created_key(response: &Value) -> Result<(), Failure> {
    print_text(&format!("{} of {}{}", text(response, "id"), text(response, "account"), limits(response)))?;
    print_text(&format!("{}\nThis key is shown only now. Keep it in a secret store.", text(response, "key")))
}

pub(super) fn revoked_key(response: &Value) -> Result<(), Failure> {
    print_text(&format!("{} of {} is revoked", text(response, "id"), text(response, "account")))
}

pub(super) fn keys(response: &Value) -> Result<(), Failure> {
    list(response, "keys").try_for_each(|key| {
        let state = if is_set(key, "revokedAt") {
            format!("revoked {}", text(key, "revokedAt"))
        } else if is_set(key, "expiresAt") {
            format!("ends {}", text(key, "expiresAt"))
        } else if is_set(key, "lastUsedAt") {
            format!("last used {}", text(key, "lastUsedAt"))
        } else {
            "never used".to_owned()
        };
        print_text(&format!(
            "{:8} {}…  {state}  {}{}",
            text(key, "id"),
            text(key, "prefix"),
            text(key, "label"),
            limits(key)
        ))
    })
}

pub(super) fn key(response: &Value) -> Result<(), Failure> {
    let end = match response.get("expiresAt").and_then(Value::as_str) {
        Some(end) => format!("works until {end}"),
        None => "works without end".to_owned(),
    };
    print_text(&format!(
        "{} of {}  {end}{}",
        text(response, "id"),
        text(response, "account"),
        limits(response)
    ))
}

/// The limits of a key, as the end of its line.
fn limits(key: &Value) -> String {
    let cap = |field: &str, period: &str| {
        let cap = key.get("limits")?.get(field)?.as_u64()?;
        let spent = key.pointer(&format!("/spent/{period}")).and_then(Value::as_u64);
        let spent = spent.map(|spent| format!(", {spent} spent")).unwrap_or_default();
        Some(format!("  {} a {period}{spent}", counted(cap, "credit")))
    };
    let datasets = key.pointer("/limits/datasets").and_then(Value::as_array).into_iter().flatten();
    let datasets: Vec<&str> = datasets.filter_map(Value::as_str).collect();
    let caps = [cap("creditsPerDay", "day"), cap("creditsPerMonth", "month")];
    let only = (!datasets.is_empty()).then(|| format!("  only {}", datasets.join(", ")));
    caps.into_iter().chain([only]).flatten().collect()
}

pub(super) fn usage(response: &Value) -> Result<(), Failure> {
    list(response, "usage").try_for_each(|line| {
        let (day, dataset) = (text(line, "day"), text(line, "dataset"));
        let (requests, rows, credits) = (text(line, "requests"), text(line, "rows"), text(line, "credits"));
        let key = if is_set(line, "key") { format!("{:10} ", text(line, "key")) } else { String::new() };
        print_text(&format!(
            "{day}  {key}{dataset:32} {requests:>8} requests {rows:>12} rows {credits:>12} credits"
        ))
    })
}

pub(super) fn backup(response: &Value) -> Result<(), Failure> {
    let (path, records, bytes) = (text(response, "path"), text(response, "records"), text(response, "bytes"));
    print_text(&format!(
        "{path}: {records} records, {bytes} bytes, up to entry {}",
        text(response, "lastSequence")
    ))
}

pub(super) fn archived(response: &Value) -> Result<(), Failure> {
    if list(response, "segments").next().is_none() {
        return print_text("nothing was moved: a start needs every segment of the log that is there");
    }
    list(response, "segments").try_for_each(|segment| {
        let (first, last) = (text(segment, "firstRecord"), text(segment, "lastRecord"));
        let (path, bytes) = (text(segment, "path"), text(segment, "bytes"));
        print_text(&format!("{path}: records {first} to {last}, {bytes} bytes"))
    })
}

pub(super) fn verification(response: &Value) -> Result<(), Failure> {
    let (entries, accounts) = (text(response, "entries"), text(response, "accounts"));
    let (credits, open) = (text(response, "credits"), text(response, "openReservations"));
    print_text(&format!(
        "{entries} entries, {accounts} accounts, {credits} credits, {open} open reservations"
    ))?;
    if response.get("balanced").and_then(Value::as_bool) == Some(true) {
        return print_text("every balance is the sum of its entries");
    }
    let differences = response.get("differences").and_then(Value::as_array).into_iter().flatten();
    differences.filter_map(Value::as_str).try_for_each(print_text)
}

pub(super) fn payments(response: &Value) -> Result<(), Failure> {
    list(response, "payments").try_for_each(|payment| {
        let number = |name: &str| payment.get(name).and_then(Value::as_u64).unwrap_or(0);
        let euros = |cents: u64| format!("{}.{:02} {}", cents / 100, cents % 100, text(payment, "currency"));
        let (at, account, state) =
            (text(payment, "createdAt"), text(payment, "account"), text(payment, "state"));
        let (credits, gross) = (text(payment, "credits"), euros(number("grossCents")));
        let named = if is_set(payment, "payment") { text(payment, "payment") } else { text(payment, "id") };
        let amounts = [("refunded", "refundedCents"), ("disputed", "disputedCents")];
        let amounts = amounts.map(|(word, name)| (word, number(name)));
        let amounts = amounts.iter().filter(|(_, cents)| *cents > 0);
        let reversed: String = amounts.map(|(word, cents)| format!("  {word} {}", euros(*cents))).collect();
        print_text(&format!(
            "{at}  {account:10} {state:14} {credits:>12} credits {gross:>16}  {named}{reversed}"
        ))
    })
}

pub(super) fn reconciliation(response: &Value) -> Result<(), Failure> {
    let (listed, found) = (text(response, "listed"), text(response, "foundCount"));
    let unexplained = text(response, "unexplainedCount");
    print_text(&format!(
        "{listed} payments, refunds and disputes compared; {found} were not told, {unexplained} are unexplained"
    ))?;
    for payment in list(response, "found") {
        print_text(&format!("{}: {}", text(payment, "payment"), text(payment, "outcome")))?;
    }
    for payment in list(response, "unexplained") {
        print_text(&format!("{}: {}", text(payment, "id"), text(payment, "reason")))?;
    }
    if response.get("complete").and_then(Value::as_bool) == Some(false) {
        return print_text("the provider lists more than one comparison reads; the oldest were left out");
    }
    Ok(())
}

pub(super) fn added_relation(response: &Value) -> Result<(), Failure> {
    let is_changed = response.get("replaced").and_then(Value::as_bool) == Some(true);
    let done = if is_changed { "changed" } else { "added" };
    print_text(&format!("{done}: {}", relation_line(response)))
}

pub(super) fn removed_relations(response: &Value) -> Result<(), Failure> {
    list(response, "removed")
        .try_for_each(|relation| print_text(&format!("removed: {}", relation_line(relation))))
}

pub(super) fn relations(response: &Value) -> Result<(), Failure> {
    list(response, "relations").try_for_each(|relation| print_text(&relation_line(relation)))
}

fn relation_line(relation: &Value) -> String {
    let (from, to, kind) = (text(relation, "from"), text(relation, "to"), text(relation, "type"));
    let line = format!("{from} -> {to}  {kind}  weight {}", text(relation, "weight"));
    match text(relation, "description").as_str() {
        "" => line,
        description => format!("{line}  {description}"),
    }
}

pub(super) fn first_difference(response: &Value) -> &str {
    response.pointer("/differences/0").and_then(Value::as_str).unwrap_or("the report is not complete")
}

fn list<'v>(response: &'v Value, name: &str) -> impl Iterator<Item = &'v Value> {
    response.get(name).and_then(Value::as_array).into_iter().flatten()
}

fn is_set(value: &Value, name: &str) -> bool {
    value.get(name).is_some_and(|value| !value.is_null())
}

fn text(value: &Value, name: &str) -> String {
    match value.get(name) {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    }
}
