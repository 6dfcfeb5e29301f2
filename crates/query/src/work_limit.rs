//! What bounds a search: every few thousand rows it asks for permission to go on.
//!
//! The engine knows neither a clock nor a client. Its caller decides how much a search may take, and whether anybody still
//! waits for it.

use std::fmt::Debug;

use mercato_format::FormatError;

/// Values that are compared one by one between two checks.
pub(super) const VALUES_PER_CHECK: usize = 1024;

/// Why a search was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// It took all the processor time that it may take.
    #[error("the search takes more processor time than it may")]
    TooExpensive,
    /// Nobody waits for the result any more.
    #[error("the client has left")]
    ClientLeft,
}

/// Decides whether a search may go on. All threads of a search ask the same one.
pub trait WorkLimit: Debug + Sync {
    /// Asked often, so it must be cheap.
    ///
    /// # Errors
    /// Why the search has to stop.
    fn check(&self) -> Result<(), Stop>;
}

/// Lets every search run to its end.
#[derive(Debug, Clone, Copy)]
pub struct Unlimited;

impl WorkLimit for Unlimited {
    fn check(&self) -> Result<(), Stop> {
        Ok(())
    }
}

/// Why a search has no result.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// The store file is damaged.
    #[error(transparent)]
    Format(#[from] FormatError),
    #[error(transparent)]
    Stopped(#[from] Stop),
}
