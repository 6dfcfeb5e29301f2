//! The manifest `dataset.toml`: a publisher's description of a dataset.
//!
//! Does not depend on store files.

pub(super) mod changelog;
mod checks;
pub(super) mod column_type;
mod date_format;
pub(super) mod provenance;
pub(super) mod query_offer;
pub(super) mod source;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use serde::{Deserialize, Deserializer};
use toml::Spanned;

use crate::error::CatalogError;
use crate::files::data_directory::MANIFEST_FILE;
use crate::files::text_file;
use crate::manifest::checks::{
    check_columns, check_keep, check_related, check_tags, check_text, line_and_column,
};
use crate::manifest::column_type::ColumnType;
use crate::manifest::provenance::{
    CITATION_LENGTH_CHARS_MAX, Provenance, TypedCoverage, TypedPublisher, check_address, check_contact,
    check_frequency, check_text as check_line,
};
use crate::manifest::query_offer::QueryOffer;
use crate::manifest::source::SourceOptions;
use crate::slug::Slug;

/// Size limit of a manifest.
pub const MANIFEST_SIZE_BYTES_MAX: u64 = 1024 * 1024;
/// Limit of tags and of related slugs.
pub const LIST_LENGTH_MAX: usize = 100;
/// Longest tag.
pub const TAG_LENGTH_CHARS_MAX: usize = 64;
/// Longest title.
pub const TITLE_LENGTH_CHARS_MAX: usize = 300;
/// Longest description of a dataset or a column.
pub const DESCRIPTION_LENGTH_CHARS_MAX: usize = 10_000;

/// A language of the catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    English,
    Italian,
}

/// A text in English, Italian or both.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table of texts such as { en = \"Cities\", it = \"Città\" }")]
pub struct LocalizedText {
    /// English.
    pub en: Option<String>,
    /// Italian.
    pub it: Option<String>,
}

impl LocalizedText {
    /// The text in that language, else in the other. Without a language, English comes first.
    pub fn choose(&self, language: Option<Language>) -> Option<&str> {
        let (first, second) = match language {
            Some(Language::Italian) => (&self.it, &self.en),
            Some(Language::English) | None => (&self.en, &self.it),
        };
        first.as_deref().or(second.as_deref())
    }

    fn all(&self) -> impl Iterator<Item = &String> {
        self.en.iter().chain(&self.it)
    }

    /// A text in both languages, or a plain one in English.
    fn of_text_or_table<'d, D: Deserializer<'d>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(
            untagged,
            expecting = "expected a text, or a table of texts such as { en = \"City\", it = \"Città\" }"
        )]
        enum Typed {
            Text(String),
            Table(LocalizedText),
        }
        Ok(match Typed::deserialize(deserializer)? {
            Typed::Text(text) => Self { en: Some(text), it: None },
            Typed::Table(texts) => texts,
        })
    }
}

/// The description of a column.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { description = \"Name of the city\", example = \"Roma\" }"
)]
pub struct ColumnNote {
    /// The meaning of the column.
    #[serde(default, deserialize_with = "LocalizedText::of_text_or_table")]
    pub description: LocalizedText,
    /// A typical value: text, number, boolean or date.
    pub example: Option<toml::Value>,
    /// The type in text files; see [`ColumnType`].
    pub r#type: Option<String>,
}

impl ColumnNote {
    pub fn column_type(&self) -> Option<ColumnType> {
        self.r#type.as_deref().and_then(|text| text.parse().ok())
    }
}

/// A parsed and validated manifest.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// Slug of the dataset.
    pub slug: Slug,
    pub published: bool,
    pub featured: bool,
    /// Number of retained versions, if given.
    pub keep_versions: Option<usize>,
    /// Whether versions are offered as Parquet too.
    pub parquet: bool,
    pub license: Option<String>,
    /// Address of the license.
    pub license_url: Option<String>,
    pub tags: Vec<String>,
    /// Related datasets, used when no relation is recorded.
    pub related: Vec<Slug>,
    pub title: LocalizedText,
    pub description: LocalizedText,
    /// Provenance of the dataset.
    pub provenance: Provenance,
    /// The options of its text and Excel files.
    pub source: SourceOptions,
    /// What is offered to queries.
    pub query: QueryOffer,
    /// Column descriptions by name.
    pub columns: BTreeMap<String, ColumnNote>,
}

impl Manifest {
    /// Reads `dataset.toml` of a folder.
    pub fn load(folder: &Path) -> Result<Self, CatalogError> {
        let path = folder.join(MANIFEST_FILE);
        let text = text_file::read(&path, MANIFEST_SIZE_BYTES_MAX)?;
        Self::parse(&text, &path)
    }

    /// Parses a manifest. Errors have path, line and column.
    pub fn parse(text: &str, path: &Path) -> Result<Self, CatalogError> {
        let fault = |span: Range<usize>, message: String| {
            let (line, column) = line_and_column(text, span.start);
            CatalogError::Manifest { path: path.to_owned(), line, column, message }
        };
        let typed: TypedManifest = toml::from_str(text)
            .map_err(|error| fault(error.span().unwrap_or(0..0), error.message().replace('\n', "; ")))?;
        typed.check().map_err(|(span, message)| fault(span, message))
    }
}

/// The manifest as typed, with positions for errors.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TypedManifest {
    slug: Spanned<String>,
    #[serde(default = "published_by_default")]
    published: bool,
    #[serde(default)]
    featured: bool,
    keep_versions: Option<Spanned<usize>>,
    #[serde(default = "parquet_by_default")]
    parquet: bool,
    license: Option<String>,
    license_url: Option<Spanned<String>>,
    #[serde(default)]
    tags: Vec<Spanned<String>>,
    #[serde(default)]
    related: Vec<Spanned<String>>,
    title: Option<Spanned<LocalizedText>>,
    description: Option<Spanned<LocalizedText>>,
    publisher: Option<TypedPublisher>,
    contact: Option<Spanned<String>>,
    homepage: Option<Spanned<String>>,
    citation: Option<Spanned<String>>,
    coverage: Option<Spanned<TypedCoverage>>,
    update_frequency: Option<Spanned<String>>,
    #[serde(default)]
    source: SourceOptions,
    #[serde(default)]
    query: QueryOffer,
    #[serde(default)]
    columns: BTreeMap<String, Spanned<ColumnNote>>,
}

const fn published_by_default() -> bool {
    true
}

const fn parquet_by_default() -> bool {
    true
}

type SpannedError = (Range<usize>, String);

impl TypedManifest {
    fn check(self) -> Result<Manifest, SpannedError> {
        let slug =
            Slug::parse_new(self.slug.get_ref()).map_err(|error| (self.slug.span(), error.to_string()))?;
        let coverage = |typed: Spanned<TypedCoverage>| {
            let span = typed.span();
            typed.into_inner().check(span)
        };
        let citation = |text: &Spanned<String>| check_line("citation", text, CITATION_LENGTH_CHARS_MAX);
        let provenance = Provenance {
            publisher: self.publisher.map(TypedPublisher::check).transpose()?,
            contact: self.contact.map(check_contact).transpose()?,
            homepage: self.homepage.map(|url| check_address("homepage", url)).transpose()?,
            citation: self.citation.as_ref().map(citation).transpose()?,
            coverage: self.coverage.map(coverage).transpose()?,
            update_frequency: self.update_frequency.as_ref().map(check_frequency).transpose()?,
        };
        Ok(Manifest {
            slug,
            published: self.published,
            featured: self.featured,
            keep_versions: self.keep_versions.map(check_keep).transpose()?,
            parquet: self.parquet,
            license: self.license,
            license_url: self.license_url.map(|url| check_address("license_url", url)).transpose()?,
            tags: check_tags(self.tags)?,
            related: check_related(self.related)?,
            title: check_text(self.title, TITLE_LENGTH_CHARS_MAX)?,
            description: check_text(self.description, DESCRIPTION_LENGTH_CHARS_MAX)?,
            provenance,
            source: self.source,
            query: self.query,
            columns: check_columns(self.columns)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Manifest, CatalogError> {
        Manifest::parse(text, Path::new("dataset.toml"))
    }

    #[test]
    fn parses_full_manifest() {
        let manifest = parse(
            "slug = \"orders\"\nfeatured = true\nlicense = \"CC-BY-4.0\"\n\
             license_url = \"https://creativecommons.org/licenses/by/4.0/\"\ntags = [\"trade\", \"trade\"]\n\
             related = [\"lineitem\"]\n[title]\nen = \"Orders\"\nit = \"Ordini\"\n[description]\nen = \"All orders\"\n\
             [columns.o_orderkey]\ndescription = \"Key\"\nexample = 7\n",
        )
        .unwrap();
        assert!(manifest.published && manifest.featured);
        assert_eq!(manifest.tags, ["trade"]);
        assert_eq!(manifest.title.choose(Some(Language::Italian)), Some("Ordini"));
        assert_eq!(manifest.title.choose(None), Some("Orders"));
        assert_eq!(manifest.description.choose(Some(Language::Italian)), Some("All orders"));
        assert_eq!(manifest.columns["o_orderkey"].example, Some(toml::Value::Integer(7)));
    }

    #[test]
    fn describes_columns_in_both_languages() {
        let manifest = parse(
            "slug = \"a\"\n[columns.plain]\ndescription = \"City\"\n[columns.both]\nexample = 7\n\
             [columns.both.description]\nen = \"Name\"\nit = \"Nome\"\n\
             [columns.italian]\ndescription = { it = \"Sede\" }\n[columns.none]\n",
        )
        .unwrap();
        let told = |name: &str, language| manifest.columns[name].description.choose(Some(language));
        let both = |name| (told(name, Language::English), told(name, Language::Italian));
        assert_eq!(both("plain"), (Some("City"), Some("City")));
        assert_eq!(both("both"), (Some("Name"), Some("Nome")));
        assert_eq!(both("italian"), (Some("Sede"), Some("Sede")));
        assert_eq!(both("none"), (None, None));
    }

    #[test]
    fn parses_provenance() {
        let manifest = parse(
            "slug = \"a\"\ncontact = \"data@town.test\"\nhomepage = \"https://town.test/data\"\n\
             citation = \"Town (2024). Weather.\"\nupdate_frequency = \"monthly\"\n\
             [publisher]\nname = \"The town\"\nurl = \"https://town.test\"\n\
             [coverage]\nfrom = 2024-01-01\nto = \"2024-12\"\nplaces = [\"Valdoro\"]\n",
        );
        let provenance = manifest.unwrap().provenance;
        assert_eq!(provenance.publisher.map(|publisher| publisher.name).as_deref(), Some("The town"));
        assert_eq!(provenance.contact.as_deref(), Some("data@town.test"));
        assert_eq!(provenance.update_frequency.map(|frequency| frequency.word), Some("monthly"));
        let coverage = provenance.coverage.unwrap();
        assert_eq!((coverage.from.as_deref(), coverage.to.as_deref()), (Some("2024-01-01"), Some("2024-12")));
        assert_eq!(coverage.places, ["Valdoro"]);
        assert_eq!(parse("slug = \"a\"\n").unwrap().provenance, Provenance::default());
    }

    #[test]
    fn provenance_error_names_field_expected_and_found() {
        check_error(
            "slug = \"a\"\nhomepage = \"ftp://x\"\n",
            2,
            12,
            "homepage: expected an address that begins with https:// or http://, found `ftp://x`",
        );
        check_error("slug = \"a\"\ncontact = \"me\"\n", 2, 11, "contact: expected an e-mail address");
        check_error(
            "slug = \"a\"\ncitation = \" \"\n",
            2,
            12,
            "citation: expected one line of 1 to 2000 characters, found nothing",
        );
        check_error("slug = \"a\"\nupdate_frequency = \"often\"\n", 2, 20, "found `often`");
        check_error("slug = \"a\"\n[publisher]\nurl = \"https://x.test\"\n", 2, 1, "name");
        check_error("slug = \"a\"\n[publisher]\nname = \"x\"\nemail = \"x\"\n", 4, 1, "email");
        check_error("slug = \"a\"\n[publisher]\nname = \"\"\n", 3, 8, "publisher.name: expected");
        check_error(
            "slug = \"a\"\n[coverage]\nfrom = 2024\n",
            3,
            8,
            "coverage.from: expected a date such as 2024-01-31, \"2024-01\" or \"2024\", found the number 2024",
        );
        check_error("slug = \"a\"\n[coverage]\nto = \"2023-02-29\"\n", 3, 6, "found `2023-02-29`");
        check_error("slug = \"a\"\n[coverage]\nfrom = 2024-01-01T00:00:00Z\n", 3, 8, "coverage.from");
        check_error(
            "slug = \"a\"\n[coverage]\nfrom = \"2024\"\nto = \"2023-12\"\n",
            4,
            6,
            "not before `2024`",
        );
        check_error(
            "slug = \"a\"\n[coverage]\nplaces = []\n",
            2,
            1,
            "coverage: expected `from`, `to` or `places`",
        );
        check_error("slug = \"a\"\n[coverage]\nplaces = [\"x\", \"\"]\n", 3, 16, "coverage.places");
    }

    #[track_caller]
    fn check_error(text: &str, line: usize, column: usize, words: &str) {
        match parse(text) {
            Err(CatalogError::Manifest { line: at_line, column: at_column, message, .. }) => {
                assert_eq!((at_line, at_column), (line, column), "{message}");
                assert!(message.contains(words), "{message}");
            }
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn error_names_line_and_column() {
        check_error("slug = \"a\"\ncolour = 1\n", 2, 1, "colour");
        check_error("slug = \"A\"\n", 1, 8, "slug");
        check_error("slug = \"search\"\n", 1, 8, "reserved");
        check_error("slug = \"a\"\ntitle = \"A\"\n", 2, 9, "expected a table of texts such as { en");
        check_error("slug = \"a\"\ndescription = 5\n", 2, 15, "expected a table of texts such as { en");
        check_error(
            "slug = \"a\"\n[columns]\nid = \"key\"\n",
            3,
            6,
            "expected a table such as { description",
        );
        check_error("slug = \"a\"\n[source]\ndecimal = \";\"\n", 3, 11, "a comma or a point");
        check_error(
            "slug = \"a\"\n[columns.a]\ndescription = 5\n",
            3,
            15,
            "expected a text, or a table of texts",
        );
        check_error("slug = \"a\"\n[title]\nfr = \"x\"\n", 3, 1, "fr");
        check_error("slug = \"a\"\ntags = [\"ok\", \"\"]\n", 2, 15, "tag");
        check_error("slug = \"a\"\nlicense_url = \"javascript:x\"\n", 2, 15, "https");
        check_error("slug = \"a\"\npublished = \"yes\"\n", 2, 13, "boolean");
        check_error("slug = \"a\"\nkeep_versions = 0\n", 2, 17, "1 to 16");
        check_error("slug = \n", 1, 8, "");
    }
}
