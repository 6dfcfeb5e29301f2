//! How long caches may keep a page: the only place that writes `Cache-Control` for the site.

use crate::api::Incoming;
use mercato_base::clock::Moment;
use mercato_web::Response;

/// The life of a page in caches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cache {
    /// Not kept at all.
    NoStore,
    /// Kept, and asked for each time with its entity tag. The content last changed at that moment.
    Revalidate(Moment),
    /// Kept for a year: the name contains a hash of the content.
    Forever,
}

impl Cache {
    /// The value of the header.
    pub const fn control(self) -> &'static str {
        match self {
            Self::NoStore => "no-store",
            Self::Revalidate(_) => "no-cache",
            Self::Forever => "public, max-age=31536000, immutable",
        }
    }

    /// The response with the headers for caches; a 304 where the client holds it.
    pub fn apply(self, response: Response, request: &Incoming) -> Response {
        match self {
            Self::NoStore => response.with_header("Cache-Control", self.control()),
            Self::Revalidate(changed_at) => response.public(request, changed_at, self.control()),
            // Its content never changes, so any moment is the last change.
            Self::Forever => response.public(request, Moment::from_unix_millis(0), self.control()),
        }
    }
}
