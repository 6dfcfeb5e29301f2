//! The work file, which defines the requests of a load test.
//!
//! Does not depend on connections or template syntax.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::failure::Failure;
use crate::loadgen::requests::template::{Template, TemplateError};
use crate::loadgen::requests::work_reader::{FileText, Reader};

/// The works over TPC-H order lines.
pub const BUILT_IN: &str = include_str!("lineitem.toml");
/// Name of the built-in file in messages.
pub const BUILT_IN_NAME: &str = "built-in works (--print-works)";

/// Largest work file, bytes.
pub const FILE_SIZE_BYTES_MAX: u64 = 1024 * 1024;
/// Most works of a file.
pub const FILE_WORK_COUNT_MAX: usize = 256;
/// Most lists, parameters, or headers of a request.
pub const ENTRY_COUNT_MAX: usize = 64;
/// Most depths of a run.
pub const DEPTH_COUNT_MAX: usize = 16;
/// Most characters of a name.
pub const NAME_LENGTH_MAX: usize = 32;
/// Largest body template, bytes.
pub const BODY_BYTES_MAX: usize = 256 * 1024;

#[derive(Debug, Clone)]
pub struct WorkFile {
    /// Its name in messages.
    pub source: String,
    /// The default of `--work`.
    pub mix: Option<String>,
    /// The default of `--depths`.
    pub depths: Vec<u64>,
    pub parameters: BTreeMap<String, String>,
    /// Lists of values that are fetched before the run.
    pub lists: BTreeMap<String, ListSource>,
    /// The works, in the order of the file.
    pub works: Vec<Work>,
}

#[derive(Debug, Clone)]
pub struct Work {
    pub name: String,
    pub description: String,
    pub request: Request,
    /// Good statuses; empty means 200 to 299.
    pub expect: Vec<u16>,
    pub cursor: Option<CursorSource>,
}

#[derive(Debug, Clone)]
pub struct Request {
    pub method: String,
    pub path: Template,
    pub headers: Vec<(String, Template)>,
    pub body: Option<Template>,
}

/// A request whose response contains a cursor.
#[derive(Debug, Clone)]
pub struct CursorSource {
    /// The request. `{offset}` is the depth minus one.
    pub request: Request,
    /// JSON pointer to the cursor (RFC 6901).
    pub pointer: String,
}

/// A request whose response contains a list of values.
#[derive(Debug, Clone)]
pub struct ListSource {
    pub request: Request,
    /// JSON pointer to the list of rows (RFC 6901).
    pub rows: String,
    /// The field of a row that holds the value.
    pub field: String,
}

impl Work {
    /// Whether its request depends on the depth.
    #[must_use]
    pub fn has_depth(&self) -> bool {
        self.request.texts().any(|text| text.names("depth") || text.names("cursor"))
    }
}

impl Request {
    pub fn texts(&self) -> impl Iterator<Item = &Template> {
        std::iter::once(&self.path).chain(self.headers.iter().map(|(_, text)| text)).chain(&self.body)
    }
}

/// Reads a work file; without a path, the built-in one.
pub fn text(file: Option<&Path>) -> Result<(String, String), Failure> {
    let Some(path) = file else { return Ok((BUILT_IN_NAME.to_owned(), BUILT_IN.to_owned())) };
    let source = path.display().to_string();
    let size = fs::metadata(path).map_err(Failure::io(path, "read"))?.len();
    if size > FILE_SIZE_BYTES_MAX {
        let expected = format!("at most {FILE_SIZE_BYTES_MAX} bytes");
        return Err(work_file_error(
            &source,
            "file",
            &expected,
            &format!("{size} bytes"),
            "name a work file",
        ));
    }
    let text = fs::read_to_string(path).map_err(Failure::io(path, "read"))?;
    Ok((source, text))
}

/// Parses a work file.
///
/// # Errors
/// When the file is invalid; the error names the section.
pub fn read(source: &str, text: &str) -> Result<WorkFile, Failure> {
    let file: FileText = toml::from_str(text).map_err(|error| {
        let line = error
            .span()
            .map_or(0, |span| 1 + text.get(..span.start).unwrap_or_default().matches('\n').count());
        work_file_error(source, &format!("line {line}"), "a work file", error.message(), REMEDY)
    })?;
    let reader = Reader { source };
    reader.bound("works", file.work.len(), 1, FILE_WORK_COUNT_MAX)?;
    reader.bound("depths", file.depths.len(), 0, DEPTH_COUNT_MAX)?;
    reader.bound("parameters", file.parameters.len(), 0, ENTRY_COUNT_MAX)?;
    reader.bound("values", file.values.len(), 0, ENTRY_COUNT_MAX)?;
    let parameters = file.parameters.iter().map(|(name, value)| reader.parameter(name, value));
    let lists = file.values.into_iter().map(|(name, list)| reader.list(name, list));
    let work_file = WorkFile {
        source: source.to_owned(),
        mix: file.mix,
        depths: file.depths,
        parameters: parameters.collect::<Result<_, _>>()?,
        lists: lists.collect::<Result<_, _>>()?,
        works: file.work.into_iter().map(|work| reader.work(work)).collect::<Result<_, _>>()?,
    };
    let mut names = BTreeSet::new();
    match work_file.works.iter().find(|work| !names.insert(&work.name)) {
        Some(twice) => {
            let section = format!("work `{}`", twice.name);
            Err(work_file_error(source, &section, "each name once", "it twice", "rename one of them"))
        }
        None => Ok(work_file),
    }
}

/// The remedy of an invalid work file.
pub(super) const REMEDY: &str = "compare it with `mercato-tools loadgen --print-works`";

#[must_use]
pub fn work_file_error(source: &str, section: &str, expected: &str, found: &str, remedy: &str) -> Failure {
    Failure::refused(source, section, expected, found, remedy)
}

/// An error in a template of a work file.
#[must_use]
pub fn template_error(source: &str, section: &str, error: &TemplateError) -> Failure {
    work_file_error(source, section, "a text with placeholders that are known", &error.to_string(), REMEDY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_file_is_valid() {
        let work_file = read(BUILT_IN_NAME, BUILT_IN).unwrap();
        let names: Vec<&str> = work_file.works.iter().map(|work| work.name.as_str()).collect();
        for name in [
            "w1", "w2k", "w2o", "w3", "w3s", "w4", "w5c", "w5p", "w5all", "w6", "w6sse", "w7csv", "list",
            "search",
        ] {
            assert!(names.contains(&name), "{name}");
        }
        let deep: Vec<&str> =
            work_file.works.iter().filter(|work| work.has_depth()).map(|work| work.name.as_str()).collect();
        assert_eq!(deep, ["w2k", "w2o"]);
    }

    fn refused(text: &str, words: &[&str]) {
        let reason = read("mine.toml", text).unwrap_err().one_line();
        for word in words.iter().chain(&["mine.toml", "expected", "found"]) {
            assert!(reason.contains(word), "`{word}` is not in: {reason}");
        }
    }

    #[test]
    fn errors_name_their_section() {
        refused("", &["works", "1 to"]);
        refused("wrok = 1", &["line 1", "wrok"]);
        refused("[[work]]\nname = \"W 1\"\npath = \"/\"", &["W 1", "a-z"]);
        refused("[[work]]\nname = \"a\"\npath = \"x\"", &["`a`", "/"]);
        refused("[[work]]\nname = \"a\"\npath = \"/\"\nmethod = \"get it\"", &["get it"]);
        refused("[[work]]\nname = \"a\"\npath = \"/{dice:6}\"", &["`a`", "path", "dice:6"]);
        refused("[[work]]\nname = \"a\"\npath = \"/?c={cursor}\"", &["`a`", "work.cursor"]);
        refused("[[work]]\nname = \"a\"\npath = \"/\"\n[work.headers]\nHost = \"x\"", &["Host"]);
        refused("[[work]]\nname = \"a\"\npath = \"/\"\n[work.headers]\n\"a b\" = \"x\"", &["a b"]);
        refused(
            "[[work]]\nname = \"a\"\npath = \"/\"\n[[work]]\nname = \"a\"\npath = \"/\"",
            &["`a`", "once"],
        );
        refused("[parameters]\nx = [1]\n[[work]]\nname = \"a\"\npath = \"/\"", &["`x`", "array"]);
        refused(
            "[values.l]\npath = \"/{value:l}\"\nrows = \"\"\nfield = \"x\"\n[[work]]\nname = \"a\"\npath = \"/\"",
            &["`l`"],
        );
        refused(&format!("depths = {:?}\n[[work]]\nname = \"a\"\npath = \"/\"", [0; 17]), &["depths", "17"]);
    }
}
