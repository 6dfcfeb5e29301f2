//! The relations of the dataset as a list, and the nearest of them as a plot.
//!
//! Relations that the operator curates come first; a dataset without any shows the list of its own manifest.

use askama::Template;

use crate::site::cache::Cache;
use crate::site::frame::Frame;
use crate::site::plots::{Neighbours, Spoke};
use crate::site::url::Url;
use crate::site::words::fill;
use mercato_catalog::{Dataset, Entry, Snapshot};
use mercato_ledger::{Relation, Relations};

use super::head::{Head, Tab};
use super::{DatasetWords, Opened};
use mercato_web::{ApiError, Response};

/// Relations in the list, the strongest first. All of them are at the API.
const LISTED_MAX: usize = 100;

#[derive(Template)]
#[template(path = "dataset/relations.html")]
struct RelationsPage {
    frame: Frame,
    head: Head,
    words: &'static DatasetWords,
    said: &'static str,
    related: Vec<Related>,
    rest: Option<String>,
    plot: Option<Neighbours>,
    graph_url: Url,
    related_url: String,
}

/// A dataset at the other end of a relation.
struct Related {
    title: String,
    url: Url,
    /// The type of the relation, as the operator names it.
    kind: String,
    description: String,
    /// From this dataset, to this dataset, or neither.
    direction: &'static str,
}

pub(super) fn page(opened: &Opened<'_>) -> Result<Response, ApiError> {
    let (words, numbers) = (opened.words, opened.visit.numbers);
    let (snapshot, relations) = (opened.app.catalog.snapshot(), opened.app.ledger.relations());
    let (frame, head) = opened.frame_and_head(Tab::Relations);
    let mut related = curated(opened, &snapshot, &relations);
    let is_curated = !related.is_empty();
    if !is_curated {
        related = listed(opened, &snapshot);
    }
    let rest = related.len().saturating_sub(LISTED_MAX);
    related.truncate(LISTED_MAX);
    let page = RelationsPage {
        said: match (related.is_empty(), is_curated) {
            (true, _) => words.relations_none,
            (false, true) => words.relations_curated,
            (false, false) => words.relations_listed,
        },
        plot: plot(opened, &related),
        rest: (rest > 0).then(|| fill(words.relations_rest, numbers.integer(rest as u64))),
        related,
        graph_url: opened.visit.link("/graph"),
        related_url: opened.api("related"),
        frame,
        head,
        words,
    };
    let changed_at = relations.changed_at().map_or(snapshot.changed_at(), |at| at.max(snapshot.changed_at()));
    opened.visit.answer(opened.request, &page, Cache::Revalidate(changed_at))
}

/// Relations to datasets that are served, the strongest first.
fn curated(opened: &Opened<'_>, snapshot: &Snapshot, relations: &Relations) -> Vec<Related> {
    let slug = opened.dataset.slug();
    let mut found: Vec<(&Relation, &Dataset, bool)> = Vec::new();
    for relation in relations.of(slug) {
        let begins_here = relation.key.from == slug;
        let other = if begins_here { &relation.key.to } else { &relation.key.from };
        if let Some(Entry::Serving(dataset)) = snapshot.get(other) {
            found.push((relation, dataset, begins_here));
        }
    }
    found.sort_by(|(a, one, _), (b, other, _)| {
        b.weight.total_cmp(&a.weight).then_with(|| one.slug().cmp(other.slug()))
    });
    let words = opened.words;
    let related = |(relation, dataset, begins_here): (&Relation, &Dataset, bool)| Related {
        kind: relation.key.relation_type.clone(),
        description: relation.description.clone(),
        direction: if begins_here { words.direction_from } else { words.direction_to },
        ..named(opened, dataset)
    };
    found.into_iter().map(related).collect()
}

/// The datasets that the manifest lists.
fn listed(opened: &Opened<'_>, snapshot: &Snapshot) -> Vec<Related> {
    crate::api::listed_datasets(&opened.dataset, snapshot).map(|dataset| named(opened, dataset)).collect()
}

fn named(opened: &Opened<'_>, dataset: &Dataset) -> Related {
    let title = dataset.manifest.title.choose(Some(opened.visit.language)).unwrap_or(dataset.slug());
    Related {
        title: title.to_owned(),
        url: opened.visit.link(&Tab::Overview.path(dataset.slug())),
        kind: opened.words.relation_related.to_owned(),
        description: String::new(),
        direction: "",
    }
}

fn plot(opened: &Opened<'_>, related: &[Related]) -> Option<Neighbours> {
    let words = opened.words;
    let spoke = |related: &Related| Spoke { name: related.title.clone(), relation: related.kind.clone() };
    let spokes: Vec<Spoke> = related.iter().map(spoke).collect();
    (!spokes.is_empty()).then(|| {
        let title = fill(words.plot_of_relations, opened.title());
        Neighbours::new(title, words.plot_of_relations_said.to_owned(), opened.title(), spokes)
    })
}
