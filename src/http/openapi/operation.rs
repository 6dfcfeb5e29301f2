//! One operation of the document: a route, what it takes, what it answers and how it refuses.
//!
//! Knows what all operations have in common; knows none of them.

use serde_json::{Value, json};
use utoipa::openapi::path::{
    HttpMethod, Operation, OperationBuilder, Parameter, ParameterBuilder, ParameterIn,
};
use utoipa::openapi::request_body::{RequestBody, RequestBodyBuilder};
use utoipa::openapi::{ContentBuilder, Ref, Required, ResponseBuilder, SecurityRequirement};

use super::parts::{Fields, Node, any_of, exactly, named, text};
use super::{headers, refusals};
use crate::http::errors::ErrorKind;

/// Name of the security scheme.
pub(super) const API_KEY: &str = "ApiKey";

/// A path, a method and the operation behind them.
pub(super) struct Entry {
    pub(super) path: &'static str,
    pub(super) method: HttpMethod,
    pub(super) operation: Operation,
}

/// An operation while it is described.
pub(super) struct Op {
    path: &'static str,
    method: HttpMethod,
    builder: OperationBuilder,
}

impl Op {
    /// A `GET` that anyone may send.
    pub(super) fn get(path: &'static str, id: &str, tag: &str, summary: &str) -> Self {
        Self::of(HttpMethod::Get, path, id, tag, summary)
    }

    /// A `POST` that anyone may send.
    pub(super) fn post(path: &'static str, id: &str, tag: &str, summary: &str) -> Self {
        Self::of(HttpMethod::Post, path, id, tag, summary)
    }

    fn of(method: HttpMethod, path: &'static str, id: &str, tag: &str, summary: &str) -> Self {
        let builder = OperationBuilder::new()
            .operation_id(Some(id))
            .tags(Some([tag]))
            .summary(Some(summary))
            .securities(Some([]));
        Self { path, method, builder }
    }

    /// Says more than the summary.
    pub(super) fn saying(mut self, description: &str) -> Self {
        self.builder = self.builder.description(Some(description));
        self
    }

    /// Needs an API key: refuses with 401 without one.
    pub(super) fn with_key(mut self) -> Self {
        let none: [String; 0] = [];
        self.builder = self.builder.securities(Some([SecurityRequirement::new(API_KEY, none)]));
        self.refusing(&[ErrorKind::Unauthorized])
    }

    /// Takes a parameter.
    pub(super) fn taking(mut self, parameter: impl Into<Parameter>) -> Self {
        self.builder = self.builder.parameter(parameter.into());
        self
    }

    /// Takes the slug of a dataset, which may be wrong, unknown or out of service.
    pub(super) fn of_dataset(self) -> Self {
        self.taking(slug()).refusing(&[ErrorKind::NotFound])
    }

    /// Takes a JSON body.
    pub(super) fn reading(mut self, body: RequestBody) -> Self {
        self.builder = self.builder.request_body(Some(body));
        self.refusing(&[
            ErrorKind::LengthRequired,
            ErrorKind::PayloadTooLarge,
            ErrorKind::UnsupportedMediaType,
        ])
    }

    /// Answers so.
    pub(super) fn answering(mut self, status: &str, answer: Answer) -> Self {
        let answer = headers::EVERYWHERE.iter().fold(answer, |answer, name| answer.header(name));
        self.builder = self.builder.response(status, answer.0.build());
        self
    }

    /// Answers 200 with that, carries validators, answers 304 to a client that holds it and 412 to one that expects another.
    pub(super) fn holding(self, answer: Answer) -> Self {
        let answer = headers::HELD.iter().fold(answer, |answer, name| answer.header(name));
        let held =
            headers::HELD.iter().fold(Answer::empty("You hold it already."), |held, name| held.header(name));
        self.taking(conditional(
            "If-None-Match",
            "Entity tags that the client holds; decides alone where it is given.",
        ))
        .taking(conditional("If-Modified-Since", "Date of what the client holds."))
        .expecting()
        .answering("200", answer)
        .answering("304", held)
    }

    /// Can be bound to the content that the client expects: refuses with 412 where there is another.
    pub(super) fn expecting(self) -> Self {
        self.taking(conditional(
            "If-Match",
            "Entity tags that the client expects; decides alone where it is given.",
        ))
        .taking(conditional("If-Unmodified-Since", "Date of what the client expects."))
        .refusing(&[ErrorKind::PreconditionFailed])
    }

    /// Can refuse in these ways.
    pub(super) fn refusing(mut self, kinds: &[ErrorKind]) -> Self {
        for kind in kinds {
            let (status, answer) = refusals::answer(*kind);
            self.builder = self.builder.response(status, answer);
        }
        self
    }

    /// The finished entry of a path that counts against the limits.
    pub(super) fn entry(self) -> Entry {
        self.refusing(&[ErrorKind::RateLimited, ErrorKind::Unavailable]).uncounted()
    }

    /// The finished entry of a path that counts against no limit. What any request can meet, before a path is looked at.
    pub(super) fn uncounted(self) -> Entry {
        let finished = self.refusing(&[
            ErrorKind::BadRequest,
            ErrorKind::RequestTimeout,
            ErrorKind::TargetTooLong,
            ErrorKind::ExpectationFailed,
            ErrorKind::HeadersTooLarge,
            ErrorKind::Internal,
            ErrorKind::NotImplemented,
            ErrorKind::VersionUnsupported,
        ]);
        Entry { path: finished.path, method: finished.method, operation: finished.builder.build() }
    }
}

/// What a path of the health of the server says with 503: the state, or the refusal of a server that is busy.
pub(super) fn unwell(description: &str, state: Node, example: Value) -> Answer {
    let refusal = refusals::body(ErrorKind::Unavailable);
    let forms = any_of("The state, or a refusal.", vec![envelope(state), refusal]);
    Answer::plain(description, "application/json", forms, enveloped(example))
}

/// An answer while it is described.
pub(super) struct Answer(ResponseBuilder);

impl Answer {
    /// An answer without a body.
    pub(super) fn empty(description: &str) -> Self {
        Self(ResponseBuilder::new().description(description))
    }

    /// The envelope around `data`.
    pub(super) fn data(description: &str, data: Node, example: Value) -> Self {
        Self::plain(description, "application/json", envelope(data), enveloped(example))
    }

    /// A body of a media type, with an example.
    pub(super) fn plain(
        description: &str,
        media_type: &str,
        schema: Node,
        example: impl Into<Value>,
    ) -> Self {
        Self::empty(description).or(media_type, schema, example)
    }

    /// The same answer in another media type.
    pub(super) fn or(self, media_type: &str, schema: Node, example: impl Into<Value>) -> Self {
        let content = ContentBuilder::new().schema(Some(schema)).example(Some(example.into())).build();
        Self(self.0.content(media_type, content))
    }

    /// Carries a header.
    pub(super) fn header(self, name: &str) -> Self {
        Self(self.0.header_ref(name, headers::named(name)))
    }

    /// Carries these headers.
    pub(super) fn headers(self, names: &[&str]) -> Self {
        names.iter().fold(self, |answer, name| answer.header(name))
    }
}

/// A successful envelope around `data`.
fn envelope(data: Node) -> Node {
    Fields::closed("A success.")
        .has("success", exactly(true))
        .has("data", data)
        .has("meta", named("Meta"))
        .node()
}

fn enveloped(data: Value) -> Value {
    let meta = json!({
        "requestId": "6f0c1c7e-3a52-4c55-9a1c-0d6f3f1f2b11",
        "timestamp": "2026-11-21T02:31:37.123Z",
        "durationMs": 1
    });
    let members = [("success", Value::Bool(true)), ("data", data), ("meta", meta)];
    Value::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// The slug in the path, described once for all.
fn slug() -> Parameter {
    ParameterBuilder::new()
        .name("slug")
        .parameter_in(ParameterIn::Path)
        .required(Required::True)
        .description(Some("Name of the dataset."))
        .schema(Some(named("Slug")))
        .example(Some("tpch-orders".into()))
        .build()
}

/// A parameter of the query string that may be left out.
pub(super) fn parameter(name: &str, description: &str, schema: Node) -> ParameterBuilder {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Query)
        .required(Required::False)
        .description(Some(description))
        .schema(Some(schema))
}

/// The parameter `version` of what can be read in older versions.
pub(super) fn version() -> ParameterBuilder {
    let description =
        "A version that the header of the dataset lists; the current one unless said otherwise.";
    parameter("version", description, text("Semantic version"))
}

/// A header that may be left out.
pub(super) fn request_header(name: &str, description: &str, schema: Node) -> ParameterBuilder {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some(description))
        .schema(Some(schema))
}

fn conditional(name: &str, description: &str) -> ParameterBuilder {
    request_header(name, description, text("As the answer carried it."))
}

/// A JSON body.
pub(super) fn json_body(description: &str, schema: &str, examples: Vec<(&str, &str, Value)>) -> RequestBody {
    use utoipa::openapi::example::ExampleBuilder;
    let examples = examples
        .into_iter()
        .map(|(name, summary, value)| (name, ExampleBuilder::new().summary(summary).value(Some(value))));
    let content =
        ContentBuilder::new().schema(Some(Ref::from_schema_name(schema))).examples_from_iter(examples);
    RequestBodyBuilder::new()
        .description(Some(description))
        .content("application/json", content.build())
        .required(Some(Required::False))
        .build()
}
