//! The layers of the house, read from the sources: a new arrow is a visible line in the table below.

#![expect(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Which parts of the server may name which others. What is not here may not be.
const ARROWS: &[(&str, &[&str])] = &[
    ("main", &["clock", "config", "limits", "logging", "memory", "serving"]),
    (
        "serving",
        &[
            "access",
            "catalog",
            "clock",
            "config",
            "http",
            "ledger",
            "limits",
            "net",
            "render",
            "search",
            "selections",
        ],
    ),
    (
        "http",
        &[
            "access",
            "catalog",
            "clock",
            "config",
            "histogram",
            "ledger",
            "limits",
            "net",
            "operator",
            "query",
            "render",
            "sample",
            "search",
            "selections",
            "words",
        ],
    ),
    ("operator", &["clock", "ledger", "limits"]),
    ("net", &["limits", "sample"]),
    ("render", &["clock", "config", "limits", "mercato_format", "query"]),
    ("selections", &["limits", "mercato_format", "query"]),
    ("search", &["catalog", "clock", "config", "limits"]),
    ("access", &["clock", "config", "ledger", "limits"]),
    ("query", &["clock", "config", "limits", "mercato_format", "words"]),
    ("catalog", &["clock", "config", "limits", "mercato_format"]),
    ("ledger", &["clock", "config", "histogram", "limits", "words"]),
    ("logging", &["limits"]),
    ("memory", &[]),
    ("config", &["clock", "limits"]),
    ("clock", &["limits"]),
    ("histogram", &[]),
    ("limits", &[]),
    ("sample", &[]),
    ("words", &[]),
];

/// Words that may stand in one place only.
const CONFINED: &[(&str, &[&str])] = &[
    ("tiny_http", &["src/http/"]),
    ("mio::", &["src/net/"]),
    ("sled", &["src/ledger/checkpoint/"]),
    ("unsafe", &["storage-format/src/mapped_file.rs"]),
];

const SOURCE_FOLDERS: [&str; 3] = ["src", "storage-format/src", "tools/src"];
const FILE_LINES_MAX: usize = 500;

#[test]
fn every_layer_names_only_the_layers_below_it() {
    let table: BTreeMap<&str, &[&str]> = ARROWS.iter().copied().collect();
    let mut faults = Vec::new();
    for (path, code) in sources("src") {
        let layer = layer_of(&path);
        if layer == "lib" {
            continue;
        }
        let allowed =
            table.get(layer.as_str()).unwrap_or_else(|| panic!("{path}: `{layer}` has no line in ARROWS"));
        for named in layers_named_in(&code) {
            if named != layer && !allowed.contains(&named.as_str()) {
                faults.push(format!("{path}: {layer} → {named}"));
            }
        }
    }
    assert!(faults.is_empty(), "arrows that are not in the table:\n{}", faults.join("\n"));
}

#[test]
fn the_table_has_no_circle() {
    let table: BTreeMap<&str, &[&str]> = ARROWS.iter().copied().collect();
    let mut settled: BTreeSet<&str> = BTreeSet::from(["mercato_format"]);
    while settled.len() <= table.len() {
        let next = table.iter().find(|(layer, below)| {
            !settled.contains(*layer) && below.iter().all(|one| settled.contains(one))
        });
        let Some((layer, _)) = next else {
            let left: Vec<_> = table.keys().filter(|layer| !settled.contains(*layer)).collect();
            panic!("these name each other in a circle: {left:?}");
        };
        settled.insert(layer);
    }
}

#[test]
fn the_store_file_format_knows_nothing_of_the_server() {
    for (path, code) in sources("storage-format/src") {
        for word in ["mercato::", "mercato_tools", "serde_json"] {
            assert!(!names(&code, word), "{path} names {word}");
        }
    }
}

#[test]
fn what_is_dangerous_stands_in_one_place() {
    for folder in SOURCE_FOLDERS {
        for (path, code) in sources(folder) {
            for (word, places) in CONFINED {
                let may = places.iter().any(|place| path.starts_with(place));
                assert!(may || !names(&code, word), "{path} names {word}, which belongs to {places:?}");
            }
        }
    }
}

#[test]
fn a_file_is_one_idea_and_says_which() {
    for folder in ["src", "storage-format/src", "tools/src", "tests"] {
        for path in rust_files(Path::new(folder)) {
            let text = fs::read_to_string(&path).unwrap();
            let lines = text.lines().count();
            assert!(lines <= FILE_LINES_MAX, "{} has {lines} lines", path.display());
            assert!(text.starts_with("//!"), "{} does not begin by saying what it does", path.display());
        }
    }
}

#[test]
fn the_reader_of_sources_sees_what_it_should() {
    let code = without_comments(
        "use crate::http::{a, b}; // crate::ledger\nuse crate::{clock::Moment, query};\nlet x = crate::render::y();",
    );
    let found: Vec<String> = layers_named_in(&code).into_iter().collect();
    assert_eq!(found, ["clock", "http", "query", "render"]);
    assert!(names("unsafe { x }", "unsafe") && !names("unsafely", "unsafe") && !names("is_unsafe", "unsafe"));
    assert!(!names("'unsafe-inline'", "unsafe"));
    assert_eq!(layer_of("src/http/handlers/query.rs"), "http");
    assert_eq!(layer_of("src/config.rs"), "config");
}

/// First folder below `src`, or the file itself.
fn layer_of(path: &str) -> String {
    let inner = path.strip_prefix("src/").unwrap_or(path);
    inner.split('/').next().unwrap_or(inner).trim_end_matches(".rs").to_owned()
}

/// What follows `crate::` or `mercato::`, also inside braces, and the crate of the store file.
fn layers_named_in(code: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    if names(code, "mercato_format") {
        found.insert("mercato_format".to_owned());
    }
    for root in ["crate::", "mercato::"] {
        for (at, _) in code.match_indices(root) {
            let whole_word = !code[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_');
            let rest = &code[at + root.len()..];
            if whole_word {
                found.extend(first_names(rest));
            }
        }
    }
    // Macros of the crate and items of the root are no layers.
    found.retain(|name| ARROWS.iter().any(|(layer, _)| layer == name) || name == "mercato_format");
    found
}

/// The name right here, or the first name of each branch of a brace.
fn first_names(rest: &str) -> Vec<String> {
    let Some(branches) = rest.strip_prefix('{') else { return vec![identifier(rest)] };
    let mut depth = 1;
    let mut names = vec![identifier(branches.trim_start())];
    for (at, character) in branches.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => names.push(identifier(branches[at + 1..].trim_start())),
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    names
}

fn identifier(text: &str) -> String {
    text.chars().take_while(|character| character.is_alphanumeric() || *character == '_').collect()
}

/// Whether the code names a word as a whole.
fn names(code: &str, word: &str) -> bool {
    let part = |character: char| character.is_alphanumeric() || character == '_';
    code.match_indices(word).any(|(at, _)| {
        let before = code[..at].chars().next_back().is_some_and(part);
        // A hyphen makes another word too: `unsafe-inline` is one of a content policy.
        let next = code[at + word.len()..].chars().next();
        let after = !word.ends_with(':') && next.is_some_and(|next| part(next) || next == '-');
        !before && !after
    })
}

fn sources(folder: &str) -> Vec<(String, String)> {
    let files = rust_files(Path::new(folder));
    assert!(!files.is_empty(), "{folder} has no sources");
    files
        .into_iter()
        .map(|path| {
            let code = without_comments(&fs::read_to_string(&path).unwrap());
            (path.to_str().unwrap().to_owned(), code)
        })
        .collect()
}

fn without_comments(text: &str) -> String {
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for item in fs::read_dir(folder).unwrap() {
        let path = item.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}
