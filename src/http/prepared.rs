//! Answers that are the same for everyone: built once, with their validators, and sent many times.
//!
//! Knows no route and no content.

use super::buffer::AnswerBuffer;
use super::conditional::{Conditions, Validators, Verdict, not_expected};
use super::incoming::Incoming;
use super::response::Response;
use crate::clock::Moment;

/// A whole body with its media type and validators.
#[derive(Debug)]
pub struct Prepared {
    content_type: &'static str,
    body: Vec<u8>,
    validators: Validators,
}

impl Prepared {
    /// A body that last changed at `last_modified`.
    pub fn new(content_type: &'static str, body: Vec<u8>, last_modified: Moment) -> Self {
        let validators = Validators::of(&body, last_modified);
        Self { content_type, body, validators }
    }

    /// The answer, 304 for a client that holds it, or 412 for one that expects another.
    pub fn answer(&self, request: &Incoming, cache_control: &'static str) -> Response {
        let response = match self.validators.judge(&Conditions::of(request)) {
            Verdict::Failed => return Response::error(&not_expected(&self.validators)),
            Verdict::Held => Response::empty(304),
            Verdict::Send => Response::raw(self.content_type, AnswerBuffer::from_body(&self.body)),
        };
        response
            .with_header("ETag", self.validators.entity_tag.clone())
            .with_header("Last-Modified", self.validators.last_modified_text())
            .with_header("Cache-Control", cache_control)
    }
}
