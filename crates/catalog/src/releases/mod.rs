//! Versions of several servers: the pointers in a database, the bytes in an object store or a shared directory.
//!
//! ```text
//! publish   pulls a folder ─► changes it ─► puts new blobs ─► one transaction: head, generation
//! server    polls the generation ─► changed heads ─► texts and outlines into --cache ─► the catalogue loads them
//!           a request, or --prefetch, asks for a version ─► its blobs into --cache, whole and compared
//! ```
//!
//! A *head* lists the folder of one dataset. Blobs have their SHA-256 as name, so writing one twice does no harm, and nothing
//! is listed or written on a condition. Does not depend on accounts, routes or the conversion of files.

mod cache;
mod counts;
mod faults;
mod fetching;
mod follower;
mod head;
mod layout;
mod live;
mod mending;
mod mirror;
mod publication;
mod table;

pub use head::{Blob, Head, HeadError, VersionBlobs};
pub use live::{Waited, note_publication, wait_for_servers};
pub use mirror::{Mirror, MirrorOptions, Prefetch, Prepared, Reload};
pub use publication::{Progress, Pulled, Pushed, ReleaseError, Releases};
