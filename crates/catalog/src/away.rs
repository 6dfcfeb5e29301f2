//! Versions whose store file is not on this machine: who asks for them, and how their files come and go.
//!
//! Does not depend on where the files are fetched from, or on who may evict them.

use std::path::Path;
use std::sync::{Arc, PoisonError, Weak};

use crossbeam_channel::{Receiver, Sender, bounded};
use mercato_format::Table;
use semver::Version;

use super::files::data_directory::DatasetFolder;
use super::files::file_identity::FileIdentity;
use super::load::store_files;
use super::publish::{remove_file, rename};
use super::verification::verified_marks::Verdict;
use super::{Catalog, CatalogError, DatasetVersion, Entry, Slug};
use mercato_base::clock::Moment;

/// Versions that wait to be fetched at most; further ones are asked for again by later requests.
const DEMANDS_MAX: usize = 1_024;

/// A version to be fetched; of one that is here, the Parquet file alone.
pub struct Demand {
    pub slug: Slug,
    pub version: DatasetVersion,
}

pub(super) struct Demands {
    queue: (Sender<Demand>, Receiver<Demand>),
}

impl Default for Demands {
    fn default() -> Self {
        Self { queue: bounded(DEMANDS_MAX) }
    }
}

/// A store file that was removed, and may still be mapped by readers.
#[derive(Debug)]
pub struct Released {
    /// The open file; gone with its last reader.
    pub table: Weak<Table>,
    pub bytes: u64,
}

impl Catalog {
    /// Asks for the store file of a version that is away, once until it is here or its fetch failed.
    pub fn demand(&self, slug: &str, version: &DatasetVersion) {
        let Ok(slug) = Slug::parse(slug) else { return };
        if version.claim_fetch()
            && self.demands.queue.0.try_send(Demand { slug, version: version.clone() }).is_err()
        {
            version.fetch_failed(false);
        }
    }

    /// The versions to be fetched, each for one receiver.
    pub fn demands(&self) -> Receiver<Demand> {
        self.demands.queue.1.clone()
    }

    /// Puts the store file of a version in its place, after the caller compared all of its bytes with what was published. It
    /// counts as verified. The next reload shows it.
    pub fn place_fetched(&self, slug: &Slug, version: &Version, from: &Path) -> Result<(), CatalogError> {
        // Nobody loads the folder between the two steps.
        let _one_change_at_a_time = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        let path = self.folder(slug).store(version);
        rename(from, &path)?;
        if let Some(identity) = FileIdentity::of(&path)? {
            self.verified_marks.note(slug.as_str(), version, identity, Verdict::Sound);
        }
        Ok(())
    }

    /// Remembers which files were compared, so that a restart need not read them again. The fetched version must be loaded.
    pub fn remember_fetched(&self) {
        self.save_verified_marks();
    }

    /// Removes the store file and the Parquet file of a version and leaves its outline, unless a cursor or stream has read it
    /// in the last minute before `now`: `None` then. The next reload shows it.
    pub fn evict(
        &self,
        slug: &Slug,
        version: &Version,
        now: Moment,
    ) -> Result<Option<Vec<Released>>, CatalogError> {
        let _one_change_at_a_time = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        let open = self.open_versions(slug, version);
        if open.iter().any(|open| open.has_recent_cursor(now)) {
            return Ok(None);
        }
        let folder = self.folder(slug);
        remove_file(&folder.store(version))?;
        remove_file(&folder.parquet(version))?;
        Ok(Some(open.iter().filter(|open| !open.is_away()).map(released).collect()))
    }

    /// The open store files of a version, for those who remove them.
    pub fn released(&self, slug: &Slug, version: &Version) -> Vec<Released> {
        self.open_versions(slug, version).iter().filter(|open| !open.is_away()).map(released).collect()
    }

    /// The versions whose store file is here and cannot be served, because it is damaged or cannot be read.
    pub fn damaged(&self) -> Vec<(Slug, Version)> {
        let snapshot = self.snapshot();
        let out_of_service = snapshot.quarantined().into_iter().map(|(slug, _)| slug.clone());
        let served = snapshot.datasets().iter().filter(|dataset| !dataset.damaged.is_empty());
        let slugs = out_of_service.chain(served.map(|dataset| dataset.manifest.slug.clone()));
        slugs.flat_map(|slug| self.damaged_of(&slug)).collect()
    }

    fn damaged_of(&self, slug: &Slug) -> Vec<(Slug, Version)> {
        let Ok(stores) = store_files(&self.folder(slug).versions()) else { return Vec::new() };
        let is_damaged = |version: &Version, path: &Path| {
            let Ok(Some(identity)) = FileIdentity::of(path) else { return false };
            match self.verified_marks.verdict(slug.as_str(), version, &identity) {
                Some(Verdict::Damaged(_) | Verdict::Doubtful) => true,
                _ => Table::open(path).is_err(),
            }
        };
        let found = stores.into_iter().filter(|(version, path)| {
            self.open_versions(slug, version).is_empty() && is_damaged(version, path)
        });
        found.map(|(version, _)| (slug.clone(), version)).collect()
    }

    /// Removes the store file and the Parquet file of a damaged version and leaves its outline, unless the version is served
    /// again. The next reload shows it. Says whether it did.
    pub fn discard(&self, slug: &Slug, version: &Version) -> Result<bool, CatalogError> {
        let _one_change_at_a_time = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.open_versions(slug, version).is_empty() {
            return Ok(false);
        }
        let folder = self.folder(slug);
        remove_file(&folder.store(version))?;
        remove_file(&folder.parquet(version))?;
        Ok(true)
    }

    /// Asks for the Parquet file of a version that is here.
    pub fn demand_parquet(&self, slug: &Slug, version: &DatasetVersion) {
        // Where the queue is full, it is asked for later.
        drop(self.demands.queue.0.try_send(Demand { slug: slug.clone(), version: version.clone() }));
    }

    fn folder(&self, slug: &Slug) -> DatasetFolder {
        self.directory().dataset(slug)
    }

    fn open_versions(&self, slug: &Slug, version: &Version) -> Vec<DatasetVersion> {
        let snapshot = self.snapshot();
        let Some(Entry::Serving(dataset)) = snapshot.get(slug.as_str()) else { return Vec::new() };
        let all = dataset.versions.iter().chain(&dataset.held);
        all.filter(|open| open.version == *version).cloned().collect()
    }
}

fn released(version: &DatasetVersion) -> Released {
    Released { table: Arc::downgrade(&version.table), bytes: version.table.file_bytes() }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::DataDirectory;
    use crate::publish::publish;
    use mercato_format::ColumnKind;
    use mercato_format::outline::inflate;
    use mercato_format::writer::{Column, ColumnValues, write_table};

    const NOW: Moment = Moment::from_unix_millis(1_800_000_000_000);

    struct Place {
        folder: tempfile::TempDir,
        slug: Slug,
        version: Version,
    }

    impl Place {
        /// A data directory with an outline in the place of the only store file, which is kept as `kept`.
        fn new() -> Place {
            let folder = tempfile::tempdir().unwrap();
            let (slug, version) = (Slug::parse("cities").unwrap(), Version::new(1, 0, 0));
            let place = Place { folder, slug, version };
            let source = tempfile::tempdir().unwrap();
            fs::write(source.path().join("dataset.toml"), "slug = \"cities\"\n").unwrap();
            let values = ColumnValues::Integers((0..1_000).map(Some).collect());
            let columns = [Column::new("id", ColumnKind::Integer, values)];
            publish(&place.data(), source.path(), &place.version, |path| {
                write_table(path, &columns).map(drop)
            })
            .unwrap();
            let (folder, version) = (place.data().dataset(&place.slug), &place.version);
            let outline = Table::open(&folder.store(version)).unwrap().outline().unwrap();
            inflate(&outline, &folder.outline(version)).unwrap();
            fs::rename(folder.store(version), place.kept()).unwrap();
            place
        }

        fn data(&self) -> DataDirectory {
            DataDirectory::new(self.folder.path())
        }

        fn kept(&self) -> std::path::PathBuf {
            self.folder.path().join("kept")
        }

        fn fetch(&self, catalog: &Catalog) {
            let beside = self.folder.path().join("beside");
            fs::copy(self.kept(), &beside).unwrap();
            catalog.place_fetched(&self.slug, &self.version, &beside).unwrap();
            catalog.reload(NOW).unwrap();
        }
    }

    fn current(catalog: &Catalog) -> DatasetVersion {
        catalog.snapshot().datasets().first().unwrap().current.clone()
    }

    #[test]
    fn lists_outline_and_demands_its_file_once() {
        let place = Place::new();
        let catalog = Catalog::open(place.data()).unwrap();
        let away = current(&catalog);
        assert!(away.is_away() && !away.is_verified() && !away.awaits_verification());
        assert_eq!((away.table.row_count(), catalog.verification().files()), (1_000, 0));
        for _ in 0..3 {
            catalog.demand("cities", &current(&catalog));
        }
        assert_eq!(catalog.demands().len(), 1);
        catalog.demands().recv().unwrap().version.fetch_failed(false);
        catalog.demand("cities", &current(&catalog));
        assert_eq!(catalog.demands().len(), 1);
        catalog.demands().recv().unwrap().version.fetch_failed(true);
        catalog.demand("cities", &current(&catalog));
        assert!(catalog.demands().is_empty() && current(&catalog).is_too_large());
    }

    #[test]
    fn trusts_fetched_file_without_reading_it_again() {
        let place = Place::new();
        let catalog = Catalog::open(place.data()).unwrap();
        place.fetch(&catalog);
        catalog.remember_fetched();
        for catalog in [catalog, Catalog::open(place.data()).unwrap()] {
            let here = current(&catalog);
            assert!(here.is_verified() && !here.is_away());
            assert_eq!(catalog.verification().files(), 0);
        }
    }

    #[test]
    fn keeps_version_of_running_walk_from_eviction() {
        let place = Place::new();
        let catalog = Catalog::open(place.data()).unwrap();
        place.fetch(&catalog);
        current(&catalog).note_cursor(NOW);
        assert!(catalog.evict(&place.slug, &place.version, NOW).unwrap().is_none());
        let later = Moment::from_unix_millis(NOW.unix_millis() + 61_000);
        let reader = current(&catalog).table;
        let released = catalog.evict(&place.slug, &place.version, later).unwrap().unwrap();
        catalog.reload(later).unwrap();
        assert!(current(&catalog).is_away());
        assert!(!place.data().dataset(&place.slug).store(&place.version).exists());
        let [one] = released.as_slice() else { panic!("{released:?}") };
        assert!(one.table.strong_count() > 0 && one.bytes == reader.file_bytes());
        drop(reader);
        assert_eq!(one.table.strong_count(), 0);
    }

    #[test]
    fn goes_on_with_walk_that_began_while_file_was_evicted() {
        let place = Place::new();
        let catalog = Catalog::open(place.data()).unwrap();
        place.fetch(&catalog);
        let walked = current(&catalog);
        assert!(catalog.evict(&place.slug, &place.version, NOW).unwrap().is_some());
        walked.note_cursor(NOW);
        catalog.reload(NOW).unwrap();
        let snapshot = catalog.snapshot();
        let dataset = snapshot.datasets().first().unwrap();
        assert!(dataset.current.is_away());
        let found = dataset.version_of_content(walked.table.fingerprint()).unwrap();
        assert!(Arc::ptr_eq(&found.table, &walked.table));
    }
}
