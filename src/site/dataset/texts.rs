//! The texts of a publisher beside the data: methodology and changelog.

use askama::Template;

use crate::site::cache::Cache;
use crate::site::frame::Frame;
use crate::site::markdown::{self, Shown};
use crate::site::words::fill;
use mercato_base::clock::Moment;

use super::head::{Head, Tab};
use super::{DatasetWords, Opened};
use mercato_web::{ApiError, Response};

#[derive(Template)]
#[template(path = "dataset/text.html")]
struct TextPage {
    frame: Frame,
    head: Head,
    words: &'static DatasetWords,
    heading: &'static str,
    shown: Option<Shown>,
    /// The message where the publisher gave no text.
    none: &'static str,
    updated: String,
    raw_url: String,
}

pub(super) fn methodology(opened: &Opened<'_>) -> Result<Response, ApiError> {
    let dataset = &opened.dataset;
    let none = opened.words.methodology_none;
    answer(opened, Tab::Methodology, &dataset.methodology, dataset.methodology_updated_at, none)
}

pub(super) fn changelog(opened: &Opened<'_>) -> Result<Response, ApiError> {
    let dataset = &opened.dataset;
    answer(
        opened,
        Tab::Changelog,
        &dataset.changelog,
        dataset.changelog_updated_at,
        opened.words.changelog_none,
    )
}

fn answer(
    opened: &Opened<'_>,
    tab: Tab,
    text: &str,
    updated_at: Moment,
    none: &'static str,
) -> Result<Response, ApiError> {
    let words = opened.words;
    let (frame, head) = opened.frame_and_head(tab);
    let page = TextPage {
        frame,
        head,
        words,
        heading: tab.label(words),
        shown: (!text.trim().is_empty()).then(|| markdown::shown(text)),
        none,
        updated: fill(words.text_updated, opened.visit.numbers.day(updated_at)),
        raw_url: opened.api(tab.name()),
    };
    // The head of the page changes with the dataset, not only with the text.
    opened.visit.answer(opened.request, &page, Cache::Revalidate(updated_at.max(opened.dataset.updated_at)))
}
