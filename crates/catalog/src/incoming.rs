//! Files that publications are writing, and folders of datasets that are not published, as the data directory shows them.
//!
//! Publications run in other programs, which report to nobody: a look tells what lies on the disk, and no more. It takes no
//! lock, because a publication that met it would be refused.

use std::fs;
use std::path::Path;

use super::files::data_directory::{DatasetFolder, MANIFEST_FILE, UNPUBLISHED_FILE};
use super::load::modified_at;
use super::{Catalog, CatalogError};
use mercato_base::clock::Moment;

/// Names of one folder that a look reads.
const NAMES_PER_FOLDER_MAX: usize = 256;
/// Begins the names of files that are not in their place yet.
const UNFINISHED: &str = ".";
/// The file that a publication locks; it stays.
const LOCK_FILE: &str = ".lock";

/// A file that a publication is writing, or that an interrupted one left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncomingFile {
    pub slug: String,
    /// The name of the file.
    pub name: String,
    pub bytes: u64,
    /// When something was written to it last, where the system says so.
    pub modified_at: Option<Moment>,
}

/// Why a dataset with a folder is not published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unpublished {
    /// The operator took it back.
    Withdrawn,
    /// It has no manifest or no version.
    Incomplete,
}

/// Unpublished content of the data directory: unfinished files and unpublished datasets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Incoming {
    /// Files that are not in their place yet, by dataset and name.
    pub files: Vec<IncomingFile>,
    /// Datasets that are not published, by name.
    pub unpublished: Vec<(String, Unpublished)>,
    /// Whether every folder was scanned.
    pub is_whole: bool,
}

impl Catalog {
    /// Scans at most `folders_max` folders of datasets.
    pub fn incoming(&self, folders_max: usize) -> Result<Incoming, CatalogError> {
        let mut folders = self.folders()?;
        folders.sort_by(|(one, _), (other, _)| one.cmp(other));
        let mut found = Incoming { is_whole: folders.len() <= folders_max, ..Incoming::default() };
        let snapshot = self.snapshot();
        for (slug, folder) in folders.into_iter().take(folders_max) {
            for place in [folder.path(), &folder.versions()] {
                found.files.extend(unfinished(slug.as_str(), place));
            }
            if snapshot.get(slug.as_str()).is_none() {
                found.unpublished.push((slug.to_string(), why(&folder)));
            }
        }
        Ok(found)
    }
}

fn why(folder: &DatasetFolder) -> Unpublished {
    let is_withdrawn = folder.file(UNPUBLISHED_FILE).exists() && folder.file(MANIFEST_FILE).exists();
    if is_withdrawn { Unpublished::Withdrawn } else { Unpublished::Incomplete }
}

/// A folder that cannot be read has none: it may have gone meanwhile.
fn unfinished(slug: &str, folder: &Path) -> Vec<IncomingFile> {
    let items = fs::read_dir(folder).into_iter().flatten().flatten().take(NAMES_PER_FOLDER_MAX);
    let mut files: Vec<IncomingFile> = items
        .filter_map(|item| {
            let name = item.file_name().to_str()?.to_owned();
            let metadata = item.metadata().ok().filter(fs::Metadata::is_file)?;
            let is_unfinished = name.starts_with(UNFINISHED) && name != LOCK_FILE;
            is_unfinished.then(|| IncomingFile {
                slug: slug.to_owned(),
                name,
                bytes: metadata.len(),
                modified_at: modified_at(&item.path()),
            })
        })
        .collect();
    files.sort_by(|one, other| one.name.cmp(&other.name));
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DataDirectory;

    #[test]
    fn lists_unfinished_files_and_unpublished_datasets() {
        let root = tempfile::tempdir().unwrap();
        let data = DataDirectory::new(root.path());
        for slug in ["a-new", "b-gone", "c-empty"] {
            fs::create_dir_all(data.datasets().join(slug).join("versions")).unwrap();
        }
        let folder = |slug: &str| data.datasets().join(slug);
        fs::write(folder("a-new").join("versions/.incoming-1.0.0.mcol"), [7; 10]).unwrap();
        fs::write(folder("a-new").join("versions/..incoming-1.0.0.mcol.mcol-tmp-abcdef"), [7; 3]).unwrap();
        fs::write(folder("a-new").join(".new-dataset.toml"), "x").unwrap();
        fs::write(folder("a-new").join(".lock"), "").unwrap();
        fs::create_dir(folder("a-new").join(".folder")).unwrap();
        fs::write(folder("b-gone").join(MANIFEST_FILE), "slug = \"b-gone\"\n[title]\nen = \"x\"\n").unwrap();
        fs::write(folder("b-gone").join(UNPUBLISHED_FILE), "").unwrap();
        fs::write(data.datasets().join(".changed"), "").unwrap();
        let catalog = Catalog::open(data).unwrap();
        let found = catalog.incoming(10).unwrap();
        let files: Vec<_> =
            found.files.iter().map(|file| (file.slug.as_str(), file.name.as_str(), file.bytes)).collect();
        let expected = [
            ("a-new", ".new-dataset.toml", 1),
            ("a-new", "..incoming-1.0.0.mcol.mcol-tmp-abcdef", 3),
            ("a-new", ".incoming-1.0.0.mcol", 10),
        ];
        assert_eq!(files, expected);
        assert!(found.files.iter().all(|file| file.modified_at.is_some()) && found.is_whole);
        let (withdrawn, incomplete) = (Unpublished::Withdrawn, Unpublished::Incomplete);
        let states: Vec<_> = found.unpublished.iter().map(|(slug, state)| (slug.as_str(), *state)).collect();
        assert_eq!(states, [("a-new", incomplete), ("b-gone", withdrawn), ("c-empty", incomplete)]);
        let first = catalog.incoming(1).unwrap();
        assert_eq!((first.unpublished.len(), first.is_whole), (1, false));
    }
}
