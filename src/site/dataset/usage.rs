//! How programs read the dataset: a first query, all rows, the whole file.
//!
//! Commands name the address of this server and take the key from the environment; no account is read.

use askama::Template;

use crate::limits::api::QUERY_LIMIT_MAX;
use crate::site::cache::Cache;
use crate::site::frame::Frame;
use crate::site::snippets::{self, Json};
use crate::site::url::Url;
use crate::site::words::fill;

use super::head::{Head, Tab};
use super::{DatasetWords, Opened};
use mercato_web::{ApiError, Response};

/// Rows of the first query.
const FIRST_ROWS: u64 = 100;
/// Columns that the first query names, so that the reader sees how.
const FIRST_COLUMNS: usize = 3;

/// A command to paste.
#[derive(Debug)]
pub(super) struct Snippet {
    /// Unique in its page.
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) text: String,
}

impl Snippet {
    pub(super) fn new(id: &'static str, title: &'static str, text: String) -> Self {
        Self { id, title, text }
    }
}

#[derive(Template)]
#[template(path = "dataset/use.html")]
struct UsePage {
    frame: Frame,
    head: Head,
    words: &'static DatasetWords,
    first: Snippet,
    programs: Vec<Snippet>,
    files: Vec<Snippet>,
    file_said: String,
    explore_url: Url,
    console_url: String,
    links: Vec<(&'static str, String)>,
}

pub(super) fn page(opened: &Opened<'_>) -> Result<Response, ApiError> {
    let (words, numbers, dataset) = (opened.words, opened.visit.numbers, &opened.dataset);
    let slug = dataset.slug();
    let (query, download) = (opened.whole_api("query"), opened.whole_api("download?format=csv"));
    let rows = u64::from(dataset.current.table.row_count());
    let first = first_query(opened);
    let all = Json::Object(vec![("limit".to_owned(), Json::Number(QUERY_LIMIT_MAX.to_string()))]);
    let file = format!("{slug}-{}.csv", dataset.current.version);
    let duckdb = match dataset.current.offered_parquet() {
        Some(_) => snippets::duckdb_parquet(&opened.whole_api("download?format=parquet")),
        None => snippets::duckdb(&download),
    };
    let (frame, head) = opened.frame_and_head(Tab::Use);
    let page = UsePage {
        first: Snippet::new("curl", "curl", snippets::curl(&query, &first)),
        programs: vec![
            Snippet::new("python", "Python", snippets::python(&query, &all)),
            Snippet::new("typescript", "TypeScript", snippets::typescript(&query, &all)),
        ],
        files: vec![
            Snippet::new("download", "curl", snippets::curl_download(&download, &file)),
            Snippet::new("duckdb", "DuckDB", duckdb),
        ],
        file_said: fill(&fill(words.use_file_said, numbers.integer(rows)), opened.visit.price(rows)),
        explore_url: opened.tab(Tab::Explore),
        console_url: frame.console.clone(),
        links: vec![
            (words.link_schema, opened.api("schema")),
            (words.link_sample, opened.api("sample")),
            (words.link_stats, opened.api("stats")),
            ("Croissant", opened.api("croissant")),
        ],
        frame,
        head,
        words,
    };
    opened.visit.answer(opened.request, &page, Cache::Revalidate(dataset.updated_at))
}

/// A query that names a few columns.
fn first_query(opened: &Opened<'_>) -> Json {
    let columns = opened.dataset.current.table.columns();
    let names = columns.iter().take(FIRST_COLUMNS).map(|meta| Json::Text(meta.name.clone()));
    Json::Object(vec![
        ("columns".to_owned(), Json::List(names.collect())),
        ("limit".to_owned(), Json::Number(FIRST_ROWS.to_string())),
    ])
}
