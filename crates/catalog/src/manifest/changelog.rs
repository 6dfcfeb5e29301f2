//! Splits a Markdown changelog into versions.
//!
//! Recognises headings of the form `## [1.2.0] - 2026-01-31` and keeps the text between them unchanged.

use semver::Version;

/// One version of a changelog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangelogEntry {
    pub version: Version,
    /// The date of the heading, as written.
    pub date: Option<String>,
    /// The text below the heading.
    pub markdown: String,
}

/// The versions in document order. Text before the first heading is ignored.
pub fn parse(markdown: &str) -> Vec<ChangelogEntry> {
    let mut entries: Vec<ChangelogEntry> = Vec::new();
    let mut in_code = false;
    for line in markdown.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        match heading(line).filter(|_| !in_code) {
            Some((version, date)) => entries.push(ChangelogEntry { version, date, markdown: String::new() }),
            None => {
                if let Some(entry) = entries.last_mut() {
                    entry.markdown.push_str(line);
                    entry.markdown.push('\n');
                }
            }
        }
    }
    for entry in &mut entries {
        entry.markdown = entry.markdown.trim().to_owned();
    }
    entries
}

/// `## [1.2.0] - 2026-01-31`, also without brackets, with `v`, or without a date.
fn heading(line: &str) -> Option<(Version, Option<String>)> {
    let text = line.strip_prefix("## ")?.trim();
    let (name, rest) = match text.strip_prefix('[') {
        Some(inner) => inner.split_once(']')?,
        None => text.split_once(char::is_whitespace).unwrap_or((text, "")),
    };
    let version = Version::parse(name.trim().trim_start_matches(['v', 'V'])).ok()?;
    let date = rest.trim().trim_start_matches(['-', '–', '—', ':', '(']).trim_end_matches(')').trim();
    Some((version, (!date.is_empty()).then(|| date.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_versions_at_headings() {
        let text = "# Changes\n\nAll of them.\n\n## [2.0.0] - 2026-01-31\n\n### Breaking\n- gone\n\n```\n## [9.9.9] - no\n```\n\
                    ## v1.1.0 (2025-12-01)\n- fixed\n## 1.0.0\nfirst\n## Notes\nmore\n";
        let entries = parse(text);
        let heads: Vec<_> =
            entries.iter().map(|entry| (entry.version.to_string(), entry.date.as_deref())).collect();
        assert_eq!(
            heads,
            [
                ("2.0.0".to_owned(), Some("2026-01-31")),
                ("1.1.0".to_owned(), Some("2025-12-01")),
                ("1.0.0".to_owned(), None)
            ]
        );
        assert_eq!(entries[0].markdown, "### Breaking\n- gone\n\n```\n## [9.9.9] - no\n```");
        assert_eq!(entries[2].markdown, "first\n## Notes\nmore");
    }

    #[test]
    fn returns_no_entries_without_versions() {
        assert!(parse("").is_empty());
        assert!(parse("just words\n## [not a version] - x\n").is_empty());
    }
}
