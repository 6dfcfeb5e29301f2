//! The first page of a dataset: description, publisher, licence, price, versions and formats.

use crate::site::cache::Cache;
use crate::site::frame::Frame;
use crate::site::markdown;
use crate::site::url::Url;
use crate::site::words::fill;
use askama::Template;
use mercato_catalog::{Dataset, DatasetVersion};
use mercato_query::render::{Format, XLSX_ROWS_MAX};

use super::facts::{Fact, TagLink, facts, tags};
use super::head::{Head, Tab};
use super::{DatasetWords, Opened};
use mercato_web::{ApiError, Response};

/// Bytes of the description for machines that a page carries. One of a very wide table stays at the API.
const JSON_LD_BYTES_MAX: usize = 48 * 1024;

/// Formats whose size is known.
const TEXTS: [(&str, Format); 3] = [("CSV", Format::Csv), ("JSON", Format::Json), ("NDJSON", Format::Ndjson)];

#[derive(Template)]
#[template(path = "dataset/overview.html")]
struct OverviewPage {
    frame: Frame,
    head: Head,
    words: &'static DatasetWords,
    /// Markdown of the publisher as HTML.
    description: String,
    tags: Vec<TagLink>,
    facts: Vec<Fact>,
    citation: Option<String>,
    price_of_row: String,
    price_of_whole: String,
    price_said: String,
    formats: Vec<FormatLine>,
    versions: Vec<VersionLine>,
    explore_url: Url,
    preview_url: Url,
    use_url: Url,
    changelog_url: Url,
}

struct FormatLine {
    name: &'static str,
    size: Option<String>,
}

struct VersionLine {
    version: String,
    published: String,
    rows: String,
    size: String,
    is_current: bool,
}

pub(super) fn page(opened: &Opened<'_>) -> Result<Response, ApiError> {
    let (words, numbers, dataset) = (opened.words, opened.visit.numbers, &opened.dataset);
    let (frame, head) = opened.frame_and_head(Tab::Overview);
    let frame = described(opened, frame).feed(fill(words.feed_of, opened.title()), &feed_url(opened));
    let rows = u64::from(dataset.current.table.row_count());
    let page = OverviewPage {
        description: markdown::shown(opened.description()).html,
        tags: tags(opened),
        facts: facts(opened),
        citation: dataset.manifest.provenance.citation.clone(),
        price_of_row: numbers.price(1),
        price_of_whole: numbers.price_to_the_cent(rows),
        price_said: fill(&fill(words.price_said, numbers.integer(rows)), opened.visit.price(rows)),
        formats: formats(opened),
        versions: versions(opened),
        explore_url: opened.tab(Tab::Explore),
        preview_url: opened.tab(Tab::Preview),
        use_url: opened.tab(Tab::Use),
        changelog_url: opened.tab(Tab::Changelog),
        frame,
        head,
        words,
    };
    opened.visit.answer(opened.request, &page, Cache::Revalidate(dataset.updated_at))
}

/// The frame with the same description that `/croissant` gives, unless it is too large for a page. It has whole addresses,
/// so it is left out where a request does not say how the server is called.
fn described(opened: &Opened<'_>, frame: Frame) -> Frame {
    let Ok(base) = opened.app.documents.base_url(opened.request) else { return frame };
    let (dataset, language) = (&opened.dataset, Some(opened.visit.language));
    let description = crate::api::croissant(dataset, &dataset.current, base.as_str(), language);
    let fits = description.to_string().len() <= JSON_LD_BYTES_MAX;
    if fits { frame.json_ld(&description) } else { frame }
}

fn feed_url(opened: &Opened<'_>) -> Url {
    opened.visit.link(&format!("/datasets/{}/feed.atom", opened.dataset.slug()))
}

fn formats(opened: &Opened<'_>) -> Vec<FormatLine> {
    let current = &opened.dataset.current;
    let size = |format: Format| {
        // Lengths may have to be counted, which reads values.
        let counted = || opened.app.exports.bytes(&current.table, format);
        let bytes = current.is_verified().then(counted).flatten();
        bytes.map(|bytes| opened.visit.numbers.bytes(bytes))
    };
    let mut lines: Vec<FormatLine> =
        TEXTS.map(|(name, format)| FormatLine { name, size: size(format) }).into();
    lines.push(FormatLine { name: "Arrow", size: None });
    if current.table.row_count() <= XLSX_ROWS_MAX {
        lines.push(FormatLine { name: "Excel", size: None });
    }
    let parquet = current.offered_parquet().map(|file| opened.visit.numbers.bytes(file.bytes()));
    lines.extend(parquet.map(|size| FormatLine { name: "Parquet", size: Some(size) }));
    lines
}

fn versions(opened: &Opened<'_>) -> Vec<VersionLine> {
    let (dataset, numbers): (&Dataset, _) = (&opened.dataset, opened.visit.numbers);
    let line = |version: &DatasetVersion| VersionLine {
        version: version.version.to_string(),
        published: numbers.day(version.published_at),
        rows: numbers.integer(version.table.row_count().into()),
        size: numbers.bytes(version.table.file_bytes()),
        is_current: version.version == dataset.current.version,
    };
    dataset.versions.iter().map(line).collect()
}
