//! The steps of every request: classify it by its head, let the application answer, wait for what must be durable, send,
//! report.
//!
//! Fixes the order of the steps. The application decides who may ask and what the answer is.

use std::any::Any;
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use crate::errors::ApiError;
use crate::framing::wire::{self, Common, OwnHeaders, Sent};
use crate::incoming::{Exchange, Incoming};
use crate::method::Method;
use crate::request_id::RequestId;
use crate::response::Response;
use crate::target::{Target, TargetError};
use mercato_base::clock::Moment;
use mercato_net::{Classified, Client, Head, ResponseSocket, Slots};

/// A server behind one listener.
pub trait Application: Send + Sync + 'static {
    /// What the server knows of a request besides HTTP, from its arrival until its response is out.
    type Context: OwnHeaders + Send + 'static;

    /// The time.
    fn now(&self) -> Moment;

    /// What all responses of the listener have in common.
    fn common(&self) -> &Common;

    /// Looks at a request whose head has come; the body may still be on its way. Runs in the event loop, so it is short.
    fn arrive(
        &self,
        head: &Head<'_, '_>,
        target: Result<&Target, TargetError>,
        peer: IpAddr,
    ) -> Arrival<Self::Context>;

    /// Answers a request.
    ///
    /// # Errors
    /// The refusal; [`Application::refused`] gives it its form.
    fn respond(&self, request: &mut Incoming<Self::Context>) -> Result<Response, ApiError>;

    /// The response to a refused request.
    fn refused(&self, request: &Incoming<Self::Context>, error: &ApiError) -> Response {
        let _ = request;
        Response::error(error)
    }

    /// What the response to bytes that never became a request has in its head, for the client of an address.
    fn headers_for(&self, address: IpAddr) -> Self::Context;

    /// A handler panicked.
    fn panicked(&self);

    /// A response is out.
    fn sent(&self, report: Report<Self::Context>);

    /// A response to bytes that never became a request is out.
    fn sent_standalone(&self, status: u16);
}

/// What the head of a request tells.
pub struct Arrival<C> {
    /// Which class of workers answers.
    pub class: usize,
    /// Whose turn it takes.
    pub client: Client,
    /// Whether the body is read. A request that is refused in any case is answered without it.
    pub reads_body: bool,
    /// Goes to [`Application::respond`] with the request.
    pub context: C,
}

/// An arrived request, in its slot.
struct Arrived<C> {
    target: Result<Target, TargetError>,
    context: C,
}

/// What became of a request.
pub struct Report<C> {
    pub method: Method,
    pub request_id: RequestId,
    pub status: u16,
    /// From reception to the last byte.
    pub duration: Duration,
    /// What went out.
    pub sent: Sent,
    /// The cause of a failure, for the log.
    pub cause: Option<String>,
    /// What the server knows of the request.
    pub context: C,
}

/// An application behind one listener.
pub struct Pipeline<A> {
    application: A,
    slots: Arc<Slots>,
}

impl<A: Application> Pipeline<A> {
    /// An application that responds through the sockets in `slots`.
    pub fn new(application: A, slots: Arc<Slots>) -> Self {
        Self { application, slots }
    }

    pub fn application(&self) -> &A {
        &self.application
    }

    /// Classifies a request by its head. What is found out travels in its slot, so that nothing is looked up twice.
    pub fn classify(&self, head: &Head<'_, '_>, peer: IpAddr) -> Classified {
        let target = Target::parse(head.target);
        let arrival = self.application.arrive(head, target.as_ref().map_err(|error| *error), peer);
        let Arrival { class, client, reads_body, context } = arrival;
        Classified { class, client, reads_body, note: Some(Box::new(Arrived { target, context })) }
    }

    /// Answers the request in the slot of that name. Its client has an error already where the slot was taken back.
    pub(crate) fn answer_slot(self: &Arc<Self>, name: &str) {
        if let Some(socket) = self.slots.claim(name) {
            self.answer(socket);
        }
    }

    /// Answers one request that this pipeline has classified. A panic of a handler costs this request a 500 and nothing else.
    pub fn answer(self: &Arc<Self>, mut socket: ResponseSocket) {
        let note = socket.take_note().and_then(|note| note.downcast::<Arrived<A::Context>>().ok());
        let Some(Arrived { target, context }) = note.map(|note| *note) else { return };
        let mut request = Incoming::new(socket, self.application.now(), target, context);
        let outcome = catch_unwind(AssertUnwindSafe(|| self.application.respond(&mut request)));
        let response = match outcome {
            Ok(Ok(response)) if self.application.common().encodes => response.encoded_for(&request),
            Ok(Ok(response)) => response,
            Ok(Err(error)) => self.refused(&request, &error),
            Err(panic) => {
                self.application.panicked();
                let cause = format!("handler panicked: {}", panic_text(panic.as_ref()));
                self.refused(&request, &ApiError::internal(cause))
            }
        };
        self.send_when_durable(request.into_exchange(), response);
    }

    /// A form that cannot be made is no reason for another refusal.
    fn refused(&self, request: &Incoming<A::Context>, error: &ApiError) -> Response {
        let made = catch_unwind(AssertUnwindSafe(|| self.application.refused(request, error)));
        made.unwrap_or_else(|_| Response::error(error))
    }

    /// Sends the response when it may be sent. Until then this thread goes on with other requests, unless the response is
    /// still to be compressed or too large to be kept for its client: then no other thread should send it.
    fn send_when_durable(self: &Arc<Self>, mut exchange: Exchange<A::Context>, mut response: Response) {
        let Some(durable) = response.durable.take() else { return self.send(exchange, response) };
        let refused = |error: ApiError| Response::error(&error);
        if durable.is_done() || response.is_encoded() || !exchange.socket.defer(response.memory()) {
            let response = durable.wait().map_or_else(refused, |()| response);
            return self.send(exchange, response);
        }
        let pipeline = Arc::clone(self);
        durable.then(Box::new(move |outcome| {
            pipeline.send(exchange, outcome.map_or_else(refused, |()| response));
        }));
    }

    fn send(&self, exchange: Exchange<A::Context>, mut response: Response) {
        let Exchange { method, request_id, socket, context } = exchange;
        let (status, cause) = (response.status, response.cause.take());
        let arrived = socket.facts().arrived;
        let (id, common) = (request_id.as_str(), self.application.common());
        // In this order, so that the response is never dated before its own duration has passed.
        let elapsed = arrived.elapsed();
        let now = self.application.now();
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            wire::send(socket, id, &context, response, common, elapsed, now)
        }));
        let sent = outcome.unwrap_or_else(|panic| {
            self.application.panicked();
            tracing::error!(request_id = id, cause = panic_text(panic.as_ref()), "sending panicked");
            Sent { broken: true, ..Sent::default() }
        });
        let duration = arrived.elapsed();
        self.application.sent(Report { method, request_id, status, duration, sent, cause, context });
    }

    /// The encoded response to bytes that never became a request.
    pub fn standalone(&self, error: &ApiError, address: IpAddr, with_body: bool) -> Vec<u8> {
        let response = Response::error(error);
        self.application.sent_standalone(response.status);
        let (context, now) = (self.application.headers_for(address), self.application.now());
        wire::standalone(response, &context, now, self.application.common(), with_body)
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message").to_owned()
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpStream};
    use std::thread;
    use std::time::Instant;

    use super::*;
    use crate::framing::buffer::ResponseBuffer;
    use crate::response::Durable;
    use crate::{ErrorKind, Workers};
    use mercato_base::clock::{Clock, SystemClock};
    use mercato_net::limits::REMAINING_BYTES_MAX;
    use mercato_net::{
        Bound, ClassPlan, ListenAddress, NetLimits, NetParts, NetServer, PrivateAddress, Refusal,
    };

    /// Durable after 300 ms, or failed.
    struct Slow {
        succeeds: bool,
    }

    const SLOW: Duration = Duration::from_millis(300);

    impl Durable for Slow {
        fn is_done(&self) -> bool {
            false
        }

        fn wait(self: Box<Self>) -> Result<(), ApiError> {
            thread::sleep(SLOW);
            if self.succeeds { Ok(()) } else { Err(ApiError::new(ErrorKind::Unavailable, "lost")) }
        }

        fn then(self: Box<Self>, next: Box<dyn FnOnce(Result<(), ApiError>) + Send>) {
            thread::spawn(move || next(self.wait()));
        }
    }

    struct Nothing;

    impl OwnHeaders for Nothing {
        fn push_to(&self, _: &mut Vec<u8>) {}
    }

    /// A server whose paths are its tests.
    #[derive(Default)]
    struct Server {
        common: Common,
    }

    impl Application for Server {
        type Context = Nothing;

        fn now(&self) -> Moment {
            SystemClock.now()
        }

        fn common(&self) -> &Common {
            &self.common
        }

        fn arrive(
            &self,
            _: &Head<'_, '_>,
            _: Result<&Target, TargetError>,
            peer: IpAddr,
        ) -> Arrival<Nothing> {
            Arrival { class: 0, client: Client::Address(peer), reads_body: true, context: Nothing }
        }

        fn respond(&self, request: &mut Incoming<Nothing>) -> Result<Response, ApiError> {
            match request.segments().first().map(String::as_str) {
                Some("panic") => panic!("a handler may be wrong"),
                Some("slow") => {
                    thread::sleep(Duration::from_millis(500));
                    Response::data(&1)
                }
                Some("charged") => Ok(Response::data(&1)?.when(Slow { succeeds: true })),
                Some("lost") => Ok(Response::data(&1)?.when(Slow { succeeds: false })),
                Some("large") => {
                    let buffer = ResponseBuffer::from_body(&vec![b'x'; REMAINING_BYTES_MAX + 1]);
                    Ok(Response::raw("text/plain", buffer).when(Slow { succeeds: true }))
                }
                _ => Response::data(&1),
            }
        }

        fn headers_for(&self, _: IpAddr) -> Nothing {
            Nothing
        }

        fn panicked(&self) {}

        fn sent(&self, _: Report<Nothing>) {}

        fn sent_standalone(&self, _: u16) {}
    }

    struct Running {
        net: NetServer,
        workers: Workers,
        address: SocketAddr,
    }

    impl Running {
        fn start(count: usize) -> Running {
            let address = ListenAddress::Tcp(SocketAddr::from(([127, 0, 0, 1], 0)));
            let classes = vec![ClassPlan { name: "test", workers: count }];
            let bound = Bound::new(&address, NetLimits::default(), classes).unwrap();
            let pipeline = Arc::new(Pipeline::new(Server::default(), Arc::clone(bound.slots())));
            let mut random = [0; 8];
            getrandom::fill(&mut random).unwrap();
            let (listener, upstream) = PrivateAddress::open(u64::from_le_bytes(random)).unwrap();
            let workers = Workers::start(count, listener, &pipeline).unwrap();
            let refuse = |_: &Refusal, _: IpAddr, _: bool| b"HTTP/1.1 503 No\r\n\r\n".to_vec();
            let net = bound
                .start(NetParts {
                    upstream,
                    classifier: Arc::new(move |head: &Head<'_, '_>, peer| pipeline.classify(head, peer)),
                    refuse: Arc::new(refuse),
                    counted_as: Arc::new(|_| None),
                })
                .unwrap();
            let ListenAddress::Tcp(address) = net.address().clone() else { panic!("it listens on TCP") };
            Running { net, workers, address }
        }

        fn stop(self) -> bool {
            let (ended, upstream) = self.net.drain(Instant::now() + Duration::from_secs(20));
            ended && self.workers.stop(true, || upstream.wake_listener())
        }
    }

    fn ask(address: SocketAddr, target: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn survives_panic_of_handler() {
        let running = Running::start(1);
        for _ in 0..3 {
            let answer = ask(running.address, "/panic");
            assert!(answer.starts_with("HTTP/1.1 500 ") && answer.contains("INTERNAL_ERROR"), "{answer}");
            assert!(answer.contains("X-Request-Id: ") && !answer.contains("may be wrong"));
        }
        assert!(ask(running.address, "/quick").starts_with("HTTP/1.1 200 "));
        assert!(running.stop());
    }

    #[test]
    fn finishes_running_requests_before_end() {
        let running = Running::start(2);
        let address = running.address;
        let client = thread::spawn(move || ask(address, "/slow"));
        thread::sleep(Duration::from_millis(100));
        assert!(running.stop());
        assert!(client.join().unwrap().starts_with("HTTP/1.1 200 "));
    }

    #[test]
    fn frees_worker_while_charge_becomes_durable() {
        let running = Running::start(1);
        let address = running.address;
        let began = Instant::now();
        let charged: Vec<_> = (0..8).map(|_| thread::spawn(move || ask(address, "/charged"))).collect();
        thread::sleep(Duration::from_millis(100));
        assert!(ask(address, "/quick").starts_with("HTTP/1.1 200 "));
        assert!(charged.iter().all(|client| !client.is_finished()));
        for client in charged {
            assert!(client.join().unwrap().starts_with("HTTP/1.1 200 "));
        }
        let elapsed = began.elapsed();
        assert!(
            elapsed >= Duration::from_millis(300) && elapsed < Duration::from_millis(8 * 300),
            "{elapsed:?}"
        );
        assert!(ask(address, "/lost").starts_with("HTTP/1.1 503 "));
        assert!(running.stop());
    }

    #[test]
    fn keeps_worker_for_charged_response_too_large_to_defer() {
        let running = Running::start(1);
        let address = running.address;
        let began = Instant::now();
        let client = thread::spawn(move || ask(address, "/large"));
        thread::sleep(Duration::from_millis(100));
        assert!(ask(address, "/quick").starts_with("HTTP/1.1 200 "));
        assert!(began.elapsed() >= Duration::from_millis(300));
        assert!(client.join().unwrap().ends_with(&"x".repeat(REMAINING_BYTES_MAX + 1)));
        assert!(running.stop());
    }

    #[test]
    fn sends_deferred_responses_before_end() {
        let running = Running::start(1);
        let address = running.address;
        let clients: Vec<_> = (0..4).map(|_| thread::spawn(move || ask(address, "/charged"))).collect();
        thread::sleep(Duration::from_millis(100));
        assert!(running.stop());
        for client in clients {
            assert!(client.join().unwrap().starts_with("HTTP/1.1 200 "));
        }
    }
}
