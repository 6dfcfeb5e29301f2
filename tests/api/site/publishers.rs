//! Hostile texts of a publisher on pages of a dataset: texts, Markdown, names of columns, values.

use mercato_format::ColumnKind;
use mercato_format::writer::{Column, ColumnValues};
use mercato_ledger::{Relation, RelationKey};

use super::dataset::TABS;
use super::security::check_harmless;
use super::{UNLIMITED, ask, open};
use crate::harness::{Site, now, publish_files, wait_until};

const ATTACKS: [&str; 8] = [
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script><!--",
    "\"><img src=x onerror=alert(1)>",
    "'><svg onload=alert(1)>",
    "</title></textarea></pre><xss onx=1>",
    "{{7*7}} {% raw %} &lt;b&gt; &#x3c;b>",
    "javascript:alert(1)",
    "\u{202e}\u{0}\u{b}\u{fffd}`${alert(1)}`",
];

const MARKDOWN: &str = "# <script>alert(1)</script>\n\n<script>alert(1)</script>\n\n[x](javascript:alert(1)) [y](JaVaScRiPt&#58;alert(1))\n\n\
    ![x](data:image/svg+xml;base64,PHN2Zy8+) ![y](https://a.test/x.png)\n\n<img src=x onerror=alert(1)>\n\n<svg onload=alert(1)><script>alert(1)</script></svg>\n\n\
    <a href=\"javascript:alert(1)\">x</a> <style>body{display:none}</style> <iframe src=//a.test></iframe>\n\n| <script> | b |\n|:-:|-:|\n| <svg/onload=x> | [x](data:text/html,x) |\n";

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// A dataset in which every text, name and value is an attack.
fn hostile_site() -> Site {
    let site = Site::empty(&UNLIMITED);
    let all = quoted(&ATTACKS[..6].concat());
    let manifest = format!(
        "slug = \"hostile\"\nlicense = {all}\nlicense_url = \"https://a.test/?x='%3E\"\ncitation = {all}\ntags = [{}]\n\
         [title]\nen = {all}\nit = {all}\n[description]\nen = {all}\nit = {all}\n[publisher]\nname = {all}\n\
         [coverage]\nplaces = [{all}]\n[columns.{}]\ndescription = {all}\nexample = {all}\n",
        quoted("\"><script>"),
        quoted(ATTACKS[0]),
    );
    let texts = |rows: usize| (0..rows).map(|row| Some(ATTACKS[row % ATTACKS.len()].to_owned())).collect();
    let columns: Vec<Column> = ATTACKS
        .iter()
        .filter(|name| !name.contains('\0'))
        .map(|name| Column::new(name, ColumnKind::Text, ColumnValues::Texts(texts(40))))
        .collect();
    let files = [("methodology.md", MARKDOWN), ("changelog.md", MARKDOWN)];
    publish_files(&site.data(), &manifest, "1.0.0", &columns, &files);
    let other = format!("slug = \"other\"\n[title]\nen = {all}\n");
    publish_files(&site.data(), &other, "1.0.0", &columns, &[]);
    wait_until("both are served", || site.serves("hostile", "1.0.0") && site.serves("other", "1.0.0"));
    let key = RelationKey {
        from: "hostile".to_owned(),
        to: "other".to_owned(),
        relation_type: ATTACKS[0].to_owned(),
    };
    let relation = Relation { key, description: ATTACKS[..6].concat(), weight: 1.0, at: now() };
    site.running().app().ledger.add_relation(relation).unwrap();
    site
}

#[test]
fn escapes_texts_of_publisher_on_every_tab() {
    let site = hostile_site();
    for tab in TABS {
        for language in ["en", "it"] {
            let target = format!("/datasets/hostile{tab}?lang={language}");
            let page = open(&site, &target);
            check_harmless(&target, &page);
            let main = page.one("main");
            assert!(main.text.contains("<script>alert(1)</script>"), "{target}: shown as it is written");
            assert!(page.select("main img").is_empty(), "{target}");
            for element in page.select("main svg") {
                let class = element.attribute("class").unwrap_or_default();
                assert!(
                    ["plot histogram", "plot neighbours", "share"].contains(&class),
                    "{target}: {element:?}"
                );
            }
        }
    }
    let graph = open(&site, "/graph");
    check_harmless("/graph", &graph);
    assert!(graph.one("main tbody").text.contains("<script>alert(1)</script>"));
}

#[test]
fn keeps_hostile_column_names_through_links() {
    let site = hostile_site();
    let preview = open(&site, "/datasets/hostile/preview");
    for link in preview.select("table.data thead th a") {
        let target = link.attribute("href").unwrap();
        let sorted = open(&site, target);
        check_harmless(target, &sorted);
        assert_eq!(
            sorted.one("th[aria-sort=ascending] a").text.trim_end_matches(" ▲"),
            link.text,
            "{target}"
        );
    }
    let key = site.paying_key(100_000);
    for name in ATTACKS.iter().filter(|name| !name.contains('\0')) {
        let mut encoded = String::new();
        mercato_web::percent_encode(name, &mut encoded);
        let target =
            format!("/datasets/hostile/explore?filter={encoded}&test=eq&value={encoded}&sort={encoded}");
        let added = site.send(&ask(&format!("{target}&add={encoded}")));
        let added = added.header("Location").unwrap().to_owned();
        check_harmless(&added, &open(&site, &added));
        let page = open(&site, &target);
        check_harmless(&target, &page);
        let command = page.one("#curl-text").text.clone();
        let (_, body) = command.split_once("-d '").unwrap();
        let body = body.strip_suffix('\'').unwrap().replace("'\\''", "'");
        let answer = site.query("hostile", &key, &body);
        assert_eq!(answer.status, 200, "{body}: {}", answer.text());
        assert_eq!(answer.json()["data"]["rowsReturned"], 5, "{body}");
    }
}
