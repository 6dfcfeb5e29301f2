//! What is published at one moment.
//!
//! Immutable: readers keep the snapshot they began with while newer ones replace it.

use std::collections::HashMap;
use std::sync::Arc;

use super::dataset::Dataset;
use super::listing::{Listing, Order, TagCount};
use super::manifest::Language;
use super::slug::Slug;
use crate::clock::Moment;

/// What stands behind a slug.
#[derive(Clone)]
pub enum Entry {
    /// It is served.
    Serving(Arc<Dataset>),
    /// It is published, but its files are damaged. The reason is for the operator.
    Quarantined {
        /// What is wrong.
        reason: String,
    },
}

/// What the operator should know about a dataset that is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The dataset.
    pub slug: String,
    /// The version that is served.
    pub serves: String,
    /// What is wrong.
    pub reason: String,
}

/// All published datasets of one moment.
#[derive(Default)]
pub struct Snapshot {
    entries: HashMap<Slug, Entry>,
    ordered: Vec<Arc<Dataset>>,
    listing: Listing,
    generation: u64,
    changed_at: Option<Moment>,
}

impl Snapshot {
    /// A snapshot of these entries; datasets are put in the order of the list: featured, then newest, then by name.
    pub(super) fn new(entries: HashMap<Slug, Entry>, generation: u64, changed_at: Moment) -> Self {
        let mut ordered: Vec<Arc<Dataset>> = entries
            .values()
            .filter_map(|entry| match entry {
                Entry::Serving(dataset) => Some(Arc::clone(dataset)),
                Entry::Quarantined { .. } => None,
            })
            .collect();
        ordered.sort_by(|a, b| {
            let featured = b.manifest.featured.cmp(&a.manifest.featured);
            featured.then(b.updated_at.cmp(&a.updated_at)).then_with(|| a.slug().cmp(b.slug()))
        });
        Self { entries, ordered, listing: Listing::default(), generation, changed_at: Some(changed_at) }
    }

    /// What stands behind a slug, if anything published does.
    pub fn get(&self, slug: &str) -> Option<&Entry> {
        self.entries.get(slug)
    }

    /// The datasets that are served, in the order of the list.
    pub fn datasets(&self) -> &[Arc<Dataset>] {
        &self.ordered
    }

    /// The same in another order; titles are those of that language.
    pub fn in_order(&self, order: Order, language: Option<Language>) -> &[Arc<Dataset>] {
        self.listing.ordered(&self.ordered, order, language)
    }

    /// The tags of the datasets that are served, the most frequent first, then by name.
    pub fn tags(&self) -> &[TagCount] {
        self.listing.tags(&self.ordered)
    }

    /// Slugs and reasons of the datasets that are not served because they are damaged, by name.
    pub fn quarantined(&self) -> Vec<(&Slug, &str)> {
        let mut list: Vec<(&Slug, &str)> = self
            .entries
            .iter()
            .filter_map(|(slug, entry)| match entry {
                Entry::Quarantined { reason } => Some((slug, reason.as_str())),
                Entry::Serving(_) => None,
            })
            .collect();
        list.sort();
        list
    }

    /// What the operator should know about datasets that are served, by name.
    pub fn warnings(&self) -> Vec<Warning> {
        let mut list: Vec<Warning> = Vec::new();
        for dataset in &self.ordered {
            let warning = |reason| Warning {
                slug: dataset.slug().to_owned(),
                serves: dataset.current.version.to_string(),
                reason,
            };
            list.extend(dataset.warnings().into_iter().map(warning));
        }
        list.sort_by(|a, b| a.slug.cmp(&b.slug));
        list
    }

    /// Slugs of the datasets whose rows are not served yet, because the store file is being verified; by name.
    pub fn verifying(&self) -> Vec<&str> {
        let waiting = self.ordered.iter().filter(|dataset| !dataset.current.is_verified());
        let mut slugs: Vec<&str> = waiting.map(|dataset| dataset.slug()).collect();
        slugs.sort_unstable();
        slugs
    }

    /// How many datasets serve an older version because the one that should be served is damaged.
    pub fn fallen_back(&self) -> usize {
        self.ordered.iter().filter(|dataset| dataset.falls_back()).count()
    }

    /// Another number in every snapshot, within one run of the program.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// When anything about any dataset last changed; also when one was taken down.
    pub fn changed_at(&self) -> Moment {
        self.changed_at.unwrap_or(Moment::from_unix_millis(0))
    }

    pub(super) fn entries(&self) -> &HashMap<Slug, Entry> {
        &self.entries
    }
}
