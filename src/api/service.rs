//! The public listener and the operator's: route, authentication, limits, handler, log line.
//!
//! Fixes the order of the steps. Does not depend on handlers.

use std::net::IpAddr;
use std::sync::Arc;

use super::app::App;
use super::books_errors::from_books;
use super::context::{Incoming, RequestContext};
use super::credits::uncharged;
use super::handlers::discovery::unknown_path;
use super::listener_kind::ListenerKind;
use super::metrics::Observation;
use super::presented_key::presented_key;
use super::route::{Guard, RefusalPage, Route, Work};
use crate::limits::api::RETRY_AFTER_BUSY_SECONDS;
use mercato_base::clock::Moment;
use mercato_ledger::AccountId;
use mercato_net::{Client, Head};
use mercato_people::{
    Holder, InFlightRefusal, KeyRefusal, Permit, RequestKind, Scope, Subject, client_block,
};
use mercato_web::{
    ApiError, Application, Arrival, Common, ErrorKind, Match, Method, Report, Response, Router, Target,
    TargetError, method_not_allowed, validation_error,
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

/// Which class of workers does a kind of work, by whether the request has a valid key.
pub type ClassOf = fn(Work, bool) -> usize;

/// One listener of the server.
pub struct Service {
    app: Arc<App>,
    routes: Vec<Route>,
    /// Over the numbers of the routes.
    router: Router<usize>,
    listener_kind: ListenerKind,
    common: Common,
    class_of: ClassOf,
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

    /// Requests of one account take turns as one client, from however many addresses they come; requests without a valid key
    /// do so by address. The body of a request without a key that needs one is not read: it is refused in any case.
    fn arrive(
        &self,
        head: &Head<'_, '_>,
        target: Result<&Target, TargetError>,
        peer: IpAddr,
    ) -> Arrival<RequestContext> {
        let values = |name: &'static str| {
            let found = head.headers.iter().filter(move |header| header.name.eq_ignore_ascii_case(name));
            found.filter_map(|header| std::str::from_utf8(header.value).ok())
        };
        let found = target
            .map_or(Match::Nothing, |target| self.router.find(Method::named(head.method), &target.segments));
        let identity = match &self.listener_kind {
            ListenerKind::Public { .. } => {
                let presented = presented_key(values("X-Api-Key"), values("Authorization"));
                self.app.access.find_caller(presented)
            }
            ListenerKind::Operator { .. } => Err(KeyRefusal::Missing),
        };
        let address = self.app.trusted_proxies.client_address(peer, values("X-Forwarded-For"));
        let valid = identity.as_ref().ok().filter(|caller| caller.check(|| self.now()).is_ok());
        let client = valid.map_or(Client::Address(client_block(address)), |caller| {
            Client::Account(caller.account.id().number())
        });
        let route = match found {
            Match::Row(number) => self.routes.get(number),
            Match::OtherMethods(_) | Match::Nothing => None,
        };
        let (work, guard) = route.map_or((Work::Public, Guard::Public), |route| (route.work, route.guard));
        Arrival {
            class: (self.class_of)(work, valid.is_some()),
            client,
            reads_body: valid.is_some() || guard != Guard::Key,
            context: RequestContext::new(found, identity, address),
        }
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
        let admission = (!self.is_operators()).then(peek);
        RequestContext { admission, ..RequestContext::new(Match::Nothing, Err(KeyRefusal::Missing), address) }
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
        class_of: ClassOf,
        refusal_page: Option<RefusalPage>,
    ) -> Self {
        let routes: Vec<Route> = routes.into_iter().collect();
        let rows = routes.iter().enumerate().map(|(number, route)| (route.method, route.pattern, number));
        let router = Router::new(rows);
        let common = listener_kind.common();
        Self { app, routes, router, listener_kind, common, class_of, refusal_page }
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
        if let Some(error) = request.target_error() {
            return Err(unreadable_target(&error));
        }
        let route = match std::mem::replace(&mut request.context.found, Match::Nothing) {
            Match::Row(number) => self.routes.get(number).ok_or_else(|| unknown_path(&self.app))?,
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
        let caller = match guard {
            Guard::Key => Some(request.context.caller()?),
            Guard::KeyOptional => request.context.caller().ok(),
            Guard::Uncounted | Guard::Public | Guard::Operator => None,
        };
        if let Some(caller) = caller {
            let kind = if route.work == Work::Long { RequestKind::Stream } else { RequestKind::Page };
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
        let context = &mut request.context;
        let used =
            context.identity.as_ref().map_err(|refusal| *refusal).and_then(|caller| caller.use_key(now));
        if let Err(refusal) = used {
            context.identity = Err(refusal);
        }
        let identity = context.identity.clone();
        let subject = identity.as_ref().map_or(Subject::Address(context.address), Subject::Key);
        if guard == Guard::Uncounted {
            let standing = self.app.access.peek(subject, now);
            request.context.admission = Some(standing);
            return Ok(());
        }
        match self.app.access.admit(subject, now) {
            Ok(admission) => request.context.admission = Some(admission),
            Err(refusal) => {
                let error = from_books(&refusal);
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
            Err(refusal) if guard == Guard::Key => return Err(from_books(refusal)),
            Err(_) => {}
        }
        Ok(())
    }

    fn pass_operator(&self, request: &Incoming) -> Result<(), ApiError> {
        let Some(presented) = request.header("Authorization").and_then(bearer) else {
            return Err(operator_unknown());
        };
        match self.app.admin_token.check(presented, request.context.address, request.now())? {
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
