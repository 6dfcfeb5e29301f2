//! The Model Context Protocol at `/mcp`: agents call tools by JSON-RPC, each request on its own.
//!
//! Speaks the stateless revision, and the last one with a handshake, which most clients speak. Tools call the functions of the API. There
//! are no sessions and no streams.

mod door;
mod message;
mod methods;
mod revision;
mod rpc;
mod tools;

use crate::api::app::App;
use crate::api::context::Incoming;
use crate::api::handlers::catalog::dataset_answer::no_parameters;
use crate::api::route::{Guard, Route, Work};
use mercato_web::{ApiError, Method, Response};
use message::Message;
use revision::{Revision, VERSION_HEADER};
use rpc::Failure;

/// Paths of this file.
pub const ROUTES: &[Route] = &[Route::new(Method::Post, "/mcp", Guard::KeyOptional, post).by(Work::Agent)];

fn post(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    no_parameters(request)?;
    door::check(app, request)?;
    let body = request.read_json_body()?;
    match message::read(&body) {
        Ok(message) => Ok(one(app, request, message)),
        Err(failure) => Ok(rpc::refused(None, &failure)),
    }
}

/// The answer to one message.
fn one(app: &App, request: &mut Incoming, message: Message<'_>) -> Response {
    let named = request.list(VERSION_HEADER).map(|name| Revision::named(&name).ok_or(name.into_owned()));
    match (message, named) {
        (Message::Request(call), _) => match revision::of(request, &call) {
            Ok(revision) => rpc::response(&call, methods::answer(app, request, revision, &call)),
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
