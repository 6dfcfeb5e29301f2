//! All relations between datasets: a list, and a plot that a script draws.
//!
//! The script asks the API for the same relations. Does not depend on how relations are stored.

use askama::Template;

use super::assets;
use super::cache::Cache;
use super::frame::{Frame, Section};
use super::url::Url;
use super::visit::Visit;
use super::words::{fill, words};
use crate::api::route::{Guard, Route};
use crate::api::{App, GraphEdge, Incoming, RelationGraph};
use mercato_catalog::{Dataset, Language};
use mercato_web::{ApiError, Method, Response};

/// Paths of this file.
pub(super) const ROUTES: &[Route] = &[Route::new(Method::Get, "/graph", Guard::Public, graph)];

/// Names that the query of the page may have.
const KNOWN: [&str; 1] = ["page"];
/// Relations of one page of the list.
const RELATIONS_PER_PAGE: usize = 100;
/// Path of the relations, for the script.
const GRAPH_PATH: &str = "/api/v1/datasets/relations/graph";

words! {
    /// The words of the page of all relations.
    pub struct GraphWords {
        title: "How the datasets are related", "Relazioni fra i dataset";
        description: "Which datasets belong together, as a graph and as a list.",
            "Quali dataset sono collegati fra loro, in un grafo e in un elenco.";
        counts: "{} relations between {} datasets.", "{} relazioni fra {} dataset.";
        none: "No relations are known yet.", "Non è ancora nota alcuna relazione.";
        plot: "Graph", "Grafo";
        plot_help: "Drag to move, scroll or use + and − to zoom, the arrow keys to look around, and Tab to go from dataset to dataset. Point at a dot to see its name. The list below has the same relations.",
            "Trascina per spostare, usa la rotella o + e − per ingrandire, le frecce per muoverti e Tab per passare da un dataset all’altro. Punta un cerchio per vederne il nome. L’elenco qui sotto contiene le stesse relazioni.";
        plot_failed: "The graph cannot be drawn right now. The relations are in the list below.",
            "Al momento non è possibile disegnare il grafo. Le relazioni sono nell’elenco qui sotto.";
        plot_too_large: "There are too many datasets for a graph. All relations are in the list below.",
            "I dataset sono troppi per un grafo. Tutte le relazioni sono nell’elenco qui sotto.";
        zoom_in: "Zoom in", "Ingrandisci";
        zoom_out: "Zoom out", "Riduci";
        zoom_all: "Show everything", "Mostra tutto";
        list: "List", "Elenco";
        caption: "Relations by dataset", "Relazioni per dataset";
        from: "From", "Da";
        relation: "Relation", "Relazione";
        to: "To", "A";
        related: "related", "collegato";
        description_column: "Description", "Descrizione";
        pages: "Pages", "Pagine";
    }
}

#[derive(Template)]
#[template(path = "graph.html")]
struct GraphPage {
    frame: Frame,
    words: &'static GraphWords,
    said: String,
    edges: Vec<EdgeRow>,
    pages: Vec<(String, Url, bool)>,
    /// Address of nodes and edges, for the script.
    data_url: String,
    /// The path in front of the slug of a dataset.
    dataset_prefix: String,
    has_relations: bool,
}

/// A line of the list.
struct EdgeRow {
    from: String,
    from_url: Url,
    kind: String,
    to: String,
    to_url: Url,
    description: String,
}

fn graph(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    let visit = Visit::of(app, request, &KNOWN)?;
    let words = GraphWords::of(visit.language);
    let graph = RelationGraph::now(app);
    let edges = graph.edges(app);
    let edges = edges.by_name.as_slice();
    let pages = edges.len().div_ceil(RELATIONS_PER_PAGE).max(1);
    let number = visit.value("page").and_then(|page| page.parse().ok()).unwrap_or(1_usize);
    let current = number.clamp(1, pages);
    let first = current.saturating_sub(1).saturating_mul(RELATIONS_PER_PAGE);
    let numbers = visit.numbers;
    let counts = fill(words.counts, numbers.integer(edges.len() as u64));
    let said = if edges.is_empty() {
        words.none.to_owned()
    } else {
        fill(&counts, numbers.integer(graph.snapshot.datasets().len() as u64))
    };
    let mut frame = visit.frame(Section::Graph, words.title, words.description);
    for script in ["d3.js", "graph.js"] {
        frame = frame.script(format!("{}{}", app.documents.path_prefix(), assets::path(script)));
    }
    let page = GraphPage {
        frame,
        words,
        said,
        has_relations: !edges.is_empty(),
        edges: edges
            .iter()
            .skip(first)
            .take(RELATIONS_PER_PAGE)
            .filter_map(|edge| row(&visit, words, &graph, edge))
            .collect(),
        pages: page_links(&visit, current, pages),
        data_url: format!("{}{GRAPH_PATH}?lang={}", app.documents.path_prefix(), visit.code()),
        dataset_prefix: format!("{}/datasets/", app.documents.path_prefix()),
    };
    visit.answer(request, &page, Cache::Revalidate(graph.changed_at()))
}

fn row(visit: &Visit, words: &GraphWords, graph: &RelationGraph, edge: &GraphEdge) -> Option<EdgeRow> {
    let url = |dataset: &Dataset| visit.link(&format!("/datasets/{}", dataset.slug()));
    let (from, to, relation) = graph.resolve(edge)?;
    Some(EdgeRow {
        from: title(from, visit.language).to_owned(),
        from_url: url(from),
        kind: relation.map_or(words.related, |relation| &relation.key.relation_type).to_owned(),
        to: title(to, visit.language).to_owned(),
        to_url: url(to),
        description: relation.map_or("", |relation| &relation.description).to_owned(),
    })
}

fn title(dataset: &Dataset, language: Language) -> &str {
    dataset.manifest.title.choose(Some(language)).unwrap_or(dataset.slug())
}

/// Links to the parts of the list near this one, and to its ends.
fn page_links(visit: &Visit, current: usize, pages: usize) -> Vec<(String, Url, bool)> {
    let base = visit.here();
    let near = |page: &usize| *page == 1 || *page == pages || page.abs_diff(current) <= 3;
    let link = |page: usize| {
        let url = if page == 1 { base.without("page") } else { base.with("page", page) };
        (page.to_string(), url, page == current)
    };
    let shown = (1..=pages).filter(near);
    if pages > 1 { shown.map(link).collect() } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn translates_every_word_with_its_gaps() {
        for (key, english, italian) in GraphWords::list() {
            assert!(!english.is_empty() && !italian.is_empty(), "{key}");
            assert_eq!(english.matches("{}").count(), italian.matches("{}").count(), "{key}");
        }
    }
}
