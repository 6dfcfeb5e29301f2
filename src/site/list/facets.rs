//! The facets of a list: the values that narrow it, and the number of datasets that each leaves.
//!
//! Counts of the whole catalogue come from the lists that a snapshot keeps; counts of a narrowed list are made in one
//! pass over it. Does not depend on templates.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use super::choice::{AGES, Choice, SIZES};
use crate::site::entry::whole;
use crate::site::url::Url;
use crate::site::visit::Visit;
use mercato_catalog::{Dataset, Order, Snapshot};

/// Values of one facet that are shown.
const FACET_VALUES_MAX: usize = 15;

/// One group of values.
#[derive(Debug)]
pub(super) struct Facet {
    /// The name of the group.
    pub title: &'static str,
    /// For the heading.
    pub id: &'static str,
    /// The most frequent ones.
    pub values: Vec<FacetValue>,
}

/// One value that can be chosen.
#[derive(Debug)]
pub(super) struct FacetValue {
    /// Its name in the language of the page.
    pub text: String,
    /// The list narrowed to it.
    pub url: String,
    /// How many datasets that leaves, where it is known.
    pub count: Option<String>,
}

/// A facet that is chosen.
#[derive(Debug)]
pub(super) struct Chosen {
    /// Its name in the language of the page.
    pub text: String,
    /// The list without it.
    pub url: String,
}

/// All facets of a list.
#[derive(Debug, Default)]
pub(super) struct Facets {
    /// The facets that are offered.
    pub groups: Vec<Facet>,
    /// The facets that are chosen.
    pub chosen: Vec<Chosen>,
}

/// Values with their counts, none where they were not counted.
struct Counts<'d> {
    tags: Vec<(&'d str, Option<usize>)>,
    licenses: Vec<(&'d str, Option<usize>)>,
    sizes: [Option<usize>; SIZES.len()],
    ages: [Option<usize>; AGES.len()],
}

impl Facets {
    /// Of the whole catalogue.
    pub(super) fn of_all(visit: &Visit, snapshot: &Snapshot, choice: &Choice<'_>) -> Self {
        let by_rows = snapshot.in_order(Order::Rows, None);
        let at_least =
            |rows: u32| by_rows.partition_point(|dataset| dataset.current.table.row_count() >= rows);
        let sizes = SIZES.map(|size| {
            let above = size.most.checked_add(1).map_or(0, at_least);
            Some(at_least(size.least).saturating_sub(above))
        });
        let by_change = snapshot.in_order(Order::Updated, None);
        let ages = AGES.map(|age| {
            let since = age.since(visit.now);
            Some(by_change.partition_point(|dataset| dataset.updated_at >= since))
        });
        let tags =
            snapshot.tags().iter().take(FACET_VALUES_MAX).map(|tag| (tag.tag.as_str(), Some(tag.count)));
        let licenses = snapshot.licenses().iter().take(FACET_VALUES_MAX);
        let licenses = licenses.map(|one| (one.license.as_str(), Some(one.count)));
        let counts = Counts { tags: tags.collect(), licenses: licenses.collect(), sizes, ages };
        Self::new(visit, choice, counts)
    }

    /// Of a list that is narrowed already.
    pub(super) fn of_found(visit: &Visit, found: &[&Arc<Dataset>], choice: &Choice<'_>) -> Self {
        let (mut tags, mut licenses): (HashMap<&str, usize>, HashMap<&str, usize>) = Default::default();
        let (mut sizes, mut ages) = ([0_usize; SIZES.len()], [0_usize; AGES.len()]);
        let bump = |count: &mut usize| *count = count.saturating_add(1);
        for dataset in found {
            dataset.manifest.tags.iter().for_each(|tag| bump(tags.entry(tag).or_default()));
            dataset.manifest.license.iter().for_each(|license| bump(licenses.entry(license).or_default()));
            let rows = dataset.current.table.row_count();
            sizes
                .iter_mut()
                .zip(SIZES)
                .filter(|(_, size)| size.holds(rows))
                .for_each(|(count, _)| bump(count));
            let is_young = |age: &super::choice::Age| dataset.updated_at >= age.since(visit.now);
            ages.iter_mut().zip(AGES).filter(|(_, age)| is_young(age)).for_each(|(count, _)| bump(count));
        }
        let counts = Counts {
            tags: most_frequent(tags),
            licenses: most_frequent(licenses),
            sizes: sizes.map(Some),
            ages: ages.map(Some),
        };
        Self::new(visit, choice, counts)
    }

    /// Of a search with many results: they are ranked and not counted, so the values stand without numbers.
    pub(super) fn of_search(visit: &Visit, snapshot: &Snapshot, choice: &Choice<'_>) -> Self {
        let tags = snapshot.tags().iter().take(FACET_VALUES_MAX).map(|tag| (tag.tag.as_str(), None));
        let licenses = snapshot.licenses().iter().take(FACET_VALUES_MAX);
        let licenses = licenses.map(|one| (one.license.as_str(), None));
        let counts = Counts {
            tags: tags.collect(),
            licenses: licenses.collect(),
            sizes: [None; SIZES.len()],
            ages: [None; AGES.len()],
        };
        Self::new(visit, choice, counts)
    }

    fn new(visit: &Visit, choice: &Choice<'_>, counts: Counts<'_>) -> Self {
        let words = visit.words;
        let here = visit.here().without("page");
        let value = |text: &str, url: Url, count: Option<usize>| FacetValue {
            text: text.to_owned(),
            url: url.to_string(),
            count: count.map(|count| visit.numbers.integer(whole(count))),
        };
        let is_worth = |count: &Option<usize>| *count != Some(0);
        let tags = counts.tags.into_iter().filter(|(tag, _)| !choice.tags.contains(tag));
        let tags = tags.map(|(tag, count)| value(tag, here.and("tag", tag), count));
        let licenses = counts.licenses.into_iter().filter(|_| choice.license.is_none());
        let licenses = licenses.map(|(name, count)| value(name, here.with("license", name), count));
        let sizes =
            SIZES.iter().zip(counts.sizes).filter(|(_, count)| choice.size.is_none() && is_worth(count));
        let sizes = sizes.map(|(size, count)| value(size.name(words), here.with("size", size.word), count));
        let ages = AGES.iter().zip(counts.ages).filter(|(_, count)| choice.age.is_none() && is_worth(count));
        let ages = ages.map(|(age, count)| value(age.name(words), here.with("updated", age.word), count));
        let groups = [
            Facet { title: words.tag, id: "facet-tag", values: tags.collect() },
            Facet { title: words.licence, id: "facet-license", values: licenses.collect() },
            Facet { title: words.size, id: "facet-size", values: sizes.collect() },
            Facet { title: words.updated, id: "facet-updated", values: ages.collect() },
        ];
        Self {
            groups: groups.into_iter().filter(|group| !group.values.is_empty()).collect(),
            chosen: chosen(visit, choice),
        }
    }
}

/// The chosen facets, each with the list without it.
fn chosen(visit: &Visit, choice: &Choice<'_>) -> Vec<Chosen> {
    let here = visit.here().without("page");
    let one = |text: &str, url: Url| Chosen { text: text.to_owned(), url: url.to_string() };
    let mut list: Vec<Chosen> =
        choice.tags.iter().map(|tag| one(tag, here.without_value("tag", tag))).collect();
    list.extend(choice.license.map(|license| one(license, here.without("license"))));
    list.extend(choice.size.map(|size| one(size.name(visit.words), here.without("size"))));
    list.extend(choice.age.map(|age| one(age.name(visit.words), here.without("updated"))));
    list
}

/// The values that most datasets have, then by name.
fn most_frequent(counts: HashMap<&str, usize>) -> Vec<(&str, Option<usize>)> {
    let mut list: Vec<(&str, usize)> = counts.into_iter().collect();
    list.sort_unstable_by_key(|(name, count)| (Reverse(*count), *name));
    list.into_iter().take(FACET_VALUES_MAX).map(|(name, count)| (name, Some(count))).collect()
}
