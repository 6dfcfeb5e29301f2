//! Whether the server lives and can serve.

use serde_json::json;

use super::HEALTH;
use crate::http::openapi::operation::{Answer, Entry, Op, unwell};
use crate::http::openapi::parts::named;

pub(super) fn all() -> Vec<Entry> {
    vec![alive(), ready()]
}

fn alive() -> Entry {
    Op::get("/healthz", "getHealth", HEALTH, "Ask whether the process lives")
        .answering("200", Answer::data("It lives.", named("Alive"), json!({ "status": "alive" })))
        .answering("503", unwell("Only a restart helps.", named("Alive"), json!({ "status": "restart" })))
        .uncounted()
}

fn ready() -> Entry {
    let state = |status: &str, ledger: &str| {
        json!({
            "status": status,
            "ledger": ledger,
            "datasets": {
                "serving": 8, "quarantined": 0, "damaged": [], "fallenBack": 0, "verifying": 0,
                "verification": { "files": 0, "filesDone": 0, "bytes": 0, "bytesDone": 0 }
            }
        })
    };
    Op::get("/readyz", "getReadiness", HEALTH, "Ask whether requests can be answered and charged")
        .saying("A damaged dataset, or one whose data are being verified, does not make the server unready: it alone answers 503.")
        .answering("200", Answer::data("It is ready.", named("Ready"), state("ready", "serving")))
        .answering("503", unwell("Nothing can be charged.", named("Ready"), state("not ready", "down")))
        .uncounted()
}
