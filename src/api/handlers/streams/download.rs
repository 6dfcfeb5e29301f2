//! A whole version of a dataset as a file, or any part of it.

use crate::api::books_errors::from_books;
use crate::api::credits::with_credits;
use std::ops::Range;
use std::sync::Arc;

use crate::api::app::App;
use crate::api::context::Incoming;
use crate::api::handlers::catalog::dataset_answer::{damaged, find_for_key, verified};
use crate::api::handlers::catalog::dataset_version;
use crate::api::handlers::query::checked_query::viewed;
use crate::api::handlers::query::credits_warning::with_credits_warning;
use crate::api::handlers::query::page_answer::{ARROW_MEDIA_TYPE, XLSX_MEDIA_TYPE};
use crate::api::handlers::query::query_input::{Claimed, Wanted, claim, none_acceptable};
use crate::api::handlers::query::sale::Buyer;
use crate::api::handlers::query::uncharged;
use crate::api::handlers::streams::download_body::{DownloadBody, Paid};
use crate::api::handlers::streams::parquet_body::{ParquetBody, ParquetPart, offered_parquet};
use crate::api::handlers::streams::row_stream::RowEvents;
use crate::api::handlers::streams::stream::with_replay;
use crate::api::handlers::streams::stream_end::TRAILERS;
use crate::api::processor_limit::ProcessorLimit;
use crate::api::route::{Guard, Route, Work};
use mercato_catalog::{DatasetVersion, FormatError, ParquetFile};
use mercato_ledger::{
    CapStanding, ChargeError, ChargeRequest, DownloadRequest, IdempotencyClaim, Pending, Receipt,
    Reservation, ViewRows,
};
use mercato_query::QueryRequest;
use mercato_query::render::{
    ARROW_VERSION, Document, Format, Output, XLSX_ROWS_MAX, XLSX_VERSION, renderer_version,
};
use mercato_web::{
    ApiError, Conditions, ErrorKind, Method, Response, StreamBody, Validators, Verdict, choose,
    coding::{self, Coding},
    not_expected,
    range::{self, Asked},
};

/// Paths of this file.
pub const ROUTES: &[Route] =
    &[Route::new(Method::Get, "/api/v1/datasets/{slug}/download", Guard::Key, download).by(Work::Long)];

/// The media type of Parquet.
pub const PARQUET_MEDIA_TYPE: &str = "application/vnd.apache.parquet";

/// Digits of the SHA-256 of a Parquet file that its tag has.
const TAG_DIGITS: usize = 32;

/// The form of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Rows, printed when they are asked for.
    Rows(Output),
    /// The file that was written at publication.
    Parquet,
}

const OFFERS: [&[&str]; 6] = [
    &["text/csv", "application/csv"],
    &["application/json"],
    &["application/x-ndjson", "application/ndjson", "application/jsonl"],
    &[ARROW_MEDIA_TYPE],
    &[PARQUET_MEDIA_TYPE],
    &[XLSX_MEDIA_TYPE],
];
const FORMATS: [(&str, Form); 6] = [
    ("csv", Form::Rows(Output::Text(Format::Csv))),
    ("json", Form::Rows(Output::Text(Format::Json))),
    ("ndjson", Form::Rows(Output::Text(Format::Ndjson))),
    ("arrow", Form::Rows(Output::Arrow)),
    ("parquet", Form::Parquet),
    ("xlsx", Form::Rows(Output::Xlsx)),
];

fn download(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    let answered = downloaded(app, request);
    answered.map_err(|refusal| uncharged(refusal, request))
}

/// The steps of a download: dataset, format, conditions, range, payment, bytes.
fn downloaded(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    let mut parameters = request.query();
    let named_format = parameters.choice("format", &FORMATS);
    let named_version = parameters.text("version").map(ToOwned::to_owned);
    parameters.finish()?;
    let dataset = find_for_key(app, request)?;
    let format = match named_format {
        Some(format) => format,
        None => accepted(request)?,
    };
    let version = dataset_version::of_parameter(&dataset, named_version.as_deref())?;
    let content = named_version.as_deref().unwrap_or_default().as_bytes();
    let wanted = Wanted::File(name_of(format));
    let buyer = Buyer::of(request)?;
    let Claimed { version, claim, .. } = claim(app, buyer, &dataset, version.clone(), wanted, content)?;
    let version = &version;
    verified(&app.catalog, dataset.slug(), version)?;
    fits_sheet(format, version.table.row_count())?;
    let content = Content::open(app, dataset.slug(), version, format)?;
    let file = File { app, slug: dataset.slug(), version, format, content, claim };
    file.answer(request)
}

/// Refuses a workbook of more rows than a sheet has.
fn fits_sheet(format: Form, rows: u32) -> Result<(), ApiError> {
    if format != Form::Rows(Output::Xlsx) || rows <= XLSX_ROWS_MAX {
        return Ok(());
    }
    let message = format!("the dataset has {rows} rows, and a sheet of Excel at most {XLSX_ROWS_MAX}");
    let hint = "download another format, or stream a part of the rows as a workbook";
    Err(ApiError::new(ErrorKind::Unprocessable, message).with_reason("TOO_MANY_ROWS_FOR_XLSX", hint))
}

fn name_of(format: Form) -> &'static str {
    FORMATS.iter().find(|(_, named)| *named == format).map_or("csv", |(name, _)| name)
}

fn accepted(request: &Incoming) -> Result<Form, ApiError> {
    let offer = choose(&request.accept(), &OFFERS).ok_or_else(|| none_acceptable(&OFFERS))?;
    Ok(FORMATS.get(offer).map_or(Form::Rows(Output::Text(Format::Csv)), |(_, format)| *format))
}

/// The bytes of a file, or what makes them.
enum Content<'a> {
    /// Arrow or a workbook. Its length is known at its end, so it has no ranges.
    Batches(Output),
    Ranged(Ranged<'a>),
}

/// A file of known length.
enum Ranged<'a> {
    Text { format: Format, document: Document<'a>, digest: Option<String> },
    Parquet(Arc<ParquetFile>),
}

impl<'a> Content<'a> {
    fn open(app: &App, slug: &str, version: &'a DatasetVersion, form: Form) -> Result<Self, ApiError> {
        let format = match form {
            Form::Rows(Output::Text(format)) => format,
            Form::Rows(output) => return Ok(Self::Batches(output)),
            Form::Parquet => {
                let file = offered_parquet(version, &row_formats(version.table.row_count()))?;
                return Ok(Self::Ranged(Ranged::Parquet(file)));
            }
        };
        let broken = |error: FormatError| damaged(app, slug, version, &error.to_string());
        let document = app.exports.open(&version.table, format).map_err(broken)?;
        let digest = app.exports.digest(&document).map_err(broken)?;
        Ok(Self::Ranged(Ranged::Text { format, document, digest }))
    }
}

impl Ranged<'_> {
    fn bytes(&self) -> u64 {
        match self {
            Self::Text { document, .. } => document.bytes(),
            Self::Parquet(file) => file.bytes(),
        }
    }

    /// `Repr-Digest`, where it is known before the first byte.
    fn digest(&self) -> Option<String> {
        match self {
            Self::Text { digest, .. } => digest.clone(),
            Self::Parquet(file) => Some(format!("sha-256=:{}:", file.sha256())),
        }
    }
}

/// The formats that a version of so many rows has in any case.
fn row_formats(rows: u32) -> Vec<&'static str> {
    let fits = |form: &Form| *form != Form::Parquet && fits_sheet(*form, rows).is_ok();
    FORMATS.iter().filter(|(_, form)| fits(form)).map(|(name, _)| *name).collect()
}

/// The bytes that are sold.
enum Bytes {
    /// Text that is printed as it is sent.
    Printed(Format, Range<u64>),
    /// Of a file that lies there.
    Stored(ParquetPart),
}

/// How the sale of a file stands.
struct Sale {
    charged: u64,
    remaining: u64,
    caps: Vec<CapStanding>,
    is_replayed: bool,
}

impl Sale {
    fn of_part(receipt: &Receipt) -> Self {
        let (charged, remaining) = (receipt.charged, receipt.remaining);
        Self { charged, remaining, caps: receipt.caps.clone(), is_replayed: false }
    }

    fn of_whole(reservation: &Reservation) -> Self {
        let (charged, remaining) = (reservation.reserved(), reservation.remaining());
        let caps = reservation.caps().to_vec();
        Self { charged, remaining, caps, is_replayed: reservation.is_replayed() }
    }
}

/// The requested file.
struct File<'a> {
    app: &'a App,
    slug: &'a str,
    version: &'a DatasetVersion,
    format: Form,
    content: Content<'a>,
    claim: Option<IdempotencyClaim>,
}

impl File<'_> {
    fn answer(&self, request: &mut Incoming) -> Result<Response, ApiError> {
        let plain = self.validators();
        let asked = match &self.content {
            Content::Ranged(file) if range::still_holds(request.header("If-Range"), &plain) => {
                range::asked(request.header("Range"), file.bytes())
            }
            _ => Asked::Whole,
        };
        // Ranges and `HEAD` refer to the plain file.
        let is_head = request.method() == Method::Head;
        let is_compressed = matches!(self.format, Form::Parquet | Form::Rows(Output::Xlsx));
        let encodes = asked == Asked::Whole && !is_head && !is_compressed;
        let coding = if encodes { coding::wanted(&request.accept_encoding()).coding } else { None };
        let conditions = Conditions::of(request);
        let coding = plain.expected_coding(coding, &conditions);
        let validators = plain.encoded(coding);
        match validators.judge(&conditions) {
            Verdict::Failed => return Err(not_expected(&validators).with_header("Vary", "Accept")),
            Verdict::Held => {
                let held = self.labelled(Response::empty(304), &validators);
                return Ok(with_credits(held, 0, credits(request)?));
            }
            Verdict::Send => {}
        }
        let response = match &self.content {
            Content::Batches(_) if is_head => self.described(request, None)?,
            Content::Batches(output) => self.streamed(request, *output)?.with_coding(coding),
            Content::Ranged(file) => self.ranged(request, file, &asked, coding)?,
        };
        Ok(self.labelled(response, &validators))
    }

    /// The answer to `HEAD`.
    fn described(&self, request: &Incoming, bytes: Option<u64>) -> Result<Response, ApiError> {
        Ok(with_credits(Response::described(self.content_type(), bytes), 0, credits(request)?))
    }

    /// A file of known length, or a part of it.
    fn ranged(
        &self,
        request: &mut Incoming,
        file: &Ranged<'_>,
        asked: &Asked,
        coding: Option<Coding>,
    ) -> Result<Response, ApiError> {
        let length = file.bytes();
        let (status, part) = match asked {
            Asked::NotSatisfiable => return Err(not_satisfiable(length)),
            Asked::Whole => (200, 0..length),
            Asked::FromTheFirst => (206, 0..length),
            Asked::Part(part) => (206, part.clone()),
        };
        let bytes = part.end.saturating_sub(part.start);
        let response = if request.method() == Method::Head {
            self.described(request, Some(bytes))?
        } else {
            let response = self.sold(request, file, matches!(asked, Asked::Part(_)), part.clone())?;
            if coding.is_some() { response.with_coding(coding) } else { response.with_length(bytes) }
        };
        let response = match (file.digest(), coding) {
            (Some(digest), None) => response.with_header("Repr-Digest", digest),
            _ => response,
        };
        let last = part.end.saturating_sub(1);
        Ok(match status {
            206 => response
                .with_status(206)
                .with_header("Content-Range", format!("bytes {}-{last}/{length}", part.start)),
            _ => response,
        })
    }

    /// Charges a part or reserves the price of the whole. A refusal here costs nothing.
    fn sold(
        &self,
        request: &mut Incoming,
        file: &Ranged<'_>,
        is_part: bool,
        part: Range<u64>,
    ) -> Result<Response, ApiError> {
        // Damage that is met at once is refused before anything is paid.
        let bytes = self.bytes_of(file, part)?;
        let download = self.wanted(request)?;
        let (paid, sale) = if is_part {
            let receipt =
                self.app.ledger.sell_part(&download).and_then(Pending::durable).map_err(not_paid)?;
            let sale = Sale::of_part(&receipt);
            (Paid::InAdvance(receipt), sale)
        } else {
            let reservation = self.app.ledger.reserve_download(&download).map_err(not_paid)?;
            let sale = Sale::of_whole(&reservation);
            (Paid::AsItGoes(reservation), sale)
        };
        let body = self.body(request, bytes, paid);
        Ok(self.paid(request, &download, sale, body))
    }

    /// Reserves the price of a file whose length is unknown. It is sent as a stream of all rows.
    fn streamed(&self, request: &mut Incoming, output: Output) -> Result<Response, ApiError> {
        let download = self.wanted(request)?;
        let reservation = self.app.ledger.reserve_download(&download).map_err(not_paid)?;
        let sale = Sale::of_whole(&reservation);
        let events = RowEvents {
            app: self.app.long_work(),
            slug: self.slug.to_owned(),
            version: self.version.clone(),
            asked: QueryRequest::of_rows(download.charge.rows),
            groups: None,
            output,
            summary: false,
            passed_over: 0,
            reservation,
            work: ProcessorLimit::of(self.app, request),
            request_id: request.request_id().to_owned(),
        };
        let response = self.paid(request, &download, sale, Box::new(events));
        Ok(response.with_header("Trailer", TRAILERS))
    }

    /// The order of the whole file to the books.
    fn wanted(&self, request: &Incoming) -> Result<DownloadRequest, ApiError> {
        let version = self.version;
        let rows = version.table.row_count().into();
        let charge = ChargeRequest {
            account: request.context.caller()?.account.clone(),
            key: Some(request.context.caller()?.key.id()),
            rows,
            free_queries: 0,
            dataset: self.slug.to_owned(),
            request_id: request.request_id().to_owned(),
            claim: self.claim,
            view: Buyer::of(request)?
                .view_of(self.app, viewed(self.slug, version, "", ViewRows::All), rows)
                .map_err(from_books)?,
            at: request.now(),
        };
        let (number, format) = (version.version.to_string(), self.format_name().to_owned());
        Ok(DownloadRequest { charge, version: number, format })
    }

    /// The answer with a body that is sold.
    fn paid(
        &self,
        request: &mut Incoming,
        download: &DownloadRequest,
        sale: Sale,
        body: Box<dyn StreamBody>,
    ) -> Response {
        let Sale { charged, remaining, caps, is_replayed } = sale;
        request.context.log.credits = Some(charged);
        let response = with_credits(Response::stream(self.content_type(), body), charged, remaining);
        let response = with_replay(response, is_replayed);
        with_credits_warning(self.app, response, &download.charge.account, &caps, remaining)
    }

    fn bytes_of(&self, file: &Ranged<'_>, part: Range<u64>) -> Result<Bytes, ApiError> {
        Ok(match file {
            Ranged::Text { format, .. } => Bytes::Printed(*format, part),
            Ranged::Parquet(file) => {
                let rows = self.version.table.row_count().into();
                Bytes::Stored(ParquetPart::begin(file, rows, part)?)
            }
        })
    }

    /// The body that sends the bytes.
    fn body(&self, request: &Incoming, bytes: Bytes, paid: Paid) -> Box<dyn StreamBody> {
        let (app, request_id) = (self.app.long_work(), request.request_id().to_owned());
        match bytes {
            Bytes::Printed(format, part) => {
                let (slug, version) = (self.slug.to_owned(), self.version.clone());
                Box::new(DownloadBody { app, slug, version, format, part, paid, request_id })
            }
            Bytes::Stored(part) => Box::new(ParquetBody { app, part, paid, request_id }),
        }
    }

    /// The headers that 200, 206 and 304 share.
    fn labelled(&self, response: Response, validators: &Validators) -> Response {
        let version = &self.version.version;
        let name = format!("{}-{version}.{}", self.slug, self.format_name());
        let has_ranges = matches!(self.content, Content::Ranged(_)) && !response.is_encoded();
        let ranges = if has_ranges { "bytes" } else { "none" };
        response
            .with_header("ETag", validators.entity_tag.clone())
            .with_header("Last-Modified", validators.last_modified_text())
            .with_header("Cache-Control", "private, no-cache")
            .with_header("Content-Disposition", format!("attachment; filename=\"{name}\""))
            .with_header("Accept-Ranges", ranges)
            .with_header("X-Dataset-Version", version.to_string())
            .with_header("Vary", "Accept")
    }

    /// The tag changes with the content, the format and the way of printing.
    fn validators(&self) -> Validators {
        let version = self.version;
        let (content, format) = (version.table.fingerprint(), self.format_name());
        let labelled = |layout: &dyn std::fmt::Display| format!("{layout}-{}-{}", self.slug, version.version);
        let printer = match &self.content {
            Content::Ranged(Ranged::Text { .. }) => renderer_version(&version.table).to_string(),
            Content::Ranged(Ranged::Parquet(file)) => file.sha256_hex().chars().take(TAG_DIGITS).collect(),
            // An Arrow stream and a workbook name their dataset and version.
            Content::Batches(Output::Xlsx) => labelled(&XLSX_VERSION),
            Content::Batches(_) => labelled(&ARROW_VERSION),
        };
        Validators {
            entity_tag: format!("\"{content}-{format}-{printer}\""),
            last_modified: version.published_at,
        }
    }

    fn format_name(&self) -> &'static str {
        name_of(self.format)
    }

    const fn content_type(&self) -> &'static str {
        match self.format {
            Form::Rows(Output::Text(Format::Json)) => "application/json",
            Form::Rows(Output::Text(Format::Ndjson | Format::Sse)) => "application/x-ndjson",
            Form::Rows(Output::Text(Format::Csv)) => "text/csv; charset=utf-8; header=present",
            Form::Rows(Output::Arrow) => ARROW_MEDIA_TYPE,
            Form::Rows(Output::Xlsx) => XLSX_MEDIA_TYPE,
            Form::Parquet => PARQUET_MEDIA_TYPE,
        }
    }
}

fn credits(request: &Incoming) -> Result<u64, ApiError> {
    Ok(request.context.caller()?.account.credits())
}

/// A download has no `limit` that could be lowered.
fn not_paid(error: ChargeError) -> ApiError {
    let told = match error {
        ChargeError::InsufficientCredits { .. } => {
            Some(("INSUFFICIENT_CREDITS", "buy credits, or query the rows that you need"))
        }
        ChargeError::KeyCapReached { .. } => {
            Some(("KEY_CAP_REACHED", "wait until resetsAt, or have the cap of the key raised"))
        }
        _ => None,
    };
    let refusal = from_books(error);
    match told {
        Some((reason, hint)) => refusal.with_reason(reason, hint),
        None => refusal,
    }
}

fn not_satisfiable(length: u64) -> ApiError {
    ApiError::new(ErrorKind::RangeNotSatisfiable, format!("the file has {length} bytes and no such part"))
        .with_reason("RANGE_NOT_SATISFIABLE", "ask for one range of bytes inside the file")
        .with_fact("bytes", length)
        .with_header("Content-Range", format!("bytes */{length}"))
        .with_header("Accept-Ranges", "bytes")
        .with_header("Vary", "Accept")
}
