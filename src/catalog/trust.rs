//! What is known of the soundness of store files, kept across restarts in one small file of the data directory.
//!
//! An entry holds for the very file that it was made of: device, inode, size and times. A memory that is damaged or
//! missing costs a verification and nothing else. Knows no block and no checksum of a store file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use mercato_format::Fingerprint;
use mercato_format::checksum::fingerprint;
use semver::Version;
use serde::{Deserialize, Serialize};

use super::error::CatalogError;
use super::file_mark::Stamp;
use super::publish::replace_file;
use super::text_file;

/// Largest memory that is read.
const TRUST_SIZE_BYTES_MAX: u64 = 256 * 1024 * 1024;
const HEAD: &str = "mercato verified store files 1";

/// What was found out about a store file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Verdict {
    /// Every block fits its checksum.
    Sound,
    /// A block does not fit its checksum.
    Damaged(String),
    /// It could not be read, which may pass: it is verified anew when it is opened next.
    Doubtful,
}

/// The memory.
#[derive(Debug)]
pub(super) struct Trust {
    path: PathBuf,
    entries: Mutex<BTreeMap<(String, Version), Entry>>,
    /// Held while the file is written, so that two writers do not share a file beside it. Taken before `entries`.
    saving: Mutex<()>,
}

#[derive(Debug, Clone)]
struct Entry {
    stamp: Stamp,
    verdict: Verdict,
}

#[derive(Serialize, Deserialize)]
struct Line {
    slug: String,
    version: String,
    #[serde(flatten)]
    stamp: Stamp,
    verdict: Verdict,
}

impl Trust {
    /// Reads the memory at `path`; an empty one where it cannot be read.
    pub(super) fn load(path: &Path) -> Self {
        let text = text_file::read_optional(path, TRUST_SIZE_BYTES_MAX).ok().flatten().unwrap_or_default();
        let lines = parse(&text).unwrap_or_default();
        let entries = lines.into_iter().filter_map(|line| {
            let version = Version::parse(&line.version).ok()?;
            Some(((line.slug, version), Entry { stamp: line.stamp, verdict: line.verdict }))
        });
        Self { path: path.to_owned(), entries: Mutex::new(entries.collect()), saving: Mutex::default() }
    }

    /// What is known of the file with this stamp.
    pub(super) fn verdict(&self, slug: &str, version: &Version, stamp: &Stamp) -> Option<Verdict> {
        let entries = self.lock();
        let entry = entries.get(&(slug.to_owned(), version.clone()))?;
        (entry.stamp == *stamp).then(|| entry.verdict.clone())
    }

    /// Notes what was found out. It is on the disk after [`Trust::save`].
    pub(super) fn note(&self, slug: &str, version: &Version, stamp: Stamp, verdict: Verdict) {
        self.lock().insert((slug.to_owned(), version.clone()), Entry { stamp, verdict });
    }

    /// Writes the memory, without versions that are not kept any more.
    pub(super) fn save(&self, is_kept: impl Fn(&str, &Version) -> bool) -> Result<(), CatalogError> {
        let _one_at_a_time = self.saving.lock().unwrap_or_else(PoisonError::into_inner);
        let lines: Vec<Line> = {
            let mut entries = self.lock();
            entries.retain(|(slug, version), _| is_kept(slug, version));
            let line = |((slug, version), entry): (&(String, Version), &Entry)| Line {
                slug: slug.clone(),
                version: version.to_string(),
                stamp: entry.stamp,
                verdict: entry.verdict.clone(),
            };
            entries.iter().map(line).collect()
        };
        // Plain values always serialize.
        let body = serde_json::to_string(&lines).unwrap_or_default();
        replace_file(&self.path, Some(&format!("{HEAD} {}\n{body}\n", hash(&body))))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<(String, Version), Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
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
    fn the_memory_holds_for_the_file_and_only_while_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let (path, store) = (folder.path().join("verified"), folder.path().join("1.0.0.mcol"));
        std::fs::write(&store, "rows").unwrap();
        let (version, stamp) = (Version::new(1, 0, 0), Stamp::of(&store).unwrap().unwrap());
        let trust = Trust::load(&path);
        trust.note("cities", &version, stamp, Verdict::Sound);
        trust.note("gone", &version, stamp, Verdict::Damaged("a block".to_owned()));
        trust.save(|slug, _| slug != "gone").unwrap();
        let again = Trust::load(&path);
        assert_eq!(again.verdict("cities", &version, &stamp), Some(Verdict::Sound));
        assert_eq!(again.verdict("gone", &version, &stamp), None);
        let other = Stamp { changed_nanos: stamp.changed_nanos + 1, ..stamp };
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
                assert_eq!(Trust::load(&path).verdict(slug, &version, &stamp), None, "{damage}");
            }
        }
    }
}
