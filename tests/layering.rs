//! The layers of the server, read from the sources. A new dependency is a visible line in the table below.

#![expect(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Dependencies between the parts of the server: all of them, and no others.
const ARROWS: &[(&str, &[&str])] = &[
    ("main", &["clock", "config", "limits", "logging", "memory", "serving"]),
    (
        "serving",
        &[
            "access",
            "branding",
            "catalog",
            "clock",
            "config",
            "database",
            "http",
            "ledger",
            "limits",
            "mail",
            "net",
            "objects",
            "payments",
            "releases",
            "render",
            "search",
            "selections",
            "site",
        ],
    ),
    (
        "site",
        &[
            "access", "branding", "catalog", "clock", "http", "ledger", "limits", "mail", "operator",
            "payments", "query", "render", "search", "words",
        ],
    ),
    (
        "http",
        &[
            "access",
            "branding",
            "catalog",
            "clock",
            "histogram",
            "ledger",
            "limits",
            "mail",
            "net",
            "operator",
            "payments",
            "query",
            "render",
            "sample",
            "search",
            "selections",
            "words",
        ],
    ),
    ("operator", &["clock", "ledger", "limits", "payments"]),
    ("payments", &["clock", "ledger"]),
    ("net", &["limits", "sample"]),
    ("mail", &["sample"]),
    ("render", &["limits", "mercato_format"]),
    ("selections", &["mercato_format", "query"]),
    ("search", &["catalog", "limits"]),
    ("access", &["clock", "ledger", "limits"]),
    ("query", &["mercato_format", "words"]),
    ("branding", &["catalog", "limits"]),
    ("catalog", &["clock", "mercato_format"]),
    ("ledger", &["clock", "database", "histogram", "limits", "words"]),
    ("database", &[]),
    ("objects", &[]),
    ("releases", &["catalog", "clock", "database", "mercato_format", "objects", "sample"]),
    ("logging", &[]),
    ("memory", &[]),
    ("config", &["limits"]),
    ("clock", &[]),
    ("histogram", &[]),
    ("limits", &[]),
    ("sample", &[]),
    ("words", &[]),
];

/// Words that may occur only in the named folders and files.
const CONFINED: &[(&str, &[&str])] = &[
    ("tiny_http", &["src/http/"]),
    ("mio::", &["src/net/"]),
    ("sled", &["src/ledger/checkpoint/"]),
    ("argon2::", &["src/access/passwords.rs"]),
    ("arrow_ipc", &["src/render/arrow/", "tools/src/convert/arrow/"]),
    ("use postgres::", &["src/database/", "src/ledger/postgres/", "src/ledger/mod.rs"]),
    ("tokio_postgres", &["src/database/address.rs", "src/database/connection.rs"]),
    ("tokio_rustls", &["src/database/tls.rs"]),
    ("ureq::", &["src/objects/client.rs", "src/payments/stripe/client.rs"]),
    ("rusty_s3", &["src/objects/"]),
    ("lettre", &["src/mail/"]),
    ("unsafe", &["storage-format/src/file/mapped_file.rs"]),
];

const SOURCE_FOLDERS: [&str; 3] = ["src", "storage-format/src", "tools/src"];
const FILE_LINES_MAX: usize = 500;

#[test]
fn uses_exactly_arrows_of_table() {
    let table: BTreeMap<&str, &[&str]> = ARROWS.iter().copied().collect();
    let mut used: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut forbidden = Vec::new();
    for (path, code) in sources("src") {
        let layer = layer_of(&path);
        if layer == "lib" {
            continue;
        }
        let allowed =
            table.get(layer.as_str()).unwrap_or_else(|| panic!("{path}: `{layer}` has no line in ARROWS"));
        for named in layers_named_in(&code).into_iter().filter(|named| *named != layer) {
            if !allowed.contains(&named.as_str()) {
                forbidden.push(format!("{path}: {layer} → {named}"));
            }
            used.entry(layer.clone()).or_default().insert(named);
        }
    }
    assert!(forbidden.is_empty(), "arrows that are not in the table:\n{}", forbidden.join("\n"));
    let is_used = |layer: &str, below: &str| used.get(layer).is_some_and(|used| used.contains(below));
    let unused: Vec<String> = ARROWS
        .iter()
        .flat_map(|(layer, allowed)| allowed.iter().map(move |below| (layer, below)))
        .filter(|(layer, below)| !is_used(layer, below))
        .map(|(layer, below)| format!("{layer} → {below}"))
        .collect();
    assert!(unused.is_empty(), "arrows of the table that no source uses:\n{}", unused.join("\n"));
}

#[test]
fn documents_same_arrows_in_architecture() {
    let document = fs::read_to_string("ARCHITECTURE.md").unwrap();
    let section = document.split("\n## ").find(|section| section.starts_with("Arrows")).unwrap();
    let mut documented: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for row in section.lines().filter(|line| line.starts_with("| `") && !line.contains("mercato-tools")) {
        let mut cells = row.split('|').skip(1).map(quoted_names);
        let (layers, below) = (cells.next().unwrap(), cells.next().unwrap());
        documented.extend(layers.into_iter().map(|layer| (layer, below.clone())));
    }
    let table: BTreeMap<String, BTreeSet<String>> = ARROWS
        .iter()
        .map(|(layer, below)| ((*layer).to_owned(), below.iter().map(|below| (*below).to_owned()).collect()))
        .collect();
    assert_eq!(documented, table);
}

/// The names in backquotes, spelt as in code.
fn quoted_names(cell: &str) -> BTreeSet<String> {
    cell.split('`').skip(1).step_by(2).map(|name| name.replace('-', "_")).collect()
}

#[test]
fn arranges_arrows_without_cycle() {
    let table: BTreeMap<&str, &[&str]> = ARROWS.iter().copied().collect();
    let mut settled: BTreeSet<&str> = BTreeSet::from(["mercato_format"]);
    while settled.len() <= table.len() {
        let next = table.iter().find(|(layer, below)| {
            !settled.contains(*layer) && below.iter().all(|one| settled.contains(one))
        });
        let Some((layer, _)) = next else {
            let left: Vec<_> = table.keys().filter(|layer| !settled.contains(*layer)).collect();
            panic!("these depend on each other in a cycle: {left:?}");
        };
        settled.insert(layer);
    }
}

#[test]
fn keeps_storage_format_independent_of_server() {
    for (path, code) in sources("storage-format/src") {
        for word in ["mercato::", "mercato_tools", "serde_json"] {
            assert!(!names(&code, word), "{path} names {word}");
        }
    }
}

#[test]
fn confines_words_to_their_folders() {
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
fn keeps_files_short_with_module_comment() {
    for folder in ["src", "storage-format/src", "tools/src", "tests"] {
        for path in rust_files(Path::new(folder)) {
            let text = fs::read_to_string(&path).unwrap();
            let lines = text.lines().count();
            assert!(lines <= FILE_LINES_MAX, "{} has {lines} lines", path.display());
            assert!(text.starts_with("//!"), "{} does not begin with a module comment", path.display());
        }
    }
}

/// Documents whose paths and names of tests are compared with the sources.
const DOCUMENTS: [&str; 4] = ["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "src/net/README.md"];

#[test]
fn names_existing_paths_and_tests_in_documents() {
    let files: Vec<String> = ["src", "storage-format", "tools", "tests", "benches", "fuzz"]
        .iter()
        .flat_map(|folder| rust_files(Path::new(folder)))
        .map(|path| path.to_str().unwrap().to_owned())
        .collect();
    let code: String = files.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    let exists = |path: &str| {
        let inner = format!("/{path}");
        Path::new(path).exists()
            || Path::new("storage-format").join(path).exists()
            || files
                .iter()
                .any(|file| if path.ends_with('/') { file.contains(&inner) } else { file.ends_with(&inner) })
    };
    for document in DOCUMENTS {
        let text = fs::read_to_string(document).unwrap();
        let outside_blocks: String = text.split("```").step_by(2).collect();
        let quoted: Vec<&str> = outside_blocks.split('`').skip(1).step_by(2).collect();
        let is_path =
            |word: &&&str| !word.contains([' ', '$']) && (word.ends_with(".rs") || word.ends_with('/'));
        let absent: Vec<_> = quoted.iter().filter(is_path).filter(|path| !exists(path)).collect();
        assert!(absent.is_empty(), "{document} names paths that do not exist: {absent:?}");
        // The last cell of a hazard names its tests.
        let hazards = text.split("\n## ").find(|section| section.starts_with("Hazards")).unwrap_or_default();
        let rows = hazards.lines().filter(|line| line.starts_with("| ")).skip(1);
        for name in rows.filter_map(|row| row.rsplit('|').nth(1)).flat_map(quoted_names) {
            let is_test = name.contains('.') || code.contains(&format!("fn {name}("));
            assert!(is_test, "{document} names the test {name}, which does not exist");
        }
    }
}

#[test]
fn finds_layers_and_whole_words_in_sources() {
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

/// The parts named after `crate::` or `mercato::`, also inside braces, and the crate of the store file.
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
    // Macros and root items of the crate are not layers.
    found.retain(|name| ARROWS.iter().any(|(layer, _)| layer == name) || name == "mercato_format");
    found
}

/// The first name, or the first name of each branch inside braces.
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
