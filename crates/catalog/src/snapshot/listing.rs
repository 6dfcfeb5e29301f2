//! Sorted lists of the published datasets, and tag counts.
//!
//! Computed on first use and cached with the immutable snapshot.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use crate::manifest::Language;
use crate::snapshot::dataset::{Dataset, DatasetVersion};

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
    pub tag: String,
    /// Number of published datasets with the tag.
    pub count: usize,
}

/// A licence and its number of datasets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LicenseCount {
    /// The licence, as one of its datasets spells it.
    pub license: String,
    /// Number of published datasets under it.
    pub count: usize,
}

/// A version and its dataset.
#[derive(Clone)]
pub struct NewVersion {
    pub dataset: Arc<Dataset>,
    /// One of its retained versions.
    pub version: DatasetVersion,
}

/// Versions that the list of the newest ones holds.
pub const NEWEST_VERSIONS_MAX: usize = 50;

type Ordered = OnceLock<Vec<Arc<Dataset>>>;

/// The lists of one snapshot computed so far.
#[derive(Default)]
pub struct Listing {
    updated: Ordered,
    english_titles: Ordered,
    italian_titles: Ordered,
    rows: Ordered,
    tags: OnceLock<Vec<TagCount>>,
    licenses: OnceLock<Vec<LicenseCount>>,
    newest: OnceLock<Vec<NewVersion>>,
    row_count: OnceLock<u64>,
}

impl Listing {
    /// Sorts `featured`, the default list, in another order. Titles are in that language.
    pub fn ordered<'a>(
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
    pub fn tags(&self, datasets: &[Arc<Dataset>]) -> &[TagCount] {
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

    /// The licences of these datasets, most frequent first, then by name. Spellings that differ in case are one.
    pub(super) fn licenses(&self, datasets: &[Arc<Dataset>]) -> &[LicenseCount] {
        self.licenses.get_or_init(|| {
            let mut counts: HashMap<String, LicenseCount> = HashMap::new();
            for license in datasets.iter().filter_map(|dataset| dataset.manifest.license.as_ref()) {
                let new = || LicenseCount { license: license.clone(), count: 0 };
                let entry = counts.entry(license.to_ascii_lowercase()).or_insert_with(new);
                entry.count = entry.count.saturating_add(1);
            }
            let mut licenses: Vec<LicenseCount> = counts.into_values().collect();
            licenses.sort_unstable_by(|a, b| b.count.cmp(&a.count).then_with(|| a.license.cmp(&b.license)));
            licenses
        })
    }

    /// The versions of these datasets that were published last, newest first, then by slug.
    pub(super) fn newest(&self, datasets: &[Arc<Dataset>]) -> &[NewVersion] {
        self.newest.get_or_init(|| {
            let mut all: Vec<(&Arc<Dataset>, &DatasetVersion)> = Vec::with_capacity(datasets.len());
            for dataset in datasets {
                all.extend(dataset.versions.iter().map(|version| (dataset, version)));
            }
            all.sort_unstable_by(|(a, one), (b, two)| {
                let newer = two.published_at.cmp(&one.published_at);
                newer.then_with(|| a.slug().cmp(b.slug())).then_with(|| two.version.cmp(&one.version))
            });
            let newest = all.into_iter().take(NEWEST_VERSIONS_MAX);
            newest
                .map(|(dataset, version)| NewVersion {
                    dataset: Arc::clone(dataset),
                    version: version.clone(),
                })
                .collect()
        })
    }

    /// Rows of all these datasets.
    pub(super) fn row_count(&self, datasets: &[Arc<Dataset>]) -> u64 {
        *self.row_count.get_or_init(|| datasets.iter().map(|d| u64::from(d.current.table.row_count())).sum())
    }
}
