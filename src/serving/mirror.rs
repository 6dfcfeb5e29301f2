//! The catalogue of a server among others: laid out from the database and the object store, or a shared directory.

use std::sync::Arc;

use super::{StartError, database, part, upkeep};
use crate::api::App;
use crate::config::Settings;
use mercato_catalog::objects::{ObjectStore, StoreAddress};
use mercato_catalog::releases::{Mirror, MirrorOptions, Prepared};
use mercato_catalog::{Catalog, DataDirectory};
use mercato_search::Search;

/// Opens the catalogue; with what follows other servers, where there may be some.
pub(super) fn open_catalog(
    settings: &Settings,
    directory: &DataDirectory,
) -> Result<(Catalog, Option<Prepared>), StartError> {
    let Some(books) = &settings.books else { return Ok((Catalog::open(directory.clone())?, None)) };
    let directory = match &settings.store {
        Some(_) => DataDirectory::new(&settings.cache_directory()),
        None => directory.clone(),
    };
    let options = MirrorOptions {
        database: database(books)?,
        store: settings.store.as_deref().map(store).transpose()?,
        directory: directory.clone(),
        cache_bytes: if settings.store.is_some() { settings.cache_bytes } else { u64::MAX },
        prefetch: settings.prefetch,
    };
    let prepared = Prepared::new(options).map_err(|error| part("--cache", &error))?;
    Ok((Catalog::open(directory)?, Some(prepared)))
}

fn store(url: &str) -> Result<ObjectStore, StartError> {
    let variable = |name: &str| std::env::var(name).ok();
    let address = StoreAddress::parse(url, variable).map_err(|error| part("--store", &error))?;
    Ok(ObjectStore::open(address.with_changing_keys(variable)))
}

/// Follows publications from now on.
pub(super) fn start(prepared: Prepared, app: &Arc<App>, search: Arc<Search>) -> Result<Mirror, StartError> {
    let (catalog, clock) = (Arc::clone(&app.catalog), Arc::clone(&app.clock));
    let reload = move || match catalog.reload(clock.now()) {
        Ok(report) if report.changed.is_empty() => {}
        Ok(report) => upkeep::tell(&catalog, &search, Ok(&report)),
        Err(error) => upkeep::tell(&catalog, &search, Err(&error)),
    };
    let mirror = prepared.start(&app.catalog, &app.clock, app.ledger.server(), Arc::new(reload));
    let mirror = mirror.map_err(|error| part("catalog mirror", &error))?;
    app.metrics.add_source(mirror.sampler());
    Ok(mirror)
}
