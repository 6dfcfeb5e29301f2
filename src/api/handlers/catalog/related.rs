//! The datasets related to one.
//!
//! Relations curated by the operator come first; a dataset without any shows the list of its manifest. Does not
//! depend on the storage of relations.

use std::collections::HashSet;
use std::sync::Arc;

use serde::Serialize;

use crate::api::app::App;
use crate::api::context::Incoming;
use crate::api::handlers::catalog::dataset_answer::{find, language};
use crate::api::handlers::catalog::item::Item;
use crate::api::route::{Guard, Route};
use crate::limits::api::{RELATED_LIMIT_DEFAULT, RELATED_LIMIT_MAX};
use mercato_catalog::{Dataset, Entry, Language, Snapshot};
use mercato_ledger::limits::RELATION_WEIGHT_DEFAULT;
use mercato_ledger::{Relation, Relations};
use mercato_web::{ApiError, Method, Response};

/// Paths of this file.
pub const ROUTES: &[Route] =
    &[Route::new(Method::Get, "/api/v1/datasets/{slug}/related", Guard::Public, related)];

/// The type of a relation from the list of a manifest.
pub(super) const LISTED_TYPE: &str = "related";
const REVALIDATE: &str = "public, no-cache";

#[derive(Serialize)]
struct RelatedData<'a> {
    slug: &'a str,
    source: Source,
    results: Vec<RelatedItem<'a>>,
}

/// The origin of the related datasets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Source {
    Relations,
    Fallback,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RelatedItem<'a> {
    #[serde(flatten)]
    item: Item<'a>,
    relation_type: &'a str,
    relation_description: Option<&'a str>,
    direction: Option<Direction>,
    weight: f64,
}

/// Whether the relation begins at the requested dataset or leads to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
enum Direction {
    Outgoing,
    Incoming,
}

fn related(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    let dataset = find(app, request)?;
    let mut query = request.query();
    let limit = query.integer("limit", 1, RELATED_LIMIT_MAX, RELATED_LIMIT_DEFAULT);
    let language = language(&mut query);
    query.finish()?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);

    let (snapshot, relations) = (app.catalog.snapshot(), app.ledger.relations());
    let neighbours = neighbours(&dataset, &snapshot, &relations);
    let (source, results) = if neighbours.is_empty() {
        (Source::Fallback, listed(&dataset, &snapshot, language, limit))
    } else {
        let shown = neighbours.iter().take(limit);
        (Source::Relations, shown.map(|neighbour| neighbour.item(language)).collect())
    };
    let data = RelatedData { slug: dataset.slug(), source, results };
    let last_modified =
        relations.changed_at().map_or(snapshot.changed_at(), |at| at.max(snapshot.changed_at()));
    Ok(Response::data(&data)?.public(request, last_modified, REVALIDATE))
}

/// The dataset at the other end of a relation.
struct Neighbour<'a> {
    dataset: &'a Arc<Dataset>,
    relation: &'a Relation,
    direction: Direction,
}

impl<'a> Neighbour<'a> {
    fn item(&self, language: Option<Language>) -> RelatedItem<'a> {
        let said = self.relation.description.as_str();
        RelatedItem {
            item: Item::of(self.dataset, language),
            relation_type: &self.relation.key.relation_type,
            relation_description: (!said.is_empty()).then_some(said),
            direction: Some(self.direction),
            weight: self.relation.weight,
        }
    }
}

/// Published datasets at the other ends, each once by its strongest relation, the strongest first.
fn neighbours<'a>(dataset: &Dataset, snapshot: &'a Snapshot, relations: &'a Relations) -> Vec<Neighbour<'a>> {
    let mut all: Vec<Neighbour<'a>> = Vec::new();
    for relation in relations.of(dataset.slug()) {
        let is_outgoing = relation.key.from == dataset.slug();
        let (other, direction) = if is_outgoing {
            (&relation.key.to, Direction::Outgoing)
        } else {
            (&relation.key.from, Direction::Incoming)
        };
        if let Some(Entry::Serving(dataset)) = snapshot.get(other) {
            all.push(Neighbour { dataset, relation, direction });
        }
    }
    all.sort_by(|a, b| {
        let weight = b.relation.weight.total_cmp(&a.relation.weight);
        let names = || a.dataset.slug().cmp(b.dataset.slug());
        weight.then_with(|| a.direction.cmp(&b.direction)).then_with(names)
    });
    let mut seen: HashSet<&str> = HashSet::new();
    all.retain(|neighbour| seen.insert(neighbour.dataset.slug()));
    all
}

/// Those of [`listed_datasets`] as items.
fn listed<'a>(
    dataset: &Dataset,
    snapshot: &'a Snapshot,
    language: Option<Language>,
    limit: usize,
) -> Vec<RelatedItem<'a>> {
    let item = |dataset: &'a Arc<Dataset>| RelatedItem {
        item: Item::of(dataset, language),
        relation_type: LISTED_TYPE,
        relation_description: None,
        direction: None,
        weight: RELATION_WEIGHT_DEFAULT,
    };
    listed_datasets(dataset, snapshot).take(limit).map(item).collect()
}

/// The published datasets of the manifest's own list, in its order, each once, without the dataset itself.
pub fn listed_datasets<'a>(
    dataset: &Dataset,
    snapshot: &'a Snapshot,
) -> impl Iterator<Item = &'a Arc<Dataset>> {
    let list = &dataset.manifest.related;
    let others = list.iter().enumerate().filter(|(place, slug)| {
        slug.as_str() != dataset.slug() && !list.iter().take(*place).any(|earlier| earlier == *slug)
    });
    others.filter_map(|(_, slug)| match snapshot.get(slug.as_str()) {
        Some(Entry::Serving(found)) => Some(found),
        _ => None,
    })
}
