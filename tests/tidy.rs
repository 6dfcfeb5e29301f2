//! What a reader relies on: short files that say what they are, and documents whose paths and tests exist.

#![expect(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::fs;
use std::path::{Path, PathBuf};

const SOURCE_FOLDERS: [&str; 7] = ["src", "crates", "storage-format", "tools", "tests", "benches", "fuzz"];
const FILE_LINES_MAX: usize = 500;

#[test]
fn keeps_files_short_with_module_comment() {
    for path in sources() {
        let text = fs::read_to_string(&path).unwrap();
        let lines = text.lines().count();
        assert!(lines <= FILE_LINES_MAX, "{} has {lines} lines", path.display());
        let is_target = path.iter().any(|part| part == "fuzz_targets");
        assert!(
            is_target || text.starts_with("//!"),
            "{} does not begin with a module comment",
            path.display()
        );
    }
}

/// Documents whose paths and names of tests are compared with the sources.
const DOCUMENTS: [&str; 4] = ["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "crates/net/README.md"];

#[test]
fn names_existing_paths_and_tests_in_documents() {
    let files: Vec<String> = sources().iter().map(|path| path.to_str().unwrap().to_owned()).collect();
    let code: String = files.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    let exists = |path: &str| {
        let inner = format!("/{path}");
        let is_named =
            |file: &String| if path.ends_with('/') { file.contains(&inner) } else { file.ends_with(&inner) };
        Path::new(path).exists() || files.iter().any(is_named)
    };
    for document in DOCUMENTS {
        let text = fs::read_to_string(document).unwrap();
        let outside_blocks: String = text.split("```").step_by(2).collect();
        let is_path =
            |word: &&str| !word.contains([' ', '$']) && (word.ends_with(".rs") || word.ends_with('/'));
        let quoted = quoted_names(&outside_blocks);
        let absent: Vec<_> = quoted.into_iter().filter(is_path).filter(|path| !exists(path)).collect();
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

fn quoted_names(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

fn sources() -> Vec<PathBuf> {
    let mut files = Vec::new();
    for folder in SOURCE_FOLDERS {
        let before = files.len();
        collect_sources(Path::new(folder), &mut files);
        assert!(files.len() > before, "{folder} has no sources");
    }
    files
}

fn collect_sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for item in fs::read_dir(folder).unwrap() {
        let path = item.unwrap().path();
        if path.is_dir() && !path.ends_with("target") {
            collect_sources(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
}
