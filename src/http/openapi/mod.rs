//! The OpenAPI 3.1 document of the public API, built in code from the same limits and the same table of errors that the
//! handlers use. A test holds it and the table of routes together.
//!
//! Knows what routes take and answer; does not know how they do it.

mod headers;
mod operation;
mod parts;
mod paths;
mod refusals;
mod schemas;

use utoipa::openapi::path::{PathItem, Paths};
use utoipa::openapi::security::{ApiKey, ApiKeyValue, SecurityScheme};
use utoipa::openapi::tag::{Tag, TagBuilder};
use utoipa::openapi::{
    ComponentsBuilder, InfoBuilder, LicenseBuilder, OpenApi, OpenApiBuilder, PathsBuilder, Server,
};

use operation::{API_KEY, Entry};

const DESCRIPTION: &str = "Find a dataset, look at its columns and a sample, then query it and pay one credit for each row.

Every JSON answer is an envelope: `success`, `data`, `meta`, and on failure `error`. Errors are JSON whatever `Accept` says. Unknown \
parameters and fields are refused with 400, and so are numbers outside their range. `HEAD` works wherever `GET` does, `OPTIONS` answers \
preflights, and another method is 405 with `Allow`. Answers with an `ETag` honour `If-None-Match` and `If-Modified-Since`.";

/// The document. `public_url` is where the server is reached, without a slash at the end.
pub(in crate::http) fn document(public_url: Option<&str>) -> OpenApi {
    let info = InfoBuilder::new()
        .title("mercato")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(DESCRIPTION))
        .license(Some(
            LicenseBuilder::new().name(env!("CARGO_PKG_LICENSE")).identifier(Some("Apache-2.0")).build(),
        ));
    let key = ApiKeyValue::with_description("X-Api-Key", "A key of an account: `mk_` and what follows.");
    let components = ComponentsBuilder::new()
        .schemas_from_iter(schemas::all())
        .responses_from_iter(refusals::all())
        .security_scheme(API_KEY, SecurityScheme::ApiKey(ApiKey::Header(key)));
    let components =
        headers::all().into_iter().fold(components, |all, (name, header)| all.header(name, header));
    OpenApiBuilder::new()
        .info(info)
        .servers(Some([Server::new(public_url.unwrap_or("/"))]))
        .paths(paths())
        .components(Some(components.build()))
        .tags(Some(paths::TAGS.map(tag)))
        .build()
}

fn tag((name, description): (&str, &str)) -> Tag {
    TagBuilder::new().name(name).description(Some(description)).build()
}

fn paths() -> Paths {
    let add = |paths: PathsBuilder, Entry { path, method, operation }| {
        paths.path(path, PathItem::new(method, operation))
    };
    paths::all().into_iter().fold(PathsBuilder::new(), add).build()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;
    use crate::http::routing::routes::PUBLIC;

    fn json() -> Value {
        serde_json::to_value(document(None)).unwrap()
    }

    #[test]
    fn the_document_and_the_table_of_routes_name_the_same_operations() {
        let routed: BTreeSet<(String, String)> = PUBLIC
            .iter()
            .flat_map(|table| table.iter())
            .map(|route| (route.pattern.to_owned(), route.method.as_str().to_ascii_lowercase()))
            .collect();
        let mut described = BTreeSet::new();
        for (path, item) in json()["paths"].as_object().unwrap() {
            for method in item.as_object().unwrap().keys() {
                // A router answers HEAD wherever it answers GET.
                if method == "head" {
                    assert!(item.get("get").is_some(), "{path} has HEAD without GET");
                } else {
                    described.insert((path.clone(), method.clone()));
                }
            }
        }
        let missing: Vec<_> = routed.difference(&described).collect();
        let surplus: Vec<_> = described.difference(&routed).collect();
        assert!(
            missing.is_empty() && surplus.is_empty(),
            "not described: {missing:?}; not routed: {surplus:?}"
        );
    }

    #[test]
    fn routes_that_need_a_key_say_so_and_no_others() {
        let document = json();
        for route in PUBLIC.iter().flat_map(|table| table.iter()) {
            let operation = &document["paths"][route.pattern][route.method.as_str().to_ascii_lowercase()];
            let security = operation["security"].as_array().unwrap();
            let guarded = route.guard == crate::http::routing::router::Guard::Key;
            assert_eq!(!security.is_empty(), guarded, "{}", route.pattern);
            assert_eq!(operation["responses"].get("401").is_some(), guarded, "{}", route.pattern);
            let counted = route.guard != crate::http::routing::router::Guard::Uncounted;
            assert_eq!(operation["responses"].get("429").is_some(), counted, "{}", route.pattern);
        }
    }

    #[test]
    fn every_reference_leads_somewhere_and_every_component_is_used() {
        let document = json();
        let mut references = BTreeSet::new();
        collect_references(&document, &mut references);
        for reference in &references {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{reference}");
        }
        for group in ["schemas", "responses", "headers"] {
            for name in document["components"][group].as_object().unwrap().keys() {
                let reference = format!("#/components/{group}/{name}");
                // No operation has this answer: it is what all other methods of a path get.
                let general = matches!(name.as_str(), "MethodNotAllowed" | "Allow");
                assert!(general || references.contains(&reference), "{reference} is not used");
            }
        }
    }

    #[test]
    fn operations_have_names_of_their_own_and_headings_that_exist() {
        let document = json();
        let tags: BTreeSet<&str> = paths::TAGS.iter().map(|(name, _)| *name).collect();
        let mut names = BTreeSet::new();
        for operation in document["paths"]
            .as_object()
            .unwrap()
            .values()
            .flat_map(|item| item.as_object().unwrap().values())
        {
            let name = operation["operationId"].as_str().unwrap();
            assert!(names.insert(name.to_owned()), "{name} is used twice");
            assert!(tags.contains(operation["tags"][0].as_str().unwrap()));
            assert!(operation["summary"].is_string());
        }
    }

    #[test]
    fn the_document_says_where_the_server_is() {
        assert_eq!(json()["openapi"], "3.1.0");
        assert_eq!(json()["servers"][0]["url"], "/");
        let public = serde_json::to_value(document(Some("https://data.example.org/m"))).unwrap();
        assert_eq!(public["servers"][0]["url"], "https://data.example.org/m");
    }

    fn collect_references(value: &Value, found: &mut BTreeSet<String>) {
        match value {
            Value::Object(members) => {
                found.extend(members.get("$ref").and_then(Value::as_str).map(ToOwned::to_owned));
                members.values().for_each(|member| collect_references(member, found));
            }
            Value::Array(items) => items.iter().for_each(|item| collect_references(item, found)),
            _ => {}
        }
    }
}
