//! Static responses: built and encoded once, with their validators, and sent many times.
//!
//! Does not depend on routes or content.

use std::sync::OnceLock;

use crate::api::context::Incoming;
use crate::limits::api::ENCODED_BODY_BYTES_MIN;
use mercato_base::clock::Moment;
use mercato_web::{
    Conditions, Response, ResponseBuffer, Validators, Verdict,
    coding::{self, Coding, encode_whole},
    not_expected,
};

/// A whole body with its media type and validators.
#[derive(Debug)]
pub struct Prepared {
    content_type: &'static str,
    body: Vec<u8>,
    gzip: OnceLock<Option<Vec<u8>>>,
    zstd: OnceLock<Option<Vec<u8>>>,
    validators: Validators,
}

impl Prepared {
    /// A body that last changed at `last_modified`.
    pub fn new(content_type: &'static str, body: Vec<u8>, last_modified: Moment) -> Self {
        let validators = Validators::of(&body, last_modified);
        Self { content_type, body, gzip: OnceLock::new(), zstd: OnceLock::new(), validators }
    }

    /// The answer in the coding that the client likes most, 304 for a client that holds it, or 412 for one that expects
    /// another.
    pub fn answer(&self, request: &Incoming, cache_control: &'static str) -> Response {
        let conditions = Conditions::of(request);
        let wanted = coding::wanted(&request.accept_encoding()).coding;
        let wanted = wanted.filter(|coding| self.encoded(*coding).is_some());
        let coding = self.validators.expected_coding(wanted, &conditions);
        let encoded = coding.and_then(|coding| self.encoded(coding).map(|body| (coding, body)));
        let validators = self.validators.clone().encoded(encoded.map(|(coding, _)| coding));
        let response = match (validators.judge(&conditions), encoded) {
            (Verdict::Failed, _) => return Response::error(&not_expected(&validators)),
            (Verdict::Held, _) => Response::empty(304),
            (Verdict::Send, None) => Response::raw(self.content_type, ResponseBuffer::from_body(&self.body)),
            (Verdict::Send, Some((coding, body))) => {
                Response::raw(self.content_type, ResponseBuffer::from_body(body))
                    .with_header("Content-Encoding", coding.name())
            }
        };
        response
            .with_header("ETag", validators.entity_tag.clone())
            .with_header("Last-Modified", validators.last_modified_text())
            .with_header("Cache-Control", cache_control)
    }

    /// The body in a coding, made when it is asked for first; nothing where that would not make it shorter.
    fn encoded(&self, coding: Coding) -> Option<&[u8]> {
        let made = match coding {
            Coding::Gzip => &self.gzip,
            Coding::Zstd => &self.zstd,
        };
        let encode = || {
            let mut encoded = Vec::new();
            encode_whole(coding, &self.body, &mut encoded).ok()?;
            (self.body.len() >= ENCODED_BODY_BYTES_MIN && encoded.len() < self.body.len()).then_some(encoded)
        };
        made.get_or_init(encode).as_deref()
    }
}
