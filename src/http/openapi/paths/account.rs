//! The account of the key that asks.

use serde_json::json;

use super::ACCOUNT;
use crate::http::openapi::operation::{Answer, Entry, Op, parameter};
use crate::http::openapi::parts::{bounded, named};

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
        "keys": []
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
        .answering("200", Answer::data("The usage.", named("Usage"), example))
        .entry()
}
