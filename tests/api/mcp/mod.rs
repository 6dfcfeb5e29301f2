//! The Model Context Protocol over raw HTTP: revisions, refusals, hostile messages, tools and money.

mod aggregates;
mod hostile;
mod limits;
mod llms;
mod money;
mod revisions;
mod tools;

use serde_json::{Value, json};

use crate::harness::{Answer, Ask, MANIFEST, Site, city_columns, wait_until};

/// The stateless revision.
const STATELESS: &str = "2026-07-28";
/// The last one with a handshake.
const HANDSHAKE: &str = "2025-11-25";
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// A site with the datasets `cities` (6 rows) and `towns` (3,000 rows), found by search.
fn site() -> Site {
    let site = Site::with_cities();
    let manifest = MANIFEST.replace("\"cities\"", "\"towns\"").replace("Cities", "Towns");
    site.publish("towns", &manifest, "1.0.0", &city_columns(3_000));
    wait_until("both are found", || {
        let found = site.get("/api/v1/datasets/search?q=towns");
        found.status == 200 && found.json()["data"]["total"] == 2
    });
    site
}

/// A body for `/mcp` from a program on this machine.
fn post(body: &str) -> Ask {
    let ask = Ask::post("/mcp", body).header("Host", "127.0.0.1");
    ask.header("Accept", "application/json, text/event-stream")
}

fn message(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

/// A request of the stateless revision with all that it needs.
fn stateless(method: &str, mut params: Value) -> Ask {
    params["_meta"] = json!({ VERSION: STATELESS, CAPABILITIES: {} });
    let ask = post(&message(method, &params).to_string()).header("MCP-Protocol-Version", STATELESS);
    let ask = ask.header("Mcp-Method", method);
    match params["name"].as_str() {
        Some(name) => ask.header("Mcp-Name", name),
        None => ask,
    }
}

/// A request of the last revision with a handshake.
fn legacy(method: &str, params: &Value) -> Ask {
    post(&message(method, params).to_string()).header("MCP-Protocol-Version", HANDSHAKE)
}

/// Calls a tool of the stateless revision.
#[track_caller]
fn call(site: &Site, key: &str, tool: &str, arguments: Value) -> Value {
    let mut params = json!({ "name": tool });
    params["arguments"] = arguments;
    let ask = stateless("tools/call", params);
    let answer = site.send(&if key.is_empty() { ask } else { ask.header("X-Api-Key", key) });
    let body = answered(&answer);
    assert_eq!(body["result"]["resultType"], "complete", "{body}");
    body["result"].clone()
}

/// The structured part of a result, which fits the schema that the tool was listed with.
#[track_caller]
fn structured(site: &Site, key: &str, tool: &str, arguments: Value) -> Value {
    let result = call(site, key, tool, arguments);
    assert_eq!(result["isError"], false, "{result}");
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(result["content"].as_array().unwrap().len() == 2 && text.len() < 1_500, "{text}");
    tools::check_output(site, tool, &result["structuredContent"]);
    let told: Value = serde_json::from_str(result["content"][1]["text"].as_str().unwrap()).unwrap();
    assert_eq!(told, result["structuredContent"], "clients that show texts only show the rows too");
    result["structuredContent"].clone()
}

/// The text of a result that is an error for the model.
#[track_caller]
fn fault(site: &Site, key: &str, tool: &str, arguments: Value) -> String {
    let result = call(site, key, tool, arguments);
    assert_eq!(result["isError"], true, "{result}");
    assert!(result.get("structuredContent").is_none(), "{result}");
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

/// The message of a success of HTTP.
#[track_caller]
fn answered(answer: &Answer) -> Value {
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.header("Content-Type"), Some("application/json"));
    let body = answer.json();
    assert_eq!((&body["jsonrpc"], &body["id"]), (&json!("2.0"), &json!(1)), "{body}");
    body
}

/// Status and code of a failure.
#[track_caller]
fn failure(answer: &Answer) -> (u16, i64) {
    let body = answer.json();
    assert!(body.get("result").is_none() && body["error"]["message"].is_string(), "{body}");
    (answer.status, body["error"]["code"].as_i64().unwrap())
}
