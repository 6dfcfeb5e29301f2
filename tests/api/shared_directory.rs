//! Several servers on one data directory, with books in a database.

use std::time::Duration;

use mercato_catalog::releases::{note_publication, wait_for_servers};
use mercato_database::DatabaseAddress;

use crate::harness::{MANIFEST, Site, city_columns, publish_files};
use crate::schema::url_of;

#[test]
#[ignore = "needs PostgreSQL: tests/books/postgres.sh"]
fn publication_is_loaded_at_once_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    let site = Site::at(folder.path(), &[]);
    let database = DatabaseAddress::parse(&url_of(folder.path()), |_| None).unwrap();
    publish_files(&site.data(), MANIFEST, "1.0.0", &city_columns(4), &[]);
    let generation = note_publication(&database).unwrap();
    let waited = wait_for_servers(&database, generation, Duration::from_secs(10)).unwrap();
    assert!(waited.lagging.is_empty() && waited.serving == 1, "{waited:?}");
    assert!(site.serves("cities", "1.0.0"));
}
