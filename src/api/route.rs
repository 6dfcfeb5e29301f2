//! A row of the table of routes: path, who may ask, which workers answer, and the handler.

use super::app::App;
use super::context::Incoming;
use mercato_web::{ApiError, Method, Response};

/// The handler of a route.
pub type Handler = fn(&App, &mut Incoming) -> Result<Response, ApiError>;

/// A refusal as a page, for clients that want one.
pub type RefusalPage = fn(&App, &Incoming, &ApiError) -> Option<Response>;

/// The access check of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// Anyone, and the request counts against no limit.
    Uncounted,
    /// Anyone within the request limits.
    Public,
    /// Anyone within the request limits. The running requests of a key are bounded as where a key is required.
    KeyOptional,
    /// Holders of a valid API key within their request limits.
    Key,
    /// Holders of the operator's token. Only the admin listener has such routes.
    Operator,
}

/// Kinds of work. Long requests have workers of their own, requests without a key do not delay customers, and health is
/// answered while all other workers are busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// A page that needs a key or a sign-in: found, printed and sent in one piece.
    Page,
    /// Public and unknown paths.
    Public,
    /// The call of an agent: a page with a key, public without one.
    Agent,
    /// A stream or a download: sent while the client reads.
    Long,
    /// Health, readiness and metrics.
    Vital,
}

/// One row of the table.
#[derive(Clone, Copy)]
pub struct Route {
    /// `GET`, which includes `HEAD`.
    pub method: Method,
    /// Segments; `{name}` takes one segment as a parameter.
    pub pattern: &'static str,
    /// The access check of a route.
    pub guard: Guard,
    /// Which workers answer.
    pub work: Work,
    pub handler: Handler,
}

impl Route {
    /// A row of the table, answered by the workers of public paths.
    pub const fn new(method: Method, pattern: &'static str, guard: Guard, handler: Handler) -> Self {
        Self { method, pattern, guard, work: Work::Public, handler }
    }

    /// The same row, answered by other workers.
    #[must_use]
    pub const fn by(self, work: Work) -> Self {
        Self { work, ..self }
    }
}
