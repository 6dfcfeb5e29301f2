//! The account of the key that asks.

use serde_json::json;

use super::ACCOUNT;
use crate::http::errors::ErrorKind;
use crate::http::openapi::operation::{Answer, Entry, Op, parameter};
use crate::http::openapi::parts::{bounded, named, text_like, word};

pub(super) fn all() -> Vec<Entry> {
    vec![overview(), usage()]
}

fn overview() -> Entry {
    let limit = |limit: u32, remaining: u32| json!({ "limit": limit, "remaining": remaining, "resetAt": "2026-11-21T02:32:37.000Z" });
    let example = json!({
        "id": "acc_7k2m",
        "name": "Example",
        "plan": "prepaid",
        "credits": 1000,
        "reserved": 0,
        "freeQueriesRemaining": null,
        "freeQueriesResetAt": null,
        "createdAt": "2026-11-21T02:31:37.123Z",
        "quota": { "scope": "key", "minute": limit(120, 118), "day": limit(5000, 4998) },
        "keys": [{
            "id": "key_5",
            "account": "acc_7k2m",
            "prefix": "mk_4Tq8",
            "label": "notebook",
            "createdAt": "2026-11-21T02:31:37.123Z",
            "lastUsedAt": null,
            "expiresAt": "2027-01-01T00:00:00.000Z",
            "revokedAt": null,
            "limits": { "creditsPerDay": 1000, "creditsPerMonth": null, "datasets": ["tpch-orders"] },
            "spent": { "day": 850, "month": null }
        }]
    });
    Op::get("/api/v1/account", "getAccount", ACCOUNT, "Read credits, plan, limits and keys")
        .with_key()
        .answering("200", Answer::data("The account.", named("Account"), example))
        .entry()
}

fn usage() -> Entry {
    let example = json!({
        "days": 30,
        "from": "2026-10-23",
        "to": "2026-11-21",
        "totals": { "requests": 2, "rows": 150, "credits": 150 },
        "usage": [{ "day": "2026-11-21", "dataset": "tpch-orders", "requests": 2, "rows": 150, "credits": 150 }]
    });
    Op::get("/api/v1/account/usage", "getUsage", ACCOUNT, "Read what the account has used")
        .with_key()
        .taking(parameter("days", "UTC days, today included.", bounded("Number", 1, 90, 30)))
        .taking(parameter(
            "by",
            "`key` tells the keys apart: each line has the id of one.",
            word("What has lines of its own; `dataset` unless said otherwise.", &["dataset", "key"]),
        ))
        .taking(parameter(
            "key",
            "Only what was read with this key of the account.",
            text_like("The id of a key.", "^(key_)?[0-9]{1,18}$", "key_5"),
        ))
        .refusing(&[ErrorKind::NotFound])
        .answering("200", Answer::data("The usage.", named("Usage"), example))
        .entry()
}
