//! Which damaged files of the cache are fetched again, and when: once for each damage, and ever later where it comes back.
//!
//! Does not depend on files, or on how they are fetched.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::cache::Key;

/// Pause before a file that was fetched again, and is damaged again, is fetched once more. It doubles each time.
const AGAIN_PAUSE: Duration = Duration::from_secs(60);
const AGAIN_PAUSE_MAX: Duration = Duration::from_hours(24);

/// A file of a version.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Part {
    Store,
    Parquet,
}

/// The files that were damaged.
#[derive(Default)]
pub(super) struct Mending {
    known: HashMap<(Key, Part), Known>,
}

struct Known {
    pause: Duration,
    due: Instant,
}

impl Mending {
    /// Whether a file that is found damaged is fetched again now.
    pub(super) fn is_due(&mut self, key: &Key, part: Part, now: Instant) -> bool {
        // What was sound for as long as it may have been damaged is as good as new.
        self.known.retain(|_, known| now < known.due + AGAIN_PAUSE_MAX);
        let fresh = Known { pause: AGAIN_PAUSE, due: now };
        let known = self.known.entry((key.clone(), part)).or_insert(fresh);
        if now < known.due {
            return false;
        }
        known.due = now + known.pause;
        known.pause = known.pause.saturating_mul(2).min(AGAIN_PAUSE_MAX);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Slug;

    #[test]
    fn fetches_at_once_and_ever_later_what_comes_back_damaged() {
        let (mut mending, mut now) = (Mending::default(), Instant::now());
        let key = |name: &str| (Slug::parse(name).unwrap(), semver::Version::new(1, 0, 0));
        let began = now;
        let mut fetched = Vec::new();
        while now < began + Duration::from_hours(100) {
            if mending.is_due(&key("one"), Part::Store, now) {
                fetched.push((now - began).as_secs() / 60);
            }
            now += Duration::from_secs(30);
        }
        assert_eq!(fetched[..5], [0, 1, 3, 7, 15]);
        assert_eq!(fetched.len(), 14, "once a day at last: {fetched:?}");
        assert!(
            mending.is_due(&key("one"), Part::Parquet, now) && mending.is_due(&key("two"), Part::Store, now)
        );
        let later = now + Duration::from_hours(72);
        assert!(mending.is_due(&key("one"), Part::Store, later));
        assert!(mending.is_due(&key("one"), Part::Store, later + AGAIN_PAUSE), "it was sound for long");
        assert_eq!(mending.known.len(), 1);
    }
}
