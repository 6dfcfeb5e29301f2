//! The published datasets in every order in which they can be listed, and their tags with counts.
//!
//! Found when they are asked for first; a snapshot never changes, so they hold as long as it does.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use super::dataset::Dataset;
use super::manifest::Language;

/// The orders of the list. Equal ones follow each other by slug.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Order {
    /// Featured datasets first, then the last updated.
    #[default]
    Featured,
    /// The last updated first.
    Updated,
    /// By title from A to Z, without regard to case.
    Title,
    /// The most rows first.
    Rows,
}

/// A tag, and how many datasets carry it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TagCount {
    /// The tag.
    pub tag: String,
    /// Published datasets that carry it.
    pub count: usize,
}

type Ordered = OnceLock<Vec<Arc<Dataset>>>;

/// What was found so far for one snapshot.
#[derive(Default)]
pub(super) struct Listing {
    updated: Ordered,
    english_titles: Ordered,
    italian_titles: Ordered,
    rows: Ordered,
    tags: OnceLock<Vec<TagCount>>,
}

impl Listing {
    /// `featured`, which is in the first order, in another one. Titles are those of that language.
    pub(super) fn ordered<'a>(
        &'a self,
        featured: &'a [Arc<Dataset>],
        order: Order,
        language: Option<Language>,
    ) -> &'a [Arc<Dataset>] {
        let known = match (order, language) {
            (Order::Featured, _) => return featured,
            (Order::Updated, _) => &self.updated,
            (Order::Title, Some(Language::Italian)) => &self.italian_titles,
            (Order::Title, _) => &self.english_titles,
            (Order::Rows, _) => &self.rows,
        };
        known.get_or_init(|| {
            let mut datasets = featured.to_vec();
            datasets.sort_unstable_by(|a, b| a.slug().cmp(b.slug()));
            match order {
                Order::Featured => {}
                Order::Updated => datasets.sort_by_key(|dataset| std::cmp::Reverse(dataset.updated_at)),
                Order::Title => datasets.sort_by_cached_key(|dataset| {
                    dataset.manifest.title.choose(language).unwrap_or(dataset.slug()).to_lowercase()
                }),
                Order::Rows => {
                    datasets.sort_by_key(|dataset| std::cmp::Reverse(dataset.current.table.row_count()));
                }
            }
            datasets
        })
    }

    /// The tags of these datasets, the most frequent first, then by name.
    pub(super) fn tags(&self, datasets: &[Arc<Dataset>]) -> &[TagCount] {
        self.tags.get_or_init(|| {
            let mut counts: HashMap<&str, usize> = HashMap::new();
            for tag in datasets.iter().flat_map(|dataset| &dataset.manifest.tags) {
                let count = counts.entry(tag).or_default();
                *count = count.saturating_add(1);
            }
            let mut tags: Vec<TagCount> =
                counts.into_iter().map(|(tag, count)| TagCount { tag: tag.to_owned(), count }).collect();
            tags.sort_unstable_by(|a, b| b.count.cmp(&a.count).then_with(|| a.tag.cmp(&b.tag)));
            tags
        })
    }
}
