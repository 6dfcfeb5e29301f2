//! The public listener and the operator's: route, authentication, limits, handler, log line.
//!
//! Fixes the order of the steps. Does not depend on handlers.

use std::net::IpAddr;
use std::sync::Arc;

use super::app::App;
use super::classes::{Work, work_of};
use super::context::{Incoming, RequestContext, client_address, presented_key_of};
use super::credits::uncharged;
use super::handlers::discovery::unknown_path;
use super::listener_kind::ListenerKind;
use super::metrics::Observation;
use super::route::{Guard, Route};
use super::routes::RefusalPage;
use crate::access::{Holder, InFlightRefusal, Permit, RequestKind, Scope, Subject};
use crate::limits::api::RETRY_AFTER_BUSY_SECONDS;
use mercato_base::clock::Moment;
use mercato_ledger::AccountId;
use mercato_web::{
    ApiError, Application, Common, ErrorKind, Match, Method, Report, Response, Router, TargetError,
    method_not_allowed, validation_error,
};

/// Headers with a single value. A repeated one is refused.
const SINGLE_HEADERS: [&str; 9] = [
    "X-Api-Key",
    "Authorization",
    "Idempotency-Key",
    "Last-Event-ID",
    "Range",
    "If-Range",
    "If-Modified-Since",
    "If-Unmodified-Since",
    "Content-Type",
];

/// One listener of the server.
pub struct Service {
    app: Arc<App>,
    router: Router<Route>,
    listener_kind: ListenerKind,
    common: Common,
    refusal_page: Option<RefusalPage>,
}

impl Application for Service {
    type Context = RequestContext;

    fn now(&self) -> Moment {
        self.app.clock.now()
    }

    fn common(&self) -> &Common {
        &self.common
    }

    fn respond(&self, request: &mut Incoming) -> Result<Response, ApiError> {
        self.answer(request)
    }

    /// As a page where the client wants one, else as JSON.
    fn refused(&self, request: &Incoming, error: &ApiError) -> Response {
        let page = self.refusal_page.and_then(|page| page(&self.app, request, error));
        page.unwrap_or_else(|| Response::error(error))
    }

    fn headers_for(&self, address: IpAddr) -> RequestContext {
        let peek = || self.app.access.peek(Subject::Address(address), self.now());
        RequestContext { admission: (!self.is_operators()).then(peek), ..RequestContext::default() }
    }

    fn panicked(&self) {
        self.app.metrics.count_panic();
    }

    fn sent(&self, report: Report<RequestContext>) {
        let Report { method, request_id, status, duration, sent, cause, context } = report;
        let (request_id, fields) = (request_id.as_str(), &context.log);
        let rows = sent.stream.map(|end| end.rows).or(fields.rows);
        let credits = sent.stream.map(|end| end.credits).or(fields.credits);
        self.app.metrics.observe(&Observation {
            route: fields.route,
            status,
            duration,
            rows: rows.unwrap_or(0),
            credits: credits.unwrap_or(0),
            body_bytes: sent.body_bytes,
        });
        if let Some(cause) = cause {
            tracing::error!(request_id, cause, "request failed");
        }
        tracing::info!(
            request_id,
            method = method.as_str(),
            route = fields.route,
            dataset = fields.dataset,
            status,
            rows,
            credits,
            duration_us = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX),
            broken = sent.broken.then_some(true),
            "request"
        );
    }

    fn sent_standalone(&self, status: u16) {
        self.app.metrics.observe(&Observation { status, ..Observation::default() });
    }
}

impl Service {
    /// A service over tables of routes.
    pub fn new(
        app: Arc<App>,
        routes: impl IntoIterator<Item = Route>,
        listener_kind: ListenerKind,
        refusal_page: Option<RefusalPage>,
    ) -> Self {
        let rows = routes.into_iter().map(|route| (route.method, route.pattern, route));
        let common = listener_kind.common();
        Self { app, router: Router::new(rows), listener_kind, common, refusal_page }
    }

    /// The application, for handlers.
    pub fn app(&self) -> &Arc<App> {
        &self.app
    }

    fn is_operators(&self) -> bool {
        matches!(self.listener_kind, ListenerKind::Operator { .. })
    }

    fn answer(&self, request: &mut Incoming) -> Result<Response, ApiError> {
        if let ListenerKind::Operator { hosts } = &self.listener_kind
            && !hosts.admit(&request.list("Host").unwrap_or_default())
        {
            return Err(host_foreign());
        }
        if request.method() == Method::Options && request.is_for_the_whole_server() {
            self.pass(request, Guard::Uncounted)?;
            return Ok(Response::empty(204).with_header("Allow", "GET, HEAD, POST, OPTIONS"));
        }
        request.parse_target().map_err(|error| unreadable_target(&error))?;
        let route = match self.router.find(request.method(), request.segments()) {
            Match::Row(route) => route,
            Match::OtherMethods(allow) if request.method() == Method::Options => {
                return self.preflight(request, allow);
            }
            Match::Nothing if request.method() == Method::Options => return Err(unknown_path(&self.app)),
            Match::OtherMethods(allow) => {
                self.pass(request, Guard::Public)?;
                return Err(method_not_allowed(allow));
            }
            Match::Nothing => {
                self.pass(request, Guard::Public)?;
                return Err(unknown_path(&self.app));
            }
        };
        let guard = route.guard;
        self.pass(request, guard)?;
        let work = work_of(route.pattern);
        let caller = match guard {
            Guard::Key => Some(request.context.caller()?),
            Guard::KeyOptional => request.context.caller().ok(),
            Guard::Uncounted | Guard::Public | Guard::Operator => None,
        };
        if let Some(caller) = caller {
            let kind = if work == Work::Long { RequestKind::Stream } else { RequestKind::Page };
            let held = permit(&self.app, caller.key.id(), kind, request.now());
            let held = held.map_err(|refusal| uncharged(refusal, caller.account.credits()))?;
            request.context.held = Some(held);
        }
        request.context.log.route = route.pattern;
        request.set_pattern(route.pattern);
        (route.handler)(&self.app, request)
    }

    /// Lets the request in or refuses it: 401 and 429 arise here and nowhere else.
    fn pass(&self, request: &mut Incoming, guard: Guard) -> Result<(), ApiError> {
        let repeated = request.repeated_header(&SINGLE_HEADERS);
        if self.is_operators() {
            return match guard {
                Guard::Operator if repeated.is_some() => Err(header_repeated(repeated)),
                Guard::Operator => self.pass_operator(request),
                _ => Ok(()),
            };
        }
        let now = request.now();
        let identity = self.app.access.authenticate(presented_key_of(request), now);
        let address = client_address(&self.app, request);
        let subject = identity.as_ref().map_or(Subject::Address(address), Subject::Key);
        if guard == Guard::Uncounted {
            let standing = self.app.access.peek(subject, now);
            request.context.admission = Some(standing);
            return Ok(());
        }
        match self.app.access.admit(subject, now) {
            Ok(admission) => request.context.admission = Some(admission),
            Err(refusal) => {
                let error = ApiError::from(&refusal);
                request.context.admission = Some(refusal.admission);
                return Err(match identity {
                    Ok(caller) if guard == Guard::Key => uncharged(error, caller.account.credits()),
                    _ => error,
                });
            }
        }
        if repeated.is_some() {
            return Err(header_repeated(repeated));
        }
        match identity {
            Ok(caller) => request.context.caller = Some(caller),
            Err(refusal) if guard == Guard::Key => return Err(refusal.into()),
            Err(_) => {}
        }
        Ok(())
    }

    fn pass_operator(&self, request: &Incoming) -> Result<(), ApiError> {
        let Some(presented) = request.header("Authorization").and_then(bearer) else {
            return Err(operator_unknown());
        };
        match self.app.admin_token.check(presented, client_address(&self.app, request), request.now())? {
            true => Ok(()),
            false => Err(operator_unknown()),
        }
    }

    fn preflight(&self, request: &mut Incoming, allow: String) -> Result<Response, ApiError> {
        self.pass(request, Guard::Uncounted)?;
        let response = Response::empty(204).with_header("Allow", allow.clone());
        if self.is_operators() {
            return Ok(response);
        }
        Ok(response
            .with_header("Access-Control-Allow-Methods", allow)
            .with_header(
                "Access-Control-Allow-Headers",
                "X-Api-Key, Authorization, Content-Type, Accept, Idempotency-Key, If-Match, If-None-Match, \
                 If-Modified-Since, If-Unmodified-Since, If-Range, Range, Last-Event-ID, MCP-Protocol-Version, \
                 Mcp-Method, Mcp-Name",
            )
            .with_header("Access-Control-Max-Age", "86400")
            .with_header("Cache-Control", "public, max-age=86400"))
    }
}

/// Bounds the running requests of a key or a person, so that nobody can take every worker.
fn permit(app: &App, holder: impl Into<Holder>, kind: RequestKind, now: Moment) -> Result<Permit, ApiError> {
    app.in_flight.acquire(holder, kind).map_err(|refusal| {
        let (reason, limit) = match refusal {
            InFlightRefusal::Requests { limit } => ("TOO_MANY_REQUESTS_IN_FLIGHT", limit),
            InFlightRefusal::Streams { limit } => ("TOO_MANY_STREAMS", limit),
        };
        ApiError::new(ErrorKind::RateLimited, refusal.to_string())
            .with_reason(reason, "wait until one of them has ended")
            .with_fact("limit", limit)
            .with_fact("resetAt", now.plus_seconds(RETRY_AFTER_BUSY_SECONDS.into()).rfc3339())
            .with_fact("retryAfterSeconds", RETRY_AFTER_BUSY_SECONDS)
            .with_fact("scope", Scope::Key.as_str())
            .with_header("Retry-After", RETRY_AFTER_BUSY_SECONDS.to_string())
    })
}

/// Counts a request as one of a person who is signed in, until its answer has ended, or refuses it.
pub fn hold_for_account(
    app: &App,
    request: &mut Incoming,
    account: AccountId,
    kind: RequestKind,
) -> Result<(), ApiError> {
    let held = permit(app, account, kind, request.now())?;
    request.context.held = Some(held);
    Ok(())
}

/// The token of an `Authorization` header.
fn bearer(authorization: &str) -> Option<&str> {
    let (scheme, presented) = authorization.split_once(' ')?;
    scheme.eq_ignore_ascii_case("Bearer").then_some(presented)
}

fn host_foreign() -> ApiError {
    ApiError::new(ErrorKind::Forbidden, "the header Host does not name the admin listener").with_reason(
        "HOST_FOREIGN",
        "ask 127.0.0.1 or localhost, or have the server started with --admin-host and this name",
    )
}

fn operator_unknown() -> ApiError {
    ApiError::new(ErrorKind::Unauthorized, "the admin listener needs the operator's token")
        .with_reason("OPERATOR_TOKEN", "send `Authorization: Bearer <content of admin.token>`")
        .with_header("WWW-Authenticate", "Bearer realm=\"mercato-admin\"")
}

fn header_repeated(name: Option<&str>) -> ApiError {
    let name = name.unwrap_or_default();
    validation_error(
        "DUPLICATE_HEADER",
        name,
        format!("{name}: the header is given more than once"),
        "give it once",
    )
}

fn unreadable_target(error: &TargetError) -> ApiError {
    validation_error(
        "TARGET_INVALID",
        "",
        error.to_string(),
        "percent-encode the path and the parameters as UTF-8",
    )
}
