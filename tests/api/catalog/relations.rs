//! Related datasets and the graph of all relations.

use serde_json::{Value, json};

use crate::harness::{Answer, Ask, Site, city_columns, exchange, publish_files, wait_until};
use mercato_catalog::Slug;
use mercato_catalog::publish::{feature, unpublish};

/// `a` lists `b` and `c`; nobody lists `a`. All have a title in both languages.
fn site() -> Site {
    let site = Site::empty(&["--requests-per-minute", "0", "--requests-per-day", "0"]);
    let related = |slug: &str| match slug {
        "a" => "related = [\"c\", \"b\", \"c\", \"a\", \"nowhere\"]\n",
        "b" => "related = [\"a\"]\n",
        _ => "",
    };
    for slug in ["a", "b", "c", "d"] {
        let manifest = format!(
            "slug = \"{slug}\"\ntags = [\"tag-{slug}\"]\n{}[title]\nen = \"The {slug}\"\nit = \"Il {slug}\"\n\
             [description]\nen = \"About {slug}\"\n",
            related(slug)
        );
        publish_files(&site.data(), &manifest, "1.0.0", &city_columns(4), &[]);
    }
    wait_until("all are served", || site.get("/api/v1/datasets").json()["data"]["total"] == 4);
    site
}

fn command(site: &Site, command: &Value) -> Answer {
    send_command(site, &command.to_string())
}

fn send_command(site: &Site, body: &str) -> Answer {
    let token = format!("Bearer {}", site.admin_token());
    let ask = Ask::post("/admin/v1/commands", body).header("Authorization", &token);
    exchange(site.admin_address(), &ask)
}

fn add(site: &Site, from: &str, to: &str, kind: &str, weight: f64) {
    let description = format!("{from} {kind} {to}");
    let add = json!({"command": "addRelation", "from": from, "to": to, "type": kind,
        "description": description, "weight": weight});
    let answer = command(site, &add);
    assert_eq!(answer.status, 200, "{}", answer.text());
}

fn related(site: &Site, target: &str) -> Value {
    let answer = site.get(&format!("/api/v1/datasets/{target}"));
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["data"].clone()
}

fn graph(site: &Site) -> Value {
    site.get("/api/v1/datasets/relations/graph").json()["data"].clone()
}

fn slugs(data: &Value) -> Vec<&str> {
    data["results"].as_array().unwrap().iter().map(|item| item["slug"].as_str().unwrap()).collect()
}

/// Source, target and type of every edge, sorted.
fn edges(data: &Value) -> Vec<[&str; 3]> {
    let mut found: Vec<[&str; 3]> = data["edges"]
        .as_array()
        .unwrap()
        .iter()
        .map(|edge| ["source", "target", "type"].map(|name| edge[name].as_str().unwrap()))
        .collect();
    found.sort_unstable();
    found
}

#[test]
fn falls_back_to_list_of_manifest() {
    let site = site();
    let data = related(&site, "a/related");
    assert_eq!((&data["slug"], &data["source"]), (&"a".into(), &"fallback".into()));
    assert_eq!(slugs(&data), ["c", "b"], "in the order of the manifest, each once, without itself");
    assert_eq!(data["results"][0]["relationType"], "related");
    assert_eq!(data["results"][0]["description"], "About c");
    assert_eq!(data["results"][0]["relationDescription"], Value::Null, "a list gives no reason");
    assert_eq!(slugs(&related(&site, "d/related")), Vec::<&str>::new());
}

#[test]
fn ranks_relations_by_weight_before_manifest_list() {
    let site = site();
    add(&site, "a", "b", "same-source", 0.5);
    add(&site, "a", "d", "foreign-key", 0.9);
    add(&site, "c", "a", "aggregates", 0.7);
    add(&site, "a", "b", "joins", 0.1);
    add(&site, "a", "nowhere", "joins", 5.0);
    let data = related(&site, "a/related");
    assert_eq!(data["source"], "relations");
    assert_eq!(slugs(&data), ["d", "c", "b"]);
    let first = &data["results"][0];
    assert_eq!((&first["relationType"], &first["weight"]), (&"foreign-key".into(), &json!(0.9)));
    assert_eq!(first["relationDescription"], "a foreign-key d");
    assert_eq!((&first["description"], &first["direction"]), (&"About d".into(), &"outgoing".into()));
    assert_eq!(data["results"][1]["direction"], "incoming");
    assert_eq!(data["results"][2]["relationType"], "same-source", "the stronger of two");
    assert_eq!(slugs(&related(&site, "a/related?limit=1")), ["d"]);
    assert_eq!(related(&site, "a/related?lang=it")["results"][0]["title"], "Il d");
    for wrong in ["limit=0", "limit=51", "lang=de", "offset=1"] {
        assert_eq!(site.get(&format!("/api/v1/datasets/a/related?{wrong}")).status, 400, "{wrong}");
    }
    assert_eq!(site.get("/api/v1/datasets/nowhere/related").status, 404);
    assert_eq!(site.get("/api/v1/datasets/relations/related").status, 404);
}

#[test]
fn draws_every_dataset_without_dangling_edges() {
    let site = site();
    assert_eq!(edges(&graph(&site)), [["a", "b", "related"], ["a", "c", "related"]], "from the manifests");
    add(&site, "b", "d", "foreign-key", 1.0);
    add(&site, "d", "nowhere", "foreign-key", 1.0);
    let data = graph(&site);
    assert_eq!(edges(&data), [["a", "b", "related"], ["a", "c", "related"], ["b", "d", "foreign-key"]]);
    let node = &data["nodes"][0];
    assert_eq!(node["id"], node["slug"]);
    assert!(node["group"].as_str().unwrap().starts_with("tag-"));
    assert_eq!((&node["size"], &node["featured"]), (&4.into(), &false.into()));
    let curated = data["edges"].as_array().unwrap().iter().find(|edge| edge["source"] == "b").unwrap();
    assert_eq!((&curated["label"], &curated["weight"]), (&"b foreign-key d".into(), &json!(1.0)));
    unpublish(&site.data(), &Slug::parse("b").unwrap()).unwrap();
    wait_until("the dataset has left the graph", || graph(&site)["nodes"].as_array().unwrap().len() == 3);
    assert_eq!(edges(&graph(&site)), [["a", "c", "related"]]);
}

#[test]
fn caches_graph_for_hour_and_redraws_on_change() {
    let site = site();
    let target = "/api/v1/datasets/relations/graph";
    let first = site.get(target);
    assert_eq!(first.header("Cache-Control"), Some("public, max-age=3600"));
    let tag = first.header("ETag").unwrap().to_owned();
    let again = || site.send(&Ask::get(target).header("If-None-Match", &tag));
    assert_eq!(again().status, 304);
    let head = site.send(&Ask::new("HEAD", target));
    assert_eq!((head.status, head.header("ETag"), head.body.len()), (200, Some(tag.as_str()), 0));
    add(&site, "c", "d", "joins", 1.0);
    assert_eq!(again().status, 200, "a relation was added");
    let removed = command(&site, &json!({"command": "removeRelation", "from": "c", "to": "d"}));
    assert_eq!(removed.json()["data"]["removed"][0]["type"], "joins");
    assert_eq!(again().status, 304, "it is as it was");
    feature(&site.data(), &Slug::parse("d").unwrap(), Some(true)).unwrap();
    wait_until("the graph shows what is featured", || again().status == 200);
    assert_eq!(site.get(&format!("{target}?lang=it")).json()["data"]["nodes"][0]["title"], "Il d");
    assert_eq!(site.get(&format!("{target}?limit=3")).status, 400);
    assert_eq!(site.send(&Ask::post(target, "{}")).status, 405);
}

#[test]
fn validates_relation_commands() {
    let site = site();
    let refused = |sent: Value| {
        let answer = command(&site, &sent);
        (answer.status, answer.json()["error"]["details"]["pointer"].as_str().unwrap_or_default().to_owned())
    };
    let add = |from: &str, to: &str, kind: &str| json!({"command": "addRelation", "from": from, "to": to, "type": kind});
    assert_eq!(refused(add("A", "b", "x")), (400, "/from".into()));
    assert_eq!(refused(add("a", "a", "x")), (400, "/to".into()));
    assert_eq!(refused(add("a", "b", "")), (400, "/type".into()));
    let mut heavy = add("a", "b", "x");
    for weight in [json!(-1), json!(1_000_000.5)] {
        heavy["weight"] = weight;
        assert_eq!(refused(heavy.clone()), (400, "/weight".into()));
    }
    for weight in [Value::Null, json!("nan"), json!(true)] {
        heavy["weight"] = weight;
        assert_eq!(refused(heavy.clone()), (400, "".into()));
    }
    for weight in ["NaN", "Infinity", "1e999"] {
        let body = heavy.to_string().replace("true", weight);
        assert_eq!(send_command(&site, &body).status, 400, "{body}");
    }
    assert_eq!(
        refused(json!({"command": "removeRelation", "from": "a", "to": "b"})),
        (400, "/relation".into())
    );
    let page = command(&site, &json!({"command": "listRelations"})).json();
    assert_eq!((&page["data"]["total"], &page["data"]["nextOffset"]), (&0.into(), &Value::Null));
}

#[test]
fn keeps_relations_after_restart() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_owned();
    for run in 0..2 {
        let site = Site::at(&place, &["--requests-per-minute", "0"]);
        if run == 0 {
            add(&site, "x", "y", "joins", 2.0);
            add(&site, "x", "y", "joins", 3.0);
        }
        let page = command(&site, &json!({"command": "listRelations", "dataset": "y"})).json();
        assert_eq!(
            (&page["data"]["total"], &page["data"]["relations"][0]["weight"]),
            (&1.into(), &json!(3.0))
        );
    }
}
