//! The facts of a manifest, line by line.
//!
//! Translates the abbreviations of manifests. Does not depend on rows.

use crate::site::url::Url;
use crate::site::words::fill;
use mercato_catalog::Coverage;

use super::{DatasetWords, Opened};

/// A text that may lead somewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Linked {
    pub(super) text: String,
    pub(super) url: Option<String>,
}

impl Linked {
    fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), url: None }
    }

    fn to(text: impl Into<String>, url: Option<&str>) -> Self {
        Self { text: text.into(), url: url.map(ToOwned::to_owned) }
    }
}

/// One line: its name and its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fact {
    pub(super) name: &'static str,
    pub(super) said: Linked,
}

/// A tag and the list of datasets that have it.
#[derive(Debug)]
pub(super) struct TagLink {
    pub(super) tag: String,
    pub(super) url: Url,
}

/// The tags, each with its list.
pub(super) fn tags(opened: &Opened<'_>) -> Vec<TagLink> {
    let link =
        |tag: &String| TagLink { tag: tag.clone(), url: opened.visit.link("/datasets").with("tag", tag) };
    opened.dataset.manifest.tags.iter().map(link).collect()
}

/// Licence, publisher and provenance, as far as the manifest has them. Addresses were checked when it was read.
pub(super) fn facts(opened: &Opened<'_>) -> Vec<Fact> {
    let (words, manifest) = (opened.words, &opened.dataset.manifest);
    let provenance = &manifest.provenance;
    let license = match (&manifest.license, &manifest.license_url) {
        (Some(name), url) => Some(Linked::to(name, url.as_deref())),
        (None, Some(url)) => Some(Linked::to(url, Some(url))),
        (None, None) => Some(Linked::plain(words.license_none)),
    };
    let publisher =
        provenance.publisher.as_ref().map(|publisher| Linked::to(&publisher.name, publisher.url.as_deref()));
    let contact = provenance.contact.as_ref().map(|contact| {
        let is_web = contact.starts_with("http://") || contact.starts_with("https://");
        Linked {
            text: contact.clone(),
            url: Some(if is_web { contact.clone() } else { format!("mailto:{contact}") }),
        }
    });
    let homepage = provenance.homepage.as_ref().map(|homepage| Linked::to(homepage, Some(homepage)));
    let coverage = provenance.coverage.as_ref();
    let period = coverage.and_then(|coverage| period(coverage, words)).map(Linked::plain);
    let places = coverage.filter(|coverage| !coverage.places.is_empty());
    let places = places.map(|coverage| Linked::plain(coverage.places.join(", ")));
    let frequency =
        provenance.update_frequency.map(|frequency| Linked::plain(frequency_word(frequency.word, words)));
    [
        (words.license, license),
        (words.publisher, publisher),
        (words.contact, contact),
        (words.homepage, homepage),
        (words.period, period),
        (words.places, places),
        (words.update_frequency, frequency),
    ]
    .into_iter()
    .filter_map(|(name, said)| said.map(|said| Fact { name, said }))
    .collect()
}

fn period(coverage: &Coverage, words: &DatasetWords) -> Option<String> {
    match (&coverage.from, &coverage.to) {
        (Some(from), Some(to)) if from == to => Some(from.clone()),
        (Some(from), Some(to)) => Some(format!("{from} – {to}")),
        (Some(from), None) => Some(fill(words.period_since, from)),
        (None, Some(to)) => Some(fill(words.period_until, to)),
        (None, None) => None,
    }
}

/// The words of manifests are English.
fn frequency_word(word: &'static str, words: &DatasetWords) -> &'static str {
    match word {
        "continuous" => words.frequency_continuous,
        "hourly" => words.frequency_hourly,
        "daily" => words.frequency_daily,
        "weekly" => words.frequency_weekly,
        "fortnightly" => words.frequency_fortnightly,
        "monthly" => words.frequency_monthly,
        "quarterly" => words.frequency_quarterly,
        "half-yearly" => words.frequency_half_yearly,
        "yearly" => words.frequency_yearly,
        "irregular" => words.frequency_irregular,
        "never" => words.frequency_never,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mercato_catalog::{Language, UPDATE_FREQUENCIES};

    #[test]
    fn translates_every_frequency_into_italian() {
        let words = DatasetWords::of(Language::Italian);
        for frequency in UPDATE_FREQUENCIES {
            assert_ne!(frequency_word(frequency.word, words), frequency.word);
        }
    }

    #[test]
    fn words_period_open_at_either_end() {
        let words = DatasetWords::of(Language::English);
        let coverage = |from: Option<&str>, to: Option<&str>| Coverage {
            from: from.map(ToOwned::to_owned),
            to: to.map(ToOwned::to_owned),
            places: Vec::new(),
        };
        let said = |from, to| period(&coverage(from, to), words);
        assert_eq!(said(Some("2020"), Some("2021")).as_deref(), Some("2020 – 2021"));
        assert_eq!(said(Some("2020"), Some("2020")).as_deref(), Some("2020"));
        assert_eq!(said(Some("2020"), None).as_deref(), Some("since 2020"));
        assert_eq!(said(None, Some("2021")).as_deref(), Some("until 2021"));
        assert_eq!(said(None, None), None);
    }
}
