//! Descriptions for machines, and the console.

use serde_json::json;
use utoipa::openapi::Required;
use utoipa::openapi::path::{ParameterBuilder, ParameterIn};

use super::catalog::lang;
use super::{CATALOG, DISCOVERY};
use crate::http::errors::ErrorKind;
use crate::http::openapi::operation::{Answer, Entry, Op, parameter, version};
use crate::http::openapi::parts::{Fields, Node, named, ordinal, text};

pub(super) fn all() -> Vec<Entry> {
    vec![
        croissant(),
        openapi(),
        sitemap(),
        robots(),
        console("/docs", "getConsole"),
        console("/docs/", "getConsoleFolder"),
        console_file(),
    ]
}

fn croissant() -> Entry {
    let example = json!({
        "@context": { "@vocab": "https://schema.org/", "cr": "http://mlcommons.org/croissant/" },
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": "Orders",
        "description": "Orders of a wholesale supplier.",
        "version": "1.0.0",
        "url": "https://data.example.org/api/v1/datasets/tpch-orders",
        "distribution": [],
        "recordSet": []
    });
    Op::get("/api/v1/datasets/{slug}/croissant", "getCroissant", CATALOG, "Describe a dataset for machines")
        .saying("schema.org/Dataset with Croissant 1.0, as JSON-LD: files, columns, types, license. Not enveloped.")
        .of_dataset()
        .taking(lang())
        .taking(version())
        .holding(Answer::plain("The description.", "application/ld+json", named("Croissant"), example))
        .entry()
}

/// The shape of a description.
pub(in crate::http::openapi) fn croissant_schema() -> Node {
    Fields::open("schema.org/Dataset in the vocabulary of Croissant.")
        .has("@context", Fields::open("Prefixes and terms.").node())
        .has("@type", text("`sc:Dataset`."))
        .has("conformsTo", text("The version of Croissant."))
        .has("name", text("Title of the dataset."))
        .has("description", text("What it is."))
        .has("url", text("Address of the header."))
        .has("version", text("Semantic version."))
        .node()
}

fn openapi() -> Entry {
    let schema = Fields::open("An OpenAPI document.").has("openapi", text("Its version.")).node();
    Op::get("/api/v1/openapi.json", "getOpenApi", DISCOVERY, "Read this document")
        .saying("OpenAPI 3.1. Not enveloped.")
        .holding(Answer::plain("The document.", "application/json", schema, json!({ "openapi": "3.1.0" })))
        .entry()
}

fn sitemap() -> Entry {
    let example = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\"></urlset>\n";
    Op::get("/sitemap.xml", "getSitemap", DISCOVERY, "List the addresses of all pages and datasets")
        .saying("The page and the header of each dataset, and the other pages for people. More than 50,000 of them are spread over parts, and the map is then the list of the parts.")
        .taking(parameter("part", "Number of a part.", ordinal("Number")))
        .holding(Answer::plain("The map.", "application/xml", text("sitemaps.org, version 0.9."), example))
        .refusing(&[ErrorKind::NotFound])
        .entry()
}

fn robots() -> Entry {
    Op::get("/robots.txt", "getRobots", DISCOVERY, "Ask what robots may read")
        .holding(Answer::plain(
            "Rules for robots.",
            "text/plain",
            text("RFC 9309."),
            "User-agent: *\nAllow: /\n",
        ))
        .entry()
}

fn console(path: &'static str, id: &str) -> Entry {
    Op::get(path, id, DISCOVERY, "Open the interactive console")
        .holding(Answer::plain("The console.", "text/html", text("A page."), "<!DOCTYPE html>"))
        .refusing(&[ErrorKind::Unavailable])
        .uncounted()
}

fn console_file() -> Entry {
    let name = ParameterBuilder::new()
        .name("file")
        .parameter_in(ParameterIn::Path)
        .required(Required::True)
        .description(Some("Name of the file."))
        .schema(Some(text("Name.")))
        .example(Some("swagger-ui.css".into()));
    let answer = Answer::plain("The file.", "text/css", text("A style sheet."), "html {}")
        .or("text/javascript", text("A script."), "")
        .or("text/html", text("The page."), "<!DOCTYPE html>")
        .or("image/png", text("An icon."), "");
    Op::get("/docs/{file}", "getConsoleFile", DISCOVERY, "Load a file of the console")
        .taking(name)
        .holding(answer)
        .refusing(&[ErrorKind::NotFound, ErrorKind::Unavailable])
        .uncounted()
}
