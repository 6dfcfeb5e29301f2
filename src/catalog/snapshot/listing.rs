//! Sorted lists of the published datasets, and tag counts.
//!
//! Computed on first use and cached with the immutable snapshot.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use crate::catalog::manifest::Language;
use crate::catalog::snapshot::dataset::Dataset;

/// The sort order of a list. Ties are sorted by slug.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Order {
    /// Featured first, then most recently updated.
    #[default]
    Featured,
    /// Most recently updated first.
    Updated,
    /// By title, ignoring case.
    Title,
    /// Most rows first.
    Rows,
}

/// A tag and its number of datasets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TagCount {
    /// The tag.
    pub tag: String,
    /// Number of published datasets with the tag.
    pub count: usize,
}

type Ordered = OnceLock<Vec<Arc<Dataset>>>;

/// The lists of one snapshot computed so far.
#[derive(Default)]
pub(in crate::catalog) struct Listing {
    updated: Ordered,
    english_titles: Ordered,
    italian_titles: Ordered,
    rows: Ordered,
    tags: OnceLock<Vec<TagCount>>,
}

impl Listing {
    /// Sorts `featured`, the default list, in another order. Titles are in that language.
    pub(in crate::catalog) fn ordered<'a>(
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

    /// The tags of these datasets, most frequent first, then by name.
    pub(in crate::catalog) fn tags(&self, datasets: &[Arc<Dataset>]) -> &[TagCount] {
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
