//! The input of queries: request, version, format and idempotency key.

use crate::api::app::App;
use crate::api::books_errors::from_books;
use crate::api::context::Incoming;
use crate::api::handlers::catalog::dataset_version;
use crate::api::handlers::query::page_answer::{ARROW_MEDIA_TYPE, XLSX_MEDIA_TYPE};
use crate::api::handlers::query::sale::Buyer;
use crate::api::processor_limit::ProcessorLimit;
use crate::limits::api::{QUERY_LIMIT_MAX, STREAM_LIMIT_MAX};
use mercato_base::words::{any_of, placed, quoted};
use mercato_catalog::{Dataset, DatasetVersion, FormatError};
use mercato_ledger::{ClaimError, ClaimKind, IdempotencyClaim};
use mercato_query::render::{Format, Output};
use mercato_query::{QueryError, QueryRequest, Reason, ValidationError};
use mercato_web::{ApiError, ErrorKind, ValidationErrorBody, choose};

/// Media types of a page; the first name of each is its `Content-Type`.
const OFFERS: [&[&str]; 5] = [
    &["application/json"],
    &["text/csv", "application/csv"],
    &["application/x-ndjson", "application/ndjson", "application/jsonl"],
    &[ARROW_MEDIA_TYPE],
    &[XLSX_MEDIA_TYPE],
];

/// Words of the parameter `format`, in the order of the media types.
pub const FORMATS: [(&str, Output); 5] = [
    ("json", Output::Text(Format::Json)),
    ("csv", Output::Text(Format::Csv)),
    ("ndjson", Output::Text(Format::Ndjson)),
    ("arrow", Output::Arrow),
    ("xlsx", Output::Xlsx),
];

/// Parameters of an address.
type Pairs = Vec<(String, String)>;
/// The format of the parameter `format`, if given.
type Named = Result<Option<Output>, ValidationError>;

/// The format that the parameter `format` names, and the other parameters.
pub fn named_format(pairs: &[(String, String)]) -> (Named, Pairs) {
    let (own, rest): (Vec<_>, Vec<_>) = pairs.iter().cloned().partition(|(name, _)| name == "format");
    let known = |word: &str| FORMATS.iter().find(|(name, _)| *name == word).map(|(_, format)| *format);
    let named = match own.as_slice() {
        [] => Ok(None),
        [(_, word)] => known(word).map(Some).ok_or_else(|| {
            let names = FORMATS.map(|(name, _)| name);
            let listed = any_of(names.into_iter());
            let message = format!("expected {listed}, found {}", quoted(word));
            ValidationError::new(Reason::UnknownWord, "format", message, format!("send {listed}"))
                .with_names(word, names.into_iter())
        }),
        _ => {
            let message = format!("expected once, found {} times", own.len());
            Err(ValidationError::new(Reason::DuplicateField, "format", message, "give it once"))
        }
    };
    (named, rest)
}

/// The named format, or else the preferred one of `Accept`.
pub fn format(request: &Incoming, named: Option<Output>) -> Result<Output, ApiError> {
    if let Some(output) = named {
        return Ok(output);
    }
    let offer = choose(&request.accept(), &OFFERS).ok_or_else(|| none_acceptable(&OFFERS))?;
    Ok(FORMATS.get(offer).map_or(Output::Text(Format::Json), |(_, output)| *output))
}

/// No media type that the client takes is among those offered.
pub fn none_acceptable(offers: &[&[&str]]) -> ApiError {
    let allowed = offers.iter().flat_map(|names| names.iter()).map(|name| (*name).to_owned()).collect();
    ApiError::new(ErrorKind::NotAcceptable, "none of the accepted media types is offered")
        .with_reason("NOT_ACCEPTABLE", "accept one of the listed media types")
        .with_header("Vary", "Accept")
        .with_allowed(allowed)
}

/// A parsed request: valid, or its errors and its valid part.
pub enum Asked {
    /// It has the right shape.
    Sound(QueryRequest),
    /// It has not.
    Faulty(Vec<ValidationError>, QueryRequest),
}

impl Asked {
    /// Reads a JSON body.
    pub fn json(body: &[u8], limit_max: u64) -> Self {
        Self::of(QueryRequest::read_json(body, limit_max))
    }

    /// Reads query parameters.
    pub fn pairs(pairs: &[(String, String)], limit_max: u64) -> Self {
        Self::of(QueryRequest::read_pairs(pairs, limit_max))
    }

    /// The same with one more fault.
    pub fn with_fault(self, fault: ValidationError) -> Self {
        match self {
            Self::Sound(request) => Self::Faulty(vec![fault], request),
            Self::Faulty(mut faults, request) => {
                faults.push(fault);
                Self::Faulty(faults, request)
            }
        }
    }

    /// Reads the JSON body of an estimate.
    pub fn estimate(body: &[u8]) -> Self {
        Self::of(QueryRequest::read_estimate(body, QUERY_LIMIT_MAX, STREAM_LIMIT_MAX))
    }

    fn of((request, faults): (QueryRequest, Vec<ValidationError>)) -> Self {
        if faults.is_empty() { Self::Sound(request) } else { Self::Faulty(faults, request) }
    }

    /// The sound request; of a faulty one the faults, also those that only the columns of the dataset show.
    pub fn or_all_faults(self, dataset: &Dataset, work: &ProcessorLimit) -> Result<QueryRequest, ApiError> {
        let query = &dataset.manifest.query;
        let (Self::Sound(request) | Self::Faulty(_, request)) = &self;
        if request.is_grouped() && !query.groups {
            let message = format!("the seller of `{}` offers no groups and aggregates", dataset.slug());
            let hint = "leave `groupBy`, `aggregates` and `having` out, and query rows";
            return Err(ApiError::new(ErrorKind::Forbidden, message).with_reason("GROUPS_OFF", hint));
        }
        match self {
            Self::Sound(request) => Ok(request.with_group_rows_min(query.min_group_rows.into())),
            Self::Faulty(mut faults, rest) => {
                let version = rest.version().map(|name| dataset_version::named(dataset, name, "/version"));
                let version = version.unwrap_or(Ok(&dataset.current)).unwrap_or_else(|fault| {
                    faults.push(fault);
                    &dataset.current
                });
                if let Err(QueryError::Invalid(more)) =
                    mercato_query::plan(&rest, &version.table, dataset.slug(), work)
                {
                    faults.extend(more);
                }
                Err(refuse(faults))
            }
        }
    }
}

/// The 400 of all errors.
pub fn refuse(faults: Vec<ValidationError>) -> ApiError {
    let body = |fault: ValidationError| ValidationErrorBody {
        reason: fault.reason.as_str().to_owned(),
        message: placed(&fault.pointer, &fault.message),
        pointer: fault.pointer,
        hint: fault.hint,
        allowed: fault.allowed,
        suggestion: fault.suggestion,
    };
    ApiError::bad_request(faults.into_iter().map(body).collect())
}

/// Why there is no plan: the request is at fault, or the store file, or planning takes too long.
pub fn not_planned(
    error: QueryError,
    broken: impl FnOnce(FormatError) -> ApiError,
    work: &ProcessorLimit,
) -> ApiError {
    match error {
        QueryError::Invalid(faults) => refuse(faults),
        QueryError::Format(error) => broken(error),
        QueryError::Stopped(stop) => work.refusal(stop),
    }
}

/// The purpose of an `Idempotency-Key`.
#[derive(Debug, Clone, Copy)]
pub enum Wanted {
    /// A page of rows.
    Page,
    /// A stream of rows.
    Stream,
    /// The file in a format, whole or in parts.
    File(&'static str),
}

/// The version to read, and the claim of an `Idempotency-Key` on it.
pub struct Claimed {
    /// The version to be read.
    pub version: DatasetVersion,
    /// The claim on it, when a key is sent.
    pub claim: Option<IdempotencyClaim>,
    /// Whether the request was paid before under the key, in full or in part.
    pub is_paid: bool,
}

/// The claim of an `Idempotency-Key`, if sent, and the version to read. A paid request is answered again from the
/// version that was paid. `content` must not differ under one key.
pub fn claim(
    app: &App,
    buyer: Buyer<'_>,
    dataset: &Dataset,
    version: DatasetVersion,
    wanted: Wanted,
    content: &[u8],
) -> Result<Claimed, ApiError> {
    let Some(key) = buyer.idempotency_key else {
        return Ok(Claimed { version, claim: None, is_paid: false });
    };
    let others = dataset.versions.iter().chain(&dataset.held);
    let mut versions: Vec<DatasetVersion> = std::iter::once(&version).chain(others).cloned().collect();
    let of_version = |version: &DatasetVersion| {
        let (slug, content_of_version) = (dataset.slug(), version.table.fingerprint());
        let scope = match wanted {
            Wanted::Page => format!("query {slug} {content_of_version}"),
            Wanted::Stream => format!("stream {slug} {content_of_version}"),
            Wanted::File(format) => format!("download {slug} {content_of_version} {format}"),
        };
        IdempotencyClaim::new(key, &scope, content)
    };
    let claims: Vec<_> =
        versions.iter().map(of_version).collect::<Result<_, ClaimError>>().map_err(invalid_key)?;
    let (account, now) = (buyer.account, buyer.at);
    let kind = match wanted {
        Wanted::Page | Wanted::Stream => ClaimKind::Rows,
        Wanted::File(_) => ClaimKind::File,
    };
    let paid = app.ledger.paid_among(account, kind, &claims, now).map_err(from_books)?;
    let place = paid.unwrap_or(0);
    let version = versions.swap_remove(place);
    if paid.is_some() {
        version.note_cursor(now);
    }
    Ok(Claimed { version, claim: claims.get(place).copied(), is_paid: paid.is_some() })
}

fn invalid_key(error: ClaimError) -> ApiError {
    ApiError::bad_request(vec![ValidationErrorBody::parameter(
        "IDEMPOTENCY_KEY_INVALID",
        "Idempotency-Key",
        placed("Idempotency-Key", &error.to_string()),
        "use 1 to 255 visible ASCII characters",
    )])
}
