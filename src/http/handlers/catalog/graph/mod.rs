//! All relations between published datasets as one graph, ready for a force layout of D3.
//!
//! Drawn on request and cached until a relation or a dataset changes. Does not depend on the storage of relations.

use std::collections::HashSet;

use serde::Serialize;

use crate::catalog::{Entry, Language, Snapshot};
use crate::http::app::App;
use crate::http::content::graph_cache::{Drawn, Edition};
use crate::http::errors::ApiError;
use crate::http::handlers::catalog::dataset_answer::language;
use crate::http::handlers::catalog::related::{LISTED_TYPE, listed_datasets};
use crate::http::incoming::{Incoming, Method};
use crate::http::response::Response;
use crate::http::routing::router::{Guard, Route};
use crate::ledger::Relations;
use crate::limits::ledger::RELATION_WEIGHT_DEFAULT;

/// Paths of this file.
pub(in crate::http) const ROUTES: &[Route] =
    &[Route::new(Method::Get, "/api/v1/datasets/relations/graph", Guard::Public, graph)];

const ONE_HOUR: &str = "public, max-age=3600";
/// The group of a dataset without tags.
const UNTAGGED: &str = "untagged";

#[derive(Serialize)]
struct GraphData<'a> {
    nodes: Vec<Node<'a>>,
    edges: Vec<Edge<'a>>,
}

#[derive(Serialize)]
struct Node<'a> {
    id: &'a str,
    slug: &'a str,
    title: &'a str,
    group: &'a str,
    size: u32,
    featured: bool,
}

#[derive(Serialize)]
struct Edge<'a> {
    source: &'a str,
    target: &'a str,
    r#type: &'a str,
    label: &'a str,
    weight: f64,
}

fn graph(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    let mut query = request.query();
    let language = language(&mut query);
    query.finish()?;
    let (snapshot, relations) = (app.catalog.snapshot(), app.ledger.relations());
    let edition = Edition { snapshot: snapshot.generation(), relations: relations.revision() };
    let drawn = app.graph.get(edition, language, || {
        let data = serde_json::to_vec(&draw(&snapshot, &relations, language));
        let changed_at =
            relations.changed_at().map_or(snapshot.changed_at(), |at| at.max(snapshot.changed_at()));
        data.map(|data| Drawn { data, changed_at }).map_err(|error| ApiError::internal(error.to_string()))
    })?;
    let mut buffer = Response::begin_envelope(drawn.data.len());
    buffer.sink().extend_from_slice(&drawn.data);
    Ok(Response::enveloped(buffer).public(request, drawn.changed_at, ONE_HOUR))
}

/// Every dataset that is served is a node; an edge needs both of its ends.
fn draw<'a>(snapshot: &'a Snapshot, relations: &'a Relations, language: Option<Language>) -> GraphData<'a> {
    let nodes = snapshot.datasets().iter().map(|dataset| Node {
        id: dataset.slug(),
        slug: dataset.slug(),
        title: dataset.manifest.title.choose(language).unwrap_or(dataset.slug()),
        group: dataset.manifest.tags.first().map_or(UNTAGGED, String::as_str),
        size: dataset.current.table.row_count(),
        featured: dataset.manifest.featured,
    });
    let mut edges = curated_edges(snapshot, relations);
    listed_edges(snapshot, &mut edges);
    GraphData { nodes: nodes.collect(), edges }
}

fn curated_edges<'a>(snapshot: &'a Snapshot, relations: &'a Relations) -> Vec<Edge<'a>> {
    let is_served = |slug: &str| matches!(snapshot.get(slug), Some(Entry::Serving(_)));
    let shown = relations.all().iter().filter(|one| is_served(&one.key.from) && is_served(&one.key.to));
    let edge = |one: &'a crate::ledger::Relation| Edge {
        source: &one.key.from,
        target: &one.key.to,
        r#type: &one.key.relation_type,
        label: if one.description.is_empty() { &one.key.relation_type } else { &one.description },
        weight: one.weight,
    };
    shown.map(edge).collect()
}

/// Datasets without a curated relation are joined to those that their manifests list, once for each pair.
fn listed_edges<'a>(snapshot: &'a Snapshot, edges: &mut Vec<Edge<'a>>) {
    let curated: HashSet<&str> = edges.iter().flat_map(|edge| [edge.source, edge.target]).collect();
    let mut pairs: HashSet<(&str, &str)> = HashSet::new();
    // By name, so that of two that list each other it is always the same one at which the edge begins.
    let mut datasets: Vec<_> = snapshot.datasets().iter().collect();
    datasets.sort_unstable_by_key(|dataset| dataset.slug());
    for dataset in datasets {
        let source = dataset.slug();
        if curated.contains(source) {
            continue;
        }
        for other in listed_datasets(dataset, snapshot) {
            let target = other.slug();
            let pair = if source < target { (source, target) } else { (target, source) };
            if pairs.insert(pair) {
                edges.push(Edge {
                    source,
                    target,
                    r#type: LISTED_TYPE,
                    label: LISTED_TYPE,
                    weight: RELATION_WEIGHT_DEFAULT,
                });
            }
        }
    }
}
