//! The head of every page of a dataset: its name, its figures in one line, its tabs, and notices of its faults.

use crate::site::url::Url;
use crate::site::words::fill;

use super::{DatasetWords, Opened};

/// The pages of a dataset, in the order of the tabs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tab {
    Overview,
    Columns,
    Preview,
    Explore,
    Relations,
    Methodology,
    Changelog,
    Use,
}

impl Tab {
    pub(super) const ALL: [Tab; 8] = [
        Tab::Overview,
        Tab::Columns,
        Tab::Preview,
        Tab::Explore,
        Tab::Relations,
        Tab::Methodology,
        Tab::Changelog,
        Tab::Use,
    ];

    /// The last part of the path; nothing for the overview.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Tab::Overview => "",
            Tab::Columns => "columns",
            Tab::Preview => "preview",
            Tab::Explore => "explore",
            Tab::Relations => "relations",
            Tab::Methodology => "methodology",
            Tab::Changelog => "changelog",
            Tab::Use => "use",
        }
    }

    /// The path below the root of the site.
    pub(super) fn path(self, slug: &str) -> String {
        match self.name() {
            "" => format!("/datasets/{slug}"),
            name => format!("/datasets/{slug}/{name}"),
        }
    }

    /// Its name in a language.
    pub(super) const fn label(self, words: &DatasetWords) -> &'static str {
        match self {
            Tab::Overview => words.tab_overview,
            Tab::Columns => words.tab_columns,
            Tab::Preview => words.tab_preview,
            Tab::Explore => words.tab_explore,
            Tab::Relations => words.tab_relations,
            Tab::Methodology => words.tab_methodology,
            Tab::Changelog => words.tab_changelog,
            Tab::Use => words.tab_use,
        }
    }
}

/// A link to a page of the dataset.
#[derive(Debug)]
pub(super) struct TabLink {
    pub(super) label: &'static str,
    pub(super) url: Url,
    pub(super) is_current: bool,
}

/// The head of every page of a dataset.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) title: String,
    pub(super) slug: String,
    /// Version, rows, columns and price in one line.
    pub(super) figures: Vec<String>,
    pub(super) list_url: Url,
    pub(super) tabs: Vec<TabLink>,
    /// Notices about the state of the dataset.
    pub(super) notices: Vec<String>,
}

impl Head {
    /// The head on one of the tabs.
    pub(super) fn of(opened: &Opened<'_>, current: Tab) -> Self {
        let (words, numbers, dataset) = (opened.words, opened.visit.numbers, &opened.dataset);
        let version = &dataset.current;
        let rows = u64::from(version.table.row_count());
        let columns = version.table.columns().len() as u64;
        let link =
            |tab: Tab| TabLink { label: tab.label(words), url: opened.tab(tab), is_current: tab == current };
        Self {
            title: opened.title().to_owned(),
            slug: dataset.slug().to_owned(),
            figures: vec![
                fill(words.version_is, &version.version),
                counted(words.row_is, words.rows_are, rows, &numbers.integer(rows)),
                counted(words.column_is, words.columns_are, columns, &numbers.integer(columns)),
                fill(words.updated_on, numbers.day(dataset.updated_at)),
            ],
            list_url: opened.visit.link("/datasets"),
            tabs: Tab::ALL.into_iter().map(link).collect(),
            notices: notices(opened),
        }
    }
}

/// A number with the noun that fits it.
pub(super) fn counted(one: &str, many: &str, number: u64, written: &str) -> String {
    fill(if number == 1 { one } else { many }, written)
}

/// Reports a version that was withdrawn, damaged or not yet verified, without the cause, which is for the operator.
fn notices(opened: &Opened<'_>) -> Vec<String> {
    let (words, dataset) = (opened.words, &opened.dataset);
    let served = dataset.current.version.to_string();
    let mut notices = Vec::new();
    if dataset.falls_back() {
        let said = fill(words.notice_falls_back, &dataset.wanted);
        notices.push(fill(&said, &served));
    } else if let Some(newest) =
        dataset.versions.first().filter(|newest| newest.version > dataset.current.version)
    {
        let is_rolled_back = dataset.wanted == dataset.current.version;
        let said = match newest {
            _ if is_rolled_back => words.notice_retracted,
            newest if newest.is_away() => words.notice_fetching_newer,
            _ => words.notice_verifying_newer,
        };
        notices.push(fill(&fill(said, &newest.version), &served));
    }
    if dataset.current.is_away() {
        notices.push(words.notice_away.to_owned());
    } else if !dataset.current.is_verified() {
        notices.push(words.notice_verifying.to_owned());
    }
    notices
}
