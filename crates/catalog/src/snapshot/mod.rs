//! Snapshots of the published datasets.
//!
//! Immutable: readers keep their snapshot while newer ones replace it.

pub(super) mod dataset;
pub(super) mod listing;
pub(super) mod nearest;

use std::collections::HashMap;
use std::sync::Arc;

use crate::manifest::Language;
use crate::slug::Slug;
use crate::snapshot::dataset::{Dataset, DatasetVersion};
use crate::snapshot::listing::{LicenseCount, Listing, NewVersion, Order, TagCount};
use mercato_base::clock::Moment;

/// The state of a published slug.
#[derive(Clone)]
pub enum Entry {
    Serving(Arc<Dataset>),
    /// The dataset is published, but its files are damaged. The reason is for the operator.
    Quarantined {
        reason: String,
    },
}

/// A warning for the operator about a served dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    pub slug: String,
    pub serves: String,
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
    /// Builds a snapshot. Datasets are sorted: featured, then newest, then by name.
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

    /// The entry of a slug, if published.
    pub fn get(&self, slug: &str) -> Option<&Entry> {
        self.entries.get(slug)
    }

    /// The served datasets in default order.
    pub fn datasets(&self) -> &[Arc<Dataset>] {
        &self.ordered
    }

    /// The served datasets in another order, with titles in that language.
    pub fn in_order(&self, order: Order, language: Option<Language>) -> &[Arc<Dataset>] {
        self.listing.ordered(&self.ordered, order, language)
    }

    /// The tags of the served datasets, most frequent first, then by name.
    pub fn tags(&self) -> &[TagCount] {
        self.listing.tags(&self.ordered)
    }

    /// The licences of the served datasets, most frequent first, then by name.
    pub fn licenses(&self) -> &[LicenseCount] {
        self.listing.licenses(&self.ordered)
    }

    /// The versions that were published last, newest first.
    pub fn newest_versions(&self) -> &[NewVersion] {
        self.listing.newest(&self.ordered)
    }

    /// Rows of the current versions of all served datasets.
    pub fn row_count(&self) -> u64 {
        self.listing.row_count(&self.ordered)
    }

    /// Quarantined slugs and reasons, by name.
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

    /// Warnings about served datasets, by name.
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

    /// Slugs of datasets whose store file is still being verified, by name.
    pub fn verifying(&self) -> Vec<&str> {
        self.slugs_where(|current| !current.is_verified() && !current.is_away())
    }

    /// Slugs of datasets whose store file is not on this machine, by name.
    pub fn away(&self) -> Vec<&str> {
        self.slugs_where(DatasetVersion::is_away)
    }

    fn slugs_where(&self, is_so: impl Fn(&DatasetVersion) -> bool) -> Vec<&str> {
        let found = self.ordered.iter().filter(|dataset| is_so(&dataset.current));
        let mut slugs: Vec<&str> = found.map(|dataset| dataset.slug()).collect();
        slugs.sort_unstable();
        slugs
    }

    /// The number of datasets that serve an older version in place of a damaged one.
    pub fn fallen_back(&self) -> usize {
        self.ordered.iter().filter(|dataset| dataset.falls_back()).count()
    }

    /// A number that is unique to each snapshot of this process.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Time of the last change of any dataset, including unpublishing.
    pub fn changed_at(&self) -> Moment {
        self.changed_at.unwrap_or(Moment::from_unix_millis(0))
    }

    pub(super) fn entries(&self) -> &HashMap<Slug, Entry> {
        &self.entries
    }
}
