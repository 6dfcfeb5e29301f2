//! Compatibility of a new version with the published versions of a dataset.
//!
//! Only a higher major version may remove columns or change their types; below 1.0.0, a higher minor version. The
//! changelog must mention it. Pre-releases guarantee nothing. Does not depend on Parquet or on values.

use std::fmt;

use mercato_format::{ColumnKind, Table};
use semver::Version;

use crate::error::CatalogError;
use crate::files::data_directory::DatasetFolder;
use crate::load::store_files;
use crate::manifest::changelog;
use crate::slug::Slug;

/// Changed columns that a message lists at most.
const NAMED_CHANGES_MAX: usize = 20;

/// A removed or retyped column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BreakingChange {
    pub column: String,
    pub from: String,
    /// Its new type; `None` when the column is removed.
    pub to: Option<String>,
}

impl fmt::Display for BreakingChange {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.to {
            None => write!(out, "column `{}` ({}) is gone", self.column, self.from),
            Some(to) => write!(out, "column `{}` changes from {} to {to}", self.column, self.from),
        }
    }
}

/// The check of a new version against the last release.
#[derive(Debug)]
pub struct CompatibilityCheck {
    slug: Slug,
    version: Version,
    /// The last release and its columns.
    before: Option<(Version, Vec<(String, ColumnKind)>)>,
    allows_breaking: bool,
    is_in_changelog: bool,
}

impl CompatibilityCheck {
    /// Reads the columns of the highest readable release. `changelog` is published with the new version.
    pub fn read(
        target: &DatasetFolder,
        slug: &Slug,
        version: &Version,
        changelog: Option<&str>,
        allows_breaking: bool,
    ) -> Result<Self, CatalogError> {
        let releases =
            store_files(&target.versions())?.into_iter().rev().filter(|(one, _)| one.pre.is_empty());
        let mut readable = releases.filter_map(|(one, path)| Some((one, Table::open(&path).ok()?)));
        let before = readable.next().map(|(one, table)| {
            let columns = table.columns().iter().map(|column| (column.name.clone(), column.kind));
            (one, columns.collect())
        });
        let entries = changelog::parse(changelog.unwrap_or_default());
        let is_in_changelog =
            entries.iter().any(|entry| entry.version == *version && !entry.markdown.is_empty());
        Ok(Self { slug: slug.clone(), version: version.clone(), before, allows_breaking, is_in_changelog })
    }

    /// Checks the columns of the new version. Returns the breaking changes.
    ///
    /// # Errors
    /// When the version number or the changelog does not allow the breaking changes.
    pub fn check<'c>(
        &self,
        columns: impl IntoIterator<Item = (&'c str, ColumnKind)>,
    ) -> Result<Vec<BreakingChange>, CatalogError> {
        let Some((base, known)) = &self.before else { return Ok(Vec::new()) };
        let now: std::collections::HashMap<&str, ColumnKind> = columns.into_iter().collect();
        let change = |(name, kind): &(String, ColumnKind)| {
            let (from, to) = (type_name(*kind), now.get(name.as_str()).map(|kind| type_name(*kind)));
            (to.as_ref() != Some(&from)).then(|| BreakingChange { column: name.clone(), from, to })
        };
        let changes: Vec<BreakingChange> = known.iter().filter_map(change).collect();
        if changes.is_empty() {
            return Ok(changes);
        }
        if !self.allows_breaking && !may_break(base, &self.version) {
            return Err(CatalogError::Breaking {
                slug: self.slug.to_string(),
                version: self.version.clone(),
                base: base.to_string(),
                breaches: summary(&changes),
                enough: next_breaking(base).to_string(),
            });
        }
        if !self.is_in_changelog {
            return Err(CatalogError::NotInChangelog {
                slug: self.slug.to_string(),
                version: self.version.clone(),
                base: base.to_string(),
                breaches: summary(&changes),
            });
        }
        Ok(changes)
    }
}

fn summary(changes: &[BreakingChange]) -> String {
    let mut said: Vec<String> = changes.iter().take(NAMED_CHANGES_MAX).map(ToString::to_string).collect();
    let more = changes.len().saturating_sub(NAMED_CHANGES_MAX);
    if more > 0 {
        said.push(format!("and {more} more"));
    }
    said.join(", ")
}

/// The type as clients see it: with the scale of a decimal, without its precision.
fn type_name(kind: ColumnKind) -> String {
    match kind {
        ColumnKind::Decimal { scale, .. } => format!("decimal of scale {scale}"),
        other => other.name().to_owned(),
    }
}

fn may_break(base: &Version, version: &Version) -> bool {
    version.major > base.major || (base.major == 0 && version.minor > base.minor)
}

/// The lowest version that may break compatibility with `base`.
fn next_breaking(base: &Version) -> Version {
    match base.major {
        0 => Version::new(0, base.minor.saturating_add(1), 0),
        major => Version::new(major.saturating_add(1), 0, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        Version::parse(text).unwrap()
    }

    #[test]
    fn allows_breaking_only_in_leading_number() {
        for (base, new, expected) in [
            ("1.2.3", "2.0.0", true),
            ("1.2.3", "2.0.0-rc.1", true),
            ("1.2.3", "1.3.0", false),
            ("1.2.3", "1.2.4", false),
            ("1.2.3", "1.3.0-rc.1", false),
            ("0.2.3", "0.3.0", true),
            ("0.2.3", "0.2.4", false),
            ("0.0.1", "0.0.2", false),
            ("0.2.3", "1.0.0", true),
        ] {
            assert_eq!(may_break(&version(base), &version(new)), expected, "{base} → {new}");
            assert!(may_break(&version(base), &next_breaking(&version(base))), "{base}");
        }
    }

    fn compatibility(new: &str, allows_breaking: bool, is_in_changelog: bool) -> CompatibilityCheck {
        let decimal = ColumnKind::Decimal { precision: 15, scale: 2 };
        let columns = vec![("id".to_owned(), ColumnKind::Integer), ("amount".to_owned(), decimal)];
        CompatibilityCheck {
            slug: Slug::parse("sales").unwrap(),
            version: version(new),
            before: Some((version("1.2.3"), columns)),
            allows_breaking,
            is_in_changelog,
        }
    }

    #[test]
    fn requires_version_and_changelog_for_breaking_changes() {
        let wider = ColumnKind::Decimal { precision: 38, scale: 2 };
        let kept = [("new", ColumnKind::Text), ("amount", wider), ("id", ColumnKind::Integer)];
        assert_eq!(compatibility("1.2.4", false, false).check(kept).unwrap(), []);
        let broken = [("amount", ColumnKind::Float)];
        let said = compatibility("1.3.0", false, true).check(broken).unwrap_err().to_string();
        for part in [
            "sales 1.3.0",
            "1.2.3",
            "`id` (integer) is gone",
            "from decimal of scale 2 to float",
            "2.0.0",
            "--allow-breaking",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
        for (new, allows) in [("1.3.0", true), ("2.0.0", false)] {
            let said = compatibility(new, allows, false).check(broken).unwrap_err().to_string();
            assert!(said.contains(&format!("## [{new}]")) && said.contains("changelog.md"), "{said}");
            assert_eq!(compatibility(new, allows, true).check(broken).unwrap().len(), 2);
        }
    }
}
