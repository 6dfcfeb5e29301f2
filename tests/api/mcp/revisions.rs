//! The stateless revision and those with a handshake, each by its own rules.

use serde_json::{Value, json};

use super::{
    CAPABILITIES, HANDSHAKE, STATELESS, VERSION, answered, failure, legacy, message, post, site, stateless,
};
use crate::harness::{Ask, Site};

fn meta() -> Value {
    json!({ VERSION: STATELESS, CAPABILITIES: {} })
}

#[test]
fn discovers_versions_and_capabilities_without_handshake() {
    let site = Site::with_cities();
    let result = answered(&site.send(&stateless("server/discover", json!({}))))["result"].clone();
    assert_eq!(result["supportedVersions"], json!(["2026-07-28", "2025-11-25"]));
    assert_eq!(result["capabilities"], json!({ "tools": {} }));
    assert_eq!((&result["resultType"], &result["cacheScope"]), (&json!("complete"), &json!("public")));
    assert!(result["ttlMs"].as_u64().unwrap() > 0);
    assert!(result["instructions"].as_str().unwrap().contains("query_rows"));
    let server = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
    assert_eq!((&server["name"], &server["version"]), (&json!("mercato"), &json!(env!("CARGO_PKG_VERSION"))));
    assert_eq!(&result["serverInfo"], server);
}

#[test]
fn lists_six_tools_in_both_eras() {
    let site = Site::with_cities();
    let newest = answered(&site.send(&stateless("tools/list", json!({}))))["result"].clone();
    let names: Vec<&str> =
        newest["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let expected = [
        "search_datasets",
        "describe_dataset",
        "sample_rows",
        "estimate_cost",
        "query_rows",
        "aggregate_rows",
    ];
    assert_eq!(names, expected);
    assert_eq!((&newest["resultType"], &newest["cacheScope"]), (&json!("complete"), &json!("public")));
    assert!(newest["ttlMs"].as_u64().unwrap() > 0 && newest.get("nextCursor").is_none());
    let older = answered(&site.send(&legacy("tools/list", &json!({}))))["result"].clone();
    assert_eq!(older, json!({ "tools": newest["tools"] }), "older revisions know no other member");
    for page in
        [stateless("tools/list", json!({ "cursor": "x" })), legacy("tools/list", &json!({ "cursor": "" }))]
    {
        assert_eq!(failure(&site.send(&page)), (200, -32602));
    }
}

#[test]
fn shakes_hands_with_older_clients() {
    let site = Site::with_cities();
    for (wanted, agreed) in [
        ("2025-11-25", "2025-11-25"),
        ("2025-06-18", "2025-11-25"),
        ("2024-11-05", "2025-11-25"),
        (STATELESS, "2025-11-25"),
    ] {
        let params = json!({
            "protocolVersion": wanted, "capabilities": {}, "clientInfo": { "name": "t", "version": "1" }
        });
        let answer = site.send(&post(&message("initialize", &params).to_string()));
        let result = answered(&answer)["result"].clone();
        assert_eq!(result["protocolVersion"], agreed);
        assert_eq!(result["capabilities"], json!({ "tools": {} }));
        assert_eq!(result["serverInfo"]["name"], "mercato");
        assert!(answer.header("Mcp-Session-Id").is_none(), "there are no sessions");
    }
    let initialized = site.send(&post(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#));
    assert_eq!((initialized.status, initialized.body.len()), (202, 0));
    assert_eq!(initialized.header("Content-Length"), Some("0"));
    assert_eq!(answered(&site.send(&legacy("ping", &json!({}))))["result"], json!({}));
    assert_eq!(failure(&site.send(&legacy("initialize", &json!({})))), (200, -32602));
}

#[test]
fn ends_removed_methods_with_stateless_revision() {
    let site = Site::with_cities();
    for method in
        ["initialize", "ping", "logging/setLevel", "resources/subscribe", "subscriptions/listen", "x/y"]
    {
        let answer = site.send(&stateless(method, json!({ "protocolVersion": STATELESS })));
        assert_eq!((failure(&answer), &answer.json()["id"]), ((404, -32601), &json!(1)), "{method}");
    }
    for method in ["server/discover", "prompts/list", "resources/list", "logging/setLevel"] {
        assert_eq!(failure(&site.send(&legacy(method, &json!({})))), (200, -32601), "{method}");
    }
}

#[test]
fn rejects_stateless_request_whose_headers_differ_from_body() {
    let site = Site::with_cities();
    let list = || stateless("tools/list", json!({}));
    let describe =
        || stateless("tools/call", json!({ "name": "describe_dataset", "arguments": { "slug": "cities" } }));
    let with = |ask: Ask, name: &str, value: &str| ask.without_header(name).header(name, value);
    for ask in [
        list().without_header("Mcp-Method"),
        with(list(), "Mcp-Method", "tools/call"),
        with(list(), "Mcp-Method", "TOOLS/LIST"),
        with(list(), "MCP-Protocol-Version", HANDSHAKE),
        list().without_header("MCP-Protocol-Version"),
        list().header("Mcp-Method", "tools/list"),
        describe().without_header("Mcp-Name"),
        with(describe(), "Mcp-Name", "query_rows"),
        with(describe(), "Mcp-Name", "=?base64?!?="),
    ] {
        let answer = site.send(&ask);
        assert_eq!((failure(&answer), &answer.json()["id"]), ((400, -32020), &json!(1)), "{ask:?}");
    }
    for ask in [
        with(list(), "MCP-METHOD", "tools/list").without_header("x"),
        with(describe(), "Mcp-Name", "  describe_dataset  "),
        with(describe(), "Mcp-Name", "=?base64?ZGVzY3JpYmVfZGF0YXNldA==?="),
        list()
            .header("Mcp-Session-Id", "made-up")
            .header("Last-Event-ID", "7")
            .header("Mcp-Param-Region", "x"),
    ] {
        assert!(answered(&site.send(&ask)).get("result").is_some(), "{ask:?}");
    }
}

#[test]
fn rejects_stateless_request_without_its_metadata() {
    let site = Site::with_cities();
    let mut client = meta();
    client["io.modelcontextprotocol/clientInfo"] = json!(7);
    for params in [
        json!({}),
        json!({ "_meta": {} }),
        json!({ "_meta": { CAPABILITIES: {} } }),
        json!({ "_meta": { VERSION: STATELESS } }),
        json!({ "_meta": { VERSION: STATELESS, CAPABILITIES: [] } }),
        json!({ "_meta": client }),
    ] {
        let ask = post(&message("tools/list", &params).to_string());
        let ask = ask.header("MCP-Protocol-Version", STATELESS).header("Mcp-Method", "tools/list");
        assert_eq!(failure(&site.send(&ask)), (400, -32602), "{params}");
    }
}

#[test]
fn names_supported_versions_to_clients_of_others() {
    let site = Site::with_cities();
    for version in ["1900-01-01", "2099-01-01", "v999.0.0", "2025-06-18", "2025-11-25, 2025-11-25"] {
        let params = json!({ "_meta": { VERSION: version, CAPABILITIES: {} } });
        for params in [params, json!({})] {
            let ask =
                post(&message("tools/list", &params).to_string()).header("MCP-Protocol-Version", version);
            let answer = site.send(&ask.header("Mcp-Method", "tools/list"));
            assert_eq!(failure(&answer), (400, -32022), "{version}");
            let data = answer.json()["error"]["data"].clone();
            assert_eq!((&data["requested"], &data["supported"][0]), (&json!(version), &json!(STATELESS)));
        }
    }
    let note = post(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    assert_eq!(failure(&site.send(&note.header("MCP-Protocol-Version", "2099-01-01"))), (400, -32022));
}

#[test]
fn answers_client_without_header_as_first_revision() {
    let site = site();
    let params = json!({ "name": "describe_dataset", "arguments": { "slug": "cities" } });
    let result = answered(&site.send(&post(&message("tools/call", &params).to_string())))["result"].clone();
    let told: Value = serde_json::from_str(result["content"][1]["text"].as_str().unwrap()).unwrap();
    assert_eq!((&told["slug"], &told), (&json!("cities"), &result["structuredContent"]));
    let ask = post(&message("tools/call", &params).to_string()).header("MCP-Protocol-Version", HANDSHAKE);
    let result = answered(&site.send(&ask))["result"].clone();
    assert_eq!((result["content"].as_array().unwrap().len(), &result["structuredContent"]), (2, &told));
    assert!(result.get("resultType").is_none() && result.get("_meta").is_none());
}

#[test]
fn refuses_batches() {
    let site = Site::with_cities();
    let batch = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"}]"#;
    assert_eq!(failure(&site.send(&post(batch))), (400, -32600));
    for version in [HANDSHAKE, STATELESS] {
        let refused = site.send(&post(batch).header("MCP-Protocol-Version", version));
        assert_eq!(failure(&refused), (400, -32600), "{version}");
    }
}

#[test]
fn accepts_messages_that_want_no_answer() {
    let site = Site::with_cities();
    let note = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    for version in [HANDSHAKE, STATELESS] {
        let answer = site.send(&post(note).header("MCP-Protocol-Version", version));
        assert_eq!((answer.status, answer.body.len()), (202, 0), "{version}");
    }
    let response = r#"{"jsonrpc":"2.0","id":9,"result":{}}"#;
    assert_eq!(site.send(&post(response).header("MCP-Protocol-Version", HANDSHAKE)).status, 202);
    let refused = site.send(&post(response).header("MCP-Protocol-Version", STATELESS));
    assert_eq!(failure(&refused), (400, -32600), "clients of this revision are asked nothing");
}

#[test]
fn has_neither_streams_nor_sessions() {
    let site = Site::with_cities();
    for method in ["GET", "DELETE", "PUT", "HEAD"] {
        let ask = Ask::new(method, "/mcp").header("Accept", "text/event-stream").header("Host", "127.0.0.1");
        let answer = site.send(&ask);
        assert_eq!((answer.status, answer.header("Allow")), (405, Some("POST, OPTIONS")), "{method}");
    }
    let preflight = site.send(&Ask::new("OPTIONS", "/mcp"));
    let allowed = preflight.header("Access-Control-Allow-Headers").unwrap();
    for header in ["MCP-Protocol-Version", "Mcp-Method", "Mcp-Name", "Authorization", "X-Api-Key"] {
        assert!(allowed.contains(header), "{header}");
    }
}
