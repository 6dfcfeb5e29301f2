//! What an account may know about itself, and the health of the server.

use crate::http::openapi::parts::{
    Fields, Node, bounded, count, count_or_null, day, list, moment, moment_or_null, named, or_null, text,
    word,
};

pub(super) fn all() -> Vec<(&'static str, Node)> {
    vec![
        ("Account", account()),
        ("AccountKey", key()),
        ("Limit", limit()),
        ("Usage", usage()),
        (
            "Alive",
            Fields::closed("Liveness.")
                .has("status", word("Whether only a restart helps.", &["alive", "restart"]))
                .node(),
        ),
        ("Ready", ready()),
    ]
}

fn account() -> Node {
    let limit_or_null = |description| or_null(description, named("Limit"));
    let quota = Fields::closed("Request limits.")
        .has("scope", word("Whose they are.", &["key", "address"]))
        .has("minute", limit_or_null("Any 60 seconds."))
        .has("day", limit_or_null("The UTC day."));
    Fields::closed("The account of the key that asks.")
        .has("id", text("Its id."))
        .has("name", text("Its name."))
        .has("plan", word("Prepaid as soon as credits were ever bought.", &["free", "prepaid"]))
        .has("credits", count("Credits that can be spent."))
        .has("reserved", count("Credits that running streams hold."))
        .has("freeQueriesRemaining", count_or_null("Free queries left this month; null on the prepaid plan."))
        .has("freeQueriesResetAt", moment_or_null("When they begin anew; null on the prepaid plan."))
        .has("createdAt", moment("When it was opened."))
        .has("quota", quota.node())
        .has("keys", list("Its keys, without the keys themselves.", named("AccountKey")))
        .node()
}

fn limit() -> Node {
    Fields::closed("A limit of the key that asks.")
        .has("limit", count("Requests allowed."))
        .has("remaining", count("Requests left."))
        .has("resetAt", moment("When more are allowed."))
        .node()
}

fn key() -> Node {
    let limits = Fields::closed("What it may spend and read.")
        .has("creditsPerDay", count_or_null("Credits in a UTC day; null without a cap."))
        .has("creditsPerMonth", count_or_null("Credits in a UTC calendar month; null without a cap."))
        .has("datasets", list("The only datasets that it reads; all of them when empty.", text("Slug.")));
    let spent = Fields::closed("Credits spent of its caps, with those that its running streams hold.")
        .has("day", count_or_null("In the present UTC day; null without a cap on it."))
        .has("month", count_or_null("In the present UTC calendar month; null without a cap on it."));
    Fields::closed("A key, without the key itself.")
        .has("id", text("Its id."))
        .has("account", text("Whose it is."))
        .has("prefix", text("Its first characters."))
        .has("label", text("What its owner calls it."))
        .has("createdAt", moment("When it was made."))
        .has("lastUsedAt", moment_or_null("When it was last used."))
        .has("expiresAt", moment_or_null("When it ends, where it was rotated or made for a time."))
        .has("revokedAt", moment_or_null("When it was revoked."))
        .has("limits", limits.node())
        .has(
            "spent",
            or_null("What it has spent; null without caps, and while the books cannot say.", spent.node()),
        )
        .node()
}

fn usage() -> Node {
    let counts = |fields: Fields| {
        fields
            .has("requests", count("Answers."))
            .has("rows", count("Rows in them."))
            .has("credits", count("Credits that they cost."))
    };
    let line = Fields::closed("One day and dataset, with `by=key` also one key.")
        .has("day", day("UTC day."))
        .has("dataset", text("Slug."))
        .may("key", text("The id of the key; with `by=key` only."));
    Fields::closed("What the account read, by UTC day and dataset.")
        .has("days", bounded("As asked.", 1, 90, 30))
        .has("from", day("First day."))
        .has("to", day("Last day: today."))
        .has("totals", counts(Fields::closed("Over all days.")).node())
        .has(
            "usage",
            list(
                "One line for each day and dataset, with `by=key` for each key of these.",
                counts(line).node(),
            ),
        )
        .node()
}

fn ready() -> Node {
    let verification = Fields::closed("Verification of new and changed store files since the start.")
        .has("files", count("Files that had to be verified."))
        .has("filesDone", count("Those that are done."))
        .has("bytes", count("Bytes of these files."))
        .has("bytesDone", count("Bytes that are done."));
    let datasets = Fields::closed("Datasets by state.")
        .has("serving", count("That are served."))
        .has("quarantined", count("That are out of service because their files are damaged."))
        .has("damaged", list("Their slugs.", named("Slug")))
        .has("fallenBack", count("That serve an older version because the current one is damaged."))
        .has("verifying", count("That wait for the verification of their data."))
        .has("verification", verification.node());
    Fields::closed("Readiness.")
        .has("status", word("Whether requests can be answered and charged.", &["ready", "not ready"]))
        .has("ledger", word("The books.", &["serving", "down"]))
        .has("datasets", datasets.node())
        .node()
}
