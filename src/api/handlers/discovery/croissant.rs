//! Croissant 1.0 metadata of a dataset: schema.org/Dataset as JSON-LD.
//!
//! Does not read rows.

use serde_json::{Map, Value, json};

use crate::api::app::App;
use crate::api::context::Incoming;
use crate::api::handlers::catalog::dataset_answer::{find, language};
use crate::api::handlers::catalog::dataset_version;
use crate::api::handlers::streams::download::PARQUET_MEDIA_TYPE;
use crate::api::route::{Guard, Route};
use mercato_catalog::{
    ColumnKind, ColumnMeta, Coverage, Dataset, DatasetVersion, Language, LogicalType, Provenance,
};
use mercato_web::{ApiError, Method, Response, ResponseBuffer, percent_encode};

/// Paths of this file.
pub const ROUTES: &[Route] =
    &[Route::new(Method::Get, "/api/v1/datasets/{slug}/croissant", Guard::Public, describe)];

/// Prefix of the addresses of update frequencies.
const FREQUENCIES: &str = "http://publications.europa.eu/resource/authority/frequency/";
const REVALIDATE: &str = "public, no-cache";

/// Formats of the download, with their media types.
const FORMATS: [(&str, &str); 4] = [
    ("csv", "text/csv"),
    ("json", "application/json"),
    ("ndjson", "application/x-ndjson"),
    ("arrow", "application/vnd.apache.arrow.stream"),
];

fn describe(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    let dataset = find(app, request)?;
    let mut query = request.query();
    let language = language(&mut query);
    let named = query.text("version");
    query.finish()?;
    let version = dataset_version::of_parameter(&dataset, named)?;
    let base = app.documents.base_url(request)?;
    let text = document(&dataset, version, base.as_str(), language).to_string();
    let response = Response::raw("application/ld+json", ResponseBuffer::from_body(text.as_bytes()));
    Ok(response.public(request, dataset.updated_at, REVALIDATE))
}

/// The description of a version, with addresses behind `base`.
pub fn document(
    dataset: &Dataset,
    version: &DatasetVersion,
    base: &str,
    language: Option<Language>,
) -> Value {
    let manifest = &dataset.manifest;
    let url = format!("{base}/api/v1/datasets/{}", dataset.slug());
    let title = manifest.title.choose(language).unwrap_or(dataset.slug());
    let mut document = json!({
        "@context": context(language),
        "@type": "sc:Dataset",
        "@id": url,
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "identifier": dataset.slug(),
        "name": title,
        "description": manifest.description.choose(language).unwrap_or(title),
        "url": url,
        "keywords": manifest.tags,
        "version": version.version.to_string(),
        "datePublished": version.published_at.rfc3339(),
        "dateModified": dataset.updated_at.rfc3339(),
        "inLanguage": languages(dataset),
        "isAccessibleForFree": false,
        "isLiveDataset": true,
        "distribution": distribution(dataset, version, &url),
        "recordSet": [record_set(dataset, version, language)],
    });
    let license = manifest.license_url.as_deref().or(manifest.license.as_deref());
    if let Some(members) = document.as_object_mut() {
        members.extend(license.map(|license| ("license".to_owned(), json!(license))));
        members.extend(provenance(&manifest.provenance).map(|(name, value)| (name.to_owned(), value)));
    }
    document
}

/// The files of a version.
fn distribution(dataset: &Dataset, version: &DatasetVersion, url: &str) -> Vec<Value> {
    let rows = FORMATS.map(|(format, media_type)| file(dataset, version, url, format, media_type));
    let parquet = version.offered_parquet().map(|parquet| {
        let mut described = file(dataset, version, url, "parquet", PARQUET_MEDIA_TYPE);
        if let Some(members) = described.as_object_mut() {
            members.insert("contentSize".to_owned(), json!(format!("{} B", parquet.bytes())));
            members.insert("sha256".to_owned(), json!(parquet.sha256_hex()));
        }
        described
    });
    rows.into_iter().chain(parquet).collect()
}

/// The provenance of the dataset, in the terms of schema.org, Croissant and Dublin Core.
fn provenance(provenance: &Provenance) -> impl Iterator<Item = (&'static str, Value)> {
    let coverage = provenance.coverage.as_ref();
    let place = |name: &String| json!({ "@type": "Place", "name": name });
    let places = coverage.filter(|coverage| !coverage.places.is_empty());
    let frequency = provenance
        .update_frequency
        .map(|frequency| json!({ "@id": format!("{FREQUENCIES}{}", frequency.code) }));
    let publisher = publisher(provenance);
    [
        ("creator", publisher.clone()),
        ("publisher", publisher),
        ("sameAs", provenance.homepage.as_ref().map(|homepage| json!(homepage))),
        ("citeAs", provenance.citation.as_ref().map(|citation| json!(citation))),
        ("temporalCoverage", coverage.and_then(interval).map(Value::from)),
        ("spatialCoverage", places.map(|coverage| coverage.places.iter().map(place).collect())),
        ("dct:accrualPeriodicity", frequency),
    ]
    .into_iter()
    .filter_map(|(name, value)| value.map(|value| (name, value)))
}

/// The publisher with the contact.
fn publisher(provenance: &Provenance) -> Option<Value> {
    let publisher = provenance.publisher.as_ref()?;
    let mut members = Map::new();
    members.insert("@type".to_owned(), json!("Organization"));
    members.insert("name".to_owned(), json!(publisher.name));
    members.extend(publisher.url.as_ref().map(|url| ("url".to_owned(), json!(url))));
    if let Some(contact) = &provenance.contact {
        let kind = if contact.contains("://") { "url" } else { "email" };
        members.insert("contactPoint".to_owned(), json!({ "@type": "ContactPoint", kind: contact }));
    }
    Some(Value::Object(members))
}

/// `2024-01-01/2024-12-31`; an end that is not given is open.
fn interval(coverage: &Coverage) -> Option<String> {
    let (from, to) = (coverage.from.as_deref(), coverage.to.as_deref());
    (from.is_some() || to.is_some()).then(|| format!("{}/{}", from.unwrap_or(".."), to.unwrap_or("..")))
}

/// The languages in which the publisher describes it.
fn languages(dataset: &Dataset) -> Vec<&'static str> {
    let (title, description) = (&dataset.manifest.title, &dataset.manifest.description);
    let mut languages = Vec::with_capacity(2);
    if title.en.is_some() || description.en.is_some() {
        languages.push("en");
    }
    if title.it.is_some() || description.it.is_some() {
        languages.push("it");
    }
    languages
}

fn file(dataset: &Dataset, version: &DatasetVersion, url: &str, format: &str, media_type: &str) -> Value {
    let number = &version.version;
    let (which, choice) = if *number == dataset.current.version {
        ("current version".to_owned(), String::new())
    } else {
        let mut choice = "&version=".to_owned();
        percent_encode(&number.to_string(), &mut choice);
        (format!("version {number}"), choice)
    };
    json!({
        "@type": "cr:FileObject",
        "@id": format,
        "name": format!("{}-{number}.{format}", dataset.slug()),
        "description": format!("The whole {which}. Needs an API key and costs a credit for each row."),
        "contentUrl": format!("{url}/download?format={format}{choice}"),
        "encodingFormat": media_type,
    })
}

fn record_set(dataset: &Dataset, version: &DatasetVersion, language: Option<Language>) -> Value {
    let columns = version.table.columns();
    json!({
        "@type": "cr:RecordSet",
        "@id": "rows",
        "name": "rows",
        "description": format!("{} rows.", version.table.row_count()),
        "field": columns.iter().map(|column| field(dataset, column, language)).collect::<Vec<_>>(),
    })
}

/// A column. Its id is percent-encoded, because ids are addresses and names of columns are any text.
fn field(dataset: &Dataset, column: &ColumnMeta, language: Option<Language>) -> Value {
    let mut id = "rows/".to_owned();
    percent_encode(&column.name, &mut id);
    let mut field = json!({
        "@type": "cr:Field",
        "@id": id,
        "name": column.name,
        "dataType": data_type(column.kind),
        "source": { "fileObject": { "@id": "csv" }, "extract": { "column": column.name } },
    });
    let note = dataset.manifest.columns.get(&column.name);
    let description = note.and_then(|note| note.description.choose(language));
    if let (Some(description), Some(members)) = (description, field.as_object_mut()) {
        members.insert("description".to_owned(), json!(description));
    }
    field
}

fn data_type(kind: ColumnKind) -> &'static str {
    match (kind.logical(), kind) {
        (LogicalType::Datetime, ColumnKind::Date) => "sc:Date",
        (LogicalType::Datetime, _) => "sc:DateTime",
        (LogicalType::Integer, _) => "sc:Integer",
        (LogicalType::Number, _) => "sc:Float",
        (LogicalType::Boolean, _) => "sc:Boolean",
        (LogicalType::String, _) => "sc:Text",
    }
}

/// The context that Croissant 1.0 prescribes.
fn context(language: Option<Language>) -> Value {
    let spoken = if language == Some(Language::Italian) { "it" } else { "en" };
    json!({
        "@language": spoken,
        "@vocab": "https://schema.org/",
        "citeAs": "cr:citeAs",
        "column": "cr:column",
        "conformsTo": "dct:conformsTo",
        "cr": "http://mlcommons.org/croissant/",
        "rai": "http://mlcommons.org/croissant/RAI/",
        "data": { "@id": "cr:data", "@type": "@json" },
        "dataType": { "@id": "cr:dataType", "@type": "@vocab" },
        "dct": "http://purl.org/dc/terms/",
        "examples": { "@id": "cr:examples", "@type": "@json" },
        "equivalentProperty": "cr:equivalentProperty",
        "extract": "cr:extract",
        "field": "cr:field",
        "fileProperty": "cr:fileProperty",
        "fileObject": "cr:fileObject",
        "fileSet": "cr:fileSet",
        "format": "cr:format",
        "includes": "cr:includes",
        "isLiveDataset": "cr:isLiveDataset",
        "jsonPath": "cr:jsonPath",
        "key": "cr:key",
        "md5": "cr:md5",
        "parentField": "cr:parentField",
        "path": "cr:path",
        "recordSet": "cr:recordSet",
        "references": "cr:references",
        "regex": "cr:regex",
        "repeated": "cr:repeated",
        "replace": "cr:replace",
        "samplingRate": "cr:samplingRate",
        "sc": "https://schema.org/",
        "separator": "cr:separator",
        "source": "cr:source",
        "subField": "cr:subField",
        "transform": "cr:transform"
    })
}
