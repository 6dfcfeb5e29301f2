//! The edges of the relation graph: curated relations, and for datasets without any the pairs that manifests list.
//!
//! Found once for each state of catalog and relations, for the API and for the page.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::api::app::App;
use crate::api::content::graph_cache::{Edition, GraphEdge, GraphEdges};
use crate::api::handlers::catalog::related::listed_datasets;
use mercato_base::clock::Moment;
use mercato_catalog::{Dataset, Snapshot};
use mercato_ledger::{Relation, Relations};

/// The catalog and the relations at one moment, with the edges between its datasets.
pub struct RelationGraph {
    /// The catalog.
    pub snapshot: Arc<Snapshot>,
    relations: Arc<Relations>,
}

impl RelationGraph {
    /// The graph as it is now.
    pub fn now(app: &App) -> Self {
        Self { snapshot: app.catalog.snapshot(), relations: app.ledger.relations() }
    }

    /// The edges, in both orders.
    pub fn edges(&self, app: &App) -> Arc<GraphEdges> {
        app.graph.edges(self.edition(), || self.find())
    }

    /// When a dataset or a relation last changed.
    pub fn changed_at(&self) -> Moment {
        let catalog = self.snapshot.changed_at();
        self.relations.changed_at().map_or(catalog, |at| at.max(catalog))
    }

    /// Both ends of an edge, and its relation where an operator entered one.
    pub fn resolve(&self, edge: &GraphEdge) -> Option<(&Dataset, &Dataset, Option<&Relation>)> {
        let dataset = |index: usize| self.snapshot.datasets().get(index).map(AsRef::as_ref);
        let relation = edge.relation.and_then(|index| self.relations.all().get(index));
        Some((dataset(edge.from)?, dataset(edge.to)?, relation))
    }

    pub(super) fn edition(&self) -> Edition {
        Edition { snapshot: self.snapshot.generation(), relations: self.relations.revision() }
    }

    /// Gathers and sorts the edges.
    pub(super) fn find(&self) -> GraphEdges {
        let index: HashMap<&str, usize> =
            self.snapshot.datasets().iter().enumerate().map(|(at, dataset)| (dataset.slug(), at)).collect();
        let mut drawn = self.curated(&index);
        let listed = self.listed(&index, &drawn);
        drawn.extend(listed);
        let mut by_name = drawn.clone();
        let name = |at: usize| self.snapshot.datasets().get(at).map_or("", |dataset| dataset.slug());
        by_name.sort_by(|a, b| (name(a.from), name(a.to)).cmp(&(name(b.from), name(b.to))));
        GraphEdges { drawn, by_name }
    }

    /// An edge needs both of its ends.
    fn curated(&self, index: &HashMap<&str, usize>) -> Vec<GraphEdge> {
        let edge = |(relation, one): (usize, &Relation)| {
            let (from, to) = (*index.get(one.key.from.as_str())?, *index.get(one.key.to.as_str())?);
            Some(GraphEdge { from, to, relation: Some(relation) })
        };
        self.relations.all().iter().enumerate().filter_map(edge).collect()
    }

    /// Datasets without a curated relation are joined to those that their manifests list, once for each pair.
    fn listed(&self, index: &HashMap<&str, usize>, curated: &[GraphEdge]) -> Vec<GraphEdge> {
        let known: HashSet<usize> = curated.iter().flat_map(|edge| [edge.from, edge.to]).collect();
        let lists = |(at, dataset): &(usize, &Arc<Dataset>)| {
            !dataset.manifest.related.is_empty() && !known.contains(at)
        };
        let mut datasets: Vec<_> = self.snapshot.datasets().iter().enumerate().filter(lists).collect();
        // By name, so that of two that list each other it is always the same one at which the edge begins.
        datasets.sort_unstable_by_key(|(_, dataset)| dataset.slug());
        let mut pairs = HashSet::new();
        let mut edges = Vec::new();
        for (from, dataset) in datasets {
            for to in listed_datasets(dataset, &self.snapshot).filter_map(|other| index.get(other.slug())) {
                if pairs.insert((from.min(*to), from.max(*to))) {
                    edges.push(GraphEdge { from, to: *to, relation: None });
                }
            }
        }
        edges
    }
}
