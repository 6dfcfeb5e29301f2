//! Marks of verified store files, kept across restarts in one small file of the data directory.
//!
//! A mark holds for one file identity: device, inode, size and times. A damaged or missing file of marks costs a new
//! verification only. Does not depend on blocks or checksums of store files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use mercato_format::Fingerprint;
use mercato_format::checksum::fingerprint;
use semver::Version;
use serde::{Deserialize, Serialize};

use crate::error::CatalogError;
use crate::files::file_identity::FileIdentity;
use crate::files::text_file;
use crate::publish::replace_file;

/// Size limit of the file of marks.
const MARKS_FILE_BYTES_MAX: u64 = 256 * 1024 * 1024;
const HEAD: &str = "mercato verified store files 1";

/// The verdict on a store file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    /// Every block matches its checksum.
    Sound,
    /// A block does not match its checksum.
    Damaged(String),
    /// The file could not be read, perhaps for a moment: it is verified again when opened next.
    Doubtful,
}

/// The marks and their file.
#[derive(Debug)]
pub struct VerifiedMarks {
    path: PathBuf,
    marks: Mutex<BTreeMap<(String, Version), Mark>>,
    /// Held while the file is written: writers share one temporary name. Taken before `marks`.
    saving: Mutex<()>,
}

#[derive(Debug, Clone)]
struct Mark {
    identity: FileIdentity,
    verdict: Verdict,
}

#[derive(Serialize, Deserialize)]
struct Line {
    slug: String,
    version: String,
    #[serde(flatten)]
    identity: FileIdentity,
    verdict: Verdict,
}

impl VerifiedMarks {
    /// Reads the marks at `path`; starts empty when they cannot be read.
    pub fn load(path: &Path) -> Self {
        let text = text_file::read_optional(path, MARKS_FILE_BYTES_MAX).ok().flatten().unwrap_or_default();
        let lines = parse(&text).unwrap_or_default();
        let marks = lines.into_iter().filter_map(|line| {
            let version = Version::parse(&line.version).ok()?;
            Some(((line.slug, version), Mark { identity: line.identity, verdict: line.verdict }))
        });
        Self { path: path.to_owned(), marks: Mutex::new(marks.collect()), saving: Mutex::default() }
    }

    /// The verdict on the file with this identity, if known.
    pub fn verdict(&self, slug: &str, version: &Version, identity: &FileIdentity) -> Option<Verdict> {
        let marks = self.lock();
        let mark = marks.get(&(slug.to_owned(), version.clone()))?;
        (mark.identity == *identity).then(|| mark.verdict.clone())
    }

    /// Sets a verdict. It is on disk after [`VerifiedMarks::save`].
    pub fn note(&self, slug: &str, version: &Version, identity: FileIdentity, verdict: Verdict) {
        self.lock().insert((slug.to_owned(), version.clone()), Mark { identity, verdict });
    }

    /// Writes the marks of retained versions.
    pub fn save(&self, is_kept: impl Fn(&str, &Version) -> bool) -> Result<(), CatalogError> {
        let _one_at_a_time = self.saving.lock().unwrap_or_else(PoisonError::into_inner);
        let lines: Vec<Line> = {
            let mut marks = self.lock();
            marks.retain(|(slug, version), _| is_kept(slug, version));
            let line = |((slug, version), mark): (&(String, Version), &Mark)| Line {
                slug: slug.clone(),
                version: version.to_string(),
                identity: mark.identity,
                verdict: mark.verdict.clone(),
            };
            marks.iter().map(line).collect()
        };
        // Plain values always serialize.
        let body = serde_json::to_string(&lines).unwrap_or_default();
        replace_file(&self.path, Some(&format!("{HEAD} {}\n{body}\n", hash(&body))))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<(String, Version), Mark>> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn parse(text: &str) -> Option<Vec<Line>> {
    let (head, body) = text.strip_suffix('\n')?.split_once('\n')?;
    let sum = head.strip_prefix(HEAD)?.trim();
    if sum != hash(body) {
        return None;
    }
    serde_json::from_str(body).ok()
}

fn hash(text: &str) -> String {
    Fingerprint(fingerprint(text.as_bytes())).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_one_file_and_forgets_damaged_marks() {
        let folder = tempfile::tempdir().unwrap();
        let (path, store) = (folder.path().join("verified"), folder.path().join("1.0.0.mcol"));
        std::fs::write(&store, "rows").unwrap();
        let (version, identity) = (Version::new(1, 0, 0), FileIdentity::of(&store).unwrap().unwrap());
        let verified_marks = VerifiedMarks::load(&path);
        verified_marks.note("cities", &version, identity, Verdict::Sound);
        verified_marks.note("gone", &version, identity, Verdict::Damaged("a block".to_owned()));
        verified_marks.save(|slug, _| slug != "gone").unwrap();
        let again = VerifiedMarks::load(&path);
        assert_eq!(again.verdict("cities", &version, &identity), Some(Verdict::Sound));
        assert_eq!(again.verdict("gone", &version, &identity), None);
        let mut other = identity;
        other.changed_nanos += 1;
        assert_eq!(again.verdict("cities", &version, &other), None);
        let whole = std::fs::read_to_string(&path).unwrap();
        for (damage, text) in [
            ("cut", whole[..whole.len() - 2].to_owned()),
            ("edited", whole.replace("cities", "rivers")),
            ("nonsense", "no memory".to_owned()),
            ("empty", String::new()),
        ] {
            std::fs::write(&path, text).unwrap();
            for slug in ["cities", "rivers"] {
                assert_eq!(VerifiedMarks::load(&path).verdict(slug, &version, &identity), None, "{damage}");
            }
        }
    }
}
