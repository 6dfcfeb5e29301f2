//! The choice of a visitor: question, facets, order and page, read from the query of the list.
//!
//! Unknown words are ignored, so that old links keep working.

use crate::limits::site::DATASETS_PER_PAGE;
use crate::site::visit::Visit;
use crate::site::words::Words;
use mercato_base::clock::Moment;
use mercato_catalog::{Dataset, Order};
use mercato_search::question::{Question, QuestionError};

/// Tags that one question may name.
const TAGS_CHOSEN_MAX: usize = 8;

/// Names of the query of the list.
pub(super) const NAMES: [&str; 7] = ["q", "tag", "license", "size", "updated", "sort", "page"];

/// Words of `sort`.
pub(super) const ORDERS: [(&str, Order); 4] = [
    ("featured", Order::Featured),
    ("updated", Order::Updated),
    ("title", Order::Title),
    ("rows", Order::Rows),
];

/// A class of sizes, by rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    /// The word in addresses.
    pub word: &'static str,
    /// Fewest rows.
    pub least: u32,
    /// Most rows.
    pub most: u32,
}

/// From small to large, without gaps.
pub(super) const SIZES: [Size; 4] = [
    Size { word: "small", least: 0, most: 10_000 },
    Size { word: "medium", least: 10_001, most: 1_000_000 },
    Size { word: "large", least: 1_000_001, most: 10_000_000 },
    Size { word: "huge", least: 10_000_001, most: u32::MAX },
];

impl Size {
    /// Whether a dataset with this number of rows is of this size.
    pub(super) fn holds(self, rows: u32) -> bool {
        (self.least..=self.most).contains(&rows)
    }

    /// Its name in a language.
    pub(super) fn name(self, words: &Words) -> &'static str {
        match self.word {
            "small" => words.size_small,
            "medium" => words.size_medium,
            "large" => words.size_large,
            _ => words.size_huge,
        }
    }
}

/// A stretch of time before now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Age {
    /// The word in addresses.
    pub word: &'static str,
    /// Its length.
    pub days: i64,
}

/// From short to long.
pub(super) const AGES: [Age; 3] =
    [Age { word: "week", days: 7 }, Age { word: "month", days: 30 }, Age { word: "year", days: 365 }];

impl Age {
    /// When it began.
    pub(super) fn since(self, now: Moment) -> Moment {
        now.plus_seconds(self.days.saturating_mul(-86_400))
    }

    /// Its name in a language.
    pub(super) fn name(self, words: &Words) -> &'static str {
        match self.word {
            "week" => words.updated_week,
            "month" => words.updated_month,
            _ => words.updated_year,
        }
    }
}

/// The parameters of the list.
pub(super) struct Choice<'v> {
    /// The question, read or refused; nothing when none was asked.
    pub question: Option<Result<Question, QuestionError>>,
    pub typed: &'v str,
    /// Tags, all of which a dataset has.
    pub tags: Vec<&'v str>,
    /// The licence.
    pub license: Option<&'v str>,
    pub size: Option<Size>,
    /// How long ago the last change may be.
    pub age: Option<Age>,
    /// The order of a list.
    pub order: Order,
    /// The page, from one.
    pub page: usize,
    now: Moment,
}

impl<'v> Choice<'v> {
    /// Reads the query of a visit.
    pub(super) fn of(visit: &'v Visit) -> Self {
        let typed = visit.value("q").unwrap_or_default();
        let is_asked = !typed.trim().is_empty();
        let mut tags: Vec<&str> = Vec::new();
        for tag in visit.values("tag") {
            if tags.len() < TAGS_CHOSEN_MAX && !tags.contains(&tag) {
                tags.push(tag);
            }
        }
        let size = visit.value("size").and_then(|word| SIZES.into_iter().find(|size| size.word == word));
        let age = visit.value("updated").and_then(|word| AGES.into_iter().find(|age| age.word == word));
        let order = visit.value("sort").and_then(|word| ORDERS.iter().find(|(known, _)| *known == word));
        let page = visit.value("page").and_then(|text| text.parse().ok()).filter(|page| *page > 0);
        Self {
            question: is_asked.then(|| Question::parse(typed)),
            typed,
            tags,
            license: visit.value("license"),
            size,
            age,
            order: order.map_or_else(Order::default, |(_, order)| *order),
            page: page.unwrap_or(1),
            now: visit.now,
        }
    }

    /// Whether no facet is chosen.
    pub(super) fn takes_all(&self) -> bool {
        self.tags.is_empty() && self.license.is_none() && self.size.is_none() && self.age.is_none()
    }

    /// Whether a dataset fits every facet.
    pub(super) fn takes(&self, dataset: &Dataset) -> bool {
        let manifest = &dataset.manifest;
        let licensed = |wanted: &str| {
            manifest.license.as_ref().is_some_and(|license| license.eq_ignore_ascii_case(wanted))
        };
        self.size.is_none_or(|size| size.holds(dataset.current.table.row_count()))
            && self.age.is_none_or(|age| dataset.updated_at >= age.since(self.now))
            && self.tags.iter().all(|tag| manifest.tags.iter().any(|own| own == tag))
            && self.license.is_none_or(licensed)
    }

    /// The page in a list of this number of datasets: the last one for a number beyond it.
    pub(super) fn page_in(&self, total: usize) -> usize {
        self.page.min(total.div_ceil(DATASETS_PER_PAGE).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assigns_one_size_to_every_row_count() {
        for rows in [0, 1, 10_000, 10_001, 1_000_000, 1_000_001, 10_000_000, 10_000_001, u32::MAX] {
            assert_eq!(SIZES.iter().filter(|size| size.holds(rows)).count(), 1, "{rows}");
        }
    }
}
