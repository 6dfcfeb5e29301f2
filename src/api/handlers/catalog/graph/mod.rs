//! All relations between published datasets as one graph, ready for a force layout of D3.
//!
//! Drawn on request and cached until a relation or a dataset changes. Does not depend on the storage of relations.

pub mod edges;

use serde::Serialize;

use crate::api::app::App;
use crate::api::content::graph_cache::{Drawn, GraphEdges};
use crate::api::context::Incoming;
use crate::api::handlers::catalog::dataset_answer::language;
use crate::api::handlers::catalog::graph::edges::RelationGraph;
use crate::api::handlers::catalog::related::LISTED_TYPE;
use crate::api::route::{Guard, Route};
use mercato_catalog::Language;
use mercato_ledger::Relation;
use mercato_ledger::limits::RELATION_WEIGHT_DEFAULT;
use mercato_web::{ApiError, Method, Response};

/// Paths of this file.
pub const ROUTES: &[Route] =
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
    let graph = RelationGraph::now(app);
    let draw = |edges: &GraphEdges| {
        let data = serde_json::to_vec(&draw(&graph, edges, language));
        let changed_at = graph.changed_at();
        data.map(|data| Drawn { data, changed_at }).map_err(|error| ApiError::internal(error.to_string()))
    };
    let drawn = app.graph.drawn(graph.edition(), language, || graph.find(), draw)?;
    let mut buffer = Response::begin_envelope(drawn.data.len());
    buffer.sink().extend_from_slice(&drawn.data);
    Ok(Response::enveloped(buffer).public(request, drawn.changed_at, ONE_HOUR))
}

/// Every dataset that is served is a node.
fn draw<'a>(graph: &'a RelationGraph, edges: &GraphEdges, language: Option<Language>) -> GraphData<'a> {
    let nodes = graph.snapshot.datasets().iter().map(|dataset| Node {
        id: dataset.slug(),
        slug: dataset.slug(),
        title: dataset.manifest.title.choose(language).unwrap_or(dataset.slug()),
        group: dataset.manifest.tags.first().map_or(UNTAGGED, String::as_str),
        size: dataset.current.table.row_count(),
        featured: dataset.manifest.featured,
    });
    let edges = edges.drawn.iter().filter_map(|edge| {
        let (from, to, relation) = graph.resolve(edge)?;
        Some(Edge::new(from.slug(), to.slug(), relation))
    });
    GraphData { nodes: nodes.collect(), edges: edges.collect() }
}

impl<'a> Edge<'a> {
    fn new(source: &'a str, target: &'a str, relation: Option<&'a Relation>) -> Self {
        let Some(one) = relation else {
            let weight = RELATION_WEIGHT_DEFAULT;
            return Self { source, target, r#type: LISTED_TYPE, label: LISTED_TYPE, weight };
        };
        let r#type: &str = &one.key.relation_type;
        let label = if one.description.is_empty() { r#type } else { &one.description };
        Self { source, target, r#type, label, weight: one.weight }
    }
}
