//! What keeps published datasets and versions from this machine, and why, until it no longer does.
//!
//! Does not depend on files, objects or the database.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use semver::Version;

use super::fetching::FetchError;
use super::layout::LayoutError;
use crate::objects::ObjectError;
use crate::{CatalogError, CopyCause, CopyFault, Slug};

/// A version that could not be fetched is asked for again within seconds if it is needed. Later, nobody knows whether it still
/// could not.
const FETCH_FAULT_TIME: Duration = Duration::from_mins(5);

/// A dataset, or one of its versions.
type Place = (Slug, Option<Version>);

/// The faults that are known.
#[derive(Default)]
pub(super) struct Faults {
    known: BTreeMap<Place, Known>,
}

struct Known {
    cause: CopyCause,
    reason: String,
    /// Until when it counts, if nobody meets it again.
    until: Option<Instant>,
}

impl Faults {
    /// A dataset cannot be laid out. That is tried again until it can.
    pub(super) fn note_layout(&mut self, slug: &Slug, error: &LayoutError) {
        let known = Known { cause: cause_of(error), reason: error.to_string(), until: None };
        self.known.insert((slug.clone(), None), known);
    }

    /// A version cannot be fetched.
    pub(super) fn note_fetch(&mut self, slug: &Slug, version: &Version, error: &FetchError, now: Instant) {
        let (cause, until) = match error {
            // It is not tried again.
            FetchError::TooLarge { .. } => (CopyCause::Room, None),
            FetchError::Full => (CopyCause::Room, Some(now + FETCH_FAULT_TIME)),
            FetchError::Layout(error) => (cause_of(error), Some(now + FETCH_FAULT_TIME)),
            FetchError::Gone => return,
        };
        let known = Known { cause, reason: error.to_string(), until };
        self.known.insert((slug.clone(), Some(version.clone())), known);
    }

    /// A dataset was laid out.
    pub(super) fn end_layout(&mut self, slug: &Slug) {
        self.known.remove(&(slug.clone(), None));
    }

    /// A version was fetched, so the store answers.
    pub(super) fn end_fetch(&mut self, slug: &Slug, version: &Version) {
        let place = (slug.clone(), Some(version.clone()));
        self.known
            .retain(|other, known| *other != place && (other.1.is_none() || known.cause != CopyCause::Store));
    }

    /// Forgets what is no longer published, and what is too old.
    pub(super) fn keep(&mut self, now: Instant, is_published: impl Fn(&Slug, Option<&Version>) -> bool) {
        self.known.retain(|(slug, version), known| {
            is_published(slug, version.as_ref()) && known.until.is_none_or(|until| now < until)
        });
    }

    /// All of them, by dataset.
    pub(super) fn list(&self) -> Vec<CopyFault> {
        let fault = |((slug, version), known): (&Place, &Known)| CopyFault {
            slug: slug.clone(),
            version: version.clone(),
            cause: known.cause,
            reason: known.reason.clone(),
        };
        self.known.iter().map(fault).collect()
    }

    /// How many have this cause.
    pub(super) fn count(&self, cause: CopyCause) -> u64 {
        self.known.values().filter(|known| known.cause == cause).count() as u64
    }
}

fn cause_of(error: &LayoutError) -> CopyCause {
    match error {
        LayoutError::Object(ObjectError::Disk { .. }) | LayoutError::Catalog(CatalogError::Io { .. }) => {
            CopyCause::Disk
        }
        LayoutError::Object(
            ObjectError::Missing { .. } | ObjectError::Damaged { .. } | ObjectError::TooLong { .. },
        )
        | LayoutError::Digest(_)
        | LayoutError::Catalog(_) => CopyCause::Content,
        LayoutError::Object(_) => CopyCause::Store,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slug(text: &str) -> Slug {
        Slug::parse(text).unwrap()
    }

    fn denied() -> LayoutError {
        LayoutError::Object(ObjectError::Denied { object: "o".to_owned(), code: "x".to_owned() })
    }

    fn disk() -> LayoutError {
        let source = std::io::Error::from(std::io::ErrorKind::StorageFull);
        LayoutError::Object(ObjectError::Disk { path: "f".into(), source })
    }

    fn places(faults: &Faults) -> Vec<(String, CopyCause)> {
        let place = |fault: CopyFault| {
            let version = fault.version.map_or_else(String::new, |version| format!(" {version}"));
            (format!("{}{version}", fault.slug), fault.cause)
        };
        faults.list().into_iter().map(place).collect()
    }

    #[test]
    fn tells_store_that_denies_and_full_disk_until_they_are_mended() {
        let (mut faults, one, now) = (Faults::default(), Version::new(1, 0, 0), Instant::now());
        faults.note_layout(&slug("new"), &denied());
        faults.note_fetch(&slug("old"), &one, &FetchError::Layout(denied()), now);
        faults.note_fetch(&slug("large"), &one, &FetchError::Layout(disk()), now);
        faults.note_fetch(&slug("gone"), &one, &FetchError::Gone, now);
        let all =
            [("large 1.0.0", CopyCause::Disk), ("new", CopyCause::Store), ("old 1.0.0", CopyCause::Store)];
        assert_eq!(places(&faults), all.map(|(place, cause)| (place.to_owned(), cause)));
        assert_eq!((faults.count(CopyCause::Store), faults.count(CopyCause::Disk)), (2, 1));
        // Another version came, so the store answers; the dataset is laid out by the next attempt.
        faults.end_fetch(&slug("other"), &one);
        assert_eq!(places(&faults), all[..2].iter().map(|(p, c)| ((*p).to_owned(), *c)).collect::<Vec<_>>());
        faults.end_layout(&slug("new"));
        faults.end_fetch(&slug("large"), &one);
        assert_eq!(places(&faults), []);
    }

    #[test]
    fn forgets_what_nobody_asks_for_and_what_is_withdrawn() {
        let (mut faults, one, now) = (Faults::default(), Version::new(1, 0, 0), Instant::now());
        faults.note_fetch(&slug("asked"), &one, &FetchError::Full, now);
        faults.note_fetch(&slug("huge"), &one, &FetchError::TooLarge { bytes: 2, most: 1 }, now);
        faults.note_layout(&slug("withdrawn"), &disk());
        faults.keep(now, |slug, _| slug.as_str() != "withdrawn");
        assert_eq!(places(&faults).len(), 2);
        faults.keep(now + FETCH_FAULT_TIME, |_, _| true);
        assert_eq!(places(&faults), [("huge 1.0.0".to_owned(), CopyCause::Room)]);
    }
}
