//! The content of the template of the list.

use askama::Template;

use super::Shown;
use super::choice::{Choice, ORDERS};
use super::facets::{Chosen, Facet};
use crate::limits::site::DATASETS_PER_PAGE;
use crate::site::entry::{Entry, counted, datasets_in_words, whole};
use crate::site::frame::{Frame, Section};
use crate::site::url::Url;
use crate::site::visit::Visit;
use crate::site::words::fill;
use mercato_catalog::Order;

#[derive(Template)]
#[template(path = "datasets.html")]
pub(super) struct ListPage {
    frame: Frame,
    heading: String,
    /// How many there are, and how they are ranked.
    count: String,
    ranking: Option<&'static str>,
    /// The fault of the question.
    pub(super) problem: Option<String>,
    /// A notice about the results.
    pub(super) notice: Option<&'static str>,
    entries: Vec<Entry>,
    groups: Vec<Facet>,
    chosen: Vec<Chosen>,
    without_chosen: String,
    orders: Vec<OrderLink>,
    paging: Paging,
}

struct OrderLink {
    text: &'static str,
    url: String,
    is_current: bool,
}

/// The way to the pages before and behind.
pub(super) struct Paging {
    /// Which page of how many; nothing where there is one only.
    pub place: Option<String>,
    /// The page before.
    pub previous: Option<String>,
    /// The page behind.
    pub next: Option<String>,
    page: usize,
}

impl Paging {
    /// Page `page`, from one, of a list of this number of datasets.
    pub(super) fn new(visit: &Visit, page: usize, datasets: usize) -> Self {
        let last = datasets.div_ceil(DATASETS_PER_PAGE).max(1);
        let page = page.min(last);
        let numbers = visit.numbers;
        let place = || {
            let text = fill(visit.words.page_of, numbers.integer(whole(page)));
            fill(&text, numbers.integer(whole(last)))
        };
        Self {
            place: (last > 1).then(place),
            previous: (page > 1).then(|| page_url(visit.here(), page.saturating_sub(1)).to_string()),
            next: (page < last).then(|| page_url(visit.here(), page.saturating_add(1)).to_string()),
            page,
        }
    }
}

fn page_url(here: &Url, page: usize) -> Url {
    if page > 1 { here.with("page", page) } else { here.without("page") }
}

impl ListPage {
    pub(super) fn new(visit: &Visit, choice: &Choice<'_>, shown: Shown, paging: Paging) -> Self {
        let words = visit.words;
        let question = choice.question.as_ref().and_then(|read| read.as_ref().ok());
        let heading =
            question.map_or(words.datasets.to_owned(), |question| fill(words.results_for, question.text()));
        let count = match question {
            None => datasets_in_words(visit, shown.total),
            Some(_) => counted(visit, whole(shown.total), words.one_result, words.many_results),
        };
        let title = match &paging.place {
            Some(place) if paging.page > 1 => format!("{heading} · {place}"),
            _ => heading.clone(),
        };
        let address = page_url(visit.here(), paging.page);
        let mut frame = visit
            .frame(Section::Datasets, title, words.list_description)
            .canonical(&address)
            .question(choice.typed);
        if choice.question.is_some() || !choice.takes_all() || choice.order != Order::default() {
            frame = frame.no_index();
        }
        let bare = ["tag", "license", "size", "updated", "page"];
        Self {
            frame,
            heading,
            count,
            ranking: shown.ranking,
            problem: None,
            notice: None,
            entries: shown.entries,
            groups: shown.facets.groups,
            chosen: shown.facets.chosen,
            without_chosen: bare.iter().fold(visit.here().clone(), |url, name| url.without(name)).to_string(),
            orders: if shown.ranking.is_some() { Vec::new() } else { orders(visit, choice.order) },
            paging,
        }
    }

    /// The label of the link that removes a facet.
    fn removing(&self, chosen: &Chosen) -> String {
        fill(self.frame.words.remove_filter, &chosen.text)
    }
}

fn orders(visit: &Visit, current: Order) -> Vec<OrderLink> {
    let words = visit.words;
    let texts = [words.sort_featured, words.sort_updated, words.sort_title, words.sort_rows];
    let here = visit.here().without("page");
    let link = |(text, (word, order)): (&'static str, (&str, Order))| OrderLink {
        text,
        url: if order == Order::default() { here.without("sort") } else { here.with("sort", word) }
            .to_string(),
        is_current: order == current,
    };
    texts.into_iter().zip(ORDERS).map(link).collect()
}
