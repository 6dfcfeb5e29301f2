//! The request pipeline: route, authentication, limits, handler, response, log line.
//!
//! Fixes the order of the steps. Does not depend on handlers.

use std::any::Any;
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::app::App;
use super::errors::{ApiError, ErrorKind};
use super::framing::wire;
use super::handlers::discovery::unknown_path;
use super::incoming::{Exchange, Incoming, Method, end_exchange, header_of, validation_error};
use super::listener_kind::ListenerKind;
use super::metrics::Observation;
use super::response::Response;
use super::routing::classes::{Work, work_of};
use super::routing::router::{Guard, Router};
use super::routing::routes::RefusalPage;
use super::routing::target::TargetError;
use crate::access::{Holder, InFlightRefusal, Permit, RequestKind, Scope, Subject};
use crate::limits::api::RETRY_AFTER_BUSY_SECONDS;
use mercato_base::clock::Moment;
use mercato_ledger::{AccountId, Unavailable};
use mercato_net::Slots;
use mercato_net::limits::SLOT_HEADER;

/// The pipeline of one listener.
pub struct Service {
    app: Arc<App>,
    router: Router,
    listener_kind: ListenerKind,
    slots: Arc<Slots>,
    refusal_page: Option<RefusalPage>,
}

impl Service {
    /// A service over a table of routes, which responds through the sockets in `slots`.
    pub fn new(app: Arc<App>, router: Router, listener_kind: ListenerKind, slots: Arc<Slots>) -> Self {
        Self { app, router, listener_kind, slots, refusal_page: None }
    }

    /// Tells people of refusals by that page.
    #[must_use]
    pub fn with_refusals(self, page: RefusalPage) -> Self {
        Self { refusal_page: Some(page), ..self }
    }

    /// The application, for handlers.
    pub fn app(&self) -> &Arc<App> {
        &self.app
    }

    /// Answers one request. A panic of a handler costs this request a 500 and nothing else.
    pub fn answer(self: &Arc<Self>, raw: tiny_http::Request) {
        let claimed = header_of(&raw, SLOT_HEADER).and_then(|name| self.slots.claim(name));
        // The client of a request without a socket has its error already.
        let Some(socket) = claimed else { return end_exchange(raw) };
        let mut request = Incoming::new(raw, socket, self.app.clock.now());
        let outcome = catch_unwind(AssertUnwindSafe(|| self.respond(&mut request)));
        let response = match outcome {
            Ok(Ok(response)) if self.is_operators() => response,
            Ok(Ok(response)) => response.encoded_for(&request),
            Ok(Err(error)) => self.refused(&request, &error),
            Err(panic) => {
                self.app.metrics.count_panic();
                let cause = format!("handler panicked: {}", panic_text(panic.as_ref()));
                self.refused(&request, &ApiError::internal(cause))
            }
        };
        self.send_when_durable(request.into_exchange(), response);
    }

    /// A refusal as a page where the client wants one, else as JSON. A page that cannot be made is no reason for another.
    fn refused(&self, request: &Incoming, error: &ApiError) -> Response {
        let page = |page: RefusalPage| catch_unwind(AssertUnwindSafe(|| page(&self.app, request, error)));
        let page = self.refusal_page.and_then(|make| page(make).ok().flatten());
        page.unwrap_or_else(|| Response::error(error))
    }

    /// Sends the response when its charge is durable. Until then this thread goes on with other requests, unless the
    /// response is still to be compressed or too large to be kept for its client: then no other thread should send it.
    fn send_when_durable(self: &Arc<Self>, mut exchange: Exchange, mut response: Response) {
        let Some(durable) = response.durable.take() else { return self.send(exchange, response) };
        let refused = |error: Unavailable| Response::error(&ApiError::from(error));
        if durable.is_done() || response.is_encoded() || !exchange.socket.defer(response.memory()) {
            let response = durable.wait().map_or_else(refused, |()| response);
            return self.send(exchange, response);
        }
        let service = Arc::clone(self);
        durable.then(move |outcome| service.send(exchange, outcome.map_or_else(refused, |()| response)));
    }

    /// The encoded response to a refusal of the event loop.
    pub fn refusal(&self, error: &ApiError, address: IpAddr, with_body: bool) -> Vec<u8> {
        let response = Response::error(error);
        self.app.metrics.observe(&Observation { status: response.status, ..Observation::default() });
        let now = self.app.clock.now();
        let admission = match self.listener_kind {
            ListenerKind::Public { .. } => Some(self.app.access.peek(Subject::Address(address), now)),
            ListenerKind::Operator { .. } => None,
        };
        wire::standalone(response, admission.as_ref(), now, &self.listener_kind, with_body)
    }

    fn is_operators(&self) -> bool {
        matches!(self.listener_kind, ListenerKind::Operator { .. })
    }

    fn respond(&self, request: &mut Incoming) -> Result<Response, ApiError> {
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
        if request.method() == Method::Options {
            return self.preflight(request);
        }
        let found = self.router.find(request.method(), request.segments());
        let found = found.unwrap_or_else(|| Err(unknown_path(&self.app)));
        let guard = found.as_ref().map_or(Guard::Public, |route| route.guard);
        self.pass(request, guard)?;
        let route = found?;
        let work = work_of(route.pattern);
        let caller = match guard {
            Guard::Key => Some(request.caller()?),
            Guard::KeyOptional => request.caller().ok(),
            Guard::Uncounted | Guard::Public | Guard::Operator => None,
        };
        if let Some(caller) = caller {
            let kind = if work == Work::Long { RequestKind::Stream } else { RequestKind::Page };
            let held = permit(&self.app, caller.key.id(), kind, request.now());
            let held = held.map_err(|refusal| refusal.uncharged(caller.account.credits()))?;
            request.set_held(held);
        }
        request.log.route = route.pattern;
        request.set_pattern(route.pattern);
        (route.handler)(&self.app, request)
    }

    /// Lets the request in or refuses it: 401 and 429 arise here and nowhere else.
    fn pass(&self, request: &mut Incoming, guard: Guard) -> Result<(), ApiError> {
        let repeated = request.repeated_header();
        if self.is_operators() {
            return match guard {
                Guard::Operator if repeated.is_some() => Err(header_repeated(repeated)),
                Guard::Operator => self.pass_operator(request),
                _ => Ok(()),
            };
        }
        let now = request.now();
        let identity = self.app.access.authenticate(request.presented_key(), now);
        let address = self.client_address(request);
        let subject = identity.as_ref().map_or(Subject::Address(address), Subject::Key);
        if guard == Guard::Uncounted {
            let standing = self.app.access.peek(subject, now);
            request.set_admission(standing);
            return Ok(());
        }
        match self.app.access.admit(subject, now) {
            Ok(admission) => request.set_admission(admission),
            Err(refusal) => {
                let error = ApiError::from(&refusal);
                request.set_admission(refusal.admission);
                return Err(match identity {
                    Ok(caller) if guard == Guard::Key => error.uncharged(caller.account.credits()),
                    _ => error,
                });
            }
        }
        if repeated.is_some() {
            return Err(header_repeated(repeated));
        }
        match identity {
            Ok(caller) => request.set_caller(Some(caller)),
            Err(refusal) if guard == Guard::Key => return Err(refusal.into()),
            Err(_) => {}
        }
        Ok(())
    }

    fn pass_operator(&self, request: &Incoming) -> Result<(), ApiError> {
        let Some(presented) = request.header("Authorization").and_then(bearer) else {
            return Err(operator_unknown());
        };
        match self.app.admin_token.check(presented, self.client_address(request), request.now())? {
            true => Ok(()),
            false => Err(operator_unknown()),
        }
    }

    fn client_address(&self, request: &Incoming) -> IpAddr {
        request.client_address(&self.app.trusted_proxies)
    }

    fn preflight(&self, request: &mut Incoming) -> Result<Response, ApiError> {
        let Some(allow) = self.router.methods(request.segments()) else {
            return Err(unknown_path(&self.app));
        };
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

    fn send(&self, mut exchange: Exchange, mut response: Response) {
        let (status, cause) = (response.status, response.cause.take());
        let (method, fields) = (exchange.method, std::mem::take(&mut exchange.log));
        let arrived = exchange.socket.facts().arrived;
        let request_id = exchange.request_id;
        let request_id = request_id.as_str();
        let listener_kind = &self.listener_kind;
        // In this order, so that the response is never dated before its own duration has passed.
        let elapsed = arrived.elapsed();
        let now = self.app.clock.now();
        let outcome =
            catch_unwind(AssertUnwindSafe(|| wire::send(exchange, response, listener_kind, elapsed, now)));
        let sent = outcome.unwrap_or_else(|panic| {
            self.app.metrics.count_panic();
            tracing::error!(request_id, cause = panic_text(panic.as_ref()), "sending panicked");
            wire::Sent { broken: true, ..wire::Sent::default() }
        });
        let duration = arrived.elapsed();
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
    request.set_held(held);
    Ok(())
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message").to_owned()
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
