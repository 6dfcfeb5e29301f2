//! The Model Context Protocol at `/mcp`: agents call tools by JSON-RPC, each request on its own.
//!
//! Speaks the stateless revision and answers clients of the three before it. Tools call the functions of the API. There
//! are no sessions and no streams.

mod door;
mod message;
mod methods;
mod revision;
mod rpc;
mod tools;

use crate::access::Subject;
use crate::api::app::App;
use crate::api::books_errors::from_books;
use crate::api::context::Incoming;
use crate::api::handlers::catalog::dataset_answer::no_parameters;
use crate::api::route::{Guard, Route, Work};
use mercato_ledger::Durable;
use mercato_web::{ApiError, Method, Response};
use message::{Body, Call, Message};
use revision::{Revision, VERSION_HEADER};
use rpc::{Failure, Reply};

/// Messages of one batch, which only the revision 2025-03-26 has. Each counts as a request.
const BATCH_MESSAGES_MAX: usize = 8;

/// Paths of this file.
pub const ROUTES: &[Route] = &[Route::new(Method::Post, "/mcp", Guard::KeyOptional, post).by(Work::Agent)];

fn post(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    no_parameters(request)?;
    door::check(app, request)?;
    let body = request.read_json_body()?;
    match message::read(&body) {
        Ok(Body::One(message)) => Ok(one(app, request, message)),
        Ok(Body::Batch(messages)) => batch(app, request, messages),
        Err(failure) => Ok(rpc::refused(None, &failure)),
    }
}

/// The answer to one message.
fn one(app: &App, request: &mut Incoming, message: Message<'_>) -> Response {
    let named = request.list(VERSION_HEADER).map(|name| Revision::named(&name).ok_or(name.into_owned()));
    match (message, named) {
        (Message::Request(call), _) => match revision::of(request, &call) {
            Ok(revision) => rpc::response(&call, methods::answer(app, request, revision, &call, 0)),
            Err(failure) => rpc::refused(Some(call.id), &failure),
        },
        (_, Some(Err(name))) => rpc::refused(None, &Failure::unsupported_version(&name)),
        (Message::Invalid(id, failure), _) => rpc::refused(id, &failure),
        (Message::Response, Some(Ok(revision))) if revision.is_stateless() => {
            rpc::refused(None, &Failure::invalid_request("this revision takes no responses from clients"))
        }
        (Message::Notification | Message::Response, _) => rpc::accepted(),
    }
}

/// The answers to a batch, which only the first revision over HTTP has. It names no revision in a header.
fn batch(app: &App, request: &mut Incoming, messages: Vec<Message<'_>>) -> Result<Response, ApiError> {
    let named = request.list(VERSION_HEADER);
    let refusal = match named.as_deref().map(Revision::named) {
        Some(revision) if !revision.is_some_and(Revision::takes_batches) => {
            Some("a body holds one message: batches ended with the revision 2025-06-18".to_owned())
        }
        _ if messages.is_empty() => Some("the batch is empty".to_owned()),
        _ if messages.len() > BATCH_MESSAGES_MAX => {
            Some(format!("a batch holds at most {BATCH_MESSAGES_MAX} messages"))
        }
        _ => None,
    };
    if let Some(refusal) = refusal {
        return Ok(rpc::refused(None, &Failure::invalid_request(refusal)));
    }
    admit_others(app, request, messages.len())?;
    let (mut answers, mut spent) = (Vec::new(), 0);
    for message in messages {
        match message {
            Message::Request(call) => answers.push(in_batch(app, request, &call, &mut spent)),
            Message::Invalid(id, failure) => answers.push(rpc::failure(id, &failure)),
            Message::Notification | Message::Response => {}
        }
    }
    Ok(if answers.is_empty() { rpc::accepted() } else { rpc::json(200, &joined(&answers)) })
}

/// Every message behind the first one counts as a request, too.
fn admit_others(app: &App, request: &mut Incoming, messages: usize) -> Result<(), ApiError> {
    let address = request.context.address;
    let caller = request.context.caller().ok().cloned();
    let subject = caller.as_ref().map_or(Subject::Address(address), Subject::Key);
    for _ in 1..messages {
        let admitted = app.access.admit(subject, request.now());
        request.context.admission = Some(admitted.map_err(|refusal| ApiError::from(&refusal))?);
    }
    Ok(())
}

/// The answer to a request of a batch. Its charge is durable before the next request is looked at, and `spent` then has it.
fn in_batch(app: &App, request: &mut Incoming, call: &Call<'_>, spent: &mut u64) -> Vec<u8> {
    if call.method == "initialize" || call.is_stateless() {
        let failure = Failure::invalid_request("this message must not be part of a batch");
        return rpc::failure(Some(call.id), &failure);
    }
    let Reply { outcome, durable, cause, credits } =
        methods::answer(app, request, Revision::V2025_03_26, call, *spent);
    *spent = spent.saturating_add(credits.map_or(0, |(charged, _)| charged));
    if let Some(cause) = cause {
        tracing::error!(request_id = request.request_id(), cause, "request failed");
    }
    match durable.map_or(Ok(()), Durable::wait) {
        Ok(()) => outcome.map_or_else(
            |failure| rpc::failure(Some(call.id), &failure),
            |result| rpc::result(call.id, &result),
        ),
        Err(error) => rpc::failure(Some(call.id), &Failure::internal(from_books(error).message())),
    }
}

fn joined(answers: &[Vec<u8>]) -> Vec<u8> {
    let mut list = vec![b'['];
    list.extend(answers.join(&b','));
    list.push(b']');
    list
}
